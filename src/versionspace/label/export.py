"""The labels that the page offers for download, as CSV that a spreadsheet opens without running anything."""

from collections.abc import Mapping

from versionspace.data import LabelRow, format_label_table
from versionspace.label.history import UNDONE
from versionspace.store import State
from versionspace.types import ImageId


def labels_csv(state: State, files: Mapping[ImageId, str]) -> str:
    """Return the label table with one row per answered image."""
    rows = []
    for image, label in state.labels.items():
        reason = str(label.details.get("reason", ""))
        if reason == UNDONE:
            continue
        ask, rank = state.places[image]
        file, missing = files.get(image, ""), image in state.missing
        rows.append(
            LabelRow(
                file=file, label=label.name, id=str(image), missing=missing, purpose=ask.purpose,
                round=label.round, rank=rank, who=label.who, reason=reason,
            )
        )  # fmt: skip
    return format_label_table(rows)
