"""Reading of an image folder as a dataset: files are hashed and checked, decoded once, and memory-mapped."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256 as new_sha256
from pathlib import Path
from typing import TypeVar

import numpy as np

from versionspace.data import cache as caches
from versionspace.data.dataset import Conflict, Dataset, Duplicate, FolderReport, Skipped, Subset
from versionspace.data.folder.decode import MAX_BYTES, Fit, Frame, UnreadableError, decode, decoding, frame
from versionspace.data.folder.decoded_cache import DecodedCache
from versionspace.data.folder.scan import ContentLabel, ImageFile, is_folder, scan_folder
from versionspace.data.progress import progress_bar
from versionspace.errors import InputError
from versionspace.files import sha256
from versionspace.machine import cores
from versionspace.types import Array, is_count

BLOCK_BYTES = 16 << 20
"""Decoded pixels held in memory before they are written to disk: the most that a killed run loses."""
_BATCH_FILES = 4096
"""Files submitted to the threads at a time: a million pending tasks would take a gigabyte."""
_TASK_ITEMS = 16
"""Items per task: for small files, a task for each would cost more than the work itself."""
_PRIORITY = ("test", "validation", "train")
"""An image in several subsets belongs to the first of these, so that no test image is trained on."""

X = TypeVar("X")
Y = TypeVar("Y")


@dataclass(frozen=True)
class _Image:
    """A distinct content, with all the files that contain it."""

    id: str
    subset: str
    files: tuple[str, ...]
    labels: tuple[str, ...]
    """The distinct classes of these files; more than one is a conflict."""


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
    """Read a folder of images as a dataset of images of one size.

    The folder contains class folders, or train, val and test with class folders, or images with a labels.csv, or only
    images. An image's id is the SHA-256 of its file's bytes: renaming or moving the file does not change it, and files
    with the same bytes are one image. Unreadable files are left out and listed in ``report``.

    ``size``: the side of a square in pixels, or (height, width). ``channels``: 3 or 1. ``fit``: ``"crop"``, ``"pad"``
    or ``"stretch"``. ``classes``: the class names in the desired order; by default those found, sorted. ``workers``:
    the number of threads, by default one per core. ``progress`` None draws a progress bar only on a terminal.

    The first run decodes all images; later runs hash the files and decode only new ones. Raises `InputError` if the
    folder or an option cannot be used, `DataError` if the cache cannot be written.
    """
    root = Path(path).expanduser()
    to = frame(size, channels, fit)
    if workers is not None and not is_count(workers):
        raise InputError("workers", expected="1 or more, or None", got=repr(workers), fix="None uses one per core.")
    if isinstance(classes, str):
        raise InputError("classes", expected="a list of names", got=repr(classes), fix=f"Pass [{classes!r}, …].")
    if not is_folder(root):
        raise InputError("path", expected="a folder of images", got=repr(str(path)), fix="Check the path.")
    listing = scan_folder(root)
    if not listing.files:
        raise InputError(
            str(root),
            expected="at least one .jpg, .png, .webp, .tif or .bmp file",
            got="; ".join(["none", *(f"{entry.file}: {entry.why}" for entry in listing.skipped[:3])]),
            fix="Check the path and the file extensions.",
        )
    # Pillow and hashlib release the interpreter lock, so threads suffice; processes would need a guarded main module.
    with ThreadPoolExecutor(workers or cores()) as pool:
        images, skipped = _identify(root, listing.files, pool, progress)
        images, absent = _add_content_labels(images, listing.by_content)
        labels = {file.label for file in listing.files if file.label is not None}
        names = _class_names(labels | {label for image in images for label in image.labels}, classes)
        skipped += listing.skipped
        skipped += [Skipped(file, "not inside train, val or test") for file in listing.outside]
        place = caches.cache_folder(cache)
        with caches.explaining_write_errors(place):
            decoded = _decode_all(root, images, place / "folders" / to.key, to, pool, progress)
    images = [image for image in images if image.id not in decoded.failed]
    skipped += [Skipped(file, why) for why, files in decoded.failed.values() for file in files]
    if not images:
        examples = "; ".join(f"{entry.file}: {entry.why}" for entry in skipped[:3])
        raise InputError(
            str(root),
            expected="at least one readable image",
            got=f"{len(skipped)} unreadable files ({examples}{'; …' if len(skipped) > 3 else ''})",
            fix="Check with an image viewer whether they are intact.",
        )
    report = FolderReport(
        skipped=tuple(sorted(skipped, key=lambda entry: entry.file)),
        duplicates=tuple(Duplicate(image.id, image.files) for image in images if len(image.files) > 1),
        conflicts=tuple(Conflict(image.id, image.files, image.labels) for image in images if len(image.labels) > 1),
        unknown=listing.unknown + absent,
        sources=listing.sources,
        decoded=decoded.count,
    )
    subsets = {name: _subset(name, images, array, names) for name, array in decoded.subsets.items()}
    if "train" not in subsets:
        raise InputError(
            str(root),
            expected="images in train that are not also in val or test",
            got=f"{len(images)} images, all of them in {' and '.join(subsets)}",
            fix="Move the images to label or to train on into train.",
        )
    return Dataset(
        root.resolve().name or str(root),
        names,
        train=subsets["train"],
        validation=subsets.get("validation"),
        test=subsets.get("test"),
        checksums={image.files[0]: image.id for image in images},
        source=f"folder {root}",
        report=report,
    )


def _class_names(found: set[str], wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Return the class names in order: as ``wanted``, or sorted, as numbers if all of them are."""
    if wanted is None:
        numbers = all(name.isdecimal() for name in found)
        return tuple(sorted(found, key=lambda name: (int(name) if numbers else 0, name)))
    other = sorted(found - set(wanted))
    if other or len(set(wanted)) < len(wanted):
        raise InputError(
            "classes",
            expected="each class of the folder, once",
            got=f"{', '.join(wanted)}, but the folder also contains {', '.join(other)}" if other else ", ".join(wanted),
            fix="Add the missing classes, or move their images out of the folder."
            if other
            else "Name each class once.",
        )
    return tuple(wanted)


def _map(pool: ThreadPoolExecutor, work: Callable[[X], Y], items: Sequence[X]) -> Iterator[Y]:
    """Yield the results in the order of the items, which are submitted in tasks of several."""
    tasks = [items[start : start + _TASK_ITEMS] for start in range(0, len(items), _TASK_ITEMS)]
    for results in pool.map(lambda task: [work(item) for item in task], tasks):
        yield from results


def _identify(
    root: Path, files: Sequence[ImageFile], pool: ThreadPoolExecutor, show: bool | None
) -> tuple[list[_Image], list[Skipped]]:
    """Hash the files; return one image for each distinct content, sorted by file name, and the skipped files."""

    def identify(entry: ImageFile) -> str | Skipped:
        try:
            size = (root / entry.file).stat().st_size
            if size > MAX_BYTES:
                return Skipped(entry.file, f"{size:,} bytes, more than the limit of {MAX_BYTES:,}")
            return sha256(root / entry.file)
        except OSError as error:
            return Skipped(entry.file, f"cannot be opened: {error.strerror or error}")

    groups: dict[str, list[ImageFile]] = {}
    skipped: list[Skipped] = []
    with progress_bar("hashing files", len(files), show) as advance:
        for start in range(0, len(files), _BATCH_FILES):
            batch = files[start : start + _BATCH_FILES]
            for entry, result in zip(batch, _map(pool, identify, batch), strict=True):
                if isinstance(result, Skipped):
                    skipped.append(result)
                else:
                    groups.setdefault(result, []).append(entry)
                advance(1)
    images = []
    for id_, group in groups.items():
        subset = min((entry.subset for entry in group), key=_PRIORITY.index)
        ordered = sorted(group, key=lambda entry: (_PRIORITY.index(entry.subset), entry.file))
        labels = sorted({entry.label for entry in group if entry.label is not None})
        images.append(_Image(id_, subset, tuple(entry.file for entry in ordered), tuple(labels)))
    return sorted(images, key=lambda image: image.files[0]), skipped


def _add_content_labels(
    images: Sequence[_Image], contents: Sequence[ContentLabel]
) -> tuple[list[_Image], tuple[str, ...]]:
    """Add the labels given by content; return the images, and the names of contents that are not in the folder."""
    labels: dict[str, set[str]] = {}
    for content in contents:
        labels.setdefault(content.id, set()).update(() if content.label is None else (content.label,))
    present = {image.id for image in images}
    labelled = [replace(image, labels=tuple(sorted({*image.labels, *labels.get(image.id, ())}))) for image in images]
    return labelled, tuple(content.file for content in contents if content.id not in present)


@dataclass(frozen=True)
class _Decoded:
    """The images of each subset, the failures (reason and files) by id, and the number of newly decoded images."""

    subsets: dict[str, Array]
    failed: dict[str, tuple[str, tuple[str, ...]]]
    count: int


def _decode_all(
    root: Path, images: Sequence[_Image], folder: Path, to: Frame, pool: ThreadPoolExecutor, show: bool | None
) -> _Decoded:
    """Decode the images that are not cached and assemble one array for each subset."""
    count = 0
    for last in (False, False, False, True):
        cache = DecodedCache(folder, to.shape)
        failed, new = _decode_new(root, images, cache, to, pool, show)
        count += new
        try:
            subsets = _assemble(root, [image for image in images if image.id not in failed], cache)
            return _Decoded(subsets, failed, count)
        except FileNotFoundError:  # another process assembled the same blocks and deleted them: start over
            if last:
                raise
    raise AssertionError("unreachable")


def _decode_new(
    root: Path, images: Sequence[_Image], cache: DecodedCache, to: Frame, pool: ThreadPoolExecutor, show: bool | None
) -> tuple[dict[str, tuple[str, tuple[str, ...]]], int]:
    """Decode the images that are not cached, block by block; return the failures by id and the number of successes."""

    def pixels(image: _Image) -> Array | str:
        try:
            content = (root / image.files[0]).read_bytes()
            if new_sha256(content).hexdigest() != image.id:
                return "changed while it was being read"
            return decode(content, to)
        except (OSError, UnreadableError) as error:
            return str(error)

    new = [image for image in images if image.id not in cache]
    step = max(1, BLOCK_BYTES // (to.height * to.width * to.channels))
    failed: dict[str, tuple[str, tuple[str, ...]]] = {}
    with decoding(), progress_bar("decoding images", len(new), show) as advance:
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
                cache.add(ids, np.stack(arrays))
    return failed, len(new) - len(failed)


def _assemble(root: Path, images: Sequence[_Image], cache: DecodedCache) -> dict[str, Array]:
    """Return one array for each subset that has images, and prune the cache."""
    current: dict[str, tuple[str, ...]] = {}
    arrays: dict[str, Array] = {}
    for subset in _PRIORITY:
        ids = tuple(image.id for image in images if image.subset == subset)
        if ids:
            owner = f"{root.resolve()}#{subset}"
            arrays[subset] = cache.assemble(owner, ids)
            current[owner] = ids
    cache.prune(current)
    return arrays


def _subset(name: str, images: Sequence[_Image], array: Array, classes: tuple[str, ...]) -> Subset:
    chosen = [image for image in images if image.subset == name]
    numbers = {label: number for number, label in enumerate(classes)}
    labelled = any(image.labels for image in images)
    labels = [numbers[image.labels[0]] if len(image.labels) == 1 else -1 for image in chosen]
    return Subset(
        array,
        np.array(labels, np.int64) if labelled else None,
        np.array([image.id for image in chosen]),
        tuple(image.files[0] for image in chosen),
    )
