"""The report of the study: tables and figures between the markers of REPORT.md, from results.json."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from studies.coverage import first_images, scratch, variants
from studies.coverage.results import PATH, Curves, load_curves
from studies.coverage.scenarios import MAIN, SCENARIOS, STARTS
from versionspace.query import TABLE
from versionspace.report import Curve, Panel, line_figure, method_label, method_style, statistics
from versionspace.types import Floats

PAGE = Path(__file__).parent / "REPORT.md"
PER_CLASS = (2, 3, 5, 10, 20)
"""Labels for each class at which tables show accuracies."""
AHEAD = 0.005
"""Accuracy, as a share, that counts as being ahead of random."""
DRAWN = ("pwd-cover", "maxherding", "typiclust", "margin", "gvd-batch")
TITLES = {scenario.name: scenario.title for scenario in SCENARIOS}
CLASSES = {scenario.name: scenario.classes for scenario in SCENARIOS}
_BETWEEN = re.compile(r"(<!-- (\w+)(?: (\w+))? -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def render() -> Path:
    """Write all tables and figures of REPORT.md again and return its path."""
    curves = load_curves(PATH)

    def table(found: "re.Match[str]") -> str:
        return f"{found[1]}{body(curves, found[2], found[3])}\n{found[5]}"

    PAGE.write_text(_BETWEEN.sub(table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return PAGE


def body(curves: Sequence[Curves], table: str, start: str | None) -> str:
    """Return a table or figure of the campaigns with one start, or with both."""
    chosen = [c for c in curves if not start or c.start == start]
    return TABLES[table](chosen) if chosen else "Not measured yet."


def gains(curves: Sequence[Curves]) -> str:
    """Accuracy minus random's at several numbers of labels for each class, in percentage points, with t intervals."""
    rows = []
    for one in curves:
        for method in [m for m in (*MAIN, *one.accuracy) if m in one.accuracy and m != "random"]:
            cells = [_interval(one.gains(method)[:, at]) for at in _columns(one)]
            if [TITLES[one.scenario], TABLE[method].label, *cells] not in rows:
                rows.append([TITLES[one.scenario], TABLE[method].label, *cells])
        random = [f"{100 * one.accuracy['random'][:, at].mean():.1f}" for at in _columns(one)]
        rows.append([TITLES[one.scenario], "*random itself*", *random])
    return _markdown(["dataset", "method", *(f"{n} a class" for n in PER_CLASS)], rows)


def seeds(curves: Sequence[Curves]) -> str:
    """How many seeds the tables that follow have."""
    counts = [len(seeds) for c in curves for method, seeds in c.seeds.items() if method in MAIN]
    others = [len(seeds) for c in curves for method, seeds in c.seeds.items() if method not in MAIN]
    said = f"Seeds: {_range(counts)} for {', '.join(f'`{method}`' for method in MAIN)}"
    return said + (f"; {_range(others)} for the others." if others else ".")


def short(curves: Sequence[Curves]) -> str:
    """The aims of the study and what became of them, for the default method."""
    default = "pwd-cover"
    shown = [c for c in curves if c.start == "herded" and default in c.accuracy]
    lines = []
    for one in shown[:3]:
        gain = 100 * one.gains(default).mean(axis=0)
        needed = statistics.labels_to_reach(
            np.array(one.labels), one.accuracy["random"].mean(axis=0), one.accuracy[default].mean(axis=0)[4]
        )
        times = "more than 4" if needed is None else f"{needed / one.labels[4]:.1f}"
        lines.append(
            f"- {TITLES[one.scenario]}: `{default}` gains {min(gain[1:5]):+.1f} to {max(gain[1:5]):+.1f} points over "
            f"random with 2 to 5 labels a class, and random needs {times} times its labels for what it reaches with 5."
        )
    worst, where = min((float(c.gains(default)[:, at].mean()), (c, at)) for c in shown for at in range(1, 20))
    noise = statistics.t_interval(where[0].gains(default)[:, where[1]])
    half = "" if noise is None else f" ± {100 * (noise.high - noise.low) / 2:.1f}"
    lines.append(
        f"- Its largest loss against random over all datasets, disturbances and budgets: {100 * worst:+.1f}{half} "
        f"points ({TITLES[where[0].scenario]}, {where[0].labels[where[1]]} labels)."
    )
    return "\n".join(lines)


def summary(curves: Sequence[Curves]) -> str:
    """For each method over all datasets: mean gain at several budgets, and the worst loss against random."""
    rows = []
    everywhere = _complete(curves)
    for method in {m: None for c in everywhere for m in c.accuracy if m != "random"}:
        having = [c for c in everywhere if method in c.accuracy]
        cells = [f"{100 * np.mean([c.gains(method)[:, _columns(c)[i]].mean() for c in having]):+.1f}" for i in range(5)]
        worst, where = min(
            (float(c.gains(method)[:, at].mean()), (c, at)) for c in having for at in range(1, len(c.labels))
        )
        noise = statistics.t_interval(where[0].gains(method)[:, where[1]])
        single = min(float(c.gains(method)[:, 1:].min()) for c in having)
        half = "" if noise is None else f" ± {100 * (noise.high - noise.low) / 2:.1f}"
        place = f"{TITLES[where[0].scenario]}, {where[0].labels[where[1]]} labels"
        rows.append([TABLE[method].label, *cells, f"{100 * worst:+.1f}{half} ({place})", f"{100 * single:+.1f}"])
    rows.sort(key=lambda row: -float(row[3]))
    head = ["method", *(f"{n} a class" for n in PER_CLASS), "worst mean (regret)", "worst seed"]
    return _markdown(head, rows)


def savings(curves: Sequence[Curves]) -> str:
    """Labels that random needs for what a method reaches with 2, 5 and 10 labels a class."""
    rows = []
    for one in curves:
        random = one.accuracy["random"].mean(axis=0)
        for method in [m for m in MAIN if m in one.accuracy and m != "random"]:
            cells = []
            for n in (2, 5, 10):
                at = n - 1
                reached = one.accuracy[method].mean(axis=0)[at]
                needed = statistics.labels_to_reach(np.array(one.labels), random, reached)
                own = one.labels[at]
                cells.append(f"> {one.labels[-1]}" if needed is None else f"{needed:.0f} ({needed / own:.1f}×)")
            rows.append([TITLES[one.scenario], TABLE[method].label, *cells])
    return _markdown(["dataset", "method", "for 2 a class", "for 5 a class", "for 10 a class"], rows)


def against_plain(curves: Sequence[Curves]) -> str:
    """The herded start and a method, minus a random start and random labels: what the product adds in all."""
    by_key = {(c.scenario, c.start): c for c in curves}
    rows = []
    for scenario, title in TITLES.items():
        ours, plain = by_key.get((scenario, "herded")), by_key.get((scenario, "random"))
        if ours is None or plain is None:
            continue
        for method in ("pwd-cover", "gvd-cover", "maxherding", "margin"):
            if method in ours.accuracy:
                found = ours.differences(method, plain, "random")
                cells = [_interval(found[:, at]) for at in (0, *_columns(ours))]
                rows.append([title, TABLE[method].label, *cells])
    return _markdown(["dataset", "method", *(f"{n} a class" for n in (1, *PER_CLASS))], rows)


def classes(curves: Sequence[Curves]) -> str:
    """How many classes the first labels have, one label for each class on average."""
    rows = []
    for scenario, title in TITLES.items():
        found = {c.start: c for c in curves if c.scenario == scenario}
        if len(found) == len(STARTS):
            cells = [f"{found[start].classes:.1f}" for start in STARTS]
            first = [f"{100 * found[start].accuracy['random'][:, 0].mean():.1f}" for start in STARTS]
            rows.append([title, str(CLASSES[scenario]), *cells, *first])
    return _markdown(
        ["dataset", "classes", "seen, herded", "seen, random", "accuracy, herded", "accuracy, random"], rows
    )


def figures(curves: Sequence[Curves]) -> str:
    """Draw accuracy minus random's over labels, three datasets in a figure."""
    images = []
    shown = _complete(curves)
    for number in range(0, len(shown), 3):
        panels = [
            Panel(TITLES[c.scenario], "accuracy − random, points", _gain_curves(c), baseline=0.0)
            for c in shown[number : number + 3]
        ]
        name = f"{shown[number].start}-{1 + number // 3}"
        alt = "Accuracy minus that of random over labels, a line for each method."
        figure = line_figure(name, panels, caption="", alt=alt, share_y=True)
        path = PAGE.parent / "figures" / f"{name}.svg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(figure.svg, encoding="utf-8")
        images.append(f"![{alt}](figures/{name}.svg)")
    return "\n".join(images)


def pays(curves: Sequence[Curves]) -> dict[str, str]:
    """Return for each method the fewest labels a class from which on it was ahead of random, as `Method.pays` says it.

    Ahead means that its gain, averaged over datasets and seeds, is at least `AHEAD` there and at all larger budgets.
    """
    everywhere = _complete(curves)
    found = {}
    for method in {m: None for c in everywhere for m in c.accuracy if m != "random"}:
        having = [c for c in everywhere if method in c.accuracy]
        mean = [float(np.mean([c.gains(method)[:, _columns(c)[i]].mean() for c in having])) for i in range(5)]
        ahead = [n for i, n in enumerate(PER_CLASS) if min(mean[i:]) >= AHEAD]
        found[method] = f"from {ahead[0]} a class" if ahead else f"not up to {PER_CLASS[-1]} a class"
    return found


TABLES = {
    "first": lambda curves: first_images.table(),
    "scratch": lambda curves: scratch.table(),
    "variants": lambda curves: variants.table(),
    "gains": gains, "summary": summary, "savings": savings, "plain": against_plain, "classes": classes,
    "figures": figures, "seeds": seeds, "short": short,
}  # fmt: skip


def _range(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least} to {most}"


def _complete(curves: Sequence[Curves]) -> list[Curves]:
    """Return the curves of the six datasets without disturbance, which have all methods."""
    names = [scenario.name for scenario in SCENARIOS if len(scenario.methods) > len(MAIN)]
    return [c for c in curves if c.scenario in names]


def _columns(curves: Curves) -> list[int]:
    """Return the positions of the numbers of labels in `PER_CLASS`: there is a round for every label a class."""
    return [min(n, len(curves.labels)) - 1 for n in PER_CLASS]


def _gain_curves(one: Curves) -> tuple[Curve, ...]:
    out = []
    for method in DRAWN:
        if method in one.accuracy:
            middle = 100 * one.gains(method).mean(axis=0)
            out.append(Curve(method_label(method), method_style(method), np.array(one.labels), middle))
    return tuple(out)


def _interval(differences: Floats) -> str:
    found = statistics.t_interval(differences)
    mean = f"{100 * differences.mean():+.1f}"
    return mean if found is None else f"{mean} ± {100 * (found.high - found.low) / 2:.1f}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
