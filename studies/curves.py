"""The curves of a study as a figure, from ``studies/NAME.json``.

The figure holds a digest of the numbers that it shows, by which a test finds a figure that is out of date.
"""

import hashlib
import json
import re
from pathlib import Path

import numpy as np

from studies.values import HERE, Study, load, values
from versionspace.report import Curve, Panel, line_figure, method_label, method_style
from versionspace.types import Floats

SHOWN = ("random", "vr", "ge", "bald", "coreset", "dfal", "pwd", "gvd", "m2-pwd")
"""The paper's nine methods: more lines could not be told apart."""


def figures_in(text: str) -> list[str]:
    """Return the names of the studies whose curves a page shows."""
    return re.findall(r"<!-- study (\S+) curves -->", text)


def draw(name: str) -> Path:
    """Write ``studies/figures/NAME.svg``, accuracy and diameter over labels, and return its path."""
    study = load(name)
    panels = [
        Panel("accuracy", "% of the test images", _curves(study, "accuracy")),
        Panel("diameter (PWD)", "% of the test images", _curves(study, "pwd")),
    ]
    figure = line_figure(name, panels, caption="", alt="Accuracy and diameter over labels, a line for each method.")
    path = HERE / "figures" / f"{name}.svg"
    path.parent.mkdir(exist_ok=True)
    start = figure.svg.index(">", figure.svg.index("<svg")) + 1
    path.write_text(f"{figure.svg[:start]}\n <!-- {digest(study)} -->{figure.svg[start:]}", encoding="utf-8")
    return path


def digest(study: Study) -> str:
    """Return a hash of all numbers in the figure."""
    drawn = {column: _shown(study, column) for column in ("labels", "accuracy", "pwd")}
    return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()


def _shown(study: Study, column: str) -> dict[str, dict[int, list[float]]]:
    """Return a column for the seeds that all drawn methods have, so that their curves start at one point."""
    found = {method: runs for method, runs in values(study, column).items() if method in SHOWN}
    common = set.intersection(*(set(runs) for runs in found.values()))
    return {m: {seed: found[m][seed] for seed in sorted(common)} for m in SHOWN if m in found}


def _curves(study: Study, column: str) -> tuple[Curve, ...]:
    found, labels = _shown(study, column), _shown(study, "labels")
    out = []
    for method, runs in found.items():
        each: Floats = 100 * np.array(list(runs.values()), np.float64)
        at = np.array(next(iter(labels[method].values())))
        middle = each.mean(axis=0)
        band = each.std(axis=0, ddof=1) if len(each) > 1 else None
        low, high = (None, None) if band is None else (middle - band, middle + band)
        out.append(Curve(method_label(method), method_style(method), at, middle, low, high))
    return tuple(out)
