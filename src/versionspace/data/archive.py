"""Safe extraction of tar archives: nothing is written outside the target folder and no links are created."""

import gzip
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from versionspace.data.errors import FormatError

_CHUNK_BYTES = 1 << 20


def unpack(archive: Path, into: Path, *, wanted: Collection[str]) -> dict[str, Path]:
    """Extract the members with these base names into a folder and return their paths by name.

    Every member up to the last wanted one is checked, wanted or not: an archive with an absolute name, a ``..`` or a
    link is rejected. Files extracted before that stay in the folder. Raises `FormatError` if the archive is unsafe,
    damaged or incomplete.
    """
    extracted: dict[str, Path] = {}
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                name = _safe_base_name(member, archive)
                if name not in wanted or not member.isfile():
                    continue
                if name in extracted:
                    raise _unsafe(archive, f"two members called {name}")
                source = tar.extractfile(member)
                assert source is not None  # it is a regular file
                with (into / name).open("xb") as target:
                    while chunk := source.read(_CHUNK_BYTES):
                        target.write(chunk)
                if (into / name).stat().st_size != member.size:
                    raise tarfile.ReadError(f"{name} is truncated")
                extracted[name] = into / name
                if len(extracted) == len(wanted):
                    break  # the rest of STL-10's archive is gigabytes of unlabelled images
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(
            archive.name,
            expected="a complete tar archive",
            got=f"{type(error).__name__}: {error}",
            fix="The file is damaged or truncated: fetch it again.",
        ) from error
    missing = sorted(set(wanted) - set(extracted))
    if missing:
        raise FormatError(
            archive.name,
            expected=f"the members {', '.join(sorted(wanted))}",
            got=f"no member called {', '.join(missing)}",
            fix="This is not the published archive: check where it came from.",
        )
    return extracted


def _safe_base_name(member: tarfile.TarInfo, archive: Path) -> str:
    """Return the base name of a member; raise `FormatError` if the member is unsafe to extract."""
    path = PurePosixPath(member.name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in member.name:
        raise _unsafe(archive, f"a member called {member.name!r}")
    if not (member.isfile() or member.isdir()):
        raise _unsafe(archive, f"{member.name!r}, which is a link or a device")
    return path.name


def _unsafe(archive: Path, got: str) -> FormatError:
    return FormatError(
        archive.name,
        expected="only regular files and folders in the archive",
        got=got,
        fix="Do not unpack this archive: fetch it from its publisher.",
    )
