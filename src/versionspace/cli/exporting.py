"""``versionspace export``: labels and classifier, out of a campaign."""

import json
from pathlib import Path
from typing import Annotated

import typer

from versionspace.errors import InputError


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign.")],
    labels: Annotated[
        str | None,
        typer.Option(
            help="csv, jsonl, label-studio (JSON), or imagefolder: a folder for each class.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="safetensors: a folder; onnx: a file (needs the extra onnx).", show_default=False)
    ] = None,
    member: Annotated[
        int | None, typer.Option(help="One member instead of all; by default they vote.", show_default=False)
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="What Label Studio has before a file's path, e.g. /data/local-files/?d=photos/")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where to; by default beside you, named after what it is.", show_default=False)
    ] = None,
) -> None:
    """Write the labels of a campaign, or its classifier.

    Example: versionspace export runs/demo/gvd/0 --labels csv --out labels.csv
    """
    from versionspace.campaign.exporting import export_labels, export_model
    from versionspace.store.folder import campaigns
    from versionspace.store.record import read

    if (labels is None) == (model is None):
        raise InputError(
            "export", expected="--labels or --model, one of them", got="both" if labels else "neither",
            fix="For example --labels csv.",
        )  # fmt: skip
    found = campaigns(folder)
    if len(found) > 1:
        raise InputError(
            str(folder), expected="one campaign", got=f"a grid of {len(found)}",
            fix=f"Pass one of them, such as {found[0].path}.",
        )  # fmt: skip
    record = read(found[0])
    if labels == "label-studio":
        from versionspace.campaign.exporting import labels_of
        from versionspace.data.naming import shown
        from versionspace.label.studio import tasks
        from versionspace.store.folder import write

        files = {one.id: shown(one.file) for one in labels_of(record) if one.file}
        if not files:
            raise InputError(
                str(folder), expected="a campaign on a folder of images", got=f"one on {record.config.data.name}",
                fix="Label Studio's tasks name files; use --labels jsonl.",
            )  # fmt: skip
        to = out or Path("labels.json")
        write(to, json.dumps(tasks(record, files, prefix), indent=1, ensure_ascii=False).encode())
        typer.echo(f"labels written to {to}")
        return
    if labels is not None:
        to = out or Path({"csv": "labels.csv", "jsonl": "labels.jsonl"}.get(labels, "labels"))
        typer.echo(f"labels written to {export_labels(record, labels, to)}")
        return
    to = out or Path("model.onnx" if model == "onnx" else "model")
    difference = export_model(record, str(model), to, member)
    checked = "" if difference is None else f"; its probabilities are within {difference:.1g} of torch's"
    typer.echo(f"model written to {to}{checked}")
