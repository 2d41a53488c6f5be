"""Where things lie, and files that appear whole or not at all.

Configs as they lie in a campaign's folder or a grid's: campaign.toml, grid.toml.

Names of image files beside their ids in split.npz, so that an image that is gone can be named.

They are one array of bytes: a name may be long, and need not be text.

The files that a ledger names. Weights of rounds between the first and the last are named too, but not kept.
"""

import io
import shutil
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versionspace.config import Config, read_text
from versionspace.files import UNFINISHED, replacing_folder, sha256, write_bytes
from versionspace.locks import FileLock
from versionspace.store.errors import LockedError, StoreError, explained, full, unlike
from versionspace.store.state import State
from versionspace.types import Array, ImageId

CONFIG = "campaign.toml"
GRID = "grid.toml"
SHARED = "shared"


@dataclass(frozen=True)
class Folder:
    """The paths of one campaign."""

    path: Path

    @property
    def config(self) -> Path:
        """campaign.toml."""
        return self.path / CONFIG

    @property
    def ledger(self) -> Path:
        """The truth."""
        return self.path / "ledger.sqlite"

    @property
    def split(self) -> Path:
        """Ids."""
        return self.path / "split.npz"

    def votes(self, round_: int) -> Path:
        """Of one round."""
        return self.path / "votes" / f"round-{round_:04d}.npz"

    def weights(self, round_: int) -> Path:
        """A folder that `Ensemble.save` wrote."""
        return self.path / "weights" / f"round-{round_:04d}"

    def lost(self) -> bool:
        """Whether something was stored of which no ledger tells any more."""
        stored = (*self.path.glob("votes/*.npz"), *self.path.glob("weights/round-*"))
        return not self.ledger.exists() and (self.split.is_file() or bool(stored))

    def refuse_lost(self) -> None:
        """Begun again, it would write over what is left."""
        if self.lost():
            raise StoreError(
                str(self.path), expected="ledger.sqlite beside what was stored with it", got="none",
                fix="Put it back, from a backup if need be; without it nothing here can be used: remove the folder.",
            )  # fmt: skip

    def clean(self) -> None:
        """Removes what a killed process left half-written: nothing that was committed."""
        with explained(self.path):
            for left in (*self.path.glob(UNFINISHED), *self.path.glob(f"*/{UNFINISHED}")):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


class Lock:
    """Holds a campaign's folder for one process until closed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Lock(Path(folder)):
    ...     Lock(Path(folder)).take()       # doctest: +ELLIPSIS
    Traceback (most recent call last):
    versionspace.store.errors.LockedError: ...: expected a campaign that no other process has, got one that process ...
    """

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / "lock")

    @property
    def path(self) -> Path:
        """The lock file."""
        return self._lock.path

    def take(self, wait: bool = False) -> "Lock":
        """Take the lock, or raise `LockedError`, which names the process that holds it; ``wait`` until it is free."""
        with explained(self.path.parent):
            if wait:
                self._lock.wait()
                return self
            if self._lock.acquire():
                return self
        raise LockedError(
            str(self.path.parent), expected="a campaign that no other process has",
            got=f"one that process {self._lock.holder() or '(unknown)'} is working on",
            fix="Wait for it, or end it; the lock goes with it.",
        )  # fmt: skip

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()

    def __enter__(self) -> "Lock":
        return self if self._lock.held else self.take()

    def __exit__(self, *_: object) -> None:
        self.close()


def is_campaign(path: Path) -> bool:
    """Whether this folder holds one campaign; where one may not look, that is said."""
    with explained(path):
        return (path / CONFIG).is_file()


def campaigns(path: Path | str) -> list[Folder]:
    """The campaigns in a folder: itself, or those of a grid, ``METHOD/SEED``, ordered by method and seed."""
    root = Path(path)
    if is_campaign(root):
        return [Folder(root)]
    found = [config.parent for config in root.glob(f"*/*/{CONFIG}") if config.parent.parent.name != SHARED]
    if not found:
        raise StoreError(
            str(root), expected="a campaign's folder or a grid of them",
            got="neither" if root.is_dir() else "no folder",
            fix="Pass the folder that `versionspace run` or `versionspace label` made.",
        )  # fmt: skip
    return [Folder(p) for p in sorted(found, key=lambda p: (p.parent.name, len(p.name), p.name))]


def write(path: Path, content: bytes, mode: int = 0o666) -> str:
    """Write a file durably, completely or not at all; return its SHA-256. ``mode``: its permissions from the start."""
    refuse_folder(path)
    refuse_nameless(path)
    with explained(path.parent):
        return write_bytes(path, content, mode)


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> str:
    """Compressed arrays, the same bytes for the same numbers; gives their SHA-256."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return write(path, buffer.getvalue())


def read_arrays(path: Path) -> dict[str, Array]:
    """What `write_arrays` wrote."""
    try:
        content = io.BytesIO(path.read_bytes())
        _refuse_changed(content)
        with np.load(content, allow_pickle=False) as found:
            return dict(found)
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise unlike(path, "arrays that were written with the campaign", error) from error


def _refuse_changed(content: io.BytesIO) -> None:
    """NumPy itself reads only as far as the headers tell it to, and they may be what is damaged."""
    with zipfile.ZipFile(content) as archive:
        changed = archive.testzip()
        for one in archive.infolist():
            if one.filename == changed or one.comment:  # we write none: its length was changed, and it hides the next
                raise zipfile.BadZipFile(f"{one.filename} with other bytes than were written")
    content.seek(0)


def write_folder(path: Path, fill: Callable[[Path], None]) -> dict[str, str]:
    """Create a folder that appears complete or not at all; return the SHA-256 of each of its files."""
    refuse_nameless(path)
    try:
        with explained(path.parent), replacing_folder(path) as new:
            fill(new)
    except BaseException as error:
        if "No space left" in str(error):  # safetensors raises an error of its own
            raise full(path.parent) from error
        raise
    return checksums(path)


def refuse_folder(path: Path) -> None:
    """A file cannot be written where a folder is."""
    if path.is_dir():
        raise StoreError(str(path), expected="a file to write", got="a folder", fix="Add the file's name to it.")


def refuse_nameless(path: Path) -> None:
    """Reject ``.``, ``..`` and ``/``, which have no name to write to."""
    if path.name in ("", ".."):
        raise StoreError(
            str(path), expected="a file or folder by its name", got="one without", fix="Name one, such as labels."
        )


def checksums(path: Path) -> dict[str, str]:
    """The SHA-256 of each file below a folder, by its path there."""
    return {file.relative_to(path).as_posix(): sha256(file) for file in sorted(path.rglob("*")) if file.is_file()}


def read_config(path: Path) -> Config:
    """What we wrote, and a person may have edited since."""
    try:
        with explained(path.parent):
            text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise unlike(path, "a config in UTF-8", error) from error
    return read_text(text, str(path))


KEY = "files"
SETS = ("pool", "validation", "test")
"""Every image is in one of these; names are in their order."""


def packed(names: Sequence[str]) -> Array:
    """Names as bytes."""
    return np.frombuffer("\0".join(names).encode("utf-8", "surrogatepass"), np.uint8)


def names_in(arrays: Mapping[str, Array]) -> dict[ImageId, str]:
    r"""Where each image of a folder lay when the campaign began; empty for a published dataset.

    >>> arrays = {"pool": np.array(["ab", "cd"]), "validation": np.empty(0), "test": np.array(["ef"])}
    >>> names_in(arrays | {KEY: packed(["1.png", "caf\udce9.png", "x/3.png"])})
    {'ab': '1.png', 'cd': 'caf\udce9.png', 'ef': 'x/3.png'}
    >>> names_in(arrays)
    {}
    """
    if KEY not in arrays:
        return {}
    names = arrays[KEY].tobytes().decode("utf-8", "surrogatepass").split("\0")
    ids = [image for name in SETS for image in arrays[name].tolist()]
    return dict(zip(ids, names, strict=True))


def named(folder: Folder, config: Config, state: State) -> dict[Path, str]:
    """The files that must be there after these events, and their SHA-256."""
    out = {} if state.split is None else {folder.split: str(state.split["sha256"])}
    ends = {min(state.metrics, default=0), max(state.metrics, default=0)}
    for round_, metrics in state.metrics.items():
        out[folder.votes(round_)] = metrics.votes_sha256
        if config.keep == "all" or round_ in ends:
            weights = metrics.weights_sha256 or {}
            out |= {folder.weights(round_) / name: sha256 for name, sha256 in weights.items()}
    return out
