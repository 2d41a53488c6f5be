"""What the page shows besides the image: progress, pace, the newest model, the stop light and the curves."""

from dataclasses import asdict
from typing import Any

from versionspace.label.history import AnswerRecord
from versionspace.label.image_encoding import ImageEncoder
from versionspace.label.model_check import advice, random_images_left, target
from versionspace.label.results import results_status
from versionspace.label.service import LEAST_PER_CLASS, LabelService
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
            service.leases.renew(session, who)
        state = service.state
        rounds = sorted(state.metrics)
        spent, budget = service.spent(), service.budget
        pace = service.pace()
        light = advice(service)
        sentence = light.sentence if rounds else f"No model yet: {_waiting_for(service, trainer)}."
        seen = service.counts.seen()
        counts, listed = service.class_counts(), state.class_list
        audit = sum(image not in state.missing for image in service.asks.audit_images)
        return {
            "campaign": service.campaign_key,
            "classes": [
                {"name": name, "labels": counts[name], "given": service.counts.given(name), "seen": name in seen}
                | asdict(listed.note(name))
                for name in listed.order
            ],
            "edition": listed.edition,
            "changes": state.last_event,
            "done": spent,
            "budget": budget,
            "audit": {"done": audit - len(service.asks.of_audit()), "of": audit},
            "seconds": round(pace.seconds_per_label, 2),
            "left": round(max(0, budget - spent) * pace.seconds_per_label),
            "round": service.newest_round(),
            "behind": service.labels_behind(),
            "people": service.leases.people(),
            "training": {
                "stage": trainer.stage, "share": trainer.share, "round": trainer.round,
                "trouble": printable(trainer.problem), "retry": trainer.retry_seconds,
                "features": trainer.extraction.text() if trainer.extraction else printable(trainer.reading),
            },
            "light": {
                "colour": light.light, "sentence": sentence, "case": light.case, "random": light.random_images,
                "checking": random_images_left(service),
            },
            "target": target(service),
            "results": results_status(service, trainer.stage, trainer.share),
            "curves": [_curve_point(round_, state.metrics[round_]) for round_ in rounds],
            "ended": state.ended,
            "grid": service.guesses is not None,
            "rail": [_listed_answer(answer) for answer in service.history.latest_by(who, LISTED_ANSWERS)],
            "troubles": _image_problems(service, encoder),
        }  # fmt: skip


def _waiting_for(service: LabelService, trainer: TrainerStatus) -> str:
    """Return what the first model waits for, as a clause."""
    stages = {
        "down": "the trainer stopped",
        "starting": f"the trainer is starting{': ' * bool(trainer.reading)}{printable(trainer.reading)}",
    }
    stages["features"] = trainer.extraction.text() if trainer.extraction else "features are being computed"
    return _labels_lacking(service) or stages.get(trainer.stage, "the first one is being trained")


def _labels_lacking(service: LabelService) -> str:
    """Return which labels the first model waits for, as a clause; empty if it can be trained."""
    if not service.in_cold_start():
        return "" if service.counts.training() else "no image has a label"
    ready = sum(count >= LEAST_PER_CLASS for count in service.class_counts().values())
    so_far = "one class has them" if ready else "no class has them yet"
    return f"the first one needs {LEAST_PER_CLASS} labels each of two classes, and {so_far}"


def _curve_point(round_: int, metrics: RoundMetrics) -> dict[str, Any]:
    audit = asdict(metrics.audit) if metrics.audit and metrics.audit.images else None
    return {"round": round_, "labels": metrics.labels, "diameter": metrics.diameter, "audit": audit}


def _listed_answer(answer: AnswerRecord) -> dict[str, Any]:
    return {
        "uid": answer.uid, "image": str(answer.image), "name": answer.name, "reason": answer.reason,
        "earlier": answer.earlier is not None and not answer.earlier.undone, "grid": answer.grid,
        "guess": _seen_guess(answer),
    }  # fmt: skip


def _seen_guess(answer: AnswerRecord) -> dict[str, Any] | None:
    """Return the guess that the person saw; None if it was hidden."""
    guess = answer.details.get("guess")
    if not guess or guess["shown"] == "hidden":
        return None
    return {"name": guess["class"], "agreement": guess["agreement"]}


def _image_problems(service: LabelService, encoder: ImageEncoder) -> list[str]:
    """Return a line for each file that is missing, was skipped when the folder was read, or could not be shown."""
    report, files, missing = service.campaign.dataset.report, service.campaign.images.files, service.state.missing
    skipped = {entry.file: f"{entry.file}: {entry.why}" for entry in report.skipped} if report else {}
    unreadable = service.unreadable
    names = sorted(files.get(image) or str(image) for image in missing if image not in unreadable)
    lines = [f"{name}: {MISSING}" for name in names if name not in skipped]
    lines += [f"{files.get(image) or image}: {why}; left out" for image, why in unreadable.items()]
    lines += [*skipped.values(), *(why for image, why in encoder.trouble.items() if image not in missing)]
    more = [f"and {len(lines) - LISTED_PROBLEMS} more"] if len(lines) > LISTED_PROBLEMS else []
    return [printable(line) for line in lines[:LISTED_PROBLEMS]] + more
