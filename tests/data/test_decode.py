"""Decoding: formats, colour modes, orientation and fit."""

import struct

import numpy as np
import pytest
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from data.pictures import picture, save
from versionspace.data import read_folder

SIDEWAYS = struct.pack("<HHIHH", 0x0112, 3, 1, 6, 0)
INVALID = {
    "a word for a number": struct.pack("<HHI4s", 0x0100, 2, 2, b"x"),
    "a word for a fraction": struct.pack("<HHI4s", 0x011A, 2, 3, b"72"),
    "a negative length": struct.pack("<HHIhh", 0x0100, 8, 1, -5, 0),
}
"""Invalid EXIF entries that some cameras and programs write."""


class TestPixels:
    def decoded(self, tmp_path, **options):
        (image,) = read_folder(tmp_path, **options).train.images
        return image

    @pytest.mark.parametrize("name", ["a.jpg", "a.JPEG", "a.png", "a.webp", "a.tif", "a.tiff", "a.bmp"])
    def test_every_format(self, tmp_path, name):
        save(tmp_path / name, Image.new("RGB", (16, 16), (200, 100, 50)))
        image = self.decoded(tmp_path, size=16)
        assert image.shape == (16, 16, 3)
        assert np.abs(image.astype(int) - (200, 100, 50)).max() <= 3

    def test_pixels_of_the_right_size_are_unchanged(self, tmp_path):
        made = picture(3, (12, 10))
        save(tmp_path / "a.png", made)
        np.testing.assert_array_equal(self.decoded(tmp_path, size=(10, 12)), np.asarray(made))

    def test_greyscale(self, tmp_path):
        save(tmp_path / "a.png", Image.new("L", (8, 8), 77))
        assert (self.decoded(tmp_path, size=8) == 77).all()
        assert self.decoded(tmp_path, size=8, channels=1).shape == (8, 8, 1)

    @pytest.mark.parametrize("suffix", ["png", "tiff"])
    def test_sixteen_bits_are_scaled_not_clipped(self, tmp_path, suffix):
        values = np.array([[0, 257, 128 * 257, 65535]], np.uint16).repeat(4, 0)
        save(tmp_path / f"a.{suffix}", Image.fromarray(values))
        assert self.decoded(tmp_path, size=4)[0, :, 0].tolist() == [0, 1, 128, 255]

    @pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
    def test_transparency_becomes_white(self, tmp_path, mode):
        if mode == "P":
            image, options = Image.new("P", (8, 8), 3), {"transparency": 3}
            image.putpalette([0, 0, 0] * 256)
        else:
            image, options = Image.new(mode, (8, 8), 0), {}
        save(tmp_path / "a.png", image, **options)
        assert (self.decoded(tmp_path, size=8) == 255).all()

    def test_cmyk(self, tmp_path):
        save(tmp_path / "a.jpg", Image.new("CMYK", (8, 8), (0, 0, 0, 0)))
        assert (self.decoded(tmp_path, size=8) >= 253).all()

    def test_exif_orientation_is_applied(self, tmp_path):
        upright = Image.new("RGB", (16, 32), "black")
        upright.paste((255, 0, 0), (0, 0, 16, 16))  # upper half red
        exif = Image.Exif()
        exif[0x0112] = 6  # display rotated 90° clockwise
        save(tmp_path / "a.jpg", upright.transpose(Image.Transpose.ROTATE_90), exif=exif, quality=95)
        image = self.decoded(tmp_path, size=(32, 16))
        assert image[4, 8, 0] > 200
        assert image[28, 8, 0] < 50

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("how", ["jpg", "png", "webp", "tiff", "xmp"])
    def test_every_orientation_is_applied_as_pillow_does(self, tmp_path, orientation, how):
        exif = Image.Exif()
        exif[0x0112] = orientation
        options = {"exif": exif}
        if how == "xmp":
            options = {"xmp": f'<x tiff:Orientation="{orientation}"/>'.encode(), "lossless": True}
        path = save(tmp_path / f"a.{'webp' if how == 'xmp' else how}", picture(0, (12, 8)), **options)
        with Image.open(path) as opened:
            expected = ImageOps.exif_transpose(opened).convert("RGB")
        found = self.decoded(tmp_path, size=(expected.height, expected.width))
        np.testing.assert_array_equal(found, np.asarray(expected))

    @pytest.mark.parametrize("odd", INVALID)
    def test_metadata_that_pillow_cannot_rewrite_does_not_lose_the_image(self, tmp_path, odd):
        """The orientation is readable, but Pillow's exif_transpose rewrites the other entries and fails."""
        upright = Image.new("RGB", (16, 32), "black")
        upright.paste((255, 0, 0), (0, 0, 16, 16))  # upper half red
        exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 2) + b"".join(sorted([SIDEWAYS, INVALID[odd]])) + bytes(4)
        save(tmp_path / "a.jpg", upright.transpose(Image.Transpose.ROTATE_90), exif=exif, quality=95)
        image = self.decoded(tmp_path, size=(32, 16))
        assert image[4, 8, 0] > 200
        assert image[28, 8, 0] < 50

    def test_unreadable_metadata_means_upright(self, tmp_path):
        made = picture(3, (12, 10))
        notes = PngInfo()
        notes.add_text("Raw profile type exif", "\nexif\n 4\nno hexadecimal numbers")
        save(tmp_path / "a.png", made, pnginfo=notes)
        np.testing.assert_array_equal(self.decoded(tmp_path, size=(10, 12)), np.asarray(made))

    def test_crop_pad_and_stretch(self, tmp_path):
        wide = Image.new("RGB", (40, 20), "white")
        wide.paste((0, 0, 255), (0, 0, 5, 20))  # a blue left edge
        save(tmp_path / "a.png", wide)
        crop, pad, stretch = (self.decoded(tmp_path, size=20, fit=fit) for fit in ("crop", "pad", "stretch"))
        assert (crop == 255).all()
        assert (pad[0] == 0).all()
        assert (pad[10, 10] == 255).all()
        assert stretch[10, 0].tolist() == [0, 0, 255]
        assert (stretch[0, 10] == 255).all()

    def test_reduced_jpeg_decoding_does_not_mirror_or_shift_a_large_photograph(self, tmp_path):
        """JPEG's reduced decoding must agree with decoding at full size."""
        large = picture(1, (8, 8)).resize((1600, 1600), Image.Resampling.BICUBIC)
        save(tmp_path / "a.jpg", large, quality=95)
        plain = np.asarray(large.resize((32, 32), Image.Resampling.BILINEAR)).astype(int)
        assert np.abs(self.decoded(tmp_path, size=32) - plain).mean() < 4

    def test_reduced_jpeg_decoding_keeps_detail(self, tmp_path):
        stripes = np.tile(np.repeat(np.array([0, 255], np.uint8), 4), (512, 64))
        save(tmp_path / "a.jpg", Image.fromarray(stripes), quality=95)
        row = self.decoded(tmp_path, size=128)[64, :, 0]
        assert row.std() > 30  # stripes one pixel wide, not a uniform grey
