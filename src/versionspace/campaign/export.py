"""What a campaign leaves: its labels as a table, as lines of JSON or as folders of images; its classifier as files."""

import itertools
import json
import shutil
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from versionspace.campaign.images import listed, named_now, opened, shape_of
from versionspace.data import DATASETS, Dataset, LabelRow, format_label_table
from versionspace.errors import InputError, VersionspaceError
from versionspace.extras import require
from versionspace.store.errors import explained
from versionspace.store.layout import write, write_folder
from versionspace.store.record import Record, Round, as_ids
from versionspace.store.state import Label
from versionspace.text import printable
from versionspace.types import Array, ImageId

LABELS = ("csv", "jsonl", "imagefolder")


@dataclass(frozen=True)
class Labelled:
    """One image and the last word on it."""

    id: ImageId
    name: str | None
    """The class; None: skipped."""
    label: Label
    purpose: str
    file: str
    """For a folder of images: its path there."""
    missing: bool = False
    """The file is gone, or not what was labelled: then ``file`` is where it lay."""


def labels_of(record: Record) -> list[Labelled]:
    """Every image that was answered, in the order of asking; its file need not be there."""
    stored, dataset = _stored(record), _folder(record)
    files = stored if dataset is None else named_now(dataset, stored)
    there = set() if dataset is None else set(as_ids(dataset.train.ids))
    state, on_disk = record.state, on_folder(record)
    answered = {i for i, label in state.labels.items() if label.shown.get("reason") != "undone"}
    asked = [(i, ask.purpose) for ask in state.asks for i in ask.ids if state.places[i][0] is ask and i in answered]
    return [
        Labelled(i, state.labels[i].name, state.labels[i], purpose, files.get(i, ""), on_disk and i not in there)
        for i, purpose in asked
    ]


def note(found: Sequence[Labelled]) -> str:
    """What to know of these labels: which of their images are missing. Empty where none is."""
    gone = {one.id: one.file for one in found if one.missing}
    if not gone:
        return ""
    are, have = ("is", "has") if len(gone) == 1 else ("are", "have")
    return (
        f"{len(gone)} of {len(found)} labelled images {are} gone from the folder, or {have} changed since: "
        f"{listed(gone, gone)}. Tables mark such labels as missing; a folder of images is without them."
    )


def export_labels(record: Record, form: str, to: Path, found: Sequence[Labelled] | None = None) -> Path:
    """Writes labels: a file for csv and jsonl, a folder of class folders for imagefolder.

    A table holds every label and says whose image is missing; a folder is without those. ``found``: what `labels_of`
    gave, where that is known already.
    """
    found = labels_of(record) if found is None else found
    match form:
        case "csv":
            write(to, _table(found).encode())
        case "jsonl":
            write(to, "".join(line + "\n" for line in _lines(found)).encode())
        case "imagefolder":
            _refuse_full(to)
            write_folder(to, lambda folder: _image_folder(record, found, folder))
        case _:
            raise InputError(
                "labels", expected=f"one of {', '.join(LABELS)}", got=repr(form), fix="csv is the simplest."
            )
    return to


def kept_last(record: Record) -> Round:
    """The newest round whose members were kept. Weights of a round that is not committed yet do not count."""
    found = [one for one in record.measured() if record.folder.weights(one.number).is_dir()]
    if not found:
        raise InputError(
            str(record.folder.path), expected="weights of a round", got="none",
            fix='The campaign has trained nothing yet, or was run with keep = "none".',
        )  # fmt: skip
    return found[-1]


def note_of_model(record: Record) -> str:
    """Whose members `export_model` takes, where they are not those of the last round; empty where they are."""
    kept, last = kept_last(record), record.measured()[-1]
    if kept.number == last.number:
        return ""
    return f"of round {kept.number}, {kept.labels} labels; the members of round {last.number} were not kept"


def on_folder(record: Record) -> bool:
    """Whether its images are files of the user's, and no published dataset."""
    return record.config.data.name not in DATASETS


def _stored(record: Record) -> dict[ImageId, str]:
    """Labels are in the ledger: a folder that is damaged elsewhere does not keep them."""
    try:
        return record.files()
    except VersionspaceError:
        return {}


def _folder(record: Record) -> Dataset | None:
    """A campaign's folder of images, where it has one that can be read."""
    try:
        return opened(record.config) if on_folder(record) else None
    except VersionspaceError:
        return None


def _table(found: Sequence[Labelled]) -> str:
    return format_label_table(
        LabelRow(
            file=one.file, label=one.name, id=str(one.id), missing=one.missing, purpose=one.purpose,
            round=one.label.round, rank=one.label.rank, who=one.label.who,
        )
        for one in found
    )  # fmt: skip


def _lines(found: Sequence[Labelled]) -> Iterator[str]:
    for one in found:
        line = {
            "id": one.id, "file": printable(one.file) or None, "class": one.name, "purpose": one.purpose,
            "round": one.label.round, "rank": one.label.rank, "who": one.label.who, **one.label.shown,
            **({"missing": True} if one.missing else {}),
        }  # fmt: skip
        yield json.dumps(line, ensure_ascii=False)


def _image_folder(record: Record, found: Sequence[Labelled], to: Path) -> None:
    """Class folders: copies of the person's own files; pixels of a dataset as PNG.

    Copies, not links: whoever edits a linked file in the export would change the original with it.
    """
    to.mkdir(parents=True)
    dataset = opened(record.config)
    root = Path(record.config.data.name).expanduser()
    folders = _Distinct()
    classes = {name: to / folders.name(folder_name(name, record.classes)) for name in record.classes}
    files: dict[str, _Distinct] = defaultdict(_Distinct)
    for one in found:
        if one.name is None or one.missing:
            continue
        folder = classes[one.name]
        folder.mkdir(exist_ok=True)
        if one.file:
            _copy(root / one.file, folder / files[one.name].name(one.file.replace("/", "__")))
        else:
            _png(dataset.train.take([one.id]).images[0], folder / f"{one.id}.png")


class _Distinct:
    """Names of one folder: one that is taken gets a number. Disks that ignore case, or how an é is spelt, count too."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, wanted: str) -> str:
        """The name itself, or the first of name-2, name-3, … that is free."""
        path = PurePosixPath(wanted)
        more = (f"{path.stem}-{number}{path.suffix}" for number in itertools.count(2))
        for name in itertools.chain([wanted], more):
            plain = unicodedata.normalize("NFC", name).casefold()
            if plain not in self._taken:
                self._taken.add(plain)
                return name
        raise AssertionError("unreachable")


def folder_name(name: str, classes: tuple[str, ...]) -> str:
    """A class's name as a folder's: whatever a path could misread becomes an underscore, with the number to tell apart.

    >>> folder_name("cat", ("cat",)), folder_name("../x", ("cat", "../x"))
    ('cat', '1-.._x')
    """
    plain = "".join("_" if c in '/\\:*?"<>|\0' or ord(c) < 32 else c for c in name)
    return plain if plain == name and name not in (".", "..") else f"{classes.index(name)}-{plain}"


def _copy(source: Path, to: Path) -> None:
    """What the file holds, also where it is a link; never into a file that is there."""
    with source.open("rb") as original, to.open("xb") as copy:
        shutil.copyfileobj(original, copy)


def _png(pixels: Array, to: Path) -> None:
    image = require("PIL.Image")
    image.fromarray(np.squeeze(pixels, axis=2) if pixels.shape[2] == 1 else pixels).save(to)


def _refuse_full(to: Path) -> None:
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(
            str(to), expected="a folder that does not exist yet, or an empty one", got="one with something in it",
            fix="An export never writes over anything: choose another name.",
        )  # fmt: skip


MODELS = ("safetensors", "onnx")


def export_model(record: Record, form: str, to: Path, member: int | None = None) -> float | None:
    """Writes the newest members, or one of them: a folder that `Ensemble.load` reads, or an ONNX file.

    Gives, for ONNX, the largest difference from torch. The names of the classes go with it.
    """
    from versionspace.campaign.learner import loaded

    newest = kept_last(record)
    learner = loaded(record.config, record.folder.weights(newest.number), device="cpu")
    names = tuple(record.classes)
    if form == "onnx":
        if to.is_dir():
            raise InputError(str(to), expected="a file", got="a folder", fix="For example --out model.onnx.")
        with explained(to.parent):
            return learner.to_onnx(to, names, member)
    if form != "safetensors":
        raise InputError("model", expected=f"one of {', '.join(MODELS)}", got=repr(form), fix="safetensors reads back.")
    _refuse_full(to)
    kept = learner if member is None else learner.only(member)
    shape = shape_of(record.config)

    def fill(folder: Path) -> None:
        kept.save(folder)
        about = {
            "classes": names, "dataset": record.config.data.name, "method": record.method, "seed": record.seed,
            "round": newest.number, "labels": newest.labels,
            "images": {"shape": shape, "fit": record.config.data.fit or "crop"},
        }  # fmt: skip
        (folder / "model.json").write_text(json.dumps(about, indent=2, ensure_ascii=False), encoding="utf-8")

    write_folder(to, fill)
    return None
