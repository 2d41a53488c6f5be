"""Features of a folder of images, in one file with the names of the images. Resumable, in shards.

OUT.parts/plan.json      what the parts depend on
OUT.parts/00000.npz      the features of one shard, written when it is complete
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from versionspace.data import Skipped, image_files, is_folder, progress_bar
from versionspace.errors import InputError
from versionspace.features.extractor import DEFAULT_EXTRACTOR, absolute_name, make_extractor
from versionspace.features.shards import Shard, ShardFeatures, extract_shard
from versionspace.features.table_writer import Piece, check_output, write_table
from versionspace.files import replacing, write_bytes
from versionspace.machine import cores
from versionspace.text import printable

SHARD_FILES = 256
"""Files in one shard: the most that a killed run loses for each worker."""
_SIDE = 160
"""Pixels for an extractor that takes images of any size, as in `versionspace label`."""

Runner = Callable[[Sequence[Shard]], Iterable[tuple[int, ShardFeatures]]]
"""Extracts the features of shards, and yields them with their numbers in any order."""


@dataclass(frozen=True)
class FolderFeatures:
    """What `extract_folder` wrote."""

    path: Path
    images: int
    width: int
    """F, the number of features."""
    resumed: int
    """Images whose features an earlier run had extracted."""
    skipped: tuple[Skipped, ...]


def extract_folder(
    folder: str | Path,
    out: str | Path,
    extractor: str = DEFAULT_EXTRACTOR,
    *,
    size: int | None = None,
    runner: Runner | None = None,
    shard_files: int = SHARD_FILES,
    progress: bool | None = False,
) -> FolderFeatures:
    """Write the features of all images of a folder to one file, ``.parquet`` or ``.npz``, with their paths as ids.

    Images are cropped to a square of ``size`` pixels, by default those that `versionspace label` uses. A run that was
    interrupted resumes with the same arguments. ``runner``: extracts the shards elsewhere; by default here, with all
    cores. Files that cannot be read, and names that are not valid text, are left out and listed.

    Raises InputError if the folder, the extractor or the output cannot be used, if no image can be read, or if the
    folder changed since an interrupted run.
    """
    root, path = Path(folder).expanduser(), Path(out).expanduser()
    if not is_folder(root):
        raise InputError("folder", expected="a folder of images", got=repr(str(folder)), fix="Check the path.")
    check_output(path)
    made = make_extractor(extractor)
    pixels = size or made.side or _SIDE
    names, unnamed = _valid_names(image_files(root))
    absolute, name = str(root.absolute()), absolute_name(extractor)
    starts = range(0, len(names), shard_files)
    shards = [Shard(absolute, tuple(names[i : i + shard_files]), name, pixels) for i in starts]
    parts = _Parts(path.with_name(path.name + ".parts"))
    listed = hashlib.sha256("\0".join(names).encode()).hexdigest()
    parts.begin({"extractor": made.identity, "size": pixels, "files": listed, "shard": shard_files})
    todo = [number for number in range(len(shards)) if not parts.path(number).exists()]
    resumed = len(names) - sum(len(shards[number].files) for number in todo)
    with progress_bar("features", sum(len(shards[number].files) for number in todo), progress) as advance:
        for place, found in (runner or _extract_here)([shards[number] for number in todo]):
            parts.write(todo[place], found)
            advance(len(shards[todo[place]].files))
    summary = parts.summary(len(shards))
    skipped = (*unnamed, *summary.skipped)
    if not summary.rows:
        reasons = "; ".join(f"{printable(one.file)}: {one.why}" for one in skipped[:3])
        parts.delete()
        raise InputError(
            printable(root), expected="at least one readable image", got=f"none ({reasons})" if reasons else "none",
            fix="Check the path and the file extensions.",
        )  # fmt: skip
    write_table(path, lambda: parts.pieces(len(shards)), summary.rows, made.width)
    parts.delete()
    return FolderFeatures(path, summary.rows, made.width, resumed, tuple(sorted(skipped, key=lambda one: one.file)))


def _extract_here(shards: Sequence[Shard]) -> Iterator[tuple[int, ShardFeatures]]:
    for number, shard in enumerate(shards):
        yield number, extract_shard(shard, cores(), None)


def _valid_names(files: Iterable[str]) -> tuple[list[str], list[Skipped]]:
    valid: list[str] = []
    invalid: list[Skipped] = []
    for file in files:
        try:
            file.encode()
            valid.append(file)
        except UnicodeEncodeError:
            invalid.append(Skipped(file, "its name is not valid text"))
    return valid, invalid


@dataclass(frozen=True)
class _Summary:
    rows: int
    skipped: tuple[Skipped, ...]


class _Parts:
    """The shards that are complete, each in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, number: int) -> Path:
        return self._folder / f"{number:05d}.npz"

    def begin(self, plan: dict[str, object]) -> None:
        """Create the folder, or check that it belongs to the same work."""
        note = self._folder / "plan.json"
        if not note.exists():
            write_bytes(note, json.dumps(plan).encode())
            return
        before = json.loads(note.read_bytes())
        if before != plan:
            changed = ", ".join(sorted(key for key in {*plan, *before} if plan.get(key) != before.get(key)))
            raise InputError(
                printable(self._folder), expected="the parts of an interrupted run with the same arguments",
                got=f"parts of another ({changed} changed)", fix="Delete this folder to start again.",
            )  # fmt: skip

    def write(self, number: int, found: ShardFeatures) -> None:
        note = json.dumps({"files": found.files, "skipped": [asdict(one) for one in found.skipped]})
        with replacing(self.path(number)) as new, new.open("wb") as file:
            np.savez(file, features=found.features, note=np.frombuffer(note.encode(), np.uint8))

    def summary(self, count: int) -> _Summary:
        rows, skipped = 0, []
        for number in range(count):
            with np.load(self.path(number)) as part:
                note = json.loads(part["note"].tobytes())
            rows += len(note["files"])
            skipped += [Skipped(**one) for one in note["skipped"]]
        return _Summary(rows, tuple(skipped))

    def pieces(self, count: int) -> Iterator[Piece]:
        for number in range(count):
            with np.load(self.path(number)) as part:
                files = tuple(json.loads(part["note"].tobytes())["files"])
                if files:
                    yield Piece(files, part["features"])

    def delete(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
