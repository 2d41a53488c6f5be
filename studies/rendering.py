"""Tables and numbers between markers in Markdown files, from ``studies/*.json``.

A table stands from ``<!-- study NAME TABLE -->`` to ``<!-- end -->``, a number of a sentence from
``<!-- n NAME COLUMN METHOD LABELS -->`` to ``<!-- / -->``; what stands between is replaced.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.query.methods import METHODS, TABLE
from versionspace.report import statistics

HERE = Path(__file__).parent
PAGES = (HERE / "RESULTS.md", HERE.parent / "README.md")
_WITHIN = re.compile(r"(<!-- n (\S+) ([^>]+?) -->)(.*?)(<!-- / -->)", re.DOTALL)
_BETWEEN = re.compile(r"(<!-- study (\S+) (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

Study = dict[str, Any]


def rendered(text: str, page: Path = PAGES[0]) -> str:
    """The text of a page with every table made anew."""

    def table(found: "re.Match[str]") -> str:
        study = json.loads((HERE / f"{found[2]}.json").read_text(encoding="utf-8"))
        study["figure"] = f"{'' if page.parent == HERE else 'studies/'}figures/{found[2]}.svg"
        return f"{found[1]}{TABLES[found[3]](study)}\n{found[5]}"

    def figure(found: "re.Match[str]") -> str:
        study = json.loads((HERE / f"{found[2]}.json").read_text(encoding="utf-8"))
        return f"{found[1]}{number(study, *found[3].split())}{found[5]}"

    return _WITHIN.sub(figure, _BETWEEN.sub(table, text))


def number(study: Study, column: str, method: str, labels: str) -> str:
    """One number of a sentence, in percent: a column's mean over seeds, of one method or of one less another.

    ``labels``: with so many labels; "end"; or "area", of the whole curve.
    """
    names = method.split("~")
    found = {name: _at(study, column, name, labels) for name in names}
    if len(names) == 1:
        return f"{100 * np.mean(list(found[method].values())):.1f}"
    seeds = sorted(set(found[names[0]]) & set(found[names[1]]))
    return f"{100 * np.mean([found[names[0]][seed] - found[names[1]][seed] for seed in seeds]):+.1f}"


def _at(study: Study, column: str, method: str, labels: str) -> dict[int, float]:
    if labels == "area":
        return area(study)[method]
    counts, found = values(study, "labels")[method], values(study, column)[method]
    places = {seed: -1 if labels == "end" else counts[seed].index(int(labels)) for seed in found}
    return {seed: found[seed][place] for seed, place in places.items()}


def values(study: Study, column: str, variant: str = "") -> dict[str, dict[int, list[float]]]:
    """By method and seed: a column, round by round."""
    at = study["columns"].index(column)
    out: dict[str, dict[int, list[float]]] = {}
    for method in METHODS:
        for run in study["runs"]:
            if run["method"] == method and run.get("variant", "") == variant:
                out.setdefault(method, {})[run["seed"]] = [row[at] for row in run["rounds"]]
    return out


def ends(study: Study) -> str:
    """Accuracy, diameter and the like at the end: mean ± deviation over seeds, in percent."""
    columns = ("accuracy", "vote_accuracy", "pwd", "wrong_agreement", "pool_accuracy", "fit")
    found = {column: values(study, column) for column in columns}
    labels = values(study, "labels")
    areas = area(study)
    rows = []
    for method, by_seed in found["accuracy"].items():
        cells = [_spread([found[column][method][seed][-1] for seed in by_seed]) for column in columns]
        last = sorted({labels[method][seed][-1] for seed in by_seed})
        cells.insert(1, _spread([areas[method][seed] for seed in by_seed]))
        rows.append([TABLE[method].label, str(len(by_seed)), "–".join(str(int(n)) for n in last), *cells])
    head = ["method", "seeds", "labels", "accuracy", "area under accuracy", "vote's accuracy", "PWD", "wrong agreement",
            "accuracy on the pool", "fit"]  # fmt: skip
    return _markdown(head, rows)


def against_random(study: Study) -> str:
    """Accuracy and PWD at the end minus those of random with the same seed, in percentage points, with t intervals."""
    rows = []
    found = {column: values(study, column) for column in ("accuracy", "pwd")}
    areas = area(study)
    for method in found["accuracy"]:
        seeds = sorted(set(found["accuracy"][method]) & set(found["accuracy"].get("random", {})))
        if method == "random" or not seeds:
            continue
        cells = []
        for pick in (
            lambda m, s: found["accuracy"][m][s][-1],
            lambda m, s: areas[m][s],
            lambda m, s: found["pwd"][m][s][-1],
        ):
            differences = [pick(method, seed) - pick("random", seed) for seed in seeds]
            cells.append(_interval(differences))
        rows.append([TABLE[method].label, str(len(seeds)), *cells])
    return _markdown(["method, minus random", "seeds", "accuracy", "area under accuracy", "PWD"], rows)


def brief(study: Study) -> str:
    """What a reader in a hurry wants: accuracy and diameter at the end, and what a method gains over random."""
    found = {column: values(study, column) for column in ("accuracy", "pwd", "wrong_agreement")}
    base = found["accuracy"]["random"]
    rows = []
    for method, by_seed in found["accuracy"].items():
        seeds = sorted(set(by_seed) & set(base))
        gain = "" if method == "random" else _interval([by_seed[seed][-1] - base[seed][-1] for seed in seeds])
        cells = [_spread([found[column][method][seed][-1] for seed in by_seed]) for column in found]
        rows.append([TABLE[method].label, str(len(by_seed)), cells[0], gain, *cells[1:]])
    labels = study["config"]["budget"]["total"]
    return _markdown(
        ["method", "seeds", f"accuracy at {labels} labels", "minus random", "PWD", "wrong agreement"], rows
    )


def times(study: Study) -> str:
    """Minutes of a campaign: its rounds times the median one, so that a pause in one of them does not count."""
    rows = []
    for method, by_seed in values(study, "all_seconds").items():
        minutes = [len(x) * float(np.median(x)) / 60 for x in by_seed.values()]
        rounds = len(next(iter(by_seed.values())))
        rows.append([TABLE[method].label, str(len(by_seed)), str(rounds), f"{np.mean(minutes):.1f}"])
    return _markdown(["method", "campaigns", "rounds", "minutes each"], rows)


def about(study: Study) -> str:
    """Where the numbers come from."""
    versions = ", ".join(f"{name} {number}" for name, number in study["versions"].items())
    return (
        f"Measured {study['date']} at commit {study['commit']} on {study['machine']} ({versions}):\n"
        f"`{study['command']}`."
    )


def variants(study: Study) -> str:
    """What one change does: accuracy, area and diameter, and their difference from the first variant, by seed."""
    names = list(dict.fromkeys(run["variant"] for run in study["runs"]))
    rows = []
    for method in values(study, "accuracy", names[0]):
        first: list[dict[int, float]] = []
        for name in names:
            ends = [
                {seed: found[-1] for seed, found in values(study, column, name)[method].items()}
                for column in ("accuracy", "pwd")
            ]
            found = [ends[0], area(study, name)[method], ends[1]]
            first = first or found
            seeds = sorted(found[0])
            cells = [_spread([each[seed] for seed in seeds]) for each in found]
            for each, base in zip(found[:2], first, strict=False):
                cells.append("" if name == names[0] else _interval([each[seed] - base[seed] for seed in seeds]))
            rows.append([name, TABLE[method].label, str(len(seeds)), *cells])
    minus = f"minus {names[0]}"
    head = [
        "variant",
        "method",
        "seeds",
        "accuracy",
        "area under accuracy",
        "PWD",
        f"accuracy {minus}",
        f"area {minus}",
    ]
    return _markdown(head, rows)


def area(study: Study, variant: str = "") -> dict[str, dict[int, float]]:
    """Area under the accuracy curve over labels, divided by their range."""
    accuracy, labels = values(study, "accuracy", variant), values(study, "labels", variant)
    return {
        method: {seed: statistics.area(np.array(labels[method][seed]), np.array(curve)) for seed, curve in runs.items()}
        for method, runs in accuracy.items()
    }


def full_size(study: Study) -> str:
    """Seconds and bytes as planned, and as they were."""
    rows = []
    for row in study["rows"]:
        said, was = row["plan"], row["run"]
        fit = " + ".join(f"{stages['fit']:.0f}" for stages in was["stages"])
        rest = sum(sum(stages.values()) - stages["fit"] for stages in was["stages"])
        rows.append([
            f"`{row['preset']}`", f"{row['pool']:,}", str(row["members"]), str(row["epochs"]), str(row["labels"]),
            f"{said['seconds']:.0f}", f"{was['seconds']:.0f}", fit, f"{rest:.0f}", f"{said['memory'] / 1e9:.2f}",
            f"{was['memory'] / 1e9:.2f}", f"{said['disk'] / 1e6:.0f}", f"{was['disk'] / 1e6:.0f}",
        ])  # fmt: skip
    head = ["preset", "pool", "members", "epochs", "labels", "planned (s)", "took (s)", "fits (s)", "all else (s)",
            "memory planned (GB)", "held (GB)", "disk planned (MB)", "used (MB)"]  # fmt: skip
    return _markdown(head, rows)


def curves(study: Study) -> str:
    """The figure's place; it is drawn by `drawing.draw`."""
    return f"![Accuracy and diameter over labels]({study['figure']})"


TABLES: dict[str, Callable[[Study], str]] = {
    "brief": brief, "ends": ends, "against-random": against_random, "times": times, "about": about,
    "variants": variants, "curves": curves, "full-size": full_size,
}  # fmt: skip


def _spread(numbers: list[float]) -> str:
    percent = [100 * n for n in numbers if n is not None]
    if not percent:
        return "–"
    deviation = f" ± {np.std(percent, ddof=1):.2f}" if len(percent) > 1 else ""
    return f"{np.mean(percent):.2f}{deviation}"


def _interval(differences: list[float]) -> str:
    points = [100 * d for d in differences]
    if len(points) < 2:
        return f"{points[0]:+.2f}"
    found = statistics.t_interval(points)
    return f"{np.mean(points):+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
