"""Groups of runs that may be compared: those whose configs differ only in method, seed and irrelevant settings."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from versionspace.config import PRESETS, VOTE, Config, flat_settings, read_config
from versionspace.query import TABLE
from versionspace.report.paper import METHOD_GROUPS, PAPER, PublishedResults, published_results
from versionspace.report.runs import CampaignRun
from versionspace.text import printable

_IRRELEVANT = ("preset", "seed", "keep", "measure", "machine", "grid")
"""Top-level settings that do not change what a result means."""


@dataclass(frozen=True)
class RunGroup:
    """Runs on one dataset with one config."""

    name: str
    """For file names: letters, digits and hyphens. Unique within a report."""
    title: str
    """For people. Unique within a report."""
    runs: tuple[CampaignRun, ...]
    """By method in table order, then by seed; no duplicates."""
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Config:
        """The config of the first run: the shared settings, and that run's method and seed."""
        return self.runs[0].record.config

    @property
    def preset(self) -> str:
        """The preset of the first run that names one; the same settings from a config file name none."""
        return next((run.record.config.preset for run in self.runs if run.record.config.preset), "")

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods, in the order of `sort_methods`."""
        return sort_methods([run.method for run in self.runs])

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds, in increasing order."""
        return tuple(sorted({run.seed for run in self.runs}))

    @property
    def paper(self) -> PublishedResults | None:
        """The paper's results if the config comes from one of its presets."""
        return published_results(self.preset)

    def runs_of(self, method: str) -> tuple[CampaignRun, ...]:
        """Return the runs of one method."""
        return tuple(run for run in self.runs if run.method == method)

    def has_metric(self, set_name: str, metric: str) -> bool:
        """Return whether any round of any run has this metric, compared or not."""
        return any(not bool(np.isnan(run.set_metric(set_name, metric)).all()) for run in self.runs)

    def changes_from_paper(self) -> list[str]:
        """Return the settings that differ from the paper's preset, as ``budget.total: 40 instead of 400``."""
        if self.preset not in PRESETS or self.paper is None:
            return []
        ignored = (*_IRRELEVANT, "query.method", VOTE)
        own, published = flat_settings(self.config, ignored), flat_settings(read_config(self.preset), ignored)
        return [f"{key}: {own[key]} instead of {published[key]}" for key in _differing_keys(own, published)]


def sort_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return the methods, each once, in the paper's order, followed by the others in table order, family by family.

    >>> sort_methods(("gvd", "random", "entropy", "ge", "bald"))
    ('random', 'ge', 'bald', 'gvd', 'entropy')
    """
    return tuple(name for family in method_families(methods) for name in family)


def method_families(methods: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the methods in the groups of the paper's tables, followed by the families of the others.

    >>> method_families(("gvd", "random", "entropy", "pwd"))
    (('random',), ('pwd', 'gvd'), ('entropy',))
    """
    published = {name for group in METHOD_GROUPS for name in group}
    others: dict[str, list[str]] = {}
    for name, method in TABLE.items():
        if name not in published:
            others.setdefault(method.family, []).append(name)
    kept = (tuple(name for name in group if name in methods) for group in (*METHOD_GROUPS, *others.values()))
    return tuple(group for group in kept if group)


def family_rules(methods: Sequence[str]) -> frozenset[int]:
    """Return the places in `sort_methods` after which a new family begins, without the end: rules of a table.

    >>> sorted(family_rules(("gvd", "random", "entropy", "pwd")))
    [0, 2]
    """
    return frozenset(int(end) - 1 for end in np.cumsum([len(family) for family in method_families(methods)])[:-1])


def group_runs(runs: Iterable[CampaignRun]) -> tuple[RunGroup, ...]:
    """Return the groups in the order of the folders.

    Runs with soft and hard votes share a group unless some method was run with both.
    """
    by_key: dict[str, list[CampaignRun]] = {}
    for run in runs:
        by_key.setdefault(_key(run.record.config), []).append(run)
    lists = [part for members in by_key.values() for part in _split_by_vote(members)]
    return _add_names([_without_duplicates(members) for members in lists])


def slug(text: str) -> str:
    """Return text for use in a file name.

    >>> slug("My photos/2024 (best)")
    'my-photos-2024-best'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def _key(config: Config) -> str:
    values = config.model_dump(mode="json")
    query = {k: v for k, v in values.pop("query").items() if k not in ("method", "vote")}
    kept = {k: v for k, v in values.items() if k not in _IRRELEVANT}
    return json.dumps(kept | {"query": query}, sort_keys=True)


def _split_by_vote(runs: list[CampaignRun]) -> list[list[CampaignRun]]:
    voting = [run for run in runs if TABLE[run.method].takes_vote]
    votes = sorted({run.record.config.query.vote for run in voting}, reverse=True)
    if len(votes) < 2:
        return [runs]
    return [[r for r in runs if r not in voting or r.record.config.query.vote == vote] for vote in votes]


def _without_duplicates(runs: list[CampaignRun]) -> RunGroup:
    """Return a group that has, of runs with the same method and seed, the one with the most labels."""
    kept: dict[str, CampaignRun] = {}
    notes = []
    for run in runs:
        other = kept.get(run.name)
        if other is not None:
            notes.append(f"{run.name} exists twice with the same config: the run with more labels is used.")
        if other is None or run.labels[-1] > other.labels[-1]:
            kept[run.name] = run
    order = {name: place for place, name in enumerate(TABLE)}
    return RunGroup("", "", tuple(sorted(kept.values(), key=lambda run: (order[run.method], run.seed))), tuple(notes))


def _add_names(groups: list[RunGroup]) -> tuple[RunGroup, ...]:
    """Make titles unique by the dataset, then the preset, then the settings that differ, then a number."""
    titles = [_dataset_title(group.config) for group in groups]
    for detail in (lambda g: g.preset, lambda g: _own_settings(g, groups)):
        repeated = {title for title in titles if titles.count(title) > 1}
        details = [detail(group) for group in groups]
        titles = [f"{t} ({d})" if t in repeated and d else t for t, d in zip(titles, details, strict=True)]
    named: list[RunGroup] = []
    for group, title in zip(groups, titles, strict=True):
        taken = {g.title for g in named}, {g.name for g in named}
        unique, count = title, 2
        while unique in taken[0] or slug(unique) in taken[1]:
            unique, count = f"{title}, {count}", count + 1
        named.append(replace(group, title=unique, name=slug(unique)))
    return tuple(named)


def _dataset_title(config: Config) -> str:
    name = config.data.name
    return PAPER[name].title if name in PAPER else printable(Path(name).name or name)


def _own_settings(group: RunGroup, groups: list[RunGroup]) -> str:
    """Return the settings in which a group differs from others on the same dataset, such as "size 10, vote hard"."""
    ignored = (*_IRRELEVANT, "query.method", *(() if TABLE[group.config.query.method].takes_vote else (VOTE,)))
    own = flat_settings(group.config, ignored)
    keys: dict[str, None] = {}
    for other in groups:
        if other is not group and other.config.data.name == group.config.data.name:
            keys |= dict.fromkeys(_differing_keys(own, flat_settings(other.config, ignored)))
    return ", ".join(f"{key.rpartition('.')[2]} {own[key]}".replace("'", "") for key in keys)


def _differing_keys(own: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return sorted(key for key in own if own[key] != other.get(key))
