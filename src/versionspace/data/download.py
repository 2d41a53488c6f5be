"""One file from a public address: resumed where it broke off, and taken only with the right checksum.

pooch keeps the rule that a file appears under its name only after its checksum was right; the transfer itself is ours,
because pooch's own starts again from nothing.
"""

import logging
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from versionspace.data import progress
from versionspace.data.checksums import differs
from versionspace.data.errors import SourceError, needed

CONNECT_SECONDS = 5.0
READ_SECONDS = 20.0
ATTEMPTS = 5
_CHUNK = 1 << 14
"""Bytes: of a transfer that breaks, up to so many are lost."""


def download(url: str, target: Path, known: Sequence[str], *, show: bool | None = None) -> Path:
    """Brings the file at an address to ``target``. What has arrived of a broken transfer waits in ``target.part``.

    A transfer that breaks after bytes arrived is taken up again, a few times; one that never began is given up at once.
    """
    pooch = needed("pooch")
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
                downloader=lambda address, file, _: _arrive(address, part, Path(file), show),
            )
            return target
        except ValueError as error:  # pooch's word for a wrong checksum
            if last:
                found = re.search(r"but got (\w+)", str(error))
                raise differs(target.name, known[:1], got=found[1] if found else str(error)) from error
            # What an earlier run left may belong to a file that has since changed: once more, from nothing.
        except (needed("requests").exceptions.RequestException, OSError) as error:
            raise SourceError(
                url,
                expected="the file",
                got=_in_words(error),
                fix="Check the connection and try again: what has arrived is kept, and only the rest is asked for.",
            ) from error
    raise AssertionError("unreachable")


def _arrive(url: str, part: Path, output: Path, show: bool | None) -> None:
    requests = needed("requests")
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
    headers = {"Accept-Encoding": "identity"}  # a .gz must arrive as it is
    if offset:
        headers["Range"] = f"bytes={offset}-"
    with requests.get(url, headers=headers, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)) as response:
        if offset and response.status_code == 416:
            if response.headers.get("Content-Range") == f"bytes */{offset}":
                return  # all of it was here already
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
            progress.bar(part.name.removesuffix(".part"), length, show, data=True) as advance,
        ):
            advance(offset)
            for chunk in response.iter_content(_CHUNK):
                file.write(chunk)
                advance(len(chunk))
    # urllib3 before 2.0 takes a hang-up for the end of the file.
    if length is not None and part.stat().st_size < length:
        raise requests.exceptions.ConnectionError(f"the connection ended after {part.stat().st_size} of {length} bytes")


def _in_words(error: BaseException) -> str:
    """The innermost cause: what requests wraps around it helps nobody."""
    text = str(error)
    for pattern, words in (
        (r"NameResolutionError|Name or service not known|getaddrinfo", "a host name that cannot be resolved"),
        (r"ConnectTimeout|connect timeout", f"no answer within {CONNECT_SECONDS:g} s"),
        (r"Read timed out", f"silence for {READ_SECONDS:g} s"),
        (r"Connection refused", "a connection that was refused"),
    ):
        if re.search(pattern, text):
            return words
    return text or type(error).__name__
