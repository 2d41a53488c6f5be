"""The images of a campaign and what each is for: asked, held out to measure distances, audited, tested."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from versionspace import rng
from versionspace.config import Config
from versionspace.data import Dataset, Part, draw, load, split
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike, Bools, Ints

REFERENCE = 5_000
"""At most so many images of the pool are held out to measure distances, where there is no validation set."""


@dataclass(frozen=True)
class Cut:
    """Ids, ascending. Those of test are of the dataset's own test part where it has one."""

    pool: Array
    """All of it: what may be asked, and also reference and audit."""
    validation: Array
    test: Array
    initial: Array
    reference: Array
    """Held out of the pool and never asked; empty where the validation set serves."""
    audit: Array

    def askable(self) -> Array:
        """Images that a method may choose."""
        return self.pool[~np.isin(self.pool, np.concatenate([self.reference, self.audit]))]

    def arrays(self) -> dict[str, Array]:
        """By name, as they are stored."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def cut(config: Config, dataset: Dataset) -> Cut:
    """Draws a campaign's cut: a function of dataset, seed and sizes alone.

    The audit is drawn first, uniformly from the whole pool; the reference and the first labels come from the rest.
    """
    data = config.data
    person = config.oracle.kind == "person"
    found = split(
        dataset,
        pool=data.pool,
        validation=data.validation,
        test=data.test,
        initial=0 if person else data.initial,
        seed=config.seed,
        balanced=data.balanced and not person,
    )
    seed = rng.key(config.seed, "cut")
    audit = draw(dataset, found.pool, config.budget.audit, "audit", seed=seed, balanced=False)
    rest = np.setdiff1d(found.pool, audit)
    held = 0 if len(found.validation) else min(REFERENCE, len(rest) // 5)
    reference = draw(dataset, rest, held, "reference", seed=seed, balanced=False)
    initial = found.initial
    if len(initial) and len(audit) + len(reference):
        left = np.setdiff1d(rest, reference)
        initial = draw(dataset, left, len(initial), "initial", seed=config.seed, balanced=data.balanced)
    return Cut(found.pool, found.validation, found.test, initial, reference, audit)


class Pictures:
    """Pixels and truth by id. Pixels are read when they are looked at: the pool may be larger than memory."""

    def __init__(self, dataset: Dataset, found: Cut) -> None:
        self.dataset, self.cut = dataset, found
        self._validation = dataset.train if dataset.validation is None else dataset.validation
        self._test = dataset.train if dataset.test is None else dataset.test
        self._kept: dict[str, ArrayLike] = {}

    def pool(self, ids: Array) -> ArrayLike:
        """Pixels of images of the pool."""
        return self.dataset.train.view(ids)

    def of(self, name: str) -> ArrayLike:
        """Pixels of all of "pool", "validation", "test", "reference" or "audit"."""
        if name not in self._kept:
            self._kept[name] = self._part(name).view(getattr(self.cut, name))
        return self._kept[name]

    def truth(self, name: str) -> Ints | None:
        """Their classes; None where any is unknown."""
        part = self._part(name)
        if part.labels is None or len(getattr(self.cut, name)) == 0:
            return None
        labels = part.labels[part.rows(getattr(self.cut, name))]
        return None if (labels < 0).any() else labels

    def _part(self, name: str) -> Part:
        return {"validation": self._validation, "test": self._test}.get(name, self.dataset.train)

    @property
    def reference(self) -> str:
        """On which images distances are measured."""
        return "validation" if len(self.cut.validation) else "reference"


def opened(config: Config) -> Dataset:
    """The config's dataset."""
    data = config.data
    options: dict[str, Any] = {"size": data.size, "channels": data.channels, "fit": data.fit}
    options = {name: value for name, value in options.items() if value is not None}
    if config.oracle.kind == "person" and data.classes:
        return of_a_person(data.name, data.classes, **options)
    return load(data.name, progress=False, **options | ({"classes": data.classes} if data.classes else {}))


def of_a_person(name: str, classes: tuple[str, ...], progress: bool | None = False, **options: Any) -> Dataset:
    """A folder of images and the classes that she chose: sub-folders of other names, such as years, are no labels."""
    found = load(name, progress=progress, **options)
    if set(found.classes) <= set(classes):
        return load(name, progress=progress, **options, classes=classes)
    return replace(found, classes=classes, train=replace(found.train, labels=None), test=None, validation=None)


def restored(dataset: Dataset, arrays: Mapping[str, Array]) -> Pictures:
    """From what was stored. Images that are gone from a folder are named."""
    found = Cut(**{name: arrays[name] for name in Cut.__dataclass_fields__})
    there: Bools = np.isin(found.pool, dataset.train.ids)
    if not there.all():
        raise InputError(
            "images",
            expected=f"all {len(found.pool)} images of the pool",
            got=f"{int((~there).sum())} missing, such as {found.pool[~there][0]}",
            fix="Put the files back where they were; their content tells which they are.",
        )
    return Pictures(dataset, found)
