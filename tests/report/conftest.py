"""What the tests of reports share."""

import pytest


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are laid out but not rendered: for tests of what a report says."""
    from matplotlib.figure import Figure

    def savefig(self, file, *, format, **options):  # noqa: A002
        file.write('<svg viewBox="0 0 1 1"></svg>' if format == "svg" else b"")

    monkeypatch.setattr(Figure, "savefig", savefig)
    monkeypatch.setattr(Figure, "draw_without_rendering", lambda self: None)
