"""Parsing of option values, and the exit codes.

0    success
1    a campaign failed, or a folder is damaged
2    invalid command or input; nothing was changed
130  stopped by Ctrl-C; nothing is lost
"""

from versionspace.errors import InputError

FAILED = 1
REFUSED = 2
INTERRUPTED = 130


def read_names(text: str) -> list[str]:
    """Return the names in a comma-separated list.

    >>> read_names("gvd, pwd,")
    ['gvd', 'pwd']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def read_seeds(text: str) -> list[int]:
    """Return the numbers in a comma-separated list of numbers and ranges.

    >>> read_seeds("0-3,7")
    [0, 1, 2, 3, 7]
    """
    out: list[int] = []
    try:
        for part in read_names(text):
            first, dash, last = part.partition("-")
            out += range(int(first), int(last) + 1) if dash else [int(first)]
    except ValueError as error:
        raise InputError(
            "seeds", expected="whole numbers such as 0-3 or 0,2,5", got=repr(text), fix="Try 0-3."
        ) from error
    if not out:
        raise InputError("seeds", expected="at least one", got=repr(text), fix="For example 0-3.")
    return out
