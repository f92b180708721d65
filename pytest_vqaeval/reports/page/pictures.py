"""The pictures of a page: each once, and so small that all of them together stay within a few megabytes."""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.errors import VqaError
from pytest_vqaeval.media import Encoded, Media, MediaCache
from pytest_vqaeval.pictures import thumbnail

MOST_PIXELS = 50_000_000
"""Of all pictures together. WebP of this quality takes 0.05 to 0.15 bytes a pixel, and base64 a third more."""
LARGEST_SIDE, SMALLEST_SIDE = 640, 72


class Pictures:
    """Collects the pictures that samples show; a picture that several show is stored once."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._asked: list[tuple[Media, Archive]] = []

    def number(self, media: Media, archive: Archive) -> int:
        """The place of a picture in `encoded()`."""
        key = (id(archive), media.identity)
        if key not in self._numbers:
            self._numbers[key] = len(self._asked)
            self._asked.append((media, archive))
        return self._numbers[key]

    def encoded(self) -> list[str | int | None]:
        """Base64 of WebP; the place of the same picture; or None for one that can't be read, or that is only a URL."""
        side = side_of(len(self._asked))
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # Pillow lets other threads run
            made = list(pool.map(lambda asked: _small(asked[0], asked[1], side), self._asked))
        first: dict[bytes, int] = {}
        stored: list[str | int | None] = []
        for number, content in enumerate(made):
            if content is None:
                stored.append(None)
                continue
            same = first.setdefault(hashlib.sha256(content).digest(), number)
            stored.append(base64.b64encode(content).decode("ascii") if same == number else same)
        return stored


def side_of(count: int) -> int:
    """The longest side in pixels that so many pictures may have."""
    fitting = math.isqrt(MOST_PIXELS // max(1, count))
    return max(SMALLEST_SIDE, min(LARGEST_SIDE, fitting))


def _small(media: Media, archive: Archive, side: int) -> bytes | None:
    try:
        (loaded,) = MediaCache(0).load([{"picture": media}], archive)
        picture = loaded["picture"]
        if not isinstance(picture, Encoded):
            return None
        return thumbnail(base64.b64decode(picture.partition(",")[2]), media.name, side)
    except VqaError:
        return None
