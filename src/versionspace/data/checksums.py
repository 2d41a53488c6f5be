"""Checksums of files, and the comparison with those that are known."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from versionspace.data.errors import ChecksumError

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Digests:
    """Both sums of a file: publishers of these datasets give one or the other."""

    sha256: str
    md5: str

    def match(self, known: Sequence[str]) -> bool:
        """Whether one of the known sums, ``sha256:…`` or ``md5:…``, is this file's."""
        return f"sha256:{self.sha256}" in known or f"md5:{self.md5}" in known


def digests(path: Path) -> Digests:
    """SHA-256 and MD5 of a file in one pass."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            sha256.update(chunk)
            md5.update(chunk)
    return Digests(sha256.hexdigest(), md5.hexdigest())


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_sha256(text: str) -> bool:
    """Whether a text is such a sum, and so may be the id of an image of a folder.

    >>> is_sha256("ab" * 32), is_sha256("17")
    (True, False)
    """
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


def differs(name: str, known: Sequence[str], found: Digests | None = None, got: str = "") -> ChecksumError:
    """The error about a file that is not one of those known."""
    if found is not None:
        both = [f"sha256:{found.sha256}", f"md5:{found.md5}"]
        kinds = {sum_.partition(":")[0] for sum_ in known}
        got = " and ".join(sum_ for sum_ in both if sum_.partition(":")[0] in kinds) or both[0]
    return ChecksumError(
        name,
        expected=" or ".join(known) or "a checksum that is known",
        got=got,
        fix="The file is damaged or another version. Take it from another source; or, if you know what it is and give "
        "it in a folder of your own, accept it: --from DIR --accept-different.",
    )
