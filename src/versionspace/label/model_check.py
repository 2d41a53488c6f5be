"""The check of the model that a person asks for: random images before all others, then a model that is measured."""

from typing import TYPE_CHECKING

from versionspace.campaign import Advice, ask_random_images, images_to_grow_by, set_target, stop_advice

if TYPE_CHECKING:
    from versionspace.label.service import LabelService


def advice(service: "LabelService") -> Advice:
    """Return the advice whether to stop."""
    campaign, state = service.campaign, service.state
    return stop_advice(
        [state.metrics[round_] for round_ in sorted(state.metrics)], target=target(service),
        confidence=campaign.config.budget.confidence, rule=campaign.runner.rule,
        available=len(service.asks.of_audit()) + images_to_grow_by(campaign),
    )  # fmt: skip


def target(service: "LabelService") -> float:
    """Return the accuracy that is good enough."""
    return service.state.target(service.campaign.config.stop.target)


def change_target(service: "LabelService", accuracy: float) -> None:
    """Change the accuracy that is good enough."""
    with service.lock:
        set_target(service.campaign, accuracy)


def request_check(service: "LabelService", images: int) -> int:
    """Ask for this many random images before all others, and return the budget, which may have grown."""
    with service.lock:
        ask_random_images(service.campaign, images)
    service.changed.set()
    return service.budget


def random_images_left(service: "LabelService") -> int:
    """Return how many random images come before all others."""
    unanswered = len(service.asks.of_audit())
    answered = len(service.asks.audit_images) - unanswered
    return max(0, min(unanswered, service.state.audit_goal - answered))


def check_is_due(service: "LabelService") -> bool:
    """Return whether all images of a check are answered, and no model was measured on them yet."""
    state = service.state
    newest = state.metrics.get(service.newest_round())
    if newest is None or not state.audit_goal or random_images_left(service):
        return False
    missing = state.missing
    labelled = sum(
        i not in missing and i in state.labels and state.labels[i].name is not None for i in service.asks.audit_images
    )
    return (newest.audit.images if newest.audit else 0) < min(labelled, state.audit_goal)
