"""Decoding: formats, colour modes, orientation and fit."""

import io
import struct
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from data.pictures import picture, save
from versionspace.data import decode, frame, image_formats, read_folder
from versionspace.data.folder import decode as decode_module

SIDEWAYS = struct.pack("<HHIHH", 0x0112, 3, 1, 6, 0)
INVALID = {
    "a word for a number": struct.pack("<HHI4s", 0x0100, 2, 2, b"x"),
    "a word for a fraction": struct.pack("<HHI4s", 0x011A, 2, 3, b"72"),
    "a negative length": struct.pack("<HHIhh", 0x0100, 8, 1, -5, 0),
}
"""Invalid EXIF entries that some cameras and programs write."""

PEAK = """
import resource, sys
from pathlib import Path
from versionspace.data import decode, decoding, frame, image_formats
image_formats()
content = Path(sys.argv[1]).read_bytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with decoding():
    found = decode(content, frame(64))
print(found[0, 0, 0], found[-1, 0, 0], (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
"""Prints two pixels, and by how many megabytes the peak of memory grew."""


class TestPixels:
    def decoded(self, tmp_path, **options):
        (image,) = read_folder(tmp_path, **options).train.images
        return image

    @pytest.mark.parametrize("name", [
        "a.jpg", "a.JPEG", "a.png", "a.webp", "a.tif", "a.tiff", "a.bmp", "a.gif", "a.ppm", "a.pnm", "a.avif", "a.heic",
        "a.HEIF",
    ])  # fmt: skip
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

    @pytest.mark.parametrize("suffix", ["png", "tiff", "pgm"])
    def test_sixteen_bits_are_stretched_to_what_they_use(self, tmp_path, suffix):
        values = np.array([[1000, 1100, 1300, 1500]], np.uint16).repeat(4, 0)
        save(tmp_path / f"a.{suffix}", Image.fromarray(values))
        assert self.decoded(tmp_path, size=4)[0, :, 0].tolist() == [0, 51, 153, 255]

    def test_a_hot_and_a_dead_pixel_do_not_darken_sixteen_bits(self, tmp_path):
        values = np.linspace(1000, 1500, 2500).astype(np.uint16).reshape(50, 50)
        values[0, 49], values[49, 0] = 65535, 0
        save(tmp_path / "a.png", Image.fromarray(values))
        found = self.decoded(tmp_path, size=50)[..., 0]
        assert found.std() > 70
        assert (found[0, 49], found[49, 0]) == (255, 0)

    def test_sixteen_bits_of_one_value_keep_it(self, tmp_path):
        save(tmp_path / "a.png", Image.fromarray(np.full((4, 4), 257 * 77, np.uint16)))
        assert (self.decoded(tmp_path, size=4) == 77).all()

    def test_a_bright_spot_on_a_flat_ground_is_seen(self, tmp_path):
        values = np.full((100, 100), 300, np.uint16)
        values[50, 50] = 4000
        save(tmp_path / "a.png", Image.fromarray(values))
        assert self.decoded(tmp_path, size=100)[50, 50].tolist() == [255] * 3

    @pytest.mark.parametrize("name", ["a.gif", "a.webp", "a.png", "a.avif"])
    def test_of_an_animation_the_first_frame_counts(self, tmp_path, name):
        frames = [Image.new("RGB", (16, 16), colour) for colour in ((200, 100, 50), (0, 0, 0), (255, 255, 255))]
        save(tmp_path / name, frames[0], save_all=True, append_images=frames[1:])
        assert np.abs(self.decoded(tmp_path, size=16).astype(int) - (200, 100, 50)).max() <= 4

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
    @pytest.mark.parametrize("how", ["jpg", "png", "webp", "tiff", "avif", "heic", "xmp"])
    def test_every_orientation_is_applied_as_pillow_does(self, tmp_path, orientation, how):
        exif = Image.Exif()
        exif[0x0112] = orientation
        options = {"exif": exif}
        if how == "xmp":
            options = {"xmp": f'<x tiff:Orientation="{orientation}"/>'.encode(), "lossless": True}
        path = save(tmp_path / f"a.{'webp' if how == 'xmp' else how}", picture(0, (12, 8)), **options)
        image_formats()
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

    @pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "I;16", "1", "CMYK"])
    @pytest.mark.parametrize("fit", ["crop", "pad", "stretch"])
    def test_a_large_image_reduced_by_strips_is_the_same_image(self, monkeypatch, mode, fit):
        smooth = picture(1, (6, 8)).resize((530, 710), Image.Resampling.BICUBIC)
        if mode == "I;16":
            image = Image.fromarray(np.asarray(smooth.convert("L")).astype(np.uint16) * 13 + 900)
        else:
            image = smooth.convert(mode)
        exif = Image.Exif()
        exif[0x0112] = 6
        content = io.BytesIO()
        image.save(content, "TIFF" if mode == "CMYK" else "PNG", exif=exif)
        to = frame((32, 24), fit=fit)
        whole = decode(content.getvalue(), to).astype(int)
        monkeypatch.setattr(decode_module, "LARGE_PIXELS", 100_000)
        monkeypatch.setattr(decode_module, "_STRIP_PIXELS", 20_000)
        assert np.abs(decode(content.getvalue(), to).astype(int) - whole).mean() < 3

    @pytest.mark.parametrize(("form", "megabytes"), [("JPEG", 60), ("PNG", 260)])
    def test_an_image_of_200_megapixels_is_read_in_little_memory(self, tmp_path, form, megabytes):
        """A JPEG is decoded at a reduced size; another image is held once, here at a byte a pixel."""
        path = tmp_path / f"a.{form}"
        ramp = Image.linear_gradient("L").resize((16_000, 12_500), Image.Resampling.NEAREST)
        ramp.save(path, form, **({"compress_level": 1} if form == "PNG" else {}))
        done = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
        first, last, peak = map(int, done.stdout.split())
        assert (first, last) == (pytest.approx(2, abs=3), pytest.approx(253, abs=3))
        assert peak < megabytes

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
