"""Identification of the images of a folder: files are hashed, and files with the same content are one image."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from versionspace.data.dataset import Skipped
from versionspace.data.folder.decode import MAX_BYTES
from versionspace.data.folder.hash_index import ENTRY, HashIndex, as_entries, describe
from versionspace.data.folder.scan import ContentLabel, ImageFile
from versionspace.data.progress import progress_bar
from versionspace.files import sha256
from versionspace.types import Array

PRIORITY = ("test", "validation", "train")
"""An image in several subsets belongs to the first of these, so that no test image is trained on."""
_BATCH_FILES = 4096
"""Files submitted to the threads at a time: a million pending tasks would take a gigabyte."""
_TASK_ITEMS = 16
"""Items per task: for small files, a task for each would cost more than the work itself."""
_SAVED_SECONDS = 30.0
"""Time between two writes of the index: the most that a killed run loses."""

X = TypeVar("X")
Y = TypeVar("Y")


@dataclass(frozen=True, slots=True)
class FolderImage:
    """A distinct content, with all the files that contain it."""

    id: str
    subset: str
    files: tuple[str, ...]
    labels: tuple[str, ...]
    """The distinct classes of these files; more than one is a conflict."""


@dataclass(frozen=True)
class Identified:
    """The images of a folder, sorted by file name, and the files that are skipped."""

    images: list[FolderImage]
    skipped: list[Skipped]


def map_in_tasks(pool: ThreadPoolExecutor, work: Callable[[X], Y], items: Sequence[X]) -> Iterator[Y]:
    """Yield the results in the order of the items, which are submitted in tasks of several."""
    tasks = [items[start : start + _TASK_ITEMS] for start in range(0, len(items), _TASK_ITEMS)]
    for results in pool.map(lambda task: [work(item) for item in task], tasks):
        yield from results


def identify(
    root: Path,
    files: Sequence[ImageFile],
    pool: ThreadPoolExecutor,
    show: bool | None,
    index: HashIndex | None = None,
) -> Identified:
    """Hash the files; return one image for each distinct content, and the skipped files.

    ``index``: of files that need not be read again unless they changed; it is brought up to date. None hashes all.
    """
    groups: dict[str, ImageFile | list[ImageFile]] = {}  # a list only for several: most images have one file
    skipped: list[Skipped] = []
    entries: list[Array] = []
    saved, now_ns = time.monotonic(), time.time_ns()
    with progress_bar("hashing files", len(files), show) as advance:
        for start in range(0, len(files), _BATCH_FILES):
            batch = files[start : start + _BATCH_FILES]
            results = _hash_batch(root, batch, pool, index, entries)
            for entry, result in zip(batch, results, strict=True):
                if isinstance(result, Skipped):
                    skipped.append(result)
                else:
                    before = groups.setdefault(result, entry)
                    if before is not entry:
                        groups[result] = [before, entry] if isinstance(before, ImageFile) else [*before, entry]
                advance(1)
            if index is not None and time.monotonic() - saved > _SAVED_SECONDS:
                index.save(_merged(entries, index), now_ns)
                saved = time.monotonic()
    if index is not None:
        index.save(np.concatenate(entries) if entries else np.zeros(0, ENTRY), now_ns)
    images = []
    label_tuples: dict[str | None, tuple[str, ...]] = {}
    for id_, group in groups.items():
        if isinstance(group, ImageFile):
            labels_of_one = label_tuples.setdefault(group.label, () if group.label is None else (group.label,))
            images.append(FolderImage(id_, group.subset, (group.file,), labels_of_one))
            continue
        subset = min((entry.subset for entry in group), key=PRIORITY.index)
        ordered = sorted(group, key=lambda entry: (PRIORITY.index(entry.subset), entry.file))
        labels = sorted({entry.label for entry in group if entry.label is not None})
        images.append(FolderImage(id_, subset, tuple(entry.file for entry in ordered), tuple(labels)))
    return Identified(sorted(images, key=lambda image: image.files[0]), skipped)


def _hash_batch(
    root: Path, batch: Sequence[ImageFile], pool: ThreadPoolExecutor, index: HashIndex | None, entries: list[Array]
) -> list[str | Skipped]:
    """Return the SHA-256 of each file, or why it is skipped; append the entries of the hashed ones to ``entries``."""

    folder = f"{root}{os.sep}"

    def look(entry: ImageFile) -> os.stat_result | Skipped:
        try:
            stat = os.stat(f"{folder}{entry.file}")  # noqa: PTH116 — a Path for each file takes longer than the call
        except OSError as error:
            return _unopened(entry, error)
        if stat.st_size > MAX_BYTES:
            return Skipped(entry.file, f"{stat.st_size:,} bytes, more than the limit of {MAX_BYTES:,}")
        return stat

    def hash_file(entry: ImageFile) -> str | Skipped:
        try:
            return sha256(root / entry.file)
        except OSError as error:
            return _unopened(entry, error)

    looks = list(map_in_tasks(pool, look, batch))
    results: list[str | Skipped] = [look if isinstance(look, Skipped) else "" for look in looks]
    places = [place for place, look in enumerate(looks) if not isinstance(look, Skipped)]
    stats = [look for look in looks if not isinstance(look, Skipped)]
    if index is not None and places:
        described = as_entries([describe(batch[at].file, stat) for at, stat in zip(places, stats, strict=True)])
        unchanged, rows = index.find(described)
        for name in ("sha256", "intact"):
            described[name][unchanged] = index.entries[name][rows[unchanged]]
        for at, known in zip(places, unchanged.tolist(), strict=True):
            results[at] = "known" if known else ""
    todo = [at for at in places if not results[at]]
    for at, result in zip(todo, map_in_tasks(pool, hash_file, [batch[at] for at in todo]), strict=True):
        results[at] = result
    if index is not None and places:
        known_hex = described["sha256"].tobytes().hex()
        for row, at in enumerate(places):
            result = results[at]
            if result == "known":
                results[at] = known_hex[64 * row : 64 * row + 64]
            elif isinstance(result, str):
                described["sha256"][row] = np.frombuffer(bytes.fromhex(result), np.uint8)
        entries.append(described)
    return results


def _unopened(entry: ImageFile, error: OSError) -> Skipped:
    return Skipped(entry.file, f"cannot be opened: {error.strerror or error}")


def _merged(entries: Sequence[Array], index: HashIndex) -> Array:
    """Return the entries of this run so far, and those of earlier runs for files that it has not come to yet."""
    new = np.concatenate(entries)
    return np.concatenate([new, index.entries[~np.isin(index.entries["path"], new["path"])]])


def add_content_labels(
    images: Sequence[FolderImage], contents: Sequence[ContentLabel]
) -> tuple[list[FolderImage], tuple[str, ...]]:
    """Add the labels given by content; return the images, and the names of contents that are not in the folder."""
    if not contents:
        return list(images), ()
    labels: dict[str, set[str]] = {}
    for content in contents:
        labels.setdefault(content.id, set()).update(() if content.label is None else (content.label,))
    present = {image.id for image in images}
    labelled = [replace(image, labels=tuple(sorted({*image.labels, *labels.get(image.id, ())}))) for image in images]
    return labelled, tuple(content.file for content in contents if content.id not in present)
