"""What a report may be told."""

from dataclasses import dataclass

from versionspace.errors import InputError
from versionspace.query.methods import TABLE


@dataclass(frozen=True)
class Options:
    """How to make a report."""

    targets: tuple[float, ...] = ()
    """Accuracies, as shares, to which labels are counted; by default what every run of random reached."""
    at: int | None = None
    """Compare at so many labels the runs that reached them; by default at the most that all reached."""
    embed: tuple[str, ...] = ()
    """Runs to embed beside the first of random: ``METHOD`` or ``METHOD/SEED``."""
    images: bool = True
    """Whether contact sheets are drawn, for which the dataset is read."""

    def __post_init__(self) -> None:
        for target in self.targets:
            if not 0 < target <= 1:
                raise InputError(
                    "target", expected="an accuracy above 0% and up to 100%", got=f"{100 * target:g}%",
                    fix="For example 95 on the command line, 0.95 in Python.",
                )  # fmt: skip
        if self.at is not None and self.at < 1:
            raise InputError("at", expected="a number of labels", got=str(self.at), fix="For example 100.")
        for text in self.embed:
            read_run(text)


@dataclass(frozen=True)
class WantedRun:
    """A method, and a seed or its first."""

    method: str
    seed: int | None


def read_run(text: str) -> WantedRun:
    """A run by name.

    >>> read_run("gvd/2"), read_run("gvd")
    (WantedRun(method='gvd', seed=2), WantedRun(method='gvd', seed=None))
    """
    method, slash, seed = text.partition("/")
    if method not in TABLE or (slash and not seed.isdecimal()):
        raise InputError(
            "embed", expected="METHOD or METHOD/SEED", got=repr(text),
            fix="For example gvd/0; `versionspace methods` lists the methods.",
        )  # fmt: skip
    return WantedRun(method, int(seed) if slash else None)
