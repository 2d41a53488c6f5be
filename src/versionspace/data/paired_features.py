"""Features for the images of a folder: a learner uses the vectors, a person sees the files."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.data.dataset import Dataset, Skipped, Subset
from versionspace.data.features_file import FeatureTable, check_ids, combined_sha256
from versionspace.errors import InputError
from versionspace.files import sha256
from versionspace.text import printable
from versionspace.views import ImageView

WITHOUT_FEATURES = "has no features"
"""Why an image is left out."""


def pair_with_features(dataset: Dataset, table: FeatureTable, names: Path | None = None) -> Dataset:
    """Return the dataset of a folder with the vectors of ``table`` in place of pixels, read on access.

    Rows belong to files by their paths relative to the folder, with either kind of slash: the ids of the table, or
    ``names``, a text file with one path on each line. Images without a row are left out, and listed in the report.
    Raises `InputError` if there are no names or if no image of the training subset has a row.
    """
    assert dataset.report is not None  # every folder has one
    rows = _rows_by_file(table, names)
    copies = {one.id: one.files for one in dataset.report.duplicates}
    without: list[str] = []

    def paired(subset: Subset | None) -> Subset | None:
        if subset is None:
            return None
        found = [_row(rows, copies.get(i, (file,))) for i, file in zip(subset.ids, subset.files or (), strict=True)]
        kept = np.array([place for place, row in enumerate(found) if row is not None], np.int64)
        without.extend(file for file, row in zip(subset.files or (), found, strict=True) if row is None)
        if not len(kept):
            return None
        vectors: Any = ImageView(table.features, np.array([row for row in found if row is not None], np.int64))
        files = tuple((subset.files or ())[place] for place in kept)
        return Subset(vectors, None if subset.labels is None else subset.labels[kept], subset.ids[kept], files)

    train = paired(dataset.train)
    if train is None:
        raise InputError(
            table.name, expected="names of images in the folder, relative to it",
            got=f"{len(rows)} others, such as {printable(next(iter(rows)))!r} where the folder has "
            f"{printable((dataset.train.files or ('',))[0])!r}", fix="Write paths as they are inside the folder.",
        )  # fmt: skip
    validation, test = paired(dataset.validation), paired(dataset.test)
    skipped = (*dataset.report.skipped, *(Skipped(file, WITHOUT_FEATURES) for file in sorted(without)))
    return replace(
        dataset, train=train, validation=validation, test=test,
        report=replace(dataset.report, skipped=tuple(sorted(skipped, key=lambda one: one.file))),
        features_sha256=combined_sha256(table.sha256, "" if names is None else sha256(names)),
    )  # fmt: skip


def without_features_message(dataset: Dataset) -> str:
    """Return a sentence about images that are left out because they have no features; empty if there are none."""
    skipped = dataset.report.skipped if dataset.report else ()
    names = [printable(one.file) for one in skipped if one.why == WITHOUT_FEATURES]
    if not names:
        return ""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    are = "image has no features and is" if len(names) == 1 else "images have no features and are"
    return f"{len(names):,} {are} left out: {', '.join(names[:3])}{more}."


def _row(rows: Mapping[str, int], files: tuple[str, ...]) -> int | None:
    """Return the row of an image that has these files; None if none of them has one."""
    return next((rows[file] for file in files if file in rows), None)


def _rows_by_file(table: FeatureTable, names: Path | None) -> dict[str, int]:
    if names is not None:
        ids = check_ids(_read_lines(names), len(table), printable(names.name))
    elif table.has_ids and table.ids.dtype.kind == "U":
        ids = table.ids
    else:
        raise InputError(
            table.name, expected="the name of the image of each row", got="features without names of files",
            fix="Pass a text file with one name on each line, relative to the folder: --ids names.txt (data.ids).",
        )  # fmt: skip
    return {name.replace("\\", "/").removeprefix("./"): row for row, name in enumerate(ids.tolist())}


def _read_lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        raise InputError(
            printable(path), expected="a text file with one name on each line", got=error.strerror or str(error),
            fix="Check the path.",
        ) from error  # fmt: skip
    return text.removesuffix("\n").split("\n")
