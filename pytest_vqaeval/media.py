"""Media of a question: from a name in a record to the data URL that is sent, each encoded once while it fits."""

from __future__ import annotations

import base64
import hashlib
import io
import threading
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.question import Message

CACHE_BYTES = 64 * 2**20  # of encoded media; SLAKE's 180 pictures take 21 MB


@dataclass(frozen=True, slots=True)
class Media:
    """A medium named by a record, not loaded yet. `kind` is image; `source` is a file or `archive!member`."""

    kind: str
    source: str


class Encoded(str):
    """A medium as a data URL (`data:image/jpeg;base64,…`): ASCII without quotes or backslashes.

    Attributes:
        sha256: hex digest of the medium's own bytes; it stands for the medium in the key of a request.
        source: where it came from.
        mime: its media type, told from the bytes.
        size: width and height in pixels, or None.
        bytes: number of the medium's own bytes.
    """

    sha256: str
    source: str
    mime: str
    size: tuple[int, int] | None
    bytes: int

    def __new__(
        cls,
        url: str,
        sha256: str,
        source: str = "",
        mime: str = "",
        size: tuple[int, int] | None = None,
        bytes: int = 0,
    ) -> Encoded:
        """A text with facts about the medium."""
        encoded = super().__new__(cls, url)
        encoded.sha256, encoded.source, encoded.mime, encoded.size, encoded.bytes = sha256, source, mime, size, bytes
        return encoded

    def __str__(self) -> str:
        """For people: what it is, not 80 kB of base64."""
        pixels = f"{self.size[0]}x{self.size[1]} px, " if self.size else ""
        return f"{self.source} ({pixels}{self.bytes:,} bytes, {self.mime})"


class Reader(Protocol):
    """Where media come from: the `vqa_archive` fixture."""

    def read(self, source: str, /) -> bytes:
        """The bytes of a medium; raises DataError."""


class MediaCache:
    """Encodes media and keeps the last ones, up to a number of bytes. Safe to use from several threads."""

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._most, self._held = most_bytes, 0
        self._kept: OrderedDict[tuple[int, str], Encoded] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, messages: Sequence[Message], reader: Reader) -> list[Message]:
        """The messages with every medium encoded.

        Raises:
            DataError: a medium that is absent or that is not what it should be.
        """
        return [self._filled(message, reader) for message in messages]

    def _filled(self, value: Any, reader: Reader) -> Any:
        if isinstance(value, Media):
            return self._encoded(value, reader)
        if isinstance(value, dict):
            return {key: self._filled(inner, reader) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner, reader) for inner in value]
        return value

    def _encoded(self, media: Media, reader: Reader) -> Encoded:
        key = (id(reader), media.source)
        with self._lock:  # held while encoding: the same picture is wanted by many samples at once
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            encoded = encode(reader.read(media.source), media.source)
            self._kept[key] = encoded
            self._held += len(encoded)
            while self._held > self._most and len(self._kept) > 1:
                self._held -= len(self._kept.popitem(last=False)[1])
            return encoded


def encode(content: bytes, source: str) -> Encoded:
    """A picture as a data URL; its media type is that of the bytes, not of the name.

    Raises:
        DataError: it is no picture, or does not decode.
    """
    mime, size = inspect_image(content, source)
    url = f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"
    return Encoded(url, hashlib.sha256(content).hexdigest(), source, mime, size, len(content))


def inspect_image(content: bytes, source: str) -> tuple[str, tuple[int, int]]:
    """Media type and size in pixels of a picture that decodes.

    A JPEG that ends with its end marker is taken to be complete: decoding every picture would cost more than asking.

    Raises:
        DataError: it is no picture, or does not decode.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content)) as image:
                mime = image.get_format_mimetype() or f"image/{str(image.format).lower()}"
                size = image.size
                if mime != "image/jpeg" or not content.rstrip(b"\0").endswith(b"\xff\xd9"):
                    image.draft(None, (1, 1))  # the least work that still reads all of a JPEG
                    image.load()
                return mime, size
    except UnidentifiedImageError:
        raise DataError(f"{source} is no picture that can be read ({len(content):,} bytes)") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise DataError(f"{source} has too many pixels") from None
    except Exception as error:
        # Pillow's decoders raise whatever a broken file makes them raise
        raise DataError(f"{source} does not decode: {error or type(error).__name__}") from None


def loaded_media(messages: Sequence[Message]) -> list[Encoded]:
    """All media of loaded messages, in order."""
    found: list[Encoded] = []
    stack: list[Any] = [list(messages)]
    while stack:
        value = stack.pop()
        if isinstance(value, Encoded):
            found.append(value)
        elif isinstance(value, dict):
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return found
