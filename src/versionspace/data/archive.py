"""Unpacking of archives from the network: nothing is written outside the folder, and no links are made."""

import gzip
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from versionspace.data.errors import FormatError

_CHUNK = 1 << 20


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
                    while chunk := source.read(_CHUNK):
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
