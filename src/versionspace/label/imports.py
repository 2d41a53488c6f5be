"""Labels that are known before the first click: class folders, labels.csv, or an export of Label Studio."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from versionspace.campaign.campaign import Campaign
from versionspace.campaign.rounds import proposed
from versionspace.data import Dataset
from versionspace.data.folder.listing import read_labels
from versionspace.data.naming import shown
from versionspace.errors import InputError
from versionspace.label.studio import choices
from versionspace.store.events import Event
from versionspace.store.record import as_ids
from versionspace.store.replay import ImageId
from versionspace.types import Array


@dataclass(frozen=True)
class Imported:
    """Classes by image, where they came from, and what named no image of the folder."""

    names: Mapping[ImageId, str]
    source: str = ""
    unknown: tuple[str, ...] = ()


def imported(dataset: Dataset, classes: Sequence[str], path: Path | None) -> Imported:
    """From a file where one is given, else from what the folder itself says."""
    if path is None:
        return _of_folder(dataset)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            str(path), expected="a file of labels in UTF-8", got=str(error), fix="Check the path."
        ) from error
    if text.lstrip().startswith(("[", "{")):
        try:
            named: Mapping[str, str | None] = choices(json.loads(text))
        except ValueError as error:
            raise InputError(
                str(path), expected="an export of Label Studio, as JSON", got=str(error), fix="Export it anew."
            ) from error
    else:
        named = read_labels(path)
    return _matched(dataset, classes, named, path)


def _of_folder(dataset: Dataset) -> Imported:
    labels = dataset.train.labels
    if labels is None:
        return Imported({})
    ids = as_ids(dataset.train.ids)
    found = {i: dataset.classes[n] for i, n in zip(ids, labels.tolist(), strict=True) if n >= 0}
    return Imported(found, "class folders or labels.csv")


def _matched(dataset: Dataset, classes: Sequence[str], named: Mapping[str, str | None], path: Path) -> Imported:
    places = _Places(dataset.train.files or (), as_ids(dataset.train.ids))
    names: dict[ImageId, str] = {}
    unknown: list[str] = []
    for file, name in named.items():
        image = places.find(file)
        if image is None:
            unknown.append(file)
        elif name is not None:
            names[image] = name
    other = sorted(set(names.values()) - set(classes))
    if other:
        raise InputError(
            str(path), expected=f"the classes {', '.join(classes)}", got=f"also {', '.join(other[:5])}",
            fix="Add them to --classes.",
        )  # fmt: skip
    if named and not names:
        raise InputError(
            str(path), expected="labels for images of this folder", got=f"none of {len(named)}, such as {file!r}",
            fix="Names are compared with the files' paths relative to the folder.",
        )  # fmt: skip
    return Imported(names, path.name, tuple(unknown))


class _Places:
    """Files by their path, or by its end where that is enough."""

    def __init__(self, files: Sequence[str], ids: Sequence[ImageId]) -> None:
        self.whole = {_plain(f): i for f, i in zip(files, ids, strict=True)}
        self.ends: dict[str, set[ImageId]] = {}
        for file, image in self.whole.items():
            self.ends.setdefault(PurePosixPath(file).name, set()).add(image)
        self.whole |= {_plain(shown(f)): i for f, i in zip(files, ids, strict=True)}  # as an export names them

    def find(self, given: str) -> ImageId | None:
        """The image of a path, an address or an uploaded file's name."""
        parts = PurePosixPath(_plain(given)).parts
        for start in range(len(parts)):
            found = self.whole.get("/".join(parts[start:]))
            if found is not None:
                return found
        last = parts[-1] if parts else ""
        head, dash, rest = last.partition("-")
        uploaded = rest if dash and len(head) == 8 and not set(head) - set("0123456789abcdef") else last
        for name in (last, uploaded):
            images = self.ends.get(name, set())
            if len(images) == 1:
                return next(iter(images))
        return None


def _plain(file: str) -> str:
    return unicodedata.normalize("NFC", file.replace("\\", "/"))


def taken_in(campaign: Campaign, found: Imported) -> int:
    """Commits imported labels once and all together, before anything is asked; how many count.

    Those of the audit's images stay the audit's; those of images that only measure distances are left out.
    """
    if not found.names or campaign.state.asks:
        return 0
    cut = campaign.pictures.cut
    audit = {i: found.names[i] for i in as_ids(cut.audit) if i in found.names}
    first = {i: found.names[i] for i in as_ids(cut.askable()) if i in found.names}
    events = []
    if len(cut.audit):
        events.append(_proposed(0, "audit", cut.audit))
    if first:
        wanted = [i for i in as_ids(cut.askable()) if i in first]
        events.append(_proposed(len(events), "initial", wanted))
    known = audit | first
    for ask in list(events):
        for rank, image in enumerate(ask.body["ids"]):
            if image in known:
                body = {"id": image, "class": known[image], "part": ask.body["part"], "rank": rank}
                events.append(Event("answered", 0, body, who=f"import: {found.source}", uid=f"import-{image}"))
    campaign.commit(events)
    return len(known)


def _proposed(part: int, purpose: str, ids: "Array | Sequence[ImageId]") -> Event:
    import numpy as np

    return proposed(0, part, purpose, np.asarray(ids), np.zeros(len(ids)))
