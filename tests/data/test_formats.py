"""Round trips through files of every published format, and errors about damaged ones."""

import gzip
import json
import struct

import numpy as np
import pytest
from scipy.io import savemat

from data.published import idx, write_cifar10, write_mnist, write_stl10, write_svhn
from versionspace.data.errors import FormatError
from versionspace.data.formats import cifar10 as cifar10_format
from versionspace.data.formats import idx as idx_format
from versionspace.data.formats import stl10 as stl10_format
from versionspace.data.formats import svhn as svhn_format


def paths(folder):
    return {path.name.removesuffix(".gz"): path for path in folder.iterdir()}


def check(published, made):
    for half in ("train", "test"):
        got = getattr(published, half)
        np.testing.assert_array_equal(got.images, made[half][0])
        np.testing.assert_array_equal(got.labels, made[half][1])
        assert got.images.dtype == np.uint8
        assert got.labels.dtype == np.int64


@pytest.mark.parametrize("zipped", [False, True])
def test_idx_round_trip(tmp_path, zipped):
    made = write_mnist(tmp_path, zipped=zipped)
    check(idx_format.read(paths(tmp_path), 10), made)


def test_svhn_round_trip_with_10_as_the_digit_0(tmp_path):
    made = write_svhn(tmp_path)
    check(svhn_format.read(paths(tmp_path), 10), made)
    assert 0 in made["train"][1]


def test_stl10_round_trip_is_upright(tmp_path):
    made = write_stl10(tmp_path)
    check(stl10_format.read(paths(tmp_path), 10), made)


def test_cifar10_round_trip_of_binary_files(tmp_path):
    made = write_cifar10(tmp_path)
    check(cifar10_format.read_binary(paths(tmp_path), 10), made)


def test_cifar10_round_trip_of_sheets(tmp_path):
    made = write_cifar10(tmp_path, sheets=True)
    check(cifar10_format.read_sheets(paths(tmp_path), 10), made)


FORMATS = {
    "idx": (write_mnist, idx_format.read),
    "svhn": (write_svhn, svhn_format.read),
    "stl10": (write_stl10, stl10_format.read),
    "cifar10": (write_cifar10, cifar10_format.read_binary),
    "sheets": (lambda folder: write_cifar10(folder, sheets=True), cifar10_format.read_sheets),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("keep", [0, 3, 0.47, -100])
def test_every_truncated_file_is_reported(tmp_path, name, keep):
    """Each file in turn is truncated to nothing, to a few bytes, to less than half, and by a hundred bytes."""
    write, read = FORMATS[name]
    write(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
        with pytest.raises(FormatError) as caught:
            read(paths(tmp_path), 10)
        told = str(caught.value)
        partner = path.name.replace("_X", "_y").replace("images-idx3", "labels-idx1")
        assert path.name in told or partner in told, told
        assert "expected" in told
        path.write_bytes(whole)
    read(paths(tmp_path), 10)


@pytest.mark.parametrize("name", FORMATS)
def test_random_bytes_are_rejected(tmp_path, name):
    write, read = FORMATS[name]
    write(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        path.write_bytes(b"<html>404 Not Found</html>" * 41)
        with pytest.raises(FormatError):
            read(paths(tmp_path), 10)
        path.write_bytes(whole)


def test_a_truncated_gzip_file_is_reported(tmp_path):
    write_mnist(tmp_path, zipped=True)
    path = tmp_path / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="t10k-images-idx3-ubyte.gz: expected a complete gzip file"):
        idx_format.read(paths(tmp_path), 10)


def test_idx_with_a_wrong_magic_number(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"\0\0\x0d\x03" + bytes(12))
    with pytest.raises(FormatError, match="begins with 00 00 08 03, got a file that begins with 00 00 0d 03"):
        idx_format.read_array(path, axes=3)


def test_idx_with_trailing_data(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(idx(np.zeros(5)) + b"more")
    with pytest.raises(FormatError, match="expected 13 bytes .* got 14 or more"):
        idx_format.read_array(path, axes=1)


def test_a_gzip_bomb_is_not_decompressed_completely(tmp_path):
    """No more is decompressed than the header announces."""
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"\0\0\x08\x01" + struct.pack(">I", 2) + bytes(50_000_000)))
    with pytest.raises(FormatError, match="got 11 or more"):
        idx_format.read_array(path, axes=1)


def test_labels_out_of_range(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(np.full(20, 11)))
    with pytest.raises(FormatError, match="t10k-labels-idx1-ubyte: expected labels of 10 classes"):
        idx_format.read(paths(tmp_path), 10)


def test_fewer_labels_than_images(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(np.zeros(19)))
    with pytest.raises(FormatError, match="expected 20 labels, one for each image of t10k-images.*, got 19"):
        idx_format.read(paths(tmp_path), 10)


def test_svhn_without_the_expected_variables(tmp_path):
    write_svhn(tmp_path)
    savemat(tmp_path / "test_32x32.mat", {"Z": np.zeros(3)})
    with pytest.raises(FormatError, match="test_32x32.mat: expected a variable X"):
        svhn_format.read(paths(tmp_path), 10)
    savemat(tmp_path / "test_32x32.mat", {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.array([[0], [1]])})
    with pytest.raises(FormatError, match="labels 1 to 10, 10 for the digit 0, got 0 to 1"):
        svhn_format.read(paths(tmp_path), 10)


def test_sheets_with_non_numeric_labels(tmp_path):
    write_cifar10(tmp_path, sheets=True)
    (tmp_path / "test_lables.json").write_text(json.dumps(["cat"] * 20))
    with pytest.raises(FormatError, match="test_lables.json: expected a JSON list of integers"):
        cifar10_format.read_sheets(paths(tmp_path), 10)


def test_idx_with_an_impossible_shape(tmp_path):
    """The header is not trusted: reading that many bytes would fail or exhaust memory."""
    path = tmp_path / "huge"
    path.write_bytes(bytes((0, 0, 8, 3)) + struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1) + b"some")
    with pytest.raises(FormatError, match="bytes for the shape .* in its header, got 20"):
        idx_format.read_array(path, axes=3)
