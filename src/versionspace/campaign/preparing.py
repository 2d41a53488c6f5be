"""The folders of a grid: what cannot be run is refused before any is made, and a config that came to nothing gives way.

Nothing here imports torch, unless the network is one of the user's own or heads.
"""

import operator
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from versionspace.campaign.placing import as_before, located, place, untouched, withdraw
from versionspace.config import Config, Data, Grid, differences, sentences, written
from versionspace.errors import InputError
from versionspace.query.entry import find
from versionspace.store.config import read_config
from versionspace.store.folder import CONFIG, GRID, Folder, is_campaign, write

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
    with sentences("grid"):
        known = Config.model_validate(config.model_dump() | {"grid": Grid(methods=wanted, seeds=numbers).model_dump()})
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
    todo = [config for path, config in campaigns.items() if untouched(Folder(path))]
    if not todo:
        return
    from versionspace.campaign.checking import checked, fitting, truth_of_pool
    from versionspace.campaign.pictures import Pictures, opened

    for config in todo:
        fitting(config)
    datasets: dict[Data, Dataset] = {}
    for config in {written(config.campaign("random", config.seed)): config for config in todo}.values():
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
    before = read_config(path)
    config = as_before(config, before)
    if changed := differences(before, config, but=_OWN):
        if all(untouched(Folder(one)) for one in _there(folder)):
            return config
        elsewhere = not differences(before, config, but=(*_OWN, "data.name"))
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
    before = read_config(path) if path.is_file() else None
    if config == before:
        return
    if before is not None and differences(before, config, but=_OWN):
        for one in _there(folder):
            withdraw(Folder(one))
    write(path, written(config).encode())


def _there(folder: Path) -> set[Path]:
    """Campaigns of a grid's folder."""
    return {path.parent for path in folder.glob(f"*/*/{CONFIG}")}
