"""From runs to the document: chapters of sections, notes and facts."""

from collections.abc import Sequence

import numpy as np

from versionspace.config import answered_by_person
from versionspace.errors import InputError
from versionspace.query import names
from versionspace.report.compare import Comparison, compare
from versionspace.report.document import Chapter, Column, Document, ReportSection, Table, Value
from versionspace.report.groups import RunGroup, group_runs
from versionspace.report.options import ReportOptions
from versionspace.report.plots.style import method_label
from versionspace.report.runs import CampaignRun, LoadedRuns
from versionspace.report.sections.curves import curves_section
from versionspace.report.sections.datasets import datasets_section
from versionspace.report.sections.final import final_section, final_table
from versionspace.report.sections.map import map_section
from versionspace.report.sections.pairwise import pairwise_section
from versionspace.report.sections.queries import queries_section
from versionspace.report.sections.results import results_section
from versionspace.report.sections.savings import savings_section
from versionspace.report.sections.timing import timing_section
from versionspace.store import FIT_THRESHOLD

_SETS = ("test", "pool", "validation", "reference")
_SET_METRICS = (
    "images", "pwd", "gvd", "gvd_hard", "agreement", "accuracy", "accuracy_deviation", "vote_accuracy",
    "wrong_agreement", "gibbs_distance", "vote_distance",
)  # fmt: skip
_ROUND_METRICS = ("fit", "consistent", "epochs", "diameter", "kappa")


def assemble(loaded: LoadedRuns, options: ReportOptions) -> Document:
    """Return the report on these runs. Raises `InputError` if no run has ``options.at`` labels."""
    _check_in_range(loaded.runs, options.at)
    comparisons = [compare(group, options.at) for group in group_runs(loaded.runs)]
    overview = [results_section(comparisons)]
    if (section := datasets_section(comparisons)) is not None:
        overview.append(section)
    return Document(
        title=", ".join(comparison.group.title for comparison in comparisons),
        facts=_document_facts(comparisons),
        notes=loaded.notes,
        chapters=(
            Chapter("overview", "Results", (), (), tuple(overview)),
            *(_chapter(comparison, options) for comparison in comparisons),
        ),
        summaries=tuple(table for comparison in comparisons if (table := final_table(comparison)) is not None),
        data=tuple(_rounds_table(comparison.group) for comparison in comparisons),
    )


def _check_in_range(runs: Sequence[CampaignRun], count: int | None) -> None:
    low, high = min(int(run.labels[0]) for run in runs), max(int(run.labels[-1]) for run in runs)
    if count is not None and not low <= count <= high:
        raise InputError(
            "at", expected=f"a number of labels that some run has, {low:,} to {high:,}", got=f"{count:,}",
            fix="By default runs are compared at the largest number of labels that all of them reached.",
        )  # fmt: skip


def _chapter(comparison: Comparison, options: ReportOptions) -> Chapter:
    group = comparison.group
    return Chapter(
        name=group.name,
        title=group.title,
        facts=_group_facts(group),
        notes=(*group.notes, *comparison.notes, *_decrease_notes(group), *_fit_notes(group)),
        sections=_sections(comparison, options),
    )


def _sections(comparison: Comparison, options: ReportOptions) -> tuple[ReportSection, ...]:
    if not comparison.comparable:  # other sections would report the excluded runs as missing
        return _nothing_compared(comparison.group), map_section(comparison.group, options)
    return (
        curves_section(comparison),
        final_section(comparison),
        savings_section(comparison, options),
        pairwise_section(comparison),
        map_section(comparison.group, options),
        queries_section(comparison, options),
        timing_section(comparison),
    )


def _nothing_compared(group: RunGroup) -> ReportSection:
    return ReportSection(
        "Nothing to compare",
        "Means, differences and labels saved compare runs at the same number of labels. The notes above say why there "
        "is no such number here.",
        (f"The metrics of every round are in tables/{group.name}-rounds.csv.",),
    )


def _document_facts(comparisons: Sequence[Comparison]) -> tuple[tuple[str, str], ...]:
    runs = [run for comparison in comparisons for run in comparison.group.runs]
    methods = {run.method for run in runs}
    finished = sum(run.finished for run in runs)
    state = f"{finished} finished, {len(runs) - finished} unfinished"
    return (
        ("Runs", f"{len(runs)}, all finished" if finished == len(runs) > 1 else state),
        ("Methods", ", ".join(method_label(name) for name in names() if name in methods)),
    )


def _group_facts(group: RunGroup) -> tuple[tuple[str, str], ...]:
    config = group.config
    facts = {
        "Settings": f"preset {group.preset}" if group.preset else "custom",
        "Ensemble": f"{config.ensemble.members} × {config.ensemble.net}",
        "Labels": f"up to {_budgets(group)}, {config.query.size} per round",
        "Classes": f"{len(group.runs[0].record.classes)}",
        "Methods": ", ".join(method_label(method) for method in group.methods),
        "Seeds": ", ".join(map(str, group.seeds)),
    }
    if config.oracle.noise or config.oracle.abstain:
        facts["Oracle"] = f"{100 * config.oracle.noise:g}% wrong, {100 * config.oracle.abstain:g}% unanswered"
    if answered_by_person(config):
        facts["Oracle"] = "a person"
    return tuple(facts.items())


def _budgets(group: RunGroup) -> str:
    """Return the current label budgets; they differ from the config's in runs that were extended."""
    budgets = sorted({run.record.budget for run in group.runs})
    listed = " or ".join(f"{budget:,}" for budget in budgets)
    return listed if len(budgets) == 1 else f"{listed} depending on the run"


def _decrease_notes(group: RunGroup) -> list[str]:
    """Return a note if some run lost labels between rounds."""
    decreased = [run.name for run in group.runs if (np.diff(run.with_all_rounds().labels) < 0).any()]
    if not decreased:
        return []
    return [
        f"The number of labels decreased during {', '.join(decreased)}, because labels were withdrawn or images went "
        "missing. Rounds with at least as many labels as a later round are left out of all tables and curves, except "
        f"tables/{group.name}-rounds.csv."
    ]


def _fit_notes(group: RunGroup) -> list[str]:
    """Return a note if members of some round do not fit their labels."""
    fits = {run.name: float(run.with_all_rounds().round_metric("fit").min()) for run in group.runs}
    low = {name: fit for name, fit in fits.items() if fit < FIT_THRESHOLD}
    if not low:
        return []
    worst = min(low, key=lambda name: low[name])
    return [
        f"In {len(low)} of {len(group.runs)} runs, the members of some round reproduce on average less than "
        f"{100 * FIT_THRESHOLD:.0f}% of their labels (minimum: {100 * low[worst]:.1f}%, {worst}). Such members are not "
        "samples of the version space, so metrics of these rounds are less meaningful."
    ]


def _rounds_table(group: RunGroup) -> Table:
    """Return every metric of every round, as shares: for figures of one's own."""
    every = [(set_name, metric) for set_name in _SETS for metric in _SET_METRICS]
    runs = [run.with_all_rounds() for run in group.runs]
    series = {run.name: {key: run.set_metric(*key) for key in every} for run in runs}
    known = [key for key in every if any(not np.isnan(found[key]).all() for found in series.values())]
    rows: list[tuple[Value, ...]] = []
    for run in runs:
        columns = [*(run.round_metric(name) for name in _ROUND_METRICS), *(series[run.name][key] for key in known)]
        for round_, *numbers in zip(run.rounds, *columns, strict=True):
            cells = (None if np.isnan(number) else float(number) for number in numbers)
            rows.append((run.method, run.seed, round_.number, round_.labels, *cells))
    titles = ("method", "seed", "round", "labels", *_ROUND_METRICS, *(f"{where} {metric}" for where, metric in known))
    return Table(f"{group.name}-rounds", "", tuple(Column(title) for title in titles), tuple(rows))
