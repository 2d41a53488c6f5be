"""Scanning of image folders: layouts, links, unsupported formats and missing permissions."""

import os
import sys
import tempfile
import unicodedata
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from data.pictures import id_of, save
from versionspace import data
from versionspace.data import LEADS_OUT, Skipped, image_formats, read_folder
from versionspace.data.folder import decode as decode_module
from versionspace.errors import InputError


class TestLayouts:
    def test_class_folders(self, tmp_path):
        for name in ("dog/1.png", "cat/1.png", "cat/deep/er/2.png"):
            save(tmp_path / name)
        found = read_folder(tmp_path)
        assert found.classes == ("cat", "dog")
        assert found.train.files == ("cat/1.png", "cat/deep/er/2.png", "dog/1.png")
        assert found.train.labels.tolist() == [0, 0, 1]
        assert found.train.ids.tolist() == [id_of(tmp_path / file) for file in found.train.files]
        assert found.train.images.shape == (3, 64, 64, 3)
        assert found.validation is found.test is None
        assert found.checksums == dict(zip(found.train.files, found.train.ids.tolist(), strict=True))

    @pytest.mark.parametrize("val", ["val", "valid", "Validation"])
    def test_train_val_and_test(self, tmp_path, val):
        for name in ("train/b/1.png", "train/a/2.png", f"{val}/a/3.png", "test/b/4.png", "test/b/5.png"):
            save(tmp_path / name)
        found = read_folder(tmp_path)
        assert [len(subset) for subset in (found.train, found.validation, found.test)] == [2, 1, 2]
        assert found.train.files == ("train/a/2.png", "train/b/1.png")
        assert found.test.labels.tolist() == [1, 1]

    def test_images_outside_the_subsets_are_listed(self, tmp_path):
        for name in ("train/a/1.png", "test/a/2.png", "loose.png"):
            save(tmp_path / name)
        assert read_folder(tmp_path).report.skipped == (Skipped("loose.png", "not inside train, val or test"),)

    def test_a_class_called_train_is_a_class(self, tmp_path):
        for name in ("train/1.png", "tram/2.png"):
            save(tmp_path / name)
        assert read_folder(tmp_path).classes == ("train", "tram")

    @pytest.mark.parametrize(
        "names",
        [("train/a/1.png", "extra/2.png"), ("test/a/1.png",), ("train/a/1.png", "val/a/2.png", "valid/a/3.png")],
    )
    def test_ambiguous_folders_are_rejected(self, tmp_path, names):
        for name in names:
            save(tmp_path / name)
        with pytest.raises(InputError, match="expected class folders only; or train"):
            read_folder(tmp_path)

    def test_no_labels_at_all(self, tmp_path):
        save(tmp_path / "1.png")
        save(tmp_path / "2.png")
        found = read_folder(tmp_path)
        assert found.train.labels is None
        assert found.classes == ()

    def test_some_labels(self, tmp_path):
        save(tmp_path / "cat" / "1.png")
        save(tmp_path / "2.png")
        assert read_folder(tmp_path).train.labels.tolist() == [-1, 0]

    def test_one_image(self, tmp_path):
        save(tmp_path / "cat" / "1.png")
        assert len(read_folder(tmp_path).train) == 1

    def test_numbers_are_sorted_as_numbers(self, tmp_path):
        for name in ("10", "9", "1", "01"):
            save(tmp_path / name / "x.png")
        assert read_folder(tmp_path).classes == ("01", "1", "9", "10")

    def test_the_current_folder_has_a_name(self, tmp_path, monkeypatch):
        save(tmp_path / "photos" / "1.png")
        monkeypatch.chdir(tmp_path / "photos")
        assert read_folder(".").name == "photos"

    def test_classes_in_a_given_order(self, tmp_path):
        save(tmp_path / "cat" / "1.png")
        save(tmp_path / "dog" / "2.png")
        found = read_folder(tmp_path, classes=["dog", "cat", "bird"])
        assert found.classes == ("dog", "cat", "bird")
        assert found.train.labels.tolist() == [1, 0]
        with pytest.raises(InputError, match="classes: .* the folder also contains dog"):
            read_folder(tmp_path, classes=["cat"])

    @pytest.mark.parametrize("names", [(), ("notes.txt", ".hidden.png", ".git/x.png")])
    def test_an_empty_folder(self, tmp_path, names):
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(b"x")
        with pytest.raises(InputError, match="expected at least one .jpg"):
            read_folder(tmp_path)

    def test_a_missing_folder(self, tmp_path):
        with pytest.raises(InputError, match="path: expected a folder of images"):
            read_folder(tmp_path / "nowhere")

    def test_names_in_any_script(self, tmp_path):
        name = unicodedata.normalize("NFC", "Ёж и кот/猫 é.png")
        save(tmp_path / name)
        found = read_folder(tmp_path)
        assert found.classes == ("Ёж и кот",)
        assert found.train.files == (name,)

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems allow only valid text as file names")
    def test_file_names_that_are_not_utf8(self, tmp_path):
        place = tmp_path / os.fsdecode(b"photos\xff")
        save(place / "cat" / "1.png").rename(place / "cat" / os.fsdecode(b"\xff.png"))
        found = read_folder(place)
        assert [os.fsencode(file) for file in found.train.files] == [b"cat/\xff.png"]
        assert read_folder(place).report.decoded == 0

    @pytest.mark.parametrize("options", [{"size": 0}, {"size": (8, 8, 8)}, {"channels": 4}, {"fit": "squash"}])
    def test_invalid_frames_are_rejected(self, tmp_path, options):
        with pytest.raises(InputError, match=next(iter(options))):
            read_folder(tmp_path, **options)


def test_a_heic_image_without_its_package_names_the_extra(tmp_path, monkeypatch):
    image_formats()
    save(tmp_path / "a.png")
    save(tmp_path / "x.heic")
    monkeypatch.setattr(decode_module, "image_formats", lambda: ("PNG",))
    (skipped,) = read_folder(tmp_path, size=8).report.skipped
    why = "a HEIC image, which needs the extra heif: pip install 'versionspace[heif]'"
    assert skipped == Skipped("x.heic", why)


class TestLinksOut:
    """Links that lead out of the folder: followed, or left out and listed."""

    @pytest.fixture
    def photos(self, tmp_path):
        save(tmp_path / "annex" / "a.png")
        save(tmp_path / "annex" / "deep" / "b.png")
        photos = tmp_path / "photos"
        save(photos / "cat" / "own.png")
        save(photos / ".objects" / "c.png")
        (photos / "cat" / "inside.png").symlink_to("../.objects/c.png")
        (photos / "cat" / "file.png").symlink_to(tmp_path / "annex" / "a.png")
        (photos / "dog").symlink_to(tmp_path / "annex" / "deep", target_is_directory=True)
        (photos / "notes.txt").symlink_to(__file__)
        return photos

    def test_they_are_followed_by_default(self, photos):
        found = read_folder(photos, size=8)
        assert found.train.files == ("cat/file.png", "cat/inside.png", "cat/own.png", "dog/b.png")
        assert found.report.skipped == ()

    @pytest.mark.parametrize("through", ["photos", "link"])
    def test_they_are_left_out_and_listed(self, photos, through):
        photos.with_name("link").symlink_to(photos, target_is_directory=True)
        found = read_folder(photos.with_name(through), size=8, follow_links=False)
        assert found.train.files == ("cat/inside.png", "cat/own.png")
        assert found.report.skipped == (Skipped("cat/file.png", LEADS_OUT), Skipped("dog", LEADS_OUT))

    def test_a_subset_is_left_out_too(self, photos, tmp_path):
        save(tmp_path / "new" / "train" / "cat" / "a.png")
        (tmp_path / "new" / "test").symlink_to(photos, target_is_directory=True)
        found = read_folder(tmp_path / "new", size=8, follow_links=False)
        assert found.test is None
        assert found.report.skipped == (Skipped("test/", LEADS_OUT),)
        assert read_folder(tmp_path / "new", size=8).test is not None


@pytest.mark.parametrize("name", ["x.jxl", "deep/y.SVG", "raw.CR2"])
def test_images_in_unsupported_formats_are_listed(tmp_path, name):
    """Photos of phones are often HEIC; users must see which ones are left out."""
    save(tmp_path / "a.png")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"something")
    (tmp_path / "notes.txt").write_text("not an image, and not listed")
    ending = name[name.rfind(".") :].lower()
    (skipped,) = read_folder(tmp_path, size=8).report.skipped
    assert skipped == Skipped(name, f"{ending} files are not supported: convert it to JPEG or PNG")
    (tmp_path / "a.png").unlink()
    with pytest.raises(InputError, match=f"{ending} files are not supported"):
        read_folder(tmp_path, size=8)


def test_a_class_folder_may_be_a_link(tmp_path):
    save(tmp_path / "elsewhere" / "a.png")
    save(tmp_path / "elsewhere" / "deep" / "b.png")
    save(tmp_path / "photos" / "dog" / "1.png")
    (tmp_path / "photos" / "cat").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    found = read_folder(tmp_path / "photos")
    assert found.classes == ("cat", "dog")
    assert found.train.files == ("cat/a.png", "cat/deep/b.png", "dog/1.png")
    assert found.train.labels.tolist() == [0, 0, 1]
    assert found.report.skipped == ()


def test_a_subset_may_be_a_link(tmp_path):
    save(tmp_path / "elsewhere" / "cat" / "a.png")
    save(tmp_path / "photos" / "train" / "cat" / "1.png")
    (tmp_path / "photos" / "test").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert read_folder(tmp_path / "photos").test.files == ("test/cat/a.png",)


@pytest.mark.parametrize("to", ["..", "../cat", "../../photos", "../.."])
def test_a_circular_link_is_listed(tmp_path, to):
    save(tmp_path / "photos" / "cat" / "1.png")
    (tmp_path / "photos" / "cat" / "round").symlink_to(to, target_is_directory=True)
    found = read_folder(tmp_path / "photos")
    assert found.train.files == ("cat/1.png",)
    name = "cat/round/photos" if to == "../.." else "cat/round"
    assert found.report.skipped == (Skipped(name, "a link to a folder that contains it"),)


@pytest.mark.parametrize("to", ["nowhere", "bird"])
def test_a_broken_link_is_listed(tmp_path, to):
    save(tmp_path / "cat" / "1.png")
    (tmp_path / "bird").symlink_to(to)
    save(tmp_path / ".hidden" / "2.png")
    (tmp_path / ".bird").symlink_to("nowhere")
    found = read_folder(tmp_path)
    assert found.train.files == ("cat/1.png",)
    assert found.report.skipped == (Skipped("bird", "a broken link"),)


def test_a_folder_with_only_a_broken_link_names_it(tmp_path):
    (tmp_path / "cat").symlink_to("nowhere")
    with pytest.raises(InputError, match="got none; cat: a broken link"):
        read_folder(tmp_path)


def test_a_broken_link_in_a_subset_is_listed_with_the_subset(tmp_path):
    save(tmp_path / "train" / "cat" / "1.png")
    (tmp_path / "train" / "dog").symlink_to("nowhere")
    assert read_folder(tmp_path).report.skipped == (Skipped("train/dog", "a broken link"),)


def test_two_links_to_one_folder_are_conflicting_classes(tmp_path):
    save(tmp_path / "elsewhere" / "a.png")
    for name in ("cat", "dog"):
        (tmp_path / "photos").mkdir(exist_ok=True)
        (tmp_path / "photos" / name).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert read_folder(tmp_path / "photos").report.conflicts[0].classes == ("cat", "dog")


def test_a_folder_that_cannot_be_opened_is_listed(tmp_path, monkeypatch):
    for name in ("cat/1.png", "dog/2.png"):
        save(tmp_path / name)
    real = os.scandir

    def refused(path):
        if str(path).endswith("dog"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert read_folder(tmp_path).report.skipped == (Skipped("dog", "cannot be opened: Permission denied"),)


NOBODY = 65534
needs_permissions = pytest.mark.skipif(not hasattr(os, "seteuid"), reason="Windows has other permissions")


@contextmanager
def closed(path, mode):
    """Set the permissions of a path, and drop root privileges."""
    before, root = path.stat().st_mode, os.geteuid() == 0
    path.chmod(mode)
    try:
        if root:
            os.seteuid(NOBODY)
        yield
    finally:
        if root:
            os.seteuid(0)
        path.chmod(before)


@pytest.fixture
def photos():
    """Images in train and val, with a table, in a folder that every user may read, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        root = Path(place) / "above" / "photos"
        for number, part in enumerate(("train", "val")):
            (root / part / "cat").mkdir(parents=True)
            Image.new("L", (4, 4), number).save(root / part / "cat" / "1.png")
        (root / "val" / "labels.csv").write_text("file,label\ncat/1.png,cat\n")
        yield root


@pytest.mark.parametrize("mode", [0o000, 0o111, 0o444])
@pytest.mark.parametrize("which", [".", "train"])
@pytest.mark.parametrize("read", [data.load, data.read_folder])
@needs_permissions
def test_an_unreadable_folder_is_an_error(photos, read, which, mode):
    path = (photos / which).resolve()
    with closed(path, mode), pytest.raises(InputError) as said:
        read(photos, size=4)
    assert str(said.value).startswith(f"{path}")
    assert "expected a readable folder, got Permission denied. Ask its owner" in str(said.value)


@pytest.mark.parametrize("read", [data.load, data.read_folder])
@needs_permissions
def test_a_folder_inside_an_unreadable_one_is_an_error(photos, read):
    with closed(photos.parent, 0o000), pytest.raises(InputError, match="photos: expected a readable folder"):
        read(photos, size=4)


@pytest.mark.parametrize("part", ["", "val"])
@needs_permissions
def test_an_unreadable_table_is_an_error(photos, part):
    table = photos / part / "labels.csv"
    table.write_text("file,label\n")
    with closed(table, 0o000), pytest.raises(InputError) as said:
        data.load(photos, size=4)
    assert str(said.value).startswith(f"{table}: expected a readable table, got Permission denied. Ask its owner")


@needs_permissions
def test_a_campaign_on_an_unreadable_folder_is_an_error(photos):
    from versionspace.campaign.datasets import open_dataset
    from versionspace.config import parse_config
    from versionspace.store import StoreError, campaigns

    wanted = parse_config(
        f'[data]\nname = "{photos}"\nclasses = ["cat"]\n[budget]\ntotal = 5\n[oracle]\nkind = "person"\n'
    )
    with closed(photos.parent, 0o000):
        with pytest.raises(InputError, match="expected a readable folder"):
            open_dataset(wanted)
        with pytest.raises(StoreError, match="photos: expected"):
            campaigns(photos)
