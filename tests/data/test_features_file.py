"""Features files of every format give the same table; what cannot be used is refused with a sentence."""

import json
import pickle
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from versionspace import data
from versionspace.data import feature_formats, is_features_file, read_features
from versionspace.errors import InputError, MissingPackageError

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(7, 3)).astype(np.float16)
LABELS = np.array(["dog", "cat", "", "cat", "dog", "bird", "cat"])
CODES = [2, 1, -1, 1, 2, 0, 1]
IDS = np.array([f"item-{i}" for i in range(7)])


def write_parquet(path, features=FEATURES, labels=LABELS, ids=IDS, **options):
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"features": list(features), "labels": labels, "ids": ids}
    table = pa.table({name: pa.array(list(column)) for name, column in columns.items() if column is not None})
    parquet.write_table(table, path, **options)


def write_safetensors(path):
    text = {"labels": json.dumps(LABELS.tolist()), "ids": json.dumps(IDS.tolist())}
    save_file({"features": FEATURES}, path, metadata=text)


WRITERS = {
    "npz": lambda path: np.savez(path, features=FEATURES, labels=LABELS, ids=IDS),
    "compressed.npz": lambda path: np.savez_compressed(path, features=FEATURES, labels=LABELS, ids=IDS),
    "fortran.npz": lambda path: np.savez_compressed(path, features=np.asfortranarray(FEATURES), labels=LABELS, ids=IDS),
    "safetensors": write_safetensors,
    "parquet": lambda path: write_parquet(path, row_group_size=2),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_same_table(kind, tmp_path):
    path = tmp_path / f"emb.{kind}"
    WRITERS[kind](path)
    table = read_features(path)
    np.testing.assert_array_equal(table.features, FEATURES)
    assert table.features.dtype == np.float16
    assert (table.labels.tolist(), table.classes) == (CODES, ("bird", "cat", "dog"))
    assert table.ids.tolist() == IDS.tolist()
    assert table.sha256 == data.read_features(str(path)).sha256 != ""


@pytest.mark.parametrize("kind", ["npz", "safetensors", "npy"])
def test_uncompressed_features_stay_on_disk(kind, tmp_path):
    path = tmp_path / f"emb.{kind}"
    WRITERS.get(kind, lambda path: np.save(path, FEATURES))(path)
    features = read_features(path).features
    assert isinstance(features, np.memmap)
    assert not features.flags.writeable


@pytest.mark.parametrize("kind", ["compressed.npz", "parquet"])
def test_large_packed_features_are_unpacked_into_the_cache_once(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(feature_formats, "IN_MEMORY", 10)
    monkeypatch.setattr(feature_formats, "_ROWS", 2)
    path = tmp_path / f"emb.{kind}"
    WRITERS[kind](path)
    first = read_features(path, cache=tmp_path / "cache").features
    assert isinstance(first, np.memmap)
    np.testing.assert_array_equal(first, FEATURES)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.npy")}
    np.testing.assert_array_equal(read_features(path, cache=tmp_path / "cache").features, FEATURES)
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.npy")} != {}


def test_an_array_alone_has_row_numbers_as_ids(tmp_path):
    np.save(tmp_path / "emb.npy", FEATURES)
    table = read_features(tmp_path / "emb.npy")
    assert (table.ids.tolist(), table.has_ids, table.labels, table.classes) == (list(range(7)), False, None, ())


def test_arrays_and_data_frames():
    import pandas as pd

    assert read_features(FEATURES.tolist(), labels=[0, 1, 1, 0, 0, 0, -1]).classes == ("0", "1")
    wide = pd.DataFrame(FEATURES.astype(np.float32), columns=list("abc")).assign(labels=LABELS, ids=IDS)
    long = pd.DataFrame({"features": list(FEATURES), "labels": LABELS, "ids": IDS})
    for frame in (wide, long):
        table = read_features(frame)
        np.testing.assert_array_equal(table.features, FEATURES)
        assert (table.labels.tolist(), table.ids.tolist()) == (CODES, IDS.tolist())
    with pytest.raises(InputError, match=r"features: expected features of shape \(N, F\), numbers, .* got object"):
        read_features(pd.DataFrame({"a": [1.0], "b": ["x"]}))


def test_integer_labels_are_classes_or_numbers_of_classes():
    found = read_features(FEATURES, labels=[5, 7, -1, 7, 5, 5, 5])
    assert (found.labels.tolist(), found.classes) == ([0, 1, -1, 1, 0, 0, 0], ("5", "7"))
    named = read_features(FEATURES, labels=[1, 0, -1, 0, 1, 1, 1], classes=["no", "yes"])
    assert (named.labels.tolist(), named.classes) == ([1, 0, -1, 0, 1, 1, 1], ("no", "yes"))
    ordered = read_features(FEATURES, labels=LABELS, classes=["dog", "cat", "bird", "fish"])
    assert (ordered.labels.tolist(), ordered.classes[3]) == ([0, 1, -1, 1, 0, 2, 1], "fish")
    assert read_features(FEATURES, labels=[-1] * 7).labels is None
    assert read_features(FEATURES, labels=[str(i) for i in (10, 9, 9, 9, 9, 9, 9)]).classes == ("9", "10")


def test_missing_labels_of_a_parquet_file(tmp_path):
    write_parquet(tmp_path / "a.parquet", labels=[3, None, 3, 4, 4, 4, 4])
    assert read_features(tmp_path / "a.parquet").labels.tolist() == [0, -1, 0, 1, 1, 1, 1]
    write_parquet(tmp_path / "b.parquet", labels=["x", None, *"xyyyy"[:5]])
    assert read_features(tmp_path / "b.parquet").labels.tolist() == [0, -1, 0, 1, 1, 1, 1]


def bad(**changes):
    return {"features": FEATURES, "labels": LABELS, "ids": IDS} | changes


NAN = FEATURES.copy()
NAN[4, 2] = np.nan
REFUSED = {
    "NaN": (bad(features=NAN), r"emb.npz, row 4: expected finite features, got nan in column 2"),
    "too large": (bad(features=np.full((7, 2), 1e300)), r"row 0: expected finite features, got 1e\+300"),
    "one axis": (bad(features=FEATURES[0]), r"expected features of shape \(N, F\).* got float16 of shape \(3,\)"),
    "text": (bad(features=LABELS[:, None]), r"numbers, at least one row, got <U4 of shape \(7, 1\)"),
    "no rows": ({"features": np.empty((0, 3))}, r"at least one row, got float64 of shape \(0, 3\)"),
    "labels": (bad(labels=LABELS[:5]), r"emb.npz, labels: expected .* of shape \(7,\), .* got <U4 of shape \(5,\)"),
    "fractions": (bad(labels=np.full(7, 0.5)), r"labels: expected class names or integers .* got float64"),
    "classes": (bad(classes=np.array(["cat"])), "classes: expected every class of the labels, got cat, but .* bird"),
    "range": (bad(labels=np.arange(7), classes=np.array(["a", "b"])), "labels: expected -1 to 1, .* got 0 to 6"),
    "same class": (bad(classes=np.array(["a", "a"])), "classes: expected distinct names that are not empty"),
    "same id": (bad(ids=np.array([1, 2, 3, 4, 5, 3, 7])), "ids: expected a different id .* got 3 in rows 2 and 5"),
    "ids": (bad(ids=np.arange(6)), r"emb.npz, ids: expected integers or text of shape \(7,\)"),
    "objects": (bad(labels=np.array([None] * 7)), "labels: expected .* numbers or text, got .* as a pickle. A p"),
    "name": ({"X": FEATURES}, "emb.npz: expected an array named features, got X. Save it as numpy.savez"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused(name, tmp_path):
    arrays, sentence = REFUSED[name]
    np.savez(tmp_path / "emb.npz", **arrays)
    with pytest.raises(InputError, match=sentence):
        read_features(tmp_path / "emb.npz")


def test_the_row_of_a_later_block_is_named(monkeypatch):
    monkeypatch.setattr("versionspace.data.features_file.BLOCK_BYTES", 12)
    with pytest.raises(InputError, match="features, row 4: expected finite features, got nan in column 2"):
        read_features(NAN)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors", ".parquet"])
def test_damaged_files_are_refused(suffix, tmp_path):
    path = tmp_path / f"emb{suffix}"
    WRITERS.get(suffix[1:], lambda path: np.save(path, FEATURES))(path)
    whole = path.read_bytes()
    for content, got in ((b"", "an empty file"), (whole[: len(whole) // 2], r"\w+: "), (pickle.dumps([1]), r"\w+: ")):
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"emb{suffix}: expected a complete {suffix} file, got {got}"):
            read_features(path)


def test_files_that_are_no_features_files(tmp_path):
    with pytest.raises(InputError, match="nowhere.npz: expected a features file, got no file there"):
        data.load(tmp_path / "nowhere.npz")
    (tmp_path / "a.csv").touch()
    with pytest.raises(InputError, match=r"a.csv: expected a features file \(.npy, .npz, .safetensors, .parquet\)"):
        read_features(tmp_path / "a.csv")
    assert not is_features_file(tmp_path / "a.csv")
    np.save(tmp_path / "o.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(InputError, match="o.npy: expected an array of numbers or text, got an array of Python objects"):
        read_features(tmp_path / "o.npy")


def test_lists_of_a_parquet_file_have_one_length(tmp_path):
    write_parquet(tmp_path / "a.parquet", [[1.0, 2.0], [1.0], [1.0, 2.0]], None, None)
    with pytest.raises(InputError, match="a.parquet, row 1: expected a list of 2 numbers, got 1 numbers"):
        read_features(tmp_path / "a.parquet")
    write_parquet(tmp_path / "b.parquet", [[1.0, 2.0], None], None, None)
    with pytest.raises(InputError, match="b.parquet, row 1: expected a list of 2 numbers, got a missing value"):
        read_features(tmp_path / "b.parquet")
    write_parquet(tmp_path / "c.parquet", [1.0, 2.0], None, None)
    with pytest.raises(InputError, match="c.parquet: expected a column of lists named features, got double"):
        read_features(tmp_path / "c.parquet")


def test_fixed_size_lists_of_a_parquet_file(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    lists = pa.FixedSizeListArray.from_arrays(pa.array(FEATURES.ravel()), 3)
    parquet.write_table(pa.table({"features": lists}), tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_features(tmp_path / "a.parquet").features, FEATURES)


def test_parquet_is_an_optional_extra(tmp_path, monkeypatch):
    write_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'versionspace\[parquet\]'"):
        read_features(tmp_path / "a.parquet")


def test_bfloat16_is_refused(tmp_path):
    import torch
    from safetensors.torch import save_file as save

    save({"features": torch.zeros(2, 2, dtype=torch.bfloat16)}, tmp_path / "a.safetensors")
    with pytest.raises(InputError, match="a.safetensors, features: expected float16, .* got BF16. Convert it before"):
        read_features(tmp_path / "a.safetensors")


def test_a_features_file_is_a_dataset_that_can_be_split(tmp_path):
    np.savez(tmp_path / "mnist.npz", features=np.eye(40), labels=np.arange(40) % 4, ids=np.arange(100, 140))
    dataset = data.load(tmp_path / "mnist.npz", classes=list("abcd"))
    assert (dataset.name, dataset.classes, dataset.train.shape) == ("mnist.npz", tuple("abcd"), (1, 1, 40))
    cut = data.split(dataset, validation=8, test=8, initial=4, seed=0)
    assert [len(part) for part in (cut.pool, cut.validation, cut.test, cut.initial)] == [24, 8, 8, 4]
    assert sorted(dataset.train.take(cut.initial).labels.tolist()) == [0, 1, 2, 3]
    np.testing.assert_array_equal(np.asarray(dataset.train.view([103, 101])), np.eye(40)[[3, 1]])
    with pytest.raises(InputError, match="size: expected no value for a features file, which has no pixels, got 32"):
        data.load(tmp_path / "mnist.npz", size=32)
