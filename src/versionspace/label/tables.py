"""Labels as CSV that a spreadsheet opens without running anything."""

import csv
import io
from collections.abc import Mapping

from versionspace.campaign.exporting import YES, safe_cell
from versionspace.data.naming import shown
from versionspace.store.replay import ImageId, State


def labels_csv(state: State, files: Mapping[ImageId, str]) -> str:
    """One line for each image that was answered: file, label (empty: none), reason, purpose, who, id, missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["file", "label", "reason", "purpose", "who", "id", "missing"])
    for image, label in state.labels.items():
        reason = str(label.shown.get("reason", ""))
        if reason == "undone":
            continue
        ask, _ = state.places[image]
        file, missing = shown(files.get(image, "")), YES if image in state.gone else ""
        row = [file, label.name or "", reason, ask.purpose, label.who, str(image), missing]
        writer.writerow([safe_cell(cell) for cell in row])
    return out.getvalue()
