"""Pictures: whether they decode, their media type and size, and a smaller copy. Pillow is imported when needed."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.sniff import sniff

if TYPE_CHECKING:
    from PIL import Image
    from PIL.ImageFile import ImageFile

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "JPEG2000")
"""What Pillow may take a picture for. It knows more, but some have no signature, and EPS would run Ghostscript."""
JPEG_QUALITY = 90
THUMBNAIL_QUALITY = 72


def inspect_image(content: bytes, source: str) -> tuple[str, tuple[int, int]]:
    """Media type and size in pixels of a picture that decodes.

    A JPEG that ends with its end marker is taken to be complete: decoding every picture would cost more than asking.

    Raises:
        DataError: it is no picture, does not decode, or has more pixels than Pillow's limit.
    """
    with _opened(content, source) as image:
        mime, size = _mime(image), image.size
        if mime != "image/jpeg" or not content.rstrip(b"\0").endswith(b"\xff\xd9"):
            image.draft(None, (1, 1))  # the least work that still reads all of a JPEG
            image.load()
    return mime, size


def shrink_image(content: bytes, source: str, max_pixels: int) -> tuple[bytes, str, tuple[int, int]]:
    """A copy of at most `max_pixels` pixels, upright as its EXIF orientation says: JPEG of a JPEG, else PNG.

    Returns:
        The copy, its media type, and its size in pixels.

    Raises:
        DataError: it is no picture or does not decode.
    """
    from PIL import Image, ImageOps

    with _opened(content, source) as image:
        is_jpeg = _mime(image) == "image/jpeg"
        upright = ImageOps.exif_transpose(image)
        plain = upright if is_jpeg else upright.convert(_png_mode(upright))
        small = plain.resize(fitting_size(upright.size, max_pixels), Image.Resampling.LANCZOS)
        profile = upright.info.get("icc_profile") if small.mode == image.mode else None
        saved = io.BytesIO()
        if is_jpeg:
            small.save(saved, "JPEG", quality=JPEG_QUALITY, icc_profile=profile)
        else:
            small.save(saved, "PNG", icc_profile=profile)
    return saved.getvalue(), "image/jpeg" if is_jpeg else "image/png", small.size


def thumbnail(content: bytes, source: str, side: int) -> bytes:
    """A copy for looking at, upright, as WebP; no side is longer than `side` pixels.

    Raises:
        DataError: it is no picture or does not decode.
    """
    from PIL import ImageOps

    with _opened(content, source) as image:
        image.draft("RGB", (side, side))  # a JPEG need not be decoded in full
        upright = ImageOps.exif_transpose(image)
        plain = _eight_bits(upright).convert("RGBA" if image.has_transparency_data else "RGB")
        plain.thumbnail((side, side))
        saved = io.BytesIO()
        plain.save(saved, "WEBP", quality=THUMBNAIL_QUALITY, method=2)
    return saved.getvalue()


def _eight_bits(image: Image.Image) -> Image.Image:
    """Deeper greys, which Pillow would cut off at 255, spread from black to white."""
    if image.mode not in ("I", "I;16", "I;16B", "I;16L", "F"):
        return image
    deep = image.convert("F")
    low, high = cast("tuple[float, float]", deep.getextrema())
    scale = 255 / (high - low) if high > low else 0.0
    return deep.point(lambda value: value * scale - low * scale).convert("L")


def fitting_size(size: tuple[int, int], max_pixels: int) -> tuple[int, int]:
    """Width and height of the same shape with at most `max_pixels` pixels, each at least 1."""
    factor = math.sqrt(max_pixels / (size[0] * size[1]))
    width = min(max(1, int(size[0] * factor)), max_pixels)
    return width, max(1, min(int(size[1] * factor), max_pixels // width))


@contextmanager
def _opened(content: bytes, source: str) -> Iterator[ImageFile]:
    """The picture; whatever goes wrong with it is a DataError.

    Pillow only warns of up to twice its limit of pixels. The warning is not made an error with `catch_warnings`, which
    is not thread-safe.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            if Image.MAX_IMAGE_PIXELS and image.width * image.height > Image.MAX_IMAGE_PIXELS:
                raise Image.DecompressionBombError
            yield image
    except UnidentifiedImageError:
        kind = f"{mime}, " if (mime := sniff(content)) else ""
        raise DataError(f"{source} is no picture that can be read ({kind}{len(content):,} bytes)") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise DataError(f"{source} has too many pixels") from None
    except Exception as error:
        # Pillow's decoders raise whatever a broken file makes them raise
        said = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{source} does not decode: {said}") from None


def _mime(image: ImageFile) -> str:
    """Cameras' MPO is a JPEG with further pictures behind it, which readers of JPEG skip."""
    return "image/jpeg" if image.format == "MPO" else image.get_format_mimetype() or f"image/{image.format}".lower()


def _png_mode(image: Image.Image) -> str:
    """The mode of a PNG that loses nothing: 16 bits of grey stay; palettes, whose numbers can't be averaged, do not."""
    if image.has_transparency_data:
        return "RGBA"
    return {"1": "L", "L": "L", "I;16": "I;16", "I;16B": "I", "I": "I"}.get(image.mode, "RGB")
