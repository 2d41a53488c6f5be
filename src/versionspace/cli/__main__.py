"""``python -m versionspace.cli``."""

from versionspace.cli.main import main

main()
