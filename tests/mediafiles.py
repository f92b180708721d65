"""Media for tests, made in place, and what becomes of them."""

import base64
import io
import wave
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from PIL import Image

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.errors import DataError
from pytest_vqaeval.media import Media, MediaCache


def picture(format: str = "PNG", size: tuple[int, int] = (8, 6), mode: str = "RGB", **more: Any) -> bytes:
    """A picture of noise, the same each time; in modes other than RGB and L it is black."""
    image = Image.new(mode, size)
    if mode in ("RGB", "L"):
        image.frombytes(Random(5).randbytes(len(mode) * size[0] * size[1]))
    buffer = io.BytesIO()
    image.save(buffer, format, **more)
    return buffer.getvalue()


def sound() -> bytes:
    """A wav file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(160))
    return buffer.getvalue()


PNG, JPEG, WAV = picture(), picture("JPEG"), sound()
MP3 = b"ID3\3" + bytes(40)
MP4 = b"\0\0\0\x18ftypmp42" + bytes(40)


def b64(content: bytes) -> str:
    """As base64."""
    return base64.b64encode(content).decode()


class Files(dict[str, bytes]):
    """Media by name, and what was read of them."""

    def __init__(self, **files: bytes) -> None:
        super().__init__(files)
        self.reads: list[str] = []

    def read(self, source: str, /) -> bytes:
        self.reads.append(source)
        if source not in self:
            raise DataError(f"file {source!r:.200} is not there")
        return self[source]


@dataclass(frozen=True)
class Cell:
    """A cell of a parquet file."""

    row: int
    value: Any
    loads: list[int] | None = None

    def __hash__(self) -> int:
        return self.row

    def load(self) -> Any:
        if self.loads is not None:
            self.loads.append(self.row)
        return self.value


def loaded(kind: str, source: Any, files: Files | Archive | None = None, cache: MediaCache | None = None) -> Any:
    """What a medium becomes in a message."""
    messages = [{"role": "user", "content": [{"type": "x", "x": Media(kind, source)}, {"type": "text", "text": "q"}]}]
    (message,) = (cache or MediaCache()).load(messages, Files() if files is None else files)
    assert message["content"][1] == {"type": "text", "text": "q"}
    return message["content"][0]["x"]


def problem(kind: str, source: Any, files: Files | None = None) -> str:
    """The error of a medium: one line without base64."""
    with pytest.raises(DataError) as caught:
        loaded(kind, source, files)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 400
    return said
