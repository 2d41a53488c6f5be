"""The entry points of this package: `load`, `fetch` and `info`."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from versionspace.data import cache as caches
from versionspace.data.catalogue import DATASETS, DIGITS, SPECS, Spec
from versionspace.data.dataset import Dataset, Subset
from versionspace.data.errors import ChecksumError
from versionspace.data.features_file import is_features_file, read_features
from versionspace.data.fetcher import Notify, ensure_cached
from versionspace.data.folder import read_folder
from versionspace.data.folder.decode import Fit
from versionspace.data.folder.scan import is_folder
from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.text import did_you_mean

PathLike = str | os.PathLike[str]
_DIGITS_SHA256 = "0b7e9c3202d7bcd255d6a19a238d3743bf5e320ba74812a6679958a017c55382"


@dataclass(frozen=True)
class DatasetInfo:
    """A description of a named dataset and its state in the cache."""

    name: str
    title: str
    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    """Height, width, channels."""
    train: int
    """Number of training images: of the cached files if the dataset is cached, else of the published ones."""
    test: int
    """Number of test images, likewise."""
    terms: str
    """The licence, or what is known about it."""
    home: str
    cached: bool
    source: str = ""
    """Where the cached files came from."""
    different: tuple[str, ...] = ()
    """Cached files that differ from the published ones."""
    folder: str = ""
    """The folder of the cached arrays."""


def load(
    name_or_path: PathLike,
    *,
    cache: PathLike | None = None,
    source: PathLike | None = None,
    accept_different: bool = False,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    fit: Fit | None = None,
    classes: Sequence[str] | None = None,
    follow_links: bool | None = None,
    lazy: bool | None = None,
    progress: bool | None = None,
) -> Dataset:
    """Load a named dataset, fetching it first if it is not cached, or read a folder of images or a features file.

    ``size``, ``channels``, ``fit``, ``classes``, ``follow_links`` and ``lazy`` apply to folders (see `read_folder`),
    ``classes`` also to features files, whose items are vectors (see `read_features`); ``source`` and
    ``accept_different`` apply to named datasets (see `fetch`). ``progress`` None draws a progress bar only on a
    terminal. Raises `InputError` for an unknown name or a missing folder, `DataError` if the data cannot be read.

    >>> digits = load("digits")
    >>> digits.train.images.shape, digits.train.images.dtype, len(digits.classes)
    ((1797, 8, 8, 1), dtype('uint8'), 10)
    """
    name = os.fspath(name_or_path)
    options = {"size": size, "channels": channels, "fit": fit, "classes": classes, "follow_links": follow_links}
    options |= {"lazy": lazy}
    if name in DATASETS:
        _reject_options(options, f"{name}, whose images are used as published", f" To read a folder, pass ./{name}.")
        if name == "digits":
            return _load_digits()
        return _load_named(SPECS[name], cache, source, accept_different, progress)
    if not is_folder(Path(name).expanduser()):
        if not is_features_file(name):
            raise _unknown_dataset(name, "a folder of images, a features file or one of ")
        _reject_options(options | {"classes": None}, "a features file, which has no pixels")
        return read_features(name, classes=classes, cache=cache).dataset()
    chosen = {option: value for option, value in options.items() if value is not None}
    return read_folder(name, cache=cache, progress=progress, **chosen)  # type: ignore[arg-type]


def fetch(
    name: str,
    *,
    source: PathLike | None = None,
    cache: PathLike | None = None,
    accept_different: bool = False,
    progress: bool | None = None,
    notify: Notify | None = None,
) -> DatasetInfo:
    """Fetch a dataset into the cache and verify its checksums; verify it again if it is already cached.

    ``source``: None tries all known sources in order; ``"web"``, ``"npm"`` or ``"apt"`` only those of one kind; any
    other value is a folder with the published files, gzipped or not. ``accept_different`` accepts files from such a
    folder although their checksums are not the published ones; the cache records that. ``notify`` is called with a
    message for each source that failed; by default, messages are logged to ``versionspace.data``.

    >>> fetch("digits").cached          # comes with scikit-learn
    True
    """
    if name != "digits":
        ensure_cached(
            _spec(name), source=source, cache=cache, accept_different=accept_different, show=progress, notify=notify
        )
    return info(name, cache=cache)


def info(name: str, *, cache: PathLike | None = None) -> DatasetInfo:
    """Return a description of a named dataset, without fetching it.

    >>> info("digits").terms
    'those of the UCI repository'
    """
    if name == "digits":
        return DatasetInfo(
            name,
            "small handwritten digits (Alpaydin and Kaynak)",
            DIGITS,
            (8, 8, 1),
            1797,
            0,
            "those of the UCI repository",
            "https://archive.ics.uci.edu/dataset/80",
            cached=True,
            source="scikit-learn",
        )
    spec = _spec(name)
    root = caches.cache_folder(cache)
    manifest = caches.read_manifest(root, name)
    published = DatasetInfo(
        spec.name, spec.title, spec.classes, spec.shape, spec.train, spec.test, spec.terms, spec.home, cached=False
    )
    if manifest is None:
        return published
    return replace(
        published,
        train=len(caches.open_array(root, manifest, "train-labels")),
        test=len(caches.open_array(root, manifest, "test-labels")),
        cached=True,
        source=manifest.source,
        different=manifest.different,
        folder=str(root / name),
    )


def _reject_options(options: Mapping[str, object], dataset: str, more: str = "") -> None:
    for option, value in options.items():
        if value is not None:
            raise InputError(
                option,
                expected=f"no value for {dataset}",
                got=repr(value),
                fix=f"This option is for image folders.{more}",
            )


def _spec(name: str) -> Spec:
    if name not in SPECS:
        raise _unknown_dataset(name, "one of ")
    return SPECS[name]


def _unknown_dataset(name: str, before: str) -> InputError:
    return InputError(
        "dataset",
        expected=before + ", ".join(DATASETS),
        got=repr(name),
        fix=did_you_mean(name, DATASETS, "Check the name, or the path of the folder.", cutoff=0.6),
    )


def _load_named(
    spec: Spec, cache: PathLike | None, source: PathLike | None, accept_different: bool, progress: bool | None
) -> Dataset:
    root = caches.cache_folder(cache)
    manifest = caches.read_manifest(root, spec.name)
    if manifest is None or source is not None:
        manifest = ensure_cached(spec, source=source, cache=cache, accept_different=accept_different, show=progress)
    subsets = []
    for name in ("train", "test"):
        labels = np.asarray(caches.open_array(root, manifest, f"{name}-labels"))
        subsets.append(Subset(caches.open_array(root, manifest, f"{name}-images"), labels, np.arange(len(labels))))
    return Dataset(
        spec.name,
        spec.classes,
        train=subsets[0],
        test=subsets[1],
        checksums=manifest.files,
        source=manifest.source,
        different=manifest.different,
    )


def _load_digits() -> Dataset:
    """Return scikit-learn's digits, their 17 grey levels scaled to 0 to 255."""
    content = require("sklearn.datasets").load_digits()
    images = np.rint(content.images * (255 / 16)).astype(np.uint8)[..., None]
    labels = content.target.astype(np.int64)
    checksum = hashlib.sha256(images.tobytes() + labels.astype("<i8").tobytes()).hexdigest()
    if checksum != _DIGITS_SHA256:
        raise ChecksumError(
            "digits",
            expected=f"pixels and labels with SHA-256 {_DIGITS_SHA256}",
            got=checksum,
            fix="This release of scikit-learn contains different digits: report it, and use an earlier release.",
        )
    train = Subset(images, labels, np.arange(len(labels)))
    return Dataset("digits", DIGITS, train=train, checksums={"digits": checksum}, source="scikit-learn")
