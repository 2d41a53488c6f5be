"""labels.csv as people and spreadsheets write it."""

import unicodedata
from hashlib import sha256

import pytest
from PIL import Image

from versionspace.campaign.export import safe_cell
from versionspace.data import read_folder
from versionspace.errors import InputError


@pytest.fixture
def photos(tmp_path):
    for number, name in enumerate(("a.png", "b, c.png", "sub/d.png", "é.png")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("L", (4, 4), number).save(tmp_path / unicodedata.normalize("NFC", name))
    return tmp_path


def labels(photos, text, encoding="utf-8"):
    (photos / "labels.csv").write_bytes(text.encode(encoding))
    found = read_folder(photos, size=4)
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


def test_a_name_that_begins_with_a_space_is_that_very_file(photos):
    Image.new("L", (4, 4), 99).save(photos / " a.png")
    assert labels(photos, 'file,label\n" a.png",dog\n')[0] == {
        " a.png": "dog", "a.png": None, "b, c.png": None, "sub/d.png": None, "é.png": None,
    }  # fmt: skip


def test_a_table_of_nothing_but_its_first_line_labels_nothing(photos):
    (photos / "labels.csv").write_text("file,label\n")
    assert read_folder(photos, size=4).train.labels is None


def test_files_that_are_not_there_are_listed(photos):
    _, found = labels(photos, "file,label\na.png,cat\nnone.png,cat\n../../etc/passwd,cat\n")
    assert found.report.unknown == ("none.png", "../../etc/passwd")
    assert len(found.train) == 4


def test_missing_labels_are_none(photos):
    assert labels(photos, "file,label\na.png,\nsub/d.png,dog\nb,\n")[0]["a.png"] is None
    assert labels(photos, "file,label\na.png\nsub/d.png,dog\n")[0]["a.png"] is None


def test_only_a_header_is_no_label_at_all(photos):
    (photos / "labels.csv").write_text("file,label\n")
    assert read_folder(photos, size=4).train.labels is None


def test_folders_are_only_folders_beside_a_labels_csv(photos):
    assert labels(photos, "file,label\na.png,cat\n")[1].classes == ("cat",)


def test_labels_in_each_part(tmp_path):
    for number, part in enumerate(("train", "test")):
        (tmp_path / part).mkdir()
        Image.new("L", (4, 4), number).save(tmp_path / part / "1.png")
        (tmp_path / part / "labels.csv").write_text(f"file,label\n1.png,{part}ed\nx.png,y\n")
    found = read_folder(tmp_path, size=4)
    assert found.classes == ("tested", "trained")
    assert (found.train.labels.tolist(), found.test.labels.tolist()) == ([1], [0])
    assert set(found.report.unknown) == {"train/x.png", "test/x.png"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a.png,cat\nsub/d.png,dog\n", "names the columns file and label, got a.png, cat"),
        ("file;label\na.png;cat\n", "got file;label"),
        ("file,label\nx.png,cat\n", "1 files, none of which exists, such as 'x.png'"),
        ("file,label\n,cat\n", "row 2: expected the name of a file, got nothing"),
        ("file,label\na.png,cat\na.png,dog\n", "row 3: expected one label for a.png, got cat and dog"),
        ("file,label\na.png,cat\n./a.png,dog\n", "expected one label for a.png, got cat and dog"),
        ("file,name\na.png,cat\n", "names the columns file and label, got file, name"),
        ("file,label,label\na.png,cat,dog\n", "file and label, each once, got file, label, label"),
        ("", "names the columns file and label, got an empty file.* Move the file away"),
        ('file,label\n"a.png,cat\n', "a CSV file in UTF-8"),
    ],
)
def test_tables_that_cannot_be_used(photos, text, told):
    with pytest.raises(InputError, match=told):
        labels(photos, text)


def test_another_encoding(photos):
    with pytest.raises(InputError, match="a CSV file in UTF-8"):
        labels(photos, "file,label\né.png,café\n", "latin-1")


EXPORT = "id,file,class,purpose,round,rank,who,missing\n"


def id_of(photos, file):
    return sha256((photos / file).read_bytes()).hexdigest()


def test_an_export_tells_images_by_their_content(photos):
    """a.png was renamed since, sub/d.png was replaced, and b, c.png was skipped."""
    a, b, e = (id_of(photos, file) for file in ("a.png", "b, c.png", "é.png"))
    (photos / "a.png").rename(photos / "sub/new.png")
    gone = "0" * 64
    rows = f'{a},a.png,cat,query,1,0,anna,\n{b},"b, c.png",,query,1,1,anna,\n{gone},sub/d.png,dog,query,1,2,anna,yes\n'
    got, found = labels(photos, EXPORT + rows + f"{e},,'=dog,audit,0,0,anna,yes\n{gone[1:]}1,,dog,audit,0,1,anna,yes\n")
    assert got == {"b, c.png": None, "sub/d.png": None, "sub/new.png": "cat", "é.png": "=dog"}
    assert found.report.unknown == ("sub/d.png", f"{gone[1:]}1")
    assert found.classes == ("=dog", "cat"), "not those of images that are gone"


def test_without_ids_rows_that_are_marked_as_missing_are_of_no_file(photos):
    got, found = labels(photos, "file,class,missing\na.png,cat,yes\nsub/d.png,dog,\n")
    assert got == {"a.png": None, "b, c.png": None, "sub/d.png": "dog", "é.png": None}
    assert found.report.unknown == ("a.png",)


def test_ids_of_ones_own_are_only_a_column(photos):
    assert labels(photos, "id,file,label,class\n7,a.png,cat,ignored\n")[0]["a.png"] == "cat"


def test_two_labels_for_one_content_are_refused_or_a_conflict(photos):
    a = id_of(photos, "a.png")
    with pytest.raises(InputError, match="row 3: expected one label for b.png, got cat and dog"):
        labels(photos, f"id,file,label\n{a},a.png,cat\n{a},b.png,dog\n")
    assert labels(photos, f"id,file,label\n{a},a.png,cat\n,none.png,dog\n")[0]["a.png"] == "cat"
    got, found = labels(photos, f"id,file,label\n{a},a.png,cat\n,a.png,dog\n")
    assert got["a.png"] is None
    assert [conflict.classes for conflict in found.report.conflicts] == [("cat", "dog")]


@pytest.mark.parametrize("name", ["=a.png", "+a.png", "-a.png", "@a.png", "'=a.png", "'a.png"])
def test_names_that_an_export_protects_from_spreadsheets(photos, name):
    (photos / "a.png").rename(photos / name)
    for written in {name, safe_cell(name)}:
        assert labels(photos, f"file,label\n{written},cat\n")[0][name] == "cat"
    assert labels(photos, f"file,class\n{name},{safe_cell('-1')}\n")[0][name] == "-1"
    Image.new("L", (4, 4), 99).save(photos / ("'" + name))
    got = labels(photos, f"file,label\n{name},cat\n'{name},dog\n")[0]
    assert (got[name], got["'" + name]) == ("cat", "dog"), "what stands there comes first"
