"""The layout of a campaign's folder: its paths, its config, the names of image files, and the files that must exist."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from versionspace.config import Config, parse_config
from versionspace.files import UNFINISHED
from versionspace.store.errors import StoreError, as_store_errors, unexpected_content
from versionspace.store.state import State
from versionspace.types import Array, ImageId

CONFIG = "campaign.toml"
GRID = "grid.toml"
SHARED = "shared"
"""The folder of a grid that holds what its campaigns share."""


@dataclass(frozen=True)
class CampaignFolder:
    """The paths of one campaign."""

    path: Path

    @property
    def config(self) -> Path:
        """The settings, campaign.toml."""
        return self.path / CONFIG

    @property
    def ledger(self) -> Path:
        """The events, ledger.sqlite."""
        return self.path / "ledger.sqlite"

    @property
    def split(self) -> Path:
        """The ids of the images, split.npz."""
        return self.path / "split.npz"

    def votes(self, round_: int) -> Path:
        """Return the path of a round's votes, an .npz file."""
        return self.path / "votes" / f"round-{round_:04d}.npz"

    def weights(self, round_: int) -> Path:
        """Return the path of a round's weights, a folder that `Ensemble.save` writes."""
        return self.path / "weights" / f"round-{round_:04d}"

    @property
    def final_weights(self) -> Path:
        """The weights of the final model, which is trained after the end on all labels."""
        return self.path / "weights" / "final"

    def lost_ledger(self) -> bool:
        """Return whether the ledger is missing although other results exist."""
        stored = (*self.path.glob("votes/*.npz"), *self.path.glob("weights/round-*"))
        return not self.ledger.exists() and (self.split.is_file() or bool(stored))

    def reject_lost_ledger(self) -> None:
        """Raise StoreError if the ledger was lost: a new start would overwrite the results that are left."""
        if self.lost_ledger():
            raise StoreError(
                str(self.path), expected="ledger.sqlite beside the results that it describes", got="none",
                fix="Restore it, for example from a backup. The results cannot be used without it: delete the folder "
                "to start again.",
            )  # fmt: skip

    def remove_unfinished(self) -> None:
        """Delete the unfinished files of a process that was killed; nothing committed is among them."""
        with as_store_errors(self.path):
            for left in (*self.path.glob(UNFINISHED), *self.path.glob(f"*/{UNFINISHED}")):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def is_campaign(path: Path) -> bool:
    """Return whether a folder holds one campaign. Raises StoreError if the folder cannot be read."""
    with as_store_errors(path):
        return (path / CONFIG).is_file()


def campaigns(path: Path | str) -> list[CampaignFolder]:
    """Return the campaign in a folder, or those of a grid, ``METHOD/SEED``, ordered by method and seed.

    Raises StoreError if there is none.
    """
    root = Path(path)
    if is_campaign(root):
        return [CampaignFolder(root)]
    found = [config.parent for config in root.glob(f"*/*/{CONFIG}") if config.parent.parent.name != SHARED]
    if not found:
        raise StoreError(
            str(root), expected="the folder of a campaign or of a grid of campaigns",
            got="neither" if root.is_dir() else "no folder",
            fix="Pass a folder that `versionspace run` or `versionspace label` created.",
        )  # fmt: skip
    return [CampaignFolder(p) for p in sorted(found, key=lambda p: (p.parent.name, len(p.name), p.name))]


def read_stored_config(path: Path) -> Config:
    """Return the config in a campaign.toml or grid.toml. Raises StoreError or InputError if it was damaged."""
    try:
        with as_store_errors(path.parent):
            text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise unexpected_content(path, "a config in UTF-8", error) from error
    return parse_config(text, str(path))


FILE_NAMES = "files"
"""The array of split.npz that holds the names of image files, to name an image that is missing."""
SPLIT_SETS = ("pool", "validation", "test")
"""Every image is in one of these sets; `FILE_NAMES` follows their order."""


def pack_names(names: Sequence[str]) -> Array:
    """Return names as one array of bytes: a name may be long, and need not be valid text."""
    return np.frombuffer("\0".join(names).encode("utf-8", "surrogatepass"), np.uint8)


def unpack_names(arrays: Mapping[str, Array]) -> dict[ImageId, str]:
    r"""Return the file of each image when the campaign began, from split.npz; empty for a published dataset.

    >>> arrays = {"pool": np.array(["ab", "cd"]), "validation": np.empty(0), "test": np.array(["ef"])}
    >>> unpack_names(arrays | {FILE_NAMES: pack_names(["1.png", "caf\udce9.png", "x/3.png"])})
    {'ab': '1.png', 'cd': 'caf\udce9.png', 'ef': 'x/3.png'}
    >>> unpack_names(arrays)
    {}
    """
    if FILE_NAMES not in arrays:
        return {}
    names = arrays[FILE_NAMES].tobytes().decode("utf-8", "surrogatepass").split("\0")
    ids = [image for name in SPLIT_SETS for image in arrays[name].tolist()]
    return dict(zip(ids, names, strict=True))


class StoredNames(Mapping[ImageId, str]):
    """What `unpack_names` returns, unpacked when it is first needed: mostly never, if no image is missing."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = {name: arrays[name] for name in (*SPLIT_SETS, FILE_NAMES) if name in arrays}

    @cached_property
    def _names(self) -> dict[ImageId, str]:
        return unpack_names(self._arrays)

    def __getitem__(self, image: ImageId) -> str:
        return self._names[image]

    def __iter__(self) -> Iterator[ImageId]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def required_files(folder: CampaignFolder, config: Config, state: State) -> dict[Path, str]:
    """Return the files that must exist after these events, and their SHA-256.

    The ledger lists the weights of every round that saved some, but unless ``keep`` is "all" only the weights of the
    first and the last round are kept.
    """
    files = {} if state.split is None else {folder.split: str(state.split["sha256"])}
    ends = {min(state.metrics, default=0), max(state.metrics, default=0)}
    for round_, metrics in state.metrics.items():
        files[folder.votes(round_)] = metrics.votes_sha256
        if config.keep == "all" or round_ in ends:
            weights = metrics.weights_sha256 or {}
            files |= {folder.weights(round_) / name: sha256 for name, sha256 in weights.items()}
    if state.final is not None:
        files |= {folder.final_weights / name: sha256 for name, sha256 in state.final.weights_sha256.items()}
    return files
