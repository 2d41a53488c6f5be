"""Label Studio's JSON: tasks with annotations, in and out."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from versionspace.store.record import Record
from versionspace.store.replay import ImageId

_IMAGE = "image"
_CHOICE = "choice"


def choices(tasks: Any) -> dict[str, str | None]:
    """File to class, from an export. The last annotation that was not cancelled counts; none: no class.

    >>> task = {"data": {"image": "/data/upload/1/0a1b2c3d-cat.jpg"}, "annotations": [{"result": [
    ...     {"type": "choices", "value": {"choices": ["cat"]}}]}]}
    >>> choices([task])
    {'data/upload/1/0a1b2c3d-cat.jpg': 'cat'}
    """
    listed = tasks if isinstance(tasks, list) else [tasks]
    out: dict[str, str | None] = {}
    for number, task in enumerate(listed, start=1):
        data = task.get("data") if isinstance(task, Mapping) else None
        if not isinstance(data, Mapping):
            raise ValueError(f"task {number} without data")
        value = next((v for v in data.values() if isinstance(v, str)), None)
        if value is not None:
            out[file_of(value)] = _chosen(task.get("annotations") or [])
    return out


def file_of(value: str) -> str:
    """A path from what a task calls its image: an upload, a local file, a bucket or an address.

    >>> file_of("/data/local-files/?d=photos/a%20b.jpg"), file_of("s3://bucket/photos/c.jpg?v=1")
    ('photos/a b.jpg', 'photos/c.jpg')
    """
    parts = urlsplit(value)
    local = parse_qs(parts.query).get("d")
    return (local[0] if local else unquote(parts.path)).lstrip("/")


def _chosen(annotations: list[Any]) -> str | None:
    found: str | None = None
    for annotation in annotations:
        if not isinstance(annotation, Mapping) or annotation.get("was_cancelled"):
            continue
        for result in annotation.get("result") or []:
            chosen = result.get("value", {}).get("choices") if isinstance(result, Mapping) else None
            if chosen:
                found = str(chosen[0])
    return found


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
        out.append({"data": {_IMAGE: prefix + files[image]}, "annotations": [{"result": [result]}],
                    "meta": {"id": image, "who": label.who}})  # fmt: skip
    return out


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
