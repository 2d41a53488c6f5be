"""Small datasets in the published formats, and specs with their checksums."""

import gzip
import io
import json
import struct
import tarfile
from dataclasses import replace

import numpy as np
from PIL import Image
from scipy.io import savemat

from versionspace.data import cache as caches
from versionspace.data.formats.cifar10 import BINARY_FILES, SHEET_LABELS, SHEETS
from versionspace.files import sha256


def images(count, height, width, channels, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, channels), np.uint8)


def labels(count, seed=1):
    return np.random.default_rng(seed).permutation(np.arange(count) % 10)


def idx(array):
    return (
        bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()
    )


def write_mnist(folder, *, zipped=False, train=40, test=20):
    """Write the four files; return the images and labels that a reader should return."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for half, stem, count in (("train", "train", train), ("test", "t10k", test)):
        x, y = images(count, 28, 28, 1, count), labels(count, count)
        made[half] = (x, y)
        for name, content in ((f"{stem}-images-idx3-ubyte", idx(x[..., 0])), (f"{stem}-labels-idx1-ubyte", idx(y))):
            if zipped:
                (folder / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
            else:
                (folder / name).write_bytes(content)
    return made


def write_svhn(folder):
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for half, count in (("train", 30), ("test", 20)):
        x, y = images(count, 32, 32, 3, count), labels(count, count)
        made[half] = (x, y)
        content = {"X": x.transpose(1, 2, 3, 0), "y": np.where(y == 0, 10, y)[:, None].astype(np.uint8)}
        savemat(folder / f"{half}_32x32.mat", content, do_compression=True)
    return made


def write_stl10(folder):
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for half, count in (("train", 20), ("test", 10)):
        x, y = images(count, 96, 96, 3, count), labels(count, count)
        made[half] = (x, y)
        planes = b"".join(x[n, :, :, c].T.tobytes() for n in range(count) for c in range(3))  # columns first
        (folder / f"{half}_X.bin").write_bytes(planes)
        (folder / f"{half}_y.bin").write_bytes(bytes(int(label) + 1 for label in y))
    return made


def write_cifar10(folder, *, sheets=False):
    folder.mkdir(parents=True, exist_ok=True)
    x, y = images(120, 32, 32, 3), labels(120)
    for batch in range(6):
        part = slice(20 * batch, 20 * batch + 20)
        if sheets:
            Image.fromarray(x[part].reshape(20, 1024, 3)).save(folder / SHEETS[batch])
        else:
            records = [bytes([y[n]]) + x[n].transpose(2, 0, 1).tobytes() for n in range(part.start, part.stop)]
            (folder / BINARY_FILES[batch]).write_bytes(b"".join(records))
    if sheets:
        (folder / SHEET_LABELS[0]).write_text(json.dumps(y[:100].tolist()))
        (folder / SHEET_LABELS[1]).write_text(json.dumps(y[100:].tolist()))
    return {"train": (x[:100], y[:100]), "test": (x[100:], y[100:])}


def tar(path, members):
    """Write a .tar.gz of (name, bytes) or TarInfo members."""
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                entry = tarfile.TarInfo(member[0])
                entry.size = len(member[1])
                archive.addfile(entry, io.BytesIO(member[1]))


def check_cached(root, manifest, made):
    """Assert that the cached arrays are the images and labels that were written."""
    for half in ("train", "test"):
        np.testing.assert_array_equal(caches.open_array(root, manifest, f"{half}-images"), made[half][0])
        np.testing.assert_array_equal(caches.open_array(root, manifest, f"{half}-labels"), made[half][1])


def known(spec, folder, **changes):
    """Return the spec with the checksums of the files in a folder, and other changes."""

    def with_checksums(file):
        checksums = {}
        for suffix in file.checksums:
            path = folder / (file.name + suffix)
            checksums[suffix] = (f"sha256:{sha256(path)}",) if path.exists() else ("sha256:none",)
        return replace(file, checksums=checksums)

    editions = {
        name: replace(
            edition,
            files=tuple(with_checksums(file) for file in edition.files),
            archive=with_checksums(edition.archive) if edition.archive else None,
        )
        for name, edition in spec.editions.items()
    }
    return replace(spec, editions=editions, **changes)
