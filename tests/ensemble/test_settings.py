"""How many images go in at a time: fewer if they are large, and the same number on every machine."""

import tracemalloc

import numpy as np
import pytest

from ensemble.synthetic import images
from nets.test_stacks import Viewing
from versionspace.data.dataset import ImageView
from versionspace.ensemble import Ensemble, Normalisation, Training
from versionspace.ensemble.settings import OTHERS, SIZES, sizes
from versionspace.errors import TrainingError
from versionspace.nets.stacks import Network

MNIST, CIFAR, STL10 = (1, 28, 28), (3, 32, 32), (3, 96, 96)


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        *((net, shape) for net in ("conv2", "conv3", "conv6", "resnet18", "small") for shape in (MNIST, CIFAR)),
        ("small", (1, 8, 8)),
        ("resnet18", STL10),
        ("heads", (1280, 1, 1)),
        ("heads", (3, 160, 160)),
    ],
)
def test_at_the_papers_shapes_the_table_applies(net, shape):
    """The last bits of members depend on these numbers."""
    assert sizes(net, shape) == sizes(net) == SIZES[net]


@pytest.mark.parametrize("shape", [(1, 8, 8), CIFAR, STL10])
def test_users_networks_have_one_entry(shape):
    assert sizes(Viewing, shape) == sizes("package.module:net", shape) == OTHERS


@pytest.mark.parametrize(
    ("net", "shape", "expected"),
    [
        ("small", (3, 64, 64), 128),
        ("small", (1, 64, 64), 128),
        ("conv2", (3, 33, 32), 248),
        ("conv3", (3, 224, 224), 5),
        ("conv6", (3, 64, 64), 32),
        ("resnet18", (3, 224, 224), 11),
        ("small", (3, 4096, 4096), 1),
        ("small", (30, 32, 32), 51),
        (Viewing, (3, 192, 192), 32),
    ],
)
def test_larger_images_go_in_fewer_at_once(net, shape, expected):
    assert sizes(net, shape).images == expected
    assert sizes(net, shape).group == sizes(net).group


@pytest.fixture
def passes(monkeypatch):
    """The number of images in each pass."""
    seen = []
    real = Network.runner

    def runner(self, *args, **options):
        run = real(self, *args, **options)

        def counted(state, masks, pixels):
            seen.append(len(pixels))
            return run(state, masks, pixels)

        return counted

    monkeypatch.setattr(Network, "runner", runner)
    return seen


def test_neither_a_fit_nor_votes_exceed_the_table(passes):
    """With as many images of 64 pixels as of 8×8 digits, `small` would take 2.7 GB."""
    pixels, labels = images(140, shape=(64, 64, 1))
    ensemble = Ensemble("small", members=2, classes=4, training=Training(epochs=1))
    ensemble.fit(pixels, labels, validation=(pixels, labels))
    assert max(passes) == 128
    passes.clear()
    ensemble.votes(pixels)
    assert sorted(passes) == [12, 128]


@pytest.mark.parametrize(
    "call", ["predict_proba", "votes", "opinions", "features", "mc_dropout_proba", "perturbations"]
)
@pytest.mark.parametrize(
    "error", [RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."), MemoryError()]
)
def test_running_out_of_memory_while_predicting_is_explained(call, error, monkeypatch):
    pixels, labels = images(20)
    ensemble = Ensemble("small", members=2, classes=4, training=Training(epochs=1, watch="training loss"))
    ensemble.fit(pixels, labels)

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(Normalisation, "apply", fails)
    with pytest.raises(TrainingError, match="memory ran out while predicting. Try fewer threads"):
        getattr(ensemble, call)(pixels)


def test_an_error_about_memory_format_is_not_taken_for_it(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("required rank 4 tensor to use channels_last memory format")

    monkeypatch.setattr(Normalisation, "apply", fails)
    with pytest.raises(RuntimeError, match="memory format"):
        Ensemble("small", members=1, classes=4, training=Training(epochs=1, watch="training loss")).fit(*images(20))


def plain_statistics(pixels):
    """The statistics by integer sums."""
    values = pixels.astype(np.int64)
    count = values[..., 0].size
    means = [int(values[..., c].sum()) / count for c in range(values.shape[3])]
    squares = [int((values[..., c] ** 2).sum()) / count for c in range(values.shape[3])]
    return Normalisation(
        tuple(means), tuple(max(s - m * m, 0.0) ** 0.5 or 1.0 for s, m in zip(squares, means, strict=True))
    )


@pytest.mark.parametrize("shape", [(5000, 3, 4, 2), (3, 700, 900, 3), (40, 28, 28, 1)])
def test_statistics_by_counting_are_bitwise_equal(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    assert Normalisation.of(pixels) == plain_statistics(pixels)
    rows = np.random.default_rng(1).permutation(len(pixels))[: len(pixels) // 2]
    assert Normalisation.of(ImageView(pixels, rows)) == plain_statistics(pixels[rows])


def test_statistics_of_many_large_images_take_little_memory():
    pixels = np.zeros((200, 256, 256, 3), np.uint8)  # 39 MB; 315 MB if widened to eight bytes
    tracemalloc.start()
    try:
        Normalisation.of(pixels)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


def test_rows_that_are_read_lazily_give_the_same_result():
    pixels, labels = images(60)
    order = np.random.default_rng(0).permutation(60)
    training = Training(epochs=2, watch="training loss")
    found = [
        Ensemble("small", members=2, classes=4, training=training)
        .fit(given, labels[order])
        .predict_proba(given, members=True)
        for given in (pixels[order], ImageView(pixels, order))
    ]
    np.testing.assert_array_equal(*found)
