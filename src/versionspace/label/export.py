"""The labels that the page offers for download, as CSV that a spreadsheet opens without running anything."""

from collections.abc import Mapping

from versionspace.data import LabelRow, format_label_table
from versionspace.store import UNDONE, State
from versionspace.types import ImageId


def labels_csv(state: State, files: Mapping[ImageId, str]) -> str:
    """Return the label table with one row per answered image."""
    rows = []
    for image, label in state.labels.items():
        if label.reason == UNDONE:
            continue
        ask, rank = state.places[image]
        file, missing = files.get(image, ""), image in state.missing
        rows.append(
            LabelRow(
                file=file, label=label.name, id=str(image), missing=missing, purpose=ask.purpose,
                round=label.round, rank=rank, who=label.who, reason=label.reason,
            )
        )  # fmt: skip
    return format_label_table(rows)
