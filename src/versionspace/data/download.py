"""One file from a public address: resumed where it broke off, and taken only with the right checksum.

pooch keeps the rule that a file appears under its name only after its checksum was right; the transfer itself is ours,
because pooch's own starts again from nothing.

Checksums of files, and the comparison with those that are known.

Unpacking of archives from the network: nothing is written outside the folder, and no links are made.
"""

import gzip
import hashlib
import logging
import os
import re
import tarfile
import time
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from versionspace.data import progress
from versionspace.data.errors import ChecksumError, FormatError, SourceError
from versionspace.extras import require

_READ_AT_ONCE = 1 << 20


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
        while chunk := file.read(_READ_AT_ONCE):
            sha256.update(chunk)
            md5.update(chunk)
    return Digests(sha256.hexdigest(), md5.hexdigest())


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


_COPIED_AT_ONCE = 1 << 20


def unpack(archive: Path, into: Path, *, wanted: Collection[str]) -> dict[str, Path]:
    """Writes the wanted members of a tar file, found by their last name, into a folder; returns their paths.

    Every member that is passed on the way is checked, wanted or not: an archive with an absolute name, a ``..`` or a
    link was not made in good faith, and is refused whole. What was written before stays inside the folder.
    """
    found: dict[str, Path] = {}
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                name = _checked(member, archive)
                if name not in wanted or not member.isfile():
                    continue
                if name in found:
                    raise _refused(archive, f"two members called {name}")
                source = tar.extractfile(member)
                assert source is not None  # it is a regular file
                with (into / name).open("xb") as target:
                    while chunk := source.read(_COPIED_AT_ONCE):
                        target.write(chunk)
                if (into / name).stat().st_size != member.size:
                    raise tarfile.ReadError(f"{name} is cut short")
                found[name] = into / name
                if len(found) == len(wanted):
                    break  # STL-10's unlabelled images, gigabytes of them, may come after
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(
            archive.name,
            expected="a whole tar archive",
            got=f"{type(error).__name__}: {error}",
            fix="The file is damaged or cut short: fetch it again.",
        ) from error
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise FormatError(
            archive.name,
            expected=f"members {', '.join(sorted(wanted))}",
            got=f"none called {', '.join(missing)}",
            fix="This is another archive than the one published: check where it came from.",
        )
    return found


def _checked(member: tarfile.TarInfo, archive: Path) -> str:
    """The member's last name, if the member is harmless."""
    path = PurePosixPath(member.name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in member.name:
        raise _refused(archive, f"a member called {member.name!r}")
    if not (member.isfile() or member.isdir()):
        raise _refused(archive, f"{member.name!r}, which is a link or a device")
    return path.name


def _refused(archive: Path, got: str) -> FormatError:
    return FormatError(
        archive.name,
        expected="plain files and folders inside the archive",
        got=got,
        fix="Do not unpack this archive: fetch it from its publisher.",
    )


CONNECT_SECONDS = 5.0
READ_SECONDS = 20.0
ATTEMPTS = 5
_CHUNK = 1 << 14
"""Bytes: of a transfer that breaks, up to so many are lost."""


def download(url: str, target: Path, known: Sequence[str], *, show: bool | None = None) -> Path:
    """Brings the file at an address to ``target``. What has arrived of a broken transfer waits in ``target.part``.

    A transfer that breaks after bytes arrived is taken up again, a few times; one that never began is given up at once.
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
                downloader=lambda address, file, _: _arrive(address, part, Path(file), show),
            )
            return target
        except ValueError as error:  # pooch's word for a wrong checksum
            if last:
                found = re.search(r"but got (\w+)", str(error))
                raise differs(target.name, known[:1], got=found[1] if found else str(error)) from error
            # What an earlier run left may belong to a file that has since changed: once more, from nothing.
        except (require("requests").exceptions.RequestException, OSError) as error:
            raise SourceError(
                url,
                expected="the file",
                got=_in_words(error),
                fix="Check the connection and try again: what has arrived is kept, and only the rest is asked for.",
            ) from error
    raise AssertionError("unreachable")


def _arrive(url: str, part: Path, output: Path, show: bool | None) -> None:
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
