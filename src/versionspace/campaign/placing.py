"""A campaign's folder, made before anything heavy is imported."""

from pathlib import Path

from versionspace.config import Config, differences, read_text, written
from versionspace.data.naming import shown
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
    keep(found, config)


def keep(found: Folder, config: Config) -> None:
    """Writes campaign.toml."""
    try:
        content = written(config).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            shown(config.data.name), expected="a folder and classes whose names are UTF-8",
            got=shown(error.object[error.start]), fix="Rename it; the images in it may have any names.",
        ) from error  # fmt: skip
    write(found.config, content)
