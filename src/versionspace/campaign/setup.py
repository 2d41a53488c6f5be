"""The folders of a grid: what cannot be run is refused before any is made, and a config that came to nothing gives way.

Nothing here imports torch, unless the network is one of the user's own.

Whether a campaign can be run as its config says: asked before anything is written, and before hours are spent.

Nothing here imports torch, unless the network is one of the user's own, or a device is named.

A campaign's folder, made before anything heavy is imported.
"""

import contextlib
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from versionspace.campaign import stop_rules
from versionspace.campaign.images import Cut, Pictures, cut
from versionspace.campaign.learner import check_learner
from versionspace.config import Config, DataConfig, GridConfig, as_input_errors, differences, to_toml
from versionspace.data import Dataset
from versionspace.data.catalogue import DATASETS
from versionspace.errors import InputError
from versionspace.query.methods import TABLE, find
from versionspace.store import (
    CONFIG,
    GRID,
    CampaignFolder,
    Ledger,
    Lock,
    as_store_errors,
    is_campaign,
    read_stored_config,
    write_file,
)
from versionspace.text import printable
from versionspace.types import Ints

SAMPLED = ("bald", "batchbald")
"""Methods of the literature whose samples are dropout masks of one network."""


def fitting(config: Config) -> stop_rules.Rule | None:
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
    check_learner(config)
    if config.machine.device not in ("auto", "cpu"):
        from versionspace.runtime import pick_device

        pick_device(config.machine.device)
    return stop_rules.parse_rule(config.stop.when)


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
    for one in rule.basic_rules() if rule else ():
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


def _can_hold(rule: stop_rules.Rule, config: Config, pictures: Pictures) -> None:
    """Refuses a rule that looks at labels which nobody has, or that holds before anything was asked.

    One that only the budget keeps from holding is left: a campaign may be reopened with a larger one.
    """
    if isinstance(rule, stop_rules.audit) and not config.budget.audit:
        raise InputError(
            "stop.when", expected=f"an audit for {rule}", got="budget.audit = 0",
            fix="Give the audit images, such as budget.audit = 50.",
        )  # fmt: skip
    if isinstance(rule, stop_rules.accuracy) and not _labelled(rule.on, config, pictures):
        raise InputError(
            "stop.when", expected=f"known labels for {rule}", got=f"none on {rule.on}",
            fix=f"Look at another of {', '.join(stop_rules.LABELLED_SETS)}, or at an audit.",
        )  # fmt: skip

    first, answers = len(pictures.cut.initial), config.oracle
    if isinstance(rule, stop_rules.budget) and rule.total <= first and answers.kind == "labels" and not answers.abstain:
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


_BEFORE = {"begun", "resumed"}
"""Events that say where and when, and nothing that would be lost."""


def place(path: Path, config: Config) -> None:
    """Makes the folder and writes campaign.toml; one that is there must say the same, unless nothing came of it.

    Device and threads may change: those that are wanted now are written down.
    """
    found = CampaignFolder(path)
    config = located(config)
    if found.config.is_file():
        before = read_stored_config(found.config)
        config = as_before(config, before)
        changed = differences(before, config)
        if before == config:
            return
        if changed and not (untouched(found) and _emptied(found)):
            raise InputError(
                str(path), expected="the config that this campaign began with", got="; ".join(changed),
                fix="Choose another folder, or go on as it began: `versionspace resume`, or `label --campaign`.",
            )  # fmt: skip
    keep(found, config)


def moved(config: Config, images: Path) -> Config:
    """A config whose folder of images lies elsewhere now; the same one where that is only another way to name it."""
    if config.data.name in DATASETS:
        raise InputError(
            "images", expected=f"none for a campaign on {config.data.name}", got=printable(images), fix="Leave it out."
        )
    now = absolute(images)
    return config if _same(config.data.name, now) else _renamed(config, str(now))


def located(config: Config) -> Config:
    """A config whose folder of images is found from wherever one stands."""
    return config if config.data.name in DATASETS else _renamed(config, str(absolute(Path(config.data.name))))


def as_before(config: Config, before: Config) -> Config:
    """With the folder of images named as it was, where it is the same one."""
    names = (config.data.name, before.data.name)
    same = not any(name in DATASETS for name in names) and _same(before.data.name, Path(config.data.name))
    return _renamed(config, before.data.name) if same else config


def absolute(path: Path) -> Path:
    """Where it lies, from wherever one stands, and never a bare name that could be a dataset's."""
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 — a link stays the link that was typed


def _same(before: str, now: Path) -> bool:
    then = Path(before).expanduser()
    return absolute(then) == now or (now.exists() and then.exists() and now.samefile(then))


def _renamed(config: Config, name: str) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update={"name": name})})


def keep(found: CampaignFolder, config: Config) -> None:
    """Writes campaign.toml."""
    try:
        content = to_toml(config).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            printable(config.data.name), expected="a folder and classes whose names are UTF-8",
            got=printable(error.object[error.start]), fix="Rename it; the images in it may have any names.",
        ) from error  # fmt: skip
    write_file(found.config, content)


def untouched(found: CampaignFolder) -> bool:
    """Whether the images have no roles yet: nothing was asked, answered or trained, and the config may change."""
    if not found.ledger.exists():
        return not found.lost_ledger()
    with Ledger.view(found.ledger) as ledger:
        return ledger.kinds() <= _BEFORE


def withdraw(found: CampaignFolder) -> None:
    """Takes a campaign back of which nothing came."""
    if untouched(found) and _emptied(found):
        with as_store_errors(found.path):
            for path in (found.config, Lock(found.path).path):
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # something of the user's is there too
                found.path.rmdir()
                found.path.parent.rmdir()


def _emptied(found: CampaignFolder) -> bool:
    """Removes the ledger of an untouched campaign; False, and nothing is removed, where it is not."""
    with Lock(found.path):
        if not untouched(found):
            return False
        with as_store_errors(found.path):
            for suffix in ("-wal", "-shm", ""):  # the journal first: it must not meet another ledger
                found.ledger.with_name(found.ledger.name + suffix).unlink(missing_ok=True)
            found.split.unlink(missing_ok=True)  # written, and not yet told of
    return True


if TYPE_CHECKING:
    from versionspace.data import Dataset

_OWN = ("seed", "query.method")
"""What each campaign of a grid has for itself."""


def prepare(config: Config, folder: Path, methods: Sequence[str] | None, seeds: Iterable[int] | None) -> list[Path]:
    """Makes the folders of the campaigns; gives them in the order in which they are to be run.

    What cannot be run is refused before anything is made.
    """
    if is_campaign(folder):
        raise InputError(
            str(folder), expected="a folder for a grid of campaigns", got="one campaign",
            fix="Go on with it by `versionspace resume`, or choose another folder with --out.",
        )  # fmt: skip
    if config.oracle.kind == "person":
        raise InputError(
            "oracle.kind", expected="'labels', since nobody is there to answer", got="'person'",
            fix="A person labels with `versionspace label`.",
        )  # fmt: skip
    wanted = tuple(methods) if methods is not None else config.grid.methods or (config.query.method,)
    numbers = _seeds(seeds) if seeds is not None else config.grid.seeds or (config.seed,)
    for method in wanted:
        find(method)
    if not wanted or not numbers:
        raise InputError("grid", expected="a method and a seed at least", got="none", fix="Pass --methods and --seeds.")
    with as_input_errors("grid"):
        known = Config.model_validate(
            config.model_dump() | {"grid": GridConfig(methods=wanted, seeds=numbers).model_dump()}
        )
        # Seeds vary fastest: campaigns that run side by side then rarely wait for the same first ensemble.
        found = {folder / m / str(s): known.campaign(m, s) for m in dict.fromkeys(wanted) for s in numbers}
    grown = _grown(located(known), folder)
    check(found)
    _place_grid(grown, folder)
    for path, one in found.items():
        place(path, one)
    return list(found)


def _seeds(given: Iterable[int]) -> tuple[int, ...]:
    """Whole numbers, NumPy's too."""
    try:
        listed = list(given)
        found = tuple(operator.index(seed) for seed in listed)
    except TypeError:
        listed, found = [], (-1,)
    if any(seed < 0 for seed in found) or any(isinstance(seed, bool) for seed in listed):
        raise InputError("seeds", expected="whole numbers of at least 0", got=repr(given), fix="For example range(3).")
    return found


def check(campaigns: Mapping[Path, Config]) -> None:
    """Refuses campaigns that could not be run; those of which something came are left alone.

    A dataset is opened once, and cut once for each seed: a cut does not depend on the method.
    """
    todo = [config for path, config in campaigns.items() if untouched(CampaignFolder(path))]
    if not todo:
        return
    from versionspace.campaign.images import Pictures, opened
    from versionspace.campaign.setup import checked, fitting, truth_of_pool

    for config in todo:
        fitting(config)
    datasets: dict[DataConfig, Dataset] = {}
    for config in {to_toml(config.campaign("random", config.seed)): config for config in todo}.values():
        if config.data not in datasets:
            bring(config.data.name)
            datasets[config.data] = opened(config)
        dataset = datasets[config.data]
        truth_of_pool(config, Pictures(dataset, checked(config, dataset)))


def bring(name: str) -> None:
    """Fetches a dataset that is not here yet once, before several processes want it."""
    from versionspace.data import DATASETS, fetch, info

    if name in DATASETS and not info(name).cached:
        fetch(name)


def _grown(config: Config, folder: Path) -> Config:
    """The config of the grid that is there, with more methods and seeds; another one is refused.

    Unless nothing came of the one that is there: then the new one takes its place.
    """
    path = folder / GRID
    if not path.is_file():
        return config
    before = read_stored_config(path)
    config = as_before(config, before)
    if changed := differences(before, config, ignore=_OWN):
        if all(untouched(CampaignFolder(one)) for one in _there(folder)):
            return config
        elsewhere = not differences(before, config, ignore=(*_OWN, "data.name"))
        moved = f"If that folder was moved: `versionspace resume {folder} --images {config.data.name}`. Else c"
        raise InputError(
            str(folder), expected="the config that this grid began with", got="; ".join(changed),
            fix=f"{moved if elsewhere else 'C'}hoose another folder with --out, or go on with `versionspace resume`.",
        )  # fmt: skip
    methods = tuple(dict.fromkeys((*before.grid.methods, *config.grid.methods)))
    seeds = tuple(dict.fromkeys((*before.grid.seeds, *config.grid.seeds)))
    return Config.model_validate(config.model_dump() | {"grid": {"methods": methods, "seeds": seeds}})


def _place_grid(config: Config, folder: Path) -> None:
    """grid.toml says what the campaigns share, and which there are; more may come later."""
    path = folder / GRID
    before = read_stored_config(path) if path.is_file() else None
    if config == before:
        return
    if before is not None and differences(before, config, ignore=_OWN):
        for one in _there(folder):
            withdraw(CampaignFolder(one))
    write_file(path, to_toml(config).encode())


def _there(folder: Path) -> set[Path]:
    """Campaigns of a grid's folder."""
    return {path.parent for path in folder.glob(f"*/*/{CONFIG}")}
