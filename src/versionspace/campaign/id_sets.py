"""Sets of image ids as arrays. A folder may have a million, each of 64 characters, and no object is made for each."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import overload

import numpy as np

from versionspace.files import is_sha256
from versionspace.types import Array, Bools, ImageId, Ints

_BLOCK = 4096
"""Ids converted at a time."""


def among(ids: Array, others: Array) -> Bools:
    """Return whether each of ``ids`` is one of ``others``, like `numpy.isin` but an order of magnitude faster for text.

    >>> among(np.array(["b", "c"]), np.array(["c", "a"]))
    array([False,  True])
    """
    if not len(ids) or not len(others):
        return np.zeros(len(ids), np.bool_)
    ordered = others if _ascends(others) else np.sort(others)
    places = np.minimum(np.searchsorted(ordered, ids), len(ordered) - 1)
    found: Bools = ordered[places] == ids
    return found


def without(ids: Array, others: Array) -> Array:
    """Return the ``ids`` that are not among ``others``, in the same order."""
    return ids[~among(ids, others)]


def _ascends(ids: Array) -> bool:
    return bool((ids[:-1] <= ids[1:]).all())


class IdIndex(Sequence[ImageId]):
    """Ids by position, and positions by id. A SHA-256 takes 32 bytes.

    >>> index = IdIndex(np.array(["c", "a", "b"]))
    >>> index[0], index.row("b"), index.row("x"), "a" in index, index.rows(["a", "x", "c"]).tolist()
    ('c', 2, None, True, [1, 0])
    """

    def __init__(self, ids: Array) -> None:
        self._is_text, self._is_hash = ids.dtype.kind == "U", False
        if ids.dtype == "<U64" and len(ids):
            digests = _digests(ids)
            self._is_hash = digests is not None
            ids = ids if digests is None else digests
        self.keys = ids
        """The ids, or the bytes that they are the hex digits of; in the same order."""
        self._order: Ints | None = None if len(ids) < 2 or _ascends(ids) else np.argsort(ids, kind="stable")

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, which: int) -> ImageId: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[ImageId]: ...
    def __getitem__(self, which: int | slice) -> ImageId | Sequence[ImageId]:
        found = self.keys[which].tolist()
        if not self._is_hash:
            return found  # type: ignore[no-any-return]
        return [_hex(key) for key in found] if isinstance(which, slice) else _hex(found)

    def __iter__(self) -> Iterator[ImageId]:
        return (id_ for start in range(0, len(self), _BLOCK) for id_ in self[start : start + _BLOCK])

    def __contains__(self, image: object) -> bool:
        return self.row(image) is not None

    def row(self, image: object) -> int | None:
        """Return the position of an id; None if there is none."""
        key: object = image
        if not len(self.keys) or not isinstance(image, str if self._is_text else int | np.integer):
            return None
        if self._is_hash:
            if not is_sha256(str(image)):
                return None
            key = bytes.fromhex(str(image))
        elif self._is_text and len(str(image)) > self.keys.dtype.itemsize // 4:
            return None
        wanted = np.array([key], self.keys.dtype)
        place = min(int(np.searchsorted(self.keys, wanted, sorter=self._order)[0]), len(self.keys) - 1)
        row = place if self._order is None else int(self._order[place])
        return row if self.keys[row] == wanted[0] else None

    def rows(self, images: Iterable[ImageId]) -> Ints:
        """Return the positions of those of these ids that have one."""
        found = [self.row(image) for image in images]
        return np.array([row for row in found if row is not None], np.int64)


def _digests(ids: Array) -> Array | None:
    """Return the bytes of ids that are all SHA-256 in hex; None if one is not."""
    digests = np.empty(len(ids), "S32")
    for start in range(0, len(ids), _BLOCK):
        text = "".join(ids[start : start + _BLOCK].tolist())
        size = min(_BLOCK, len(ids) - start)
        if len(text) != 64 * size or text != text.lower():
            return None
        try:
            digests[start : start + size] = np.frombuffer(bytes.fromhex(text), "S32")
        except ValueError:
            return None
    return digests


def _hex(key: bytes) -> str:
    return key.ljust(32, b"\0").hex()  # NumPy drops zeros at the end


class FileNames(Mapping[ImageId, str]):
    """The file of each image.

    Args:
        parts: ids and their files.
        others: further images.
    """

    def __init__(self, parts: Collection[tuple[Array, Sequence[str]]], others: Mapping[ImageId, str]) -> None:
        self._parts = [(IdIndex(ids), files) for ids, files in parts]
        self._others = {
            image: file for image, file in others.items() if not any(image in ids for ids, _ in self._parts)
        }

    def __getitem__(self, image: ImageId) -> str:
        for ids, files in self._parts:
            if (row := ids.row(image)) is not None:
                return files[row]
        return self._others[image]

    def __iter__(self) -> Iterator[ImageId]:
        yield from self._others
        for ids, _ in self._parts:
            yield from ids

    def __len__(self) -> int:
        return len(self._others) + sum(len(ids) for ids, _ in self._parts)
