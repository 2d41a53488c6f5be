"""Where things lie, and files that appear whole or not at all."""

import hashlib
import io
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versionspace.store.errors import StoreError, explained, full, unlike
from versionspace.types import Array

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
            for left in (*self.path.glob(".*.new"), *self.path.glob("*/.*.new")):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


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
    """Writes a file durably, whole or not at all; gives its SHA-256. ``mode``: who may read it, at any moment."""
    refuse_folder(path)
    new = unfinished(path)
    with explained(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.unlink(missing_ok=True)
            with open(new, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        sync(path.parent)
    return hashlib.sha256(content).hexdigest()


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
    """A folder that appears whole or not at all; gives the SHA-256 of each of its files."""
    new = unfinished(path)
    with explained(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(new, ignore_errors=True)
        try:
            fill(new)
            for file in new.rglob("*"):
                sync(file)
            if path.exists():  # left by a process that was killed before it could say so
                shutil.rmtree(path)
            new.rename(path)
        except BaseException as error:
            shutil.rmtree(new, ignore_errors=True)
            if "No space left" in str(error):  # safetensors has an error of its own for it
                raise full(path.parent) from error
            raise
        sync(path.parent)
    return checksums(path)


def refuse_folder(path: Path) -> None:
    """A file cannot be written where a folder is."""
    if path.is_dir():
        raise StoreError(str(path), expected="a file to write", got="a folder", fix="Add the file's name to it.")


def unfinished(path: Path) -> Path:
    """Beside a file or folder: what it is called until it is whole. ``.``, ``..`` and ``/`` have no name to go by."""
    if path.name in ("", ".."):
        raise StoreError(
            str(path), expected="a file or folder by its name", got="one without", fix="Name one, such as labels."
        )
    return path.with_name(f".{path.name}.new")


def checksums(path: Path) -> dict[str, str]:
    """The SHA-256 of each file below a folder, by its path there."""
    return {file.relative_to(path).as_posix(): sha256(file) for file in sorted(path.rglob("*")) if file.is_file()}


def sha256(path: Path) -> str:
    """Of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """A renamed file is safe once its folder is."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
