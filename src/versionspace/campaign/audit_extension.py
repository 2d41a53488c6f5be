"""More random images for the audit, and the accuracy that it has to assure.

The audit grows by images of the reference set. These are a uniform sample of the pool, too, which no method asks for
and no round is trained on; distances are measured on them without their labels.
"""

import numpy as np

from versionspace import rng
from versionspace.campaign.campaign import Campaign
from versionspace.campaign.round import proposal_event
from versionspace.errors import InputError
from versionspace.store import Event, as_ids
from versionspace.types import Array, is_count, is_number


def spare_random_images(campaign: Campaign) -> int:
    """Return how many more random images may be labelled: unanswered ones of the audit, and those it can grow by."""
    return len(_unanswered(campaign)) + images_to_grow_by(campaign)


def images_to_grow_by(campaign: Campaign) -> int:
    """Return the number of images that the audit can grow by."""
    places = campaign.state.places
    return sum(image not in places for image in as_ids(campaign.images.roles.reference))


def ask_random_images(campaign: Campaign, count: int) -> int:
    """Ask for ``count`` more random images before anything else, and return how many labels the budget has now.

    Images of the audit that have no answer come first. For the others the audit grows, and the budget grows by as many
    labels; a campaign that had ended is reopened. Raises InputError if there is no model to check yet, or if so many
    images are not left.
    """
    state, open_now = campaign.state, _unanswered(campaign)
    spare = len(open_now) + len(_candidates(campaign))
    if not is_count(count) or count > spare:
        raise InputError(
            "random images", expected=f"a whole number from 1 to {spare}, the images that are left to draw from",
            got=repr(count), fix="Label fewer, or go on with images that the model chooses.",
        )  # fmt: skip
    if not state.metrics:
        raise InputError(
            "random images", expected="a trained model to check", got="none yet",
            fix="Keep labelling: the first model is trained soon.",
        )  # fmt: skip
    ids = _candidates(campaign)[: max(0, count - len(open_now))]
    answered = sum(i in state.labels for ask in state.asks if ask.purpose == "audit" for i in ask.ids)
    least = state.spent() + len(open_now) + len(ids)
    total = max(campaign.budget + len(ids), least)
    if total > campaign.budget or state.ended:
        campaign.reopen(total)
    events = [Event("check", state.round, {"images": answered + count})]
    if len(ids):
        part = sum(ask.round == state.round for ask in state.asks)
        events.append(proposal_event(state.round, part, "audit", ids, np.zeros(len(ids))))
    campaign.commit(events)
    return campaign.budget


def set_target(campaign: Campaign, target: float) -> None:
    """Change the accuracy that the audit must assure. Raises InputError unless it is between 0 and 1."""
    reject_target(target)
    if target != campaign.state.target(campaign.config.stop.target):
        campaign.commit([Event("target", campaign.state.round, {"accuracy": float(target)})])


def reject_target(target: object) -> None:
    """Raise InputError unless the target is a share between 0 and 1."""
    if not is_number(target) or not 0 < target < 1:
        raise InputError(
            "--target", expected="an accuracy between 0 and 1", got=repr(target), fix="For example 0.9, for 90%."
        )


def _unanswered(campaign: Campaign) -> list[object]:
    state = campaign.state
    return [i for ask in state.asks if ask.purpose == "audit" and not ask.closed for i in state.unanswered(ask)]


def _candidates(campaign: Campaign) -> Array:
    """Return the images that the audit may grow by, in a random order that depends on the seed alone."""
    ids = campaign.images.roles.reference
    ids = ids[~np.isin(ids, np.array(list(campaign.state.places), ids.dtype))]
    if not len(ids):
        return ids
    return ids[np.argsort(rng.id_hashes(rng.key(campaign.config.seed, "audit extension"), ids), kind="stable")]
