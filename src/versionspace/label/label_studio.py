"""Label Studio's JSON: tasks with annotations, in and out."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from versionspace.store import Record
from versionspace.types import ImageId

_IMAGE = "image"
_CHOICE = "choice"
_LOCAL = "/local-files/?d="
_BYTES = "surrogateescape"
"""File names need not be Unicode."""


@dataclass(frozen=True)
class Named:
    """A class for an image."""

    files: tuple[str, ...]
    """Paths that may be meant, the likeliest first."""
    name: str | None
    """None: it has no class."""
    image: str = ""
    """Its id, where the file says it."""
    more: tuple[str, ...] = ()
    """Other classes that it was given as well: then nobody knows which is meant."""


def choices(tasks: Any) -> list[Named]:
    """Images and their classes, from an export. The last annotation that was not cancelled counts; none: no class.

    >>> task = {"data": {"image": "/data/upload/1/0a1b2c3d-cat.jpg"}, "annotations": [{"result": [
    ...     {"type": "choices", "value": {"choices": ["cat"]}}]}]}
    >>> choices([task])
    [Named(files=('data/upload/1/0a1b2c3d-cat.jpg',), name='cat', image='', more=())]
    """
    out = []
    for number, task in enumerate(tasks if isinstance(tasks, list) else [tasks], start=1):
        data = task.get("data") if isinstance(task, Mapping) else None
        if not isinstance(data, Mapping):
            raise ValueError(f"task {number} without data")
        meta = task.get("meta")
        image = meta.get("id") if isinstance(meta, Mapping) else None
        name, *more = _chosen(task, f"task {number}") or (None,)
        files = _files(data) or (f"task {number}",)
        out.append(Named(files, name, image if isinstance(image, str) else "", tuple(more)))
    return out


def _files(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Of the image, where the task calls it so; else of every text, since any of them may be it."""
    given = [data[_IMAGE]] if isinstance(data.get(_IMAGE), str) else [v for v in data.values() if isinstance(v, str)]
    return tuple(dict.fromkeys(file for value in given for file in spellings(value)))


def spellings(value: str) -> tuple[str, ...]:
    """Paths that a task may mean by an upload, a local file, a bucket or an address: first as it stands, then unquoted.

    >>> spellings("/data/local-files/?d=photos/a%20b.jpg")
    ('photos/a%20b.jpg', 'photos/a b.jpg')
    >>> spellings("s3://bucket/photos/c.jpg?v=1")
    ('photos/c.jpg?v=1', 'photos/c.jpg')
    """
    whole = value.partition(_LOCAL)[2] or value.partition("://")[2].partition("/")[2] or value
    found = [whole, unquote(whole, errors=_BYTES)]
    with suppress(ValueError):  # a text that is no address
        for fragments in (False, True):
            parts = urlsplit(value, allow_fragments=fragments)
            local = parse_qs(parts.query).get("d")
            found.append(local[0] if local else unquote(parts.path, errors=_BYTES))
    return tuple(dict.fromkeys(file.lstrip("/") for file in found))


def _chosen(task: Mapping[str, Any], where: str) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for annotation in _list(task.get("annotations"), f"{where}, annotations"):
        if isinstance(annotation, Mapping) and not annotation.get("was_cancelled"):
            found = _names(annotation, where)
    return found


def _names(annotation: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """All that were chosen, whichever question they answer; each once."""
    found: dict[str, None] = {}
    for result in _list(annotation.get("result"), f"{where}, result"):
        value = result.get("value") if isinstance(result, Mapping) else None
        if value is None:
            continue
        if not isinstance(value, Mapping):
            raise ValueError(f"{where}, value: {value!r}")
        for name in _list(value.get("choices"), f"{where}, choices"):
            if not isinstance(name, str):
                raise ValueError(f"{where}, choices: {name!r}, which is no name")
            found[name] = None
    return tuple(found)


def _list(found: Any, where: str) -> list[Any]:
    """Nothing is an empty one."""
    if found is not None and not isinstance(found, list):
        raise ValueError(f"{where}: {found!r}, which is no list")
    return found or []


def tasks(record: Record, files: Mapping[ImageId, str], prefix: str = "") -> list[dict[str, Any]]:
    """A campaign's labels as tasks that Label Studio imports: one annotation each, by whoever gave it.

    ``files``: where each image lies. ``prefix`` goes before it, such as ``/data/local-files/?d=photos/``.
    """
    out = []
    for image, label in record.state.labels.items():
        if image not in files or label.name is None:
            continue
        result = {
            "from_name": _CHOICE, "to_name": _IMAGE, "type": "choices", "value": {"choices": [label.name]},
        }  # fmt: skip
        out.append({"data": {_IMAGE: address(prefix, files[image])}, "annotations": [{"result": [result]}],
                    "meta": {"id": image, "who": label.who}})  # fmt: skip
    return out


def address(prefix: str, file: str) -> str:
    """A file's path after a prefix, quoted where that makes it an address; keys of buckets are not.

    >>> address("/data/local-files/?d=photos/", "a+b #1.jpg"), address("s3://photos/", "a+b #1.jpg")
    ('/data/local-files/?d=photos/a%2Bb%20%231.jpg', 's3://photos/a+b #1.jpg')
    """
    scheme, bucket, _ = prefix.partition("://")
    plain = not prefix or (bucket and scheme not in ("http", "https"))
    return prefix + (file if plain else quote(file, errors=_BYTES))


def label_config(classes: tuple[str, ...]) -> str:
    """The project's labelling interface that these tasks fit.

    >>> print(label_config(("cat", "dog & co")))
    <View><Image name="image" value="$image"/><Choices name="choice" toName="image"><Choice value="cat"/><Choice
    value="dog &amp; co"/></Choices></View>
    """
    from xml.sax.saxutils import quoteattr

    listed = "".join(f"<Choice value={quoteattr(name)}/>" for name in classes)
    return (
        f'<View><Image name="{_IMAGE}" value="${_IMAGE}"/><Choices name="{_CHOICE}" toName="{_IMAGE}">'
        f"{listed}</Choices></View>"
    )
