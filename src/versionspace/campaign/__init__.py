"""Campaigns: the loop of the paper on a dataset or with a person; many of them at once; what they leave behind."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from versionspace.campaign.campaign import Campaign, Proposal
    from versionspace.campaign.grid import Run, run

__all__ = ["Campaign", "Proposal", "Run", "run"]


def __getattr__(name: str) -> Any:
    """A run makes its folder before torch is imported."""
    if name in ("Campaign", "Proposal"):
        from versionspace.campaign import campaign

        return getattr(campaign, name)
    if name in ("Run", "run"):
        from versionspace.campaign import grid

        return getattr(grid, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
