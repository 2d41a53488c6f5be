"""What the study runs: a dataset, a start and a disturbance in each scenario, every method and seed in all of them."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import versionspace as vs
from versionspace.config import Config, validate_config
from versionspace.query import METHODS

Start = Literal["herded", "random"]
CampaignKey = tuple[str, str, str, int]
"""Scenario, start, method and seed."""
SEEDS = tuple(range(10))
PER_CLASS = 20
"""Labels for each class at the end; the first model has one, and so has every query."""
TEST = 800
MAIN = ("random", "maxherding", "uherding", "pwd-cover", "gvd-cover", "typiclust", "probcover", "margin", "gvd-batch")
"""Methods of the scenarios that compare extractors, and of those with noise or rare classes."""


@dataclass(frozen=True)
class Scenario:
    """Campaigns on one features file."""

    name: str
    title: str
    file: str
    """The features file without its extension."""
    classes: int = 10
    noise: float = 0.0
    test: int = TEST
    """Test images: as many of each class by default, else a random sample."""
    methods: tuple[str, ...] = tuple(METHODS)

    def config(self, features: Path, start: Start) -> Config:
        """Return the config of its campaigns; methods and seeds are added by the grid."""
        test = {"test": self.test, "balanced": self.test == TEST}
        values = {
            "keep": "none",
            "data": {"name": str(features / f"{self.file}.npz"), "initial": 0, "validation": 0} | test,
            "ensemble": {"net": "heads", "members": 20},
            "query": {"size": self.classes},
            "budget": {"total": PER_CLASS * self.classes},
            "oracle": {"noise": self.noise},
            "cold_start": {"size": self.classes, "method": "maxherding" if start == "herded" else "random"},
            "measure": {"pool": False},
        }
        return validate_config(values, self.name)


SCENARIOS = (
    Scenario("stl10", "STL-10", "stl10-lite0"),
    Scenario("cifar10", "CIFAR-10", "cifar10-lite0"),
    Scenario("fashion-mnist", "Fashion-MNIST", "fashion-mnist-lite0"),
    Scenario("mnist", "MNIST", "mnist-lite0"),
    Scenario("svhn", "SVHN", "svhn-lite0"),
    Scenario("debian", "Debian packages (text)", "debian-minilm", classes=12),
    Scenario("stl10-lite2", "STL-10, features of lite2", "stl10-lite2", methods=MAIN),
    Scenario("cifar10-lite2", "CIFAR-10, features of lite2", "cifar10-lite2", methods=MAIN),
    Scenario("stl10-noise", "STL-10, 10% wrong labels", "stl10-lite0", noise=0.1, methods=MAIN),
    Scenario("cifar10-imbalanced", "CIFAR-10, classes 1:10", "cifar10-imbalanced", test=400, methods=MAIN),
)
STARTS: tuple[Start, ...] = ("herded", "random")


def run_all(folder: Path, jobs: int, known: Set[CampaignKey] = frozenset()) -> None:
    """Run what has not ended yet: few seeds first, so that a part of it is a smaller study.

    Campaigns in ``known`` were measured before and are not run again.
    """
    few, all_seeds = SEEDS[:3], SEEDS
    herded = STARTS[:1]
    stages = [
        (MAIN, few, STARTS), (MAIN, all_seeds, herded), (METHODS, few, herded), (MAIN, all_seeds, STARTS),
        (METHODS, all_seeds, STARTS),
    ]  # fmt: skip
    for chosen, seeds, starts in stages:
        for start in starts:
            for scenario in SCENARIOS:
                methods = [method for method in chosen if method in scenario.methods]
                for missing, of_seeds in _missing(scenario, start, methods, seeds, known).items():
                    print(start, scenario.name, *missing, "seeds", *of_seeds, flush=True)
                    done = vs.run(
                        scenario.config(folder / "features", start), methods=missing, seeds=of_seeds, jobs=jobs,
                        out=folder / start / scenario.name, progress=False,
                    )  # fmt: skip
                    for campaign, error in done.failed.items():
                        print(campaign, error, flush=True)


def _missing(
    scenario: Scenario, start: Start, methods: Sequence[str], seeds: Sequence[int], known: Set[CampaignKey]
) -> dict[tuple[str, ...], list[int]]:
    """Return the seeds that lack the same methods, by those methods."""
    found: dict[tuple[str, ...], list[int]] = {}
    for seed in seeds:
        missing = tuple(m for m in methods if (scenario.name, start, m, seed) not in known)
        if missing:
            found.setdefault(missing, []).append(seed)
    return found
