"""From groups of runs to the sections of a report."""

from collections.abc import Sequence

import numpy as np

from versionspace.config import answered_by_person
from versionspace.errors import InputError
from versionspace.query.methods import METHODS
from versionspace.report.compare import compare
from versionspace.report.document import Column, Part, Report, Section, Table, Value
from versionspace.report.groups import Group, grouped
from versionspace.report.options import Options
from versionspace.report.plots.style import label
from versionspace.report.runs import Found, Run
from versionspace.report.sections.curves import curves
from versionspace.report.sections.datasets import across
from versionspace.report.sections.final import ending, measures
from versionspace.report.sections.map import embedded
from versionspace.report.sections.pairwise import comparison
from versionspace.report.sections.queries import asked
from versionspace.report.sections.results import Judged, results
from versionspace.report.sections.savings import savings
from versionspace.report.sections.timing import timing
from versionspace.store.metrics import FIT_THRESHOLD

_METRICS = (
    "images", "pwd", "gvd", "gvd_hard", "agreement", "accuracy", "accuracy_deviation", "vote_accuracy",
    "wrong_agreement", "gibbs_distance", "vote_distance",
)  # fmt: skip


def report(found: Found, options: Options) -> Report:
    """Everything that is known about these runs."""
    _within_reach(found.runs, options.at)
    judged = [Judged(group, compare(group, options.at)) for group in grouped(found.runs)]
    overview: list[Part] = [results(judged)]
    if (together := across(judged)) is not None:
        overview.append(together)
    first = Section("overview", "Results", (), (), tuple(overview))
    titles = [one.group.title for one in judged]
    return Report(
        title=", ".join(titles),
        facts=_counted(judged),
        notes=found.notes,
        sections=(first, *(_section(one, options) for one in judged)),
        summaries=tuple(table for one in judged if (table := measures(one)) is not None),
        data=tuple(_rounds(one.group) for one in judged),
    )


def _within_reach(runs: Sequence[Run], count: int | None) -> None:
    """Refuses a number of labels at which there is no run at all: every section would be empty."""
    low, high = min(int(run.labels[0]) for run in runs), max(int(run.labels[-1]) for run in runs)
    if count is not None and not low <= count <= high:
        raise InputError(
            "at", expected=f"a number of labels that a run had, {low:,} to {high:,}", got=f"{count:,}",
            fix="Without it runs are compared at the most that all of them reached.",
        )  # fmt: skip


def _section(one: Judged, options: Options) -> Section:
    return Section(
        name=one.group.name,
        title=one.group.title,
        facts=_facts(one.group),
        notes=(*one.group.notes, *one.compared.notes, *_fewer(one.group), *_unfit(one.group)),
        parts=_parts(one, options) if one.comparable else (_nothing(one.group), embedded(one.group, options)),
    )


def _parts(one: Judged, options: Options) -> tuple[Part, ...]:
    return (
        curves(one),
        ending(one),
        savings(one, options),
        comparison(one),
        embedded(one.group, options),
        asked(one, options),
        timing(one),
    )


def _nothing(group: Group) -> Part:
    """In place of the parts that compare: they would take runs that are left out for runs that are not there."""
    return Part(
        "Nothing is compared",
        "Means, differences and savings are of runs at the same number of labels. The notes above say why there "
        "is no such number here.",
        (f"Every number of every round is in tables/{group.name}-rounds.csv.",),
    )


def _counted(judged: Sequence[Judged]) -> tuple[tuple[str, str], ...]:
    runs = [run for one in judged for run in one.group.runs]
    found = {method for one in judged for method in one.group.methods}
    ended = sum(run.finished for run in runs)
    state = "all ended" if ended == len(runs) else f"{ended} ended, {len(runs) - ended} under way or left"
    return (
        ("Runs", f"{len(runs)}, {state}"),
        ("Methods", ", ".join(label(method) for method in METHODS if method in found)),
    )


def _facts(group: Group) -> tuple[tuple[str, str], ...]:
    config = group.config
    facts = {
        "Settings": f"preset {group.preset}" if group.preset else "of its own",
        "Members": f"{config.ensemble.members} × {config.ensemble.net}",
        "Labels": f"up to {_budgets(group)}, {config.query.size} a round",
        "Classes": f"{len(group.runs[0].record.classes)}",
        "Methods": ", ".join(label(method) for method in group.methods),
        "Seeds": ", ".join(map(str, group.seeds)),
    }
    if config.oracle.noise or config.oracle.abstain:
        facts["Oracle"] = (
            f"wrong on {100 * config.oracle.noise:g}%, silent on {100 * config.oracle.abstain:g}% of images"
        )
    if answered_by_person(config):
        facts["Oracle"] = "a person"
    return tuple(facts.items())


def _budgets(group: Group) -> str:
    """As they were last decided: a run that was reopened has another than its config began with."""
    found = sorted({run.record.budget for run in group.runs})
    return f"{found[0]:,}" if len(found) == 1 else f"{' or '.join(f'{budget:,}' for budget in found)} by run"


def _fewer(group: Group) -> list[str]:
    """Where a run has fewer labels than before, and what that leaves out."""
    fell = [run.name for run in group.runs if (np.diff(run.whole.labels) < 0).any()]
    if not fell:
        return []
    return [
        f"In {', '.join(fell)} labels became fewer on the way: they were taken back, or their images are gone. "
        "Ensembles with as many labels as a later one, or more, are in no table or curve; "
        f"tables/{group.name}-rounds.csv has them."
    ]


def _unfit(group: Group) -> list[str]:
    fits = {run.name: run.whole.overall("fit") for run in group.runs}
    low = {name: float(np.nanmin(fit)) for name, fit in fits.items() if not np.isnan(fit).all()}
    bad = {name: value for name, value in low.items() if value < FIT_THRESHOLD}
    if not bad:
        return []
    worst = min(bad, key=lambda name: bad[name])
    return [
        f"In {len(bad)} of {len(group.runs)} runs the members at some round gave back fewer than "
        f"{100 * FIT_THRESHOLD:.0f}% of "
        f"their labels (least: {100 * bad[worst]:.1f}%, {worst}). There no version space was sampled, and its "
        "measures mean "
        "less."
    ]


def _rounds(group: Group) -> Table:
    """Every number of every round, for whoever wants to draw it otherwise; in shares, as it was measured."""
    sets = ("test", "pool", "validation", "reference")
    wanted = [(where, what) for where in sets for what in _METRICS]
    runs = [run.whole for run in group.runs]
    series = {run.name: {key: run.series(*key) for key in wanted} for run in runs}
    kept = [key for key in wanted if any(not np.isnan(found[key]).all() for found in series.values())]
    overall = ("fit", "consistent", "epochs", "diameter", "kappa")
    rows: list[tuple[Value, ...]] = []
    for run in runs:
        more = {name: run.overall(name) for name in overall}
        for i, round_ in enumerate(run.rounds):
            numbers = [*(more[name][i] for name in overall), *(series[run.name][key][i] for key in kept)]
            cells = [None if np.isnan(number) else float(number) for number in numbers]
            rows.append((run.method, run.seed, round_.number, round_.labels, *cells))
    names = ("method", "seed", "round", "labels", *overall, *(f"{where} {what}" for where, what in kept))
    return Table(f"{group.name}-rounds", "", tuple(Column(name) for name in names), tuple(rows))
