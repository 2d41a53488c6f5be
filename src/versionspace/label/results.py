"""Files that the page offers for download and the trainer makes: predictions of all other images, and the model.

A request names a kind. If the newest model lags behind the labels given so far, a model is trained first; then the
trainer writes the file into the campaign's folder. Nothing here imports a training framework.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from versionspace.campaign import final_model_note
from versionspace.errors import InputError
from versionspace.text import printable

if TYPE_CHECKING:
    from versionspace.label.service import LabelService

Kind = Literal["predictions", "model", "onnx"]
FILES: dict[str, str] = {"predictions": "predictions.csv", "model": "model.zip", "onnx": "model.onnx"}
KINDS: tuple[str, ...] = get_args(Kind)
_FOLDER = ".results"


@dataclass(frozen=True)
class MadeFile:
    """A file that is ready."""

    labels: int
    """Number of labels that its model was trained on."""
    last_event: int
    """Number of the last event that it takes into account."""
    rows: int = 0
    """Images that a table of predictions has."""


@dataclass
class ResultFiles:
    """What was requested, and what is ready. Guarded by the service's lock."""

    campaign: Path
    wanted: dict[str, None] = field(default_factory=dict)
    """Kinds that were requested and are not ready, in the order of the requests."""
    made: dict[str, MadeFile] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    train_since: int = 0
    """A model that knows the events up to this one is trained first; 0 if the newest one will do."""

    def path(self, kind: str) -> Path:
        """Return where the file of a kind is."""
        return self.campaign / _FOLDER / FILES[kind]

    def next_request(self) -> dict[str, Any] | None:
        """Return the request for the trainer; None if there is none, or if a model has to be trained first."""
        kind = next(iter(self.wanted), None)
        return None if kind is None or self.train_since else {"result": kind, "to": str(self.path(kind))}

    def model_trained(self, last_event: int | None) -> None:
        """Take note of a new model."""
        if last_event is None or last_event >= self.train_since:
            self.train_since = 0

    def finish(self, message: Mapping[str, Any]) -> None:
        """Take note of a file that the trainer has made, or of why it could not."""
        kind = message["result"]
        self.wanted.pop(kind, None)
        if message["problem"]:
            self.problems[kind] = message["problem"]
        else:
            self.made[kind] = MadeFile(message["labels"], message["last_event"], message["rows"])


def request_result(service: "LabelService", kind: Kind) -> None:
    """Have a file made. Raises InputError if there is no model yet."""
    with service.lock:
        if not service.state.metrics:
            raise InputError(
                kind, expected="a trained model", got="none yet", fix="Keep labelling: the first model is trained soon."
            )
        results = service.results
        if service.labels_behind() and not service.state.ended:
            results.train_since = service.counts.last_answer
        results.problems.pop(kind, None)
        results.made.pop(kind, None)
        results.wanted[kind] = None
    service.changed.set()


def result_path(service: "LabelService", kind: Kind) -> Path:
    """Return a file that is ready. Raises InputError if it is not."""
    with service.lock:
        path = service.results.path(kind)
        if kind in service.results.made and path.is_file():
            return path
    raise InputError(
        kind,
        expected="a file that is ready",
        got="none yet",
        fix="Request it under Results, and wait until it is made.",
    )


def results_status(service: "LabelService", stage: str, share: float) -> dict[str, Any]:
    """Return what the page shows of the results. The service's lock is held."""
    state, results = service.state, service.results
    newest = state.metrics.get(service.newest_round())
    labels = state.final.labels if state.final else newest.labels if newest else 0
    making = next(iter(results.wanted), None)
    files = {}
    for kind in KINDS:
        made = results.made.get(kind)
        current = made is not None and made.labels == labels and made.last_event >= service.counts.last_answer
        files[kind] = {
            "state": "making" if kind in results.wanted else "ready" if made else "none",
            "share": share if kind == making and stage == "result" else 0.0,
            "queued": kind in results.wanted and kind != making,
            "training": kind in results.wanted and stage != "result",
            "labels": made.labels if made else 0, "rows": made.rows if made else 0, "current": current,
            "problem": printable(results.problems.get(kind, "")),
        }  # fmt: skip
    return {
        "labels": labels, "behind": 0 if state.final else service.labels_behind(), "final": final_model_note(state),
        "unlabelled": len(service.pool) - len(state.missing) - service.spent(), "files": files,
        "onnx": all(find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")),
        "commands": commands(service.campaign.folder.path),
    }  # fmt: skip


def commands(campaign: Path) -> list[str]:
    """Return the commands that write the same files.

    >>> commands(Path("/photos/my cats.versionspace"))[0]
    "versionspace export '/photos/my cats.versionspace' --labels csv"
    """
    options = ("--labels csv", "--labels label-studio", "--predictions", "--model safetensors", "--model onnx")
    return [f"versionspace export {shlex.quote(printable(campaign))} {option}" for option in options]
