"""Pictures: what is taken for one, and smaller copies."""

import base64
import hashlib
import io
import struct
import zlib

import pytest
from PIL import Image

from pytest_vqaeval.media import MediaCache, encode, inspect_image
from pytest_vqaeval.pictures import fitting_size
from tests.mediafiles import JPEG, MP4, PNG, WAV, Cell, Files, b64, loaded, picture, problem


@pytest.mark.parametrize(
    ("format", "mime"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("GIF", "image/gif"),
        ("WEBP", "image/webp"),
        ("BMP", "image/bmp"),
        ("TIFF", "image/tiff"),
    ],
)
@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a", "a.mp4"])
def test_the_media_type_is_that_of_the_bytes(format: str, mime: str, name: str) -> None:
    content = picture(format)
    encoded = loaded("image", name, Files(**{name: content}))
    assert encoded == f"data:{mime};base64,{b64(content)}"
    assert (encoded.mime, encoded.size, encoded.bytes, encoded.source) == (mime, (8, 6), len(content), name)
    assert encoded.sha256 == hashlib.sha256(content).hexdigest()
    assert str(encoded) == f"{name} (8x6 px, {len(content):,} bytes, {mime})"
    assert inspect_image(content, name) == (mime, (8, 6))


def test_a_cameras_mpo_is_sent_as_the_jpeg_that_it_is() -> None:
    content = picture("MPO", save_all=True, append_images=[Image.new("RGB", (8, 6))])
    with Image.open(io.BytesIO(content)) as image:
        assert image.format == "MPO"
    assert encode(content, "a").mime == "image/jpeg"
    assert encode(content, "a", max_pixels=20).startswith("data:image/jpeg;base64,")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"root:x:0:0:root", "a.png is no picture that can be read (15 bytes)"),
        (b"", "a.png is no picture that can be read (0 bytes)"),
        (WAV, "a.png is no picture that can be read (audio/wav, 204 bytes)"),
        (MP4, "a.png is no picture that can be read (video/mp4, 52 bytes)"),
        (b"\0\0\1\xb3" + bytes(40), "a.png is no picture that can be read (video/mpeg, 44 bytes)"),  # Pillow reads it
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "is no picture that can be read (61 "),
        (b"#define x_width 8\n#define x_height 1\nstatic char x_bits[] = {1};", "is no picture that can be read (64 "),
        (PNG[:60], "a.png does not decode: "),
        (JPEG[:-30], "a.png does not decode: "),
        (picture("GIF", (300, 300))[:-500], "a.png does not decode: "),
    ],
    ids=["text", "empty", "wav", "mp4", "mpeg", "eps", "xbm", "cut png", "cut jpeg", "cut gif"],
)
def test_what_is_no_picture_is_not_sent(content: bytes, said: str) -> None:
    assert said in problem("image", "a.png", Files(**{"a.png": content}))
    assert said.replace("a.png", "embedded image") in problem("image", content)


@pytest.mark.parametrize("pixels", [(10_000, 9_000), (20_000, 10_000)], ids=["warning", "error"])
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_pictures_with_too_many_pixels(pixels: tuple[int, int]) -> None:
    content = PNG[:16] + struct.pack(">II", *pixels) + PNG[24:29]
    content += struct.pack(">I", zlib.crc32(content[12:29])) + PNG[33:]
    assert problem("image", "a.png", Files(**{"a.png": content})) == "a.png has too many pixels"


def test_pillows_limit_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 47)
    with pytest.warns(Image.DecompressionBombWarning):
        assert problem("image", "a.png", Files(**{"a.png": PNG})) == "a.png has too many pixels"
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert loaded("image", "a.png", Files(**{"a.png": PNG}))


@pytest.mark.parametrize(
    ("format", "mode", "mime", "sent_mode"),
    [
        ("JPEG", "RGB", "image/jpeg", "RGB"),
        ("JPEG", "L", "image/jpeg", "L"),
        ("JPEG", "CMYK", "image/jpeg", "CMYK"),
        ("PNG", "RGB", "image/png", "RGB"),
        ("PNG", "RGBA", "image/png", "RGBA"),
        ("PNG", "LA", "image/png", "RGBA"),
        ("PNG", "I;16", "image/png", "I;16"),
        ("PNG", "1", "image/png", "L"),
        ("PNG", "P", "image/png", "RGB"),
        ("GIF", "P", "image/png", "RGB"),
        ("WEBP", "RGB", "image/png", "RGB"),
        ("BMP", "RGB", "image/png", "RGB"),
        ("TIFF", "CMYK", "image/png", "RGB"),
    ],
)
def test_larger_pictures_are_resized(format: str, mode: str, mime: str, sent_mode: str) -> None:
    content = picture(format, (400, 300), mode)
    encoded = loaded("image", "a", Files(a=content), MediaCache(max_pixels=10_000))
    assert (encoded.mime, encoded.size, encoded.resized_from) == (mime, (115, 86), (400, 300))
    sent = base64.b64decode(encoded.removeprefix(f"data:{mime};base64,"), validate=True)
    with Image.open(io.BytesIO(sent)) as image:
        assert (image.size, image.mode) == ((115, 86), sent_mode)
    assert (encoded.sha256, encoded.bytes) == (hashlib.sha256(sent).hexdigest(), len(sent))
    assert str(encoded) == f"a (115x86 px, resized from 400x300 px, {len(sent):,} bytes, {mime})"


def test_a_resized_jpeg_has_quality_90_and_is_the_same_each_time() -> None:
    content = picture("JPEG", (400, 300), quality=100)
    encoded = encode(content, "a", max_pixels=10_000)
    with Image.open(io.BytesIO(content)) as image:
        wanted = io.BytesIO()
        image.resize((115, 86), Image.Resampling.LANCZOS).save(wanted, "JPEG", quality=90)
    assert encoded == f"data:image/jpeg;base64,{b64(wanted.getvalue())}" == encode(content, "b", max_pixels=10_000)


def test_pictures_within_the_limit_are_sent_as_they_are() -> None:
    for limit in (48, 1000, None):
        encoded = encode(PNG, "a", max_pixels=limit)
        assert encoded == f"data:image/png;base64,{b64(PNG)}"
        assert encoded.resized_from is None
    assert encode(PNG, "a", max_pixels=47).size == (7, 5)


def turned() -> bytes:
    """A picture of 40x20 pixels whose left half is red, and that a viewer turns to the right."""
    image = Image.new("RGB", (40, 20))
    image.paste((255, 0, 0), (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, "PNG", exif=exif)
    return buffer.getvalue()


def test_exif_orientation_is_applied_when_reencoding_and_never_otherwise() -> None:
    content = turned()
    assert encode(content, "a", max_pixels=800) == f"data:image/png;base64,{b64(content)}"
    encoded = encode(content, "a", max_pixels=200)
    assert (encoded.size, encoded.resized_from) == ((10, 20), (40, 20))
    with Image.open(io.BytesIO(base64.b64decode(encoded.partition(",")[2]))) as image:
        assert image.getpixel((5, 2)) == (255, 0, 0)  # what was left is above now
        assert image.getpixel((5, 17)) == (0, 0, 0)
        assert 0x0112 not in image.getexif()


def test_the_limit_applies_to_every_source() -> None:
    content = picture(size=(40, 30))
    cell = Cell(1, {"bytes": content, "path": "1.png"})
    for source in ("a", f"data:image/png;base64,{b64(content)}", b64(content), content, cell):
        assert loaded("image", source, Files(a=content), MediaCache(max_pixels=300)).resized_from == (40, 30)


def test_transparency_by_colour_is_kept() -> None:
    content = picture("PNG", (40, 40), "L", transparency=0)
    encoded = encode(content, "a", max_pixels=100)
    with Image.open(io.BytesIO(base64.b64decode(encoded.partition(",")[2]))) as image:
        assert image.mode == "RGBA"


@pytest.mark.parametrize("size", [(400, 300), (1, 10_000), (10_000, 1), (7, 7), (4000, 3), (65_000, 1)])
@pytest.mark.parametrize("limit", [1, 2, 10, 100, 9_999])
def test_fitting_sizes(size: tuple[int, int], limit: int) -> None:
    width, height = fitting_size(size, limit)
    assert min(width, height) >= 1
    assert width * height <= limit
    assert width <= max(1, size[0] * (limit / (size[0] * size[1])) ** 0.5) or height == 1  # no wider than the shape is
