"""Coverage methods with networks trained from scratch, the paper's own setting, beside the studies of RESULTS.md.

The campaigns of methods that need no features are those of studies/NAME.json: same config, same first labels.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import versionspace as vs
from versionspace.config import read_config
from versionspace.query import TABLE
from versionspace.store import campaigns, read_campaign

STUDIES = Path(__file__).parent.parent
PATH = Path(__file__).parent / "scratch.json"
MEMBERS = "members"
COVER = ("pwd-cover", "gvd-cover", "maxherding", "uherding")
OTHERS = ("typiclust", "probcover", "epig", "power-bald")


@dataclass(frozen=True)
class Experiment:
    """Campaigns with one config and one source of features."""

    study: str
    """The name of a file in studies/ that has random and the methods of the paper."""
    title: str
    config: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    at: tuple[int, ...]
    """Numbers of labels that the table shows."""
    features: str = MEMBERS

    @property
    def name(self) -> str:
        """The name of its folder of campaigns."""
        return f"{self.study}-{self.features}"


_DIGITS = ("digits", "Digits", "studies/digits.toml")
_MNIST = ("mnist", "MNIST", "small/mnist")
_FASHION = ("fashion-mnist", "Fashion-MNIST", "small/fashion-mnist")
_SVHN = ("svhn", "SVHN", "small/svhn")
_TEN, _TWO = tuple(range(10)), (0, 1)
_FEW = (20, 30, 40, 60, 80, 110)
EXPERIMENTS = (
    Experiment(*_DIGITS, COVER + OTHERS, _TEN, _FEW),
    Experiment(*_DIGITS, ("pwd-cover",), _TEN, _FEW, "pixels"),
    Experiment(*_DIGITS, ("pwd-cover",), _TEN, _FEW, "lite0"),
    Experiment(*_MNIST, ("pwd-cover", "maxherding", "margin"), _TWO, (20, 30, 50, 100, 150)),
    Experiment(*_FASHION, ("pwd-cover", "margin"), _TWO, (20, 50, 100, 200, 300)),
    Experiment(*_SVHN, ("pwd-cover", "margin"), _TWO, (120, 140, 180, 240)),
)


def run_all(folder: Path, jobs: int) -> None:
    """Run what has not ended yet, experiment by experiment."""
    for one in EXPERIMENTS:
        settings = [f"query.features={one.features}"] if one.features != MEMBERS else []
        print(one.name, flush=True)
        done = vs.run(
            read_config(one.config, settings), methods=one.methods, seeds=one.seeds, jobs=jobs, out=folder / one.name,
            progress=False,
        )  # fmt: skip
        for campaign, error in done.failed.items():
            print(campaign, error, flush=True)


def collect(folder: Path) -> Path:
    """Add the accuracies of the campaigns that have ended to `PATH`."""
    rows = {(row["experiment"], row["method"], row["seed"]): row for row in _stored()}
    for one in EXPERIMENTS:
        runs = folder / one.name
        for campaign in campaigns(runs) if runs.exists() else ():
            record = read_campaign(campaign) if campaign.ledger.exists() else None
            if record is None or not record.ended:
                continue
            metrics = [found.metrics for found in record.measured_rounds() if found.metrics is not None]
            rows[one.name, record.method, record.seed] = {
                "experiment": one.name, "method": record.method, "seed": record.seed,
                "labels": [m.labels for m in metrics],
                "accuracy": [round(m.sets["test"].accuracy or 0.0, 4) for m in metrics],
            }  # fmt: skip
    lines = [json.dumps(rows[key]) for key in sorted(rows)]
    PATH.write_text("[\n " + ",\n ".join(lines) + "\n]\n", encoding="utf-8")
    return PATH


def table() -> str:
    """Return the accuracy of every method in percent, and its difference to random by seed, as Markdown."""
    parts = []
    for study in dict.fromkeys(one.study for one in EXPERIMENTS):
        own = [one for one in EXPERIMENTS if one.study == study]
        curves = dict(_published(study))
        for one in own:
            name = "" if one.features == MEMBERS else f", features of {one.features}"
            for row in _stored():
                if row["experiment"] == one.name:
                    of_method = curves.setdefault(TABLE[row["method"]].label + name, {})
                    of_method[row["seed"]] = dict(zip(row["labels"], row["accuracy"], strict=True))
        if len(curves) > len(dict(_published(study))):
            parts.append(_part(own[0], curves))
    return "\n\n".join(parts) if parts else "Not measured yet."


def _part(experiment: Experiment, curves: dict[str, dict[int, dict[int, float]]]) -> str:
    at, random = experiment.at, curves["Random"]
    rows = []
    for label, by_seed in curves.items():
        mean = [float(np.mean([100 * curve[n] for curve in by_seed.values()])) for n in at]
        common = [seed for seed in by_seed if seed in random]
        gain = np.mean([100 * (by_seed[s][n] - random[s][n]) for s in common for n in at]) if common else np.nan
        rows.append((float(gain), label, len(by_seed), mean))
    rows.sort(key=lambda row: -row[0])
    lines = [f"| {experiment.title} | seeds | " + " | ".join(f"{n} labels" for n in at) + " | mean − random |"]
    lines.append("|---" * (len(at) + 3) + "|")
    for gain, label, seeds, mean in rows:
        lines.append(f"| {label} | {seeds} | " + " | ".join(f"{value:.1f}" for value in mean) + f" | {gain:+.1f} |")
    return "\n".join(lines)


def _published(study: str) -> Iterator[tuple[str, dict[int, dict[int, float]]]]:
    """Yield the methods of a study of RESULTS.md and their accuracies by seed and number of labels."""
    found = json.loads((STUDIES / f"{study}.json").read_text(encoding="utf-8"))
    labels, accuracy = found["columns"].index("labels"), found["columns"].index("accuracy")
    for method in dict.fromkeys(run["method"] for run in found["runs"]):
        runs = [run for run in found["runs"] if run["method"] == method]
        yield TABLE[method].label, {run["seed"]: {r[labels]: r[accuracy] for r in run["rounds"]} for run in runs}


def _stored() -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else []
    return found
