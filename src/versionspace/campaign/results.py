"""What a campaign has learned so far: its newest model, predictions for the images without a label, a row a round."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versionspace.campaign.datasets import absolute_path
from versionspace.campaign.id_sets import without
from versionspace.campaign.images import CampaignImages
from versionspace.campaign.inference import Model, ModelInputs, Prediction
from versionspace.campaign.learner import load_learner
from versionspace.campaign.round import RoundRunner
from versionspace.campaign.saved_model import newest_saved_model
from versionspace.config import Config
from versionspace.errors import InputError
from versionspace.store import AuditMetrics, CampaignFolder, RoundMetrics, State, as_ids
from versionspace.types import Array, ImageId

_BLOCK = 4096
"""Number of images that are classified together."""


@dataclass(frozen=True)
class MeasuredRound:
    """The main metrics of one round, as shares. Those that need labels are None if labels are unknown."""

    round: int
    labels: int
    """Number of labels that the members were trained on."""
    diameter: float
    """How much the members disagree with each other on the reference set (PWD)."""
    fit: float
    """Mean share of its training labels that a member reproduces."""
    audit_images: int
    """Number of labelled images of the audit."""
    audit_accuracy: float | None
    audit_low: float | None
    audit_high: float | None
    """The confidence interval of the accuracy on the audit, which is valid in all rounds simultaneously."""
    accuracy: float | None
    """Accuracy of the vote on the test images, or on validation images if there is no test set."""


class Results:
    """What a campaign has learned so far; available at any time, also after it was closed.

    >>> import tempfile
    >>> from versionspace.campaign import Campaign
    >>> from versionspace.config import read_config
    >>> quick = ["ensemble.members=2", "training.epochs=2", "budget.total=30", "budget.audit=10", "data.pool=100"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Campaign.create(folder, read_config("demo", quick)) as campaign:
    ...         ended = campaign.run().state.ended
    ...     rest = campaign.predict()
    ...     model = campaign.model()
    >>> ended, campaign.audit.images, [row.labels for row in campaign.measured()]
    ('budget', 10, [10, 20])
    >>> len(rest), len(model.classes)                                       # 100 images, 30 of them labelled
    (70, 10)
    """

    config: Config
    folder: CampaignFolder
    state: State
    images: CampaignImages
    runner: RoundRunner

    @property
    def audit(self) -> AuditMetrics | None:
        """The newest estimate of the model's accuracy, from images drawn at random that it is not trained on.

        It has ``accuracy``, its confidence interval ``low`` to ``high``, and the number of ``images``. None before the
        first model, or if no image of the audit has a label. The final model, trained once a person's campaign has
        ended, has seen the audit: the estimate is that of the last model before it.
        """
        return self.state.metrics[max(self.state.metrics)].audit if self.state.metrics else None

    def measured(self) -> list[MeasuredRound]:
        """Return a row for each round that has a model, the first one first.

        ``pandas.DataFrame(campaign.measured())`` is a table of them; ``state.metrics`` has all that was measured.
        """
        return [_row(number, metrics) for number, metrics in sorted(self.state.metrics.items())]

    def model(self) -> Model:
        """Return the newest model, which classifies files that it has never seen. Raises InputError if there is none.

        ``campaign.model().predict("new-photos")`` classifies the images of a folder. While labels are given the model
        lags behind them; once a person's campaign has ended, it was trained on all of them, also on the audit's.
        """
        saved = newest_saved_model(self.folder, self.state)
        if saved is None:
            raise InputError(
                str(self.folder.path), expected="a trained model",
                got="none that was saved" if self.state.metrics else "none yet",
                fix="The first one is trained after a few labels; with keep = \"none\" none is saved.",
            )  # fmt: skip
        names = saved.class_names()
        learner = load_learner(self.config, saved.weights)
        return Model(learner, names, ModelInputs.of(self.config, learner))

    def predict(self, paths: str | Path | Sequence[str | Path] | None = None) -> list[Prediction]:
        """Return the newest model's predictions, by default for every image of the campaign without a label.

        ``paths``: other files and folders to classify, as `Model.predict` does. A prediction has ``item``, ``name``,
        ``probability`` and ``agreement``, the share of members that vote for this class. The item is an absolute path;
        an id if the campaign's images are not files. Raises InputError if there is no model yet.
        """
        model = self.model()
        return list(self.predictions(self.unlabelled(), model) if paths is None else model.predict(paths))

    def unlabelled(self) -> Array:
        """Return the ids of the images without a label, in the order of the pool."""
        pool = self.runner.prepare().roles.pool
        labelled = [i for i, label in self.state.labels.items() if label.name is not None]
        return without(pool, np.array(labelled, pool.dtype))

    def predictions(self, ids: Array, model: Model | None = None) -> Iterator[Prediction]:
        """Yield the model's predictions for these images of the pool.

        Pixels or features are in the cache; what is not is computed.
        """
        images, model, all_ids = self.runner.prepare(), model or self.model(), ids
        for start in range(0, len(all_ids), _BLOCK):
            ids = all_ids[start : start + _BLOCK]
            items: Sequence[Path | ImageId] = self._paths(as_ids(ids)) or as_ids(ids)
            yield from model.classify(items, images.pixels(ids))

    def _paths(self, ids: Sequence[ImageId]) -> tuple[Path, ...] | None:
        """Return the absolute path of each image; None if the images are not files of a folder."""
        if self.images.dataset.train.files is None:
            return None
        root = absolute_path(Path(self.config.data.name))
        return tuple(root / self.images.files[image] for image in ids)


def _row(number: int, metrics: RoundMetrics) -> MeasuredRound:
    audit = metrics.audit
    return MeasuredRound(
        round=number, labels=metrics.labels, diameter=metrics.diameter, fit=metrics.fit,
        audit_images=audit.images if audit else 0, audit_accuracy=audit.accuracy if audit else None,
        audit_low=audit.low if audit else None, audit_high=audit.high if audit else None,
        accuracy=metrics.headline("vote_accuracy"),
    )  # fmt: skip
