"""Each medium is encoded once, whichever threads want it."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.media import MediaCache
from tests.mediafiles import JPEG, PNG, Cell, Files, b64, loaded, picture


def test_media_are_encoded_once() -> None:
    cache, files, loads = MediaCache(), Files(a=PNG, b=JPEG), []
    cell = Cell(3, {"bytes": PNG}, loads)
    long = b64(picture(size=(60, 60)))
    assert len(long) > 4096
    for source in ("a", "b", cell, PNG, {"bytes": JPEG}, long, f"data:image/png;base64,{b64(PNG)}"):
        assert loaded("image", source, files, cache) is loaded("image", source, files, cache)
    assert max(len(repr(key)) for key in cache._kept) < 1000  # a long text is not kept beside what it became
    assert files.reads == ["a", "b"]
    assert loads == [3]


def test_kinds_are_kept_apart() -> None:
    cache, files = MediaCache(), Files(a=PNG)
    loaded("image", "a", files, cache)
    with pytest.raises(DataError, match="a is no video"):
        loaded("video", "a", files, cache)


def test_readers_are_kept_apart() -> None:
    """Also where a new reader has the place in memory, and so the id, of one that is gone."""
    cache = MediaCache()
    for n in range(50):
        content = picture(size=(n + 1, 1))
        assert loaded("image", "a", Files(a=content), cache).size == (n + 1, 1)


def test_the_cache_is_bounded_and_the_oldest_go_first() -> None:
    files = Files(**{str(n): picture("BMP", (20, 20)) for n in range(5)})
    length = len(loaded("image", "0", files))
    files.reads.clear()
    cache = MediaCache(most_bytes=3 * length)
    for name in ("0", "1", "2", "0", "3"):  # 1 was not used for longest
        loaded("image", name, files, cache)
    files.reads.clear()
    for name in ("0", "2", "3", "1"):
        loaded("image", name, files, cache)
    assert files.reads == ["1"]
    small = MediaCache(most_bytes=1)
    assert loaded("image", "0", files, small) is loaded("image", "0", files, small)


def test_errors_and_urls_are_not_kept() -> None:
    cache, files = MediaCache(), Files()
    with pytest.raises(DataError):
        loaded("image", "a", files, cache)
    files["a"] = PNG
    assert loaded("image", "a", files, cache).size == (8, 6)
    loaded("image", "https://e.com/" + "x" * 5000, files, cache)
    assert len(cache._kept) == 1


class Slow(Files):
    """A reader that waits before it answers for `slow`."""

    def __init__(self, **files: bytes) -> None:
        super().__init__(**files)
        self.started, self.go = threading.Event(), threading.Event()

    def read(self, source: str, /) -> bytes:
        if source == "slow":
            self.started.set()
            assert self.go.wait(10)
        return super().read(source)


def attempt(files: Files, cache: MediaCache) -> Any:
    """The slow medium, or the error."""
    try:
        return loaded("image", "slow", files, cache)
    except DataError as error:
        return str(error)


def in_threads(count: int, files: Slow, cache: MediaCache) -> tuple[Sequence[threading.Thread], list[Any]]:
    """Threads that want the slow medium, and what they got."""
    got: list[Any] = []
    threads = [threading.Thread(target=lambda: got.append(attempt(files, cache))) for _ in range(count)]
    for thread in threads:
        thread.start()
    assert files.started.wait(10)
    return threads, got


def test_threads_that_want_the_same_wait_for_one_and_others_do_not() -> None:
    files, cache = Slow(slow=PNG, fast=JPEG), MediaCache()
    threads, got = in_threads(64, files, cache)
    assert loaded("image", "fast", files, cache).mime == "image/jpeg"  # while the slow one is not there
    files.go.set()
    for thread in threads:
        thread.join(10)
    assert files.reads == ["fast", "slow"]
    assert len(got) == 64
    assert len({id(encoded) for encoded in got}) == 1


def test_threads_that_wait_get_the_error_too() -> None:
    files, cache = Slow(), MediaCache()
    threads, got = in_threads(8, files, cache)
    files.go.set()
    for thread in threads:
        thread.join(10)
    assert got == ["file 'slow' is not there"] * 8
    files["slow"] = PNG
    assert loaded("image", "slow", files, cache)
