"""What the page shows besides the image: progress, pace, the newest model, the stop light and the curves."""

from dataclasses import asdict
from typing import Any

from versionspace.campaign import stop_advice
from versionspace.label.history import AnswerRecord
from versionspace.label.image_encoding import ImageEncoder
from versionspace.label.service import LabelService
from versionspace.label.supervisor import Supervisor, TrainerStatus
from versionspace.store import RoundMetrics
from versionspace.text import printable

LISTED_ANSWERS = 30
"""Last answers of one person that the page lists."""
LISTED_PROBLEMS = 20
MISSING = "missing, or changed since labelling began; left out until it is restored"


def page_status(
    service: LabelService, supervisor: Supervisor | None, encoder: ImageEncoder, session: str, who: str
) -> dict[str, Any]:
    """Return everything that the page shows, as one JSON object, and renew the session's leases."""
    trainer = supervisor.status() if supervisor else TrainerStatus("down", problem="no trainer was started")
    with service.lock:
        if session:
            service.leases.renew(session)
        state = service.state
        rounds = sorted(state.metrics)
        spent, budget = service.spent(), service.budget
        pace = service.pace()
        metrics = [state.metrics[round_] for round_ in rounds]
        light = stop_advice(metrics, total=budget, spent=spent, rule=service.campaign.runner.rule)
        audit = sum(image not in state.missing for image in service.asks.audit_images)
        return {
            "campaign": service.campaign_key,
            "classes": [{"name": name, "labels": count} for name, count in service.class_counts().items()],
            "done": spent,
            "budget": budget,
            "audit": {"done": audit - len(service.asks.of_audit()), "of": audit},
            "seconds": round(pace.seconds_per_label, 2),
            "left": round(max(0, budget - spent) * pace.seconds_per_label),
            "round": service.newest_round(),
            "behind": service.labels_behind(),
            "people": service.leases.active_sessions(),
            "training": {
                "stage": trainer.stage, "share": trainer.share, "round": trainer.round,
                "trouble": printable(trainer.problem), "retry": trainer.retry_seconds,
            },
            "light": {"colour": light.light, "sentence": light.sentence},
            "curves": [_curve_point(round_, state.metrics[round_]) for round_ in rounds],
            "ended": state.ended,
            "grid": service.guesses is not None,
            "rail": [_listed_answer(answer) for answer in service.history.latest_by(who, LISTED_ANSWERS)],
            "troubles": _image_problems(service, encoder),
        }  # fmt: skip


def _curve_point(round_: int, metrics: RoundMetrics) -> dict[str, Any]:
    audit = asdict(metrics.audit) if metrics.audit and metrics.audit.images else None
    return {"round": round_, "labels": metrics.labels, "diameter": metrics.diameter, "audit": audit}


def _listed_answer(answer: AnswerRecord) -> dict[str, Any]:
    return {
        "uid": answer.uid, "image": str(answer.image), "name": answer.name, "reason": answer.reason,
        "earlier": answer.earlier is not None and not answer.earlier.undone,
    }  # fmt: skip


def _image_problems(service: LabelService, encoder: ImageEncoder) -> list[str]:
    """Return a line for each file that is missing, was skipped when the folder was read, or could not be shown."""
    report, files, missing = service.campaign.dataset.report, service.campaign.images.files, service.state.missing
    skipped = {entry.file: f"{entry.file}: {entry.why}" for entry in report.skipped} if report else {}
    names = sorted(files.get(image) or str(image) for image in missing)
    lines = [f"{name}: {MISSING}" for name in names if name not in skipped]
    lines += [*skipped.values(), *(why for image, why in encoder.trouble.items() if image not in missing)]
    more = [f"and {len(lines) - LISTED_PROBLEMS} more"] if len(lines) > LISTED_PROBLEMS else []
    return [printable(line) for line in lines[:LISTED_PROBLEMS]] + more
