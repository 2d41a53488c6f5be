"""The ways in: load, fetch and info."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from versionspace.data import cache as caches
from versionspace.data.catalogue import DATASETS, DIGITS, SPECS, Spec
from versionspace.data.dataset import Dataset, Subset
from versionspace.data.errors import ChecksumError
from versionspace.data.fetcher import Say, prepare
from versionspace.data.folder import read_folder
from versionspace.data.folder.decode import Fit
from versionspace.data.folder.scan import is_folder
from versionspace.errors import InputError
from versionspace.extras import require

PathLike = str | os.PathLike[str]
_DIGITS_SHA256 = "0b7e9c3202d7bcd255d6a19a238d3743bf5e320ba74812a6679958a017c55382"


@dataclass(frozen=True)
class Info:
    """What is known about a dataset, and whether it is in the cache."""

    name: str
    title: str
    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    train: int
    """Images; of the cached files where they are cached, else of the published ones."""
    test: int
    terms: str
    home: str
    cached: bool
    source: str = ""
    """Where the cached files came from."""
    different: tuple[str, ...] = ()
    """Cached from files that differ from the published ones."""
    folder: str = ""
    """Where the cached arrays lie."""


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
    progress: bool | None = None,
) -> Dataset:
    """A dataset by its name, fetched first where it is not in the cache; or a folder of images.

    size, channels, fit and classes are for folders (see ``read_folder``); source and accept_different are for names
    (see ``fetch``). ``progress`` None draws a bar only on a terminal.

    >>> digits = load("digits")
    >>> digits.train.images.shape, digits.train.images.dtype, len(digits.classes)
    ((1797, 8, 8, 1), dtype('uint8'), 10)
    """
    name = os.fspath(name_or_path)
    options = {"size": size, "channels": channels, "fit": fit, "classes": classes}
    if name in DATASETS:
        for option, value in options.items():
            if value is not None:
                raise InputError(
                    option,
                    expected=f"nothing for {name}, which keeps its published form",
                    got=repr(value),
                    fix=f"It is for folders of images; a folder called {name} is ./{name}.",
                )
        if name == "digits":
            return _digits()
        return _named(SPECS[name], cache, source, accept_different, progress)
    if not is_folder(Path(name).expanduser()):
        raise _unknown(name, "a folder of images or one of ")
    chosen = {option: value for option, value in options.items() if value is not None}
    return read_folder(name, cache=cache, progress=progress, **chosen)  # type: ignore[arg-type]


def fetch(
    name: str,
    *,
    source: PathLike | None = None,
    cache: PathLike | None = None,
    accept_different: bool = False,
    progress: bool | None = None,
    say: Say | None = None,
) -> Info:
    """Brings a dataset into the cache, verified; one that is there is verified again.

    source: None tries all known ones in order; ``"web"``, ``"npm"`` or ``"apt"`` one kind; anything else is a folder
    with the files as their authors publish them, zipped or not. accept_different takes files from such a folder though
    their checksums are not the published ones, and the cache remembers that. ``say`` hears which source failed and why;
    without it, the logger ``versionspace.data`` does.

    >>> fetch("digits").cached          # comes with scikit-learn
    True
    """
    if name != "digits":
        prepare(_spec(name), source=source, cache=cache, accept_different=accept_different, show=progress, say=say)
    return info(name, cache=cache)


def info(name: str, *, cache: PathLike | None = None) -> Info:
    """What is known about a dataset; nothing is fetched.

    >>> info("digits").terms
    'those of the UCI repository'
    """
    if name == "digits":
        return Info(
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
    root = caches.location(cache)
    page = caches.find(root, name)
    known = Info(
        spec.name, spec.title, spec.classes, spec.shape, spec.train, spec.test, spec.terms, spec.home, cached=False
    )
    if page is None:
        return known
    return replace(
        known,
        train=len(caches.array(root, page, "train-labels")),
        test=len(caches.array(root, page, "test-labels")),
        cached=True,
        source=page.source,
        different=page.different,
        folder=str(root / name),
    )


def _spec(name: str) -> Spec:
    if name not in SPECS:
        raise _unknown(name, "one of ")
    return SPECS[name]


def _unknown(name: str, before: str) -> InputError:
    near = get_close_matches(name, DATASETS, n=1)
    return InputError(
        "dataset",
        expected=before + ", ".join(DATASETS),
        got=repr(name),
        fix=f"Did you mean {near[0]!r}?" if near else "Check the name, or the path of the folder.",
    )


def _named(
    spec: Spec, cache: PathLike | None, source: PathLike | None, accept_different: bool, progress: bool | None
) -> Dataset:
    root = caches.location(cache)
    page = caches.find(root, spec.name)
    if page is None or source is not None:
        page = prepare(spec, source=source, cache=cache, accept_different=accept_different, show=progress)
    parts = []
    for half in ("train", "test"):
        labels = np.asarray(caches.array(root, page, f"{half}-labels"))
        parts.append(Subset(caches.array(root, page, f"{half}-images"), labels, np.arange(len(labels))))
    return Dataset(
        spec.name,
        spec.classes,
        train=parts[0],
        test=parts[1],
        checksums=page.files,
        source=page.source,
        different=page.different,
    )


def _digits() -> Dataset:
    """scikit-learn's digits, whose 17 grey levels are spread over a byte."""
    content = require("sklearn.datasets").load_digits()
    images = np.rint(content.images * (255 / 16)).astype(np.uint8)[..., None]
    labels = content.target.astype(np.int64)
    found = hashlib.sha256(images.tobytes() + labels.astype("<i8").tobytes()).hexdigest()
    if found != _DIGITS_SHA256:
        raise ChecksumError(
            "digits",
            expected=f"pixels and labels with SHA-256 {_DIGITS_SHA256}",
            got=found,
            fix="This release of scikit-learn carries other digits: report it, and use an earlier one.",
        )
    part = Subset(images, labels, np.arange(len(labels)))
    return Dataset("digits", DIGITS, train=part, checksums={"digits": found}, source="scikit-learn")
