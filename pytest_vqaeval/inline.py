"""Media that stand in a record themselves: data URLs and base64 without one."""

from __future__ import annotations

import base64
import re

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.sniff import sniff

_ALPHABET = re.compile(r"[A-Za-z0-9+/\s]+=*\s*")
_HEAD = 256  # characters that are looked at; no name of a file is that long without a dot


def is_data_url(text: str) -> bool:
    """Whether a text begins like a data URL."""
    return text[:5].lower() == "data:"


def is_base64(text: str) -> bool:
    """Whether a text is base64 of a medium and not the name of a file.

    Names may consist of the same characters (`media/noext`). So a short text must begin like an image, audio or video.
    """
    head = text[:_HEAD]
    if not _ALPHABET.fullmatch(head):
        return False
    return len(text) >= _HEAD or sniff(_decoded_start(head)) is not None


def decode_data_url(text: str) -> bytes:
    """The bytes of a data URL, whatever its type and parameters.

    Raises:
        DataError: it is broken, or not base64.
    """
    head, comma, data = text.partition(",")
    if not comma or head.rpartition(";")[2].strip().lower() != "base64":
        raise DataError("data URL is not base64: it must begin like data:image/png;base64,")
    return decode_base64(data, "data URL")


def decode_base64(text: str, name: str) -> bytes:
    """The bytes of base64; white space and missing padding do not matter.

    Raises:
        DataError: it is something else.
    """
    data = "".join(text.split()).rstrip("=")
    try:
        return base64.b64decode(data + "=" * (-len(data) % 4), validate=True)
    except ValueError:  # binascii.Error is one
        raise DataError(f"{name} is not valid base64") from None


def _decoded_start(text: str) -> bytes:
    data = "".join(text.split()).rstrip("=")
    return base64.b64decode(data[: len(data) // 4 * 4])
