"""The command line: ``versionspace``."""

from versionspace.cli.main import main

__all__ = ["main"]
