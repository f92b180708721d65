"""The pictures of a benchmark: files of its data folder, and members of zips in it, read in place by exact name."""

from __future__ import annotations

import threading
import zipfile
import zlib
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from pytest_vqaeval.errors import DataError

MAX_BYTES = 256 * 2**20  # of one medium: a record or a zip bomb must not fill the memory


class Archive:
    """Reads the media of one benchmark; each zip is opened once per process. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._zips: dict[str, zipfile.ZipFile] = {}
        self._lock = threading.Lock()

    def read(self, source: str) -> bytes:
        """The bytes of a medium.

        Args:
            source: `folder/file.jpg`, or `file.zip!member`, relative to the data folder.

        Raises:
            DataError: it is not there, damaged, too large, or leads out of the folder.
        """
        name, bang, member = source.partition("!")
        path = self._path(name)
        if bang:
            return self._member(name, path, member)
        try:
            if path.stat().st_size > MAX_BYTES:
                raise DataError(f"{name} is larger than {MAX_BYTES >> 20} MiB")
            return path.read_bytes()
        except OSError as error:
            raise DataError(f"picture {name!r} can't be read: {error.strerror} (in {self.folder})") from None
        except ValueError:  # a NUL byte
            raise DataError(f"picture {name!r} is no file name") from None

    def close(self) -> None:
        """Close the zips."""
        for opened in self._zips.values():
            opened.close()
        self._zips.clear()

    def _path(self, name: str) -> Path:
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or not name:
            raise DataError(f"picture {name!r} leads out of the data folder")
        return self.folder / pure

    def _zip(self, name: str, path: Path) -> zipfile.ZipFile:
        with self._lock:
            if name not in self._zips:
                try:
                    self._zips[name] = zipfile.ZipFile(path)
                except FileNotFoundError:
                    raise DataError(f"archive {name} is not in {self.folder}") from None
                except (OSError, zipfile.BadZipFile) as error:
                    raise DataError(f"archive {path} can't be opened: {error} (cut short? fetch it again)") from None
            return self._zips[name]

    def _member(self, name: str, path: Path, member: str) -> bytes:
        archive = self._zip(name, path)
        try:
            info = archive.getinfo(member)
        except KeyError:
            close = get_close_matches(member, archive.namelist(), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise DataError(f"{name} has no member {member!r}{hint}") from None
        if info.file_size > MAX_BYTES:
            raise DataError(f"{name}!{member} is larger than {MAX_BYTES >> 20} MiB")
        try:
            return archive.read(info)
        except (OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
            raise DataError(f"{name}!{member} is damaged: {error}") from None
