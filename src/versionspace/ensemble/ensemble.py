"""`Ensemble`: M networks trained from scratch, as samples of the version space."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch

from versionspace import rng, runtime
from versionspace.data import ExtractedFeatures
from versionspace.ensemble.arguments import collect, read_weights
from versionspace.ensemble.checkpoint import Description, check_weights, read_checkpoint, write_checkpoint
from versionspace.ensemble.classifier import BLOCK, Classifier, count_classes, encode, mean_over_members, read_classes
from versionspace.ensemble.inputs import FeatureInputs, ImageShape, InputStage, PixelInputs, saved_extractor
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.predict import Opinions, Predictor
from versionspace.ensemble.progress import ProgressCallback, fit_progress
from versionspace.ensemble.settings import PRECOMPUTED, Training, find_recipe, read_training, sizes
from versionspace.ensemble.train import FitJob, GroupTrainer, Labelled, MemberHistory, fit_members
from versionspace.ensemble.vectors import VectorInputs
from versionspace.errors import InputError
from versionspace.features import CacheLocation, FeatureExtractor
from versionspace.nets import Factory, Network, Stack, find_factory, network, reject_batches_of_one, seeded, stack
from versionspace.types import Array, ArrayLike, is_count

Member = int | Literal["all"]


class Ensemble(Classifier):
    """M networks that fit the labels, each trained from its own initial weights.

    Args:
        net: ``conv2``, ``conv3``, ``conv6``, ``resnet18``, ``small``, or a function (shape, classes) -> nn.Module;
            with an extractor, ``heads`` or a function.
        members: M.
        classes: C, for labels from 0 to C − 1; or a list of C classes, numbers or names. By default those of the labels
            that are passed to `fit`; a class that has no label yet is then unknown.
        seed: random draws depend on (seed, round, member): the same call is bitwise reproducible.
        device: "auto" uses a GPU if there is one.
        training: a name of `TRAININGS`, a `Training`, or a dict of changes to the default; by default the paper's, or
            without validation labels "no-validation".
        normalisation: the `statistics` of the pool; by default those of the images passed to `fit`.
        threads: groups of members trained side by side; does not affect the result.
        progress: whether to draw a bar, by default if standard error is a terminal; or a function that is called with
            the epochs run and the members ended since its last call, and may raise to stop the fit.
        extractor: a feature extractor, or the name of one: networks see its features of an image instead of pixels.
            "precomputed": what is passed to every method are features (N, F) already, computed elsewhere.
        side: pixels that the longer side of an image is resized to before extraction; by default the extractor's.
        cache: where features are kept: a folder, None for the user's cache, False for memory only.
        trainer: trains groups of members elsewhere, such as on a cluster; None: on this machine.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(20) % 2
    >>> images = (rng.integers(0, 100, (20, 8, 8, 1)) + 100 * labels[:, None, None, None]).astype(np.uint8)
    >>> ensemble = Ensemble("small", members=3, classes=2, training="no-validation").fit(images, labels)
    >>> ensemble.predict_proba(images).shape, ensemble.predict_proba(images, members=True).shape
    ((20, 2), (3, 20, 2))
    >>> ensemble.votes(images).shape, ensemble.score(images, labels)
    ((3, 20), 1.0)
    """

    def __init__(
        self,
        net: str | Factory = "conv2",
        *,
        members: int = 20,
        classes: int | Sequence[Any] | None = None,
        seed: int = 0,
        device: str = "auto",
        training: Training | str | dict[str, object] | None = None,
        normalisation: Normalisation | None = None,
        threads: int | None = None,
        progress: bool | ProgressCallback | None = None,
        dtype: torch.dtype = torch.float32,
        extractor: str | FeatureExtractor | None = None,
        side: int | None = None,
        cache: CacheLocation = None,
        trainer: GroupTrainer | None = None,
    ) -> None:
        self._params = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        if not is_count(members):
            raise InputError(
                "members", expected="a whole number of at least 1", got=repr(members), fix="Pass a number."
            )
        self._classes = read_classes(classes)
        find_factory(net, on_features=extractor is not None)
        self.net = net
        self.members = int(members)
        self.classes = count_classes(self._classes)
        self.seed = rng.root(seed)
        self.device = runtime.pick_device(device)
        self.training = training
        self.normalisation = normalisation
        self.threads = runtime.pick_threads(threads)
        self.progress = progress
        self.dtype, self.trainer = dtype, trainer
        self.inputs: InputStage = PixelInputs()
        if extractor == PRECOMPUTED:
            self.inputs = VectorInputs()
        elif extractor is not None:
            self.inputs = FeatureInputs(
                extractor, side=side, device=self.device, threads=self.threads, cache=cache,
                progress=False if callable(progress) else progress,
            )  # fmt: skip
        if normalisation is not None and self.inputs.width is not None:
            normalisation.check(self.inputs.width, self.inputs.channels_are)
        self.history_: list[MemberHistory] = []
        self._predictor: Predictor | None = None
        self._round = 0
        self._trained_with: Training | None = None
        self._image: ImageShape | None = None

    def statistics(self, images: ArrayLike) -> Normalisation:
        """Return the statistics of images, which should be the pool's: what ``normalisation`` takes."""
        return self.inputs.statistics(self._read(images))

    def fit(
        self,
        images: ArrayLike,
        labels: ArrayLike = None,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        round: int = 0,  # noqa: A002 — the word people use
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Train all members from scratch on uint8 images (n, H, W, channels) and their classes (n,).

        A torch `Dataset` or `DataLoader` of images and classes may be passed in place of the two arrays.

        With ``extractor="precomputed"``, images are features (n, F), here and in every other method.

        ``validation``: images and classes whose accuracy decides when the learning rate falls and training ends; not
        used if the training watches the training loss.
        ``round``: each round draws its own initial weights, batch orders and dropout masks.
        ``sample_weight``: (n,), the weight of each image in the training loss.
        """
        images, labels = collect(images, labels)
        pixels = self.inputs.open(images)
        classes, names = encode(labels, len(pixels), self._classes)
        weights = None if sample_weight is None else read_weights(sample_weight, len(pixels))
        self.classes, self.classes_ = len(names), names
        recipe = find_recipe(self.net)
        training = read_training(self.training, validation is not None, recipe)
        held = self._read_validation(validation, training)
        inputs = self._read(pixels)
        shape = (inputs.shape[3], inputs.shape[1], inputs.shape[2])
        if self.normalisation is not None:
            self.normalisation.check(shape[0], self.inputs.channels_are)
        normalisation = self.normalisation or self.inputs.statistics(inputs)
        net = network(self.net, shape, self.classes)
        if training.batch == 1:
            reject_batches_of_one(net.plain, torch.zeros(shape, device="cpu"))
        table = sizes(self.net, shape)
        with fit_progress(self.members, training.epochs, self.progress) as report:
            job = FitJob(
                network=net,
                training=replace(training, batch=recipe.batch(len(classes), training)),
                normalisation=normalisation,
                seed=self.seed,
                round=round,
                members=tuple(range(self.members)),
                state=self._initial_weights(net, round),
                labelled=self._on_device(inputs, classes, weights),
                validation=held,
                images_at_once=table.images,
                dtype=self.dtype,
                report=report,
            )
            threads = self.threads if self.device.type == "cpu" else 1
            fitted = fit_members(job, table.group, threads, recipe.retry(training), self.trainer)
        self.history_ = fitted.histories
        self._round, self._trained_with = round, training
        self._image = (pixels.shape[1], pixels.shape[2], pixels.shape[3])
        if self._image[:2] == (1, 1):
            self.n_features_in_ = int(self._image[2])
        if isinstance(images, ExtractedFeatures):
            self._image = images.image_shape
        self._predictor = self._make_predictor(net, fitted.state, normalisation)
        return self

    def predict_proba(self, images: ArrayLike, members: bool = False) -> Array:
        """Return the mean of the members' probabilities, float64 (N, C), or with ``members`` all, float32 (M, N, C)."""
        predictor, inputs = self._fitted(), self._read_like_fit(images)
        if members:
            return predictor.probabilities(inputs)
        starts = range(0, len(inputs), BLOCK)
        return np.concatenate([mean_over_members(predictor.probabilities(inputs[i : i + BLOCK])) for i in starts])

    def votes(self, images: ArrayLike) -> Array:
        """Return votes (M, N) in the smallest unsigned integer, without holding M×N×C probabilities."""
        return self._fitted().votes(self._read_like_fit(images))

    def opinions(self, images: ArrayLike) -> Opinions:
        """Return votes (M, N) and their soft majority (N,), without holding M×N×C probabilities."""
        return self._fitted().opinions(self._read_like_fit(images))

    def features(self, images: ArrayLike, member: Member = 0) -> Array:
        """Return the input of the last linear layer, float32 (N, F); ``member="all"`` adds a leading M."""
        predictor, inputs = self._fitted(), self._read_like_fit(images)
        return self._for_members(member, lambda m: predictor.features(inputs, m))

    def mc_dropout_proba(self, images: ArrayLike, passes: int = 20, member: Member = 0) -> Array:
        """Return probabilities of passes with dropout on, float32 (passes, N, C); ``member="all"`` adds a leading M."""
        predictor, inputs = self._fitted(), self._read_like_fit(images)
        if passes < 1:
            raise InputError("passes", expected="at least 1", got=repr(passes), fix="The default is 20.")
        return self._for_members(member, lambda m: predictor.mc_dropout(inputs, passes, m, self.seed, self._round))

    def perturbations(self, images: ArrayLike, member: Member = 0) -> Array:
        """Return the sizes of the perturbations that DeepFool finds, (N,); ``member="all"`` adds a leading M.

        Sizes are in pixels from 0 to 1, or with an extractor in normalised features. If none is found for an image, its
        size is the largest of the call.
        """
        predictor, inputs = self._fitted(), self._read_like_fit(images)
        unit = self.inputs.perturbation_unit
        return self._for_members(member, lambda m: predictor.perturbations(inputs, m, unit))

    @property
    def weight_bytes(self) -> int:
        """The size of the weights of all members."""
        return sum(value.nbytes for value in self._fitted().state.values())

    def save(self, folder: str | Path) -> None:
        """Write ``ensemble.json`` and ``weights.safetensors`` into a folder.

        With an extractor also ``backbone.json``, which names it; its weights are not copied.
        """
        predictor = self._fitted()
        assert self._trained_with is not None
        assert self._image is not None
        self.inputs.save(Path(folder), self._image)
        description = Description(
            net=self.net if isinstance(self.net, str) else None,
            shape=predictor.network.shape,
            classes=self.classes,
            members=self.members,
            seed=self.seed,
            round=self._round,
            normalisation=predictor.normalisation,
            training=asdict(self._trained_with),
            dtype=str(self.dtype).removeprefix("torch."),
            history=[asdict(history) for history in self.history_],
            names=None if isinstance(self._classes, int) else self.classes_.tolist(),
        )
        write_checkpoint(Path(folder), description, predictor.state)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        net: Factory | None = None,
        extractor: str | FeatureExtractor | None = None,
        device: str = "auto",
        threads: int | None = None,
        cache: CacheLocation = None,
    ) -> Self:
        """Read what `save` wrote. Your own network or extractor is code and not saved: pass it again.

        ``extractor`` is also for one whose folder or file was moved. Raises `InputError` if its weights or its
        preprocessing are not those of the fit.
        """
        saved = read_checkpoint(Path(folder))
        about, backbone = saved.description, saved.backbone
        chosen: str | Factory | None = net if about.net is None else about.net
        if chosen is None:
            raise InputError(
                "net",
                expected="the factory with which the ensemble was trained, because it has no name",
                got="nothing",
                fix="Pass net=your_factory.",
            )
        ensemble = cls(
            chosen, members=about.members, classes=about.names or about.classes, seed=about.seed, device=device,
            threads=threads, training=about.training, normalisation=about.normalisation, cache=cache,
            dtype=getattr(torch, about.dtype),
            extractor=None if backbone is None else saved_extractor(str(folder), backbone, extractor),
            side=None if backbone is None else backbone.side,
        )  # fmt: skip
        made = network(chosen, about.shape, about.classes)
        check_weights(Path(folder), about.members, saved.state, made.plain)
        channels, height, width = about.shape
        ensemble.classes_ = np.arange(about.classes) if about.names is None else np.asarray(about.names)
        ensemble._image = (height, width, channels) if backbone is None else backbone.image
        ensemble.history_ = [MemberHistory(**history) for history in about.history]
        ensemble._round, ensemble._trained_with = about.round, read_training(about.training)
        state = {name: value.to(ensemble.device) for name, value in saved.state.items()}
        ensemble._predictor = ensemble._make_predictor(made, state, about.normalisation)
        return ensemble

    def only(self, member: int) -> Self:
        """Return an ensemble of one of these members."""
        predictor = self._fitted()
        self._check_member(member)
        single = copy.copy(self)
        single.members, single.progress, single.normalisation = 1, None, predictor.normalisation
        single.history_ = self.history_[member : member + 1]
        state = {name: value[member : member + 1] for name, value in predictor.state.items()}
        single._predictor = replace(predictor, state=state)
        return single

    def to_onnx(self, path: str | Path, classes: Sequence[str] = (), member: int | None = None) -> float:
        """Write the soft-vote ensemble, or one member, as ONNX: uint8 images (N, H, W, channels) to probabilities.

        An ensemble on precomputed features takes float32 features (N, F) instead.
        The file contains the extractor, if any, and the normalisation, and accepts any number of images of the size
        passed to `fit`. It is compared with torch before it appears; returns the largest difference. Requires the extra
        ``onnx``.
        """
        from versionspace.ensemble.onnx import write_onnx

        predictor = self._fitted()
        assert self._image is not None
        if member is not None:
            self._check_member(member)
        members = list(range(self.members)) if member is None else [member]
        given = self.inputs.onnx_input(self._image, predictor.normalisation)
        return write_onnx(self.inputs.module(), predictor, given, Path(path), tuple(classes), members)

    def _read(self, images: ArrayLike, name: str = "images") -> Array:
        """Return the networks' inputs (N, h, w, c) for images."""
        callback = self.progress if callable(self.progress) else None
        return self.inputs.read(images, name, callback and (lambda: callback(0, 0)))

    def _read_like_fit(self, images: ArrayLike) -> Array:
        """Return inputs of the shape that the members were trained on."""
        inputs = self._read(images)
        channels, height, width = self._fitted().network.shape
        got = (inputs.shape[1], inputs.shape[2], inputs.shape[3])
        if got != (height, width, channels):
            raise self.inputs.mismatch(got, (height, width, channels))
        return inputs

    def _read_validation(self, validation: tuple[ArrayLike, ArrayLike] | None, training: Training) -> Labelled | None:
        """Return the validation inputs on the device, if the training watches them."""
        if validation is None:
            if training.watch == "validation accuracy":
                raise InputError(
                    "validation",
                    expected="labelled images, because the validation accuracy decides when training ends",
                    got="nothing",
                    fix="Pass validation=(images, labels), or training={'watch': 'training loss'}.",
                )
            return None
        pixels = self.inputs.open(validation[0], "validation images")
        classes, _ = encode(validation[1], len(pixels), self._known_classes(), "validation labels")
        if training.watch != "validation accuracy":
            return None
        return self._on_device(self._read(pixels, "validation images"), classes)

    def _known_classes(self) -> int | Array:
        """Return the number of classes, or those of the labels."""
        return self._classes if isinstance(self._classes, int) else self.classes_

    def _on_device(self, inputs: Array, classes: Array, weights: Array | None = None) -> Labelled:
        return Labelled(
            torch.tensor(np.asarray(inputs), device=self.device),
            torch.tensor(classes, device=self.device),
            None if weights is None else torch.tensor(weights, dtype=self.dtype, device=self.device),
        )

    def _initial_weights(self, net: Network, round_: int) -> Stack:
        """Return each member's own draw."""
        modules = []
        for m in range(self.members):
            with seeded(rng.key(self.seed, "ensemble", round_, m, "weights") % 2**63):
                modules.append(net.make())
        if len({id(module) for module in (net.plain, *modules)}) <= self.members:
            raise InputError(
                "net",
                expected="a factory that returns a new module on each call",
                got="the same module twice",
                fix="Construct the module inside the factory, so that members start from different weights.",
            )
        state = stack(modules)
        return {
            name: value.to(self.device, self.dtype if value.is_floating_point() else None)
            for name, value in state.items()
        }

    def _make_predictor(self, net: Network, state: Stack, normalisation: Normalisation) -> Predictor:
        table = sizes(self.net, net.shape)
        return Predictor(net, state, normalisation, table.group, table.images, self.threads, self.dtype, self.device)

    def _fitted(self) -> Predictor:
        if self._predictor is None:
            raise InputError(
                "ensemble", expected="fitted members", got="an ensemble before fit",
                fix="Call fit(images, labels) first.",
            )  # fmt: skip
        return self._predictor

    def _for_members(self, member: Member, compute: Callable[[int], Array]) -> Array:
        if member == "all":
            return np.stack([compute(m) for m in range(self.members)])
        self._check_member(member, ", or 'all'", "The default is 0.")
        return compute(int(member))

    def _check_member(self, member: object, more: str = "", fix: str = "Leave it out for all members.") -> None:
        if not isinstance(member, int | np.integer) or not 0 <= member < self.members:
            raise InputError("member", expected=f"0 to {self.members - 1}{more}", got=repr(member), fix=fix)
