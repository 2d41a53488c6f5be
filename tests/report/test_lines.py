"""Line plots."""

import numpy as np
import pytest

from versionspace.query.methods import METHODS
from versionspace.report.plots import lines
from versionspace.report.plots.lines import MAX_BANDS, Curve, Panel, line_figure
from versionspace.report.plots.style import method_style

Figure = pytest.importorskip("matplotlib.figure").Figure


def figure(count):
    x, middle = np.array([10, 20, 30]), np.array([50.0, 60, 70])
    curves = tuple(
        Curve(m, method_style(m), x, middle + n, middle + n - 3, middle + n + 3) for n, m in enumerate(METHODS[:count])
    )
    return line_figure("made-up", [Panel("Accuracy", "%", curves)], caption="", alt="")


@pytest.mark.parametrize(("count", "bands"), [(1, 1), (MAX_BANDS, MAX_BANDS), (MAX_BANDS + 1, 0), (len(METHODS), 0)])
def test_bands_are_drawn_only_for_few_lines(count, bands):
    assert figure(count).svg.count('id="FillBetweenPolyCollection_') == bands


@pytest.mark.parametrize("limits", [(None, None), (0.0, None)])
def test_panels_that_share_an_axis_show_the_values_of_all(limits, monkeypatch):
    seen = []
    monkeypatch.setattr(lines, "draw_figure", lambda name, size, draw, **_: seen.append(draw))
    x = np.array([10, 20, 30])
    panels = [
        Panel(title, "%", (Curve("random", method_style("random"), x, np.array(values)),), y_limits=limits)
        for title, values in (("narrow", [1.0, 2.0, 3.0]), ("wide", [-5.0, 0.0, 9.0]))
    ]
    line_figure("made-up", panels, caption="", alt="", share_y=True)
    drawn = Figure()
    seen[0](drawn)
    for axis in drawn.axes:
        low, high = axis.get_ylim()
        assert high >= 9
        assert low == 0 if limits[0] == 0 else low <= -5
