"""Which runs may stand in one table: those whose configs differ in method and seed alone."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.config import PRESETS, Config, differences, read_config
from versionspace.query.methods import METHODS, TABLE
from versionspace.report.paper import GROUPS, PAPER, Published, published
from versionspace.report.runs import Run

_OF_NO_MATTER = ("preset", "seed", "keep", "measure", "machine", "grid", "query.method", "query.vote")


@dataclass(frozen=True)
class Group:
    """Runs on one dataset with one config."""

    name: str
    """For files: letters, digits and dashes; distinct within a report."""
    title: str
    """For people; distinct within a report."""
    runs: tuple[Run, ...]
    """By method in the order of the table, then seed; each once."""
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Config:
        """Of its first run: what they share, and that run's own method and seed."""
        return self.runs[0].record.config

    @property
    def preset(self) -> str:
        """Of the first run that names one: the same settings from a file of one's own name none."""
        return next((run.record.config.preset for run in self.runs if run.record.config.preset), "")

    @property
    def methods(self) -> tuple[str, ...]:
        """In the paper's order, the others behind."""
        return tuple(name for kind in ordered([run.method for run in self.runs]) for name in kind)

    @property
    def seeds(self) -> tuple[int, ...]:
        """All that occur, rising."""
        return tuple(sorted({run.seed for run in self.runs}))

    @property
    def paper(self) -> Published | None:
        """The paper's figures where the config was made from one of its presets."""
        return published(self.preset)

    def changed(self) -> list[str]:
        """Where the config is no longer its preset: ``budget.total: 400 before, 40 now``."""
        if self.preset not in PRESETS or self.paper is None:
            return []
        return differences(read_config(self.preset), self.config, ignore=_OF_NO_MATTER)

    def of(self, method: str) -> tuple[Run, ...]:
        """The runs of one method."""
        return tuple(run for run in self.runs if run.method == method)

    def has(self, where: str, what: str) -> bool:
        """Whether any round of any run has this metric: that hangs on no number of labels, nor on what is compared."""
        return any(not bool(np.isnan(run.series(where, what)).all()) for run in self.runs)


def ordered(methods: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Methods as the paper groups them; its appendix's and others behind, those of a kind together.

    >>> ordered(("gvd", "random", "entropy", "ge", "bald"))
    (('random',), ('ge',), ('bald',), ('gvd',), ('entropy',))
    """
    listed = {name for group in GROUPS for name in group}
    others = [name for name in METHODS if name not in listed]
    families = dict.fromkeys(TABLE[name].family for name in others)
    groups = (*GROUPS, *(tuple(n for n in others if TABLE[n].family == family) for family in families))
    kept = (tuple(name for name in group if name in methods) for group in groups)
    return tuple(group for group in kept if group)


def grouped(runs: Iterable[Run]) -> tuple[Group, ...]:
    """Groups in the order of the folders. Runs with different votes share a group unless a method has both."""
    by_key: dict[str, list[Run]] = {}
    for run in runs:
        by_key.setdefault(_key(run.record.config), []).append(run)
    lists = [part for members in by_key.values() for part in _by_vote(members)]
    return _named([_once(members) for members in lists])


def slug(text: str) -> str:
    """For file names.

    >>> slug("My photos/2024 (best)")
    'my-photos-2024-best'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def _key(config: Config) -> str:
    values = config.model_dump(mode="json")
    query = {k: v for k, v in values.pop("query").items() if k not in ("method", "vote")}
    kept = {k: v for k, v in values.items() if k not in ("preset", "seed", "keep", "measure", "machine", "grid")}
    return json.dumps(kept | {"query": query}, sort_keys=True)


def _by_vote(runs: list[Run]) -> list[list[Run]]:
    takes = [run for run in runs if TABLE[run.method].takes_vote]
    votes = sorted({run.record.config.query.vote for run in takes}, reverse=True)
    if len(votes) < 2:
        return [runs]
    return [[r for r in runs if r not in takes or r.record.config.query.vote == vote] for vote in votes]


def _once(runs: list[Run]) -> Group:
    """Of runs with the same method and seed the longest."""
    kept: dict[str, Run] = {}
    notes = []
    for run in runs:
        there = kept.get(run.name)
        if there is not None:
            notes.append(f"{run.name} is there twice with the same config: the one with more labels is shown.")
        if there is None or run.labels[-1] > there.labels[-1]:
            kept[run.name] = run
    order = {name: place for place, name in enumerate(METHODS)}
    return Group("", "", tuple(sorted(kept.values(), key=lambda run: (order[run.method], run.seed))), tuple(notes))


def _named(groups: list[Group]) -> tuple[Group, ...]:
    """Titles from what tells groups apart: the dataset, then the preset, then the keys that differ, then a number."""
    titles = [_dataset(group.config) for group in groups]
    for tell in (lambda g: g.preset, lambda g: _own(g, groups)):
        twice = {title for title in titles if titles.count(title) > 1}
        more = [tell(group) for group in groups]
        titles = [f"{t} ({m})" if t in twice and m else t for t, m in zip(titles, more, strict=True)]
    out: list[Group] = []
    for group, title in zip(groups, titles, strict=True):
        taken = {g.title for g in out}
        count = 2
        distinct = title
        while distinct in taken or slug(distinct) in {g.name for g in out}:
            distinct, count = f"{title}, {count}", count + 1
        out.append(replace(group, title=distinct, name=slug(distinct)))
    return tuple(out)


def _dataset(config: Config) -> str:
    name = config.data.name
    return PAPER[name].title if name in PAPER else Path(name).name or name


def _own(group: Group, groups: list[Group]) -> str:
    """What this group has and another on the same dataset has not."""
    said: dict[str, Any] = {}
    for other in groups:
        if other is not group and other.config.data.name == group.config.data.name:
            for line in differences(
                other.config, group.config, ignore=("preset", "seed", "keep", "measure", "query.method")
            ):
                key, _, rest = line.partition(": ")
                said[key] = rest.rpartition("before, ")[2].removesuffix(" now")
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in said.items())
