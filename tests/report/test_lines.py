"""Line plots."""

import numpy as np
import pytest

from versionspace.query.methods import METHODS
from versionspace.report.plots.lines import MAX_BANDS, Curve, Panel, line_figure
from versionspace.report.plots.style import method_style

pytest.importorskip("matplotlib")


def figure(count):
    x, middle = np.array([10, 20, 30]), np.array([50.0, 60, 70])
    curves = tuple(
        Curve(m, method_style(m), x, middle + n, middle + n - 3, middle + n + 3) for n, m in enumerate(METHODS[:count])
    )
    return line_figure("made-up", [Panel("Accuracy", "%", curves)], caption="", alt="")


@pytest.mark.parametrize(("count", "bands"), [(1, 1), (MAX_BANDS, MAX_BANDS), (MAX_BANDS + 1, 0), (len(METHODS), 0)])
def test_bands_are_drawn_only_for_few_lines(count, bands):
    assert figure(count).svg.count('id="FillBetweenPolyCollection_') == bands
