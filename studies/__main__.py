"""``python -m studies``."""

import sys
from pathlib import Path

from studies.collecting import collect, commit_of
from studies.rendering import PAGES, rendered


def main(words: list[str]) -> None:
    """Collects or renders."""
    match words:
        case ["collect", name, command, *folders] if folders:
            print(collect(name, [Path(f) for f in folders], command, commit_of(Path(__file__).parent)))
        case ["render"]:
            for page in PAGES:
                page.write_text(rendered(page.read_text(encoding="utf-8")), encoding="utf-8")
        case _:
            sys.exit("usage: python -m studies collect NAME COMMAND RUNS… | python -m studies render")


if __name__ == "__main__":
    main(sys.argv[1:])
