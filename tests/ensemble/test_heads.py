"""Heads on the features of a frozen extractor: members of a version space like any others, on real digits."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import versionspace as vs
from versionspace import rng
from versionspace.data import load
from versionspace.ensemble import Ensemble, Heads, Normalisation, Training
from versionspace.ensemble.deepfool import deepfool
from versionspace.ensemble.settings import RECIPES, even_batch
from versionspace.ensemble.train import FitJob, Labelled, fit_group, fit_members
from versionspace.nets import network, stack
from versionspace.nets.head import HIDDEN
from versionspace.space import pairwise_disagreement

TRAINING, LONGER = RECIPES["heads"].training, RECIPES["heads"].retry_epochs

DIGITS = load("digits").train
PIXELS = np.ascontiguousarray(DIGITS.images[:300])
IMAGES, LABELS = PIXELS[:120], DIGITS.labels[:120]
MORE, TRUTH = PIXELS[120:], DIGITS.labels[120:300]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def made(cache):
    return lambda **options: Heads(**{"members": 12, "seed": 1, "side": 64, "device": "cpu", "cache": cache, **options})


@pytest.fixture(scope="module")
def heads(cache):
    return Heads(members=12, seed=1, side=64, device="cpu", cache=cache).fit(IMAGES, LABELS)


def digest(heads):
    state = heads._predictor.state
    return hashlib.sha256(b"".join(state[name].numpy().tobytes() for name in sorted(state))).hexdigest()


def test_members_fit_their_labels_and_generalise(heads):
    assert all(history.fit >= 0.99 for history in heads.history_)
    right = (heads.votes(IMAGES) == LABELS).mean(axis=1)
    np.testing.assert_allclose([history.fit for history in heads.history_], right, atol=1e-6)
    assert (heads.votes(MORE) == TRUTH).mean() > 0.65


def test_members_differ_where_the_labels_leave_room(heads, made):
    assert 0.03 < pairwise_disagreement(heads.votes(MORE)) < 0.5
    weights = heads._predictor.state["1.weight"]
    other = made().fit(IMAGES, LABELS, round=1)._predictor.state["1.weight"]
    every = torch.cat([weights, other]).flatten(1)
    assert float(torch.corrcoef(every).triu(1).abs().max()) < 0.5  # each round and member starts somewhere else


def test_a_fit_is_bitwise_reproducible_on_any_number_of_threads(heads, made):
    found = digest(heads)
    for threads in (1, 2, 3):
        again = made(threads=threads).fit(IMAGES, LABELS)
        assert digest(again) == found
        np.testing.assert_array_equal(again.predict_proba(MORE, members=True), heads.predict_proba(MORE, members=True))
    assert digest(made(seed=2).fit(IMAGES, LABELS)) != found


def test_the_cache_does_not_affect_the_result(heads, made):
    assert digest(made(cache=False).fit(IMAGES, LABELS)) == digest(heads)


def job(members, features, labels, training=TRAINING):
    net = network("heads", (features.shape[1], 1, 1), 10)
    modules = []
    for m in members:
        torch.manual_seed(rng.key(5, "ensemble", 0, m, "weights") % 2**63)
        modules.append(net.make().double())
    labelled = Labelled(torch.tensor(features)[:, None, None], torch.tensor(labels))
    return FitJob(net, training, Normalisation.of_features(features), 5, 0, tuple(members), stack(modules), labelled,
                  None, 64, torch.double, lambda epochs, ended: None)  # fmt: skip


def test_a_head_in_a_group_equals_the_head_alone(heads):
    features = heads.inputs.chosen.extract(IMAGES[:30]).astype(np.float64)
    training = replace(TRAINING, epochs=5, batch=8)
    together = fit_group(job((0, 1, 2), features, LABELS[:30], training))
    alone = fit_group(job((1,), features, LABELS[:30], training))
    for name, value in alone.state.items():
        torch.testing.assert_close(together.state[name][1], value[0], rtol=0, atol=1e-9)


def test_a_stack_of_heads_returns_what_each_head_returns():
    """For members that see the same features, and for members that see their own."""
    net = network("heads", (7, 1, 1), 3)
    modules = [net.make().double().eval() for _ in range(4)]
    run, state = net.runner(training=False), stack(modules)
    generator = torch.Generator().manual_seed(0)
    same = torch.randn(5, 7, 1, 1, generator=generator, dtype=torch.double)
    own = torch.randn(4, 5, 7, generator=generator, dtype=torch.double)
    with torch.no_grad():
        expected = torch.stack([module(same) for module in modules])
        torch.testing.assert_close(run(state, {}, same), expected, rtol=0, atol=1e-12)
        expected = torch.stack([module(x[:, :, None, None]) for module, x in zip(modules, own, strict=True)])
        beside = own.transpose(0, 1).reshape(5, 28, 1, 1)
        torch.testing.assert_close(run(state, {}, beside), expected, rtol=0, atol=1e-12)


def test_members_that_do_not_fit_are_trained_again_for_longer(heads):
    """The group starts again, and equals one that had as many epochs from the start."""
    features = heads.inputs.chosen.extract(IMAGES).astype(np.float64)
    wrong = np.random.default_rng(0).integers(0, 10, 120)
    given = job((0, 1), features, wrong, replace(TRAINING, epochs=2))
    whole = fit_members(replace(given, training=replace(TRAINING, epochs=40)), 10, 1)
    assert max(history.fit for history in fit_members(given, 10, 1).histories) < 0.99
    assert min(history.fit for history in whole.histories) >= 0.99
    again = fit_members(given, 10, 1, retry_epochs=40)
    assert again.histories == whole.histories
    assert all(torch.equal(again.state[name], whole.state[name]) for name in whole.state)
    assert fit_members(replace(given, training=TRAINING), 10, 1).histories[0].epochs == TRAINING.epochs


def test_random_labels_are_fitted(made):
    wrong = np.random.default_rng(0).integers(0, 10, 120)
    found = made(members=4).fit(IMAGES, wrong)
    assert {history.epochs for history in found.history_} == {LONGER}
    assert min(history.fit for history in found.history_) >= 0.99
    short = made(members=4, training={"epochs": 3}).fit(IMAGES, wrong)
    assert {history.epochs for history in short.history_} == {3}


def test_initial_weights_are_drawn_like_those_of_an_ensemble(made):
    still = made(members=2, training={"rate": 1e-12, "floor": 1e-15, "epochs": 1}).fit(IMAGES[:5], LABELS[:5])
    for m in (0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(rng.key(1, "ensemble", 0, m, "weights") % 2**63)
            first = network("heads", (1280, 1, 1), 10).make()
        torch.testing.assert_close(still._predictor.module(m)[1].weight, first[1].weight, rtol=0, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 66, 128, 129, 130, 400, 1000])
def test_batches_are_of_equal_size(count):
    size = even_batch(count, 64)
    sizes = [min(size, count - start) for start in range(0, count, size)]
    assert sum(sizes) == count
    assert max(sizes) <= 64
    assert min(sizes) > max(sizes) - len(sizes)


def test_a_fit_has_batches_of_equal_size(made, monkeypatch):
    seen = []
    monkeypatch.setattr("versionspace.ensemble.train.fit_group", lambda job: seen.append(job) or fit_group(job))
    found = made(members=1).fit(IMAGES[:66], LABELS[:66])
    assert seen[0].training == replace(TRAINING, batch=33)
    assert found._trained_with == TRAINING


def test_very_few_labels(made):
    for labels in ([2], [0, 0, 0], [3, 1]):
        found = made(members=2).fit(IMAGES[: len(labels)], labels)
        assert np.isfinite(found.predict_proba(MORE[:5], members=True)).all()


def test_features_are_normalised_by_the_given_statistics(heads, made):
    pool = heads.statistics(PIXELS)
    features = heads.inputs.chosen.extract(PIXELS).astype(np.float64)
    np.testing.assert_allclose(pool.mean, features.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(pool.deviation, features.std(axis=0).mean(), rtol=1e-9)
    given = made(normalisation=pool).fit(IMAGES, LABELS)
    assert given._predictor.normalisation == pool != heads._predictor.normalisation
    assert Normalisation.of_features(np.ones((3, 2))) == Normalisation((1.0, 1.0), (1.0, 1.0))


def test_opinions_are_the_votes_and_the_soft_majority(heads):
    opinions, probs = heads.opinions(MORE), heads.predict_proba(MORE, members=True)
    assert probs.shape == (12, 180, 10)
    assert probs.dtype == np.float32
    np.testing.assert_allclose(probs.sum(axis=2), 1, atol=1e-5)
    np.testing.assert_array_equal(opinions.votes, probs.argmax(axis=2))
    np.testing.assert_array_equal(opinions.votes, heads.votes(MORE))
    total = np.zeros((180, 10))
    for member in probs:
        total += member
    np.testing.assert_array_equal(opinions.majority, total.argmax(axis=1))
    assert opinions.votes.dtype == opinions.majority.dtype == np.uint8


def test_features_are_the_hidden_units(heads):
    found = heads.features(MORE[:9], member="all")
    assert found.shape == (12, 9, HIDDEN)
    last = heads._predictor.module(3)[4]
    with torch.no_grad():
        probs = last(torch.from_numpy(found[3])).softmax(dim=1).numpy()
    np.testing.assert_allclose(probs, heads.predict_proba(MORE[:9], members=True)[3], atol=1e-5)


def test_mc_dropout_changes_only_dropout(heads):
    found = heads.mc_dropout_proba(MORE[:20], passes=400, member=2)
    np.testing.assert_array_equal(found[:7], heads.mc_dropout_proba(MORE[:20], passes=7, member=2))
    assert found.std(axis=0).max() > 0.05
    hidden = torch.from_numpy(heads.features(MORE[:20], member=2))
    last = heads._predictor.module(2)[4]
    masks = torch.bernoulli(torch.full((400, 20, HIDDEN), 0.5), generator=torch.Generator().manual_seed(0)) * 2
    with torch.no_grad():
        expected = last(hidden * masks).softmax(dim=2).numpy()
    np.testing.assert_allclose(found.mean(axis=0), expected.mean(axis=0), atol=0.1)


def test_perturbations_are_those_of_deepfool_on_normalised_features(heads):
    norm = heads._predictor.normalisation
    standardised = (heads.inputs.chosen.extract(MORE[:20]) - np.array(norm.mean)) / np.array(norm.deviation)
    module = heads._predictor.module(1)
    found = deepfool(module, torch.tensor(standardised, dtype=torch.float32)[:, :, None, None])
    assert found.changed.all()
    np.testing.assert_allclose(heads.perturbations(MORE[:20], member=1), found.sizes.detach().numpy(), rtol=1e-3)
    assert heads.perturbations(MORE[:2], member="all").shape == (12, 2)


def test_saved_heads_can_be_loaded(heads, cache, tmp_path):
    heads.save(tmp_path)
    again = Heads.load(tmp_path, cache=cache, device="cpu")
    np.testing.assert_array_equal(again.predict_proba(MORE, members=True), heads.predict_proba(MORE, members=True))
    np.testing.assert_array_equal(again.mc_dropout_proba(MORE[:9]), heads.mc_dropout_proba(MORE[:9]))
    assert (again.history_, again.net, again.members, again.seed) == (heads.history_, "heads", 12, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backbone.json", "ensemble.json", "weights.safetensors"]
    again.save(tmp_path / "twice")
    for name in ("backbone.json", "ensemble.json"):
        assert (tmp_path / name).read_text() == (tmp_path / "twice" / name).read_text()
    assert digest(again.fit(IMAGES, LABELS)) == digest(heads)


def test_one_head_can_be_selected(heads):
    one = heads.only(5)
    assert one.members == 1
    np.testing.assert_allclose(
        one.predict_proba(MORE, members=True)[0], heads.predict_proba(MORE, members=True)[5], atol=1e-6
    )
    assert one.history_ == [heads.history_[5]]


@pytest.mark.slow
def test_an_onnx_file_contains_the_extractor_once(made, tmp_path):
    import onnxruntime

    heads = made(members=3).fit(IMAGES, LABELS)
    assert heads.to_onnx(tmp_path / "heads.onnx", [str(i) for i in range(10)]) < 1e-4
    session = onnxruntime.InferenceSession(str(tmp_path / "heads.onnx"))
    found = session.run(None, {"images": MORE[:11]})[0]
    np.testing.assert_allclose(found, heads.predict_proba(MORE[:11], members=True).mean(axis=0), atol=1e-4)
    assert (tmp_path / "heads.onnx").stat().st_size < 20e6  # the extractor once, not for each head


@pytest.mark.parametrize("damage", ["no backbone", "cut backbone", "other weights", "an ensemble"])
def test_a_damaged_folder_is_rejected(damage, heads, tmp_path):
    heads.save(tmp_path)
    page = tmp_path / "backbone.json"
    if damage == "no backbone":
        page.unlink()
        message = r"backbone.json, got no .*backbone.json. Pass a folder that Ensemble.save wrote"
    elif damage == "cut backbone":
        page.write_text(page.read_text()[:20])
        message = "expected what Ensemble.save writes, got JSONDecodeError.*The files are damaged"
    elif damage == "other weights":
        page.write_text(json.dumps({**json.loads(page.read_text()), "weights": "resnet"}))
        message = "expected the extractor resnet.*, got efficientnet-lite0.*fit again"
    else:
        tmp_path = tmp_path / "ensemble"
        quick = Training(epochs=1, watch="training loss")
        Ensemble("small", members=1, training=quick).fit(IMAGES[:9], LABELS[:9]).save(tmp_path)
        message = "extractor: expected the name of a feature extractor.*Ensemble.load reads any folder"
    with pytest.raises(vs.InputError, match=message):
        Heads.load(tmp_path, cache=False)


def test_an_ensemble_saved_over_heads_is_an_ensemble_on_pixels(heads, tmp_path):
    heads.save(tmp_path)
    quick = Training(epochs=1, watch="training loss")
    on_pixels = Ensemble("small", members=1, training=quick).fit(IMAGES[:9], LABELS[:9])
    on_pixels.save(tmp_path)
    np.testing.assert_array_equal(
        Ensemble.load(tmp_path).predict_proba(MORE, members=True), on_pixels.predict_proba(MORE, members=True)
    )


def test_any_ensemble_can_be_loaded_without_knowing_its_kind(heads, cache, tmp_path):
    heads.save(tmp_path)
    again = Ensemble.load(tmp_path, cache=cache, device="cpu")
    np.testing.assert_array_equal(again.predict_proba(MORE, members=True), heads.predict_proba(MORE, members=True))
    assert digest(again.fit(IMAGES, LABELS)) == digest(heads)


def test_training_can_watch_the_validation_accuracy(made):
    watched = made(training={"watch": "validation accuracy", "patience": 2, "decay": 0.1, "epochs": 40})
    watched.fit(IMAGES, LABELS, validation=(MORE, TRUTH))
    assert all(history.best_accuracy > 0.65 for history in watched.history_)
    assert len({history.epochs for history in watched.history_}) > 1
    with pytest.raises(vs.InputError, match="validation: expected labelled images"):
        watched.fit(IMAGES, LABELS)


def test_a_progress_callback_is_called_and_may_stop_the_work(made):
    seen = []
    made(members=3, progress=lambda epochs, ended: seen.append((epochs, ended))).fit(IMAGES[:8], LABELS[:8])
    assert sum(epochs for epochs, _ in seen) == 3 * TRAINING.epochs
    assert sum(ended for _, ended in seen) == 3

    def interrupt(epochs, ended):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # while the features are computed
        made(cache=False, progress=interrupt).statistics(IMAGES)


def test_bad_input_is_rejected_with_a_sentence(made, heads, tmp_path):
    with pytest.raises(vs.InputError, match="normalisation: expected statistics of 1280 features, got 3. Pass"):
        made(normalisation=Normalisation((0.0,) * 3, (1.0,) * 3)).fit(IMAGES, LABELS)
    with pytest.raises(vs.InputError, match="members: expected a whole number of at least 1"):
        made(members=0)
    with pytest.raises(vs.InputError, match="training: expected"):
        made(training={"speed": 3}).fit(IMAGES, LABELS)
    with pytest.raises(vs.InputError, match="images: expected uint8 images"):
        heads.votes(MORE / 255.0)
    with pytest.raises(vs.InputError, match="got 2 channels"):
        heads.votes(np.zeros((3, 8, 8, 2), np.uint8))
    with pytest.raises(vs.InputError, match="labels: expected classes from 0 to 9"):
        made(classes=10).fit(IMAGES[:2], [3, 10])
    with pytest.raises(vs.InputError, match="labels: expected integer classes of shape"):
        made(classes=10).fit(IMAGES[:2], [3])
    with pytest.raises(vs.InputError, match="member: expected 0 to 11"):
        heads.features(MORE, member=12)
    with pytest.raises(vs.InputError, match="passes: "):
        heads.mc_dropout_proba(MORE, passes=0)
    for call in (made().votes, made().perturbations, made().opinions):
        with pytest.raises(vs.InputError, match=r"expected fitted members.*Call fit"):
            call(MORE)
    for call in (made().save, made().to_onnx):
        with pytest.raises(vs.InputError, match="Call fit"):
            call(tmp_path)
