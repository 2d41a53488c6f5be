"""The SHA-256 of the files of a folder, kept between runs: a file that has not changed is not read again.

A file counts as unchanged if its path, size, inode and both of its times (last change of the content, last change of
anything) are those of the entry. Files that changed within two seconds before they were hashed get no entry, because a
further change might not move their times. The index is a file in the cache; a damaged one is ignored and written anew.
"""

import hashlib
import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from versionspace.files import replacing
from versionspace.types import Array, Bools, Ints

RECENT_NS = 2_000_000_000
"""The coarsest file times, those of FAT, have steps of two seconds."""
ENTRY = np.dtype(
    [("path", "<u8"), ("size", "<i8"), ("mtime", "<i8"), ("ctime", "<i8"), ("inode", "<u8"), ("sha256", "u1", (32,)),
     ("intact", "?")]
)  # fmt: skip
"""``path``: a hash of the path. ``intact``: whether the image was decoded without an error."""
_FORMAT = b"versionspace hashes 1\n"
_COMPARED = ("path", "size", "mtime", "ctime", "inode")


class HashIndex:
    """The entries of one folder of images.

    Args:
        cache: the cache folder.
        root: the folder of images.
    """

    def __init__(self, cache: Path, root: Path) -> None:
        name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
        self.path = cache / "folders" / "hashes" / name
        self.entries = _read(self.path)
        """Sorted by ``path``."""

    def find(self, files: Array) -> tuple[Bools, Ints]:
        """Return whether each of these files has an entry and is unchanged, and the row of its entry.

        ``files``: as `describe` returns them.
        """
        if not len(self.entries):
            return np.zeros(len(files), np.bool_), np.zeros(len(files), np.int64)
        rows = np.minimum(np.searchsorted(self.entries["path"], files["path"]), len(self.entries) - 1)
        found = self.entries[rows]
        return np.logical_and.reduce([found[name] == files[name] for name in _COMPARED]), rows

    def save(self, entries: Array, now_ns: int) -> None:
        """Replace all entries, without those of files that changed less than two seconds before ``now_ns``.

        Without permission or space to write, the next run hashes the files again.
        """
        old = np.maximum(entries["mtime"], entries["ctime"]) < now_ns - RECENT_NS
        kept = entries[old & entries["sha256"].any(axis=1)]
        kept = kept[np.argsort(kept["path"], kind="stable")]
        if len(kept) > 1:  # two paths with one hash: neither gets an entry
            same = np.concatenate([[False], kept["path"][1:] == kept["path"][:-1]])
            kept = kept[~(same | np.concatenate([same[1:], [False]]))]
        if len(kept) == len(self.entries) and (kept == self.entries).all():
            return
        self._write(kept)

    def _write(self, kept: Array) -> None:
        with suppress(OSError), replacing(self.path, durable=False) as temporary, temporary.open("wb") as file:
            file.write(_FORMAT + hashlib.sha256(kept.data).digest())
            kept.tofile(file)
        self.entries = kept

    def intact(self) -> set[str]:
        """Return the ids of images that were decoded without an error."""
        return {row.tobytes().hex() for row in self.entries["sha256"][self.entries["intact"]]}

    def mark_intact(self, ids: Collection[str]) -> None:
        """Store that these images were decoded without an error."""
        known = np.array([row.tobytes().hex() in ids for row in self.entries["sha256"]], np.bool_)
        if known.any():
            entries = np.array(self.entries)
            entries["intact"] |= known
            self._write(entries)


def describe(path: str, stat: os.stat_result) -> tuple[int, int, int, int, int, bytes, bool]:
    """Return the entry of a file, still without its SHA-256."""
    hashed = int.from_bytes(hashlib.blake2b(os.fsencode(path), digest_size=8).digest(), "little")
    inode = stat.st_ino & (2**64 - 1)
    return hashed, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, inode, bytes(32), False


def as_entries(described: Sequence[tuple[int, int, int, int, int, bytes, bool]]) -> Array:
    """Return entries as one array."""
    entries = np.zeros(len(described), ENTRY)
    for name, values in zip(_COMPARED, zip(*described, strict=True), strict=False):
        entries[name] = values
    return entries


def _read(path: Path) -> Array:
    """Return the stored entries, memory-mapped; none if the file is missing or damaged."""
    start = len(_FORMAT) + hashlib.sha256().digest_size
    try:
        with path.open("rb") as file:
            head = file.read(start)
        if head.startswith(_FORMAT) and path.stat().st_size > start:
            entries = np.memmap(path, ENTRY, "r", offset=start)
            if hashlib.sha256(entries.data).digest() == head[len(_FORMAT) :]:
                return entries
    except (OSError, ValueError):
        pass
    return np.zeros(0, ENTRY)
