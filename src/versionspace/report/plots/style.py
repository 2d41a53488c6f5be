"""From drawing instructions to bytes that are the same every time: SVG for files and for the page, and PNG.

Colours, lines and markers: the same method looks the same everywhere.

Nine hues after Okabe and Ito 2008, moved apart so that the paper's nine methods stay distinct to people who see no red,
no green or no blue, at a contrast of at least 3 to 1 on white and on the page's dark ground. Methods that share a hue
differ in line and marker, and so do all of them in grey print.
"""

import html
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from versionspace.extras import require
from versionspace.query.methods import METHODS, TABLE
from versionspace.report.document import Figure

Dash: TypeAlias = str | tuple[int, tuple[float, ...]]

INK, MUTED, GRID, PAPER, NIGHT = "#1f2328", "#6b7179", "#d5d9de", "#ffffff", "#15181c"
"""Text and axes, lesser text, grid lines; and the grounds of the page, light and dark."""


@dataclass(frozen=True)
class Hue:
    """A colour on a light and on a dark ground."""

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
MIXED: Dash = (0, (6.0, 1.6, 1.2, 1.6))


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    hue: str
    dash: Dash
    marker: str

    @property
    def colour(self) -> str:
        """On white; the page puts the dark one in its place."""
        return HUES[self.hue].light


LOOKS: dict[str, Look] = {
    "random": Look("ink", DASHED, "o"),
    "vr": Look("orange", SOLID, "^"),
    "ge": Look("olive", SOLID, "v"),
    "bald": Look("sky", SOLID, "s"),
    "coreset": Look("green", SOLID, "D"),
    "dfal": Look("brown", SOLID, "P"),
    "pwd": Look("blue", SOLID, "X"),
    "gvd": Look("vermilion", SOLID, "o"),
    "m2-pwd": Look("pink", SOLID, "*"),
    "m-pwd": Look("blue", DASHED, "d"),
    "m-gvd": Look("vermilion", DASHED, "p"),
    "gvd-loo": Look("vermilion", DOTTED, "h"),
    "gvd-batch": Look("vermilion", MIXED, "8"),
    "entropy": Look("sky", DASHED, "<"),
    "margin": Look("sky", DOTTED, ">"),
    "least-confidence": Look("sky", MIXED, "H"),
    "vote-entropy": Look("olive", DASHED, "^"),
    "batchbald": Look("brown", DASHED, "s"),
    "badge": Look("green", DASHED, "D"),
}
"""One row a query method."""

STAGES: tuple[str, ...] = ("pink", "sky", "green", "orange", "vermilion")
"""Of a run, first to last, near the paper's purple, blue, green, orange and red."""

assert tuple(LOOKS) == METHODS, "a look for every method, in their order"


def label(method: str) -> str:
    """As the literature writes it.

    >>> label("m2-pwd")
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

_OTHER_SCRIPTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Droid Sans Fallback", "PingFang SC", "Hiragino Sans",
    "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Noto Sans Arabic", "Noto Sans Devanagari",
    "Noto Sans Thai", "Arial Unicode MS",
)  # fmt: skip
"""Asked after matplotlib's own font, where they are installed: a class may be named in any script."""


def fonts() -> list[str]:
    """Families to look for a letter in; the first comes with matplotlib, so most figures are the same everywhere."""
    installed = {font.name for font in require("matplotlib.font_manager").fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _OTHER_SCRIPTS if name in installed)]


def drawn(name: str, size: tuple[float, float], draw: Callable[[Any], None], *, caption: str, alt: str) -> Figure:
    """Calls ``draw`` with an empty matplotlib figure of this size in inches, and keeps what it drew.

    The user's own matplotlib settings play no part, no global figure is made, and no date is written.
    """
    style = require("matplotlib.style")
    with style.context(["default", _SETTINGS | {"font.family": fonts()}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # boxes then; tables have the name
        figure = require("matplotlib.figure").Figure(figsize=size, layout="constrained")
        require("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
        draw(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, so that both files have the same layout
        text, png = io.StringIO(), io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=nothing, facecolor="none")
        figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None}, facecolor=PAPER)
    svg = text.getvalue()
    return Figure(name, caption, alt, svg=_on_white(svg), inline=inlined(svg, name, alt), png=png.getvalue())


def inlined(svg: str, name: str, alt: str) -> str:
    """An SVG for inside a page: ids of its own, no size, no namespaces, and colours that follow light and dark."""
    body = svg[svg.index("<svg") :]
    body = re.sub(
        r"<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>", rf'<svg \1 role="img" aria-label="{_quoted(alt)}">', body, count=1
    )
    body = re.sub(r' id="([^"]+)"', rf' id="{name}-\1"', body)
    body = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = body.replace("xlink:href=", "href=")  # embedded pictures
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    for hue, colours in HUES.items():
        body = body.replace(colours.light, f"var(--{hue})")
    return body.replace(INK, "currentColor").replace(MUTED, "var(--muted)").replace(GRID, "var(--grid)")


def _on_white(svg: str) -> str:
    start = svg.index(">", svg.index("<svg")) + 1
    return f'{svg[:start]}\n <rect width="100%" height="100%" fill="{PAPER}"/>{svg[start:]}'


def _quoted(text: str) -> str:
    return html.escape(text, quote=True).replace("\\", "\\\\")
