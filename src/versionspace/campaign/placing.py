"""A campaign's folder, made before anything heavy is imported."""

from pathlib import Path

from versionspace.config import Config, differences, read_text, written
from versionspace.errors import InputError
from versionspace.store.folder import Folder, write


def place(path: Path, config: Config) -> None:
    """Makes the folder and writes campaign.toml; one that is there must say the same."""
    found = Folder(path)
    if found.config.is_file():
        before = read_text(found.config.read_text(encoding="utf-8"), str(found.config))
        if changed := differences(before, config):
            raise InputError(
                str(path), expected="the config that this campaign began with", got="; ".join(changed),
                fix="Choose another folder, or go on as it began: `versionspace resume`, or `label --campaign`.",
            )  # fmt: skip
        return
    write(found.config, written(config).encode())
