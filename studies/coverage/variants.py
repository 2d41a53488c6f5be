"""Variants of `pwd-cover`, one thing changed at a time, in plain NumPy with all distances of the pool in memory."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from studies.coverage.scenarios import SCENARIOS
from versionspace.campaign import Campaign
from versionspace.config import with_changes
from versionspace.query import Method, Problem, Selection, register
from versionspace.query.coverage import gibbs_errors, radius
from versionspace.query.principal_components import PrincipalComponents
from versionspace.query.unit_rows import squared_distances
from versionspace.types import Array, Floats

PATH = Path(__file__).parent / "variants.json"
DATASETS = ("cifar10", "stl10", "fashion-mnist", "mnist")
SEEDS = range(5)
AT = (20, 30, 50, 100)
"""Labels at which accuracies are shown; the last is the budget."""
NEIGHBOUR = 20
"""The neighbour whose distance is an image's own radius."""
FINALISTS = 50
"""Images for which the worst case is computed at each pick: those of largest mean gain."""


@dataclass(frozen=True)
class Variant:
    """One change to `pwd-cover`."""

    title: str
    weights: Callable[[Problem], Floats] = gibbs_errors
    """δ, (N,)."""
    own_radius: bool = False
    """Whether each image has a radius of its own."""
    sample: int | None = None
    """Images over which the expectation is taken; None: all."""
    worst_case: bool = False
    """Whether the largest uncovered diameter over the answers counts, instead of the mean."""
    members: int = 20

    def choose(self, problem: Problem, k: int) -> Selection:
        """Return k images by the plain greedy algorithm."""
        assert problem.features is not None
        assert problem.labelled is not None
        rows = np.arange(problem.images)
        project = PrincipalComponents(problem.features, rows, problem.seed)
        points, labelled = project(problem.features), project(problem.labelled)
        generator = np.random.default_rng(problem.seed)
        sample = rows if self.sample is None else generator.permutation(rows)[: self.sample]
        kernel = self._kernel(points[sample], points, problem.seed)
        covered = self._kernel(points[sample], labelled, problem.seed).max(axis=1)
        trust = covered.copy()
        weights = 1.0 - trust * (1.0 - self.weights(problem)[sample])
        chosen: list[int] = []
        for _ in range(k):
            gains = weights @ np.maximum(kernel - covered[:, None], 0.0)
            gains[chosen] = -np.inf
            best = int(gains.argmax())
            if self.worst_case:
                some = np.argsort(-gains)[:FINALISTS]
                best = int(some[_worst(problem.beliefs().votes, some, sample, kernel, covered, trust).argmin()])
            chosen.append(best)
            covered = np.maximum(covered, kernel[:, best])
        return Selection(np.array(chosen), np.linspace(1.0, 0.0, k))

    def _kernel(self, points: Array, centres: Array, seed: int) -> Array:
        squared = squared_distances(points, centres)
        if not self.own_radius:
            return np.exp(-squared / (2.0 * radius(points, points[:0], seed) ** 2))
        near = np.sqrt(np.partition(squared_distances(points, points), NEIGHBOUR, axis=1)[:, NEIGHBOUR])
        return np.exp(-squared / (2.0 * near[:, None] ** 2))


def _worst(votes: Array, candidates: Array, sample: Array, kernel: Array, covered: Array, trust: Array) -> Floats:
    """Return, for each candidate, the largest uncovered diameter of the members that vote alike on it."""
    classes = int(votes.max()) + 1
    ballots = np.eye(classes, dtype=np.float32)[votes[:, sample]]  # (M, T, C)
    found = np.zeros(len(candidates))
    for at, candidate in enumerate(candidates):
        left = 1.0 - np.maximum(covered, kernel[:, candidate])
        for answer in np.unique(votes[:, candidate]):
            share = ballots[votes[:, candidate] == answer].mean(axis=0)
            doubt = 1.0 - trust * np.einsum("tc,tc->t", share, share)
            found[at] = max(found[at], float((doubt * left).mean()))
    return found


def _of_votes(problem: Problem) -> Floats:
    return gibbs_errors(replace(problem, pool=replace(problem.beliefs(), probs=None)))


def _tempered(power: float) -> Callable[[Problem], Floats]:
    def weights(problem: Problem) -> Floats:
        probs = problem.beliefs().probs
        assert probs is not None
        mean = np.asarray(probs, np.float64).mean(axis=0) ** power
        mean /= mean.sum(axis=1, keepdims=True)
        return 1.0 - np.einsum("nc,nc->n", mean, mean)

    return weights


VARIANTS = {
    "plain": Variant("pwd-cover"),
    "members-5": Variant("5 members instead of 20", members=5),
    "members-10": Variant("10 members", members=10),
    "votes": Variant("δ of votes instead of probabilities", weights=_of_votes),
    "sharper": Variant("probabilities sharpened, p²", weights=_tempered(2.0)),
    "flatter": Variant("probabilities flattened, √p", weights=_tempered(0.5)),
    "sample-500": Variant("expectation over 500 images of the pool", sample=500),
    "sample-2000": Variant("expectation over 2,000 images of the pool", sample=2000),
    "own-radius": Variant(f"radius of each image: distance to its {NEIGHBOUR}th neighbour", own_radius=True),
    "worst-case": Variant("worst case over the answers instead of the mean", worst_case=True),
}


def measure(features: Path) -> Path:
    """Write the accuracies of every variant, dataset and seed that is not measured yet."""
    done = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else []
    known = {(row["variant"], row["dataset"], row["seed"]) for row in done}
    for name, variant in VARIANTS.items():
        register(
            Method(f"variant-{name}", variant.title, "coverage", "", "", "", _no_score, variant.choose, pool="either",
                   features=True, labelled=True)
        )  # fmt: skip
        for dataset in DATASETS:
            for seed in SEEDS:
                if (name, dataset, seed) not in known:
                    accuracy = _run(features, dataset, name, seed)
                    done.append({"variant": name, "dataset": dataset, "seed": seed, "accuracy": accuracy})
                    PATH.write_text("[\n " + ",\n ".join(map(json.dumps, done)) + "\n]\n", encoding="utf-8")
    return PATH


def _no_score(problem: Problem) -> Floats:
    return np.zeros(problem.images)


def _run(features: Path, dataset: str, name: str, seed: int) -> list[float]:
    """Return the accuracy at each of `AT`, from the herded start."""
    scenario = next(s for s in SCENARIOS if s.name == dataset)
    changes = [f"query.method=variant-{name}", f"seed={seed}", f"budget.total={AT[-1]}",
               f"ensemble.members={VARIANTS[name].members}"]  # fmt: skip
    config = with_changes(scenario.config(features, "herded"), changes)
    with TemporaryDirectory() as folder, Campaign.create(Path(folder) / "campaign", config, threads=1) as campaign:
        campaign.run()
        sets = {m.labels: m.sets["test"].accuracy for m in campaign.state.metrics.values()}
    return [round(sets[labels] or 0.0, 4) for labels in AT]


def table() -> str:
    """Return the mean accuracy of every variant in percent, as Markdown."""
    found = json.loads(PATH.read_text(encoding="utf-8"))
    titles = {scenario.name: scenario.title for scenario in SCENARIOS}
    lines = ["| variant | " + " | ".join(titles[name] for name in DATASETS) + " |", "|---" * (len(DATASETS) + 1) + "|"]
    for name, variant in VARIANTS.items():
        cells = []
        for dataset in DATASETS:
            rows = [row["accuracy"] for row in found if (row["variant"], row["dataset"]) == (name, dataset)]
            cells.append(" / ".join(f"{value:.1f}" for value in 100 * np.mean(rows, axis=0)) if rows else "")
        lines.append(f"| {variant.title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
