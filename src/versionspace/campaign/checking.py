"""Whether a campaign can be run as its config says: asked before anything is written, and before hours are spent.

Nothing here imports torch, unless the network is one of the user's own or heads, or a device is named.
"""

from versionspace.campaign import stopping
from versionspace.campaign.pictures import Cut, Pictures, cut
from versionspace.config import Config
from versionspace.data import Dataset
from versionspace.errors import InputError
from versionspace.query.methods import TABLE
from versionspace.types import Ints

SAMPLED = ("bald", "batchbald")
"""Methods of the literature whose samples are dropout masks of one network."""


def fitting(config: Config) -> stopping.Rule | None:
    """Refuses a method, a member, a network, a device or a stop rule that could not be used; gives the rule."""
    method, members, member = TABLE[config.query.method], config.ensemble.members, config.query.member
    if member != "all" and not 0 <= member < members:
        raise InputError(
            "query.member", expected=f"one of {members} members, 0 to {members - 1}, or 'all'", got=repr(member),
            fix="The default is 0.",
        )  # fmt: skip
    samples = members if member == "all" or method.name not in SAMPLED else config.query.passes
    if samples < method.members:
        raise InputError(
            "ensemble.members", expected=f"at least {method.members}, since {method.name} compares them",
            got=str(members), fix="The paper's number is 20.",
        )  # fmt: skip
    if config.ensemble.net == "heads" or ":" in config.ensemble.net:
        from versionspace.campaign.learning import network, training_of

        network(config.ensemble.net)
        training_of(config, has_validation=True)
    if config.machine.device not in ("auto", "cpu"):
        from versionspace.ensemble.work import pick_device

        pick_device(config.machine.device)
    return stopping.parse(config.stop.when)


def checked(config: Config, dataset: Dataset) -> Cut:
    """The cut of a campaign that can be run; a sentence where it cannot."""
    rule = fitting(config)
    found = cut(config, dataset)
    first, audit, total = len(found.initial), len(found.audit), config.budget.total
    if first + audit > total:
        raise InputError(
            "budget.total", expected=f"at least {first + audit}: {first} first labels and {audit} of the audit",
            got=str(total), fix="Raise it, or start from fewer labels with data.initial.",
        )  # fmt: skip
    if config.oracle.kind != "person" and not len(found.validation) and not len(found.reference):
        raise InputError(
            "data", expected="images to measure distances on: a validation set, or a fifth of what the audit leaves",
            got=f"a pool of {len(found.pool)} and no validation set", fix="Add images: five at least beside the audit.",
        )  # fmt: skip
    for one in rule.named() if rule else ():
        _can_hold(one, config, Pictures(dataset, found))
    return found


def truth_of_pool(config: Config, pictures: Pictures) -> Ints:
    """(N,): what a simulated oracle answers from."""
    found = pictures.truth("pool")
    if found is None:
        raise InputError(
            "oracle", expected="a dataset whose pool has labels", got=f"{config.data.name} without",
            fix="Let a person label it: versionspace label.",
        )  # fmt: skip
    return found


def _can_hold(rule: stopping.Rule, config: Config, pictures: Pictures) -> None:
    """Refuses a rule that looks at labels which nobody has, or that holds before anything was asked.

    One that only the budget keeps from holding is left: a campaign may be reopened with a larger one.
    """
    if isinstance(rule, stopping.audit) and not config.budget.audit:
        raise InputError(
            "stop.when", expected=f"an audit for {rule}", got="budget.audit = 0",
            fix="Give the audit images, such as budget.audit = 50.",
        )  # fmt: skip
    if isinstance(rule, stopping.accuracy) and not _labelled(rule.on, config, pictures):
        raise InputError(
            "stop.when", expected=f"known labels for {rule}", got=f"none on {rule.on}",
            fix=f"Look at another of {', '.join(stopping.SETS)}, or at an audit.",
        )  # fmt: skip

    first, answers = len(pictures.cut.initial), config.oracle
    if isinstance(rule, stopping.budget) and rule.total <= first and answers.kind == "labels" and not answers.abstain:
        raise InputError(
            "stop.when", expected=f"a rule that does not hold from the start, with {first} first labels", got=str(rule),
            fix="Wait for more labels, or start from fewer with data.initial.",
        )  # fmt: skip


def _labelled(name: str, config: Config, pictures: Pictures) -> bool:
    """Whether rounds measure accuracy there; a person's pool has no truth."""
    inside = name in ("pool", "reference")
    if (inside and config.oracle.kind == "person") or (name == "pool" and not config.measure.pool):
        return False
    return pictures.truth(name) is not None
