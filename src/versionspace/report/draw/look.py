"""Colours, lines and markers: the same method looks the same everywhere.

Nine hues after Okabe and Ito 2008, moved apart so that the paper's nine methods stay distinct to people who see no red,
no green or no blue, at a contrast of at least 3 to 1 on white and on the page's dark ground. Methods that share a hue
differ in line and marker, and so do all of them in grey print.
"""

from dataclasses import dataclass
from typing import TypeAlias

from versionspace.query.methods import METHODS, TABLE

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
