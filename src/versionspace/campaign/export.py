"""Export a campaign: its labels as CSV, JSON lines or class folders of images, and its ensemble as a model."""

import itertools
import json
import shutil
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from versionspace.campaign.datasets import open_pictures
from versionspace.campaign.images import current_files, name_images
from versionspace.campaign.saved_model import SavedModel, final_model_note, newest_saved_model
from versionspace.data import DATASETS, Dataset, LabelRow, format_label_table, is_features_file
from versionspace.errors import InputError, VersionspaceError
from versionspace.extras import require
from versionspace.store import UNDONE, Label, Record, as_ids, as_store_errors, write_file, write_folder
from versionspace.text import printable
from versionspace.types import Array, ImageId

LABEL_FORMATS = ("csv", "jsonl", "imagefolder")
MODEL_FORMATS = ("safetensors", "onnx")


@dataclass(frozen=True)
class ExportedLabel:
    """One image and the current answer for it."""

    id: ImageId
    name: str | None
    """The class; None if the image was skipped."""
    label: Label
    purpose: str
    file: str
    """Path within the folder of images; empty for a published dataset."""
    missing: bool = False
    """Whether the file is missing or has changed since it was labelled; then ``file`` is where it was."""


def exported_labels(record: Record) -> list[ExportedLabel]:
    """Return the answers of a campaign in the order of asking, including images whose files are missing."""
    stored, dataset = _stored_names(record), _image_folder(record)
    files = stored if dataset is None else current_files(dataset, stored)
    there = set() if dataset is None else set(as_ids(dataset.train.ids))
    state, on_disk = record.state, on_image_folder(record)
    answered = {i for i, label in state.labels.items() if label.reason != UNDONE}
    asked = [(i, ask.purpose) for ask in state.asks for i in ask.ids if state.places[i][0] is ask and i in answered]
    return [
        ExportedLabel(i, state.labels[i].name, state.labels[i], purpose, files.get(i, ""), on_disk and i not in there)
        for i, purpose in asked
    ]


def missing_images_note(found: Sequence[ExportedLabel]) -> str:
    """Return a sentence that names the labelled images that are missing; empty if none is."""
    missing = {one.id: one.file for one in found if one.missing}
    if not missing:
        return ""
    are, have = ("is", "has") if len(missing) == 1 else ("are", "have")
    return (
        f"{len(missing)} of {len(found)} labelled images {are} missing from the folder, or {have} changed since: "
        f"{name_images(missing, missing)}. Tables mark these labels as missing; class folders leave them out."
    )


def export_labels(record: Record, format_: str, to: Path, found: Sequence[ExportedLabel] | None = None) -> Path:
    """Write labels to a file (csv, jsonl) or to class folders of images (imagefolder), and return its path.

    Tables contain every label and mark missing images; class folders leave those out. ``found``: the result of
    `exported_labels`, if it is known already. Raises InputError for an unknown format or a folder that is not empty.
    """
    found = exported_labels(record) if found is None else found
    match format_:
        case "csv":
            write_file(to, _table(found).encode())
        case "jsonl":
            write_file(to, "".join(line + "\n" for line in _lines(found)).encode())
        case "imagefolder":
            _require_images(record)
            _require_empty(to)
            write_folder(to, lambda folder: _write_class_folders(record, found, folder))
        case _:
            raise InputError(
                "labels", expected=f"one of {', '.join(LABEL_FORMATS)}", got=repr(format_), fix="csv is the simplest."
            )
    return to


def model_note(record: Record) -> str:
    """Return what a person should know about the model that `export_model` exports; empty if nothing."""
    saved, last = _saved_model(record), record.measured_rounds()[-1]
    if record.state.final is not None and saved.labels == record.state.final.labels:
        return final_model_note(record.state)
    if saved.round == last.number:
        return ""
    return (
        f"the model is from round {saved.round} ({saved.labels} labels): the members of round {last.number} were not "
        "saved"
    )


def _saved_model(record: Record) -> SavedModel:
    saved = newest_saved_model(record.folder, record.state)
    if saved is None:
        raise InputError(
            str(record.folder.path), expected="weights of a round", got="none",
            fix='Train a round first, and save weights: with keep = "none" no weights are saved.',
        )  # fmt: skip
    return saved


def on_image_folder(record: Record) -> bool:
    """Return whether the images are files of the user rather than a published dataset or features alone."""
    return record.config.data.name not in DATASETS and not is_features_file(record.config.data.name)


def _stored_names(record: Record) -> dict[ImageId, str]:
    """Return the stored names of files; empty if split.npz is damaged, since the labels are in the ledger."""
    try:
        return record.file_names()
    except VersionspaceError:
        return {}


def _image_folder(record: Record) -> Dataset | None:
    """Return the campaign's folder of images; None if it has none or if it cannot be read."""
    try:
        return open_pictures(record.config) if on_image_folder(record) else None
    except VersionspaceError:
        return None


def _table(found: Sequence[ExportedLabel]) -> str:
    return format_label_table(
        LabelRow(
            file=one.file, label=one.name, id=str(one.id), missing=one.missing, purpose=one.purpose,
            round=one.label.round, rank=one.label.rank, who=one.label.who,
            reason=one.label.reason,
        )
        for one in found
    )  # fmt: skip


def _lines(found: Sequence[ExportedLabel]) -> Iterator[str]:
    for one in found:
        line = {
            "id": one.id, "file": printable(one.file) or None, "class": one.name, "purpose": one.purpose,
            "round": one.label.round, "rank": one.label.rank, "who": one.label.who, **one.label.details,
            **({"reason": one.label.reason} if one.name is None else {}),
            **({"missing": True} if one.missing else {}),
        }  # fmt: skip
        yield json.dumps(line, ensure_ascii=False)


def _write_class_folders(record: Record, found: Sequence[ExportedLabel], to: Path) -> None:
    """Write a folder for each class: copies of the user's own files, or the pixels of a dataset as PNG.

    Copies, not links: editing a linked file in the export would change the original.
    """
    to.mkdir(parents=True)
    dataset = open_pictures(record.config)
    root = Path(record.config.data.name).expanduser()
    folders = _UniqueNames()
    classes = {name: to / folders.claim(folder_name(name, record.classes)) for name in record.classes}
    files: dict[str, _UniqueNames] = defaultdict(_UniqueNames)
    for one in found:
        if one.name is None or one.missing:
            continue
        folder = classes[one.name]
        folder.mkdir(exist_ok=True)
        if one.file:
            _copy(root / one.file, folder / files[one.name].claim(one.file.replace("/", "__")))
        else:
            _write_png(dataset.train.take([one.id]).images[0], folder / f"{one.id}.png")


class _UniqueNames:
    """The names used in one folder. Names that differ only in case or Unicode normalisation count as equal."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, name: str) -> str:
        """Return the name itself if it is free, else the first free one of name-2, name-3, …"""
        path = PurePosixPath(name)
        numbered = (f"{path.stem}-{number}{path.suffix}" for number in itertools.count(2))
        for candidate in itertools.chain([name], numbered):
            key = unicodedata.normalize("NFC", candidate).casefold()
            if key not in self._taken:
                self._taken.add(key)
                return candidate
        raise AssertionError("unreachable")


def folder_name(name: str, classes: tuple[str, ...]) -> str:
    """Return a folder name for a class: special characters become underscores, after the number of the class.

    >>> folder_name("cat", ("cat",)), folder_name("../x", ("cat", "../x"))
    ('cat', '1-.._x')
    """
    plain = "".join("_" if c in '/\\:*?"<>|\0' or ord(c) < 32 else c for c in name)
    return plain if plain == name and name not in (".", "..") else f"{classes.index(name)}-{plain}"


def _copy(source: Path, to: Path) -> None:
    """Copy a file or the target of a link, never over an existing file."""
    with source.open("rb") as original, to.open("xb") as copy:
        shutil.copyfileobj(original, copy)


def _write_png(pixels: Array, to: Path) -> None:
    image = require("PIL.Image")
    image.fromarray(np.squeeze(pixels, axis=2) if pixels.shape[2] == 1 else pixels).save(to)


def _require_images(record: Record) -> None:
    if is_features_file(record.config.data.name):
        raise InputError(
            "labels", expected="a campaign on images, for class folders of images",
            got=f"one on the features of {printable(record.config.data.name)}", fix="Export csv or jsonl.",
        )  # fmt: skip


def _require_empty(to: Path) -> None:
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(
            str(to), expected="a folder that does not exist yet or is empty", got="one that is not empty",
            fix="An export never overwrites anything: choose another name.",
        )  # fmt: skip


def export_model(record: Record, format_: str, to: Path, member: int | None = None) -> float | None:
    """Write the last saved members, or one of them: a folder that `Ensemble.load` reads, or an ONNX file.

    Both include the class names. Returns the largest difference of ONNX probabilities from torch's, or None for
    safetensors. Raises InputError for an unknown format, if no weights are saved, or if classes were merged or deleted
    since the members were trained.
    """
    from versionspace.campaign.inference import ModelInputs
    from versionspace.campaign.learner import load_learner

    saved = _saved_model(record)
    names = saved.class_names()
    learner = load_learner(record.config, saved.weights, device="cpu")
    if format_ == "onnx":
        if to.is_dir():
            raise InputError(str(to), expected="a file", got="a folder", fix="For example --out model.onnx.")
        with as_store_errors(to.parent):
            return learner.to_onnx(to, names, member)
    if format_ != "safetensors":
        raise InputError(
            "model",
            expected=f"one of {', '.join(MODEL_FORMATS)}",
            got=repr(format_),
            fix="versionspace can read safetensors again.",
        )
    _require_empty(to)
    kept = learner if member is None else learner.only(member)
    inputs = ModelInputs.of(record.config, learner).to_about()

    def fill(folder: Path) -> None:
        kept.save(folder)
        about = {
            "classes": names, "dataset": record.config.data.name, "method": record.method, "seed": record.seed,
            "round": saved.round, "labels": saved.labels, **inputs,
        }  # fmt: skip
        (folder / "model.json").write_text(json.dumps(about, indent=2, ensure_ascii=False), encoding="utf-8")

    write_folder(to, fill)
    return None
