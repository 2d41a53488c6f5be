"""Pools in shards: pointwise methods give the answer of `versionspace.query`; methods that choose a set come close."""

import itertools
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import versionspace as vs
from versionspace import data
from versionspace.cluster import Chunk, feature_shards, image_shards, query_pool
from versionspace.errors import InputError
from versionspace.query import TABLE, coverage_kernel

MEMBERS, CLASSES, T = 6, 4, 80
POINTWISE = sorted(name for name, row in TABLE.items() if row.pointwise and not row.perturbations)


@dataclass(frozen=True)
class Votes:
    """Synthetic votes, which are computed where they are scored."""

    position: int
    count: int
    kill: str = ""
    """A file; the first process that sees none there writes it and dies."""

    def chunks(self):
        if self.kill and not Path(self.kill).exists():
            Path(self.kill).write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        for start in range(self.position, self.position + self.count, 50):
            end = min(start + 50, self.position + self.count)
            yield Chunk(start, None, beliefs=beliefs(start, end))


def beliefs(start, end):
    """Return probabilities (M, end − start, C), the same for an item in any call."""
    draws = [np.random.default_rng(i).dirichlet(np.full(CLASSES, 0.4), MEMBERS) for i in range(start, end)]
    return np.stack(draws, axis=1)


REFERENCE = np.random.default_rng(99).dirichlet(np.ones(CLASSES), (MEMBERS, T))


def options(method):
    return {"reference": REFERENCE} if "reference" in TABLE[method].needs else {}


@pytest.mark.filterwarnings("ignore::versionspace.errors.TieWarning")
@pytest.mark.parametrize("method", POINTWISE)
def test_shards_have_the_answer_of_the_whole_pool(method):
    pool = beliefs(0, 300)
    expected, utilities = vs.query(method, 7, pool=pool, **options(method), seed=3, return_utilities=True)
    for bounds in ([0, 300], [0, 1, 120, 299, 300]):
        shards = [Votes(a, b - a) for a, b in itertools.pairwise(bounds)]
        found = query_pool(method, 7, shards[::-1], **options(method), seed=3)
        assert found.ids.tolist() == expected.tolist()
        assert found.utilities.tolist() == utilities.tolist()
        assert found.items == 300


def test_on_a_cluster_with_a_killed_worker(local, tmp_path):
    shards = [Votes(a, 60, str(tmp_path / "dead") if a == 120 else "") for a in range(0, 300, 60)]
    expected = vs.query("gvd", 7, pool=beliefs(0, 300), reference=REFERENCE, seed=3)
    found = query_pool("gvd", 7, shards, reference=REFERENCE, seed=3, cluster=local())
    assert (tmp_path / "dead").exists()
    assert found.ids.tolist() == expected.tolist()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder of photos with an unreadable one, features of digits, and two models, one for each."""
    root = tmp_path_factory.mktemp("pool")
    digits = data.load("digits").train
    images, vectors = digits.images[:400], digits.images[:400].reshape(400, -1).astype(np.float32)
    (root / "photos").mkdir()
    for i in range(60):
        Image.fromarray(images[i, ..., 0]).save(root / "photos" / f"{i:03d}.png")
    (root / "photos" / "025.png").write_bytes(b"broken")
    training = {"epochs": 3, "watch": "training loss"}
    pixels = vs.Ensemble("small", members=3, classes=10, training=training, threads=1, progress=False)
    pixels.fit(images, digits.labels[:400]).save(root / "pixels")
    heads = vs.Heads(members=3, classes=10, extractor="precomputed", threads=1, progress=False)
    heads.fit(vectors, digits.labels[:400]).save(root / "heads")
    np.save(root / "emb.npy", vectors)
    return root, images, vectors


def test_images_of_a_folder_are_voted_on_where_they_are_scored(trained, local):
    root, images, _ = trained
    shards = image_shards(root / "photos", 8, channels=1, shard_files=7)
    found = query_pool("ge", 9, shards, model=root / "pixels", seed=1, cluster=local())
    stream = vs.Stream("ge", 9, seed=1)
    model, names = vs.Ensemble.load(root / "pixels"), [f"{i:03d}.png" for i in range(60)]
    stream.add(model.votes(images[:25]), ids=names[:25])
    stream.skip(1)
    stream.add(model.votes(images[26:60]), ids=names[26:])
    assert found.ids.tolist() == stream.result().tolist()
    assert found.items == 59


@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_rows_of_features_files(trained, suffix, tmp_path):
    import pyarrow
    import pyarrow.parquet

    root, _, vectors = trained
    path, ids = root / "emb.npy", None
    if suffix == "parquet":
        path, ids = tmp_path / "emb.parquet", [f"item {i}" for i in range(400)]
        table = pyarrow.table({"features": list(vectors), "ids": ids})
        pyarrow.parquet.write_table(table, path, row_group_size=30)
    shards = feature_shards([path], shard_rows=100)
    assert [shard.position for shard in shards] == ([0, 100, 200, 300] if ids is None else [0, 90, 180, 270, 360])
    probs = vs.Heads.load(root / "heads").predict_proba(vectors, members=True)
    for method in ("entropy", "margin"):
        found = query_pool(method, 8, shards, model=root / "heads", seed=2)
        assert found.ids.tolist() == vs.query(method, 8, pool=probs, ids=ids, seed=2).tolist()


def coverage(kernel, chosen):
    return kernel[:, chosen].max(axis=1).mean()


@pytest.mark.parametrize("method", ["maxherding", "pwd-cover"])
def test_two_stages_cover_nearly_as_much_as_the_exact_choice(trained, method):
    root, _, vectors = trained
    shards = feature_shards([root / "emb.npy"], shard_rows=60)
    model = root / "heads" if method == "pwd-cover" else None
    found = query_pool(method, 10, shards, model=model, seed=0, sample=0.5)
    again = query_pool(method, 10, shards[::-1], model=model, seed=0, sample=0.5)
    assert found.ids.tolist() == again.ids.tolist()
    assert len(set(found.ids.tolist())) == 10
    if method == "maxherding":
        kernel = coverage_kernel(vectors)
        exact = coverage(kernel, vs.query("maxherding", 10, features=vectors, seed=0))
        random = coverage(kernel, np.arange(10))
        assert coverage(kernel, found.ids) > exact - 0.1 * (exact - random)


def test_wrong_questions_are_rejected(trained):
    root, _, _ = trained
    shards = feature_shards([root / "emb.npy"])
    for given, message in (
        ({"method": "dfal", "k": 1}, "expected one that needs no perturbations, got 'dfal'"),
        ({"method": "ge", "k": 1}, "expected a model, or shards with beliefs"),
        ({"method": "random", "k": 401}, "k: expected at most 400, the items of the pool, got 401"),
        ({"method": "maxherding", "k": 5, "candidates": 3}, "at least k = 5 candidates"),
        ({"method": "ge", "k": 1, "model": root}, "expected a folder that Ensemble.save wrote"),
    ):
        with pytest.raises(InputError, match=message):
            query_pool(shards=shards, **given)
    with pytest.raises(InputError, match=r"expected a .parquet or .npy file of features, got no file there"):
        feature_shards([root / "none.npy"])
    with pytest.raises(InputError, match="expected items with features, which 'maxherding' compares"):
        query_pool("maxherding", 2, [Votes(0, 50)])
