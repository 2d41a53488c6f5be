"""The page: one HTML file that loads nothing, made from a template and a stylesheet beside this file."""

from importlib import resources

from versionspace._version import __version__
from versionspace.extras import require
from versionspace.report.document import Block, Figure, Report, Table
from versionspace.report.plots.style import GRID, HUES, INK, MUTED, NIGHT, PAPER
from versionspace.report.tables import as_html

_FOLDER = resources.files("versionspace.report")


def page(report: Report) -> str:
    """The whole report as HTML. Text is escaped by the template; tables and figures come escaped."""
    jinja = require("jinja2")
    environment = jinja.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja.StrictUndefined
    )
    safe = require("markupsafe").Markup
    environment.filters |= {
        "kind": _kind,
        "as_html": lambda table: safe(as_html(table)),
        "inline": lambda figure: safe(figure.inline),
    }
    template = environment.from_string((_FOLDER / "page.html.jinja").read_text(encoding="utf-8"))
    text: str = template.render(report=report, style=safe(stylesheet()), version=__version__)
    return text


def stylesheet() -> str:
    """The colours of the table of looks, light and dark, and the rules of page.css."""
    light = {name: hue.light for name, hue in HUES.items()} | {
        "text": INK,
        "muted": MUTED,
        "grid": GRID,
        "ground": PAPER,
    }
    dark = {name: hue.dark for name, hue in HUES.items()}
    dark |= {"text": "#e6e8ea", "muted": "#a2a9b2", "grid": "#343a42", "ground": NIGHT}
    rules = (_FOLDER / "page.css").read_text(encoding="utf-8")
    return (
        f":root{{{_variables(light)}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{_variables(dark)}}}}}\n{rules}"
    )


def _variables(values: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in values.items())


def _kind(block: Block) -> str:
    return "table" if isinstance(block, Table) else "figure" if isinstance(block, Figure) else "sentence"
