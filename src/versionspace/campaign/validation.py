"""Reject a campaign that cannot run as its config says, before anything is written and before hours are spent.

Imports torch only for a network of the user's own and for a named device.
"""

from versionspace.campaign import stop_rules
from versionspace.campaign.datasets import Datasets
from versionspace.campaign.images import CampaignImages
from versionspace.campaign.learner import check_learner
from versionspace.config import Config, Policy, answered_by_person
from versionspace.errors import InputError
from versionspace.query import TABLE
from versionspace.types import Ints

DROPOUT_METHODS = ("bald", "batchbald", "power-bald")
"""Methods that, as published, sample dropout masks of one network instead of members."""


def validate_campaign(config: Config, datasets: Datasets) -> CampaignImages:
    """Return the images of a new campaign; raise InputError if the campaign cannot run."""
    rule = validate_settings(config)
    images = datasets.draw(config)
    roles = images.roles
    initial, audit, total = len(roles.initial), len(roles.audit), config.budget.total
    if initial + audit > total:
        raise InputError(
            "budget.total", expected=f"at least {initial + audit}: {initial} first labels and {audit} of the audit",
            got=str(total), fix="Raise it, or start from fewer labels with data.initial.",
        )  # fmt: skip
    # A person may label and export even where there are too few images to measure a model.
    if not len(roles.validation) and not len(roles.reference) and not answered_by_person(config):
        raise InputError(
            "data", expected="images to measure distances on: a validation set, or a fifth of what the audit leaves",
            got=f"a pool of {len(roles.pool)} and no validation set",
            fix="Add images: at least five more than the audit takes.",
        )  # fmt: skip
    for part in rule.basic_rules() if rule else ():
        _validate_rule(part, config, images)
    return images


def validate_settings(config: Config) -> stop_rules.Rule | None:
    """Return the stop rule; raise InputError if method, member, network, device or stop rule cannot be used."""
    method, members, member = TABLE[config.query.method], config.ensemble.members, config.query.member
    if member != "all" and not 0 <= member < members:
        raise InputError(
            "query.member", expected=f"one of {members} members, 0 to {members - 1}, or 'all'", got=repr(member),
            fix="The default is 0.",
        )  # fmt: skip
    samples = members if member == "all" or method.name not in DROPOUT_METHODS else config.query.passes
    if samples < method.members:
        raise InputError(
            "ensemble.members", expected=f"at least {method.members}, since {method.name} compares them",
            got=str(members), fix="The paper uses 20.",
        )  # fmt: skip
    check_learner(config)
    if config.machine.device not in ("auto", "cpu"):
        from versionspace.runtime import pick_device

        pick_device(config.machine.device)
    return stop_rules.parse_rule(config.stop.when)


def pool_labels(config: Config, images: CampaignImages) -> Ints:
    """Return the true classes of the pool (N,), from which a simulated oracle answers; raise InputError without."""
    labels = images.truth("pool")
    if labels is None:
        raise InputError(
            "oracle", expected="a dataset whose pool has labels", got=f"{config.data.name} without",
            fix="Let a person label it: versionspace label.",
        )  # fmt: skip
    return labels


def _validate_rule(rule: stop_rules.Rule, config: Config, images: CampaignImages) -> None:
    """Reject a rule that needs unknown labels, or that holds before anything was asked.

    Rules that exceed the budget are allowed: the campaign may be reopened with a larger one.
    """
    if isinstance(rule, stop_rules.audit) and not config.budget.audit:
        raise InputError(
            "stop.when", expected=f"an audit for {rule}", got="budget.audit = 0",
            fix="Reserve labels for it, such as budget.audit = 50.",
        )  # fmt: skip
    if isinstance(rule, stop_rules.accuracy) and not _accuracy_is_known(rule.on, config, images):
        raise InputError(
            "stop.when", expected=f"known labels for {rule}", got=f"none on {rule.on}",
            fix=f"Name another of {', '.join(stop_rules.LABELLED_SETS)}, or use an audit.",
        )  # fmt: skip
    initial = len(images.roles.initial)
    if isinstance(rule, stop_rules.budget) and rule.total <= initial and not config.oracle.abstain:
        raise InputError(
            "stop.when", expected=f"a rule that does not hold from the start, with {initial} first labels",
            got=str(rule), fix="Name a larger number, or start from fewer labels with data.initial.",
        )  # fmt: skip


def _accuracy_is_known(name: str, config: Config, images: CampaignImages) -> bool:
    """Return whether rounds measure the accuracy on this set of images."""
    if name in ("pool", "reference") and not Policy.of(config).trust_folder_labels:
        return False
    return (name != "pool" or config.measure.pool) and images.truth(name) is not None
