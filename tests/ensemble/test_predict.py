"""Predictions of fitted members, and how they are saved and loaded."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import versionspace as vs
from ensemble.synthetic import images
from nets.test_stacks import Tied, Twice, Viewing
from versionspace.ensemble import Ensemble, Heads, Normalisation, Training
from versionspace.ensemble.deepfool import OVERSHOOT, STEPS, DeepFoolResult, deepfool
from versionspace.nets.stacks import to_contiguous
from versionspace.runtime import pick_device

QUICK = Training(epochs=6, watch="training loss")
PIXELS, LABELS = images(80)
MORE, _ = images(700, seed=3)


@pytest.fixture(scope="module", params=["small", "conv6", Viewing, Tied], ids=["small", "conv6", "own", "tied"])
def ensemble(request):
    """Members that fit their labels: DeepFool on a network that has learnt nothing tests little."""
    training = Training(epochs=60, watch="training loss")
    found = Ensemble(request.param, members=3, classes=4, training=training, seed=2).fit(PIXELS, LABELS)
    assert min(history.fit for history in found.history_) > 0.95
    return found


def logits(ensemble, member, pixels):
    module = ensemble._predictor.module(member)
    with torch.no_grad():
        x = ensemble._predictor.normalisation.apply(torch.from_numpy(pixels), torch.float32)
        return module(to_contiguous(x.permute(0, 3, 1, 2)))


def test_probabilities_are_each_members_softmax(ensemble):
    found = ensemble.predict_proba(MORE, members=True)
    assert found.shape == (3, 700, 4)
    assert found.dtype == np.float32
    for m in range(3):
        np.testing.assert_allclose(found[m], logits(ensemble, m, MORE).softmax(1), atol=1e-5)


def test_votes_are_the_argmax_of_the_probabilities(ensemble):
    votes = ensemble.votes(MORE)
    assert votes.dtype == np.uint8
    np.testing.assert_array_equal(votes, ensemble.predict_proba(MORE, members=True).argmax(-1))


def test_features_are_the_input_of_the_last_layer(ensemble):
    features = ensemble.features(MORE)
    assert features.shape[0] == 700
    last = [m for m in ensemble._predictor.module(0).modules() if isinstance(m, torch.nn.Linear)][-1]
    with torch.no_grad():
        np.testing.assert_allclose(last(torch.from_numpy(features)), logits(ensemble, 0, MORE), atol=1e-4)
    every = ensemble.features(MORE[:9], member="all")
    assert every.shape == (3, 9, features.shape[1])
    np.testing.assert_array_equal(every[0], ensemble.features(MORE[:9]))


def test_mc_dropout_passes_differ_and_change_no_state(ensemble):
    """Turning dropout on by train(), as a peer does, would also move the statistics of batch norm."""
    before = {name: value.clone() for name, value in ensemble._predictor.state.items()}
    found = ensemble.mc_dropout_proba(MORE[:50], passes=30)
    assert found.shape == (30, 50, 4)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    assert (found.std(axis=0).max(axis=1) > 1e-4).mean() > 0.9
    for name, value in ensemble._predictor.state.items():
        assert torch.equal(value, before[name])
    np.testing.assert_array_equal(found, ensemble.mc_dropout_proba(MORE[:50], passes=30))
    assert ensemble.mc_dropout_proba(MORE[:5], passes=2, member="all").shape == (3, 2, 5, 4)
    assert vs.utilities("bald", pool=found).shape == (50,)


def test_mc_dropout_equals_torchs_dropout_in_distribution():
    """For this network, training mode of torch's own dropout changes nothing but dropout."""
    one = Ensemble("small", members=1, classes=4, training=QUICK, seed=2).fit(PIXELS, LABELS)
    found = one.mc_dropout_proba(MORE[:20], passes=2000)
    module = one._predictor.module(0)
    plain = torch.nn.Sequential(*(torch.nn.Dropout(0.5) if hasattr(m, "mask") else m for m in module)).train()
    x = one._predictor.normalisation.apply(torch.from_numpy(MORE[:20]), torch.float32)
    x = to_contiguous(x.permute(0, 3, 1, 2))
    torch.manual_seed(0)
    with torch.no_grad():
        expected = torch.stack([plain(x).softmax(1) for _ in range(2000)])
    np.testing.assert_allclose(found.mean(0), expected.mean(0), atol=0.03)
    np.testing.assert_allclose(found.std(0), expected.std(0), atol=0.03)


def one_image_deepfool(network, image):
    """The original algorithm, one image at a time."""
    first = int(network(image[None]).argmax())
    moved = torch.zeros_like(image)
    for _ in range(STEPS):
        x = (image + (1 + OVERSHOOT) * moved).detach().requires_grad_()
        out = network(x[None])[0]
        if int(out.argmax()) != first:
            break
        gradients = [torch.autograd.grad(out[k], x, retain_graph=True)[0] for k in range(len(out))]
        best, step = float("inf"), None
        for k in range(len(out)):
            if k != first:
                w = gradients[k] - gradients[first]
                away = float((out[k] - out[first]).detach().abs() / w.norm())
                if away < best:
                    best, step = away, (away + 1e-4) * w / w.norm()
        moved = moved + step
    return float(((1 + OVERSHOOT) * moved).norm())


def test_deepfool_equals_the_original_algorithm(ensemble):
    module = ensemble._predictor.module(0).double()
    x = ensemble._predictor.normalisation.apply(torch.from_numpy(MORE[:25]), torch.double)
    x = to_contiguous(x.permute(0, 3, 1, 2))
    found = deepfool(module, x)
    np.testing.assert_allclose(found.sizes, [one_image_deepfool(module, image) for image in x], rtol=1e-6)
    with torch.no_grad():
        changed = module(x + found.perturbations).argmax(1) != module(x).argmax(1)
    assert torch.equal(changed, found.changed)


def test_deepfool_changes_nearly_every_label(ensemble):
    module = ensemble._predictor.module(0)
    x = ensemble._predictor.normalisation.apply(torch.from_numpy(MORE[:200]), torch.float32)
    x = to_contiguous(x.permute(0, 3, 1, 2))
    assert deepfool(module, x).changed.float().mean() >= 0.99


def test_deepfool_agrees_with_foolbox():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # foolbox raises deprecation warnings
        import foolbox
    one = Ensemble("small", members=1, classes=4, training=QUICK, seed=2).fit(PIXELS, LABELS)
    module = one._predictor.module(0)
    x = one._predictor.normalisation.apply(torch.from_numpy(MORE[:40]), torch.float32)
    x = to_contiguous(x.permute(0, 3, 1, 2))
    attacked = foolbox.PyTorchModel(module, bounds=(-1000, 1000), device="cpu")
    attack = foolbox.attacks.L2DeepFoolAttack(steps=STEPS, candidates=4, overshoot=OVERSHOOT)
    with torch.no_grad():
        labels = module(x).argmax(1)
    moved, _, fooled = attack(attacked, x, labels, epsilons=None)
    sizes = (moved - x).flatten(1).norm(dim=1)
    found = deepfool(module, x)
    both = fooled & found.changed
    assert both.float().mean() > 0.9
    np.testing.assert_allclose(found.sizes[both], sizes[both], rtol=0.05)


def test_perturbations_are_in_pixels_from_0_to_1(ensemble):
    """Sizes are those of DeepFool on normalised images, times the deviation over 255."""
    sizes = ensemble.perturbations(MORE[:30])
    assert sizes.shape == (30,)
    assert np.isfinite(sizes).all()
    assert (sizes > 0).all()
    x = ensemble._predictor.normalisation.apply(torch.from_numpy(MORE[:30]), torch.float32)
    x = to_contiguous(x.permute(0, 3, 1, 2))
    direct = deepfool(ensemble._predictor.module(0), x).sizes.numpy()
    np.testing.assert_allclose(sizes, direct * ensemble._predictor.normalisation.deviation[0] / 255, rtol=0.02)
    assert ensemble.perturbations(MORE[:4], member="all").shape == (3, 4)


def test_a_saved_ensemble_can_be_loaded(ensemble, tmp_path):
    ensemble.save(tmp_path / "a")
    own = ensemble.net if not isinstance(ensemble.net, str) else None
    again = Ensemble.load(tmp_path / "a", net=own)
    np.testing.assert_array_equal(again.predict_proba(MORE, members=True), ensemble.predict_proba(MORE, members=True))
    np.testing.assert_array_equal(again.mc_dropout_proba(MORE[:9]), ensemble.mc_dropout_proba(MORE[:9]))
    assert again.history_ == ensemble.history_
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["ensemble.json", "weights.safetensors"]
    assert json.loads((tmp_path / "a" / "ensemble.json").read_text())["members"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("net", ["small", Viewing], ids=["small", "own"])
def test_an_onnx_file_predicts_the_same(net, tmp_path):
    import onnxruntime

    members = Ensemble(net, members=2, classes=4, training=QUICK).fit(PIXELS, LABELS)
    assert members.to_onnx(tmp_path / "all.onnx") < 1e-4
    assert members.to_onnx(tmp_path / "one.onnx", member=1) < 1e-4
    expected = members.predict_proba(MORE[:9], members=True)
    for name, probs in (("all", expected.mean(axis=0)), ("one", expected[1])):
        session = onnxruntime.InferenceSession(str(tmp_path / f"{name}.onnx"))
        np.testing.assert_allclose(session.run(None, {"images": MORE[:9]})[0], probs, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0.5, np.nan])
@pytest.mark.parametrize("batch", [0, 1])
def test_an_onnx_file_that_predicts_otherwise_is_not_written(wrong, batch, tmp_path, monkeypatch):
    import onnxruntime

    class Session(onnxruntime.InferenceSession):
        def run(self, names, given):
            (probs,) = super().run(names, given)
            return [np.full_like(probs, wrong) if len(given["images"]) == (7, 1)[batch] else probs]

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    members = Ensemble("small", members=1, classes=4, training=QUICK).fit(PIXELS, LABELS)
    with pytest.raises(vs.VersionspaceError, match=r"probabilities differ from torch's by .* nothing was written"):
        members.to_onnx(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_precision_and_training_are_saved(tmp_path):
    one = Ensemble("small", members=2, classes=4, dtype=torch.float64)
    one.fit(PIXELS[:20], LABELS[:20], validation=(PIXELS, LABELS)).save(tmp_path)
    again = Ensemble.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(MORE, members=True), one.predict_proba(MORE, members=True))
    assert again.training == {**again.training, "watch": "validation accuracy", "batch": 32}
    again.save(tmp_path / "twice")
    first, second = (tmp_path / "ensemble.json").read_text(), (tmp_path / "twice" / "ensemble.json").read_text()
    assert first == second


def test_a_users_network_must_be_passed_to_load(tmp_path):
    Ensemble(Viewing, members=2, classes=4, training=QUICK).fit(PIXELS, LABELS).save(tmp_path)
    with pytest.raises(vs.InputError, match="net: expected the factory"):
        Ensemble.load(tmp_path)


@pytest.mark.parametrize("damage", ["no description", "no weights", "cut weights", "cut description", "other format"])
def test_a_damaged_folder_is_rejected_with_a_sentence(damage, tmp_path):
    Ensemble("small", members=2, classes=4, training=QUICK).fit(PIXELS, LABELS).save(tmp_path)
    description, weights = tmp_path / "ensemble.json", tmp_path / "weights.safetensors"
    if damage == "no description":
        description.unlink()
    elif damage == "no weights":
        weights.unlink()
    elif damage == "cut weights":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif damage == "cut description":
        description.write_text(description.read_text()[:50])
    else:
        description.write_text(description.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(vs.InputError, match="expected"):
        Ensemble.load(tmp_path)


class Deeper(Viewing):
    """The saved network with an additional layer."""

    def __init__(self, shape, classes):
        super().__init__(shape, classes)
        self.more = torch.nn.Linear(classes, classes)

    def forward(self, x):
        return self.more(super().forward(x))


class Renamed(Viewing):
    """The saved network with a renamed layer."""

    def __init__(self, shape, classes):
        super().__init__(shape, classes)
        self.renamed = self.last
        del self.last

    def forward(self, x):
        x = self.drop(torch.relu(self.norm(self.conv(x))))
        return self.renamed(self.drop2(x.flatten(1)))


class Wider(Viewing):
    """The saved network with a layer of another shape."""

    def __init__(self, shape, classes):
        super().__init__(shape, classes)
        self.conv = torch.nn.Conv2d(shape[0], 4, 5, padding=2)


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (Deeper, "expected weights of more.weight, which the network has, got a file without them"),
        (Renamed, "expected weights of renamed.weight, which the network has, got a file without them"),
        (Wider, r"expected weights of conv.weight of shape \(2, 4, 1, 5, 5\), got \(2, 4, 1, 3, 3\)"),
    ],
)
def test_weights_of_another_network_are_rejected(net, message, tmp_path):
    Ensemble(Viewing, members=2, classes=4, training=QUICK).fit(PIXELS, LABELS).save(tmp_path)
    Ensemble.load(tmp_path, net=Viewing)
    with pytest.raises(vs.InputError, match=message):
        Ensemble.load(tmp_path, net=net)


def test_weights_of_an_additional_layer_are_rejected(tmp_path):
    Ensemble(Deeper, members=2, classes=4, training=QUICK).fit(PIXELS, LABELS).save(tmp_path)
    with pytest.raises(vs.InputError, match=r"expected only weights of the network, got more.bias as well"):
        Ensemble.load(tmp_path, net=Viewing)


def test_a_wrong_number_of_members_is_rejected(tmp_path):
    Ensemble("small", members=3, classes=4, training=QUICK).fit(PIXELS, LABELS).save(tmp_path)
    description = tmp_path / "ensemble.json"
    description.write_text(description.read_text().replace('"members": 3', '"members": 5'))
    with pytest.raises(vs.InputError, match=r"0.weight of shape \(5, 16, 1, 3, 3\), got \(3, 16, 1, 3, 3\)"):
        Ensemble.load(tmp_path)


class Derived(torch.nn.Sequential):
    """A user's network that subclasses nn.Sequential with its own constructor and forward."""

    def __init__(self, shape, classes):
        inputs = shape[0] * shape[1] * shape[2]
        super().__init__(torch.nn.Flatten(), torch.nn.Linear(inputs, 16), torch.nn.Dropout(0.5))
        self.last = torch.nn.Linear(16, classes)

    def forward(self, x):
        for layer in self:
            x = torch.relu(layer(x))
        return x


@pytest.mark.parametrize("net", [Derived, Twice], ids=["subclass of Sequential", "one dropout layer, three calls"])
def test_mc_dropout_of_users_networks(net):
    found = Ensemble(net, members=2, classes=4, training=QUICK).fit(PIXELS, LABELS)
    passes = found.mc_dropout_proba(MORE[:30], passes=5)
    assert passes.shape == (5, 30, 4)
    assert (passes.std(axis=0).max(axis=1) > 1e-6).mean() > 0.5
    np.testing.assert_array_equal(passes, found.mc_dropout_proba(MORE[:30], passes=5))


class WithoutDouble:
    """A tensor on a device without double precision, such as Apple's."""

    def __init__(self, values):
        self.values = values

    def double(self):
        raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64.")

    def cpu(self):
        return self.values


@pytest.fixture(params=["ensemble", "heads"])
def single(request):
    """A function that makes an ensemble, or heads, of one member."""

    def make(classes):
        if request.param == "heads":
            return Heads(members=1, classes=classes, cache=False, side=32)
        return Ensemble("small", members=1, classes=classes, training=QUICK)

    return make


def test_perturbations_on_a_device_without_double_precision(single, monkeypatch):
    ensemble = single(4).fit(PIXELS[:20], LABELS[:20])

    def fooled(network, images):
        return DeepFoolResult(images, WithoutDouble(torch.ones(len(images))), torch.ones(len(images), dtype=torch.bool))

    monkeypatch.setattr("versionspace.ensemble.predict.deepfool", fooled)
    assert (ensemble.perturbations(PIXELS[:3]) == 1.0).all()


def test_an_image_without_a_perturbation_gets_the_largest_size(single, monkeypatch):
    ensemble = single(4).fit(PIXELS[:20], LABELS[:20])
    sizes, changed = torch.tensor([0.5, 0.0, 3.0, 4.0, 1.0]), torch.tensor([True, False, True, False, True])
    monkeypatch.setattr(
        "versionspace.ensemble.predict.deepfool", lambda network, images: DeepFoolResult(images, sizes, changed)
    )
    assert ensemble.perturbations(PIXELS[:5]).tolist() == [0.5, 4.0, 3.0, 4.0, 1.0]


def test_perturbations_need_two_classes(single):
    ensemble = single(1).fit(PIXELS[:20], np.zeros(20, int))
    with pytest.raises(vs.InputError, match=r"classes: expected at least 2.* got 1. Raise classes, or use another"):
        ensemble.perturbations(PIXELS[:3])


class BlindToDark(torch.nn.Module):
    """A user's network whose gradient is zero for images darker than the mean."""

    def __init__(self, shape, classes):
        super().__init__()
        self.last = torch.nn.Linear(1, classes)

    def forward(self, x):
        return self.last(torch.relu(x.mean(dim=(1, 2, 3)))[:, None])


def test_an_image_with_zero_gradient_is_not_queried_first():
    """Its attempted perturbation has size 0. Chunking does not affect the result."""
    ensemble = Ensemble(BlindToDark, members=1, classes=2, training=QUICK).fit(PIXELS, LABELS % 2)
    found = ensemble._predictor
    found.state["last.weight"][0], found.state["last.bias"][0] = torch.tensor([[1.0], [-1]]), torch.tensor([-0.5, 0.5])
    pool = np.repeat(np.array([10, 20, 30, 200, 220, 250], np.uint8), 64).reshape(6, 8, 8, 1)
    sizes = ensemble.perturbations(pool)
    assert 0 < sizes[3] < sizes[4] < sizes[5]
    assert (sizes[:3] == sizes[5]).all()
    assert vs.query("dfal", 2, perturbations=sizes).tolist() == [3, 4]
    np.testing.assert_array_equal(replace(found, images_at_once=3).perturbations(pool, 0, 255.0), sizes)


def test_a_gpu_is_picked_by_number(monkeypatch):
    """Work runs on the threads of a pool, and each thread has its own current GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)
    for name, expected in (("auto", "cuda:1"), ("cuda", "cuda:1"), ("cuda:0", "cuda:0"), ("cpu", "cpu")):
        assert str(pick_device(name)) == expected


def test_predictions_before_fit_are_rejected(tmp_path):
    ensemble = Ensemble("small", members=2, classes=4)
    for call in (ensemble.predict_proba, ensemble.votes, ensemble.features, ensemble.perturbations):
        with pytest.raises(vs.InputError, match=r"expected fitted members.*Call fit"):
            call(MORE)
    with pytest.raises(vs.InputError, match="Call fit"):
        ensemble.save(tmp_path)


def test_images_of_another_size_are_rejected(ensemble):
    with pytest.raises(vs.InputError, match="expected images of 8×8 pixels and 1 channels, as in fit, got 9×8"):
        ensemble.predict_proba(np.zeros((2, 9, 8, 1), np.uint8), members=True)
    with pytest.raises(vs.InputError, match="member: expected 0 to 2, or 'all', got 3"):
        ensemble.features(MORE, member=3)
    with pytest.raises(vs.InputError, match="passes: "):
        ensemble.mc_dropout_proba(MORE, passes=0)


def test_statistics_equal_those_of_the_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (5000, 3, 4, 2)).astype(np.uint8)
    found = Normalisation.of(pixels)
    np.testing.assert_allclose(found.mean, pixels.mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(found.deviation, pixels.std(axis=(0, 1, 2)), rtol=1e-9)
    assert Normalisation.of(np.zeros((2, 3, 3, 1), np.uint8)).deviation == (1.0,)


def test_given_statistics_are_used():
    given = Normalisation((10.0,), (20.0,))
    one = Ensemble("small", members=1, classes=4, training=QUICK, normalisation=given).fit(PIXELS, LABELS)
    assert one._predictor.normalisation == given


def test_the_package_exports_ensemble_and_training():
    assert vs.Ensemble is Ensemble
    assert vs.Training is Training


def test_opinions_are_the_votes_and_their_soft_majority(ensemble):
    opinions = ensemble.opinions(MORE)
    np.testing.assert_array_equal(opinions.votes, ensemble.votes(MORE))
    np.testing.assert_array_equal(opinions.majority, vs.majority_vote(ensemble.predict_proba(MORE, members=True)))
    assert opinions.majority.dtype == opinions.votes.dtype
