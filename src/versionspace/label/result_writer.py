"""The files that `versionspace.label.results` offers, as the trainer writes them."""

import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from versionspace.campaign import CampaignImages, StoredResults, export_model, write_predictions
from versionspace.errors import VersionspaceError
from versionspace.files import replacing
from versionspace.store import CampaignFolder, as_store_errors, read_campaign


def write_result(
    folder: CampaignFolder, images: CampaignImages, request: Mapping[str, Any], tell: Callable[[float], None]
) -> dict[str, Any]:
    """Write the file of a request, and return the message that says so, or why it could not be written."""
    kind, to, rows, problem = request["result"], Path(request["to"]), 0, ""
    record = read_campaign(folder)
    state = record.state
    state.missing = images.missing
    try:
        to.parent.mkdir(exist_ok=True)
        if kind == "predictions":
            results = StoredResults(folder, record.config, state, images)
            rows = write_predictions(results, to, lambda done, of: tell(done / max(1, of)))
        elif kind == "onnx":
            export_model(record, "onnx", to)
        else:
            _write_zip(lambda place: export_model(record, "safetensors", place), to)
    except Exception as error:  # an error that ended the trainer would end all training
        problem = str(error) if isinstance(error, VersionspaceError) else f"{type(error).__name__}: {error}"
    labels = state.final.labels if state.final else state.metrics[max(state.metrics)].labels if state.metrics else 0
    return {"kind": "result", "result": kind, "labels": labels, "last_event": state.last_event,
            "rows": rows, "problem": problem}  # fmt: skip


def _write_zip(fill: Callable[[Path], object], to: Path) -> None:
    """Write a zip file with the folder ``model`` that ``fill`` writes."""
    with tempfile.TemporaryDirectory(dir=to.parent) as place, as_store_errors(to.parent), replacing(to) as new:
        model = Path(place) / "model"
        fill(model)
        with zipfile.ZipFile(new, "w", zipfile.ZIP_STORED) as archive:
            for file in sorted(model.iterdir()):
                archive.write(file, f"model/{file.name}")
