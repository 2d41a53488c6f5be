"""What each method asked for: how evenly over the classes, and the images themselves."""

from pathlib import Path

import numpy as np

from versionspace.campaign.images import opened
from versionspace.data import DATASETS, Subset, info
from versionspace.errors import VersionspaceError
from versionspace.report.document import Block, Column, Part, Table, Value
from versionspace.report.groups import Group, ordered
from versionspace.report.options import Options
from versionspace.report.plots.images import ACROSS, Strip, heat, sheet
from versionspace.report.plots.style import label
from versionspace.report.runs import Run
from versionspace.report.sections.results import Judged
from versionspace.report.statistics import Spread, spread
from versionspace.types import Floats, Ints

_HOW = (
    "Only images that the method chose count, not the first labels, which all methods share. A method that asks for "
    "few classes over and over may have found the hard ones, or be stuck. Evenness is the entropy of the class shares "
    "over its largest value: 1 where every class was asked equally often, 0 where only one was."
)


def asked(one: Judged, options: Options) -> Part:
    """The balance of classes, and contact sheets."""
    title = "What was asked for"
    runs = one.level.runs
    classes = tuple(dict.fromkeys(name for run in runs for name in run.record.classes))
    counts = {run.name: class_counts(run, classes) for run in runs}
    if not any(count.sum() for count in counts.values()):
        return Part(title, _HOW, ("None of these runs has had an answer to a query yet.",))
    blocks: list[Block] = [*_balance(one, classes, counts)]
    blocks += _sheets(one.group, runs) if options.images else []
    return Part(title, _HOW, tuple(blocks))


def class_counts(run: Run, classes: tuple[str, ...]) -> Ints:
    """(C,): answers to queries, by class; skipped images are left out."""
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
    """H(shares) / ln C; None without answers or with a single class.

    >>> evenness(np.array([5, 5])), evenness(np.array([5, 0]))
    (1.0, 0.0)
    """
    total = int(counts.sum())
    if total == 0 or len(counts) < 2:
        return None
    shares = counts[counts > 0] / total
    return abs(float(-(shares * np.log(shares)).sum() / np.log(len(counts))))


def _balance(one: Judged, classes: tuple[str, ...], counts: dict[str, Ints]) -> list[Block]:
    names = [name for group in ordered(one.level.methods) for name in group]
    shares: list[Floats] = []
    rows: list[tuple[Value, ...]] = []
    for name in names:
        own = [counts[run.name] for run in one.level.runs if run.method == name]
        total = np.sum(own, axis=0)
        shares.append(100 * total / total.sum() if total.sum() else np.full(len(classes), np.nan))
        even = [found for count in own if (found := evenness(count)) is not None]
        rows.append((label(name), spread(even), int(total.sum()), *_ends(total, classes)))
    columns = (
        Column("method"), Column("evenness", digits=3, kind=Spread), Column("labels, seeds together", kind=float),
        Column("most"), Column("least"),
    )  # fmt: skip
    return [
        heat(
            f"{one.group.name}-classes", [label(name) for name in names], classes, np.array(shares),
            unit="share of the labels asked for (%)",
            caption=f"{one.group.title}: of the labels that each method asked for, how many in a hundred are of each "
            "class; seeds together.",
            alt=f"Shares of {len(classes)} classes among the labels that {', '.join(map(label, names))} asked for.",
        ),
        Table(
            f"{one.group.name}-classes", f"{one.group.title}: how evenly classes were asked for.", columns, tuple(rows)
        ),
    ]  # fmt: skip


def _ends(total: Ints, classes: tuple[str, ...]) -> tuple[str, str]:
    if not total.sum():
        return "–", "–"
    most, least = int(total.argmax()), int(total.argmin())
    return tuple(f"{classes[i]}: {100 * total[i] / total.sum():.1f}%" for i in (most, least))  # type: ignore[return-value]


def _sheets(group: Group, runs: tuple[Run, ...]) -> list[Block]:
    found = pixels(group)
    if isinstance(found, str):
        return [found]
    strips = []
    for method in (name for row in ordered([run.method for run in runs]) for name in row):
        run = next(run for run in runs if run.method == method)
        ids, answers = first_asked(run, ACROSS)
        if not len(ids):
            continue
        try:
            images = found.take(ids).images
        except VersionspaceError as error:
            return [f"The images that {label(method)} asked for cannot be shown. {error}"]
        strips.append(Strip(label(method), images, answers))
    if not strips:
        return []
    seed = min(run.seed for run in runs)
    return [
        sheet(
            f"{group.name}-images", strips,
            caption=f"{group.title}: the first images that each method asked for, from left to right, with the answers "
            f"(seed {seed}, or the method's first). The first labels, which all methods share, and images that wait "
            "for an answer are left out.",
            alt="Contact sheet: " + "; ".join(f"{s.label} asked for {', '.join(s.names)}" for s in strips) + ".",
        )
    ]  # fmt: skip


def first_asked(run: Run, count: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.generic]], tuple[str, ...]]:
    """The first images of the queries that were answered or skipped, best first, and what was said of them.

    One that nobody has answered yet was not skipped; one that was asked again has its place where it was answered.
    """
    queries = [r for r in run.record.rounds if r.purpose == "query"]
    pairs = [(i, r.answers[i]) for r in queries for i in r.asked if i in r.answers][:count]
    return np.array([i for i, _ in pairs]), tuple("skipped" if name is None else name for _, name in pairs)


def pixels(group: Group) -> Subset | str:
    """The dataset's images, if they are on this machine; else a sentence. Nothing is downloaded for a report."""
    data = group.config.data
    try:
        if data.name in DATASETS:
            if not info(data.name).cached:
                return f"Contact sheets need the images: versionspace data fetch {data.name}"
        elif not Path(data.name).expanduser().is_dir():
            return f"Contact sheets need the images, and the folder {data.name} is not there."
        return opened(group.config).train
    except (VersionspaceError, OSError) as error:
        return f"Contact sheets need the images, which cannot be read. {error}"
