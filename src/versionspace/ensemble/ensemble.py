"""`Ensemble`: M networks trained from scratch, as samples of the version space."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from versionspace import rng, runtime
from versionspace.ensemble import checkpoint
from versionspace.ensemble.normalise import Normalisation, read_images
from versionspace.ensemble.predict import Opinions, Predictor
from versionspace.ensemble.progress import Report, shown
from versionspace.ensemble.settings import Training, read_training, sizes
from versionspace.ensemble.train import History, Labelled, Task, fit_group
from versionspace.errors import InputError
from versionspace.nets.architectures import Factory
from versionspace.nets.module_checks import refuse_single_images
from versionspace.nets.stacks import Network, Stack, find, network, seeded, stack
from versionspace.types import Array, ArrayLike

Member = int | Literal["all"]


class Ensemble:
    """M networks that fit the labels, each trained from its own first weights.

    Args:
        net: ``conv2``, ``conv3``, ``conv6``, ``resnet18``, ``small``, or a function (shape, classes) -> nn.Module.
        members: M.
        classes: C.
        seed: draws depend on (seed, round, member): the same call gives the same bits.
        device: "auto" takes a GPU where there is one.
        training: a name of `TRAININGS`, a `Training`, or a dict of changes; by default the paper's, or without
            validation labels "no-validation".
        normalisation: statistics of the pool; by default those of the images that `fit` gets.
        threads: groups of members trained side by side; changes no bit.
        progress: whether to draw a bar, by default where there is a terminal; or a function that is called with the
            epochs that were run and the members that ended since its last call, and may raise to end the fit.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(20) % 2
    >>> images = (rng.integers(0, 100, (20, 8, 8, 1)) + 100 * labels[:, None, None, None]).astype(np.uint8)
    >>> ensemble = Ensemble("small", members=3, classes=2, training="no-validation").fit(images, labels)
    >>> ensemble.predict_proba(images).shape, ensemble.votes(images).shape
    ((3, 20, 2), (3, 20))
    """

    def __init__(
        self,
        net: str | Factory = "conv2",
        *,
        members: int = 20,
        classes: int = 10,
        seed: int = 0,
        device: str = "auto",
        training: Training | str | dict[str, object] | None = None,
        normalisation: Normalisation | None = None,
        threads: int | None = None,
        progress: bool | Report | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        for name, value in (("members", members), ("classes", classes)):
            if not isinstance(value, int | np.integer) or value < 1:
                raise InputError(name, expected="a whole number of at least 1", got=repr(value), fix="Pass how many.")
        find(net)
        self.net = net
        self.members = int(members)
        self.classes = int(classes)
        self.seed = rng.root(seed)
        self.device = runtime.pick_device(device)
        self.training = training
        self.normalisation = normalisation
        self.threads = runtime.pick_threads(threads)
        self.progress = progress
        self.dtype = dtype
        self.history_: list[History] = []
        self._predictor: Predictor | None = None
        self._round = 0
        self._trained_with: Training | None = None

    def fit(
        self,
        images: ArrayLike,
        labels: ArrayLike,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        round: int = 0,  # noqa: A002 — the word people use
    ) -> "Ensemble":
        """Trains all members from scratch on uint8 images (n, H, W, channels) and their classes (n,).

        ``validation``: images and classes whose accuracy decides when the learning rate falls and training ends.
        ``round``: another round draws other first weights, batch orders and masks.
        """
        pixels = read_images(images)
        classes = self._read_labels(labels, len(pixels), "labels")
        held = None
        if validation is not None:
            held_pixels = read_images(validation[0], "validation images")
            held = self._on_device(held_pixels, self._read_labels(validation[1], len(held_pixels), "validation labels"))
        training = read_training(self.training, held is not None)
        if training.watch == "validation accuracy" and held is None:
            raise InputError(
                "validation",
                expected="labelled images, since the validation accuracy decides when training ends",
                got="nothing",
                fix="Pass validation=(images, labels), or training='no-validation'.",
            )
        runtime.keep_memory()
        shape = (pixels.shape[3], pixels.shape[1], pixels.shape[2])
        net = network(self.net, shape, self.classes)
        if training.batch == 1:
            refuse_single_images(net.plain, torch.zeros(shape, device="cpu"))
        normalisation = self.normalisation or Normalisation.of(pixels)
        table = sizes(self.net, shape)
        labelled = self._on_device(pixels, classes)
        state = self._first_weights(net, round)
        stop = threading.Event()
        with shown(self.members, training.epochs, self.progress) as advance:

            def report(epochs: int, ended: int) -> None:
                if stop.is_set():
                    raise runtime.StoppedError
                advance(epochs, ended)

            tasks = [
                Task(
                    network=net,
                    training=training,
                    normalisation=normalisation,
                    seed=self.seed,
                    round=round,
                    members=tuple(range(self.members)[first : first + table.group]),
                    state={name: value[first : first + table.group] for name, value in state.items()},
                    labelled=labelled,
                    validation=held,
                    images_at_once=table.images,
                    dtype=self.dtype,
                    report=report,
                )
                for first in range(0, self.members, table.group)
            ]
            threads = self.threads if self.device.type == "cpu" else 1
            with runtime.enough_memory("training"):
                fitted = runtime.side_by_side(fit_group, tasks, threads, stop)
        whole = {name: torch.cat([part.state[name] for part in fitted]) for name in fitted[0].state}
        self.history_ = [history for part in fitted for history in part.histories]
        self._round, self._trained_with = round, training
        self._predictor = self._made(net, whole, normalisation)
        return self

    def predict_proba(self, images: ArrayLike) -> Array:
        """Probabilities float32 (M, N, C), a chunk of images at a time."""
        return self._fitted(images).probabilities(read_images(images))

    def votes(self, images: ArrayLike) -> Array:
        """Votes (M, N) in the smallest unsigned integer, without ever holding M×N×C."""
        return self._fitted(images).votes(read_images(images))

    def opinions(self, images: ArrayLike) -> Opinions:
        """Votes (M, N) and their soft majority (N,), without ever holding M×N×C."""
        return self._fitted(images).opinions(read_images(images))

    def features(self, images: ArrayLike, member: Member = 0) -> Array:
        """What goes into the last linear layer, float32 (N, F); ``member="all"`` adds a leading M."""
        predictor, pixels = self._fitted(images), read_images(images)
        return self._each(member, lambda m: predictor.features(pixels, m))

    def mc_dropout_proba(self, images: ArrayLike, passes: int = 20, member: Member = 0) -> Array:
        """Probabilities with dropout on and nothing else, float32 (passes, N, C); ``"all"`` adds a leading M."""
        predictor, pixels = self._fitted(images), read_images(images)
        if passes < 1:
            raise InputError("passes", expected="at least 1", got=repr(passes), fix="20 is the default.")
        return self._each(member, lambda m: predictor.mc_dropout(pixels, passes, m, self.seed, self._round))

    def perturbations(self, images: ArrayLike, member: Member = 0) -> Array:
        """Sizes of the smallest adversarial perturbations by DeepFool, (N,); ``"all"`` adds a leading M.

        An image for which none is found has the largest size of the call.
        """
        predictor, pixels = self._fitted(images), read_images(images)
        return self._each(member, lambda m: predictor.perturbations(pixels, m))

    def save(self, folder: str | Path) -> None:
        """Writes ``ensemble.json`` and ``weights.safetensors`` into a folder; no pickle."""
        if self._predictor is None or self._trained_with is None:
            raise self._not_fitted()
        found = self._predictor
        checkpoint.write(
            Path(folder),
            checkpoint.Saved(
                net=self.net if isinstance(self.net, str) else None,
                shape=found.network.shape,
                classes=self.classes,
                members=self.members,
                seed=self.seed,
                round=self._round,
                normalisation=found.normalisation,
                training=asdict(self._trained_with),
                dtype=str(self.dtype).removeprefix("torch."),
                history=[asdict(history) for history in self.history_],
            ),
            found.state,
        )

    def to_onnx(self, path: str | Path, classes: Sequence[str] = (), member: int | None = None) -> float:
        """Writes the soft-vote ensemble, or one member, as ONNX: uint8 images (N, H, W, channels) to probabilities.

        Normalisation is inside and the number of images free. The file is compared with torch before it appears; gives
        the largest difference. Needs the extra ``onnx``.
        """
        from versionspace.ensemble import onnx

        if self._predictor is None:
            raise self._not_fitted()
        if member is not None:
            self._check_one(member)
        return onnx.write(self._predictor, Path(path), tuple(classes), member)

    def only(self, member: int) -> "Ensemble":
        """An ensemble of one of these members."""
        if self._predictor is None:
            raise self._not_fitted()
        self._check_one(member)
        out = Ensemble(
            self.net, members=1, classes=self.classes, seed=self.seed, device=str(self.device), training=self.training,
            normalisation=self._predictor.normalisation, threads=self.threads, dtype=self.dtype,
        )  # fmt: skip
        state = {name: value[member : member + 1] for name, value in self._predictor.state.items()}
        out.history_ = self.history_[member : member + 1]
        out._round, out._trained_with = self._round, self._trained_with
        out._predictor = out._made(self._predictor.network, state, self._predictor.normalisation)
        return out

    @classmethod
    def load(
        cls, folder: str | Path, *, net: Factory | None = None, device: str = "auto", threads: int | None = None
    ) -> "Ensemble":
        """What `save` wrote. A network of your own is code, which is not saved: pass its factory as ``net``."""
        saved, state = checkpoint.read(Path(folder))
        if saved.net == "heads" and cls is Ensemble:
            from versionspace.ensemble.heads import Heads

            return Heads.load(folder, device=device, threads=threads)
        chosen: str | Factory | None = net if saved.net is None else saved.net
        if chosen is None:
            raise InputError(
                "net",
                expected="the factory with which the ensemble was trained, since it was not one of ours",
                got="nothing",
                fix="Pass net=your_factory.",
            )
        out = cls(
            chosen, members=saved.members, classes=saved.classes, seed=saved.seed, device=device, threads=threads,
            training=saved.training, normalisation=saved.normalisation, dtype=getattr(torch, saved.dtype),
        )  # fmt: skip
        out.history_ = [History(**history) for history in saved.history]
        out._round, out._trained_with = saved.round, read_training(saved.training)
        made = network(chosen, saved.shape, saved.classes)
        checkpoint.compare(Path(folder), saved, state, made.plain)
        out._predictor = out._made(made, {k: v.to(out.device) for k, v in state.items()}, saved.normalisation)
        return out

    def _made(self, net: Network, state: Stack, normalisation: Normalisation) -> Predictor:
        table = sizes(self.net, net.shape)
        return Predictor(net, state, normalisation, table.group, table.images, self.threads, self.dtype, self.device)

    def _first_weights(self, net: Network, round_: int) -> Stack:
        """Each member's own draw."""
        modules = []
        for m in range(self.members):
            with seeded(rng.key(self.seed, "ensemble", round_, m, "weights") % 2**63):
                modules.append(net.make())
        state = stack(modules)
        return {
            name: value.to(self.device, self.dtype if value.is_floating_point() else None)
            for name, value in state.items()
        }

    def _on_device(self, pixels: Array, classes: Array) -> Labelled:
        return Labelled(torch.tensor(np.asarray(pixels), device=self.device), torch.tensor(classes, device=self.device))

    def _read_labels(self, given: ArrayLike, count: int, name: str) -> Array:
        labels: Array = np.asarray(given)
        if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) != count:
            raise InputError(
                name,
                expected=f"integer classes of shape ({count},), one for each image",
                got=f"{labels.dtype} of shape {labels.shape}",
                fix="Pass the class number of each image, in the same order.",
            )
        if labels.min() < 0 or labels.max() >= self.classes:
            raise InputError(
                name,
                expected=f"classes from 0 to {self.classes - 1}",
                got=f"{labels.min()} to {labels.max()}",
                fix="Leave images without a label out, or raise classes.",
            )
        return labels.astype(np.int64)

    def _fitted(self, images: ArrayLike) -> Predictor:
        if self._predictor is None:
            raise self._not_fitted()
        pixels = read_images(images)
        channels, height, width = self._predictor.network.shape
        if pixels.shape[1:] != (height, width, channels):
            raise InputError(
                "images",
                expected=f"images of {height}×{width} pixels and {channels} channels, as in fit",
                got=f"{pixels.shape[1]}×{pixels.shape[2]} and {pixels.shape[3]}",
                fix="Resize them as the labelled images were.",
            )
        return self._predictor

    def _each(self, member: Member, compute: Callable[[int], Array]) -> Array:
        if member == "all":
            return np.stack([compute(m) for m in range(self.members)])
        self._check_one(member, ", or 'all'", "The default is 0.")
        return compute(int(member))

    def _check_one(self, member: object, more: str = "", fix: str = "Leave it out for all of them.") -> None:
        if not isinstance(member, int | np.integer) or not 0 <= member < self.members:
            raise InputError("member", expected=f"0 to {self.members - 1}{more}", got=repr(member), fix=fix)

    def _not_fitted(self) -> InputError:
        return InputError(
            "ensemble", expected="fitted members", got="an ensemble before fit", fix="Call fit(images, labels) first."
        )
