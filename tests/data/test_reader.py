"""Reading of image folders: bad files, identity of images, and options."""

import io

import numpy as np
import pytest
from PIL import Image

from data.pictures import bomb, id_of, picture, save
from versionspace.data import read_folder
from versionspace.errors import InputError


class TestBadFiles:
    def test_each_is_listed_with_its_reason_and_the_rest_is_read(self, tmp_path):
        good = save(tmp_path / "cat" / "good.jpg", picture(0, (200, 200)))
        content = good.read_bytes()
        (tmp_path / "cat" / "cut.jpg").write_bytes(content[: len(content) // 2])
        (tmp_path / "cat" / "empty.png").write_bytes(b"")
        (tmp_path / "cat" / "text.png").write_text("not an image")
        (tmp_path / "cat" / "bomb.png").write_bytes(bomb())
        (tmp_path / "cat" / "small bomb.png").write_bytes(bomb(15_000))
        (tmp_path / "cat" / "middling bomb.png").write_bytes(bomb(20_000))
        (tmp_path / "cat" / "gone.png").symlink_to(tmp_path / "nowhere.png")
        buffer = io.BytesIO()
        picture().save(buffer, "PNG")
        (tmp_path / "cat" / "flipped.png").write_bytes(buffer.getvalue()[:60] + b"\xff" * 30 + buffer.getvalue()[90:])
        save(tmp_path / "cat" / "float.tiff", Image.fromarray(np.ones((4, 4), np.float32)))
        found = read_folder(tmp_path)
        assert found.train.files == ("cat/good.jpg",)
        why = {entry.file: entry.why for entry in found.report.skipped}
        assert why.keys() == {
            f"cat/{name}"
            for name in ("cut.jpg", "empty.png", "text.png", "bomb.png", "small bomb.png", "middling bomb.png",
                         "gone.png", "flipped.png", "float.tiff")
        }  # fmt: skip
        assert why["cat/empty.png"] == "the file is empty"
        assert why["cat/text.png"] == "not a JPEG, PNG, WebP, TIFF, BMP, PPM, GIF, AVIF or HEIC image"
        for name in ("bomb", "small bomb", "middling bomb"):
            assert "200,000,000" in why[f"cat/{name}.png"]
        assert "damaged" in why["cat/cut.jpg"]
        assert "damaged" in why["cat/flipped.png"]
        assert "cannot be opened" in why["cat/gone.png"]
        assert any("skipped cat/empty.png: the file is empty" in line for line in found.report.lines())

    def test_a_file_with_a_misleading_suffix_is_not_decoded(self, tmp_path):
        save(tmp_path / "good.png")
        Image.new("L", (4, 4)).save(tmp_path / "x.pcx")
        (tmp_path / "x.pcx").rename(tmp_path / "pcx.png")
        (tmp_path / "script.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n")
        assert len(read_folder(tmp_path).report.skipped) == 2

    def test_huge_files_are_not_read(self, tmp_path, monkeypatch):
        save(tmp_path / "good.png", Image.new("L", (4, 4)))
        save(tmp_path / "big.bmp", picture(0, (100, 100)))
        monkeypatch.setattr("versionspace.data.folder.identify.MAX_BYTES", 10_000)
        (skipped,) = read_folder(tmp_path).report.skipped
        assert "30,054 bytes, more than the limit of 10,000" in skipped.why

    def test_no_readable_image(self, tmp_path):
        (tmp_path / "empty.png").write_bytes(b"")
        with pytest.raises(InputError, match="got 1 unreadable files .empty.png: the file is empty"):
            read_folder(tmp_path)


class TestIdentity:
    def test_duplicates_are_one_image(self, tmp_path):
        a = save(tmp_path / "cat" / "a.png")
        (tmp_path / "cat" / "b.png").write_bytes(a.read_bytes())
        found = read_folder(tmp_path)
        assert len(found.train) == 1
        (duplicate,) = found.report.duplicates
        assert duplicate.files == ("cat/a.png", "cat/b.png")
        assert duplicate.id == id_of(a)
        assert found.report.conflicts == ()
        assert found.train.labels.tolist() == [0]

    def test_one_image_in_two_classes_is_a_conflict_and_unlabelled(self, tmp_path):
        a = save(tmp_path / "cat" / "a.png")
        save(tmp_path / "dog" / "other.png")
        (tmp_path / "dog" / "b.png").write_bytes(a.read_bytes())
        found = read_folder(tmp_path)
        (conflict,) = found.report.conflicts
        assert conflict.classes == ("cat", "dog")
        assert found.train.labels.tolist() == [-1, 1]
        assert any("labelled cat and dog" in line for line in found.report.lines())

    def test_an_unlabelled_copy_gets_the_label_of_the_other(self, tmp_path):
        a = save(tmp_path / "cat" / "a.png")
        (tmp_path / "0.png").write_bytes(a.read_bytes())
        found = read_folder(tmp_path)
        assert found.train.labels.tolist() == [0]

    def test_a_test_image_is_not_in_train_too(self, tmp_path):
        a = save(tmp_path / "train" / "cat" / "a.png")
        save(tmp_path / "train" / "cat" / "b.png")
        (tmp_path / "test" / "cat").mkdir(parents=True)
        (tmp_path / "test" / "cat" / "z.png").write_bytes(a.read_bytes())
        found = read_folder(tmp_path)
        assert found.train.files == ("train/cat/b.png",)
        assert found.test.files == ("test/cat/z.png",)
        assert found.report.duplicates[0].files == ("test/cat/z.png", "train/cat/a.png")

    def test_train_with_only_copies_of_test_images_is_rejected(self, tmp_path):
        a = save(tmp_path / "train" / "cat" / "a.png")
        (tmp_path / "test" / "cat").mkdir(parents=True)
        (tmp_path / "test" / "cat" / "z.png").write_bytes(a.read_bytes())
        with pytest.raises(InputError, match="images in train that are not also in val or test"):
            read_folder(tmp_path)

    def test_renaming_a_file_keeps_its_id(self, tmp_path):
        a = save(tmp_path / "cat" / "a.png")
        before = read_folder(tmp_path).train.ids[0]
        a.rename(tmp_path / "cat" / "z.png")
        after = read_folder(tmp_path)
        assert after.train.ids.tolist() == [before]
        assert after.report.decoded == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"size": 64.0}, "size: expected pixels"),
        ({"size": True}, "size: expected pixels"),
        ({"size": (8, "8")}, "size: expected pixels"),
        ({"channels": True}, "channels: expected 1"),
        ({"channels": 3.0}, "channels: expected 1"),
        ({"workers": -1}, "workers: expected 1 or more"),
        ({"classes": "cat"}, "classes: expected a list of names, got 'cat'"),
    ],
)
def test_invalid_options_are_rejected(tmp_path, options, told):
    save(tmp_path / "a.png")
    with pytest.raises(InputError, match=told):
        read_folder(tmp_path, **options)


def test_numpy_integers_are_accepted_as_sizes(tmp_path):
    save(tmp_path / "a.png")
    assert read_folder(tmp_path, size=np.int64(8), channels=np.int64(1)).train.images.shape == (1, 8, 8, 1)
