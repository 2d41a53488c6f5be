"""Fits with validation, against two idiomatic loops over members on the same threads; predictions; DeepFool.

plain: `nn.Module` and `torch.optim`, images as (N, channels, H, W).   tuned: also channels-last and glibc's mallopt.
Both evaluate the whole validation set after each epoch, as in the paper. They are timed on a few members and scaled,
each in its own process.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.measure import in_fresh_process, peak_extra_bytes, report, seconds
from versionspace import runtime
from versionspace.data import load
from versionspace.ensemble import TRAININGS, Ensemble, Normalisation
from versionspace.ensemble.deepfool import OVERSHOOT, STEPS, deepfool
from versionspace.nets import Dropout, network


@dataclass(frozen=True)
class Case:
    """A fit to time."""

    net: str
    data: str
    training: str
    labels: int
    validation: int
    epochs: int
    members: int
    looped: int
    """Members that the loops are timed on."""
    to_plain: float
    to_tuned: float


CASES = (
    Case("conv2", "mnist", "mnist", 400, 5000, 40, 20, 2, 3.0, 2.0),
    Case("conv3", "fashion-mnist", "fashion-mnist", 400, 5000, 90, 10, 2, 2.5, 1.7),
    Case("conv6", "cifar10", "svhn", 320, 500, 6, 10, 2, 0.0, 1.0),
    Case("resnet18", "cifar10 at 96 pixels", "stl10", 96, 100, 2, 4, 2, 0.0, 1.0),
)


@dataclass(frozen=True)
class Images:
    """Labelled, validation and test images of a case, uint8, with their classes."""

    labelled: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


def images(case: Case) -> Images:
    name, _, size = case.data.partition(" at ")
    found = load(name)
    order = np.random.default_rng(0).permutation(len(found.train.labels))
    enlarge = 3 if size else 1

    def take(part, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return part.images[which].repeat(enlarge, axis=1).repeat(enlarge, axis=2), part.labels[which]

    first, second = case.labels, case.labels + case.validation
    test = np.arange(100 if size else 2000)
    return Images(take(found.train, order[:first]), take(found.train, order[first:second]), take(found.test, test))


def ours(case: Case) -> tuple[float, list[float]]:
    """Return the seconds of the whole ensemble, and the members' test accuracies."""
    given = images(case)
    training = replace(TRAININGS[case.training], epochs=case.epochs)
    ensemble = Ensemble(case.net, members=case.members, training=training, device="cpu")
    start = time.perf_counter()
    ensemble.fit(*given.labelled, validation=given.validation)
    elapsed = time.perf_counter() - start
    return elapsed, (ensemble.votes(given.test[0]) == given.test[1]).mean(axis=1).tolist()


def with_torchs_dropout(net: nn.Module) -> nn.Module:
    """Return a named network as a user would write it."""
    for child in list(net.modules()):
        for name, part in list(child.named_children()):
            if isinstance(part, Dropout):
                setattr(child, name, nn.Dropout(part.p))
    return net


def loop(case: Case, tuned: bool) -> tuple[float, list[float]]:
    """Return the seconds of a loop over all members, scaled from a few, and their test accuracies."""
    given = images(case)
    training = TRAININGS[case.training]
    if tuned:
        runtime.keep_memory()
    statistics = Normalisation.of(given.labelled[0])

    def tensors(pair: tuple[np.ndarray, np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
        x = statistics.apply(torch.tensor(pair[0]), torch.float32).permute(0, 3, 1, 2)
        return x.clone(memory_format=torch.channels_last if tuned else torch.contiguous_format), torch.tensor(pair[1])

    (x, y), (vx, vy), (tx, ty) = tensors(given.labelled), tensors(given.validation), tensors(given.test)
    net_of = network(case.net, tuple(x.shape[1:]), 10)
    accuracies = []
    start = time.perf_counter()
    for m in range(case.looped):
        torch.manual_seed(m)
        net = with_torchs_dropout(net_of.make())
        if tuned:
            net = net.to(memory_format=torch.channels_last)
        optimiser: torch.optim.Optimizer = torch.optim.SGD(net.parameters(), training.rate, training.momentum)
        if training.optimiser == "rmsprop":
            optimiser = torch.optim.RMSprop(net.parameters(), training.rate)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimiser, "max", factor=training.decay, patience=training.patience - 1, threshold=0
        )
        for _ in range(case.epochs):
            net.train()
            for batch in torch.randperm(len(y)).split(training.batch):
                optimiser.zero_grad()
                F.cross_entropy(net(x[batch]), y[batch]).backward()
                optimiser.step()
            net.eval()
            with torch.no_grad():
                right = sum(
                    int((net(a).argmax(1) == b).sum()) for a, b in zip(vx.split(256), vy.split(256), strict=True)
                )
            schedule.step(right / len(vy))
            if schedule.get_last_lr()[0] < training.floor * (1 - 1e-9):
                break
        with torch.no_grad():
            accuracies.append(float((net(tx).argmax(1) == ty).float().mean()))
    return (time.perf_counter() - start) / case.looped * case.members, accuracies


def fits(only: str = "") -> None:
    for case in CASES:
        if only not in case.net:
            continue
        mine, mine_right = in_fresh_process(ours, case)
        plain, plain_right = in_fresh_process(loop, case, False)
        tuned, tuned_right = in_fresh_process(loop, case, True)
        theirs = [*plain_right, *tuned_right]
        report(
            f"fit {case.net}: {case.data}, {case.labels} labels, {case.epochs} epochs, {case.members} members",
            seconds=mine,
            ratio_to_plain_loop=plain / mine,
            ratio_to_tuned_loop=tuned / mine,
            accuracy=float(np.mean(mine_right)),
            its_spread=float(np.std(mine_right)),
            accuracy_of_the_loops=float(np.mean(theirs)),
            their_spread=float(np.std(theirs)),
            target=f"≥ {case.to_plain} × plain, ≥ {case.to_tuned} × tuned",
            met=plain / mine >= case.to_plain and tuned / mine >= case.to_tuned,
        )


def _fitted_on_mnist(members: int) -> tuple[Ensemble, np.ndarray]:
    found = load("mnist")
    training = replace(TRAININGS["mnist"], epochs=2, watch="training loss")
    ensemble = Ensemble("conv2", members=members, training=training, device="cpu")
    return ensemble.fit(found.train.images[:200], found.train.labels[:200]), found.train.images


def _predicting() -> dict[str, float]:
    ensemble, pool = _fitted_on_mnist(20)
    some = np.array(pool[:45_000])
    extra = peak_extra_bytes(lambda: ensemble.predict_proba(some, members=True))
    mine = seconds(lambda: ensemble.predict_proba(some, members=True), 1)
    predictor = ensemble._predictor
    assert predictor is not None
    x = predictor.normalisation.apply(torch.tensor(some), torch.float32).permute(0, 3, 1, 2)
    x = x.clone(memory_format=torch.contiguous_format)
    modules = [predictor.module(m) for m in range(4)]

    def by_loop() -> None:
        with torch.no_grad():
            for module in modules:
                torch.cat([module(part).softmax(1) for part in x.split(256)])

    return {"mine": mine, "loop": seconds(by_loop, 1) / len(modules) * 20, "extra": float(extra)}


def predicting() -> None:
    found = in_fresh_process(_predicting)
    report(
        "predict_proba: conv2, 20 members, 45,000 images",
        seconds=found["mine"],
        ratio_to_plain_loop=found["loop"] / found["mine"],
        peak_extra_MB=found["extra"] / 1e6,
        target="≥ 2 × the plain loop, < 1500 MB",
        met=found["loop"] >= 2 * found["mine"] and found["extra"] < 1.5e9,
    )


def _image_by_image(network_: nn.Module, image: torch.Tensor) -> float:
    """Run DeepFool as it is usually written."""
    first = int(network_(image[None]).argmax())
    moved = torch.zeros_like(image)
    for _ in range(STEPS):
        x = (image + (1 + OVERSHOOT) * moved).detach().requires_grad_()
        out = network_(x[None])[0]
        if int(out.argmax()) != first:
            break
        slopes = [torch.autograd.grad(out[k], x, retain_graph=True)[0] for k in range(len(out))]
        steps = []
        for k in range(len(out)):
            if k != first:
                w = slopes[k] - slopes[first]
                steps.append((float((out[k] - out[first]).detach().abs() / w.norm()), w))
        away, w = min(steps, key=lambda step: step[0])
        moved = moved + (away + 1e-4) * w / w.norm()
    return float(((1 + OVERSHOOT) * moved).norm())


def fooling() -> None:
    ensemble, pool = _fitted_on_mnist(1)
    predictor = ensemble._predictor
    assert predictor is not None
    module = predictor.module(0)
    x = predictor.normalisation.apply(torch.tensor(pool[:512]), torch.float32).permute(0, 3, 1, 2)
    mine = seconds(lambda: ensemble.perturbations(pool[:1024]), 2) / 1024
    theirs = seconds(lambda: [_image_by_image(module, image) for image in x[:20]], 2) / 20
    report(
        "DeepFool: conv2, 1,024 images",
        seconds_an_image=mine,
        ratio_to_image_by_image=theirs / mine,
        share_of_labels_changed=float(deepfool(module, x).changed.float().mean()),
        target="≥ 10 ×",
        met=theirs >= 10 * mine,
    )


def run() -> None:
    predicting()
    fooling()
    fits()
