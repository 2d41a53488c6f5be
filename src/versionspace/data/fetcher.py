"""Bring a named dataset into the cache: try its sources in order, verify the files, convert them to arrays."""

import logging
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeAlias

from versionspace.data import cache as caches
from versionspace.data.cache import Manifest
from versionspace.data.catalogue import Source, Spec
from versionspace.data.errors import DataError, SourceError
from versionspace.data.sources import KINDS, Delivery, deliver, describe
from versionspace.errors import InputError
from versionspace.locks import exclusive

Notify: TypeAlias = Callable[[str], None]
"""Called with messages for the user, such as a source that failed and why."""

_log = logging.getLogger("versionspace.data")


def ensure_cached(
    spec: Spec,
    *,
    source: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    accept_different: bool = False,
    show: bool | None = None,
    notify: Notify | None = None,
) -> Manifest:
    """Fetch a dataset into the cache and return its manifest.

    A cached dataset is verified, and fetched again only if it is damaged or ``source`` is given. While another process
    fetches the same dataset, this one waits. The arguments are those of `versionspace.data.fetch`.
    """
    root = caches.cache_folder(cache)
    notify = notify or _log.warning
    if accept_different and (source is None or str(source) in KINDS):
        raise InputError(
            "accept_different",
            expected="a local folder as the source",
            got=f"source {source}",
            fix="Files from the network must have the published checksums. Name your folder: --from DIR.",
        )
    manifest = caches.read_manifest(root, spec.name)
    if manifest is not None and source is None and caches.is_intact(root, manifest):
        return manifest
    sources = _select_sources(spec, source)

    def waiting() -> None:
        notify(f"{spec.name}: waiting for another process that is fetching it.")

    with ExitStack() as held:
        with caches.explaining_write_errors(root):
            held.enter_context(exclusive(root / f".{spec.name}.lock", waiting))
        manifest = caches.read_manifest(root, spec.name)  # another process may have fetched it meanwhile
        if manifest is not None and source is None:
            if caches.is_intact(root, manifest):
                return manifest
            notify(f"{spec.name}: the cached arrays are damaged; fetching the dataset again.")
        return _fetch_from_first(spec, sources, root, accept_different, show, notify)


def _fetch_from_first(
    spec: Spec, sources: list[Source | Path], root: Path, accept_different: bool, show: bool | None, notify: Notify
) -> Manifest:
    """Fetch a dataset from the first source that delivers it; raise `SourceError` if none does."""
    downloads = root / "downloads" / spec.name
    failures: list[str] = []
    for source in sources:
        with caches.explaining_write_errors(root), caches.staging(root) as workspace:
            try:
                delivery = deliver(
                    spec,
                    source,
                    downloads=downloads,
                    workspace=workspace,
                    accept_different=accept_different,
                    show=show,
                )
                manifest = _convert(spec, delivery, root)
            except DataError as error:
                if isinstance(source, Path):
                    raise
                why = error.got if isinstance(error, SourceError) else str(error)
                failures.append(f"{describe(source)}: {why}")
                notify(f"{spec.name}: {describe(source)} failed: {why}")
                continue
        if delivery.different:
            notify(
                f"{spec.name}: {', '.join(delivery.different)} differ from the published files and were accepted as "
                "requested; results on them are not results on the published dataset."
            )
        shutil.rmtree(downloads, ignore_errors=True)
        with suppress(OSError):  # not empty: downloads of other datasets are still incomplete
            downloads.parent.rmdir()
        return manifest
    raise SourceError(
        spec.name,
        expected="a working source",
        got="only failures: " + "; ".join(failures),
        fix=f"Download the published files ({spec.home}) and pass their folder: "
        f"versionspace data fetch {spec.name} --from DIR",
    )


def _select_sources(spec: Spec, source: str | os.PathLike[str] | None) -> list[Source | Path]:
    """Return the sources to try: all of them, those of one kind, or a local folder."""
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
            fix=f"{spec.name} is not available there.",
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


def _convert(spec: Spec, delivery: Delivery, root: Path) -> Manifest:
    """Read the delivered files and write them to the cache as arrays."""
    published = delivery.edition.read(delivery.paths, len(spec.classes))
    arrays = {
        "train-images": published.train.images,
        "train-labels": published.train.labels,
        "test-images": published.test.images,
        "test-labels": published.test.labels,
    }
    return caches.write_dataset(
        root, spec.name, arrays, source=delivery.source, files=delivery.checksums, different=delivery.different
    )
