"""Methods of a grid that turned out to be one: with few members all their images tie, and one lot decides."""

from collections.abc import Callable, Iterable

from versionspace.store.record import Record


def alike(records: Iterable[Record]) -> dict[tuple[str, ...], list[int]]:
    """Methods that asked for the same images in every query, all of them by lot; and with which seeds."""
    same: dict[tuple[int, tuple[frozenset[object], ...]], list[str]] = {}
    for record in records:
        queries = [r for r in record.rounds if r.purpose == "query" and r.asked]
        if queries and all(len(r.asked) > 1 and len(set(r.utilities)) == 1 for r in queries):
            same.setdefault((record.seed, tuple(frozenset(r.asked) for r in queries)), []).append(record.method)
    out: dict[tuple[str, ...], list[int]] = {}
    for (seed, _), methods in same.items():
        if len(methods) > 1:
            out.setdefault(tuple(methods), []).append(seed)
    return out


def said(records: Iterable[Record], named: Callable[[str], str] = str) -> list[str]:
    """A sentence for each such group of methods."""
    found = list(records)
    members = {record.method: record.config.ensemble.members for record in found}
    return [
        f"{', '.join(map(named, methods[:-1]))} and {named(methods[-1])} asked for the same images in every query "
        f"(seed {', '.join(map(str, sorted(seeds)))}): all of them tied, and one lot decided. "
        f"{members[methods[0]]} members are too few to tell these methods apart; take more (ensemble.members)."
        for methods, seeds in alike(found).items()
    ]
