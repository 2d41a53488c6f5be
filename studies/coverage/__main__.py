"""``python -m studies.coverage``."""

import sys
from pathlib import Path

from studies import coverage
from studies.coverage import features, first_images, report, results, scenarios, scratch, variants


def main(words: list[str]) -> None:
    """Run one command: features, first, run, scratch, variants, collect or render."""
    match words:
        case ["features", folder]:
            features.write_all(Path(folder) / "features")
        case ["run", folder, *rest]:
            jobs = int(rest[1]) if rest[:1] == ["--jobs"] else 1
            scenarios.run_all(Path(folder), jobs, known=results.known_campaigns())
        case ["first", folder]:
            print(first_images.measure(Path(folder) / "features"))
        case ["variants", folder]:
            print(variants.measure(Path(folder) / "features"))
        case ["scratch", folder, *rest]:
            scratch.run_all(Path(folder) / "scratch", jobs=int(rest[1]) if rest[:1] == ["--jobs"] else 1)
        case ["collect", folder]:
            print(results.collect(Path(folder)))
            print(scratch.collect(Path(folder) / "scratch"))
        case ["render"]:
            print(report.render())
        case _:
            sys.exit(coverage.__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
