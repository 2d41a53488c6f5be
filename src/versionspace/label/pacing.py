"""How many images a round asks for and when to train, from the measured seconds per label and per round.

People label the images of the previous round while the next one is trained. At n = seconds per round ÷ seconds per
label they give n labels meanwhile, so an ask must hold at least n images or they would wait. But the larger an ask, the
older the model behind its last images, and large asks hide the advantage of a query method (Liu et al. 2020). A model
that is `STALE_LABELS` labels behind therefore no longer asks; the page fills in with images that are useful whatever
the model says.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

ROUND_LABELS = (4, 10)
"""New labels that are worth training a round: a quarter of those given, within these limits. The fewer labels there
are, the more a single one changes the model."""
STALE_LABELS = 40
"""A model that is this many labels behind no longer asks."""
PAUSE_SECONDS = 60.0
"""An answer that took longer includes a pause and is not measured."""
DEFAULT_SECONDS = 4.0
"""Seconds per label before any is measured."""


@dataclass(frozen=True)
class LabellingPace:
    """Measured speed of labelling and training."""

    seconds_per_label: float
    """All annotators together."""
    seconds_per_round: float | None
    """Seconds to train and score; None before the first round."""
    labels: int = 1000
    """Labels given so far."""

    @property
    def worthwhile(self) -> int:
        """Number of new labels that are worth training a round.

        >>> [LabellingPace(2.0, 1.0, labels).worthwhile for labels in (5, 30, 300)]
        [4, 7, 10]
        """
        least, most = ROUND_LABELS
        return min(most, max(least, self.labels // 4))

    @property
    def labels_per_round(self) -> int:
        """Number of labels given while a round is trained.

        >>> LabellingPace(2.0, 15.0).labels_per_round
        8
        """
        if self.seconds_per_round is None:
            return 0
        return math.ceil(self.seconds_per_round / max(0.05, self.seconds_per_label))

    @property
    def ask_size(self) -> int:
        """Number of images that the next round asks for: enough while the round after it is trained.

        >>> LabellingPace(3.0, 6.0).ask_size, LabellingPace(2.0, 50.0).ask_size, LabellingPace(1.0, 600.0).ask_size
        (12, 30, 40)
        """
        labels = max(self.worthwhile, self.labels_per_round)
        return min(STALE_LABELS, labels + max(2, labels // 5))


def seconds_per_label(durations: Sequence[float], annotators: int = 1) -> float:
    """Return the median of the last 30 durations, without pauses, divided by the number of annotators.

    >>> seconds_per_label([1.0, 1.2, 300.0, 1.1])
    1.1
    """
    measured = [seconds for seconds in durations if 0 < seconds <= PAUSE_SECONDS][-30:]
    return (statistics.median(measured) if measured else DEFAULT_SECONDS) / max(1, annotators)


def round_is_due(new_labels: int, unanswered: int, pace: LabellingPace) -> bool:
    """Return whether to train: enough new labels, or the open questions run out before a round could be ready.

    >>> pace = LabellingPace(2.0, 4.0)
    >>> round_is_due(10, 30, pace), round_is_due(3, 2, pace), round_is_due(3, 9, pace), round_is_due(0, 0, pace)
    (True, True, False, False)
    """
    return new_labels >= pace.worthwhile or (new_labels >= 1 and unanswered <= pace.labels_per_round)
