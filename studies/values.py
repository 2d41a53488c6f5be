"""The measurements of a study by method and seed, from ``studies/NAME.json``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from versionspace.query import METHODS
from versionspace.report import statistics

HERE = Path(__file__).parent

Name = TypeVar("Name")
Study = dict[str, Any]
BySeed = dict[str, dict[int, float]]
"""One number by method and seed."""


def load(name: str) -> Study:
    """Read ``studies/NAME.json``."""
    study: Study = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return study


def values(study: Study, column: str, variant: str = "") -> dict[str, dict[int, list[float]]]:
    """Return a column round by round, by method and seed."""
    at = study["columns"].index(column)
    out: dict[str, dict[int, list[float]]] = {}
    for method in METHODS:
        for run in study["runs"]:
            if run["method"] == method and run.get("variant", "") == variant:
                out.setdefault(method, {})[run["seed"]] = [row[at] for row in run["rounds"]]
    return out


def measured(study: Study, column: str, labels: str = "end", variant: str = "") -> BySeed:
    """Return a column at a number of labels, at the "end", or as "area": the mean height of its curve."""
    found, counts = values(study, column, variant), values(study, "labels", variant)
    return {
        method: {seed: _one(counts[method][seed], curve, labels) for seed, curve in runs.items()}
        for method, runs in found.items()
    }


def _one(counts: list[float], curve: list[float], labels: str) -> float:
    if labels == "area":
        found = statistics.area(np.array(counts), np.array(curve))
        assert found is not None
        return found
    return curve[-1 if labels == "end" else counts.index(int(labels))]


def differences(found: Mapping[Name, Mapping[int, float]], one: Name, other: Name) -> list[float]:
    """Return one − other for every seed that both have."""
    seeds = sorted(set(found.get(one, {})) & set(found.get(other, {})))
    return [found[one][seed] - found[other][seed] for seed in seeds]
