"""Curves over labels."""

import numpy as np
import pytest

from versionspace.query.methods import METHODS
from versionspace.report.plots.lines import BANDS, Curve, Panel, lines
from versionspace.report.plots.style import method_style

pytest.importorskip("matplotlib")


def drawn(count):
    x, middle = np.array([10, 20, 30]), np.array([50.0, 60, 70])
    curves = tuple(
        Curve(m, method_style(m), x, middle + n, middle + n - 3, middle + n + 3) for n, m in enumerate(METHODS[:count])
    )
    return lines("made-up", [Panel("Accuracy", "%", curves)], caption="", alt="")


@pytest.mark.parametrize(("count", "bands"), [(1, 1), (BANDS, BANDS), (BANDS + 1, 0), (len(METHODS), 0)])
def test_bands_are_drawn_while_they_do_not_cover_the_lines(count, bands):
    assert drawn(count).svg.count('id="FillBetweenPolyCollection_') == bands
