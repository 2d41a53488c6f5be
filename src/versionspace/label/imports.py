"""Labels that are known before the first click: class folders, labels.csv, or an export of Label Studio."""

import json
import logging
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from versionspace.campaign.campaign import Campaign
from versionspace.campaign.pictures import Cut
from versionspace.campaign.rounds import proposed
from versionspace.data import Dataset
from versionspace.data.folder.listing import read_labels
from versionspace.data.naming import shown
from versionspace.errors import InputError
from versionspace.label.studio import Named, choices
from versionspace.store.events import Event
from versionspace.store.ledger import Ledger
from versionspace.store.record import as_ids
from versionspace.store.replay import ImageId
from versionspace.types import Array

_log = logging.getLogger("versionspace.label")


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
            named = choices(json.loads(text))
        except ValueError as error:
            raise InputError(
                str(path), expected="an export of Label Studio, as JSON", got=str(error), fix="Export it anew."
            ) from error
    else:
        named = [Named((file,), name) for file, name in read_labels(path).items()]
    return _matched(dataset, classes, named, path)


def _of_folder(dataset: Dataset) -> Imported:
    labels = dataset.train.labels
    if labels is None:
        return Imported({})
    ids = as_ids(dataset.train.ids)
    found = {i: dataset.classes[n] for i, n in zip(ids, labels.tolist(), strict=True) if n >= 0}
    unknown = dataset.report.unknown if dataset.report else ()
    return Imported(found, "class folders or labels.csv", unknown)


def _matched(dataset: Dataset, classes: Sequence[str], named: Sequence[Named], path: Path) -> Imported:
    places = _Places(dataset.train.files or (), as_ids(dataset.train.ids))
    names: dict[ImageId, str] = {}
    unknown: list[str] = []
    for one in named:
        image = places.find(one)
        if image is None:
            unknown.append(one.files[0])
        elif one.name is not None:
            names[image] = one.name
    other = sorted(set(names.values()) - set(classes))
    if other:
        raise InputError(
            str(path), expected=f"the classes {', '.join(classes)}", got=f"also {', '.join(other[:5])}",
            fix="Add them to --classes.",
        )  # fmt: skip
    if named and not names:
        raise InputError(
            str(path), expected="labels for images of this folder",
            got=f"none of {len(named)}, such as {named[0].files[0]!r}",
            fix="Names are compared with the files' paths relative to the folder.",
        )  # fmt: skip
    return Imported(names, path.name, tuple(unknown))


class _Places:
    """Images by their id, their file's path, or its end where that is enough."""

    def __init__(self, files: Sequence[str], ids: Sequence[ImageId]) -> None:
        self.ids = set(ids)
        self.whole = {_plain(f): i for f, i in zip(files, ids, strict=True)}
        self.ends: dict[str, set[ImageId]] = {}
        for file, image in self.whole.items():
            self.ends.setdefault(PurePosixPath(file).name, set()).add(image)
        self.whole |= {_plain(shown(f)): i for f, i in zip(files, ids, strict=True)}  # as an export names them

    def find(self, one: Named) -> ImageId | None:
        """The image of an id, a path, an address or an uploaded file's name; the longest path counts for most."""
        if one.image in self.ids:
            return one.image
        paths = [parts for file in one.files if (parts := PurePosixPath(_plain(file)).parts)]
        for length in range(max(map(len, paths), default=0), 0, -1):
            for parts in paths:
                found = self.whole.get("/".join(parts[-length:])) if length <= len(parts) else None
                if found is not None:
                    return found
        for parts in paths:
            head, dash, rest = parts[-1].partition("-")
            uploaded = rest if dash and len(head) == 8 and not set(head) - set("0123456789abcdef") else parts[-1]
            for name in (parts[-1], uploaded):
                images = self.ends.get(name, set())
                if len(images) == 1:
                    return next(iter(images))
        return None


def _plain(file: str) -> str:
    return unicodedata.normalize("NFC", file.replace("\\", "/"))


def counted(found: Imported, cut: Cut) -> dict[ImageId, str]:
    """What is taken in: labels of images that may be asked or audited. Others only measure distances."""
    kept = {*as_ids(cut.audit), *as_ids(cut.askable())}
    return {image: name for image, name in found.names.items() if image in kept}


def taken_in(campaign: Campaign, found: Imported) -> int:
    """Commits imported labels once and all together, before anything is asked; how many count.

    Those of the audit's images stay the audit's. Names that fit no image are said.
    """
    if not found.names or campaign.state.asks:
        return 0
    cut = campaign.pictures.cut
    known = counted(found, cut)
    events = []
    if len(cut.audit):
        events.append(_proposed(0, "audit", cut.audit))
    if first := [i for i in as_ids(cut.askable()) if i in known]:
        events.append(_proposed(len(events), "initial", first))
    for ask in list(events):
        for rank, image in enumerate(ask.body["ids"]):
            if image in known:
                body = {"id": image, "class": known[image], "part": ask.body["part"], "rank": rank}
                events.append(Event("answered", 0, body, who=f"import: {found.source}", uid=_uid(image)))
    campaign.commit(events)
    if found.unknown:
        few, many = ", ".join(found.unknown[:3]), len(found.unknown)
        _log.warning("%s: %d of its names fit no image of the folder, such as %s", found.source, many, few)
    return len(known)


def began_with(campaign: Campaign) -> int:
    """Labels that were taken in at the start, whatever became of them since."""
    with Ledger.view(campaign.folder.ledger) as ledger:
        return sum(e.kind == "answered" and e.uid == _uid(e.body["id"]) for e in ledger.events())


def _uid(image: ImageId) -> str:
    return f"import-{image}"


def _proposed(part: int, purpose: str, ids: "Array | Sequence[ImageId]") -> Event:
    import numpy as np

    return proposed(0, part, purpose, np.asarray(ids), np.zeros(len(ids)))
