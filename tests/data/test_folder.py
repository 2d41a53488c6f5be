"""Folders of images: layouts, formats, what is wrong with files, identity."""

import hashlib
import io
import os
import struct
import sys
import unicodedata
import zlib

import numpy as np
import pytest
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from versionspace.data import read_folder
from versionspace.data.dataset import Skipped
from versionspace.errors import InputError


def picture(seed=0, size=(20, 20)):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    return Image.fromarray(pixels)


def save(path, image=None, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    (picture(zlib.crc32(os.fsencode(path))) if image is None else image).save(path, **options)
    return path


def id_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bomb(side=30_000):
    """A PNG of a few hundred bytes that says it has 900 million pixels."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


SIDEWAYS = struct.pack("<HHIHH", 0x0112, 3, 1, 6, 0)
ODD = {
    "a word for a number": struct.pack("<HHI4s", 0x0100, 2, 2, b"x"),
    "a word for a fraction": struct.pack("<HHI4s", 0x011A, 2, 3, b"72"),
    "a negative length": struct.pack("<HHIhh", 0x0100, 8, 1, -5, 0),
}
"""Entries of EXIF that cameras and programs have no business to write."""


class TestLayouts:
    def test_a_folder_a_class(self, tmp_path):
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
        assert [len(part) for part in (found.train, found.validation, found.test)] == [2, 1, 2]
        assert found.train.files == ("train/a/2.png", "train/b/1.png")
        assert found.test.labels.tolist() == [1, 1]

    def test_images_beside_the_parts_are_listed(self, tmp_path):
        for name in ("train/a/1.png", "test/a/2.png", "loose.png"):
            save(tmp_path / name)
        assert read_folder(tmp_path).report.skipped == (
            Skipped("loose.png", "lies beside train, val and test, in none of them"),
        )

    def test_a_class_called_train_is_a_class(self, tmp_path):
        for name in ("train/1.png", "tram/2.png"):
            save(tmp_path / name)
        assert read_folder(tmp_path).classes == ("train", "tram")

    @pytest.mark.parametrize(
        "names",
        [("train/a/1.png", "extra/2.png"), ("test/a/1.png",), ("train/a/1.png", "val/a/2.png", "valid/a/3.png")],
    )
    def test_what_could_be_parts_or_classes_is_refused(self, tmp_path, names):
        for name in names:
            save(tmp_path / name)
        with pytest.raises(InputError, match="expected folders that are classes; or train"):
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

    def test_the_folder_one_is_in_has_a_name_too(self, tmp_path, monkeypatch):
        save(tmp_path / "photos" / "1.png")
        monkeypatch.chdir(tmp_path / "photos")
        assert read_folder(".").name == "photos"

    def test_classes_in_an_order_of_ones_own(self, tmp_path):
        save(tmp_path / "cat" / "1.png")
        save(tmp_path / "dog" / "2.png")
        found = read_folder(tmp_path, classes=["dog", "cat", "bird"])
        assert found.classes == ("dog", "cat", "bird")
        assert found.train.labels.tolist() == [1, 0]
        with pytest.raises(InputError, match="classes: .* the folder also has dog"):
            read_folder(tmp_path, classes=["cat"])

    @pytest.mark.parametrize("names", [(), ("notes.txt", ".hidden.png", ".git/x.png")])
    def test_an_empty_folder(self, tmp_path, names):
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(b"x")
        with pytest.raises(InputError, match="expected at least one .jpg"):
            read_folder(tmp_path)

    def test_no_folder(self, tmp_path):
        with pytest.raises(InputError, match="path: expected a folder of images"):
            read_folder(tmp_path / "nowhere")

    def test_names_in_any_script(self, tmp_path):
        name = unicodedata.normalize("NFC", "Ёж и кот/猫 é.png")
        save(tmp_path / name)
        found = read_folder(tmp_path)
        assert found.classes == ("Ёж и кот",)
        assert found.train.files == (name,)

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all file names are text")
    def test_names_that_are_not_text(self, tmp_path):
        place = tmp_path / os.fsdecode(b"photos\xff")
        save(place / "cat" / "1.png").rename(place / "cat" / os.fsdecode(b"\xff.png"))
        found = read_folder(place)
        assert [os.fsencode(file) for file in found.train.files] == [b"cat/\xff.png"]
        assert read_folder(place).report.decoded == 0

    @pytest.mark.parametrize("options", [{"size": 0}, {"size": (8, 8, 8)}, {"channels": 4}, {"fit": "squash"}])
    def test_a_frame_that_makes_no_sense(self, tmp_path, options):
        with pytest.raises(InputError, match=next(iter(options))):
            read_folder(tmp_path, **options)


class TestPixels:
    def one(self, tmp_path, **options):
        (image,) = read_folder(tmp_path, **options).train.images
        return image

    @pytest.mark.parametrize("name", ["a.jpg", "a.JPEG", "a.png", "a.webp", "a.tif", "a.tiff", "a.bmp"])
    def test_every_format(self, tmp_path, name):
        save(tmp_path / name, Image.new("RGB", (16, 16), (200, 100, 50)))
        image = self.one(tmp_path, size=16)
        assert image.shape == (16, 16, 3)
        assert np.abs(image.astype(int) - (200, 100, 50)).max() <= 3

    def test_pixels_of_the_right_size_come_back_untouched(self, tmp_path):
        made = picture(3, (12, 10))
        save(tmp_path / "a.png", made)
        np.testing.assert_array_equal(self.one(tmp_path, size=(10, 12)), np.asarray(made))

    def test_grey(self, tmp_path):
        save(tmp_path / "a.png", Image.new("L", (8, 8), 77))
        assert (self.one(tmp_path, size=8) == 77).all()
        assert self.one(tmp_path, size=8, channels=1).shape == (8, 8, 1)

    @pytest.mark.parametrize("suffix", ["png", "tiff"])
    def test_sixteen_bits_are_scaled_and_not_cut_off(self, tmp_path, suffix):
        values = np.array([[0, 257, 128 * 257, 65535]], np.uint16).repeat(4, 0)
        save(tmp_path / f"a.{suffix}", Image.fromarray(values))
        assert self.one(tmp_path, size=4)[0, :, 0].tolist() == [0, 1, 128, 255]

    @pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
    def test_transparency_is_white(self, tmp_path, mode):
        if mode == "P":
            image, options = Image.new("P", (8, 8), 3), {"transparency": 3}
            image.putpalette([0, 0, 0] * 256)
        else:
            image, options = Image.new(mode, (8, 8), 0), {}
        save(tmp_path / "a.png", image, **options)
        assert (self.one(tmp_path, size=8) == 255).all()

    def test_cmyk(self, tmp_path):
        save(tmp_path / "a.jpg", Image.new("CMYK", (8, 8), (0, 0, 0, 0)))
        assert (self.one(tmp_path, size=8) >= 253).all()

    def test_exif_orientation_is_undone(self, tmp_path):
        upright = Image.new("RGB", (16, 32), "black")
        upright.paste((255, 0, 0), (0, 0, 16, 16))  # red above
        exif = Image.Exif()
        exif[0x0112] = 6  # to be turned a quarter clockwise
        save(tmp_path / "a.jpg", upright.transpose(Image.Transpose.ROTATE_90), exif=exif, quality=95)
        image = self.one(tmp_path, size=(32, 16))
        assert image[4, 8, 0] > 200
        assert image[28, 8, 0] < 50

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("how", ["jpg", "png", "webp", "tiff", "xmp"])
    def test_every_orientation_is_undone_as_pillow_does(self, tmp_path, orientation, how):
        exif = Image.Exif()
        exif[0x0112] = orientation
        options = {"exif": exif}
        if how == "xmp":
            options = {"xmp": f'<x tiff:Orientation="{orientation}"/>'.encode(), "lossless": True}
        path = save(tmp_path / f"a.{'webp' if how == 'xmp' else how}", picture(0, (12, 8)), **options)
        with Image.open(path) as opened:
            expected = ImageOps.exif_transpose(opened).convert("RGB")
        found = self.one(tmp_path, size=(expected.height, expected.width))
        np.testing.assert_array_equal(found, np.asarray(expected))

    @pytest.mark.parametrize("odd", ODD)
    def test_metadata_that_cannot_be_written_anew_do_not_cost_the_image(self, tmp_path, odd):
        """They can be read, and say that the image lies on its side; Pillow writes them anew to turn it, and fails."""
        upright = Image.new("RGB", (16, 32), "black")
        upright.paste((255, 0, 0), (0, 0, 16, 16))  # red above
        exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 2) + b"".join(sorted([SIDEWAYS, ODD[odd]])) + bytes(4)
        save(tmp_path / "a.jpg", upright.transpose(Image.Transpose.ROTATE_90), exif=exif, quality=95)
        image = self.one(tmp_path, size=(32, 16))
        assert image[4, 8, 0] > 200
        assert image[28, 8, 0] < 50

    def test_metadata_that_cannot_be_read_mean_upright(self, tmp_path):
        made = picture(3, (12, 10))
        notes = PngInfo()
        notes.add_text("Raw profile type exif", "\nexif\n 4\nno hexadecimal numbers")
        save(tmp_path / "a.png", made, pnginfo=notes)
        np.testing.assert_array_equal(self.one(tmp_path, size=(10, 12)), np.asarray(made))

    def test_crop_pad_and_stretch(self, tmp_path):
        wide = Image.new("RGB", (40, 20), "white")
        wide.paste((0, 0, 255), (0, 0, 5, 20))  # a blue left edge
        save(tmp_path / "a.png", wide)
        crop, pad, stretch = (self.one(tmp_path, size=20, fit=fit) for fit in ("crop", "pad", "stretch"))
        assert (crop == 255).all()
        assert (pad[0] == 0).all()
        assert (pad[10, 10] == 255).all()
        assert stretch[10, 0].tolist() == [0, 0, 255]
        assert (stretch[0, 10] == 255).all()

    def test_a_big_photograph_is_not_mirrored_or_shifted_by_its_shortcut(self, tmp_path):
        """JPEG's reduced decoding must agree with the plain way."""
        large = picture(1, (8, 8)).resize((1600, 1600), Image.Resampling.BICUBIC)
        save(tmp_path / "a.jpg", large, quality=95)
        plain = np.asarray(large.resize((32, 32), Image.Resampling.BILINEAR)).astype(int)
        assert np.abs(self.one(tmp_path, size=32) - plain).mean() < 4

    def test_a_photograph_keeps_its_detail(self, tmp_path):
        stripes = np.tile(np.repeat(np.array([0, 255], np.uint8), 4), (512, 64))
        save(tmp_path / "a.jpg", Image.fromarray(stripes), quality=95)
        row = self.one(tmp_path, size=128)[64, :, 0]
        assert row.std() > 30  # stripes of one pixel, not an even grey


class TestBadFiles:
    def test_each_is_named_with_its_reason_and_the_rest_is_read(self, tmp_path):
        good = save(tmp_path / "cat" / "good.jpg", picture(0, (200, 200)))
        content = good.read_bytes()
        (tmp_path / "cat" / "cut.jpg").write_bytes(content[: len(content) // 2])
        (tmp_path / "cat" / "empty.png").write_bytes(b"")
        (tmp_path / "cat" / "text.png").write_text("no image at all")
        (tmp_path / "cat" / "bomb.png").write_bytes(bomb())
        (tmp_path / "cat" / "small bomb.png").write_bytes(bomb(9_000))
        (tmp_path / "cat" / "middling bomb.png").write_bytes(bomb(12_000))  # where Pillow only warns
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
        assert why["cat/text.png"] == "not a JPEG, PNG, WebP, TIFF or BMP image"
        for name in ("bomb", "small bomb", "middling bomb"):
            assert "64,000,000" in why[f"cat/{name}.png"]
        assert "damaged" in why["cat/cut.jpg"]
        assert "damaged" in why["cat/flipped.png"]
        assert "cannot be opened" in why["cat/gone.png"]
        assert any("skipped cat/empty.png: the file is empty" in line for line in found.report.lines())

    def test_a_file_of_another_kind_in_disguise_is_not_opened(self, tmp_path):
        save(tmp_path / "good.png")
        Image.new("L", (4, 4)).save(tmp_path / "x.gif")
        (tmp_path / "x.gif").rename(tmp_path / "gif.png")
        (tmp_path / "script.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n")
        assert len(read_folder(tmp_path).report.skipped) == 2

    def test_huge_files_are_not_read(self, tmp_path, monkeypatch):
        save(tmp_path / "good.png", Image.new("L", (4, 4)))
        save(tmp_path / "big.bmp", picture(0, (100, 100)))
        monkeypatch.setattr("versionspace.data.folder.reader.MAX_BYTES", 10_000)
        (skipped,) = read_folder(tmp_path).report.skipped
        assert "30,054 bytes, more than 10,000 are not read" in skipped.why

    def test_nothing_that_can_be_read(self, tmp_path):
        (tmp_path / "empty.png").write_bytes(b"")
        with pytest.raises(InputError, match="got 1 that cannot .empty.png: the file is empty"):
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

    def test_one_image_in_two_classes_is_a_conflict_and_has_no_label(self, tmp_path):
        a = save(tmp_path / "cat" / "a.png")
        save(tmp_path / "dog" / "other.png")
        (tmp_path / "dog" / "b.png").write_bytes(a.read_bytes())
        found = read_folder(tmp_path)
        (conflict,) = found.report.conflicts
        assert conflict.classes == ("cat", "dog")
        assert found.train.labels.tolist() == [-1, 1]
        assert any("labelled cat and dog" in line for line in found.report.lines())

    def test_a_copy_without_a_label_has_that_of_the_other(self, tmp_path):
        a = save(tmp_path / "cat" / "a.png")
        (tmp_path / "0.png").write_bytes(a.read_bytes())
        found = read_folder(tmp_path)
        assert found.train.labels.tolist() == [0]

    def test_what_is_tested_on_is_not_trained_on(self, tmp_path):
        a = save(tmp_path / "train" / "cat" / "a.png")
        save(tmp_path / "train" / "cat" / "b.png")
        (tmp_path / "test" / "cat").mkdir(parents=True)
        (tmp_path / "test" / "cat" / "z.png").write_bytes(a.read_bytes())
        found = read_folder(tmp_path)
        assert found.train.files == ("train/cat/b.png",)
        assert found.test.files == ("test/cat/z.png",)
        assert found.report.duplicates[0].files == ("test/cat/z.png", "train/cat/a.png")

    def test_only_copies_in_train(self, tmp_path):
        a = save(tmp_path / "train" / "cat" / "a.png")
        (tmp_path / "test" / "cat").mkdir(parents=True)
        (tmp_path / "test" / "cat" / "z.png").write_bytes(a.read_bytes())
        with pytest.raises(InputError, match="images in train that are not in val or test too"):
            read_folder(tmp_path)

    def test_ids_outlive_renaming(self, tmp_path):
        a = save(tmp_path / "cat" / "a.png")
        before = read_folder(tmp_path).train.ids[0]
        a.rename(tmp_path / "cat" / "z.png")
        after = read_folder(tmp_path)
        assert after.train.ids.tolist() == [before]
        assert after.report.decoded == 0


@pytest.mark.parametrize("name", ["x.heic", "deep/y.GIF", "z.avif", "raw.CR2"])
def test_images_in_other_formats_are_named(tmp_path, name):
    """A phone's photos are often HEIC: whoever has some of each should know which are left out."""
    save(tmp_path / "a.png")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"something")
    (tmp_path / "notes.txt").write_text("no image, and nothing to say")
    ending = name[name.rfind(".") :].lower()
    (skipped,) = read_folder(tmp_path, size=8).report.skipped
    assert skipped == Skipped(name, f"{ending} files are not read: convert it to JPEG or PNG")
    (tmp_path / "a.png").unlink()
    with pytest.raises(InputError, match=f"{ending} files are not read"):
        read_folder(tmp_path, size=8)


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
def test_options_that_make_no_sense(tmp_path, options, told):
    save(tmp_path / "a.png")
    with pytest.raises(InputError, match=told):
        read_folder(tmp_path, **options)


def test_numbers_of_numpy_do_as_sizes(tmp_path):
    save(tmp_path / "a.png")
    assert read_folder(tmp_path, size=np.int64(8), channels=np.int64(1)).train.images.shape == (1, 8, 8, 1)
