"""Tables in four formats, with any text in them."""

import csv
import io
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from versionspace.report.document import Column, Table
from versionspace.report.statistics import Interval, SampleMean
from versionspace.report.tables import as_csv, as_html, as_latex, as_markdown, format_value

NASTY = [
    "<script>alert(1)</script>",
    "a & b | c_d $x$ 50% #1 ~^\\ {}",
    "quote \" and ' here",
    "line\nbreak, comma",
    "é–ü²",
]


def nasty():
    rows = tuple((text, SampleMean(1.5, 0.25, 3), Interval(-0.5, 2.0), None) for text in NASTY)
    columns = (
        Column("class & <b>"), Column("accuracy (%)", kind=SampleMean),
        Column("difference", signed=True, kind=Interval), Column("p", kind=float),
    )  # fmt: skip
    return Table("nasty", "50% of <i> & $y_1$.", columns, rows, frozenset({(0, 1)}), frozenset({0, 4}))


class Reader(HTMLParser):
    """Collects tags and text, and checks that tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


def test_html_is_balanced_and_escaped():
    reader = Reader()
    reader.feed(as_html(nasty()))
    assert reader.open == []
    assert "script" not in reader.tags
    assert "<script>alert(1)</script>" in "".join(reader.cells)
    assert reader.tags.count("tr") == 6
    assert reader.tags.count("strong") == 1


def test_csv_reads_back_at_full_precision():
    rows = list(csv.DictReader(io.StringIO(as_csv(nasty()))))
    assert [row["class & <b>"] for row in rows] == NASTY
    assert rows[0]["accuracy (%) mean"] == "1.5"
    assert rows[0]["accuracy (%) deviation"] == "0.25"
    assert rows[0]["accuracy (%) n"] == "3"
    assert rows[0]["difference low"] == "-0.5"
    assert rows[0]["p"] == ""


def test_markdown_has_the_same_number_of_cells_in_every_row():
    lines = [line for line in as_markdown(nasty()).splitlines() if line.startswith("|")]
    assert len(lines) == 7
    for line in lines:
        assert line.replace("\\\\", "").replace("\\|", "").count("|") == 5
    assert "**1.50 ± 0.25**" in lines[2]


def test_latex_is_balanced_and_compiles_if_latex_is_installed(tmp_path):
    text = as_latex(nasty())
    bare = text.replace("\\\\", "").replace("\\{", "").replace("\\}", "")
    assert bare.count("{") == bare.count("}")
    assert bare.replace("\\$", "").count("$") % 2 == 0
    for line in text.splitlines():
        if line.endswith("\\\\"):
            assert line.replace("\\&", "").count("&") == 3
    assert text.count("\\hdashline\n") == 1  # not below the last row
    if program := shutil.which("pdflatex"):
        (tmp_path / "table.tex").write_text(text)
        document = "\\documentclass{article}\\begin{document}\\input{table.tex}\\input{table.tex}\\end{document}"
        (tmp_path / "all.tex").write_text(document)
        result = subprocess.run(
            [program, "-interaction=nonstopmode", "-halt-on-error", "all.tex"], cwd=tmp_path, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout[-2000:]


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (SampleMean(5.0, None, 1), Column("", kind=SampleMean), "5.00"),
        (SampleMean(-0.001, 0.1, 2), Column("", signed=True, kind=SampleMean), "0.00 ± 0.10"),
        (0.5, Column("", signed=True, digits=1, kind=float), "+0.5"),
        (1234, Column("", kind=float), "1,234"),
        (None, Column(""), "–"),
        (Interval(-1.0, 1.0), Column("", digits=0, signed=True, kind=Interval), "−1 to +1"),
    ],
)
def test_format_value(value, column, text):
    assert format_value(value, column) == text
