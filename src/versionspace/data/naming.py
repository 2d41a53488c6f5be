"""File names as text that can be printed, stored and sent: a file system also takes bytes that are no text."""

import os
import re

_HALVES = re.compile("[\ud800-\udfff]")
_FIRST, _LAST = 0xDC80, 0xDCFF
"""What Python reads for a byte from 0x80 to 0xFF that is not UTF-8."""


def shown(name: str | os.PathLike[str]) -> str:
    r"""A name, or a sentence with names in it: each byte that is not UTF-8 as ``\xNN``, which leads back to the file.

    >>> print(shown("caf\udce9.jpg"), shown("café.jpg"))
    caf\xe9.jpg café.jpg
    """
    return _HALVES.sub(_escaped, os.fspath(name))


def _escaped(found: "re.Match[str]") -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if _FIRST <= code <= _LAST else f"\\u{code:04x}"
