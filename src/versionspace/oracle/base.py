"""The seam between a campaign and whoever labels its images."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from versionspace.types import ImageId


@runtime_checkable
class Oracle(Protocol):
    """A source of labels: a person, a file, a labelling service, or a simulation.

    Any object with this method can answer a campaign's proposals:

    >>> class FileOracle:
    ...     '''Answers from a table of labels, such as one read from a file.'''
    ...     def __init__(self, labels):
    ...         self.labels = labels
    ...     def answer(self, ids):
    ...         return {i: self.labels.get(i) for i in ids}
    >>> oracle: Oracle = FileOracle({3: "cat", 5: "dog"})
    >>> oracle.answer([5, 4])
    {5: 'dog', 4: None}

    The answers go to `Campaign.accept`, which stores all of them or none::

        for proposal in campaign:
            campaign.accept(oracle.answer(proposal.ids))
    """

    def answer(self, ids: Sequence[ImageId]) -> Mapping[ImageId, int | str | None]:
        """Return the class of each image, by number or by name; None skips it, and it is not asked for again.

        The result may leave out images that are still to be labelled, and may arrive late or correct earlier answers.
        A campaign on known labels is reproducible only if the answer to an image never changes.
        """
        ...
