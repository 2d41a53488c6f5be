"""Campaigns: Algorithm 1 of the paper, on a dataset or with a person; grids of them; what they export.

From a command to a committed round, each module imports only those below it:

grid             every method with every seed: `run` and `resume`
setup            folders and configs; everything that can be rejected is rejected here, before any work
jobs             `Job`, `News` and the `Executor` protocol
local_executor   the executor of one machine, with `worker` for its processes
campaign         one campaign: propose images, accept answers
round            one round: fit, predict, measure, choose
environment      what a campaign ran under, recorded and compared on resume
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from versionspace.campaign.campaign import Campaign, Proposal
    from versionspace.campaign.grid import resume, run
    from versionspace.campaign.jobs import Executor, Job, News, Outcome, Run
    from versionspace.campaign.local_executor import LocalExecutor

__all__ = ["Campaign", "Executor", "Job", "LocalExecutor", "News", "Outcome", "Proposal", "Run", "resume", "run"]

_MODULES = {
    "Campaign": "campaign", "Proposal": "campaign", "resume": "grid", "run": "grid", "Executor": "jobs", "Job": "jobs",
    "News": "jobs", "Outcome": "jobs", "Run": "jobs", "LocalExecutor": "local_executor",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import on first use: a grid sets up its folders before torch is imported."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
