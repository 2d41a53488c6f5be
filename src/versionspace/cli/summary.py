"""Summaries of campaigns: one line per campaign, one per method, or everything as data."""

import time
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from rich.table import Table

from versionspace.campaign import describe_indistinguishable as same_images
from versionspace.query import TABLE
from versionspace.store import Record, Round
from versionspace.text import duration, percent

_RECENT = 5
"""Number of recent rounds that the remaining time is estimated from."""
_NAMED = 6
"""Campaigns named in one sentence; a grid may have hundreds."""


def summary(records: Sequence[Record]) -> Table:
    """Return a table with one line per method: the mean and standard deviation over seeds of the final metrics.

    Campaigns that have not ended are left out; see `unfinished`.
    """
    table = Table(
        title="final metrics in percent: mean ± standard deviation over seeds", title_justify="left", title_style="dim",
        box=None, padding=(0, 2, 0, 0), header_style="bold",
    )  # fmt: skip
    table.add_column("method", style="cyan", min_width=9)
    for name in ("seeds", "labels", "accuracy", "vote", "diameter", "wrong agreement"):
        table.add_column(name, justify="right", min_width=max(len(word) for word in name.split()))
    by_method: dict[str, list[Record]] = {}
    for record in sorted(records, key=order):
        if record.ended and record.measured_rounds():
            by_method.setdefault(record.method, []).append(record)
    for method, found in by_method.items():
        last = [r.measured_rounds()[-1] for r in found]
        labels = sorted({r.labels for r in last})
        shown = str(labels[0]) if len(labels) == 1 else f"{labels[0]}–{labels[-1]}"
        values = [
            spread([_of(r, key) for r in last]) for key in ("accuracy", "vote_accuracy", "pwd", "wrong_agreement")
        ]
        table.add_row(method, str(len(found)), shown, *values)
    return table


def unfinished(records: Sequence[Record]) -> str:
    """Return a sentence that names the campaigns that the summary leaves out; empty if all have ended."""
    names = [f"{r.method}/{r.seed} ({r.spent} labels)" for r in sorted(records, key=order) if not r.ended]
    if len(names) > _NAMED:
        names[_NAMED:] = [f"{len(names) - _NAMED} others"]
    if not names:
        return ""
    whole = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
    have, are = ("have", "are") if len(names) > 1 else ("has", "is")
    return f"{whole} {have} not ended and {are} not included in the means."


def notes(records: Sequence[Record]) -> list[str]:
    """Return sentences on what these campaigns' numbers do not show."""
    out = []
    for record in sorted(records, key=order):
        if record.ended not in ("", "budget"):
            out.append(f"{record.method}/{record.seed} stopped early: {record.ended}.")
    last = [r.measured_rounds()[-1].metrics for r in sorted(records, key=order) if r.measured_rounds()]
    loose = [metrics for metrics in last if metrics is not None and not metrics.samples_version_space]
    if loose:
        worst = min(metrics.fit for metrics in loose)
        out.append(
            f"in {len(loose)} of {len(records)} campaigns members fit as few as {worst:.1%} of their labels: they "
            "are not samples of the version space. Train longer, or use a larger network."
        )
    return out + same_images(sorted(records, key=order))


def spread(values: Sequence[float | None]) -> str:
    """Return mean and standard deviation in percent."""
    known = [100 * v for v in values if v is not None]
    if not known:
        return "–"
    return f"{mean(known):.1f}" + (f" ± {stdev(known):.1f}" if len(known) > 1 else "")


def as_data(record: Record) -> dict[str, Any]:
    """Return a campaign as JSON data. What depends on clock, host, folder or resumes is under "environment"."""
    config = record.config.model_dump(mode="json", exclude={"machine", "grid"})
    state = record.state
    return {
        "method": record.method,
        "seed": record.seed,
        "classes": list(record.classes),
        "config": config,
        "ended": record.ended,
        "labels": record.spent,
        "audit": [[i, name] for i, name in record.audit.items()],
        "rounds": [_round(r) for r in record.rounds],
        "environment": {
            "folder": str(record.folder.path),
            "began": dict(state.environment),
            "seconds": [dict(r.seconds) for r in record.rounds],
            "seconds_left": seconds_left(record),
            "read_at": time.time(),
        },
    }


def _round(found: Round) -> dict[str, Any]:
    return {
        "round": found.number,
        "purpose": found.purpose,
        "asked": list(found.asked),
        "utilities": list(found.utilities),
        "labels": [[i, name] for i, name in found.answers.items()],
        "metrics": None if found.metrics is None else found.metrics.to_body(),
    }


def seconds_left(record: Record) -> float | None:
    """Estimate the remaining seconds from the duration of recent rounds; None before the first."""
    if record.ended:
        return 0.0
    recent = [sum(r.seconds.values()) for r in record.measured_rounds()[-_RECENT:]]
    if not recent:
        return None
    labels = record.budget - record.spent
    return mean(recent) * (-(-labels // record.config.query.size) + 1)


def row(record: Record) -> list[str]:
    """Return the cells of a campaign's line."""
    rounds = record.measured_rounds()
    last = rounds[-1] if rounds else None
    left = seconds_left(record)
    state = "done" if record.ended else "running" if left is None else f"{duration(left, rough=True)} left"
    return [
        record.method,
        str(record.seed),
        str(last.number) if last else "–",
        f"{record.spent}/{record.budget}",
        percent(_of(last, "accuracy")),
        percent(_of(last, "vote_accuracy")),
        percent(_of(last, "pwd")),
        percent(_of(last, "wrong_agreement")),
        percent(last.metrics.fit if last and last.metrics else None),
        state,
    ]


def _of(found: Round | None, key: str) -> float | None:
    return found.metrics.headline(key) if found and found.metrics else None


def order(record: Record) -> tuple[int, int]:
    """Return a sort key: methods in the order of their table, then seeds."""
    return list(TABLE).index(record.method), record.seed
