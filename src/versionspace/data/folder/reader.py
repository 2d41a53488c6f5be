"""Reading of an image folder as a dataset: files are hashed and checked; pixels are kept on disk, or not at all."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.data import cache as caches
from versionspace.data.dataset import Conflict, Dataset, Duplicate, FolderReport, Skipped, Subset
from versionspace.data.folder.decode import Fit, Frame, UnreadableError, decode, decoding, frame
from versionspace.data.folder.decoded_cache import DecodedCache
from versionspace.data.folder.folder_images import CHANGED, FolderImages
from versionspace.data.folder.hash_index import HashIndex
from versionspace.data.folder.identify import PRIORITY, FolderImage, add_content_labels, identify, map_in_tasks
from versionspace.data.folder.scan import is_folder, scan_folder
from versionspace.data.progress import progress_bar
from versionspace.errors import InputError
from versionspace.machine import cores
from versionspace.types import Array, is_count

BLOCK_BYTES = 16 << 20
"""Decoded pixels held in memory before they are written to disk: the most that a killed run loses."""

CHECKED_FILES = 2_000
"""A folder of at most this many images is decoded once even if pixels are not kept, so that damaged files are left out
from the start."""


def read_folder(
    path: str | os.PathLike[str],
    *,
    size: int | tuple[int, int] = 64,
    channels: int = 3,
    fit: Fit = "crop",
    classes: Sequence[str] | None = None,
    follow_links: bool = True,
    lazy: bool = False,
    cache: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Dataset:
    """Read a folder of images as a dataset of images of one size.

    The folder contains class folders, or train, val and test with class folders, or images with a labels.csv, or only
    images. An image's id is the SHA-256 of its file's bytes: renaming or moving the file does not change it, and files
    with the same bytes are one image. Unreadable files are left out and listed in ``report``.

    ``size``: the side of a square in pixels, or (height, width). ``channels``: 3 or 1. ``fit``: ``"crop"``, ``"pad"``
    or ``"stretch"``. ``classes``: the class names in the desired order; by default those found, sorted.
    ``follow_links``: whether links that lead out of the folder are followed; if not, they are left out and listed.
    ``lazy``: images are decoded when they are selected, and no pixels are kept. Files that did not change since they
    were last hashed are not read; in a folder of more than `CHECKED_FILES` images, damaged files are found only when
    they are selected. ``workers``: the number of threads, by default one per core. ``progress`` None draws a progress
    bar only on a terminal.

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
    listing = scan_folder(root, follow_links=follow_links)
    if not listing.files:
        raise InputError(
            str(root),
            expected="at least one .jpg, .png, .webp, .tif, .bmp, .gif, .ppm, .avif or .heic file",
            got="; ".join(["none", *(f"{entry.file}: {entry.why}" for entry in listing.skipped[:3])]),
            fix="Check the path and the file extensions.",
        )
    place = caches.cache_folder(cache)
    # Pillow and hashlib release the interpreter lock, so threads suffice; processes would need a guarded main module.
    with ThreadPoolExecutor(workers or cores()) as pool:
        index = HashIndex(place, root) if lazy else None
        identified = identify(root, listing.files, pool, progress, index)
        images, absent = add_content_labels(identified.images, listing.by_content)
        labels = {file.label for file in listing.files if file.label is not None}
        names = _class_names(labels | {label for image in images for label in image.labels}, classes)
        skipped = [*identified.skipped, *listing.skipped]
        skipped += [Skipped(file, "not inside train, val or test") for file in listing.outside]
        if index is not None:
            decoded = _leave_undecoded(root, images, to, pool, progress, index)
        else:
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
    subsets = {name: _subset(root, name, images, array, names, to, place) for name, array in decoded.subsets.items()}
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
        checksums={} if lazy else {image.files[0]: image.id for image in images},
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


@dataclass(frozen=True)
class _Decoded:
    """The pixels of each subset, the failures (reason and files) by id, and the number of newly decoded images."""

    subsets: dict[str, Array | None]
    """None if pixels are not kept."""
    failed: dict[str, tuple[str, tuple[str, ...]]]
    count: int


def _decode_all(
    root: Path, images: Sequence[FolderImage], folder: Path, to: Frame, pool: ThreadPoolExecutor, show: bool | None
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


def _leave_undecoded(
    root: Path,
    images: Sequence[FolderImage],
    to: Frame,
    pool: ThreadPoolExecutor,
    show: bool | None,
    index: HashIndex,
) -> _Decoded:
    """Decode a small folder to find its damaged files, unless the index says that they are intact; keep no pixels."""
    failed: dict[str, tuple[str, tuple[str, ...]]] = {}
    intact = index.intact() if len(images) <= CHECKED_FILES else set()
    unknown = [image for image in images if image.id not in intact] if len(images) <= CHECKED_FILES else []
    with decoding(), progress_bar("checking images", len(unknown), show if unknown else False) as advance:
        problems = map_in_tasks(pool, lambda one: _problem(root, one, to), unknown)
        for image, problem in zip(unknown, problems, strict=True):
            if problem:
                failed[image.id] = (problem, image.files)
            advance(1)
    if unknown:
        index.mark_intact({image.id for image in unknown} - failed.keys())
    present = {image.subset for image in images if image.id not in failed}
    return _Decoded({name: None for name in PRIORITY if name in present}, failed, len(unknown) - len(failed))


def _problem(root: Path, image: FolderImage, to: Frame) -> str:
    """Return why an image cannot be decoded; empty if it can."""
    result = _pixels(root, image, to)
    return result if isinstance(result, str) else ""


def _pixels(root: Path, image: FolderImage, to: Frame) -> Array | str:
    """Return the pixels of an image, or why it cannot be decoded."""
    try:
        content = (root / image.files[0]).read_bytes()
        if sha256(content).hexdigest() != image.id:
            return CHANGED
        return decode(content, to)
    except (OSError, UnreadableError) as error:
        return str(error)


def _decode_new(
    root: Path,
    images: Sequence[FolderImage],
    cache: DecodedCache,
    to: Frame,
    pool: ThreadPoolExecutor,
    show: bool | None,
) -> tuple[dict[str, tuple[str, tuple[str, ...]]], int]:
    """Decode the images that are not cached, block by block; return the failures by id and the number of successes."""

    new = [image for image in images if image.id not in cache]
    step = max(1, BLOCK_BYTES // (to.height * to.width * to.channels))
    failed: dict[str, tuple[str, tuple[str, ...]]] = {}
    with decoding(), progress_bar("decoding images", len(new), show) as advance:
        for start in range(0, len(new), step):
            block = new[start : start + step]
            ids, arrays = [], []
            for image, result in zip(block, map_in_tasks(pool, lambda one: _pixels(root, one, to), block), strict=True):
                if isinstance(result, str):
                    failed[image.id] = (result, image.files)
                else:
                    ids.append(image.id)
                    arrays.append(result)
                advance(1)
            if ids:
                cache.add(ids, np.stack(arrays))
    return failed, len(new) - len(failed)


def _assemble(root: Path, images: Sequence[FolderImage], cache: DecodedCache) -> dict[str, Array | None]:
    """Return one array for each subset that has images, and prune the cache."""
    current: dict[str, tuple[str, ...]] = {}
    arrays: dict[str, Array | None] = {}
    for subset in PRIORITY:
        ids = tuple(image.id for image in images if image.subset == subset)
        if ids:
            owner = f"{root.resolve()}#{subset}"
            arrays[subset] = cache.assemble(owner, ids)
            current[owner] = ids
    cache.prune(current)
    return arrays


def _subset(
    root: Path, name: str, images: Sequence[FolderImage], pixels: Array | None, classes: tuple[str, ...], to: Frame,
    place: Path,
) -> Subset:  # fmt: skip
    chosen = [image for image in images if image.subset == name]
    numbers = {label: number for number, label in enumerate(classes)}
    labelled = any(image.labels for image in images)
    labels = [numbers[image.labels[0]] if len(image.labels) == 1 else -1 for image in chosen] if labelled else []
    ids, files = np.array([image.id for image in chosen]), tuple(image.files[0] for image in chosen)
    if pixels is None:
        ids = caches.file_backed(ids, place)
    shown: Any = FolderImages(root, files, ids, to) if pixels is None else pixels
    return Subset(shown, np.array(labels, np.int64) if labelled else None, ids, files)
