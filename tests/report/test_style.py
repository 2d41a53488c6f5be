"""Colours and line styles that all readers can tell apart."""

from itertools import combinations

import numpy as np
import pytest

from versionspace.query.methods import METHODS, TABLE
from versionspace.report.paper import METHOD_GROUPS
from versionspace.report.plots.style import (
    HUES,
    INK,
    METHOD_STYLES,
    MUTED,
    NIGHT,
    PAPER,
    STAGE_HUES,
    method_style,
)

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
COLOUR_VISION = {
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ rgb / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    light, dark = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("vision", COLOUR_VISION)
@pytest.mark.parametrize("background", ["light", "dark"])
def test_the_papers_methods_are_distinct_with_any_colour_vision(vision, background):
    names = [name for group in METHOD_GROUPS for name in group]
    seen = {
        n: lab(np.clip(np.array(COLOUR_VISION[vision]) @ linear(getattr(HUES[method_style(n).hue], background)), 0, 1))
        for n in names
    }
    nearest = min((np.linalg.norm(seen[a] - seen[b]), a, b) for a, b in combinations(names, 2))
    assert nearest[0] > 15, nearest


@pytest.mark.parametrize("hue", HUES)
def test_every_hue_has_enough_contrast(hue):
    assert contrast(HUES[hue].light, PAPER) >= 3
    assert contrast(HUES[hue].dark, NIGHT) >= 3


def test_text_has_enough_contrast():
    assert contrast(INK, PAPER) >= 7
    assert contrast(MUTED, PAPER) >= 4.5


def test_built_in_methods_are_distinct_in_greyscale():
    assert tuple(METHOD_STYLES) == METHODS
    assert len({(style.dash, style.marker) for style in METHOD_STYLES.values()}) == len(METHODS)


def test_new_methods_are_distinct_from_all_others(monkeypatch):
    new = [f"new-{number}" for number in range(100)]
    for name in new:
        monkeypatch.setitem(TABLE, name, None)
    styles = {name: method_style(name) for name in TABLE}
    assert [styles[name] for name in METHOD_STYLES] == list(METHOD_STYLES.values())
    assert len(set(styles.values())) == len(TABLE)
    few = [styles[name] for name in (*METHOD_STYLES, *new[:26])]
    assert len({(style.dash, style.marker) for style in few}) == len(few)
    assert {style.hue for style in styles.values()} <= set(HUES)


def test_a_new_method_keeps_its_style_when_another_follows(monkeypatch):
    monkeypatch.setitem(TABLE, "one", None)
    style = method_style("one")
    monkeypatch.setitem(TABLE, "another", None)
    assert method_style("one") == style != method_style("another")


def test_stages_have_distinct_hues():
    assert len(set(STAGE_HUES)) == 5
    assert set(STAGE_HUES) <= set(HUES)
