"""``versionspace export`` and ``versionspace predict``: the labels and the classifier of a campaign."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from versionspace.cli.options import FAILED
from versionspace.errors import InputError

if TYPE_CHECKING:
    from versionspace.campaign import ExportedLabel
    from versionspace.store import Record

_STUDIO = "label-studio"


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign.")],
    labels: Annotated[
        str | None,
        typer.Option(
            help="csv, jsonl, label-studio (JSON), or imagefolder (one folder per class).", show_default=False
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="safetensors (a folder) or onnx (a file; needs the extra onnx).", show_default=False),
    ] = None,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="The newest model's predictions for all images without a label (CSV).")
    ] = False,
    member: Annotated[
        int | None, typer.Option(help="Export one member instead of the vote of all.", show_default=False)
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="Prefix of file paths in Label Studio, e.g. /data/local-files/?d=photos/")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file or folder (default: labels.csv, model, … in the current folder).", show_default=False
        ),
    ] = None,
) -> None:
    """Export the labels, the classifier, or its predictions for all other images.

    Example: versionspace export runs/demo/gvd/0 --labels csv --out labels.csv
    """
    from versionspace.campaign import (
        LABEL_FORMATS,
        StoredResults,
        export_labels,
        export_model,
        exported_labels,
        missing_images_note,
        model_note,
        write_predictions,
    )
    from versionspace.store import campaigns, read_campaign

    given_options = (labels is not None) + (model is not None) + predictions
    if given_options != 1:
        raise InputError(
            "export", expected="one of --labels, --model and --predictions",
            got="several" if given_options else "none",
            fix="For example --labels csv.",
        )  # fmt: skip
    if labels not in (None, _STUDIO, *LABEL_FORMATS):
        raise InputError(
            "--labels",
            expected=f"one of {', '.join((*LABEL_FORMATS, _STUDIO))}",
            got=repr(labels),
            fix="csv is the simplest.",
        )
    found = campaigns(folder)
    if len(found) > 1:
        raise InputError(
            str(folder), expected="one campaign", got=f"a grid of {len(found)}",
            fix=f"Pass one of them, such as {found[0].path}.",
        )  # fmt: skip
    record = read_campaign(found[0])
    if labels is not None:
        given = exported_labels(record)
        if labels == _STUDIO:
            to = _to_label_studio(record, given, prefix, out or Path("labels.json"))
        else:
            named = {"csv": "labels.csv", "jsonl": "labels.jsonl"}.get(labels, "labels")
            to = export_labels(record, labels, out or Path(named), given)
        typer.echo(f"labels written to {to}")
        if labels == _STUDIO:
            typer.echo(f"labelling interface for these tasks: {_studio_interface(record)}")
        if told := missing_images_note(given):
            _note(told)
        return
    if predictions:
        to = out or Path("predictions.csv")
        rows = write_predictions(StoredResults.of(record), to)
        typer.echo(f"predictions for {rows} images without a label written to {to}")
        if told := model_note(record):
            _note(told)
        return
    to = out or Path("model.onnx" if model == "onnx" else "model")
    told, difference = model_note(record), export_model(record, str(model), to, member)
    checked = "" if difference is None else f"; its probabilities are within {difference:.1g} of torch's"
    typer.echo(f"model written to {to}{checked}")
    if told:
        _note(told)


def _note(sentence: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[yellow]note[/] {escape(sentence)}")


def _to_label_studio(record: "Record", given: "list[ExportedLabel]", prefix: str, to: Path) -> Path:
    from versionspace.campaign import on_image_folder
    from versionspace.label import tasks
    from versionspace.store import write_file
    from versionspace.text import printable

    if not on_image_folder(record):
        raise InputError(
            str(record.folder.path), expected="a campaign on a folder of images",
            got=f"one on {record.config.data.name}", fix="Label Studio's tasks name files; use --labels jsonl.",
        )  # fmt: skip
    files = {one.id: printable(one.file) for one in given if one.file}
    made, gone = tasks(record, files, prefix), {one.id for one in given if one.missing}
    for task in made:
        task["meta"] |= {"missing": True} if task["meta"]["id"] in gone else {}
    write_file(to, json.dumps(made, indent=1, ensure_ascii=False).encode())
    return to


def _studio_interface(record: "Record") -> str:
    from versionspace.label import label_config

    return label_config(record.classes)


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that export --model safetensors wrote.")],
    images: Annotated[
        list[Path],
        typer.Argument(metavar="IMAGES", help="Image files, or folders of them; for a model on features: their files."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output CSV file (default: standard output).", show_default=False)
    ] = None,
) -> None:
    """Classify new images, or new features. Prints file or id, class, probability, and the share of members that agree.

    Example: versionspace predict model photos/
    """
    from versionspace.campaign import load_model
    from versionspace.data import safe_cell
    from versionspace.store import reject_folder, write_file
    from versionspace.text import printable

    if out is not None:
        reject_folder(out)
    opened = load_model(model)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file" if opened.inputs.fit else "id", "class", "probability", "agreement"])
    total = bad = 0
    for found in opened.predict(images):
        total += 1
        if found.problem:
            bad += 1
            typer.echo(printable(f"{found.item}: {found.problem}"), err=True)
        else:
            shares = (f"{found.probability:.4f}", f"{found.agreement:.4f}")
            item = found.item if isinstance(found.item, int) else safe_cell(printable(found.item))
            table.writerow([item, safe_cell(found.name), *shares])
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        write_file(out, text.getvalue().encode())
        typer.echo(f"{total - bad} {'images' if opened.inputs.fit else 'rows'} classified: {out}")
    if bad:
        typer.echo(f"{bad} of {total} files could not be read.", err=True)
        raise typer.Exit(FAILED)
