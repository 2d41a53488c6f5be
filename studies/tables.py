"""The tables of RESULTS.md in Markdown: shares in percent, differences paired by seed."""

from collections.abc import Callable, Iterable

import numpy as np

from studies.values import BySeed, Study, differences, measured, values
from versionspace.query import TABLE
from versionspace.report import METHOD_GROUPS, PAPER, statistics

ENOUGH = 6
"""The number of seeds from which on Wilcoxon's test can reach p < 0.05; it is not shown for fewer."""
SPREAD = 3
"""The number of seeds from which on an interval is shown."""
BRIEF = (*(method for group in METHOD_GROUPS for method in group), "gvd-loo", "gvd-batch")
"""The paper's nine methods and the two new ones."""
CLAIMED = tuple((one, other) for one in ("pwd", "gvd") for other in ("random", "ge", "vr"))
"""The comparisons that the paper makes: the method that it finds better comes first."""


def ends(study: Study) -> str:
    """Final metrics as mean ± deviation over seeds, and the smallest fit of any round."""
    columns = {
        "accuracy": measured(study, "accuracy"),
        "area under accuracy": measured(study, "accuracy", "area"),
        "vote's accuracy": measured(study, "vote_accuracy"),
        "PWD": measured(study, "pwd"),
        "wrong agreement": measured(study, "wrong_agreement"),
        "accuracy on the pool": measured(study, "pool_accuracy"),
    }
    labels, fits = measured(study, "labels"), values(study, "fit")
    rows = []
    for method, by_seed in labels.items():
        last = sorted(set(by_seed.values()))
        cells = [_spread(found[method].values()) for found in columns.values()]
        minimum = f"{100 * min(share for run in fits[method].values() for share in run):.1f}"
        rows.append([TABLE[method].label, str(len(by_seed)), "–".join(str(int(n)) for n in last), *cells, minimum])
    return _markdown(["method", "seeds", "labels", *columns, "minimum fit"], rows)


def against_random(study: Study) -> str:
    """Final accuracy and PWD minus those of random with the same seed, in percentage points, with t intervals.

    From `ENOUGH` seeds on, Wilcoxon's p for the accuracy is added, corrected by Holm's method for all methods tested.
    """
    columns = {
        "accuracy": measured(study, "accuracy"),
        "area under accuracy": measured(study, "accuracy", "area"),
        "PWD": measured(study, "pwd"),
    }
    gains = {m: differences(columns["accuracy"], m, "random") for m in columns["accuracy"] if m != "random"}
    gains = {method: gain for method, gain in gains.items() if gain}
    tested = [method for method, gain in gains.items() if len(gain) >= ENOUGH]
    ps = dict(zip(tested, statistics.holm([statistics.signed_rank(gains[m]).p for m in tested]), strict=True))
    rows = []
    for method, gain in gains.items():
        cells = [_gain(differences(found, method, "random")) for found in columns.values()]
        p = f"{ps[method]:.3f}" if method in ps else "–"
        rows.append([TABLE[method].label, str(len(gain)), *cells, *([p] if tested else [])])
    return _markdown(["method, minus random", "seeds", *columns, *(["p of accuracy"] if tested else [])], rows)


def brief(study: Study) -> str:
    """A summary for the README: accuracy, gain over random and diameter of the paper's methods and the new ones."""
    found = {column: measured(study, column) for column in ("accuracy", "pwd", "wrong_agreement")}
    rows = []
    for method, by_seed in found["accuracy"].items():
        if method not in BRIEF:
            continue
        gain = "" if method == "random" else _gain(differences(found["accuracy"], method, "random"))
        cells = [_spread(column[method].values()) for column in found.values()]
        rows.append([TABLE[method].label, str(len(by_seed)), cells[0], gain, *cells[1:]])
    labels = study["config"]["budget"]["total"]
    return _markdown(
        ["method", "seeds", f"accuracy at {labels} labels", "minus random", "PWD", "wrong agreement"], rows
    )


def claims(studies: list[Study], column: str) -> str:
    """PWD and GVD minus random, GE and VR in every study, each followed by the paper's own numbers."""
    rows = []
    for study in studies:
        found = measured(study, column)
        each = [differences(found, one, other) for one, other in CLAIMED]
        seeds = sorted({len(gain) for gain in each if gain})
        count = "–".join(str(n) for n in dict.fromkeys((seeds[0], seeds[-1])))
        cells = [_gain(gain) for gain in each]
        rows.append([study["name"], str(study["config"]["budget"]["total"]), count, *cells])
        published = PAPER.get(study["config"]["preset"].removeprefix("small/"))
        if published:
            means = published.accuracy if column == "accuracy" else published.diameter
            cells = [f"{means[one][0] - means[other][0]:+.2f}" for one, other in CLAIMED]
            rows.append(["  the paper", str(published.labels), str(published.runs), *cells])
    head = [f"{TABLE[one].label} − {TABLE[other].label}" for one, other in CLAIMED]
    return _markdown(["study", "labels", "seeds", *head], rows)


def times(study: Study) -> str:
    """Minutes per campaign: rounds × the median round; medians, since some campaigns shared the machine."""
    rows = []
    for method, by_seed in values(study, "all_seconds").items():
        minutes = [len(x) * float(np.median(x)) / 60 for x in by_seed.values()]
        rounds = len(next(iter(by_seed.values())))
        rows.append([TABLE[method].label, str(len(by_seed)), str(rounds), f"{np.median(minutes):.1f}"])
    return _markdown(["method", "campaigns", "rounds", "minutes each"], rows)


def about(study: Study) -> str:
    """The date, commit, machine and command of a study."""
    versions = ", ".join(f"{name} {number}" for name, number in study["versions"].items())
    return (
        f"Measured {study['date']} at commit {study['commit']} on {study['machine']} ({versions}):\n"
        f"`{study['command']}`.{_elsewhere(study)}"
    )


def _elsewhere(study: Study) -> str:
    """List the campaigns that were run at another commit or on another machine than the rest."""
    others: dict[str, dict[str, list[int]]] = {}
    for run in study.get("runs", []):
        machine = f"on {run['machine']}" if "machine" in run else ""
        place = " ".join(filter(None, [f"at commit {run['commit']}" if "commit" in run else "", machine]))
        if place:
            others.setdefault(place, {}).setdefault(run["method"], []).append(run["seed"])
    said = []
    for place, by_method in others.items():
        by_seeds: dict[tuple[int, ...], list[str]] = {}
        for method in (m for m in TABLE if m in by_method):
            by_seeds.setdefault(tuple(sorted(by_method[method])), []).append(TABLE[method].label)
        which = "; ".join(
            f"{', '.join(labels)} with seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
            for seeds, labels in by_seeds.items()
        )
        said.append(f"\n{which}: {place}.")
    return "".join(said)


def variants(study: Study) -> str:
    """Variants half-way and at the end, where all of them have measurements, and their difference from the first."""
    names = list(dict.fromkeys(run["variant"] for run in study["runs"]))
    common = sorted(set.intersection(*(set(_counts(study, name)) for name in names)))[1:]
    wanted = {
        f"accuracy with {n} labels": ("accuracy", str(n)) for n in dict.fromkeys((common[len(common) // 2], common[-1]))
    }
    wanted[f"PWD with {common[-1]}"] = ("pwd", str(common[-1]))
    found = {name: [measured(study, *which, name) for which in wanted.values()] for name in names}
    rows = []
    for method in found[names[0]][0]:
        for name in names:
            cells = [_spread(each[method].values()) for each in found[name]]
            for each, base in zip(found[name], found[names[0]], strict=True):
                both: BySeed = {"this": each[method], "first": base[method]}
                cells.append("" if name == names[0] else _gain(differences(both, "this", "first")))
            rows.append([TABLE[method].label, name, str(len(found[name][0][method])), *cells])
    minus = [f"minus {names[0]}: {what}" for what in wanted]
    return _markdown(["method", "variant", "seeds", *wanted, *minus], rows)


def gains(study: Study) -> str:
    """Accuracy minus random's with the same seed, by variant, method and labels; bold if the interval excludes 0."""
    names = list(dict.fromkeys(run["variant"] for run in study["runs"]))
    counts = _counts(study, names[0])[1:]
    rows = []
    for name in names:
        there = _counts(study, name)
        at = [measured(study, "accuracy", str(n), name) if n in there else {} for n in counts]
        for method in values(study, "labels", name):
            if method != "random":
                cells = [_gain(differences(found, method, "random"), short=True) for found in at]
                rows.append([name, TABLE[method].label, *cells])
    return _markdown(["variant", "method, minus random", *(f"{n} labels" for n in counts)], rows)


def changes(study: Study) -> str:
    """Accuracy of each variant minus that of the first, by method and labels; bold if the interval excludes 0."""
    first, *others = dict.fromkeys(run["variant"] for run in study["runs"])
    counts = _counts(study, first)[1:]
    rows = []
    for name in others:
        there = _counts(study, name)
        at = [(measured(study, "accuracy", str(n), name), measured(study, "accuracy", str(n), first))
              if n in there else None for n in counts]  # fmt: skip
        for method in values(study, "labels", name):
            both: list[BySeed] = [{"this": a[0][method], "first": a[1][method]} if a else {} for a in at]
            cells = [_gain(differences(found, "this", "first"), short=True) for found in both]
            rows.append([name, TABLE[method].label, *cells])
    return _markdown([f"variant, minus {first}", "method", *(f"{n} labels" for n in counts)], rows)


def _counts(study: Study, variant: str) -> list[int]:
    """Return the numbers of labels of the rounds, which all campaigns of a variant share."""
    (counts,) = {
        tuple(int(n) for n in labels)
        for by_seed in values(study, "labels", variant).values()
        for labels in by_seed.values()
    }
    return list(counts)


def asked(study: Study) -> str:
    """The content of each method's first query: means over seeds."""
    rows = []
    for method in ("pool", *TABLE):
        found = [row for row in study["asked"] if row["method"] == method]
        if found:
            mean = {key: np.mean([row[key] for row in found]) for key in found[0] if key not in ("method", "seed")}
            name = "the whole pool" if method == "pool" else TABLE[method].label
            shares = [f"{100 * mean[key]:.0f}" for key in ("together", "right", "ruled_out")]
            rows.append([name, str(len(found)), *shares, f"{mean['answers']:.1f}", f"{mean['classes']:.1f}"])
    head = ["members on the most frequent answer", "it is right", "members that the label rules out",
            "distinct answers", "classes in the query"]  # fmt: skip
    return _markdown(["method", "seeds", *head], rows)


def full_size(study: Study) -> str:
    """Estimated and measured seconds and bytes."""
    rows = []
    for row in study["rows"]:
        estimate, run = row["plan"], row["run"]
        fit = " + ".join(f"{stages['fit']:.0f}" for stages in run["stages"])
        rest = sum(sum(stages.values()) - stages["fit"] for stages in run["stages"])
        rows.append([
            f"`{row['preset']}`", f"{row['pool']:,}", str(row["members"]), str(row["epochs"]), str(row["labels"]),
            f"{estimate['seconds']:.0f}", f"{run['seconds']:.0f}", fit, f"{rest:.0f}",
            f"{estimate['memory'] / 1e9:.2f}", f"{run['memory'] / 1e9:.2f}",
            f"{estimate['disk'] / 1e6:.0f}", f"{run['disk'] / 1e6:.0f}",
        ])  # fmt: skip
    head = ["preset", "pool", "members", "epochs", "labels", "estimated (s)", "measured (s)", "fits (s)", "rest (s)",
            "memory estimated (GB)", "measured (GB)", "disk estimated (MB)", "measured (MB)"]  # fmt: skip
    return _markdown(head, rows)


def curves(study: Study) -> str:
    """The link to the figure, which `curves.draw` writes."""
    return f"![Accuracy and diameter over labels]({study['figure']})"


OF_ONE: dict[str, Callable[[Study], str]] = {
    "brief": brief, "ends": ends, "against-random": against_random, "times": times, "about": about,
    "variants": variants, "gains": gains, "changes": changes, "asked": asked, "curves": curves, "full-size": full_size,
}  # fmt: skip
OF_MANY: dict[str, Callable[[list[Study]], str]] = {
    "claims-accuracy": lambda studies: claims(studies, "accuracy"),
    "claims-pwd": lambda studies: claims(studies, "pwd"),
}


def _spread(numbers: Iterable[float | None]) -> str:
    percent = [100 * n for n in numbers if n is not None]
    if not percent:
        return "–"
    deviation = f" ± {np.std(percent, ddof=1):.2f}" if len(percent) > 1 else ""
    return f"{np.mean(percent):.2f}{deviation}"


def _gain(found: list[float], *, short: bool = False) -> str:
    """Return the mean, bold if its t interval excludes 0, and unless short the interval; "" without seeds.

    Below `SPREAD` seeds the differences themselves are shown: their interval would be tens of points wide.
    """
    if not found:
        return ""
    points = [100 * d for d in found]
    interval = statistics.t_interval(points) if len(points) >= SPREAD else None
    mark = "**" if interval is not None and interval.low * interval.high > 0 else ""
    mean = f"{mark}{np.mean(points):+.{1 if short else 2}f}{mark}"
    if short or len(points) == 1:
        return mean
    each = ", ".join(f"{point:+.2f}" for point in points)
    return f"{mean} ({each if interval is None else f'{interval.low:+.2f} to {interval.high:+.2f}'})"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
