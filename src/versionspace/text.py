"""Text for people: printable file names, durations, percentages, and suggestions for misspelt names."""

import difflib
import os
import re
from collections.abc import Iterable

_SURROGATES = re.compile("[\ud800-\udfff]")
_FIRST, _LAST = 0xDC80, 0xDCFF
"""The code points to which Python decodes the bytes 0x80 to 0xFF in a file name that is not UTF-8."""


def printable(name: str | os.PathLike[str]) -> str:
    r"""Return a file name, or a text that contains file names, with bytes that are not UTF-8 replaced by ``\xNN``.

    >>> print(printable("caf\udce9.jpg"), printable("café.jpg"))
    caf\xe9.jpg café.jpg
    """
    return _SURROGATES.sub(_escape, os.fspath(name))


def _escape(match: "re.Match[str]") -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if _FIRST <= code <= _LAST else f"\\u{code:04x}"


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """Return the known name that is most similar to a misspelt one; None if none is similar enough.

    >>> nearest("gdv", ["gvd", "random"]), nearest("zebra", ["gvd", "random"])
    ('gvd', None)
    """
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str, cutoff: float = 0.5) -> str:
    """Return "Did you mean …?" with the nearest known name, or ``otherwise`` if none is similar enough.

    >>> did_you_mean("gdv", ["gvd"], "See the list."), did_you_mean("zebra", ["gvd"], "See the list.")
    ("Did you mean 'gvd'?", 'See the list.')
    """
    near = nearest(name, known, cutoff)
    return otherwise if near is None else f"Did you mean {near!r}?"


def percent(value: float | None) -> str:
    """Return a share as a percentage, or a dash for None.

    >>> percent(0.934), percent(None)
    ('93.4%', '–')
    """
    return "–" if value is None else f"{100 * value:.1f}%"


def duration(seconds: float, rough: bool = False) -> str:
    """Return a number of seconds as text; ``rough`` omits the seconds after the first minute, for estimates.

    >>> duration(75), duration(7300), duration(75, rough=True)
    ('1 min 15 s', '2 h 1 min', '1 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min" if rough else f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours / 24:.1f} days"
