"""Tables and numbers between markers in Markdown files, from ``studies/*.json``.

A table is everything between ``<!-- study NAME TABLE -->`` (several studies: ``NAME,NAME,…``) and ``<!-- end -->``. A
number in a sentence is everything between ``<!-- n NAME COLUMN METHOD LABELS -->`` and ``<!-- / -->``.
"""

import re
from pathlib import Path

import numpy as np

from studies.tables import OF_MANY, OF_ONE
from studies.values import HERE, Study, differences, load, measured

PAGES = (HERE / "RESULTS.md", HERE.parent / "README.md")
_WITHIN = re.compile(r"(<!-- n (\S+) ([^>]+?) -->)(.*?)(<!-- / -->)", re.DOTALL)
_BETWEEN = re.compile(r"(<!-- study (\S+) (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def render(text: str, page: Path = PAGES[0]) -> str:
    """Return the text of a page with all tables and numbers rendered again."""

    def table(found: "re.Match[str]") -> str:
        studies = [load(name) for name in found[2].split(",")]
        for study in studies:
            study["figure"] = f"{'' if page == PAGES[0] else 'studies/'}figures/{study['name']}.svg"
        made = OF_MANY[found[3]](studies) if found[3] in OF_MANY else OF_ONE[found[3]](*studies)
        return f"{found[1]}{made}\n{found[5]}"

    def figure(found: "re.Match[str]") -> str:
        return f"{found[1]}{number(load(found[2]), *found[3].split())}{found[5]}"

    return _WITHIN.sub(figure, _BETWEEN.sub(table, text))


def number(study: Study, column: str, method: str, labels: str, variant: str = "") -> str:
    """Return one number of a sentence, in percent: the mean over seeds of a column, or of a difference paired by seed.

    ``method`` and ``variant`` name one, or a difference: A~B is A minus B. ``labels`` is a number of labels, "end", or
    "area" for the whole curve. In the name of a variant, _ stands for a space.
    """
    by_variant = {name: measured(study, column, labels, name.replace("_", " ")) for name in variant.split("~")}
    found = {(name, m): by_variant[name][m] for name in by_variant for m in method.split("~")}
    if len(found) == 1:
        return f"{100 * np.mean([n for by_seed in found.values() for n in by_seed.values()]):.1f}"
    return f"{100 * np.mean(differences(found, *found)):+.1f}"
