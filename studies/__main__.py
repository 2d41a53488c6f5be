"""``python -m studies``."""

import sys
from pathlib import Path

from studies import asked
from studies.collecting import collect, commit_of
from studies.drawing import draw, drawn_in
from studies.rendering import PAGES, rendered


def main(words: list[str]) -> None:
    """Collects or renders."""
    match words:
        case ["collect" | "add" as how, name, command, code, *folders] if folders:
            named = dict(f.split("=", 1) for f in folders if "=" in f)
            given = {label: Path(f) for label, f in named.items()} or [Path(f) for f in folders]
            print(collect(name, given, command, commit_of(Path(), code), add=how == "add"))
        case ["asked", name, command, code, *folders] if folders:
            print(asked.collect(name, [Path(f) for f in folders], command, commit_of(Path(), code)))
        case ["render"]:
            for page in PAGES:
                text = page.read_text(encoding="utf-8")
                page.write_text(rendered(text, page), encoding="utf-8")
                for name in drawn_in(text):
                    print(draw(name))
        case _:
            sys.exit(
                "usage: python -m studies collect NAME COMMAND COMMIT RUNS… (or LABEL=RUNS…, to compare variants)\n"
                "       python -m studies add …, the same: to what studies/NAME.json holds\n"
                "       python -m studies asked NAME COMMAND COMMIT RUNS…\n"
                "       python -m studies render"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
