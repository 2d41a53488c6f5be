"""From drawing instructions to bytes that are the same every time: SVG for files and for the page, and PNG."""

import html
import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from versionspace.report.blocks import Figure
from versionspace.report.draw.look import GRID, HUES, INK, MUTED, PAPER
from versionspace.report.errors import needed

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
    installed = {font.name for font in needed("matplotlib.font_manager").fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _OTHER_SCRIPTS if name in installed)]


def drawn(name: str, size: tuple[float, float], draw: Callable[[Any], None], *, caption: str, alt: str) -> Figure:
    """Calls ``draw`` with an empty matplotlib figure of this size in inches, and keeps what it drew.

    The user's own matplotlib settings play no part, no global figure is made, and no date is written.
    """
    style = needed("matplotlib.style")
    with style.context(["default", _SETTINGS | {"font.family": fonts()}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # boxes then; tables have the name
        figure = needed("matplotlib.figure").Figure(figsize=size, layout="constrained")
        needed("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
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
