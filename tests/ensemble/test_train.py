"""Training in one pass equals training each member alone; and edge cases."""

import hashlib
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import versionspace as vs
from ensemble.synthetic import images
from nets.test_stacks import Blurring, Branching, Frozen, Tied, Twice, Viewing
from versionspace import rng
from versionspace.ensemble import TRAININGS, Ensemble, Normalisation, Training
from versionspace.ensemble.train import FitJob, Labelled, MistakeCounter, Plateau, batch_bounds, fit_group
from versionspace.errors import TrainingError
from versionspace.nets import network
from versionspace.nets.stacks import first_names, stack

TWENTY_STEPS = {"epochs": 5, "batch": 8, "watch": "training loss"}
QUICK = Training(epochs=3, batch=16, watch="training loss")


def job(factory, members, training, *, shape=(8, 8, 1), count=30, dtype=torch.double, backend=None, seed=5, noise=40):
    """A job with initial weights as `Ensemble` draws them."""
    pixels, labels = images(count, shape=shape, noise=noise)
    net = network(factory, (shape[2], *shape[:2]), 4, backend=backend)
    modules = []
    for m in members:
        torch.manual_seed(rng.key(seed, "ensemble", 0, m, "weights") % 2**63)
        modules.append(net.make().to(dtype))
    labelled = Labelled(torch.from_numpy(pixels), torch.from_numpy(labels))
    report = lambda epochs, ended: None  # noqa: E731
    return FitJob(net, training, Normalisation.of(pixels), seed, 0, tuple(members), stack(modules), labelled, None, 64,
                dtype, report)  # fmt: skip


ALL = [(name, None) for name in ("conv2", "conv3", "conv6", "resnet18", "small")]
ALL += [(Viewing, "vmap"), (Viewing, "loop"), (Branching, "loop"), (Tied, "vmap"), (Tied, "loop")]


@pytest.mark.parametrize(
    ("factory", "backend"), ALL, ids=lambda v: v if isinstance(v, str) else getattr(v, "__name__", "")
)
def test_a_member_in_a_group_equals_the_member_alone(factory, backend):
    """Within 1e-9 after 20 steps in float64: weights, order, dropout masks and batch norm are its own."""
    training = Training(**TWENTY_STEPS)
    together = fit_group(job(factory, (0, 1, 2), training, backend=backend))
    alone = fit_group(job(factory, (1,), training, backend=backend))
    for name, value in alone.state.items():
        torch.testing.assert_close(together.state[name][1], value[0], rtol=0, atol=1e-9)
    assert together.histories[1].losses == pytest.approx(alone.histories[0].losses, abs=1e-9)


@pytest.mark.parametrize(("factory", "optimiser"), [
    ("conv2", "sgd"), ("conv2", "rmsprop"), ("conv6", "sgd"), (Tied, "sgd"),
])  # fmt: skip
def test_a_member_equals_one_trained_by_torchs_optimiser(factory, optimiser):
    """With a learning rate that falls after the first epoch without improvement."""
    rate = 1e-2 if optimiser == "sgd" else 1e-4
    training = Training(optimiser=optimiser, rate=rate, patience=1, decay=0.5, floor=1e-9, **TWENTY_STEPS)
    given = job(factory, (3,), training, noise=250)
    fit = fit_group(given)
    assert len(set(fit.histories[0].rates)) > 1 or factory is Tied  # improves in each of five epochs
    torch.manual_seed(rng.key(5, "ensemble", 0, 3, "weights") % 2**63)
    module = given.network.make().double().train()
    optim = torch.optim.SGD(module.parameters(), rate, training.momentum)
    if optimiser == "rmsprop":
        optim = torch.optim.RMSprop(module.parameters(), rate)
    order = rng.generator(5, "ensemble", 0, 3, "order")
    masks = torch.Generator().manual_seed(rng.key(5, "ensemble", 0, 3, "dropout") % 2**63)
    x = given.normalisation.apply(given.labelled.inputs, torch.double).permute(0, 3, 1, 2)
    for epoch_rate in fit.histories[0].rates:
        optim.param_groups[0]["lr"] = epoch_rate
        which = order.permutation(30)
        for begin, end in ((0, 8), (8, 16), (16, 24), (24, 30)):
            for name, layer in given.network.dropouts():
                mask = torch.empty(layer.mask_shape(end - begin), dtype=torch.double)
                module.get_submodule(name).mask = mask.bernoulli_(1 - layer.p, generator=masks) / (1 - layer.p)
            optim.zero_grad()
            F.cross_entropy(module(x[which[begin:end]]), given.labelled.labels[which[begin:end]]).backward()
            optim.step()
    for name, value in module.state_dict().items():
        torch.testing.assert_close(fit.state[first_names(module)[name]][0], value, rtol=0, atol=1e-9)


def test_the_rate_follows_the_losses():
    """The rates in a member's history follow from its losses by the plateau rule."""
    training = Training(rate=0.05, patience=1, decay=0.5, floor=1e-9, epochs=15, batch=8, watch="training loss")
    for history in fit_group(job("small", (0, 1, 2), training, noise=250)).histories:
        state, rates = Plateau(training.rate), []
        for loss in history.losses:
            rates.append(state.rate)
            state = state.after(loss, training)
        assert history.rates == rates
        assert len(set(rates)) > 1


def test_each_round_draws_its_own_order_and_masks():
    """With the same initial weights, only order and masks differ."""
    first = job("conv2", (0,), Training(**TWENTY_STEPS))
    again, other = fit_group(first), fit_group(replace(first, round=1))
    assert again.histories[0].losses == fit_group(first).histories[0].losses
    assert other.histories[0].losses[0] != pytest.approx(again.histories[0].losses[0], rel=1e-6)


def fitted(**options):
    pixels, labels = images(40)
    return Ensemble("small", members=5, classes=4, training=QUICK, **options).fit(pixels, labels)


def digest(ensemble):
    state = ensemble._predictor.state
    return hashlib.sha256(b"".join(state[name].numpy().tobytes() for name in sorted(state))).hexdigest()


def test_a_fit_is_bitwise_reproducible_on_any_number_of_threads():
    assert digest(fitted(seed=1, threads=1)) == digest(fitted(seed=1, threads=3)) == digest(fitted(seed=1))
    assert digest(fitted(seed=1)) != digest(fitted(seed=2))


def test_a_fit_is_bitwise_reproducible_in_another_process():
    code = "import sys; sys.path.insert(0, 'tests'); from ensemble.test_train import *; print(digest(fitted(seed=1)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == digest(fitted(seed=1))


def test_every_round_and_member_is_a_fresh_draw():
    """Some peers restore the same initial weights each round."""
    pixels, labels = images(40)
    ensemble = Ensemble("small", members=3, classes=4, training=replace(QUICK, rate=1e-9, floor=1e-12), seed=1)
    weights = []
    for number in (0, 1):
        ensemble.fit(pixels, labels, round=number)
        weights += list(ensemble._predictor.state["0.weight"])
    for i in range(6):
        for j in range(i):
            assert not torch.allclose(weights[i], weights[j], atol=0.01)


def test_training_leaves_torchs_generator_and_threads_alone():
    torch.manual_seed(3)
    before = torch.random.get_rng_state(), torch.get_num_threads()
    fitted(seed=1)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert torch.get_num_threads() == before[1]


def test_training_leaves_the_generators_of_gpus_alone(monkeypatch):
    before = digest(fitted(seed=1))
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("the generator of a GPU is seeded"))
    assert digest(fitted(seed=1)) == before
    with torch.device("meta"):  # stands for a GPU as the default device
        assert digest(fitted(seed=1, device="cpu")) == before


def test_members_learn():
    pixels, labels = images(120)
    test, truth = images(200, seed=1)
    ensemble = Ensemble("small", members=4, classes=4, training={"epochs": 40, "watch": "training loss"})
    ensemble.fit(pixels, labels)
    assert (ensemble.votes(test) == truth).mean() > 0.9
    assert all(history.fit > 0.95 for history in ensemble.history_)


def test_members_that_have_stopped_leave_the_group():
    pixels, labels = images(60, noise=120)
    held = images(50, seed=2, noise=120)
    ensemble = Ensemble("small", members=10, classes=4, training=Training(epochs=60, patience=2, rate=0.05, floor=4e-2))
    ensemble.fit(pixels, labels, validation=held)
    epochs = [history.epochs for history in ensemble.history_]
    assert len(set(epochs)) > 1
    for history in ensemble.history_:
        assert len(history.losses) == len(history.rates) == history.epochs
        assert history.best_accuracy is not None
    assert np.isfinite(ensemble.predict_proba(pixels, members=True)).all()


def test_members_that_leave_do_not_affect_the_others():
    """Members that end at different epochs have the same weights and history as when trained alone."""
    training = Training(rate=0.05, patience=1, decay=0.5, floor=0.02, epochs=40, batch=8, watch="training loss")
    members = tuple(range(6))
    together = fit_group(job("small", members, training, noise=250))
    assert len({history.epochs for history in together.histories}) > 2
    for m in members:
        alone = fit_group(job("small", (m,), training, noise=250))
        assert alone.histories[0].epochs == together.histories[m].epochs
        assert alone.histories[0].losses == pytest.approx(together.histories[m].losses, abs=1e-8)
        for name, value in alone.state.items():
            torch.testing.assert_close(together.state[name][m], value[0], rtol=0, atol=1e-8)


def test_the_fit_is_the_share_of_labels_predicted_correctly():
    pixels, labels = images(60, noise=250)
    ensemble = Ensemble("small", members=4, classes=4, training=Training(epochs=6, watch="training loss"))
    ensemble.fit(pixels, labels)
    right = (ensemble.votes(pixels) == labels).mean(axis=1)
    assert 0 < right.min() < 1
    np.testing.assert_allclose([history.fit for history in ensemble.history_], right, atol=1e-6)


def test_the_rate_falls_after_exactly_ten_epochs_without_strict_improvement():
    training = TRAININGS["fashion-mnist"]
    state = Plateau(training.rate).after(100, training)
    for _ in range(9):
        state = state.after(100, training)
    assert (state.rate, state.stopped) == (1e-2, False)
    state = state.after(100, training)
    assert state.rate == pytest.approx(1e-3)
    assert state.after(99, training).waited == 0


@pytest.mark.parametrize(("name", "epochs", "rates"), [("stl10", 30, 3), ("mnist", 40, 4)])
def test_training_ends_when_the_rate_falls_below_its_floor(name, epochs, rates):
    """SGD trains with 1e-2, 1e-3 and 1e-4; RMSProp with 1e-4, halved up to three times."""
    training = TRAININGS[name]
    state, seen, ran = Plateau(training.rate, best=50), set(), 0
    while not state.stopped:
        seen.add(state.rate)
        state = state.after(50, training)
        ran += 1
    assert ran == epochs
    assert len(seen) == rates


def test_the_papers_settings():
    assert TRAININGS["mnist"] == Training("rmsprop", 1e-4, 0.8, 0.5, 1e-5, 10, 200, 16, "validation accuracy")
    for name in ("fashion-mnist", "svhn", "stl10"):
        assert TRAININGS[name] == Training("sgd", 1e-2, 0.8, 0.1, 1e-4, 10, 200, 32, "validation accuracy")


def test_counting_up_to_the_limit_decides_like_a_whole_pass():
    """Members with known answers, limits above and below their mistakes, several epochs with changing orders."""
    generator = np.random.default_rng(0)
    torch.manual_seed(0)
    truth = torch.from_numpy(generator.integers(0, 3, 100))
    answers = torch.from_numpy(generator.integers(0, 3, (8, 100)))
    pictures = torch.arange(100, dtype=torch.uint8).view(100, 1, 1, 1)  # an image is its own number
    validation = MistakeCounter(Labelled(pictures, truth), Normalisation((0.0,), (1.0,)), 8, step=7)

    def run(state, masks, given):
        which = given[:, :, 0, 0].long().T  # (G, B)
        return F.one_hot(state["answers"].gather(1, which), 3).float()

    for _ in range(5):
        whole = (answers != truth).sum(dim=1)
        limits = [int(n) + generator.integers(-3, 4) for n in whole]
        limits[0] = None
        found = validation.count(run, {"answers": answers}, limits, torch.float32)
        for count, exact, limit in zip(found, whole.tolist(), limits, strict=True):
            assert (limit is None or count < limit) == (limit is None or exact < limit)
            if limit is None or exact < limit:
                assert count == exact
        assert sorted(validation.order[3].tolist()) == list(range(100))
        answers = torch.where(torch.rand(8, 100) < 0.1, torch.randint(0, 3, (8, 100)), answers)


def test_images_missed_last_time_come_first():
    truth = torch.zeros(1000, dtype=torch.long)
    answers = torch.zeros(1, 1000, dtype=torch.long)
    answers[0, 900:950] = 1
    pictures = torch.zeros(1000, 1, 1, 2, dtype=torch.uint8)
    pictures[:, 0, 0, 0] = torch.arange(1000) // 256
    pictures[:, 0, 0, 1] = torch.arange(1000) % 256
    validation = MistakeCounter(Labelled(pictures, truth), Normalisation((0.0, 0.0), (1.0, 1.0)), 1, step=25)

    def run(state, masks, given):
        which = (given[:, 0, 0, 0] * 256 + given[:, 1, 0, 0]).long()
        return F.one_hot(state["answers"][:, which], 2).float()

    assert validation.count(run, {"answers": answers}, [None], torch.float32) == [50]
    assert validation.looked == 1000
    assert validation.count(run, {"answers": answers}, [50], torch.float32) == [50]
    assert validation.looked == 1050


@pytest.mark.parametrize(("count", "size", "expected"), [
    (10, 4, [(0, 4), (4, 8), (8, 10)]), (9, 4, [(0, 4), (4, 9)]), (3, 4, [(0, 3)]), (4, 4, [(0, 4)]), (5, 4, [(0, 5)]),
    (2, 1, [(0, 2)]),
])  # fmt: skip
def test_no_batch_has_a_single_image(count, size, expected):
    assert batch_bounds(count, size) == expected


@pytest.mark.parametrize("net", ["conv2", "conv3", "conv6", "resnet18", "small"])
@pytest.mark.parametrize("labels", [[2], [0, 0, 0], [3, 1]], ids=["one image", "one class", "fewer than a batch"])
def test_very_few_labels(net, labels):
    pixels, _ = images(len(labels))
    training = Training(epochs=2, watch="training loss")
    ensemble = Ensemble(net, members=2, classes=4, training=training).fit(pixels, labels)
    assert np.isfinite(ensemble.predict_proba(images(5)[0], members=True)).all()
    assert all(np.isfinite(history.losses).all() for history in ensemble.history_)


class Pooled(torch.nn.Sequential):
    """A user's network whose batch norm sees one number per image and channel."""

    def __init__(self, shape, classes):
        norm = torch.nn.BatchNorm2d(shape[0])
        super().__init__(torch.nn.AdaptiveAvgPool2d(1), norm, torch.nn.Flatten(), torch.nn.Linear(shape[0], classes))


@pytest.mark.parametrize(("net", "fine"), [("resnet18", False), (Pooled, False), ("conv6", True), ("small", True)])
def test_batches_of_one_image_are_accepted_if_batch_norm_can_use_them(net, fine):
    pixels, labels = images(5)
    one = Ensemble(net, members=2, classes=4, training=Training(epochs=1, batch=1, watch="training loss"))
    if fine:
        assert np.isfinite(one.fit(pixels, labels).predict_proba(pixels, members=True)).all()
    else:
        with pytest.raises(vs.InputError, match=r"training.batch: expected at least 2 .* batch norm .* got 1. Raise"):
            one.fit(pixels, labels)


def test_a_loss_that_is_not_finite_is_explained():
    pixels, labels = images(40)
    with pytest.raises(
        TrainingError, match=r"member \d, epoch \d: expected a finite training loss.*lower learning rate"
    ):
        Ensemble("conv2", members=2, classes=4, training=Training(rate=1e12, watch="training loss")).fit(pixels, labels)


@pytest.mark.parametrize(
    "error", [RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."), MemoryError()]
)
def test_running_out_of_memory_is_explained(error, monkeypatch):
    def fails(job):
        raise error

    monkeypatch.setattr("versionspace.ensemble.train.fit_group", fails)
    with pytest.raises(TrainingError, match=r"memory ran out while training. Try fewer threads"):
        fitted(seed=1)


ENDLESS = Training(epochs=10**6, patience=10**6, watch="training loss")


def test_a_failing_group_stops_the_others(monkeypatch):
    """Ten members of `small` form a group; the second group fails at once, the first would train for days."""

    def fails_later(job):
        if 10 in job.members:
            raise TrainingError("member 10: no")
        return fit_group(job)

    monkeypatch.setattr("versionspace.ensemble.train.fit_group", fails_later)
    pixels, labels = images(20)
    with pytest.raises(TrainingError, match="member 10: no"):
        Ensemble("small", members=20, classes=4, training=ENDLESS, threads=2).fit(pixels, labels)


def test_ctrl_c_stops_training_within_an_epoch():
    code = """
import sys; sys.path.insert(0, 'tests')
from ensemble.test_train import *
pixels, labels = images(20)
print("ready", flush=True)
Ensemble("small", members=20, classes=4, training=ENDLESS, threads=2).fit(pixels, labels)
"""
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    time.sleep(2)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=20)
    assert "KeyboardInterrupt" in stderr


def test_a_frozen_layer_keeps_its_initial_weights():
    pixels, labels = images(40)
    training = Training(rate=0.1, epochs=3, batch=8, watch="training loss")
    found = Ensemble(Frozen, members=3, classes=4, training=training, seed=1).fit(pixels, labels)
    first = found._initial_weights(found._predictor.network, 0)
    for name, value in found._predictor.state.items():
        assert torch.equal(value, first[name]) == name.startswith("first")


@pytest.mark.parametrize("net", [Twice, Blurring], ids=["one dropout layer, three calls", "unsaved tensor"])
def test_users_networks_train_in_double_precision(net):
    pixels, labels = images(40)
    found = Ensemble(net, members=3, classes=4, training=QUICK, dtype=torch.double).fit(pixels, labels)
    assert np.isfinite(found.predict_proba(pixels, members=True)).all()


def test_other_errors_are_not_hidden(monkeypatch):
    def fails(job):
        raise RuntimeError("a bug")

    monkeypatch.setattr("versionspace.ensemble.train.fit_group", fails)
    with pytest.raises(RuntimeError, match="a bug"):
        fitted(seed=1)


@pytest.mark.parametrize(("setting", "value"), [
    ("optimiser", "adam"), ("rate", 0), ("momentum", 1.0), ("decay", 1.0), ("floor", 0), ("patience", 0), ("epochs", 0),
    ("batch", 0), ("watch", "the clock"),
])  # fmt: skip
def test_bad_training_is_rejected_with_a_sentence(setting, value):
    with pytest.raises(vs.InputError, match=f"training.{setting}: expected"):
        Training(**{setting: value})


def test_there_is_no_bar_without_a_terminal(capsys):
    fitted(seed=1)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_bar_can_be_forced(capsys):
    fitted(seed=1, progress=True)
    assert "training" in capsys.readouterr().err


def test_a_progress_callback_is_called_and_may_stop_the_fit():
    calls = []
    Ensemble("small", members=3, classes=4, training=Training(epochs=4, watch="training loss"),
             progress=lambda ran, ended: calls.append((ran, ended))).fit(*images(20))  # fmt: skip
    assert sum(ended for _, ended in calls) == 3
    assert sum(ran for ran, _ in calls) >= 3

    def interrupt(ran, ended):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Ensemble("small", members=3, classes=4, progress=interrupt, training="no-validation").fit(*images(20))
