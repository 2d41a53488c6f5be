"""``versionspace predict``: a classifier that was exported, on new images."""

import csv
import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from versionspace.cli.words import FAILED


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that export --model safetensors wrote.")],
    images: Annotated[list[Path], typer.Argument(metavar="IMAGES", help="Image files, or folders of them.")],
    out: Annotated[Path | None, typer.Option(help="A CSV file; by default it is printed.", show_default=False)] = None,
) -> None:
    """Classify new images: file, class, its probability, and the share of members that agree.

    Example: versionspace predict model photos/
    """
    from versionspace.campaign.exporting import safe_cell
    from versionspace.campaign.predicting import images_in, read_model
    from versionspace.data.naming import shown
    from versionspace.store.folder import refuse_folder, write

    if out is not None:
        refuse_folder(out)
    files = images_in(images)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", "class", "probability", "agreement"])
    bad = 0
    for found in read_model(model).predict(files):
        if found.problem:
            bad += 1
            typer.echo(shown(f"{found.file}: {found.problem}"), err=True)
        else:
            shares = (f"{found.probability:.4f}", f"{found.agreement:.4f}")
            table.writerow([safe_cell(shown(found.file)), safe_cell(found.name), *shares])
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        write(out, text.getvalue().encode())
        typer.echo(f"{len(files) - bad} images classified: {out}")
    if bad:
        typer.echo(f"{bad} of {len(files)} files could not be read.", err=True)
        raise typer.Exit(FAILED)
