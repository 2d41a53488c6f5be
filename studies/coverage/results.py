"""The accuracies of all campaigns as one JSON file, and their differences to random."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from studies.coverage.scenarios import SCENARIOS, STARTS, CampaignKey
from studies.measurements import commit_of, machine
from versionspace.store import campaigns, read_campaign
from versionspace.types import Floats

PATH = Path(__file__).parent / "results.json"


def collect(folder: Path, commit: str = "HEAD") -> Path:
    """Write the accuracy of every round of every campaign that has ended to `PATH`.

    Campaigns that are there already, for example from another machine, are kept unless they were run again.
    """
    rows = _stored()
    for start in STARTS:
        for scenario in SCENARIOS:
            runs = folder / start / scenario.name
            for campaign in campaigns(runs) if runs.exists() else ():
                if not campaign.ledger.exists():
                    continue
                record = read_campaign(campaign)
                if not record.ended:
                    continue
                metrics = [found.metrics for found in record.measured_rounds() if found.metrics is not None]
                rows[scenario.name, start, record.method, record.seed] = {
                    "scenario": scenario.name, "start": start, "method": record.method, "seed": record.seed,
                    "labels": [m.labels for m in metrics],
                    "accuracy": [round(m.sets["test"].accuracy or 0.0, 4) for m in metrics],
                    "classes": sum(count > 0 for count in metrics[0].classes.values()),
                }  # fmt: skip
    about = {"date": time.strftime("%Y-%m-%d"), "commit": commit_of(Path(), commit), **machine()}
    head = json.dumps(about, indent=1)[:-2]
    order = {scenario.name: at for at, scenario in enumerate(SCENARIOS)}
    lines = [json.dumps(rows[key]) for key in sorted(rows, key=lambda key: (key[1], order[key[0]], *key[2:]))]
    PATH.write_text(head + ',\n "campaigns": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n", encoding="utf-8")
    return PATH


def known_campaigns() -> set[CampaignKey]:
    """Return the campaigns of `PATH`."""
    return set(_stored())


def _stored() -> dict[CampaignKey, dict[str, Any]]:
    if not PATH.exists():
        return {}
    found = json.loads(PATH.read_text(encoding="utf-8"))["campaigns"]
    return {(row["scenario"], row["start"], row["method"], row["seed"]): row for row in found}


@dataclass(frozen=True)
class Curves:
    """Accuracies of one scenario with one start, over labels."""

    scenario: str
    start: str
    labels: tuple[int, ...]
    seeds: dict[str, tuple[int, ...]]
    """By method."""
    accuracy: dict[str, Floats]
    """By method: (its seeds, labels)."""
    classes: float
    """Mean number of classes among the first labels."""

    def gains(self, method: str) -> Floats:
        """Return accuracy minus that of random with the same seed, (seeds that both have, labels)."""
        return self.differences(method, self, "random")

    def differences(self, method: str, other: "Curves", than: str) -> Floats:
        """Return accuracy minus that of a method of these or other curves, (seeds that both have, labels)."""
        common = [seed for seed in self.seeds[method] if seed in other.seeds[than]]
        mine = self.accuracy[method][[self.seeds[method].index(seed) for seed in common]]
        theirs = other.accuracy[than][[other.seeds[than].index(seed) for seed in common]]
        found: Floats = mine - theirs
        return found


def load_curves(path: Path = PATH) -> list[Curves]:
    """Return the curves of every scenario and start that has campaigns of random and of another method."""
    return list(_curves(json.loads(path.read_text(encoding="utf-8"))["campaigns"]))


def _curves(found: list[dict[str, object]]) -> Iterator[Curves]:
    for start in STARTS:
        for scenario in SCENARIOS:
            own = [c for c in found if (c["scenario"], c["start"]) == (scenario.name, start)]
            by_method: dict[str, dict[int, dict[str, object]]] = {}
            for campaign in own:
                by_method.setdefault(str(campaign["method"]), {})[int(str(campaign["seed"]))] = campaign
            methods = [method for method in scenario.methods if method in by_method]
            if "random" not in methods or len(methods) < 2:
                continue
            seeds = {method: tuple(sorted(by_method[method])) for method in methods}
            one = by_method["random"][seeds["random"][0]]
            accuracy = {m: np.array([by_method[m][seed]["accuracy"] for seed in seeds[m]], np.float64) for m in methods}
            classes = float(np.mean([float(str(c["classes"])) for c in by_method["random"].values()]))
            labels = tuple(one["labels"])  # type: ignore[arg-type]
            yield Curves(scenario.name, start, labels, seeds, accuracy, classes)
