"""Colours that everybody can tell apart."""

from itertools import combinations

import numpy as np
import pytest

from versionspace.query.methods import METHODS
from versionspace.report.paper import GROUPS
from versionspace.report.plots.style import HUES, INK, LOOKS, MUTED, NIGHT, PAPER, STAGES

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHT = {
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


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("ground", ["light", "dark"])
def test_the_papers_methods_are_distinct_to_everybody(sight, ground):
    names = [name for group in GROUPS for name in group]
    seen = {n: lab(np.clip(np.array(SIGHT[sight]) @ linear(getattr(HUES[LOOKS[n].hue], ground)), 0, 1)) for n in names}
    nearest = min((np.linalg.norm(seen[a] - seen[b]), a, b) for a, b in combinations(names, 2))
    assert nearest[0] > 15, nearest


@pytest.mark.parametrize("hue", HUES)
def test_every_hue_stands_out_from_its_ground(hue):
    assert contrast(HUES[hue].light, PAPER) >= 3
    assert contrast(HUES[hue].dark, NIGHT) >= 3


def test_text_stands_out_from_its_ground():
    assert contrast(INK, PAPER) >= 7
    assert contrast(MUTED, PAPER) >= 4.5


def test_every_method_has_a_look_of_its_own_even_in_grey():
    assert tuple(LOOKS) == METHODS
    assert len({(look.dash, look.marker) for look in LOOKS.values()}) == len(METHODS)


def test_stages_have_hues_of_their_own():
    assert len(set(STAGES)) == 5
    assert set(STAGES) <= set(HUES)
