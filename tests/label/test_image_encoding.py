"""Image files as the browser gets them."""

import io
import struct
import zlib
from hashlib import sha256

import numpy as np
import pytest
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from versionspace.data import load
from versionspace.data.folder.decode import decoding
from versionspace.label.image_encoding import LARGEST, ImageEncoder, ImageUnavailable, encode


@pytest.fixture(autouse=True)
def _muted():
    with decoding():
        yield


def shown(picture):
    return Image.open(io.BytesIO(picture.content))


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def test_exif_orientation_is_applied_and_left_out():
    image = Image.new("RGB", (40, 20), "red")
    image.paste("blue", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    found = shown(encode(saved(image, "PNG", exif=exif), LARGEST))
    assert found.size == (20, 40)
    assert found.getpixel((10, 5)) == (0, 0, 255)
    assert not found.getexif()


def turned(orientation):
    """Four colours, 40 × 20, the orientation that is to be stored with them, and how they look upright."""
    image = Image.new("RGB", (40, 20), "red")
    image.paste("blue", (0, 0, 20, 20))
    image.paste("green", (0, 0, 20, 10))
    image.paste("yellow", (20, 0, 40, 10))
    exif = Image.Exif()
    exif[0x0112] = orientation
    upright = image.copy()
    upright.getexif()[0x0112] = orientation
    return image, exif, ImageOps.exif_transpose(upright)


XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="{}"/></rdf:RDF></x:xmpmeta>"""


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["TIFF", "PNG", "WEBP", "TIFF by XMP"])
def test_every_orientation_is_shown_upright_and_in_proportion(form, orientation):
    image, exif, upright = turned(orientation)
    if form == "TIFF by XMP":
        content = saved(image, "TIFF", tiffinfo={700: XMP.format(orientation).encode()})
    else:
        content = saved(image, form, exif=exif, **({"lossless": True} if form == "WEBP" else {}))
    found = shown(encode(content, LARGEST))
    assert found.size == upright.size
    assert np.array_equal(np.asarray(found.convert("RGB")), np.asarray(upright))


def test_metadata_that_cannot_be_read_mean_upright():
    notes = PngInfo()
    notes.add_text("Raw profile type exif", "\nexif\n 4\nno hexadecimal numbers")
    assert shown(encode(saved(Image.new("RGB", (40, 20)), "PNG", pnginfo=notes), LARGEST)).size == (40, 20)


def test_sixteen_bits_and_tiff_become_eight_bit_png():
    pixels = np.linspace(0, 65535, 64).astype(np.uint16).reshape(8, 8)
    picture = encode(saved(Image.fromarray(pixels), "TIFF"), LARGEST)
    assert picture.media == "image/png"
    assert shown(picture).getextrema() == (0, 255)


def test_large_images_are_made_smaller_and_sent_as_jpeg():
    picture = encode(saved(Image.new("RGB", (3000, 1500), "green"), "JPEG"), LARGEST)
    assert picture.media == "image/jpeg"
    assert shown(picture).size == (1600, 800)


def bomb():
    """A PNG of a few bytes that says it has 40,000 × 40,000 pixels."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "content", [bomb(), b"", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", b"GIF89a",
                saved(Image.new("RGB", (50, 50)), "JPEG")[:200]],
)  # fmt: skip
def test_bombs_scripts_and_damaged_files_are_not_shown(content, tmp_path):
    image = sha256(content).hexdigest()
    Image.new("L", (9, 9)).save(tmp_path / "fine.png")
    showing = ImageEncoder(tmp_path, load(tmp_path, cache=tmp_path / "cache", progress=False))
    (tmp_path / "bad.png").write_bytes(content)
    showing.files = {image: "bad.png"}
    with pytest.raises(ImageUnavailable, match="bad.png"):
        showing.image(image)
    assert image in showing.trouble


def test_links_and_paths_that_leave_the_folder_are_refused(tmp_path):
    photos, secret = tmp_path / "photos", tmp_path / "secret.png"
    photos.mkdir()
    Image.new("L", (9, 9)).save(photos / "fine.png")
    Image.new("L", (9, 9), 77).save(secret)
    showing = ImageEncoder(photos, load(photos, cache=tmp_path / "cache", progress=False))
    image = sha256(secret.read_bytes()).hexdigest()
    (photos / "link.png").symlink_to(secret)
    for file in ("link.png", "../secret.png", str(secret)):
        showing.files = {**showing.files, image: file}
        with pytest.raises(ImageUnavailable, match="leads out"):
            showing.image(image)
    with pytest.raises(ImageUnavailable) as why:
        showing.image("f" * 64)
    assert not why.value.known


def test_only_so_much_is_kept_in_memory(tmp_path, monkeypatch):
    from versionspace.label import image_encoding as module

    monkeypatch.setattr(module, "KEPT_BYTES", 400)
    for n in range(6):
        Image.fromarray(np.full((8, 8), n, np.uint8)).save(tmp_path / f"{n}.png")
    showing = ImageEncoder(tmp_path, load(tmp_path, cache=tmp_path / "cache", progress=False))
    for image in showing.files:
        showing.image(image)
    assert sum(len(p.content) for p in showing._kept.values()) <= 400
    assert len(showing._kept) >= 1
