"""The parts of a message: a text, or a medium that is loaded when the message is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import is_cell
from pytest_vqaeval.media import Media
from pytest_vqaeval.question import Message, values_in

Part = dict[str, Any]

KINDS = ("image", "video", "audio")
FORMATS = {"audio": ("wav", "mp3"), "video": ("mp4", "mpeg", "mov", "avi")}
"""The formats that a record may declare; pictures are told from their bytes alone."""
DETAILS = ("auto", "low", "high")
_LONGEST_NAME = 200  # characters


def text_part(text: str) -> Part:
    """A text."""
    return {"type": "text", "text": text}


def media_part(kind: str, value: Any, place: str, *, format: Any = None, detail: Any = None) -> Part:
    """A medium.

    Args:
        kind: image, video or audio.
        value: a path, `archive!member`, URL, data URL or base64; bytes; a parquet cell; or a mapping with one of these
            under `bytes`, `path`, `url`, `data` or the kind (in this order), a video perhaps with `fps`.
        place: the field, for errors.
        format: the declared format of audio or video; a mapping may also hold it.
        detail: of a picture: auto, low or high; EvalScope always sends it, `auto` where the record says nothing.

    Raises:
        DataError: it is something else; names the field.
    """
    source = _source(kind, value, place)
    inner: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    if kind == "image":
        picture = Media(kind, source, place=place)
        return {"type": "image_url", "image_url": {"url": picture, "detail": _detail(detail, place)}}
    medium = Media(kind, source, _format(kind, format or inner.get("format"), place), place)
    if kind == "audio":
        return {"type": "input_audio", "input_audio": medium}
    part: Part = {"type": "video_url", "video_url": {"url": medium}}
    if inner.get("fps") is not None:
        part["fps"] = _fps(inner["fps"], place)
    return part


def media_name(messages: Sequence[Message]) -> str:
    """A short name of all media of the messages: equal media have equal names; empty if there are none.

    It is empty too where a medium is a parquet cell, which would have to be read.
    """
    sources = [medium.source for medium in values_in(messages, Media)]
    if not all(isinstance(source, str | bytes) for source in sources):
        return ""
    if len(sources) == 1 and isinstance(sources[0], str) and len(sources[0]) <= _LONGEST_NAME:
        return sources[0]
    texts = (source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source for source in sources)
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16] if sources else ""


def _source(kind: str, value: Any, place: str) -> Any:
    if isinstance(value, str | bytes) or is_cell(value):
        if value:
            return value
        raise DataError(f"field {place!r} is empty")
    if not isinstance(value, Mapping):
        raise DataError(f"field {place!r} is {value!r:.40}, not a path, a URL, base64 or a mapping with bytes or path")
    if isinstance(value.get("bytes"), bytes) and value["bytes"]:
        return value["bytes"]
    for key in ("path", "url", "data", kind):
        if isinstance(value.get(key), str) and value[key]:
            return value[key]
    has = ", ".join(map(str, value)) or "nothing"
    raise DataError(f"field {place!r} has none of bytes, path, url, data, {kind}; it has {has}")


def _detail(detail: Any, place: str) -> str:
    if detail is None:
        return DETAILS[0]
    if detail not in DETAILS:
        raise DataError(f"field {place!r}: detail is {detail!r}; there are {', '.join(DETAILS)}")
    return str(detail)


def _format(kind: str, format: Any, place: str) -> str | None:
    if not format:
        return None
    if format not in FORMATS[kind]:
        raise DataError(f"field {place!r}: format is {format!r}; {kind} may be {', '.join(FORMATS[kind])}")
    return str(format)


def _fps(fps: Any, place: str) -> float:
    if isinstance(fps, bool) or not isinstance(fps, int | float) or fps <= 0:
        raise DataError(f"field {place!r}: fps is {fps!r}, not a number above 0")
    return float(fps)
