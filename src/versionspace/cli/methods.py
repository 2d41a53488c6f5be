"""``versionspace methods``: print the table of query methods as a table, as Markdown or as JSON."""

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from versionspace.query import TABLE, Method, find

LETTERS = (
    "M members · N images in the pool · T images in the reference set, T' of them where members differ "
    "(coverage: T images in a sample of the pool) · C classes · "
    "R classes that can win a vote there · K distinct sub-spaces V_x^y of s_y members · F features · "
    "L labelled images"
)
"""The letters in the formulas and costs of the table."""


PAYS = (
    "pays: labels a class from which on the method was ahead of random labels, with heads on features of pretrained "
    "networks, in the mean over six datasets (studies/coverage)"
)


class Form(StrEnum):
    """The output format."""

    table = "table"
    markdown = "markdown"
    json = "json"


def methods(
    name: Annotated[str | None, typer.Argument(help="Show only this method.")] = None,
    form: Annotated[Form, typer.Option("--as", help="Output format.")] = Form.table,
) -> None:
    """List the query methods, with the inputs, the utility and the cost of each.

    Example: versionspace methods gvd
    """
    chosen = list(TABLE.values()) if name is None else [find(name)]
    if form is Form.json:
        typer.echo(json.dumps([record(method) for method in chosen], ensure_ascii=False, indent=2))
    elif form is Form.markdown:
        typer.echo(markdown(chosen), nl=False)
    elif name is not None:
        _print_one(chosen[0])
    else:
        _print_all(chosen)


def record(method: Method) -> dict[str, str | bool | list[str]]:
    """Return a row of the table as data."""
    return {
        "name": method.name,
        "label": method.label,
        "family": method.family,
        "utility": method.formula,
        "needs": method.needs_in_words,
        "vote": method.takes_vote,
        "pointwise": method.pointwise,
        "paper": method.paper,
        "cost": method.cost,
        "pays": method.pays,
    }


def markdown(chosen: list[Method]) -> str:
    """Return the page docs/methods.md."""
    lines = [
        "# Query methods",
        "",
        "Generated from the table in `src/versionspace/query/methods.py` by `versionspace methods --as markdown`.",
        "",
        "A higher utility means *ask first*, for every method. The column *needs* lists the arguments of",
        "`versionspace.query` and `versionspace.utilities`. Methods marked *set* choose a batch greedily; all others",
        "score each image independently and also work in a `versionspace.Stream`. Methods marked *vote* accept",
        '`vote="soft"` or `"hard"`.',
        "",
        LETTERS,
        "",
        PAYS,
        "",
        "| name | family | utility | needs | paper | cost | pays |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in chosen:
        marks = [mark for mark, on in (("set", not method.pointwise), ("vote", method.takes_vote)) if on]
        family = method.family + (f" ({', '.join(marks)})" if marks else "")
        cells = [f"`{method.name}`", family, method.formula, method.needs_in_words, method.paper, method.cost,
                 method.pays or "–"]  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _print_one(method: Method) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    row = record(method)
    row["pointwise"] = "each image independently" if method.pointwise else "a set, greedily"
    row["vote"] = "soft or hard" if method.takes_vote else "–"
    for key, value in row.items():
        grid.add_row({"pointwise": "scores"}.get(key, key), escape(str(value)))
    console = Console()
    console.print(grid)
    console.print(f"\n[dim]{LETTERS}[/]")
    console.print(f"[dim]{PAYS}[/]")


def _print_all(chosen: list[Method]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("utility (higher: ask first)", ratio=1)
    table.add_column("needs", no_wrap=True)
    table.add_column("pays", no_wrap=True)
    family = ""
    for method in sorted(chosen, key=lambda m: [c.family for c in chosen].index(m.family)):
        if method.family != family:
            family = method.family
            table.add_row(f"[bold default]{family}[/]", "", "", "")
        table.add_row("  " + method.name, escape(method.formula), ", ".join(method.needs), method.pays)
    console = Console()
    console.print(table)
    console.print(f"\n[dim]{PAYS}[/]")
    console.print("[dim]versionspace methods NAME shows the inputs, the source and the cost of one method.[/]")
