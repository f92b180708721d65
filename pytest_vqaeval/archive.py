"""The media of a benchmark: files of its data folder and of media roots, and members of zips there, read in place."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_vqaeval.data import is_there
from pytest_vqaeval.errors import DataError
from pytest_vqaeval.zips import MAX_BYTES, LocalBytes, ZipReader

if TYPE_CHECKING:
    from pytest_vqaeval.data import Data


class Archive:
    """Reads the media of one benchmark; each zip is opened once per process. Safe to use from several threads."""

    def __init__(
        self,
        folder: Path,
        *,
        started_in: Path | None = None,
        roots: Sequence[Path] = (),
        data: Data | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            folder: the data folder; names are looked for here first,
            started_in: then in the folder pytest was started in,
            roots: then in the media roots.
            data: all data folders, and the files that are published, for names that are in none of these.
        """
        self.folder, self._data = folder, data
        self._roots = tuple(root.absolute() for root in roots)
        own = (folder, *(data.folders if data else ()), *((started_in,) if started_in else ()))
        self._folders = tuple(dict.fromkeys([*(place.absolute() for place in own), *self._roots]))
        self._zips: dict[str, ZipReader] = {}
        self._lock = threading.Lock()

    def read(self, source: str) -> bytes:
        """The bytes of a medium.

        Args:
            source: `folder/file.jpg`, or `file.zip!member`. An absolute path must lie in the data folder or a media
                root, or else end like the path of a file below a media root: `/data/LMUData/images/dog.jpg` is found
                as `images/dog.jpg` there.

        Raises:
            DataError: it is absent, damaged, too large, no regular file, or leads out of these folders.
        """
        name, member = _split_source(source)
        if member is not None:
            return self._zip(name).read(member)
        with self._open(name) as file:
            try:
                if os.fstat(file.fileno()).st_size > MAX_BYTES:
                    raise DataError(f"file {name!r:.200} is larger than {MAX_BYTES >> 20} MiB")
                return file.read()
            except OSError as error:
                raise DataError(f"file {name!r:.200} can't be read: {error.strerror}") from None

    def fingerprint(self, name: str) -> str:
        """Sha256, as 64 hex digits, over names, sizes and checksums in a zip's directory: no member is read.

        Raises:
            DataError: it is absent, or has no directory or a broken one.
        """
        known = self._data.directory_hash(name) if self._data and self._only_published(name) else None
        return known or self._zip(name).fingerprint()

    def close(self) -> None:
        """Close the zips."""
        with self._lock:
            for opened in self._zips.values():
                opened.close()
            self._zips.clear()

    def _zip(self, name: str) -> ZipReader:
        if opened := self._zips.get(name):
            return opened
        with self._lock:
            if name not in self._zips:
                self._zips[name] = self._open_zip(name)
            return self._zips[name]

    def _open_zip(self, name: str) -> ZipReader:
        if self._data and self._only_published(name):
            return self._data.open_zip(name)
        return _read_zip(self._open(name))

    def _only_published(self, name: str) -> bool:
        """The file is not on this machine, but a hub has it."""
        published = self._data.published if self._data else ()
        return name in published and not any(is_there(path) for path in self._places(name))

    def _open(self, name: str) -> FileIO:
        for path in self._places(name):
            try:
                return _open_regular(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise DataError(f"file {name!r:.200} can't be read: {error.strerror} (in {path.parent})") from None
        if self._data and name in self._data.published:
            return _open_regular(self._data.fetch(name))
        raise DataError(self._absent(name))

    def _places(self, name: str) -> Iterator[Path]:
        """Where a file may be, in the order of looking."""
        path = PurePosixPath(name)
        if ".." in path.parts or "\0" in name or not path.name:
            raise DataError(f"file {name!r:.200}: names must not be empty or hold '..' or NUL bytes")
        if not path.is_absolute():
            yield from (folder / path for folder in self._folders)
            return
        if any(path.is_relative_to(folder) for folder in (self.folder.absolute(), *self._roots)):
            yield Path(path)
        for start in range(1, len(path.parts)):  # the longest tail first
            yield from (root.joinpath(*path.parts[start:]) for root in self._roots)

    def _absent(self, name: str) -> str:
        if not name.startswith("/"):
            return f"file {name!r:.200} is not there (looked in {', '.join(map(str, self._folders))})"
        roots = ", ".join(map(str, self._roots)) or "a media root (--vqa-media-root names one)"
        return f"file {name!r:.200} is not in {self.folder}, and no end of its path is below {roots}"


def media_roots(roots: Sequence[Path]) -> tuple[Path, ...]:
    """The media roots of a run: those of its settings, then VLMEvalKit's, `LMUData` of the environment."""
    own = os.environ.get("LMUData")  # noqa: SIM112 - spelt so
    return tuple(dict.fromkeys([*roots, *([Path(own).expanduser()] if own else [])]))


def fingerprint(path: Path) -> str:
    """Sha256, as 64 hex digits, over names, sizes and checksums in a zip's directory: no member is read.

    Raises:
        DataError: it is absent, or has no directory or a broken one.
    """
    try:
        reader = _read_zip(_open_regular(path))
    except OSError as error:
        raise DataError(f"archive {path} can't be read: {error.strerror}") from None
    try:
        return reader.fingerprint()
    finally:
        reader.close()


def _split_source(source: str) -> tuple[str, str | None]:
    """`imgs.zip!a/b.jpg` -> the archive and its member; any other name is that of a file, even with a `!`."""
    name, bang, member = source.partition(".zip!")
    return (f"{name}.zip", member) if bang else (source, None)


def _read_zip(file: FileIO) -> ZipReader:
    try:
        return ZipReader(LocalBytes(file), Path(os.fsdecode(file.name)))
    except BaseException:
        file.close()
        raise


def _open_regular(path: Path) -> FileIO:
    """Open a file, never a pipe or device, which could block for ever."""
    file = open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(0, "it is no regular file")
