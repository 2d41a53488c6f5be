"""A label goes to the image that its row means, or to none."""

import json
import shutil

import numpy as np
import pytest

import versionspace as vs
from versionspace.data import Dataset, Subset
from versionspace.errors import InputError
from versionspace.label.export import labels_csv
from versionspace.label.label_studio import LabelledFile, spellings
from versionspace.label.matching import match_rows


def images(*files):
    """A dataset whose images are known by the names of their files."""
    return Dataset("photos", ("cat", "dog"), Subset(np.zeros((len(files), 1, 1, 1), np.uint8), None,
                                                  np.array(files), tuple(files)))  # fmt: skip


def given(files, rows, folder=None):
    """Which file gets which class, and the names that fit none."""
    named = [
        LabelledFile(spellings(name) if "://" in name or "?" in name else (name,), label)
        for name, label in rows.items()
    ]
    found = match_rows(images(*files), named, folder)
    return found.names, set(found.unknown)


FLAT = ("a.png", "b.png")


@pytest.mark.parametrize("front", [
    "", "./", "photos/", "/data/photos/", "/home/me/photos/", "C:\\Users\\me\\photos\\", "../photos/", "pictures/",
    "/data/local-files/?d=photos/", "/data/local-files/?d=elsewhere/", "s3://bucket/photos/", "http://host/files/",
])  # fmt: skip
def test_a_folder_may_be_named_from_elsewhere(tmp_path, front):
    rows = {front + "a.png": "cat", front + "b.png": "dog"}
    assert given(FLAT, rows, tmp_path / "data/photos") == ({"a.png": "cat", "b.png": "dog"}, set())


@pytest.mark.parametrize("front", ["/data/upload/3/0a1b2c3d-", "0a1b2c3d-", "/data/upload/3/12345678-"])
def test_a_file_that_was_uploaded_is_known_by_its_own_name(tmp_path, front):
    rows = {front + "a.png": "cat", front + "b.png": "dog"}
    assert given(("sub/a.png", "b.png"), rows, tmp_path) == ({"sub/a.png": "cat", "b.png": "dog"}, set())


def test_a_date_before_a_name_is_a_part_of_it():
    assert given(FLAT, {"20230101-a.png": "cat"}) == ({}, {"20230101-a.png"})


def test_two_uploads_of_one_name_are_of_no_image():
    rows = {"/data/upload/3/0a1b2c3d-a.png": "cat", "/data/upload/3/1a1b2c3d-a.png": "cat"}
    assert given(("a.png",), rows)[0] == {}
    assert given(("1/a.png", "2/a.png"), {"/data/upload/3/0a1b2c3d-a.png": "cat"})[0] == {}


def test_the_folder_may_hold_that_of_the_table():
    files = ("cats/a.png", "cats/b.png", "dogs/c.png")
    assert given(files, {"a.png": "cat", "c.png": "dog"}) == ({"cats/a.png": "cat", "dogs/c.png": "dog"}, set())
    deep = tuple(f"2023/{file}" for file in files)
    assert given(deep, {"cats/a.png": "cat"}) == ({"2023/cats/a.png": "cat"}, set())


def test_a_name_that_several_images_end_with_is_of_none():
    assert given(("2023/a.png", "2024/a.png"), {"a.png": "cat"}) == ({}, {"a.png"})


def test_rows_about_another_folder_are_not_about_this_one(tmp_path):
    rows = {"2023/a.png": "cat", "2024/a.png": "dog", "2024/b.png": "dog"}
    here = ({"a.png": "cat"}, {"2024/a.png", "2024/b.png"})
    assert given(FLAT, rows, tmp_path / "photos/2023") == here
    assert given(("2023/a.png", "2023/b.png"), rows) == ({"2023/a.png": "cat"}, {"2024/a.png", "2024/b.png"})
    moved = {f"/home/me/photos/{name}": label for name, label in rows.items()}
    names, unknown = given(FLAT, moved, tmp_path / "new/2023")
    assert (names, unknown) == (here[0], {f"/home/me/photos/{name}" for name in here[1]})
    assert given(FLAT, rows, tmp_path / "renamed") == ({}, set(rows)), "either may be meant"


def test_a_row_about_a_file_beside_the_folders_is_not_about_one_in_them():
    assert given(("2023/a.png",), {"2024/a.png": "dog"}) == ({}, {"2024/a.png"})


def test_names_relative_to_the_folder_do_not_lead_out_of_a_folder_that_is_gone():
    assert given(FLAT, {"a.png": "cat", "2024/b.png": "dog"}) == ({"a.png": "cat"}, {"2024/b.png"})


def test_the_longest_path_is_meant(tmp_path):
    files = ("a.png", "sub/a.png")
    rows = {"photos/a.png": "cat", "photos/sub/a.png": "dog"}
    expected = ({"a.png": "cat", "sub/a.png": "dog"}, set())
    assert given(files, rows, tmp_path / "photos") == given(files, rows, tmp_path / "renamed") == expected
    assert given(("a.png", "b/a.png", "b/c.png"), {"b/a.png": "dog"}) == ({"b/a.png": "dog"}, set())


def test_of_two_rows_that_reach_an_image_the_exact_one_counts():
    rows = {"a.png": "cat", "0a1b2c3d-a.png": "dog"}
    assert given(FLAT, rows) == ({"a.png": "cat"}, {"0a1b2c3d-a.png"})
    both = {"a.png": "cat", "cats/a.png": "cat"}
    assert given(("2023/cats/a.png",), both) == ({}, set(both)), "none of them is exact"


def test_a_row_that_leads_to_another_file_is_about_that_one(tmp_path):
    for year in ("2023", "2024"):
        (tmp_path / year).mkdir()
        (tmp_path / year / "a.png").write_text(year)
    rows = {"2024/a.png": "dog", "2024/b.png": "dog"}
    assert given(FLAT, rows, tmp_path / "2023") == ({}, set(rows))
    shutil.rmtree(tmp_path / "2024")
    assert given(FLAT, rows, tmp_path / "2023") == ({"a.png": "dog", "b.png": "dog"}, set()), "it may be its old name"
    assert match_rows(images(*FLAT), [LabelledFile(("2024/a.png",), "dog")]).notes == (
        "the prefix 2024/ of its names is ignored",
    )


@pytest.mark.parametrize("both", [("a.png", "./a.png"), ("photos/a.png", "x/../photos/a.png")])
def test_two_classes_for_an_image_are_none(tmp_path, both):
    named = [LabelledFile((name,), label) for name, label in zip(both, ("cat", "dog"), strict=True)]
    found = match_rows(images(*FLAT), [*named, LabelledFile((both[0].replace("a", "b"),), "cat")], tmp_path / "photos")
    assert found.names == {"b.png": "cat"}
    assert found.ambiguous == tuple(f"{name} (cat, dog)" for name in both)


def test_two_spellings_of_an_accent_are_two_files():
    rows = {"caf\N{LATIN SMALL LETTER E WITH ACUTE}.png": "cat"}
    assert given(("caf\N{LATIN SMALL LETTER E WITH ACUTE}.png", "cafe\N{COMBINING ACUTE ACCENT}.png"), rows)[0] == {}


def test_a_folder_of_the_table_is_labelled_by_its_own_rows(folder, tmp_path):
    """The table is about two years of which one is labelled; both number their images alike."""
    year = folder.photos.rename(tmp_path / "2023")
    files = sorted(f.name for f in year.iterdir())
    table = tmp_path / "known.csv"
    rows = [(f"2023/{f}", 0) for f in files[:60]] + [(f"2024/{f}", 1) for f in files]
    table.write_text("file,label\n" + "".join(f"{f},{label}\n" for f, label in rows))
    with vs.label_folder(year, folder.classes, budget=30, net="small", labels=table) as campaign:
        named = {campaign.images.files[i]: label.name for i, label in campaign.state.labels.items()}
    assert named
    assert set(named) <= set(files[:60])
    assert set(named.values()) == {"0"}


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_label_does_not_go_to_what_has_the_name_of_its_image_now(folder, tmp_path, form):
    from versionspace.label.label_studio import tasks
    from versionspace.store import read_campaign

    with vs.label_folder(folder.photos, folder.classes, budget=40, net="small") as campaign:
        ids = campaign.propose().ids
        campaign.accept(dict.fromkeys(ids, "1"))
        files = campaign.images.files
        record = read_campaign(campaign.folder)
        text = labels_csv(campaign.state, files) if form == "csv" else json.dumps(tasks(record, files))
    path = tmp_path / f"labels.{form}"
    path.write_text(text)
    other = next(i for i in files if i not in ids)
    changed, name = folder.photos / files[ids[0]], folder.photos / files[ids[1]]
    changed.write_bytes((folder.photos / files[other]).read_bytes() + b"\0")
    name.rename(name.with_name("renamed.png"))
    with vs.label_folder(folder.photos, folder.classes, net="small", labels=path, campaign=tmp_path / "new") as again:
        given = {again.images.files[i] for i in again.state.labels}
        counted = {*again.images.roles.audit.tolist(), *again.images.roles.askable().tolist()}
        assert set(again.state.labels) == {*ids[1:]} & counted
    assert changed.name not in given
    for i in ids[1:]:
        (folder.photos / again.images.files[i]).unlink()
    with pytest.raises(InputError, match=f"expected labels for images of this folder, got none in {len(ids)} "):
        vs.label_folder(folder.photos, folder.classes, net="small", labels=path, campaign=tmp_path / "newer")
