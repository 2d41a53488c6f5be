"""The first images to label, before there is a model: how many classes they show, and what a classifier learns."""

import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import versionspace as vs
from studies.coverage.scenarios import SCENARIOS, SEEDS, TEST
from versionspace.query import TABLE

PATH = Path(__file__).parent / "first-images.json"
METHODS = ("random", "coreset", "typiclust", "probcover", "maxherding")
COUNTS = (10, 20)


def measure(features: Path) -> Path:
    """Write, for each dataset, method and number of images, the classes seen and the accuracy, by seed."""
    found = []
    for scenario in SCENARIOS[:6]:
        with np.load(features / f"{scenario.file}.npz") as arrays:
            points, labels = arrays["features"], arrays["labels"]
        for method in METHODS:
            rows = [_one(points, labels, method, seed) for seed in SEEDS]
            found.append({"scenario": scenario.name, "method": method, "classes": [r[0] for r in rows],
                          "accuracy": [r[1] for r in rows]})  # fmt: skip
    PATH.write_text("[\n " + ",\n ".join(json.dumps(one) for one in found) + "\n]\n", encoding="utf-8")
    return PATH


def _one(points: "np.ndarray", labels: "np.ndarray", method: str, seed: int) -> tuple[list[int], list[float]]:
    """Return the classes among the first images and the accuracy of a logistic regression on them, by `COUNTS`."""
    order = np.random.default_rng(seed).permutation(len(points))
    test, pool = order[:TEST], order[TEST:]
    given = {"features": points[pool]} if TABLE[method].features else {"ids": np.arange(len(pool))}
    asked = pool[vs.query(method, COUNTS[-1], seed=seed, **given)]
    seen, accuracy = [], []
    for count in COUNTS:
        some = asked[:count]
        seen.append(len(np.unique(labels[some])))
        right = 0.0
        if seen[-1] > 1:
            model = LogisticRegression(max_iter=500).fit(points[some], labels[some])
            right = float((model.predict(points[test]) == labels[test]).mean())
        accuracy.append(round(right, 4))
    return seen, accuracy


def table() -> str:
    """Return classes seen and accuracy after 10 and 20 images, as Markdown."""
    found = json.loads(PATH.read_text(encoding="utf-8"))
    titles = {scenario.name: scenario.title for scenario in SCENARIOS}
    lines = ["| dataset | " + " | ".join(TABLE[method].label for method in METHODS) + " |", "|---" * 6 + "|"]
    for name in dict.fromkeys(one["scenario"] for one in found):
        cells = []
        for method in METHODS:
            one = next(o for o in found if (o["scenario"], o["method"]) == (name, method))
            classes, accuracy = np.mean(one["classes"], axis=0), 100 * np.mean(one["accuracy"], axis=0)
            cells.append(f"{classes[0]:.1f}, {classes[1]:.1f}; {accuracy[0]:.0f}, {accuracy[1]:.0f}%")
        lines.append(f"| {titles[name]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
