"""Label tables: labels.csv as people and spreadsheets write it, exports, and downloads from the labelling page."""

import csv
import unicodedata
from hashlib import sha256

import pytest
from PIL import Image

from versionspace.data import (
    LabelRow,
    format_label_table,
    read_folder,
    read_label_table,
    safe_cell,
)
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
def test_equivalent_spellings_of_a_table(photos, text, encoding):
    assert labels(photos, text, encoding)[0]["a.png"] == "cat"


def test_quotes_commas_backslashes_and_accents(photos):
    text = 'file,label\n"b, c.png","a ""big"" cat"\nsub\\d.png,dog\n' + unicodedata.normalize("NFD", "é.png,café\n")
    got, found = labels(photos, text)
    assert got == {"a.png": None, "b, c.png": 'a "big" cat', "sub/d.png": "dog", "é.png": "café"}
    assert found.classes == ('a "big" cat', "café", "dog")


def test_a_name_with_a_leading_space_is_taken_literally(photos):
    Image.new("L", (4, 4), 99).save(photos / " a.png")
    assert labels(photos, 'file,label\n" a.png",dog\n')[0] == {
        " a.png": "dog", "a.png": None, "b, c.png": None, "sub/d.png": None, "é.png": None,
    }  # fmt: skip


def test_a_table_with_only_a_header_labels_nothing(photos):
    (photos / "labels.csv").write_text("file,label\n")
    assert read_folder(photos, size=4).train.labels is None


def test_missing_files_are_listed(photos):
    _, found = labels(photos, "file,label\na.png,cat\nnone.png,cat\n../../etc/passwd,cat\n")
    assert found.report.unknown == ("none.png", "../../etc/passwd")
    assert len(found.train) == 4


def test_empty_labels_are_none(photos):
    assert labels(photos, "file,label\na.png,\nsub/d.png,dog\nb,\n")[0]["a.png"] is None
    assert labels(photos, "file,label\na.png\nsub/d.png,dog\n")[0]["a.png"] is None


def test_with_a_labels_csv_folders_are_not_classes(photos):
    assert labels(photos, "file,label\na.png,cat\n")[1].classes == ("cat",)


def test_labels_in_each_subset(tmp_path):
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
        ("a.png,cat\nsub/d.png,dog\n", "a header with the columns file and label, got a.png, cat"),
        ("file;label\na.png;cat\n", "got file;label"),
        ("file,label\nx.png,cat\n", "1 files, none of which exists, such as 'x.png'"),
        ("file,label\n,cat\n", "row 2: expected a file name, got nothing"),
        ("file,label\na.png,cat\na.png,dog\n", "row 3: expected one label for a.png, got cat and dog"),
        ("file,label\na.png,cat\n./a.png,dog\n", "expected one label for a.png, got cat and dog"),
        ("file,name\na.png,cat\n", "a header with the columns file and label, got file, name"),
        ("file,label,label\na.png,cat,dog\n", "file and label, each once, got file, label, label"),
        ("", "a header with the columns file and label, got an empty file.* move this file away"),
        ('file,label\n"a.png,cat\n', "a CSV file in UTF-8"),
    ],
)
def test_unusable_tables_are_rejected(photos, text, told):
    with pytest.raises(InputError, match=told):
        labels(photos, text)


def test_another_encoding_is_rejected(photos):
    with pytest.raises(InputError, match="a CSV file in UTF-8"):
        labels(photos, "file,label\né.png,café\n", "latin-1")


EXPORT = "id,file,label,reason,purpose,round,rank,who,missing\n"
ID = "ab" * 32


def id_of(photos, file):
    return sha256((photos / file).read_bytes()).hexdigest()


def test_an_export_identifies_images_by_their_content(photos):
    """Since the export, a.png was renamed and sub/d.png replaced; b, c.png was skipped."""
    a, b, e = (id_of(photos, file) for file in ("a.png", "b, c.png", "é.png"))
    (photos / "a.png").rename(photos / "sub/new.png")
    gone = "0" * 64
    rows = (
        f'{a},a.png,cat,,query,1,0,anna,\n{b},"b, c.png",,skipped,query,1,1,anna,\n'
        f"{gone},sub/d.png,dog,,query,1,2,anna,yes\n{e},,'=dog,,audit,0,0,anna,yes\n"
        f"{gone[1:]}1,,dog,,audit,0,1,anna,yes\n"
    )
    got, found = labels(photos, EXPORT + rows)
    assert got == {"b, c.png": None, "sub/d.png": None, "sub/new.png": "cat", "é.png": "=dog"}
    assert found.report.unknown == ("sub/d.png", f"{gone[1:]}1")
    assert found.classes == ("=dog", "cat"), "without the classes of missing images"


def test_rows_marked_as_missing_without_an_id_match_no_file(photos):
    got, found = labels(photos, "file,label,missing\na.png,cat,yes\nsub/d.png,dog,\n")
    assert got == {"a.png": None, "b, c.png": None, "sub/d.png": "dog", "é.png": None}
    assert found.report.unknown == ("a.png",)


def test_ids_that_are_not_hashes_are_ignored(photos):
    assert labels(photos, "id,file,label,class\n7,a.png,cat,ignored\n")[0]["a.png"] == "cat"


def test_two_labels_for_one_content_are_an_error_or_a_conflict(photos):
    a = id_of(photos, "a.png")
    with pytest.raises(InputError, match="row 3: expected one label for b.png, got cat and dog"):
        labels(photos, f"id,file,label\n{a},a.png,cat\n{a},b.png,dog\n")
    assert labels(photos, f"id,file,label\n{a},a.png,cat\n,none.png,dog\n")[0]["a.png"] == "cat"
    got, found = labels(photos, f"id,file,label\n{a},a.png,cat\n,a.png,dog\n")
    assert got["a.png"] is None
    assert [conflict.classes for conflict in found.report.conflicts] == [("cat", "dog")]


@pytest.mark.parametrize("name", ["=a.png", "+a.png", "-a.png", "@a.png", "'=a.png", "'a.png"])
def test_names_that_look_like_formulas(photos, name):
    (photos / "a.png").rename(photos / name)
    for written in {name, safe_cell(name)}:
        assert labels(photos, f"file,label\n{written},cat\n")[0][name] == "cat"
    assert labels(photos, f"file,label\n{name},{safe_cell('-1')}\n")[0][name] == "-1"
    Image.new("L", (4, 4), 99).save(photos / ("'" + name))
    got = labels(photos, f"file,label\n{name},cat\n'{name},dog\n")[0]
    assert (got[name], got["'" + name]) == ("cat", "dog"), "the literal name comes first"


ROWS = [
    LabelRow("a.png", "cat", ID, purpose="query", round=1, rank=0, who="anna"),
    LabelRow("sub/b, c.png", None, ID[::-1], purpose="query", round=1, rank=1, who="anna", reason="skip"),
    LabelRow("é.png", 'a "big" cat', "0" * 64, missing=True, purpose="audit", round=0, rank=2, who="import: x.csv"),
    LabelRow("", "dog", "1" * 64, missing=True, purpose="audit", round=0, rank=3),
]


def test_the_written_table_is_fixed():
    """Other programs read these files: a change of columns, order or quoting would break them."""
    assert format_label_table(ROWS[:3]) == EXPORT + (
        f"{ID},a.png,cat,,query,1,0,anna,\n"
        f'{ID[::-1]},"sub/b, c.png",,skip,query,1,1,anna,\n'
        f'{"0" * 64},é.png,"a ""big"" cat",,audit,0,2,import: x.csv,yes\n'
    )


def test_round_trip(tmp_path):
    (tmp_path / "labels.csv").write_text(format_label_table(ROWS), encoding="utf-8")
    read = read_label_table(tmp_path / "labels.csv")
    assert read == [LabelRow(row.file, row.label, row.id, row.missing, reason=row.reason) for row in ROWS]
    assert [row.name for row in read] == ["a.png", "sub/b, c.png", "é.png", "1" * 64]
    assert not any(row.orphaned for row in read)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\nx", "'=1+1"])
def test_round_trip_of_formulas(tmp_path, cell):
    """No cell that a spreadsheet would run is written; what is read has the original name among its spellings."""
    text = format_label_table([LabelRow(cell, cell, who=cell, reason=cell, purpose=cell)])
    (tmp_path / "labels.csv").write_text(text, encoding="utf-8", newline="")
    with (tmp_path / "labels.csv").open(encoding="utf-8", newline="") as file:
        _, cells = csv.reader(file)
    assert not any(written.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for written in cells)
    (row,) = read_label_table(tmp_path / "labels.csv")
    assert cell in row.spellings
    assert row.file == safe_cell(cell)
    assert row.label == ("=1+1" if cell.startswith("'") else cell)


def test_names_that_are_not_utf8_are_written_escaped():
    assert format_label_table([LabelRow("caf\udce9.png", "cat")]) == EXPORT + ",caf\\xe9.png,cat,,,,,,\n"


def test_a_missing_row_without_an_id_is_orphaned(tmp_path):
    (tmp_path / "labels.csv").write_text(f"file,label,id,missing\na.png,cat,17,yes\nb.png,cat,{ID},yes\nc.png,cat,,\n")
    assert [(row.orphaned, row.id) for row in read_label_table(tmp_path / "labels.csv")] == [
        (True, ""), (False, ID), (False, ""),
    ]  # fmt: skip
