"""Which digits to label next: query methods on the predictions of real classifiers.

Twelve small networks of scikit-learn are trained on the labels asked so far, and their probabilities go to
`versionspace.query`. Run it with ``make demo``; it takes about a minute.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

import versionspace as vs

MEMBERS, BATCH, BUDGET, SEEDS = 12, 10, 100, (0, 1, 2)
METHODS = ("random", "ge", "pwd", "gvd")


@dataclass(frozen=True)
class Digits:
    """8×8 digits, split into a pool to ask from, a reference set that needs no labels, and a test set."""

    images: np.ndarray
    truth: np.ndarray
    pool: np.ndarray
    reference: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Round:
    """What the members are like after so many labels."""

    labels: int
    accuracy: float
    vote_accuracy: float
    diameter: float
    wrong_agreement: float


def load(seed: int) -> Digits:
    """The digits, shuffled and split by the seed."""
    images, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(images))
    return Digits(images / 16, truth, order[:1100], order[1100:1400], order[1400:])


def committee(digits: Digits, asked: list[int], seed: int) -> list[MLPClassifier]:
    """Networks that fit the labels asked so far, each from its own start."""
    members = []
    for m in range(MEMBERS):
        net = MLPClassifier((32,), solver="lbfgs", alpha=1e-3, max_iter=200, random_state=1000 * seed + m)
        members.append(net.fit(digits.images[asked], digits.truth[asked]))
    return members


def probabilities(members: list[MLPClassifier], images: np.ndarray) -> np.ndarray:
    """(M, N, C)."""
    return np.stack([member.predict_proba(images) for member in members])


def campaign(method: str, seed: int, progress: Progress, bar: int) -> tuple[list[Round], list[int]]:
    """Labels asked batch by batch, starting from one image of each class; what was measured, and what was asked."""
    digits = load(seed)
    asked = [int(digits.pool[digits.truth[digits.pool] == c][0]) for c in range(10)]
    rounds = []
    while True:
        members = committee(digits, asked, seed)
        test = probabilities(members, digits.images[digits.test])
        truth = digits.truth[digits.test]
        rounds.append(
            Round(
                labels=len(asked),
                accuracy=float((test.argmax(-1) == truth).mean()),
                vote_accuracy=float((vs.majority_vote(test) == truth).mean()),
                diameter=vs.pairwise_disagreement(test),
                wrong_agreement=vs.wrong_agreement(test, truth),
            )
        )
        progress.advance(bar)
        if len(asked) >= BUDGET:
            return rounds, asked
        ids = np.setdiff1d(digits.pool, asked)
        needed = {"pool": probabilities(members, digits.images[ids])}
        if method in ("pwd", "gvd"):
            needed["reference"] = probabilities(members, digits.images[digits.reference])
        asked += vs.query(method, BATCH, ids=ids, seed=seed, **needed).tolist()


def picture(image: np.ndarray) -> str:
    """An 8×8 digit in four lines of half blocks."""
    ink = image.reshape(8, 8) > 0.4
    return "\n".join(
        "".join(" ▄▀█"[2 * above + below] for above, below in zip(top, bottom, strict=True))
        for top, bottom in zip(ink[::2], ink[1::2], strict=True)
    )


def table(results: dict[str, list[list[Round]]]) -> Table:
    """Means over seeds, at three stages."""
    out = Table(title=f"Digits, {MEMBERS} members, means of {len(SEEDS)} runs, in percent", title_style="bold")
    out.add_column("labels", justify="right")
    out.add_column("method", style="cyan")
    for name in ("accuracy", "of the vote", "diameter", "wrong together"):
        out.add_column(name, justify="right")
    for labels in (20, 50, BUDGET):
        for method, runs in results.items():
            at = [next(r for r in rounds if r.labels == labels) for rounds in runs]
            measured = [(r.accuracy, r.vote_accuracy, r.diameter, r.wrong_agreement) for r in at]
            means = [f"{100 * mean:.1f}" for mean in np.mean(measured, axis=0)]
            out.add_row(str(labels) if method == METHODS[0] else "", method, *means)
        out.add_section()
    return out


def main() -> None:
    """Runs every method on every seed and prints what came out."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    console = Console()
    results: dict[str, list[list[Round]]] = {method: [] for method in METHODS}
    first: dict[str, list[int]] = {}
    steps = len(METHODS) * len(SEEDS) * (1 + (BUDGET - 10) // BATCH)
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("training committees", total=steps)
        for seed in SEEDS:
            for method in METHODS:
                rounds, asked = campaign(method, seed, progress, bar)
                results[method].append(rounds)
                if seed == SEEDS[0]:
                    first[method] = asked[10 : 10 + BATCH]
    digits = load(SEEDS[0])
    for method in ("random", "gvd"):
        shown = [Panel(picture(digits.images[i]), title=str(digits.truth[i]), width=12) for i in first[method][:6]]
        console.print(f"\n[bold]{method}[/] asks first for")
        console.print(Columns(shown))
    console.print()
    console.print(table(results))
    console.print(
        "[dim]accuracy: mean of the members on the test set · of the vote: of their majority · diameter: the share of "
        "the test set on which two of them differ · wrong together: on which all agree and are wrong[/]"
    )


if __name__ == "__main__":
    main()
