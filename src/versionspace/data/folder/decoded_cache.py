"""Decoded images on disk, looked up by the SHA-256 of their files.

A *pack* is an array of images, ``NAME.npy``, with an index ``NAME.json`` that lists their ids in the same order. The
index is written last: a pack without one is ignored. Small packs, called *blocks*, save decoding progress. Once all
images are decoded, one pack for each subset of the folder is assembled from them and memory-mapped, and the blocks are
deleted.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versionspace.data.cache import STALE_SECONDS
from versionspace.files import UNFINISHED, replacing
from versionspace.types import Array

_CHUNK_IMAGES = 1024
"""Number of images copied at a time."""


@dataclass(frozen=True)
class Pack:
    """A complete pack: its file, its owner (the folder and subset; "" for a block) and the ids of its images."""

    path: Path
    owner: str
    ids: tuple[str, ...]

    def images(self) -> Array:
        """Return the images (N, H, W, channels), memory-mapped."""
        return _memory_map(self.path)

    def remove(self) -> None:
        """Delete the pack, its index first."""
        with suppress(OSError):
            self.path.with_suffix(".json").unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)


def _memory_map(path: Path) -> Array:
    loaded: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return loaded


def find_packs(folder: Path, shape: tuple[int, ...]) -> Iterator[Pack]:
    """Yield every complete pack of a folder. Damaged ones are skipped and rewritten when they are needed."""
    for index in sorted(folder.glob("*.json")):
        path = index.with_suffix(".npy")
        try:
            content = json.loads(index.read_text(encoding="utf-8"))
            pack = Pack(path, content["owner"], tuple(content["ids"]))
            if pack.images().shape == (len(pack.ids), *shape):  # NumPy compares the header with the file's size
                yield pack
        except (OSError, ValueError, KeyError, TypeError, EOFError):
            continue


def write_pack(folder: Path, owner: str, ids: Sequence[str], shape: tuple[int, ...], chunks: Iterator[Array]) -> Pack:
    """Write a pack from chunks of images in the order of the ids."""
    name = hashlib.sha256("\n".join((owner, *ids)).encode(errors="surrogateescape")).hexdigest()[:32]
    # Writing is several times faster than touching new pages of a memory-mapped file.
    with replacing(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": (len(ids), *shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chunks:
            file.write(np.ascontiguousarray(chunk, np.uint8).data)
    with replacing(folder / f"{name}.json") as temporary:
        temporary.write_text(json.dumps({"owner": owner, "ids": list(ids)}), encoding="utf-8")
    return Pack(folder / f"{name}.npy", owner, tuple(ids))


@dataclass
class DecodedCache:
    """The packs of all images decoded to one frame."""

    folder: Path
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for abandoned in self.folder.glob(UNFINISHED):  # left by killed runs
            with suppress(OSError):
                if time.time() - abandoned.stat().st_mtime > STALE_SECONDS:
                    abandoned.unlink()
        self.packs = list(find_packs(self.folder, self.shape))
        self._places = {id_: (pack, row) for pack in self.packs for row, id_ in enumerate(pack.ids)}

    def __contains__(self, id_: str) -> bool:
        return id_ in self._places

    def add(self, ids: Sequence[str], images: Array) -> None:
        """Write a block of images."""
        pack = write_pack(self.folder, "", ids, self.shape, iter([images]))
        self.packs.append(pack)
        self._places.update((id_, (pack, row)) for row, id_ in enumerate(pack.ids))

    def assemble(self, owner: str, ids: Sequence[str]) -> Array:
        """Return these images, in this order, as one memory-mapped array. Reuses the owner's pack if it matches."""
        for pack in self.packs:
            if pack.owner == owner and pack.ids == tuple(ids):
                return pack.images()
        pack = write_pack(self.folder, owner, ids, self.shape, self._chunks(ids))
        self.packs.append(pack)
        return pack.images()

    def _chunks(self, ids: Sequence[str]) -> Iterator[Array]:
        """Yield these images in chunks.

        A pack is open only while its rows are read: a large folder has more packs than a process may have open files.
        """
        for start in range(0, len(ids), _CHUNK_IMAGES):
            wanted: dict[Path, list[tuple[int, int]]] = {}
            for index, id_ in enumerate(ids[start : start + _CHUNK_IMAGES]):
                pack, row = self._places[id_]
                wanted.setdefault(pack.path, []).append((index, row))
            chunk = np.empty((len(ids[start : start + _CHUNK_IMAGES]), *self.shape), np.uint8)
            for path, places in wanted.items():
                to, rows = np.array(places).T
                chunk[to] = _memory_map(path)[rows]
            yield chunk

    def prune(self, current: dict[str, tuple[str, ...]]) -> None:
        """Delete packs superseded by the current ones (ids by owner): their earlier versions and their blocks."""
        covered = {id_ for ids in current.values() for id_ in ids}
        for pack in self.packs:
            outdated = pack.owner in current and pack.ids != current[pack.owner]
            merged = not pack.owner and covered.issuperset(pack.ids)
            if outdated or merged:
                pack.remove()
