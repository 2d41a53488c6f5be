"""The options of a report."""

from dataclasses import dataclass

from versionspace.errors import InputError
from versionspace.query import names


@dataclass(frozen=True)
class ReportOptions:
    """What to compare and what to draw. Raises `InputError` if a value cannot be used."""

    targets: tuple[float, ...] = ()
    """Accuracies, as shares, to which labels are counted. Default: the accuracy that every run of random reached."""
    at: int | None = None
    """Compare the runs that reached this many labels, there. Default: the largest number that all runs reached."""
    embed: tuple[str, ...] = ()
    """Runs to map in addition to the first run of random: ``METHOD`` or ``METHOD/SEED``."""
    images: bool = True
    """Whether to draw contact sheets, which requires the dataset."""

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
            parse_run_name(text)


@dataclass(frozen=True)
class RunName:
    """A method and a seed; without a seed, the first run of the method."""

    method: str
    seed: int | None


def parse_run_name(text: str) -> RunName:
    """Return the run that ``METHOD`` or ``METHOD/SEED`` names. Raises `InputError` if it is neither.

    >>> parse_run_name("gvd/2"), parse_run_name("gvd")
    (RunName(method='gvd', seed=2), RunName(method='gvd', seed=None))
    """
    method, slash, seed = text.partition("/")
    if method not in names() or (slash and not seed.isdecimal()):
        raise InputError(
            "embed", expected="METHOD or METHOD/SEED", got=repr(text),
            fix="For example gvd/0; `versionspace methods` lists the methods.",
        )  # fmt: skip
    return RunName(method, int(seed) if slash else None)
