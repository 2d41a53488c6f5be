"""Compare query methods on a dataset: run campaigns, print their results and write a report.

Run with: python examples/compare_methods.py [FOLDER]         (default: a temporary folder, deleted at the end)
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import versionspace as vs
import versionspace.report

METHODS = ["random", "gvd", "gvd-batch"]

# The preset `demo` labels 100 of 1,000 handwritten digits with ten members. These changes make it take seconds; without
# them it takes a minute or two. `versionspace presets` lists the other presets, the paper's experiments among them.
QUICK = ["ensemble.members=5", "training.epochs=50", "query.size=20", "budget.total=70"]


def main(work):
    """Run each method with two random seeds."""
    # Methods with the same seed start from the same labels and the same first ensemble, so differences are paired by
    # seed. Interrupted at any time, the same call resumes; `jobs=2` runs two campaigns at a time, with equal results.
    run = vs.run("demo", methods=METHODS, seeds=[0, 1], changes=QUICK, out=work / "runs", progress=False)

    accuracy = {method: [] for method in METHODS}
    for campaign in run.campaigns():
        accuracy[campaign.method].append(campaign.measured_rounds()[-1].metrics.sets["test"].accuracy)
    for method in METHODS:
        gain = np.subtract(accuracy[method], accuracy["random"])
        print(f"{method:10} accuracy {100 * np.mean(accuracy[method]):.1f}%, minus random {100 * np.mean(gain):+.1f}")

    # Two seeds prove nothing: the report shows the intervals, and which differences so few seeds cannot show.
    page = versionspace.report.make(work / "runs", work / "report")
    print(f"report: {page}")


if len(sys.argv) > 1:
    main(Path(sys.argv[1]))
else:
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
