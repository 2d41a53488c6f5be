"""The command line: ``versionspace``."""

from versionspace.cli.app import main

__all__ = ["main"]
