"""Decoded images on disk, found by the hash of the file they came from.

A *pack* is an array of images ``NAME.npy`` and a page ``NAME.json`` with their ids in the same order. The page is
written last: a pack without one does not count. Small packs, *blocks*, keep what has been decoded so far; from them one
pack is put together for each part of a folder, which is what is memory-mapped in the end, and the blocks go.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versionspace.data.cache import STALE
from versionspace.files import UNFINISHED, replacing
from versionspace.types import Array

_GATHER = 1024


@dataclass(frozen=True)
class Pack:
    """A pack that is whole: where it is, whose it is ("" for a block), and what it holds."""

    path: Path
    owner: str
    ids: tuple[str, ...]

    def images(self) -> Array:
        """(N, H, W, channels), memory-mapped."""
        return _mapped(self.path)

    def remove(self) -> None:
        """The page first: a pack without a page does not count."""
        with suppress(OSError):
            self.path.with_suffix(".json").unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)


def _mapped(path: Path) -> Array:
    loaded: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return loaded


def packs(folder: Path, shape: tuple[int, ...]) -> Iterator[Pack]:
    """Every whole pack of a folder; what is damaged is passed over, and written anew when it is needed."""
    for page in sorted(folder.glob("*.json")):
        path = page.with_suffix(".npy")
        try:
            content = json.loads(page.read_text(encoding="utf-8"))
            pack = Pack(path, content["owner"], tuple(content["ids"]))
            if pack.images().shape == (len(pack.ids), *shape):  # NumPy compares the header with the file's size
                yield pack
        except (OSError, ValueError, KeyError, TypeError, EOFError):
            continue


def write(folder: Path, owner: str, ids: Sequence[str], shape: tuple[int, ...], chunks: Iterator[Array]) -> Pack:
    """A new pack from images that come in chunks, in the order of the ids."""
    name = hashlib.sha256("\n".join((owner, *ids)).encode(errors="surrogateescape")).hexdigest()[:32]
    # Written, not mapped: touching new pages of a mapped file costs several times as much.
    with replacing(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": (len(ids), *shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chunks:
            file.write(np.ascontiguousarray(chunk, np.uint8).data)
    with replacing(folder / f"{name}.json") as temporary:
        temporary.write_text(json.dumps({"owner": owner, "ids": list(ids)}), encoding="utf-8")
    return Pack(folder / f"{name}.npy", owner, tuple(ids))


@dataclass
class Shelf:
    """The packs of one form of images (one size, one way to fit it)."""

    folder: Path
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob(UNFINISHED):  # of a run that was killed
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > STALE:
                    left.unlink()
        self.packs = list(packs(self.folder, self.shape))
        self.places = {id_: (pack, row) for pack in self.packs for row, id_ in enumerate(pack.ids)}

    def add(self, ids: Sequence[str], images: Array) -> None:
        """Keeps a block of images."""
        pack = write(self.folder, "", ids, self.shape, iter([images]))
        self.packs.append(pack)
        self.places.update((id_, (pack, row)) for row, id_ in enumerate(pack.ids))

    def collect(self, owner: str, ids: Sequence[str]) -> Array:
        """These images in this order as one memory-mapped array: an old pack if one is just that, else a new one."""
        for pack in self.packs:
            if pack.owner == owner and pack.ids == tuple(ids):
                return pack.images()
        pack = write(self.folder, owner, ids, self.shape, self._gather(ids))
        self.packs.append(pack)
        return pack.images()

    def _gather(self, ids: Sequence[str]) -> Iterator[Array]:
        """In chunks. A pack is open only while its rows are read: a large folder has more than may be open at once."""
        for start in range(0, len(ids), _GATHER):
            wanted: dict[Path, list[tuple[int, int]]] = {}
            for index, id_ in enumerate(ids[start : start + _GATHER]):
                pack, row = self.places[id_]
                wanted.setdefault(pack.path, []).append((index, row))
            chunk = np.empty((len(ids[start : start + _GATHER]), *self.shape), np.uint8)
            for path, places in wanted.items():
                to, rows = np.array(places).T
                chunk[to] = _mapped(path)[rows]
            yield chunk

    def tidy(self, kept: dict[str, tuple[str, ...]]) -> None:
        """Removes what the packs just collected (ids by owner) make superfluous: their past, and their blocks."""
        covered = {id_ for ids in kept.values() for id_ in ids}
        for pack in self.packs:
            past = pack.owner in kept and pack.ids != kept[pack.owner]
            spent = not pack.owner and covered.issuperset(pack.ids)
            if past or spent:
                pack.remove()
