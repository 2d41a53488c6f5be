"""Import of existing labels: class folders, labels.csv, or an export of Label Studio."""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from versionspace.campaign import Campaign, Roles, proposal_event
from versionspace.data import Dataset, FolderReport, read_label_table
from versionspace.errors import InputError
from versionspace.label.label_studio import LabelledFile, choices
from versionspace.label.matching import match_rows
from versionspace.store import Event, Ledger, as_ids
from versionspace.text import printable
from versionspace.types import Array, ImageId

_LISTED = 5
"""Rows that a message names."""

_log = logging.getLogger("versionspace.label")


@dataclass(frozen=True)
class ImportedLabels:
    """Classes by image, where they come from, and the rows that give none."""

    names: Mapping[ImageId, str]
    source: str = ""
    unit: str = "rows"
    """What the source consists of: "rows", "tasks" or "images"."""
    rows: Mapping[ImageId, tuple[str, ...]] = field(default_factory=dict)
    """The rows that name each of these images."""
    unknown: tuple[str, ...] = ()
    """Rows that match no image, or several."""
    ambiguous: tuple[str, ...] = ()
    """Rows of images with several classes, and these classes."""
    without_class: Mapping[str, str] = field(default_factory=dict)
    """Rows without a class, and why: "unsure", "bad image", "skipped", or empty."""
    notes: tuple[str, ...] = ()
    """Further messages for the user."""

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(map(len, self.rows.values())) + len(self.unknown) + len(self.ambiguous) + len(self.without_class)

    def problems(self) -> list[str]:
        """Return a phrase for each reason for which rows are not imported, with the first of these rows."""
        found = []
        if self.unknown:
            found.append(_phrase("without exactly one matching image", self.unknown))
        if self.ambiguous:
            found.append(_phrase("with several classes", self.ambiguous))
        for reason in sorted(set(self.without_class.values())):
            rows = [row for row, why in self.without_class.items() if why == reason]
            found.append(_phrase("without a class" + (f" ({reason})" if reason else ""), rows))
        return found


def _phrase(why: str, rows: Sequence[str]) -> str:
    more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return f"{len(rows)} {why}: {', '.join(map(printable, rows[:_LISTED]))}{more}"


def read_labels(
    dataset: Dataset, classes: Sequence[str], path: Path | None, folder: Path | None = None
) -> ImportedLabels:  # fmt: skip
    """Read labels from a file, or without one from the folder itself. ``folder``: the location of the images."""
    if path is None:
        return _from_folder(dataset)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            str(path), expected="a file of labels in UTF-8", got=str(error), fix="Check the path."
        ) from error
    lost: tuple[str, ...] = ()
    unit = "rows"
    if text.lstrip().startswith(("[", "{")):
        try:
            named, unit = choices(json.loads(text)), "tasks"
        except ValueError as error:
            raise InputError(
                str(path), expected="an export of Label Studio, as JSON", got=str(error), fix="Export it again."
            ) from error
    else:
        rows = read_label_table(path)
        lost = tuple(row.name for row in rows if row.orphaned)
        named = [
            LabelledFile(row.spellings or (row.id,), row.label, row.id, reason=row.reason)
            for row in rows
            if not row.orphaned
        ]
    found = match_rows(dataset, named, folder)
    imported = ImportedLabels(
        found.names,
        path.name,
        unit,
        found.rows,
        lost + found.unknown,
        found.ambiguous,
        found.without_class,
        found.notes,
    )
    _reject_useless(imported, classes, path)
    return imported


def _from_folder(dataset: Dataset) -> ImportedLabels:
    labels = dataset.train.labels
    ids = as_ids(dataset.train.ids) if labels is not None else ()
    numbers = labels.tolist() if labels is not None else ()
    found = {i: dataset.classes[n] for i, n in zip(ids, numbers, strict=True) if n >= 0}
    files = dict(zip(as_ids(dataset.train.ids), dataset.train.files or (), strict=False))
    report = dataset.report or FolderReport()
    return ImportedLabels(
        found, "class folders or labels.csv", "images",
        rows={image: (files.get(image, str(image)),) for image in found},
        unknown=report.unknown,
        ambiguous=tuple(f"{one.files[0]} ({', '.join(one.classes)})" for one in report.conflicts),
        notes=_ignored_classes(dataset),
    )  # fmt: skip


def _ignored_classes(dataset: Dataset) -> tuple[str, ...]:
    """Return a note on classes of the folder that were not chosen; sub-folders without any class need none."""
    for source in dataset.report.sources if dataset.report else ():
        other = [name for name in source.classes if name not in dataset.classes]
        if source.subset == "train" and other and (source.from_table or len(other) < len(source.classes)):
            are = "is" if len(other) == 1 else "are"
            listed = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")
            what = f"labels of {listed}" if source.from_table else "folder names"
            return (
                f"{what} are not imported, since {listed} {are} not among the classes {', '.join(dataset.classes)}",
            )
    return ()


def _reject_useless(found: ImportedLabels, classes: Sequence[str], path: Path) -> None:
    """Raise InputError for classes that were not chosen, and for rows of which none is a label of this folder."""
    other = sorted(set(found.names.values()) - set(classes))
    if other:
        raise InputError(
            str(path), expected=f"the classes {', '.join(classes)}", got=f"also {', '.join(other[:5])}",
            fix="Add them to --classes.",
        )  # fmt: skip
    if found.total and not found.names:
        raise InputError(
            str(path), expected="labels for images of this folder",
            got="; ".join((f"none in {found.total} {found.unit}", *found.problems(), *found.notes)),
            fix="Write paths relative to the folder. A label whose image is ambiguous is not imported.",
        )  # fmt: skip


def usable_labels(found: ImportedLabels, cut: Roles) -> dict[ImageId, str]:
    """Return the labels of images that can be asked or audited; those of the reference set are not used."""
    kept = {*as_ids(cut.audit), *as_ids(cut.askable())}
    return {image: name for image, name in found.names.items() if image in kept}


def commit_import(campaign: Campaign, found: ImportedLabels) -> int:
    """Commit imported labels in one transaction, before anything is asked; return how many were used.

    Labels of audit images remain part of the audit. The number of imported rows is logged, and which are not and why.
    """
    if campaign.state.asks:
        return 0
    cut = campaign.images.roles
    known = usable_labels(found, cut)
    _log_rows(found, known)
    if not known:
        return 0
    events = []
    if len(cut.audit):
        events.append(_proposed(0, "audit", cut.audit))
    if first := [i for i in as_ids(cut.askable()) if i in known]:
        events.append(_proposed(len(events), "initial", first))
    for ask in list(events):
        for rank, image in enumerate(ask.body["ids"]):
            if image in known:
                body = {"id": image, "class": known[image], "part": ask.body["part"], "rank": rank}
                events.append(Event("answered", 0, body, who=_who(found.source), uid=_uid(image)))
    campaign.commit(events)
    return len(known)


def _log_rows(found: ImportedLabels, known: Collection[ImageId]) -> None:
    """Log how many rows are imported, and each reason for which others are not.

    That some images are held out is no problem of the source, so this alone is not a warning.
    """
    held_out = [row for image, rows in found.rows.items() if image not in known for row in rows]
    problems = found.problems()
    if found.total:
        count = sum(len(rows) for image, rows in found.rows.items() if image in known)
        level = logging.WARNING if problems else logging.INFO
        _log.log(level, "%s: %d of %d %s imported", found.source, count, found.total, found.unit)
    for problem in problems:
        _log.warning("%s: not imported: %s", found.source, problem)
    if held_out:
        phrase = _phrase("held out to measure on", held_out)
        _log.info("%s: not imported: %s", found.source, phrase)
    for note in found.notes:
        _log.warning("%s: %s", found.source, note)


def imported_count(campaign: Campaign) -> int:
    """Return the number of labels imported at the start, including those corrected since."""
    return len(_sources(campaign))


def already_imported(campaign: Campaign, path: Path) -> bool:
    """Return whether labels of this file were imported at the start; log that it is not imported again."""
    count = _sources(campaign).count(_who(path.name))
    if count:
        _log.warning(
            "%s: %d of its labels were imported when the campaign began; it is not imported again", path.name, count
        )
    return count > 0


def _sources(campaign: Campaign) -> list[str]:
    """Return the source of each imported label."""
    with Ledger.view(campaign.folder.ledger) as ledger:
        return [e.who for e in ledger.events() if e.kind == "answered" and e.uid == _uid(e.body["id"])]


def _who(source: str) -> str:
    return f"import: {source}"


def _uid(image: ImageId) -> str:
    return f"import-{image}"


def _proposed(part: int, purpose: str, ids: "Array | Sequence[ImageId]") -> Event:
    import numpy as np

    return proposal_event(0, part, purpose, np.asarray(ids), np.zeros(len(ids)))
