"""How many images to ask for and when to train, from the measured seconds a label and seconds a round.

While a round is trained the person labels what the round before asked for. With n = seconds a round ÷ seconds a label
she gives n labels meanwhile, so an ask must hold at least n images or she would wait. But the more an ask holds, the
older the model behind its last images, and large asks hide what a query method gains (Liu et al. 2020): past `STALE`
labels a model no longer asks, and the page fills in with images that are useful whatever the model says.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

STEP = 10
"""A round is worth training for so many new labels."""
STALE = 40
"""A model that so many labels are behind no longer asks."""
PAUSE = 60.0
"""Seconds: whoever took longer over an image was away."""
USUAL = 4.0
"""Seconds a label before any is measured."""


@dataclass(frozen=True)
class Pace:
    """What was measured."""

    label: float
    """Seconds from one answer to the next, all annotators together."""
    round: float | None
    """Seconds to train and score; None before the first."""

    @property
    def meanwhile(self) -> int:
        """Labels that are given while a round is trained.

        >>> Pace(2.0, 15.0).meanwhile
        8
        """
        return 0 if self.round is None else math.ceil(self.round / max(0.05, self.label))

    @property
    def depth(self) -> int:
        """Images that the next round asks for: enough for the time it takes to train the one after it.

        >>> Pace(3.0, 6.0).depth, Pace(2.0, 50.0).depth, Pace(1.0, 600.0).depth
        (12, 30, 40)
        """
        wanted = max(STEP, self.meanwhile)
        return min(STALE, wanted + max(2, wanted // 5))


def seconds_a_label(taken: Sequence[float], annotators: int = 1) -> float:
    """The median of the last measured seconds; pauses are left out.

    >>> seconds_a_label([1.0, 1.2, 300.0, 1.1])
    1.1
    """
    kept = [s for s in taken if 0 < s <= PAUSE][-30:]
    return (statistics.median(kept) if kept else USUAL) / max(1, annotators)


def due(new: int, waiting: int, pace: Pace) -> bool:
    """Whether to train: enough new labels, or the images run out before a round could be ready.

    >>> due(10, 30, Pace(2.0, 4.0)), due(3, 2, Pace(2.0, 4.0)), due(3, 9, Pace(2.0, 4.0)), due(0, 0, Pace(2.0, 4.0))
    (True, True, False, False)
    """
    return new >= STEP or (new >= 1 and waiting <= pace.meanwhile)
