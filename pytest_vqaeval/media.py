"""Media of a question: from what a record names to what is sent, each encoded once while it fits into the cache."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeGuard

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.inline import decode_base64, decode_data_url, is_base64, is_data_url
from pytest_vqaeval.pictures import inspect_image, shrink_image
from pytest_vqaeval.question import Message
from pytest_vqaeval.sniff import AUDIO, VIDEO, sniff
from pytest_vqaeval.turns import TURNS
from pytest_vqaeval.zips import MAX_BYTES

__all__ = ["Encoded", "Media", "MediaCache", "Reader", "encode", "inspect_image"]

CACHE_BYTES = 64 * 2**20  # of encoded media; SLAKE's 180 pictures take 21 MB
MAX_SHOWN = 200  # characters of a name
LONG_NAME = 4096  # characters; longer texts are base64, and are known by their hash


@dataclass(frozen=True, slots=True)
class Media:
    """A medium named by a record, not loaded yet.

    Attributes:
        kind: image, audio or video.
        source: a path, `archive.zip!member`, http(s) URL, data URL or raw base64; bytes, the medium itself; a mapping
            with one of these under `bytes`, `path`, `url`, `data` or the kind; or a cell whose `load()` gives one.
        format: the declared format of audio or video. What is sent is that of the bytes.
        place: the field that names it, for errors.
    """

    kind: str
    source: Any
    format: str | None = None
    place: str = field(default="", compare=False)

    @property
    def is_url(self) -> bool:
        """It is sent as a URL, and not looked at."""
        return _is_url(_inner(self.source, self.kind))

    @property
    def name(self) -> str:
        """The source for people: a path or URL, else what it is, never base64."""
        source = self.source.get("path") if isinstance(self.source, Mapping) else self.source
        source = source or _inner(self.source, self.kind)
        if not isinstance(source, str):
            return f"embedded {self.kind}"
        if is_data_url(source):
            return "data URL"
        if is_base64(source):
            return "base64 text"
        start = source[:MAX_SHOWN]
        return start if start.isprintable() else repr(start)

    @property
    def identity(self) -> Hashable:
        """What it is known by: its name, or a hash of its content."""
        return _identity(_inner(self.source, self.kind))


class Encoded(str):
    """A medium as it is sent: `data:image/jpeg;base64,…`, audio as bare base64. ASCII without quotes or backslashes.

    Attributes:
        sha256: hex digest of the medium's own bytes; it stands for the medium in the key of a request.
        source: where it came from.
        mime: its media type, told from the bytes.
        size: width and height in pixels, or None.
        bytes: number of the medium's own bytes.
        resized_from: width and height before it was made smaller, if it was; the rest describes what is sent.
    """

    sha256: str
    source: str
    mime: str
    size: tuple[int, int] | None
    bytes: int
    resized_from: tuple[int, int] | None

    def __new__(
        cls,
        url: str,
        sha256: str,
        source: str = "",
        mime: str = "",
        size: tuple[int, int] | None = None,
        bytes: int = 0,
        resized_from: tuple[int, int] | None = None,
    ) -> Encoded:
        """A text with facts about the medium."""
        encoded = super().__new__(cls, url)
        encoded.sha256, encoded.source, encoded.mime, encoded.size, encoded.bytes = sha256, source, mime, size, bytes
        encoded.resized_from = resized_from
        return encoded

    def __str__(self) -> str:
        """For people: what it is, not 80 kB of base64."""
        pixels = f"{self.size[0]}x{self.size[1]} px, " if self.size else ""
        resized = "resized from {}x{} px, ".format(*self.resized_from) if self.resized_from else ""
        return f"{self.source} ({pixels}{resized}{self.bytes:,} bytes, {self.mime})"


class Reader(Protocol):
    """Where media come from: the `vqa_archive` fixture."""

    def read(self, source: str, /) -> bytes:
        """The bytes of a medium; raises DataError."""


class MediaCache:
    """Encodes media and keeps the last ones, up to a number of bytes. Safe to use from several threads.

    Threads that want the same medium at once wait for the first of them; other media are not held up.
    """

    def __init__(self, most_bytes: int = CACHE_BYTES, *, max_pixels: int | None = None) -> None:
        """An empty cache.

        Args:
            most_bytes: of encoded media that are kept.
            max_pixels: pictures with more are made smaller, wherever they come from (but URLs are sent as they are).
        """
        self._most, self._held, self._max_pixels = most_bytes, 0, max_pixels
        # With its reader: as long as it is kept alive here, no other reader has its id.
        self._kept: OrderedDict[Hashable, tuple[Reader, str]] = OrderedDict()
        self._pending: dict[Hashable, Future[str]] = {}
        self._lock = threading.Lock()  # of these; never held while encoding

    def load(self, messages: Sequence[Message], reader: Reader) -> list[Message]:
        """The messages with every medium encoded.

        Raises:
            DataError: a medium that is absent or that is not what it should be; names the field.
        """
        return [self._filled(message, reader) for message in messages]

    def _filled(self, value: Any, reader: Reader) -> Any:
        if type(value) is str:  # first, as nearly all are
            return value
        if isinstance(value, Media):
            try:
                return self._loaded(value, reader)
            except DataError as error:  # not in `_read`: another field may name the same medium
                raise DataError(f"field {value.place!r}: {error}" if value.place else str(error)) from None
        if isinstance(value, dict):
            return {key: self._filled(inner, reader) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner, reader) for inner in value]
        return value

    def _loaded(self, media: Media, reader: Reader) -> Any:
        """A URL; a data URL; or base64 and format of audio."""
        if _is_url(source := _inner(media.source, media.kind)):
            return _remote(source, media)
        encoded = self._once(media, reader)
        if media.kind == "audio" and isinstance(encoded, Encoded):
            return {"data": encoded, "format": AUDIO[encoded.mime]}
        return encoded

    def _once(self, media: Media, reader: Reader) -> str:
        key = (id(reader), media.kind, media.identity)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
            others = self._pending.get(key)
            own = self._pending.setdefault(key, Future())
        if others is not None:
            with TURNS.away():
                return others.result()
        try:
            with TURNS.away(computing=True):
                encoded = _read(media, reader, self._max_pixels)
            self._keep(key, reader, encoded)
            own.set_result(encoded)
            return encoded
        except BaseException as error:
            own.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._pending[key]

    def _keep(self, key: Hashable, reader: Reader, encoded: str) -> None:
        with self._lock:
            self._kept[key] = reader, encoded
            self._held += len(encoded)
            while self._held > self._most and len(self._kept) > 1:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._held -= len(dropped)


def encode(content: bytes, source: str, kind: str = "image", max_pixels: int | None = None) -> Encoded:
    """A medium as it is sent; its media type is that of the bytes, not of the name.

    Args:
        content: the medium.
        source: its name, for people.
        kind: image, audio or video: what it must be.
        max_pixels: a picture with more is made smaller.

    Raises:
        DataError: it is nothing of its kind that can be sent, does not decode, or is too large.
    """
    if len(content) > MAX_BYTES:
        raise DataError(f"{source} is larger than {MAX_BYTES >> 20} MiB")
    size = resized_from = None
    if kind == "image":
        mime, size = inspect_image(content, source)
        if max_pixels and size[0] * size[1] > max_pixels:
            resized_from = size
            content, mime, size = shrink_image(content, source, max_pixels)
    else:
        mime = _checked_type(content, source, kind)
    data = base64.b64encode(content).decode("ascii")
    text = data if kind == "audio" else f"data:{mime};base64,{data}"
    return Encoded(text, hashlib.sha256(content).hexdigest(), source, mime, size, len(content), resized_from)


def _checked_type(content: bytes, source: str, kind: str) -> str:
    known = AUDIO if kind == "audio" else VIDEO
    mime = sniff(content)
    if mime in known:
        return mime
    found = f"{mime}, " if mime else ""
    allowed = ", ".join(known.values())
    raise DataError(f"{source} is no {kind} that can be sent ({found}{len(content):,} bytes): {allowed} can")


def _read(media: Media, reader: Reader, max_pixels: int | None) -> str:
    """A medium encoded; or a URL, if that is what a cell holds."""
    if callable(load := getattr(media.source, "load", None)):
        return _read(replace(media, source=load()), reader, max_pixels)
    source = _inner(media.source, media.kind)
    if _is_url(source):
        return _remote(source, media)
    if isinstance(source, bytes):
        content = source
    elif not isinstance(source, str):
        raise DataError(f"{media.kind} is {type(source).__name__}, not a path, a URL, base64 or bytes")
    elif is_data_url(source):
        content = decode_data_url(source)
    elif is_base64(source):
        content = decode_base64(source, media.name)
    else:
        content = reader.read(source)
    return encode(content, media.name, media.kind, max_pixels)


def _inner(source: Any, kind: str) -> Any:
    """What a mapping holds, in EvalScope's order; None if it holds nothing of use."""
    if not isinstance(source, Mapping):
        return source
    content = source.get("bytes")
    if isinstance(content, bytes) and content:
        return content
    texts = (source.get(key) for key in ("path", "url", "data", kind))
    return next((text for text in texts if isinstance(text, str) and text), None)


def _is_url(source: Any) -> TypeGuard[str]:
    return isinstance(source, str) and source[:8].lower().startswith(("http://", "https://"))


def _remote(url: str, media: Media) -> str:
    if media.kind == "audio":
        raise DataError(f"{media.name}: audio can't be sent as a URL; give a file or base64")
    return url


def _identity(source: Any) -> Hashable:
    """What a medium is known by: a name itself, content by its hash."""
    content = source.encode("utf-8", "surrogatepass") if isinstance(source, str) and len(source) > LONG_NAME else source
    return type(source), hashlib.sha256(content).digest() if isinstance(content, bytes) else content
