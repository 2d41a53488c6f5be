"""The command ``versionspace features``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from versionspace.cli.options import ClusterAddress, ClusterSettings, read_cluster
from versionspace.text import printable

_MAX_SKIPPED = 5
"""Files that are listed at most."""


def features(
    folder: Annotated[Path, typer.Argument(metavar="PHOTOS", help="A folder of images.")],
    out: Annotated[Path, typer.Option(help="The file to write: .parquet or .npz.")],
    extractor: Annotated[
        str, typer.Option("--with", metavar="EXTRACTOR", help="lite0, hf:NAME, timm:NAME, onnx:FILE, …")
    ] = "lite0",
    size: Annotated[
        int | None, typer.Option(min=1, max=4096, help="Pixels (default: the extractor's).", show_default=False)
    ] = None,
    cluster: ClusterAddress = None,
    cluster_settings: ClusterSettings = None,
) -> None:
    """Extract the features of all images of a folder into one file. Run the same command again to resume.

    Example: versionspace features photos --with lite0 --out emb.parquet
    """
    from versionspace.features import extract_folder

    known = read_cluster(cluster, cluster_settings)
    if known is None:
        made = extract_folder(folder, out, extractor, size=size, progress=None)
    else:
        from versionspace.cluster import extract_folder_on

        made = extract_folder_on(known, folder, out, extractor, size=size, progress=None)
    resumed = f" ({made.resumed:,} by an earlier run)" if made.resumed else ""
    typer.echo(f"{made.images:,} images{resumed}, {made.width:,} features each, in {printable(made.path)}")
    error = Console(stderr=True, highlight=False, soft_wrap=True)
    for one in made.skipped[:_MAX_SKIPPED]:
        error.print(f"[yellow]skipped[/] {escape(printable(one.file))}: {escape(one.why)}")
    if len(made.skipped) > _MAX_SKIPPED:
        error.print(f"[yellow]skipped[/] {len(made.skipped) - _MAX_SKIPPED:,} more files")
