"""The images of a campaign and what each is for: asked, held out to measure distances, audited, tested.

Images that are gone from a folder, or have changed, since a campaign on it began: which, and what is said of them.

A person's campaign goes on without them: they are not asked, trained on or measured on until they are back as they
were, and their labels are kept. A campaign with known labels is to end the same whenever it is run, and refuses.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from versionspace import rng
from versionspace.config import Config
from versionspace.data import DATASETS, Dataset, Subset, draw, load, split
from versionspace.data.folder.decode import frame
from versionspace.data.folder.scan import is_folder
from versionspace.errors import InputError
from versionspace.store import FILE_NAMES, SPLIT_SETS, as_ids, pack_names, unpack_names
from versionspace.text import printable
from versionspace.types import Array, ArrayLike, ImageId, Ints

FEWEST = 0.1
"""A folder with a smaller share of a campaign's images is another folder."""
_NAMED = 5


def named_now(dataset: Dataset, stored: Mapping[ImageId, str]) -> dict[ImageId, str]:
    """Where each image of a folder lies now, or lay before it was gone.

    Empty where another image of the campaign has that name now: no label goes to the wrong file.
    """
    parts = [part for part in (dataset.train, dataset.validation, dataset.test) if part is not None]
    now = {i: file for part in parts for i, file in zip(as_ids(part.ids), part.files or (), strict=False)}
    taken = {file for i, file in now.items() if i in stored}
    return {i: "" if file in taken else file for i, file in stored.items()} | now


def listed(images: Collection[ImageId], names: Mapping[ImageId, str]) -> str:
    """The first few by name; where that is not known, by the start of their id.

    >>> listed(["ab" * 32, "cd" * 32], {"cd" * 32: "2.png"})
    '2.png, abababababab…'
    """
    found = sorted(printable(names.get(i) or f"{i}"[:12] + ("…" if len(f"{i}") > 12 else "")) for i in images)
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


def sentence(gone: Collection[ImageId], names: Mapping[ImageId, str], of: int) -> str:
    """What a person is told.

    >>> print(sentence(["ab"], {"ab": "cat.jpg"}, 60))
    1 of 60 images is missing, or has changed since labelling began: cat.jpg. It is left out until it is back as it was;
    labels are kept.
    """
    are, have, they = ("is", "has", "It is") if len(gone) == 1 else ("are", "have", "They are")
    until = "it is back as it was" if len(gone) == 1 else "they are back as they were"
    return (
        f"{len(gone)} of {of} images {are} missing, or {have} changed since labelling began: {listed(gone, names)}. "
        f"{they} left out until {until}; labels are kept."
    )


def refused(gone: Collection[ImageId], names: Mapping[ImageId, str], of: int) -> InputError:
    """For a campaign that must have all of its images."""
    return InputError(
        "images", expected=f"all {of} images of the campaign", got=f"{len(gone)} missing: {listed(gone, names)}",
        fix="Put the files back where they were; their content tells which they are.",
    )  # fmt: skip


def refuse_other(ids: Sequence[ImageId], gone: Collection[ImageId], dataset: Dataset) -> None:
    """A folder that holds hardly an image of the pool is another one."""
    there = sum(i not in gone for i in ids)
    if there < FEWEST * len(ids):
        raise InputError(
            "images", expected=f"the {len(ids)} images of this campaign",
            got=f"{there or 'none'} of them in the {printable(dataset.source)}",
            fix="Pass the folder that holds them now, or put them back. The labels are safe: `versionspace export`.",
        )  # fmt: skip


def refuse_unmeasured(ids: Sequence[ImageId], gone: Collection[ImageId], names: Mapping[ImageId, str]) -> None:
    """Without any of the images that distances are measured on there is no diameter."""
    if ids and all(i in gone for i in ids):
        raise InputError(
            "images", expected=f"one at least of the {len(ids)} images that distances are measured on",
            got=f"none: {listed(ids, names)}",
            fix="Put some of them back as they were. The labels are safe: `versionspace export`.",
        )  # fmt: skip


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

    @property
    def total(self) -> int:
        """All images."""
        return sum(len(getattr(self, name)) for name in SPLIT_SETS)

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
    if person:
        parts = {name: getattr(dataset, name) for name in _only_folders(dataset, dataset.classes)}
        dataset = replace(dataset, **{name: replace(part, labels=None) for name, part in parts.items() if part})
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
    """Pixels and truth by id. Pixels are read when they are looked at: the pool may be larger than memory.

    ``cut`` is of the images that are there, ``whole`` of all that were there when the campaign began, and ``stored``
    says where they lay then.
    """

    def __init__(
        self, dataset: Dataset, found: Cut, whole: Cut | None = None, stored: Mapping[ImageId, str] | None = None
    ) -> None:
        self.dataset, self.cut, self.whole = dataset, found, found if whole is None else whole
        self._validation = dataset.train if dataset.validation is None else dataset.validation
        self._test = dataset.train if dataset.test is None else dataset.test
        self._kept: dict[str, ArrayLike] = {}
        self._stored = stored or {}
        pairs = [(getattr(self.whole, name), getattr(found, name)) for name in SPLIT_SETS]
        self.gone: frozenset[ImageId] = frozenset(
            i for before, now in pairs if before is not now for i in as_ids(np.setdiff1d(before, now))
        )
        """Images that are not there, or have changed, and so are others."""

    @cached_property
    def files(self) -> dict[ImageId, str]:
        """Where each image of a folder lies, or lay before it was gone."""
        return named_now(self.dataset, self._stored)

    def arrays(self) -> dict[str, Array]:
        """What is stored when a campaign begins: ids, the truth of test and names of files, where they are known."""
        truth, out = self.truth("test"), self.cut.arrays()
        if truth is not None:
            out["test_truth"] = truth
        if self.dataset.train.files is not None:
            out[FILE_NAMES] = pack_names([file for name in SPLIT_SETS for file in self._files(name)])
        return out

    def _files(self, name: str) -> list[str]:
        part = self._part(name)
        return [(part.files or ())[row] for row in part.rows(getattr(self.cut, name))]

    def over_whole_pool(self, values: Array) -> Array:
        """One value for each image of the pool as it began, from those of the images that are there; 0 for others."""
        out = np.zeros(len(self.whole.pool), values.dtype)
        out[np.isin(self.whole.pool, self.cut.pool)] = values
        return out

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

    def digest(self) -> str:
        """A hash of all images and their known labels, whatever the order of the files."""
        found = hashlib.sha256()
        for name in SPLIT_SETS:
            part, ids = self._part(name), getattr(self.cut, name)
            labels = np.full(len(ids), -1) if part.labels is None else part.labels[part.rows(ids)]
            found.update(np.ascontiguousarray(ids).tobytes() + np.asarray(labels, np.int64).tobytes())
        return found.hexdigest()

    def _part(self, name: str) -> Subset:
        return {"validation": self._validation, "test": self._test}.get(name, self.dataset.train)

    @property
    def reference(self) -> str:
        """On which images distances are measured."""
        return "validation" if len(self.whole.validation) else "reference"


def opened(config: Config) -> Dataset:
    """The config's dataset."""
    data, options = config.data, _form(config)
    if config.oracle.kind == "person" and data.classes:
        if data.name not in DATASETS and not is_folder(Path(data.name).expanduser()):
            raise InputError(
                printable(data.name), expected="the folder of images that is labelled", got="no folder there",
                fix="Put it back, or say where it is now: `versionspace label PHOTOS --campaign DIR`. Labels are safe.",
            )  # fmt: skip
        return of_a_person(data.name, data.classes, **options)
    return load(data.name, progress=False, **options | ({"classes": data.classes} if data.classes else {}))


def _form(config: Config) -> dict[str, Any]:
    """How the images of a folder are brought to one form, where that was said."""
    data = config.data
    options = {"size": data.size, "channels": data.channels, "fit": data.fit}
    return {name: value for name, value in options.items() if value is not None}


def shape_of(config: Config) -> tuple[int, ...]:
    """Height, width and channels of one image; a folder need not be there for it."""
    if config.data.name in DATASETS:
        return opened(config).train.images.shape[1:]
    return frame(**_form(config)).shape


def of_a_person(name: str, classes: tuple[str, ...], progress: bool | None = False, **options: Any) -> Dataset:
    """A folder of images and the classes that she chose.

    Of a labels.csv the labels of these classes count. Sub-folders are no labels where some have other names, such as
    years; of validation and test, whose images may be those of a campaign that began before these came, `cut` says so.
    """
    found = load(name, progress=progress, **options)
    if set(found.classes) <= set(classes):
        return load(name, progress=progress, **options, classes=classes)
    if found.report is None:
        return replace(found, classes=classes, train=replace(found.train, labels=None), test=None, validation=None)
    numbers = np.array([classes.index(one) if one in classes else -1 for one in found.classes] + [-1])
    parts: dict[str, Any] = {}
    for which, part in (("train", found.train), ("validation", found.validation), ("test", found.test)):
        if part is not None and part.labels is not None:
            labels = numbers[part.labels]
            known = (labels >= 0).any() and not (which == "train" and which in _only_folders(found, classes))
            parts[which] = replace(part, labels=labels if known else None)
    return replace(found, classes=classes, **parts)


def _only_folders(dataset: Dataset, classes: tuple[str, ...]) -> set[str]:
    """Parts whose sub-folders are not all called like classes, and so are no labels."""
    sources = dataset.report.sources if dataset.report else ()
    return {one.subset for one in sources if not one.from_table and set(one.classes) - set(classes)}


def restored(dataset: Dataset, arrays: Mapping[str, Array], *, partly: bool = False) -> Pictures:
    """From what was stored. Images that are gone from a folder are refused and named, or with ``partly`` left out."""
    whole = Cut(**{name: arrays[name] for name in Cut.__dataclass_fields__})
    stored = unpack_names(arrays)
    made = Pictures(dataset, _there(dataset, whole), whole, stored)
    if made.gone and not partly:
        raise refused(made.gone, stored, whole.total)
    if made.gone:
        refuse_other(as_ids(whole.pool), made.gone, dataset)
        refuse_unmeasured(as_ids(getattr(whole, made.reference)), made.gone, stored)
    return made


def _there(dataset: Dataset, whole: Cut) -> Cut:
    own = {"validation": dataset.validation, "test": dataset.test}
    parts = {name: part for name, part in own.items() if part is not None}
    kept = {}
    for name, ids in whole.arrays().items():
        there = np.isin(ids, parts.get(name, dataset.train).ids) if len(ids) else np.ones(0, np.bool_)
        kept[name] = ids if there.all() else ids[there]
    return Cut(**kept)
