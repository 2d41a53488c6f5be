"""Download of a single file: resumed after a broken transfer, accepted only if its checksum is known.

pooch ensures that a file gets its final name only after its checksum matched. The transfer is implemented here because
pooch's own restarts from the beginning.
"""

import hashlib
import logging
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from versionspace.data.errors import ChecksumError, SourceError
from versionspace.data.progress import progress_bar
from versionspace.extras import require

CONNECT_SECONDS = 5.0
READ_SECONDS = 20.0
ATTEMPTS = 5
_CHUNK_BYTES = 1 << 14
"""A broken transfer loses at most this many bytes."""
_HASH_BYTES = 1 << 20


@dataclass(frozen=True)
class Digests:
    """The SHA-256 and MD5 of a file; publishers of these datasets give one or the other."""

    sha256: str
    md5: str

    def match(self, known: Sequence[str]) -> bool:
        """Return whether one of the known checksums, ``sha256:…`` or ``md5:…``, is this file's."""
        return f"sha256:{self.sha256}" in known or f"md5:{self.md5}" in known


def digests(path: Path) -> Digests:
    """Return the SHA-256 and MD5 of a file, computed in one pass."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_HASH_BYTES):
            sha256.update(chunk)
            md5.update(chunk)
    return Digests(sha256.hexdigest(), md5.hexdigest())


def checksum_error(name: str, known: Sequence[str], actual: Digests | None = None, got: str = "") -> ChecksumError:
    """Return the error about a file whose checksum, given as ``actual`` or ``got``, is not a known one."""
    if actual is not None:
        both = [f"sha256:{actual.sha256}", f"md5:{actual.md5}"]
        kinds = {checksum.partition(":")[0] for checksum in known}
        got = " and ".join(checksum for checksum in both if checksum.partition(":")[0] in kinds) or both[0]
    return ChecksumError(
        name,
        expected=" or ".join(known) or "a known checksum",
        got=got,
        fix="The file is damaged or a different version. Use another source; or, if you trust your own copy, accept "
        "it: --from DIR --accept-different.",
    )


def download(url: str, target: Path, known: Sequence[str], *, show: bool | None = None) -> Path:
    """Download a file to ``target`` and return that path. An incomplete transfer is kept in ``target.part``.

    A transfer that breaks after receiving data is resumed, up to `ATTEMPTS` times in all; one that fails before
    receiving any is not retried. ``known``: the checksum to expect, first in the sequence. Raises `ChecksumError` or
    `SourceError`.
    """
    pooch = require("pooch")
    pooch.get_logger().setLevel(logging.WARNING)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    resumed = part.exists()
    for last in (not resumed, True):
        try:
            pooch.retrieve(
                url,
                known_hash=known[0],
                fname=target.name,
                path=target.parent,
                downloader=lambda address, file, _: _receive(address, part, Path(file), show),
            )
            return target
        except ValueError as error:  # pooch raises this for a wrong checksum
            if last:
                match = re.search(r"but got (\w+)", str(error))
                raise checksum_error(target.name, known[:1], got=match[1] if match else str(error)) from error
            # The remote file may have changed since an earlier run: retry from the beginning.
        except (require("requests").exceptions.RequestException, OSError) as error:
            raise SourceError(
                url,
                expected="the file",
                got=_cause(error),
                fix="Check the connection and try again: the download resumes where it stopped.",
            ) from error
    raise AssertionError("unreachable")


def _receive(url: str, part: Path, output: Path, show: bool | None) -> None:
    """Transfer a file to ``part``, resuming after each break, and rename it to ``output``."""
    requests = require("requests")
    for attempt in range(ATTEMPTS):
        before = part.stat().st_size if part.exists() else 0
        try:
            _transfer(requests, url, part, before, show)
            break
        except requests.exceptions.RequestException:
            after = part.stat().st_size if part.exists() else 0
            if after <= before or attempt == ATTEMPTS - 1:
                raise
            time.sleep(0.2 * 2**attempt)
    os.replace(part, output)  # noqa: PTH105


def _transfer(requests: Any, url: str, part: Path, offset: int, show: bool | None) -> None:
    """Append the bytes from ``offset`` on to ``part``, or rewrite it if the server cannot resume."""
    headers = {"Accept-Encoding": "identity"}  # a .gz file must arrive unmodified
    if offset:
        headers["Range"] = f"bytes={offset}-"
    with requests.get(url, headers=headers, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)) as response:
        if offset and response.status_code == 416:
            if response.headers.get("Content-Range") == f"bytes */{offset}":
                return  # the file was already complete
            part.unlink()
            _transfer(requests, url, part, 0, show)
            return
        response.raise_for_status()
        resumes = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(
            f"bytes {offset}-"
        )
        if not resumes:
            offset = 0
        length = None
        with suppress(KeyError, ValueError):
            length = offset + int(response.headers["Content-Length"])
        with (
            part.open("ab" if resumes else "wb") as file,
            progress_bar(part.name.removesuffix(".part"), length, show, data=True) as advance,
        ):
            advance(offset)
            for chunk in response.iter_content(_CHUNK_BYTES):
                file.write(chunk)
                advance(len(chunk))
    # urllib3 before 2.0 mistakes a closed connection for the end of the file.
    if length is not None and part.stat().st_size < length:
        raise requests.exceptions.ConnectionError(f"connection closed after {part.stat().st_size} of {length} bytes")


def _cause(error: BaseException) -> str:
    """Return the innermost cause of a network error in plain words, without the layers of requests and urllib3."""
    text = str(error)
    for pattern, words in (
        (r"NameResolutionError|Name or service not known|getaddrinfo", "a host name that cannot be resolved"),
        (r"ConnectTimeout|connect timeout", f"no answer within {CONNECT_SECONDS:g} s"),
        (r"Read timed out", f"no data for {READ_SECONDS:g} s"),
        (r"Connection refused", "connection refused"),
    ):
        if re.search(pattern, text):
            return words
    return text or type(error).__name__
