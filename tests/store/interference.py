"""Interference with a campaign: events changed behind its back, and work done while a function runs."""

import contextlib
import sqlite3


def rewrite_event(folder, kind, before, after):
    """Change the first event of a kind in a ledger, as a failing disk or a person could."""
    with contextlib.closing(sqlite3.connect(folder / "ledger.sqlite")) as raw:
        raw.execute("DROP TRIGGER never_changed")
        first = "number = (SELECT min(number) FROM events WHERE kind = ?)"
        body = raw.execute(f"SELECT body FROM events WHERE {first}", (kind,)).fetchone()[0]
        assert before in body
        raw.execute(f"UPDATE events SET body = ? WHERE {first}", (body.replace(before, after, 1), kind))
        raw.commit()


def once(function, before=lambda: None, after=lambda: None, when=lambda *_: True):
    """Return a function that also calls ``before`` and ``after``, but only at its first call that fulfils ``when``."""
    done = []

    def wrapper(*args, **kwargs):
        first = not done and when(*args)
        done.extend([1] * first)
        if first:
            before()
        result = function(*args, **kwargs)
        if first:
            after()
        return result

    return wrapper
