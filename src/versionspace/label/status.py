"""What the page shows besides the image: progress, pace, the model that asks, the stop light and the curves.

Labels as CSV that a spreadsheet opens without running anything.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from versionspace.campaign.advice import advice
from versionspace.campaign.export import YES, safe_cell
from versionspace.label.history import Given
from versionspace.label.image_encoding import Showing
from versionspace.label.service import LabelService
from versionspace.label.supervisor import Supervisor, Training
from versionspace.store.metrics import RoundMetrics
from versionspace.store.state import State
from versionspace.text import printable
from versionspace.types import ImageId


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
        file, missing = printable(files.get(image, "")), YES if image in state.gone else ""
        row = [file, label.name or "", reason, ask.purpose, label.who, str(image), missing]
        writer.writerow([safe_cell(cell) for cell in row])
    return out.getvalue()


RAIL = 30
"""Last answers of one person that the page lists."""
TROUBLES = 20
GONE = "gone, or changed since labelling began; left out until it is back"


def status(
    service: LabelService, supervisor: Supervisor | None, showing: Showing, session: str, who: str
) -> dict[str, Any]:
    """All of it, as one record for the page."""
    training = supervisor.now() if supervisor else Training("down", trouble="no trainer was started")
    with service.lock:
        if session:
            service.leases.renew(session)
        state = service.state
        rounds = sorted(state.metrics)
        spent, total = service.spent(), service.total
        pace = service.pace()
        light = advice([state.metrics[r] for r in rounds], total=total, spent=spent, rule=service.campaign.rounds.rule)
        audit = [ask for ask in state.asks if ask.purpose == "audit"]
        asked = sum(i not in state.gone for ask in audit for i in ask.ids)
        return {
            "campaign": service.key,
            "classes": [{"name": name, "labels": n} for name, n in service.classes().items()],
            "done": spent,
            "budget": total,
            "audit": {"done": asked - len(service.asked.audit()), "of": asked},
            "seconds": round(pace.label, 2),
            "left": round(max(0, total - spent) * pace.label),
            "round": service.generation(),
            "behind": service.behind(),
            "people": service.leases.working(),
            "training": {
                "stage": training.stage, "share": training.share, "round": training.round,
                "trouble": printable(training.trouble), "retry": training.retry,
            },
            "light": {"colour": light.light, "sentence": light.sentence},
            "curves": [_point(r, state.metrics[r]) for r in rounds],
            "ended": state.ended,
            "grid": service.guesses is not None,
            "rail": [_answer(g) for g in service.history.by(who, RAIL)],
            "troubles": _troubles(service, showing),
        }  # fmt: skip


def _point(round_: int, metrics: RoundMetrics) -> dict[str, Any]:
    audit = asdict(metrics.audit) if metrics.audit and metrics.audit.images else None
    return {"round": round_, "labels": metrics.labels, "diameter": metrics.diameter, "audit": audit}


def _answer(given: Given) -> dict[str, Any]:
    earlier = given.earlier is not None and not given.earlier.undone
    found = {"uid": given.uid, "image": str(given.image), "name": given.name, "reason": given.reason}
    return found | {"earlier": earlier}


def _troubles(service: LabelService, showing: Showing) -> list[str]:
    """Files that are gone, that were left out when the folder was read, and that could not be shown since."""
    report, names, gone = service.campaign.dataset.report, service.campaign.pictures.files, service.state.gone
    skipped = {entry.file: f"{entry.file}: {entry.why}" for entry in report.skipped} if report else {}
    missing = {names.get(i) or str(i): GONE for i in gone}
    found = [f"{name}: {why}" for name, why in sorted(missing.items()) if name not in skipped]
    found += [*skipped.values(), *(why for image, why in showing.trouble.items() if image not in gone)]
    more = [f"and {len(found) - TROUBLES} more"] if len(found) > TROUBLES else []
    return [printable(text) for text in found[:TROUBLES]] + more
