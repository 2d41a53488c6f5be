"""Fixtures for the tests of reports."""

import pytest


@pytest.fixture
def undrawn(monkeypatch):
    """Lay out figures without rendering them, for tests of tables and notes."""
    from matplotlib.figure import Figure

    def savefig(self, file, *, format, **options):  # noqa: A002
        file.write('<svg viewBox="0 0 1 1"></svg>' if format == "svg" else b"")

    monkeypatch.setattr(Figure, "savefig", savefig)
    monkeypatch.setattr(Figure, "draw_without_rendering", lambda self: None)


@pytest.fixture
def panels(monkeypatch):
    """Return the panels of all line figures by name, filled in as a report is built."""
    from versionspace.report.plots.lines import line_figure

    drawn = {}

    def record(name, panels, **options):
        drawn[name] = panels
        return line_figure(name, panels, **options)

    for module in ("curves", "datasets"):
        monkeypatch.setattr(f"versionspace.report.sections.{module}.line_figure", record)
    return drawn
