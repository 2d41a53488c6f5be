"""A folder of images as a dataset: hashed, checked, decoded once, memory-mapped ever after."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256 as new_sha256
from pathlib import Path
from typing import TypeVar

import numpy as np

from versionspace.data import cache as caches
from versionspace.data import progress as bars
from versionspace.data.dataset import Conflict, Dataset, Duplicate, FolderReport, Skipped, Subset
from versionspace.data.folder.decode import MAX_BYTES, Fit, Frame, UnreadableError, decode, decoding, frame
from versionspace.data.folder.decoded_cache import Shelf
from versionspace.data.folder.scan import Content, Entry, is_folder, listing
from versionspace.errors import InputError
from versionspace.files import sha256
from versionspace.machine import cores
from versionspace.types import Array, is_count

BLOCK_BYTES = 16 << 20
"""Decoded pixels kept in memory before they go to disk: what a killed run loses at most."""
_BATCH = 4096
"""Files handed to the threads at a time: a million waiting tasks are a gigabyte."""
_HANDFUL = 16
_PARTS = ("test", "validation", "train")
"""An image that is in two parts counts for the first of these: nothing is trained on that is tested on."""

X = TypeVar("X")
Y = TypeVar("Y")


@dataclass(frozen=True)
class _Image:
    """One content, with all the files that hold it."""

    id: str
    part: str
    files: tuple[str, ...]
    labels: tuple[str, ...]
    """The distinct classes it is filed under, at best one."""


def read_folder(
    path: str | os.PathLike[str],
    *,
    size: int | tuple[int, int] = 64,
    channels: int = 3,
    fit: Fit = "crop",
    classes: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Dataset:
    """A folder of images as a Dataset, all of one size.

    The folder is DIR/CLASS/…, that under train, val and test, flat with a labels.csv, or without any label. An image's
    id is the SHA-256 of its file's bytes, so renaming or moving a file changes nothing; the same bytes under several
    names are one image. Files that cannot be read are listed in ``report`` and left out.

    size: pixels of a side, or (height, width). channels: 3 or 1. fit: ``"crop"``, ``"pad"`` or ``"stretch"``.
    classes: names in the order wanted; without it, those found, sorted. workers: threads, by default one a core.
    The first run decodes, later runs only hash the files and decode new ones.
    """
    root = Path(path).expanduser()
    to = frame(size, channels, fit)
    if workers is not None and not is_count(workers):
        raise InputError("workers", expected="1 or more, or None", got=repr(workers), fix="None takes one a core.")
    if isinstance(classes, str):
        raise InputError("classes", expected="a list of names", got=repr(classes), fix=f"Pass [{classes!r}, …].")
    if not is_folder(root):
        raise InputError("path", expected="a folder of images", got=repr(str(path)), fix="Check the path.")
    found = listing(root)
    if not found.entries:
        raise InputError(
            str(root),
            expected="at least one .jpg, .png, .webp, .tif or .bmp file",
            got="; ".join(["a folder without any", *(f"{entry.file}: {entry.why}" for entry in found.closed[:3])]),
            fix="Check the path, and the files' endings.",
        )
    # Pillow and hashlib let go of the interpreter lock: threads are enough, and ask nothing of the user's script.
    with ThreadPoolExecutor(workers or cores()) as pool:
        images, skipped = _identify(root, found.entries, pool, progress)
        images, absent = _told(images, found.contents)
        labels = {one.label for one in found.entries if one.label is not None}
        names = _names(labels | {label for image in images for label in image.labels}, classes)
        skipped += found.closed
        skipped += [Skipped(file, "lies beside train, val and test, in none of them") for file in found.beside]
        place = caches.location(cache)
        with caches.writing(place):
            decoded = _decoded(root, images, place / "folders" / to.key, to, pool, progress)
    images = [image for image in images if image.id not in decoded.failed]
    skipped += [Skipped(file, why) for why, files in decoded.failed.values() for file in files]
    if not images:
        listed = "; ".join(f"{entry.file}: {entry.why}" for entry in skipped[:3])
        raise InputError(
            str(root),
            expected="at least one image that can be read",
            got=f"{len(skipped)} that cannot ({listed}{'; …' if len(skipped) > 3 else ''})",
            fix="Open one of them in a viewer: are they whole?",
        )
    report = FolderReport(
        skipped=tuple(sorted(skipped, key=lambda entry: entry.file)),
        duplicates=tuple(Duplicate(image.id, image.files) for image in images if len(image.files) > 1),
        conflicts=tuple(Conflict(image.id, image.files, image.labels) for image in images if len(image.labels) > 1),
        unknown=found.unknown + absent,
        sources=found.sources,
        decoded=decoded.count,
    )
    made = {name: _part(name, images, array, names) for name, array in decoded.parts.items()}
    if "train" not in made:
        raise InputError(
            str(root),
            expected="images in train that are not in val or test too",
            got=f"{len(images)} images, all of them in {' and '.join(made)}",
            fix="Move the images to be labelled or learnt from into train.",
        )
    return Dataset(
        root.resolve().name or str(root),
        names,
        train=made["train"],
        validation=made.get("validation"),
        test=made.get("test"),
        checksums={image.files[0]: image.id for image in images},
        source=f"folder {root}",
        report=report,
    )


def _names(found: set[str], wanted: Sequence[str] | None) -> tuple[str, ...]:
    if wanted is None:
        numbers = all(name.isdecimal() for name in found)
        return tuple(sorted(found, key=lambda name: (int(name) if numbers else 0, name)))
    other = sorted(found - set(wanted))
    if other or len(set(wanted)) < len(wanted):
        raise InputError(
            "classes",
            expected="each class of the folder, once",
            got=f"{', '.join(wanted)}, while the folder also has {', '.join(other)}" if other else ", ".join(wanted),
            fix="Add them, or move their images out of the folder.",
        )
    return tuple(wanted)


def _map(pool: ThreadPoolExecutor, work: Callable[[X], Y], items: Sequence[X]) -> Iterator[Y]:
    """Results in the order of the items, a handful of items to a task: for small files, tasks cost more than work."""
    handfuls = [items[start : start + _HANDFUL] for start in range(0, len(items), _HANDFUL)]
    for results in pool.map(lambda handful: [work(item) for item in handful], handfuls):
        yield from results


def _identify(
    root: Path, entries: Sequence[Entry], pool: ThreadPoolExecutor, show: bool | None
) -> tuple[list[_Image], list[Skipped]]:
    """One image for each distinct content, in the order of the first file that holds it; and files that are none."""

    def identify(entry: Entry) -> str | Skipped:
        try:
            size = (root / entry.file).stat().st_size
            if size > MAX_BYTES:
                return Skipped(entry.file, f"{size:,} bytes, more than {MAX_BYTES:,} are not read")
            return sha256(root / entry.file)
        except OSError as error:
            return Skipped(entry.file, f"cannot be opened: {error.strerror or error}")

    groups: dict[str, list[Entry]] = {}
    skipped: list[Skipped] = []
    with bars.bar("looking at files", len(entries), show) as advance:
        for start in range(0, len(entries), _BATCH):
            batch = entries[start : start + _BATCH]
            for entry, found in zip(batch, _map(pool, identify, batch), strict=True):
                if isinstance(found, Skipped):
                    skipped.append(found)
                else:
                    groups.setdefault(found, []).append(entry)
                advance(1)
    images = []
    for id_, group in groups.items():
        part = min((entry.part for entry in group), key=_PARTS.index)
        files = sorted(group, key=lambda entry: (_PARTS.index(entry.part), entry.file))
        labels = sorted({entry.label for entry in group if entry.label is not None})
        images.append(_Image(id_, part, tuple(entry.file for entry in files), tuple(labels)))
    return sorted(images, key=lambda image: image.files[0]), skipped


def _told(images: Sequence[_Image], contents: Sequence[Content]) -> tuple[list[_Image], tuple[str, ...]]:
    """Images with the labels that are told by their content, and the names of those that are not there."""
    labels: dict[str, set[str]] = {}
    for one in contents:
        labels.setdefault(one.id, set()).update(() if one.label is None else (one.label,))
    there = {image.id for image in images}
    more = [replace(image, labels=tuple(sorted({*image.labels, *labels.get(image.id, ())}))) for image in images]
    return more, tuple(one.file for one in contents if one.id not in there)


@dataclass(frozen=True)
class _Decoded:
    """The images of each part, what could not be decoded (why, and the files) by id, and how many were decoded now."""

    parts: dict[str, Array]
    failed: dict[str, tuple[str, tuple[str, ...]]]
    count: int


def _decoded(
    root: Path, images: Sequence[_Image], folder: Path, to: Frame, pool: ThreadPoolExecutor, show: bool | None
) -> _Decoded:
    count = 0
    for last in (False, False, False, True):
        shelf = Shelf(folder, to.shape)
        failed, new = _decode_new(root, images, shelf, to, pool, show)
        count += new
        try:
            return _Decoded(_collect(root, [image for image in images if image.id not in failed], shelf), failed, count)
        except FileNotFoundError:  # another process has put the same blocks together, and tidied up: look again
            if last:
                raise
    raise AssertionError("unreachable")


def _decode_new(
    root: Path, images: Sequence[_Image], shelf: Shelf, to: Frame, pool: ThreadPoolExecutor, show: bool | None
) -> tuple[dict[str, tuple[str, tuple[str, ...]]], int]:
    """Decodes what is not on the shelf, block by block; returns failures by id, and how many went well."""

    def pixels(image: _Image) -> Array | str:
        try:
            content = (root / image.files[0]).read_bytes()
            if new_sha256(content).hexdigest() != image.id:
                return "changed while it was being read"
            return decode(content, to)
        except (OSError, UnreadableError) as error:
            return str(error)

    new = [image for image in images if image.id not in shelf.places]
    step = max(1, BLOCK_BYTES // (to.height * to.width * to.channels))
    failed: dict[str, tuple[str, tuple[str, ...]]] = {}
    with decoding(), bars.bar("decoding images", len(new), show) as advance:
        for start in range(0, len(new), step):
            block = new[start : start + step]
            ids, arrays = [], []
            for image, result in zip(block, _map(pool, pixels, block), strict=True):
                if isinstance(result, str):
                    failed[image.id] = (result, image.files)
                else:
                    ids.append(image.id)
                    arrays.append(result)
                advance(1)
            if ids:
                shelf.add(ids, np.stack(arrays))
    return failed, len(new) - len(failed)


def _collect(root: Path, images: Sequence[_Image], shelf: Shelf) -> dict[str, Array]:
    """The images of each part that has any, as one array each."""
    kept: dict[str, tuple[str, ...]] = {}
    parts: dict[str, Array] = {}
    for part in _PARTS:
        ids = tuple(image.id for image in images if image.part == part)
        if ids:
            owner = f"{root.resolve()}#{part}"
            parts[part] = shelf.collect(owner, ids)
            kept[owner] = ids
    shelf.tidy(kept)
    return parts


def _part(name: str, images: Sequence[_Image], array: Array, classes: tuple[str, ...]) -> Subset:
    chosen = [image for image in images if image.part == name]
    numbers = {label: number for number, label in enumerate(classes)}
    labelled = any(image.labels for image in images)
    labels = [numbers[image.labels[0]] if len(image.labels) == 1 else -1 for image in chosen]
    return Subset(
        array,
        np.array(labels, np.int64) if labelled else None,
        np.array([image.id for image in chosen]),
        tuple(image.files[0] for image in chosen),
    )
