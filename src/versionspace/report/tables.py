"""Tables as HTML, CSV, Markdown and LaTeX. All text is escaped: class names may contain anything."""

import csv
import html
import io
import re
from collections.abc import Callable

from versionspace.report.document import Column, Table, Value
from versionspace.report.statistics import Interval, SampleMean

NO_VALUE = "–"
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "“": "``", "”": "''", "’": "'", "±": r"$\pm$", "−": "$-$", "×": r"$\times$",
    "²": "$^2$", "–": "--", "…": r"\ldots{}", "≤": r"$\le$", "≥": r"$\ge$", "·": r"$\cdot$",
}  # fmt: skip


def format_value(value: Value, column: Column) -> str:
    """Return a cell as text.

    >>> format_value(SampleMean(93.468, 0.381, 4), Column("accuracy"))
    '93.47 ± 0.38'
    >>> format_value(-1.5, Column("difference", digits=1, signed=True))
    '−1.5'
    """
    if value is None:
        return NO_VALUE
    if isinstance(value, SampleMean):
        mean = _number(value.mean, column)
        return mean if value.deviation is None else f"{mean} ± {value.deviation:.{column.digits}f}"
    if isinstance(value, Interval):
        return f"{_number(value.low, column)} to {_number(value.high, column)}"
    if isinstance(value, float):
        return _number(value, column)
    return f"{value:,}" if isinstance(value, int) else value


def as_csv(table: Table) -> str:
    """Return CSV at full precision. A mean has three columns, an interval two; a missing value is an empty cell.

    >>> columns = (Column("method"), Column("accuracy", kind=SampleMean))
    >>> table = Table("t", "", columns, (("gvd", SampleMean(0.5, None, 1)),))
    >>> print(as_csv(table))
    method,accuracy mean,accuracy deviation,accuracy n
    gvd,0.5,,1
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in _csv_names(column)])
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        writer.writerow([cell for value, column in cells for cell in _csv_cells(value, column)])
    return out.getvalue()


def as_markdown(table: Table) -> str:
    """Return a Markdown table: numbers right-aligned, the best values bold.

    >>> print(as_markdown(Table("t", "A caption.", (Column("a|b"), Column("n", kind=float)), (("<x>", 1.0),))))
    | a\\|b | n |
    |---|--:|
    | \\<x\\> | 1.00 |
    <BLANKLINE>
    A caption.
    <BLANKLINE>
    """
    lines = [_piped([_markdown(column.title) for column in table.columns])]
    lines.append("|" + "|".join("---" if column.kind is str else "--:" for column in table.columns) + "|")
    for i, row in enumerate(table.rows):
        lines.append(_piped(_cells(table, i, row, _markdown, "**{}**")))
    return "\n".join([*lines, "", _markdown(table.caption), ""])


def as_latex(table: Table) -> str:
    r"""Return a LaTeX ``tabular`` in the style of the paper. Needs no package; arydshln makes the group rules dashed.

    >>> print(as_latex(Table("t", "50%", (Column("m"), Column("n", kind=float)), (("M²-PWD", 1.0),))))
    % Load arydshln for dashed rules between groups.
    \providecommand{\hdashline}{\hline}
    \begin{table}
    \caption{50\%}
    \begin{center}
    \begin{tabular}{l|c}
    \hline
    m & n \\
    \hline
    M$^2$-PWD & 1.00 \\
    \hline
    \end{tabular}
    \end{center}
    \end{table}
    """
    lines = [
        r"% Load arydshln for dashed rules between groups.", r"\providecommand{\hdashline}{\hline}",
        r"\begin{table}", rf"\caption{{{_latex(table.caption)}}}", r"\begin{center}",
        rf"\begin{{tabular}}{{{'|'.join('l' if i == 0 else 'c' for i in range(len(table.columns)))}}}", r"\hline",
        " & ".join(_latex(column.title) for column in table.columns) + r" \\", r"\hline",
    ]  # fmt: skip
    for i, row in enumerate(table.rows):
        lines.append(" & ".join(_cells(table, i, row, _latex, r"\textbf{{{}}}")) + r" \\")
        if i in table.rules and i + 1 < len(table.rows):
            lines.append(r"\hdashline")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", r"\end{center}", r"\end{table}", ""])


def as_html(table: Table) -> str:
    """Return a ``<table>`` without inline styles. The page holds its caption, with the id ``caption-NAME``.

    >>> "&lt;script&gt;" in as_html(Table("t", "", (Column("class"),), (("<script>",),)))
    True
    """
    kinds = ["" if column.kind is str else ' class="number"' for column in table.columns]
    head = "".join(
        f'<th scope="col"{kind}>{html.escape(column.title)}</th>'
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    body = []
    for i, row in enumerate(table.rows):
        cells = _cells(table, i, row, html.escape, "<strong>{}</strong>")
        first, rest = cells[0], cells[1:]
        tags = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds[1:], rest, strict=True))
        rule = ' class="rule"' if i in table.rules else ""
        body.append(f'<tr{rule}><th scope="row">{first}</th>{tags}</tr>')
    named = f' aria-labelledby="caption-{html.escape(table.name)}"'
    return f"<table{named}><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _cells(table: Table, i: int, row: tuple[Value, ...], escape: Callable[[str], str], strong: str) -> list[str]:
    out = []
    for j, (value, column) in enumerate(zip(row, table.columns, strict=True)):
        text = escape(format_value(value, column))
        out.append(strong.format(text) if (i, j) in table.bold else text)
    return out


def _number(value: float, column: Column) -> str:
    text = f"{value:+.{column.digits}f}" if column.signed else f"{value:.{column.digits}f}"
    if float(text) == 0:  # no sign before 0.00
        text = text.lstrip("+-")
    return text.replace("-", "−")


def _csv_names(column: Column) -> list[str]:
    more = {SampleMean: ("mean", "deviation", "n"), Interval: ("low", "high")}.get(column.kind)
    return [f"{column.title} {word}" for word in more] if more else [column.title]


def _csv_cells(value: Value, column: Column) -> list[str | int | float | None]:
    if column.kind is SampleMean:
        if isinstance(value, SampleMean):
            return [value.mean, value.deviation, value.count]
        return [_plain(value), None, None]
    if column.kind is Interval:
        return [value.low, value.high] if isinstance(value, Interval) else [_plain(value), None]
    return [_plain(value)]


def _plain(value: Value) -> str | int | float | None:
    assert not isinstance(value, SampleMean | Interval), "the kind of the column is the type of its values"
    return value


def _piped(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))
