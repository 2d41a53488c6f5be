"""``python -m studies``."""

import sys
from pathlib import Path

from studies import first_queries
from studies.curves import draw, figures_in
from studies.measurements import collect, commit_of
from studies.pages import PAGES, render


def main(words: list[str]) -> None:
    """Run one command: collect, add, asked or render."""
    match words:
        case ["collect" | "add" as how, name, command, code, *folders] if folders:
            named = dict(f.split("=", 1) for f in folders if "=" in f)
            given = {label: Path(f) for label, f in named.items()} or [Path(f) for f in folders]
            print(collect(name, given, command, commit_of(Path(), code), add=how == "add"))
        case ["asked", name, command, code, *folders] if folders:
            print(first_queries.collect(name, [Path(f) for f in folders], command, commit_of(Path(), code)))
        case ["render"]:
            for page in PAGES:
                text = page.read_text(encoding="utf-8")
                page.write_text(render(text, page), encoding="utf-8")
                for name in figures_in(text):
                    print(draw(name))
        case _:
            sys.exit(
                "usage: python -m studies collect NAME COMMAND COMMIT RUNS…   write studies/NAME.json\n"
                "       python -m studies add NAME COMMAND COMMIT RUNS…       add campaigns to studies/NAME.json\n"
                "       python -m studies asked NAME COMMAND COMMIT RUNS…     describe the first queries\n"
                "       python -m studies render                              render all pages and figures\n"
                "RUNS may be LABEL=RUNS to compare variants."
            )


if __name__ == "__main__":
    main(sys.argv[1:])
