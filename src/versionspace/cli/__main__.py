"""``python -m versionspace.cli``."""

from versionspace.cli.app import main

main()
