"""labels.csv as people and spreadsheets write it."""

import unicodedata

import pytest
from PIL import Image

from versionspace.data import folder
from versionspace.errors import InputError


@pytest.fixture
def photos(tmp_path):
    for number, name in enumerate(("a.png", "b, c.png", "sub/d.png", "é.png")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("L", (4, 4), number).save(tmp_path / unicodedata.normalize("NFC", name))
    return tmp_path


def labels(photos, text, encoding="utf-8"):
    (photos / "labels.csv").write_bytes(text.encode(encoding))
    found = folder.read(photos, size=4)
    named = [None if label < 0 else found.classes[label] for label in found.train.labels]
    return dict(zip(found.train.files, named, strict=True)), found


def test_files_and_labels(photos):
    got, found = labels(photos, "file,label\na.png,cat\nsub/d.png,dog\n")
    assert got == {"a.png": "cat", "b, c.png": None, "sub/d.png": "dog", "é.png": None}
    assert found.report.unknown == ()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("file,label\na.png,cat\n", "utf-8-sig"),
        ("file,label\r\na.png,cat\r\n", "utf-8"),
        ("label,note,file\ncat,mine,a.png\n", "utf-8"),
        ('"file","label"\n"a.png","cat"\n', "utf-8"),
        ("file,label\n ./a.png , cat \n", "utf-8"),
        ("file,label\na.png,cat\na.png,cat", "utf-8"),
    ],
)
def test_ways_of_writing_the_same(photos, text, encoding):
    assert labels(photos, text, encoding)[0]["a.png"] == "cat"


def test_quotes_commas_backslashes_and_accents(photos):
    text = 'file,label\n"b, c.png","a ""big"" cat"\nsub\\d.png,dog\n' + unicodedata.normalize("NFD", "é.png,café\n")
    got, found = labels(photos, text)
    assert got == {"a.png": None, "b, c.png": 'a "big" cat', "sub/d.png": "dog", "é.png": "café"}
    assert found.classes == ('a "big" cat', "café", "dog")


def test_files_that_are_not_there_are_listed(photos):
    _, found = labels(photos, "file,label\na.png,cat\nnone.png,cat\n../../etc/passwd,cat\n")
    assert found.report.unknown == ("none.png", "../../etc/passwd")
    assert len(found.train) == 4


def test_missing_labels_are_none(photos):
    assert labels(photos, "file,label\na.png,\nsub/d.png,dog\nb,\n")[0]["a.png"] is None
    assert labels(photos, "file,label\na.png\nsub/d.png,dog\n")[0]["a.png"] is None


def test_only_a_header_is_no_label_at_all(photos):
    (photos / "labels.csv").write_text("file,label\n")
    assert folder.read(photos, size=4).train.labels is None


def test_folders_are_only_folders_beside_a_labels_csv(photos):
    assert labels(photos, "file,label\na.png,cat\n")[1].classes == ("cat",)


def test_labels_in_each_part(tmp_path):
    for number, part in enumerate(("train", "test")):
        (tmp_path / part).mkdir()
        Image.new("L", (4, 4), number).save(tmp_path / part / "1.png")
        (tmp_path / part / "labels.csv").write_text(f"file,label\n1.png,{part}ed\nx.png,y\n")
    found = folder.read(tmp_path, size=4)
    assert found.classes == ("tested", "trained")
    assert (found.train.labels.tolist(), found.test.labels.tolist()) == ([1], [0])
    assert set(found.report.unknown) == {"train/x.png", "test/x.png"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a.png,cat\nsub/d.png,dog\n", "names the columns file and label, got a.png, cat"),
        ("file;label\na.png;cat\n", "got file;label"),
        ("file,label\nx.png,cat\n", "1 files of which none is there, such as 'x.png'"),
        ("file,label\n,cat\n", "row 2: expected the name of a file, got nothing"),
        ("file,label\na.png,cat\na.png,dog\n", "row 3: expected one label for a.png, got cat and dog"),
        ('file,label\n"a.png,cat\n', "a CSV file in UTF-8"),
    ],
)
def test_tables_that_cannot_be_used(photos, text, told):
    with pytest.raises(InputError, match=told):
        labels(photos, text)


def test_another_encoding(photos):
    with pytest.raises(InputError, match="a CSV file in UTF-8"):
        labels(photos, "file,label\né.png,café\n", "latin-1")
