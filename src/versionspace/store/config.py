"""Configs as they lie in a campaign's folder or a grid's: campaign.toml, grid.toml."""

from pathlib import Path

from versionspace.config import Config, read_text
from versionspace.store.errors import explained, unlike


def read_config(path: Path) -> Config:
    """What we wrote, and a person may have edited since."""
    try:
        with explained(path.parent):
            text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise unlike(path, "a config in UTF-8", error) from error
    return read_text(text, str(path))
