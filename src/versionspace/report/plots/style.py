"""How figures look: colours, the line style of each query method, and rendering to SVG and PNG.

A method has the same style in every figure. The nine hues follow Okabe and Ito 2008, moved apart so that the paper's
nine methods stay distinct with any colour-vision deficiency, at a contrast of at least 3:1 on white and on the page's
dark background. All methods differ in dash and marker as well, so that they stay distinct in greyscale print.
"""

import html
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from versionspace.extras import require
from versionspace.query import TABLE
from versionspace.report.document import Figure

Dash: TypeAlias = str | tuple[int, tuple[float, ...]]

INK, MUTED, GRID, PAPER, NIGHT = "#1f2328", "#6b7179", "#d5d9de", "#ffffff", "#15181c"
"""Text and axes, secondary text, grid lines; the background of the page in light and in dark mode."""


@dataclass(frozen=True)
class Hue:
    """A colour on a light and on a dark background."""

    light: str
    dark: str


HUES: dict[str, Hue] = {
    "ink": Hue("#444444", "#c4c4c4"),
    "orange": Hue("#c98400", "#e29e14"),
    "olive": Hue("#8a9744", "#eae522"),
    "sky": Hue("#1d99e3", "#00a1e1"),
    "green": Hue("#118255", "#00e699"),
    "brown": Hue("#542002", "#9a6e46"),
    "blue": Hue("#283691", "#3f6fd6"),
    "vermilion": Hue("#b54600", "#d1481a"),
    "pink": Hue("#c479b3", "#ffbdff"),
}

SOLID: Dash = "-"
DASHED: Dash = (0, (5.0, 2.0))
DOTTED: Dash = (0, (1.2, 1.6))
DASH_DOT: Dash = (0, (6.0, 1.6, 1.2, 1.6))
LONG_DASH: Dash = (0, (9.0, 2.0))
DASH_DOT_DOT: Dash = (0, (6.0, 1.6, 1.2, 1.6, 1.2, 1.6))


@dataclass(frozen=True)
class LineStyle:
    """The hue, dash pattern and marker of a line."""

    hue: str
    dash: Dash
    marker: str

    @property
    def colour(self) -> str:
        """The colour on white. On the page, `inline_svg` replaces it by a variable that follows light and dark mode."""
        return HUES[self.hue].light


METHOD_STYLES: dict[str, LineStyle] = {
    "random": LineStyle("ink", DASHED, "o"),
    "vr": LineStyle("orange", SOLID, "^"),
    "ge": LineStyle("olive", SOLID, "v"),
    "bald": LineStyle("sky", SOLID, "s"),
    "coreset": LineStyle("green", SOLID, "D"),
    "dfal": LineStyle("brown", SOLID, "P"),
    "pwd": LineStyle("blue", SOLID, "X"),
    "gvd": LineStyle("vermilion", SOLID, "o"),
    "m2-pwd": LineStyle("pink", SOLID, "*"),
    "m-pwd": LineStyle("blue", DASHED, "d"),
    "m-gvd": LineStyle("vermilion", DASHED, "p"),
    "gvd-loo": LineStyle("vermilion", DOTTED, "h"),
    "gvd-batch": LineStyle("vermilion", DASH_DOT, "8"),
    "entropy": LineStyle("sky", DASHED, "<"),
    "margin": LineStyle("sky", DOTTED, ">"),
    "least-confidence": LineStyle("sky", DASH_DOT, "H"),
    "vote-entropy": LineStyle("olive", DASHED, "^"),
    "batchbald": LineStyle("brown", DASHED, "s"),
    "power-bald": LineStyle("brown", DASH_DOT, "s"),
    "epig": LineStyle("pink", DASHED, "*"),
    "badge": LineStyle("green", DASHED, "D"),
    "maxherding": LineStyle("green", DOTTED, "P"),
    "uherding": LineStyle("green", DASH_DOT, "X"),
    "pwd-cover": LineStyle("blue", DOTTED, "X"),
    "gvd-cover": LineStyle("orange", DASHED, "P"),
    "probcover": LineStyle("pink", DOTTED, "*"),
    "typiclust": LineStyle("brown", DOTTED, "v"),
}
"""Styles of the built-in methods; `method_style` derives one for any other method."""

_SPARE_HUES = ("green", "pink", "orange", "brown", "sky", "olive", "blue", "vermilion", "ink")
_SPARE_DASHES = (LONG_DASH, DASH_DOT_DOT)
"""No row of `METHOD_STYLES` has one of these dashes, so a derived style differs from all of them even in greyscale."""
_SPARE_MARKERS = ("s", "^", "o", "D", "v", "P", "X", "<", ">", "d", "p", "h", "*")

STAGE_HUES: tuple[str, ...] = ("pink", "sky", "green", "orange", "vermilion")
"""The stages of a run, first to last: close to the paper's purple, blue, green, orange and red."""


def method_style(method: str) -> LineStyle:
    """Return how a method is drawn.

    A method without a row in `METHOD_STYLES` gets a style derived from its position among such methods in the live
    table of query methods. The first 26 of them differ in dash and marker, the first 234 in hue, dash or marker.
    """
    if method in METHOD_STYLES:
        return METHOD_STYLES[method]
    position = [name for name in TABLE if name not in METHOD_STYLES].index(method)
    cycle, position_in_cycle = divmod(position, len(_SPARE_DASHES) * len(_SPARE_MARKERS))
    return LineStyle(
        hue=_SPARE_HUES[(position_in_cycle + cycle) % len(_SPARE_HUES)],
        dash=_SPARE_DASHES[position_in_cycle % len(_SPARE_DASHES)],
        marker=_SPARE_MARKERS[position_in_cycle % len(_SPARE_MARKERS)],
    )


def method_label(method: str) -> str:
    """Return the name of a method as the literature writes it.

    >>> method_label("m2-pwd")
    'M²-PWD'
    """
    return TABLE[method].label


DPI = 200
_SETTINGS: dict[str, Any] = {
    "font.size": 9, "axes.titlesize": 10, "axes.labelsize": 9, "legend.fontsize": 9,
    "xtick.labelsize": 8.5, "ytick.labelsize": 8.5, "axes.titlelocation": "left", "axes.titlepad": 8,
    "text.color": INK, "axes.labelcolor": INK, "axes.titlecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.edgecolor": MUTED, "axes.linewidth": 0.8, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": GRID, "grid.linewidth": 0.6, "axes.facecolor": "none",
    "figure.facecolor": "none", "legend.frameon": False, "lines.linewidth": 1.6, "lines.markersize": 5,
    "hatch.linewidth": 0.6, "text.parse_math": False, "svg.fonttype": "path", "svg.hashsalt": "versionspace",
}  # fmt: skip

_FALLBACK_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Droid Sans Fallback", "PingFang SC", "Hiragino Sans",
    "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Noto Sans Arabic", "Noto Sans Devanagari",
    "Noto Sans Thai", "Arial Unicode MS",
)  # fmt: skip
"""Used after matplotlib's own font if installed: class names may be in any script."""


def draw_figure(name: str, size: tuple[float, float], draw: Callable[[Any], None], *, caption: str, alt: str) -> Figure:
    """Call ``draw`` with an empty matplotlib figure of this size in inches and return it rendered.

    The bytes are reproducible: the user's matplotlib settings, global figures and the date have no effect.
    """
    style = require("matplotlib.style")
    with style.context(["default", _SETTINGS | {"font.family": _font_families()}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # drawn as boxes; tables have the text
        figure = require("matplotlib.figure").Figure(figsize=size, layout="constrained")
        require("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
        draw(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, so that both files have the same layout
        text, png = io.StringIO(), io.BytesIO()
        no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=no_metadata, facecolor="none")
        figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None}, facecolor=PAPER)
    svg = text.getvalue()
    return Figure(name, caption, alt, svg=_add_background(svg), inline=inline_svg(svg, name, alt), png=png.getvalue())


def inline_svg(svg: str, name: str, alt: str) -> str:
    """Return an SVG for use inside a page: unique ids, no size, no namespaces, colours that follow light and dark."""
    body = svg[svg.index("<svg") :]
    body = re.sub(
        r"<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>",
        rf'<svg \1 role="img" aria-label="{_escape_attribute(alt)}">',
        body,
        count=1,
    )
    body = re.sub(r' id="([^"]+)"', rf' id="{name}-\1"', body)
    body = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = body.replace("xlink:href=", "href=")  # embedded images
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    for hue, colours in HUES.items():
        body = body.replace(colours.light, f"var(--{hue})")
    return body.replace(INK, "currentColor").replace(MUTED, "var(--muted)").replace(GRID, "var(--grid)")


def _font_families() -> list[str]:
    """Return fonts in order of preference. The first ships with matplotlib, so most figures are the same everywhere."""
    installed = {font.name for font in require("matplotlib.font_manager").fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _FALLBACK_FONTS if name in installed)]


def _add_background(svg: str) -> str:
    start = svg.index(">", svg.index("<svg")) + 1
    return f'{svg[:start]}\n <rect width="100%" height="100%" fill="{PAPER}"/>{svg[start:]}'


def _escape_attribute(text: str) -> str:
    """Escape for an HTML attribute, and backslashes for `re.sub`."""
    return html.escape(text, quote=True).replace("\\", "\\\\")
