"""What each method queried: the balance of classes, and the images themselves."""

from pathlib import Path

import numpy as np

from versionspace.campaign import open_pictures
from versionspace.data import DATASETS, Subset, info, is_features_file
from versionspace.errors import VersionspaceError
from versionspace.report.compare import Comparison
from versionspace.report.document import Block, Column, ReportSection, Table, Value
from versionspace.report.groups import RunGroup, sort_methods
from versionspace.report.options import ReportOptions
from versionspace.report.plots.images import SHEET_COLUMNS, ImageRow, contact_sheet, heatmap
from versionspace.report.plots.style import method_label
from versionspace.report.runs import CampaignRun
from versionspace.report.statistics import SampleMean, sample_mean
from versionspace.report.tables import NO_VALUE
from versionspace.text import printable
from versionspace.types import Array, Floats, Ints

_HOW_TO_READ = (
    "Only images that the method chose count, not the initial labels, which all methods share. A method that keeps "
    "querying few classes may have found the hard ones, or be stuck. Evenness is the entropy of the class shares "
    "divided by its maximum: 1 if all classes were queried equally often, 0 if only one was."
)


def queries_section(comparison: Comparison, options: ReportOptions) -> ReportSection:
    """Return the balance of classes, and contact sheets."""
    title = "Queried images"
    runs = comparison.balanced.runs
    classes = tuple(dict.fromkeys(name for run in runs for name in run.record.classes))
    counts = {run.name: class_counts(run, classes) for run in runs}
    if not any(count.sum() for count in counts.values()):
        return ReportSection(title, _HOW_TO_READ, ("No query of these runs has been answered yet.",))
    blocks = _class_balance(comparison, classes, counts)
    if options.images and not is_features_file(comparison.group.config.data.name):
        blocks += _contact_sheets(comparison.group, runs)
    return ReportSection(title, _HOW_TO_READ, tuple(blocks))


def class_counts(run: CampaignRun, classes: tuple[str, ...]) -> Ints:
    """Return (C,) the number of answers to queries by class, without skipped images."""
    places = {name: place for place, name in enumerate(classes)}
    answers = [
        places[name]
        for r in run.record.rounds
        if r.purpose == "query"
        for name in r.answers.values()
        if name is not None and name in places
    ]
    return np.bincount(np.array(answers, np.int64), minlength=len(classes)).astype(np.int64)


def evenness(counts: Ints) -> float | None:
    """Return H(shares) / ln C; None without answers, or with a single class.

    >>> evenness(np.array([5, 5])), evenness(np.array([5, 0]))
    (1.0, 0.0)
    """
    total = int(counts.sum())
    if total == 0 or len(counts) < 2:
        return None
    shares = counts[counts > 0] / total
    return abs(float(-(shares * np.log(shares)).sum() / np.log(len(counts))))


def first_queries(run: CampaignRun, count: int) -> tuple[Array, tuple[str, ...]]:
    """Return the ids of the first queried images, in order, and their answers; "skipped" if they were skipped.

    Images without an answer yet are left out. An image that was queried again counts where it was answered.
    """
    queries = [r for r in run.record.rounds if r.purpose == "query"]
    pairs = [(i, r.answers[i]) for r in queries for i in r.asked if i in r.answers][:count]
    return np.array([i for i, _ in pairs]), tuple("skipped" if name is None else name for _, name in pairs)


def _class_balance(comparison: Comparison, classes: tuple[str, ...], counts: dict[str, Ints]) -> list[Block]:
    methods = sort_methods(comparison.balanced.methods)
    labels = [method_label(method) for method in methods]
    shares: list[Floats] = []
    rows: list[tuple[Value, ...]] = []
    for method, label in zip(methods, labels, strict=True):
        own = [counts[run.name] for run in comparison.balanced.runs if run.method == method]
        total = np.sum(own, axis=0)
        shares.append(100 * total / total.sum() if total.sum() else np.full(len(classes), np.nan))
        even = [found for count in own if (found := evenness(count)) is not None]
        most, least = (_class_share(total, int(place), classes) for place in (total.argmax(), total.argmin()))
        rows.append((label, sample_mean(even), int(total.sum()), most, least))
    columns = (
        Column("method"), Column("evenness", digits=3, kind=SampleMean), Column("labels, all seeds", kind=float),
        Column("most queried"), Column("least queried"),
    )  # fmt: skip
    title = comparison.group.title
    return [
        heatmap(
            f"{comparison.group.name}-classes", labels, classes, np.array(shares),
            unit="% of the queried labels",
            caption=f"{title}: shares of the classes among the labels that each method queried, all seeds together.",
            alt=f"Shares of {len(classes)} classes among the labels that {', '.join(labels)} queried.",
        ),
        Table(
            f"{comparison.group.name}-classes", f"{title}: how evenly the classes were queried.", columns, tuple(rows)
        ),
    ]  # fmt: skip


def _class_share(total: Ints, place: int, classes: tuple[str, ...]) -> str:
    return f"{classes[place]}: {100 * total[place] / total.sum():.1f}%" if total.sum() else NO_VALUE


def _contact_sheets(group: RunGroup, runs: tuple[CampaignRun, ...]) -> list[Block]:
    images = _open_images(group)
    if isinstance(images, str):
        return [images]
    rows = []
    for method in sort_methods([run.method for run in runs]):
        run = next(run for run in runs if run.method == method)
        ids, answers = first_queries(run, SHEET_COLUMNS)
        if not len(ids):
            continue
        try:
            rows.append(ImageRow(method_label(method), images.take(ids).images, answers))
        except VersionspaceError as error:
            return [f"The images that {method_label(method)} queried cannot be shown. {error}"]
    if not rows:
        return []
    seed = min(run.seed for run in runs)
    return [
        contact_sheet(
            f"{group.name}-images", rows,
            caption=f"{group.title}: the first images that each method queried, in order, with the answers (seed "
            f"{seed}, or the first seed of the method). The initial labels, which all methods share, and images "
            "without an answer are left out.",
            alt="Contact sheet: " + "; ".join(f"{row.label} queried {', '.join(row.answers)}" for row in rows) + ".",
        )
    ]  # fmt: skip


def _open_images(group: RunGroup) -> Subset | str:
    """Return the images of the dataset if they are on this machine, or why not. Nothing is downloaded."""
    data = group.config.data
    try:
        if data.name in DATASETS:
            if not info(data.name).cached:
                return f"Contact sheets require the images: versionspace data fetch {data.name}"
        elif not Path(data.name).expanduser().is_dir():
            return f"Contact sheets require the images, but the folder {printable(data.name)} does not exist."
        return open_pictures(group.config).train
    except (VersionspaceError, OSError) as error:
        return f"Contact sheets require the images, which cannot be read. {error}"
