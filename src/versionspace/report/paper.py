"""Published results of the paper: final accuracy and diameter on the test set, in percent, mean ± deviation over runs.

Source: Liu, Chiotellis, Triebel and Cremers, *Effective Version Space Reduction for Convolutional Neural Networks*,
2020: its tables "Accuracy on the test set in percentage" and "Diameter (pairwise disagreement) on the test set in
percentage". Four runs each, three on STL-10.

>>> PAPER["mnist"].labels, PAPER["mnist"].accuracy["gvd"]
(400, (97.02, 0.06))
"""

from collections.abc import Mapping
from dataclasses import dataclass

PublishedValue = tuple[float, float]
"""Mean and deviation, in percent."""

METHOD_GROUPS: tuple[tuple[str, ...], ...] = (
    ("random",),
    ("vr", "ge"),
    ("bald", "coreset", "dfal"),
    ("pwd", "gvd", "m2-pwd"),
)
"""The paper's methods, grouped as in its tables."""

SOURCE = "Liu et al. 2020"


@dataclass(frozen=True)
class PublishedResults:
    """The paper's results on one dataset."""

    title: str
    labels: int
    runs: int
    accuracy: Mapping[str, PublishedValue]
    diameter: Mapping[str, PublishedValue]


_METHODS = tuple(name for group in METHOD_GROUPS for name in group)


def _rows(*values: PublishedValue) -> dict[str, PublishedValue]:
    return dict(zip(_METHODS, values, strict=True))


PAPER: dict[str, PublishedResults] = {
    "mnist": PublishedResults(
        "MNIST", 400, 4,
        accuracy=_rows(
            (93.47, 0.38), (96.74, 0.15), (96.79, 0.10), (96.51, 0.22), (95.38, 0.28), (92.88, 1.19), (96.92, 0.12),
            (97.02, 0.06), (93.24, 0.09),
        ),
        diameter=_rows(
            (2.86, 0.18), (2.27, 0.18), (2.30, 0.04), (2.39, 0.15), (2.91, 0.18), (3.79, 0.60), (1.93, 0.04),
            (1.98, 0.05), (3.37, 0.13),
        ),
    ),
    "fashion-mnist": PublishedResults(
        "Fashion-MNIST", 1000, 4,
        accuracy=_rows(
            (83.90, 0.38), (83.05, 1.09), (80.01, 0.94), (84.67, 0.41), (79.08, 0.82), (85.38, 0.60), (85.92, 0.10),
            (86.01, 0.15), (84.33, 0.03),
        ),
        diameter=_rows(
            (7.55, 0.26), (10.64, 0.72), (11.38, 1.52), (8.11, 0.51), (10.79, 1.34), (7.06, 0.60), (6.91, 0.16),
            (6.98, 0.26), (7.22, 0.08),
        ),
    ),
    "svhn": PublishedResults(
        "SVHN", 3000, 4,
        accuracy=_rows(
            (85.60, 0.23), (63.23, 1.99), (64.08, 3.77), (85.26, 0.34), (84.91, 0.20), (86.34, 0.33), (86.41, 0.12),
            (86.44, 0.20), (85.42, 0.16),
        ),
        diameter=_rows(
            (13.13, 0.29), (46.88, 2.76), (44.87, 4.25), (16.58, 0.42), (14.66, 0.47), (13.98, 0.31), (12.80, 0.08),
            (12.88, 0.25), (13.31, 0.13),
        ),
    ),
    "stl10": PublishedResults(
        "STL-10", 2580, 3,
        accuracy=_rows(
            (58.15, 0.54), (59.13, 0.21), (58.84, 0.34), (57.35, 0.64), (58.93, 0.33), (58.81, 0.37), (59.45, 0.11),
            (59.33, 0.37), (57.81, 0.20),
        ),
        diameter=_rows(
            (32.88, 0.43), (34.21, 0.08), (34.25, 0.09), (33.55, 0.44), (33.13, 0.64), (32.41, 0.27), (32.25, 0.26),
            (32.96, 0.48), (33.23, 0.18),
        ),
    ),
}  # fmt: skip


def published_results(preset: str) -> PublishedResults | None:
    """Return the paper's results for one of its presets; None for any other preset.

    >>> published_results("paper/stl10").title, published_results("small/stl10")
    ('STL-10', None)
    """
    folder, _, name = preset.partition("/")
    return PAPER.get(name) if folder == "paper" else None
