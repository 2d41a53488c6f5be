"""Accuracy, diameter and bias over labels."""

from collections.abc import Callable, Sequence

import numpy as np

from versionspace.report.compare import at, common
from versionspace.report.document import Block, Figure, Part
from versionspace.report.plots.lines import BANDS, Curve, Panel, lines
from versionspace.report.plots.style import DASHED, SOLID, LineStyle, method_label, method_style
from versionspace.report.runs import Run
from versionspace.report.sections.results import Judged
from versionspace.types import Floats

Series = Callable[[Run], Floats]

_HOW = (
    "Lines are means over seeds, bands one sample deviation to either side; with one seed there is no band, nor with "
    f"more than {BANDS} methods, where bands would cover the lines. Two methods with the same seed start from the same "
    "labels and the same first ensemble, so the panel of differences takes out what the seeds have in common. PWD "
    "falls as members come to agree; wrong agreement is the share of images on which all members agree and are wrong, "
    "which no diameter shows."
)


def curves(one: Judged) -> Part:
    """All curves of a group."""
    blocks: list[Block] = []
    for make in (_accuracy, _test, _pool, _projection, _random, _person):
        found = make(one)
        if found is not None:
            blocks.append(found)
    return Part("Over labels", _HOW, tuple(blocks))


def method_curves(one: Judged, series: Series) -> tuple[Curve, ...]:
    """A curve for each method, in percent, over the label counts that all of its compared runs reached."""
    out = []
    for method in one.level.methods:
        runs = [run for run in one.level.runs if run.method == method]
        found = averaged(runs, series, method_label(method), method_style(method))
        if found is not None:
            out.append(found)
    return tuple(out)


def averaged(runs: Sequence[Run], series: Series, name: str, style: LineStyle) -> Curve | None:
    """Mean over runs with a band of one sample deviation; None where nothing was measured."""
    kept = [run for run in runs if not np.isnan(series(run)).all()]
    counts, _ = common([run.labels for run in kept])
    if not len(counts):
        return None
    values = 100 * np.array([at(run.labels, series(run), counts) for run in kept])
    middle = values.mean(axis=0)
    if len(kept) < 2:
        return Curve(name, style, counts, middle)
    deviation = values.std(axis=0, ddof=1)
    return Curve(name, style, counts, middle, middle - deviation, middle + deviation)


def _differences(one: Judged) -> tuple[Curve, ...]:
    """Each method's accuracy minus that of random with the same seed: paired, so over every seed that both have."""
    compared = one.compared
    if "random" not in compared.methods or len(compared.methods) < 2:
        return ()
    values = 100 * compared.curves("test", "accuracy")
    base = values[:, compared.methods.index("random")]
    out = []
    for place, method in enumerate(compared.methods):
        each = values[:, place] - base
        each = each[~np.isnan(each).any(axis=1)]
        if method == "random" or not len(each):
            continue
        middle = each.mean(axis=0)
        deviation = each.std(axis=0, ddof=1) if len(each) > 1 else None
        low, high = (None, None) if deviation is None else (middle - deviation, middle + deviation)
        out.append(Curve(method_label(method), method_style(method), compared.labels, middle, low, high))
    return tuple(out)


def _accuracy(one: Judged) -> Figure | str:
    drawn = method_curves(one, lambda run: run.series("test", "accuracy"))
    if not drawn:
        return f"There is {one.lacking}, so there is no curve of it."
    panels = [Panel("Accuracy", "accuracy on the test set (%)", drawn)]
    differences = _differences(one)
    if differences:
        panels.append(Panel("Minus Random, same seed", "difference (percentage points)", differences, level=0.0))
    return lines(
        f"{one.group.name}-accuracy", panels, mark=_mark(one, drawn),
        caption=f"{one.group.title}: mean accuracy of the members on the test set over labels."
        + (" On the right, the difference to Random with the same seed." if differences else ""),
        alt=_alt("Accuracy on the test set", drawn),
    )  # fmt: skip


def _test(one: Judged) -> Figure | str | None:
    return _panels(
        one, "test", "test",
        (("Diameter", "PWD on the test set (%)", "pwd"),
         ("Bias", "wrong agreement on the test set (%)", "wrong_agreement")),
        "pairwise disagreement and wrong agreement on the test set over labels.",
    )  # fmt: skip


def _pool(one: Judged) -> Figure | str | None:
    found = _panels(
        one, "pool", "pool",
        (("Error", "error on the pool (%)", "error"), ("Diameter", "PWD on the pool (%)", "pwd"),
         ("Bias", "wrong agreement on the pool (%)", "wrong_agreement")),
        "error rate, pairwise disagreement and wrong agreement over labels on the whole pool, queried images included.",
    )  # fmt: skip
    return found or "The pool was not measured (measure.pool), so there are no curves of it."


def _projection(one: Judged) -> Figure | None:
    return _panels(
        one, "test", "projection",
        (("Gibbs: a member drawn at random", "distance to the projection (%)", "gibbs_distance"),
         ("Vote: the members' majority", "distance to the projection (%)", "vote_distance")),
        "distance of the Gibbs classifier and of the vote to the projection of the truth, on the test set: the part "
        "of the "
        "error on images on which members differ. Error = wrong agreement + this distance.", share_y=True,
    )  # fmt: skip


def _random(one: Judged) -> Figure | str | None:
    runs = [run for run in one.level.runs if run.method == "random"]
    if not runs:
        return (
            "There is no run of random among those compared, so the bias of version spaces trained on random samples "
            "is not shown."
        )
    wanted = (
        ("wrong agreement", "wrong_agreement", LineStyle("vermilion", SOLID, "o")),
        ("Gibbs, distance to the projection", "gibbs_distance", LineStyle("blue", SOLID, "^")),
        ("vote, distance to the projection", "vote_distance", LineStyle("sky", DASHED, "s")),
    )
    found = [averaged(runs, _series("test", what), name, style) for name, what, style in wanted]
    drawn = tuple(curve for curve in found if curve is not None)
    if not drawn:
        return None
    return lines(
        f"{one.group.name}-random", [Panel("Random", "share of the test set (%)", drawn, bounds=(0, None))],
        caption=f"{one.group.title}: version spaces trained on random samples. Wrong agreement is their bias; the "
        "vote is "
        "nearer to the projection than a random member where voting mends mistakes.",
        alt=_alt("Wrong agreement and distances to the projection of the random runs", drawn),
    )  # fmt: skip


def _person(one: Judged) -> Figure | None:
    """Where a person labels: what is known without truth, the diameter on the reference and the audit."""
    if one.group.has("test", "accuracy"):
        return None
    diameter = method_curves(one, lambda run: run.overall("diameter"))
    panels = [Panel("Diameter", "PWD on the reference (%)", diameter, bounds=(0, None))] if diameter else []
    names = {run.name: method_label(run.method) for run in one.compared.runs}
    if len(one.compared.seeds) > 1:
        names = {run.name: f"{method_label(run.method)}, seed {run.seed}" for run in one.compared.runs}
    audit = tuple(c for run in one.compared.runs if (c := _audit(run, names[run.name])) is not None)
    if audit:
        panels.append(Panel("Audit", "accuracy of the vote, by the audit (%)", audit))
    if not panels:
        return None
    return lines(
        f"{one.group.name}-person", panels,
        caption=f"{one.group.title}: what is known without a test set. The audit's band holds over all rounds "
        "together.",
        alt=_alt("Diameter on the reference and accuracy by the audit", diameter),
    )  # fmt: skip


def _audit(run: Run, name: str) -> Curve | None:
    middle = 100 * run.overall("audit", "accuracy")
    there = ~np.isnan(middle)
    if not there.any():
        return None
    low, high = (100 * run.overall("audit", name)[there] for name in ("low", "high"))
    return Curve(name, method_style(run.method), run.labels[there], middle[there], low, high)


def _panels(
    one: Judged, where: str, name: str, wanted: Sequence[tuple[str, str, str]], caption: str, share_y: bool = False
) -> Figure | None:
    panels = []
    for title, axis, what in wanted:
        drawn = method_curves(one, _series(where, what))
        if drawn:
            panels.append(Panel(title, axis, drawn, bounds=(0, None)))
    if not panels:
        return None
    return lines(
        f"{one.group.name}-{name}", panels, mark=_mark(one, panels[0].curves), share_y=share_y,
        caption=f"{one.group.title}: {caption}", alt=_alt(caption.rstrip("."), panels[0].curves),
    )  # fmt: skip


def _series(where: str, what: str) -> Series:
    if what == "error":
        return lambda run: 1.0 - run.series(where, "accuracy")
    return lambda run: run.series(where, what)


def _mark(one: Judged, drawn: Sequence[Curve]) -> int | None:
    """Where runs are compared, if some curve goes further."""
    if all(curve.x[-1] == one.compared.end for curve in drawn):
        return None
    return one.compared.end


def _alt(what: str, drawn: Sequence[Curve]) -> str:
    ends = [f"{curve.label} from {curve.middle[0]:.1f}% to {curve.middle[-1]:.1f}%" for curve in drawn]
    return f"{what[0].upper()}{what[1:]}, over labels: {'; '.join(ends)}."
