"""Import and export of Label Studio's JSON: tasks with annotations."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from versionspace.store import UNDONE, Label, Record
from versionspace.types import ImageId

_IMAGE = "image"
_CHOICE = "choice"
_REASON = "reason"
_REASONS = ("unsure", "bad image")
"""Why an image has no class. One that was skipped has a cancelled annotation instead."""
_SKIPPED = "skipped"
_LOCAL = "/local-files/?d="
_BYTES = "surrogateescape"
"""File names may contain bytes that are not UTF-8."""


@dataclass(frozen=True)
class LabelledFile:
    """A file, given by possible paths, and its class."""

    files: tuple[str, ...]
    """Possible paths, the most likely first."""
    name: str | None
    """None: no class was chosen."""
    image: str = ""
    """The image's id, if the export contains it."""
    more: tuple[str, ...] = ()
    """Further classes; the label is then ambiguous."""
    reason: str = ""
    """Why there is no class: "unsure", "bad image" or "skipped"; empty if it is unknown."""


def choices(tasks: Any) -> list[LabelledFile]:
    """Return images and classes of an export. The last annotation that was not cancelled counts.

    >>> task = {"data": {"image": "/data/upload/1/0a1b2c3d-cat.jpg"}, "annotations": [{"result": [
    ...     {"type": "choices", "value": {"choices": ["cat"]}}]}]}
    >>> choices([task])
    [LabelledFile(files=('data/upload/1/0a1b2c3d-cat.jpg',), name='cat', image='', more=(), reason='')]
    """
    out = []
    for number, task in enumerate(tasks if isinstance(tasks, list) else [tasks], start=1):
        data = task.get("data") if isinstance(task, Mapping) else None
        if not isinstance(data, Mapping):
            raise ValueError(f"task {number} without data")
        meta = task.get("meta")
        image = meta.get("id") if isinstance(meta, Mapping) else None
        chosen = _chosen(task, f"task {number}")
        name, *more = chosen.names or (None,)
        files = _files(data) or (f"task {number}",)
        out.append(LabelledFile(files, name, image if isinstance(image, str) else "", tuple(more), chosen.reason))
    return out


def _files(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths in the field "image", or else in every text field."""
    given = [data[_IMAGE]] if isinstance(data.get(_IMAGE), str) else [v for v in data.values() if isinstance(v, str)]
    return tuple(dict.fromkeys(file for value in given for file in spellings(value)))


def spellings(value: str) -> tuple[str, ...]:
    """Return possible paths of an upload, a local file, a bucket key or a URL: as written, then unquoted.

    >>> spellings("/data/local-files/?d=photos/a%20b.jpg")
    ('photos/a%20b.jpg', 'photos/a b.jpg')
    >>> spellings("s3://bucket/photos/c.jpg?v=1")
    ('photos/c.jpg?v=1', 'photos/c.jpg')
    """
    whole = value.partition(_LOCAL)[2] or value.partition("://")[2].partition("/")[2] or value
    found = [whole, unquote(whole, errors=_BYTES)]
    with suppress(ValueError):  # not a URL
        for fragments in (False, True):
            parts = urlsplit(value, allow_fragments=fragments)
            local = parse_qs(parts.query).get("d")
            found.append(local[0] if local else unquote(parts.path, errors=_BYTES))
    return tuple(dict.fromkeys(file.lstrip("/") for file in found))


@dataclass(frozen=True)
class _Chosen:
    """The distinct classes of an annotation, and why there is none."""

    names: tuple[str, ...] = ()
    reason: str = ""


def _chosen(task: Mapping[str, Any], where: str) -> _Chosen:
    found = _Chosen()
    for annotation in _list(task.get("annotations"), f"{where}, annotations"):
        if not isinstance(annotation, Mapping):
            continue
        if not annotation.get("was_cancelled"):
            found = _choice(annotation, where)
        elif not found.names and not found.reason:
            found = _Chosen(reason=_SKIPPED)
    return found


def _choice(annotation: Mapping[str, Any], where: str) -> _Chosen:
    found: dict[str, None] = {}
    reason = ""
    for result in _list(annotation.get("result"), f"{where}, result"):
        value = result.get("value") if isinstance(result, Mapping) else None
        if value is None:
            continue
        if not isinstance(value, Mapping):
            raise ValueError(f"{where}, value: {value!r}")
        for name in _list(value.get("choices"), f"{where}, choices"):
            if not isinstance(name, str):
                raise ValueError(f"{where}, choices: {name!r}, which is not a name")
            if result.get("from_name") == _REASON and name in _REASONS:
                reason = name
            else:
                found[name] = None
    return _Chosen(tuple(found), "" if found else reason)


def _list(found: Any, where: str) -> list[Any]:
    """Return a list; None counts as an empty one."""
    if found is not None and not isinstance(found, list):
        raise ValueError(f"{where}: {found!r}, which is not a list")
    return found or []


def tasks(record: Record, files: Mapping[ImageId, str], prefix: str = "") -> list[dict[str, Any]]:
    """Return a campaign's answers as tasks for Label Studio, with one annotation each.

    An image without a class is skipped (its annotation is cancelled), or has the choice "unsure" or "bad image" of a
    question of its own; its ``meta`` has the reason, too. ``files``: the path of each image. ``prefix``: put before
    each path, such as ``/data/local-files/?d=photos/``.
    """
    out = []
    for image, label in record.state.labels.items():
        if image not in files or label.reason == UNDONE:
            continue
        meta = {"id": image, "who": label.who} | ({"reason": label.reason} if label.reason else {})
        out.append({"data": {_IMAGE: address(prefix, files[image])}, "annotations": [_annotation(label)], "meta": meta})
    return out


def _annotation(label: Label) -> dict[str, Any]:
    if label.name is None and label.reason not in _REASONS:
        return {"result": [], "was_cancelled": True}
    question, choice = (_CHOICE, label.name) if label.name is not None else (_REASON, label.reason)
    return {"result": [{"from_name": question, "to_name": _IMAGE, "type": "choices", "value": {"choices": [choice]}}]}


def address(prefix: str, file: str) -> str:
    """Return prefix and path, with the path quoted if the result is a URL; bucket keys are not quoted.

    >>> address("/data/local-files/?d=photos/", "a+b #1.jpg"), address("s3://photos/", "a+b #1.jpg")
    ('/data/local-files/?d=photos/a%2Bb%20%231.jpg', 's3://photos/a+b #1.jpg')
    """
    scheme, bucket, _ = prefix.partition("://")
    plain = not prefix or (bucket and scheme not in ("http", "https"))
    return prefix + (file if plain else quote(file, errors=_BYTES))


def label_config(classes: tuple[str, ...]) -> str:
    """Return the labelling interface (XML) for these tasks.

    >>> print(label_config(("cat", "dog & co")))
    <View><Image name="image" value="$image"/><Choices name="choice" toName="image"><Choice value="cat"/><Choice
    value="dog &amp; co"/></Choices><Choices name="reason" toName="image"><Choice value="unsure"/><Choice value="bad
    image"/></Choices></View>
    """
    from xml.sax.saxutils import quoteattr

    questions = ""
    for name, listed in ((_CHOICE, classes), (_REASON, _REASONS)):
        options = "".join(f"<Choice value={quoteattr(one)}/>" for one in listed)
        questions += f'<Choices name="{name}" toName="{_IMAGE}">{options}</Choices>'
    return f'<View><Image name="{_IMAGE}" value="${_IMAGE}"/>{questions}</View>'
