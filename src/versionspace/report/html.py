"""The page: one HTML file that loads nothing else, rendered from page.html.jinja and page.css."""

from importlib import resources

from versionspace._version import __version__
from versionspace.extras import require
from versionspace.report.document import Block, Document, Figure, Table
from versionspace.report.plots.style import GRID, HUES, INK, MUTED, NIGHT, PAPER
from versionspace.report.tables import as_html

_FOLDER = resources.files("versionspace.report")


def render_page(document: Document) -> str:
    """Return the report as HTML. The template escapes all text; tables and figures are escaped already."""
    jinja = require("jinja2")
    environment = jinja.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja.StrictUndefined
    )
    markup = require("markupsafe").Markup
    environment.filters |= {
        "kind": _kind,
        "as_html": lambda table: markup(as_html(table)),
        "inline": lambda figure: markup(figure.inline),
    }
    template = environment.from_string((_FOLDER / "page.html.jinja").read_text(encoding="utf-8"))
    text: str = template.render(document=document, style=markup(stylesheet()), version=__version__)
    return text


def stylesheet() -> str:
    """Return page.css with the colours of the figures as variables, for light and dark mode."""
    light = {name: hue.light for name, hue in HUES.items()}
    light |= {"text": INK, "muted": MUTED, "grid": GRID, "background": PAPER}
    dark = {name: hue.dark for name, hue in HUES.items()}
    dark |= {"text": "#e6e8ea", "muted": "#a2a9b2", "grid": "#343a42", "background": NIGHT}
    rules = (_FOLDER / "page.css").read_text(encoding="utf-8")
    return (
        f":root{{{_variables(light)}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{_variables(dark)}}}}}\n{rules}"
    )


def _variables(values: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in values.items())


def _kind(block: Block) -> str:
    return "table" if isinstance(block, Table) else "figure" if isinstance(block, Figure) else "note"
