"""What the page shows besides the image: progress, pace, the model that asks, the stop light and the curves.

Labels as CSV that a spreadsheet opens without running anything.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from versionspace.campaign.advice import advice
from versionspace.data import PAGE_COLUMNS, LabelRow, format_label_table
from versionspace.label.history import Given
from versionspace.label.image_encoding import ImageEncoder
from versionspace.label.service import Desk
from versionspace.label.supervisor import Supervisor, Training
from versionspace.store import RoundMetrics, State
from versionspace.text import printable
from versionspace.types import ImageId


def labels_csv(state: State, files: Mapping[ImageId, str]) -> str:
    """One line for each image that was answered: file, label (empty: none), reason, purpose, who, id, missing."""
    rows = []
    for image, label in state.labels.items():
        reason = str(label.details.get("reason", ""))
        if reason == "undone":
            continue
        ask, _ = state.places[image]
        file, missing = files.get(image, ""), image in state.missing
        rows.append(
            LabelRow(
                file=file, label=label.name, id=str(image), missing=missing, purpose=ask.purpose, who=label.who,
                reason=reason,
            )
        )  # fmt: skip
    return format_label_table(rows, PAGE_COLUMNS)


RAIL = 30
"""Last answers of one person that the page lists."""
TROUBLES = 20
GONE = "gone, or changed since labelling began; left out until it is back"


def status(desk: Desk, supervisor: Supervisor | None, showing: ImageEncoder, session: str, who: str) -> dict[str, Any]:
    """All of it, as one record for the page."""
    training = supervisor.now() if supervisor else Training("down", trouble="no trainer was started")
    with desk.lock:
        if session:
            desk.leases.renew(session)
        state = desk.state
        rounds = sorted(state.metrics)
        spent, total = desk.spent(), desk.total
        pace = desk.pace()
        light = advice([state.metrics[r] for r in rounds], total=total, spent=spent, rule=desk.campaign.runner.rule)
        audit = [ask for ask in state.asks if ask.purpose == "audit"]
        asked = sum(i not in state.missing for ask in audit for i in ask.ids)
        return {
            "campaign": desk.key,
            "classes": [{"name": name, "labels": n} for name, n in desk.classes().items()],
            "done": spent,
            "budget": total,
            "audit": {"done": asked - len(desk.asked.audit()), "of": asked},
            "seconds": round(pace.label, 2),
            "left": round(max(0, total - spent) * pace.label),
            "round": desk.generation(),
            "behind": desk.behind(),
            "people": desk.leases.working(),
            "training": {
                "stage": training.stage, "share": training.share, "round": training.round,
                "trouble": printable(training.trouble), "retry": training.retry,
            },
            "light": {"colour": light.light, "sentence": light.sentence},
            "curves": [_point(r, state.metrics[r]) for r in rounds],
            "ended": state.ended,
            "grid": desk.guesses is not None,
            "rail": [_answer(g) for g in desk.history.by(who, RAIL)],
            "troubles": _troubles(desk, showing),
        }  # fmt: skip


def _point(round_: int, metrics: RoundMetrics) -> dict[str, Any]:
    audit = asdict(metrics.audit) if metrics.audit and metrics.audit.images else None
    return {"round": round_, "labels": metrics.labels, "diameter": metrics.diameter, "audit": audit}


def _answer(given: Given) -> dict[str, Any]:
    earlier = given.earlier is not None and not given.earlier.undone
    found = {"uid": given.uid, "image": str(given.image), "name": given.name, "reason": given.reason}
    return found | {"earlier": earlier}


def _troubles(desk: Desk, showing: ImageEncoder) -> list[str]:
    """Files that are gone, that were left out when the folder was read, and that could not be shown since."""
    report, names, gone = desk.campaign.dataset.report, desk.campaign.images.files, desk.state.missing
    skipped = {entry.file: f"{entry.file}: {entry.why}" for entry in report.skipped} if report else {}
    missing = {names.get(i) or str(i): GONE for i in gone}
    found = [f"{name}: {why}" for name, why in sorted(missing.items()) if name not in skipped]
    found += [*skipped.values(), *(why for image, why in showing.trouble.items() if image not in gone)]
    more = [f"and {len(found) - TROUBLES} more"] if len(found) > TROUBLES else []
    return [printable(text) for text in found[:TROUBLES]] + more
