"""The files of one benchmark: on this machine in some folders, or published."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.names import is_pattern
from pytest_vqaeval.remote.progress import megabytes
from pytest_vqaeval.remote.source import PublishedFile
from pytest_vqaeval.spec import Spec
from pytest_vqaeval.zips import LocalBytes, ZipReader

if TYPE_CHECKING:
    from pytest_vqaeval.hub import Hub
    from pytest_vqaeval.remote.ranges import RangeFile

SMALL_BYTES = 50 * 10**6  # smaller files are fetched whole
IN_PLACE = (".zip", ".parquet")  # formats of which a part can be read
_FACTS = ("size", "sha256", "members_sha256", "footer_sha256")


class Data:
    """The files of one benchmark: on this machine in some folders, or published."""

    def __init__(self, hub: Hub, spec: Spec, folders: tuple[Path, ...]) -> None:
        self.folders = folders
        self._hub, self._spec, self._published = hub, spec, spec.data.files
        self._ranges: dict[str, RangeFile] = {}
        self._failed: dict[str, DataError] = {}  # nobody tries in vain for each of 2,000 samples
        self._lock = threading.RLock()

    @property
    def folder(self) -> Path:
        """The first of the folders."""
        return self.folders[0]

    @property
    def published(self) -> Mapping[str, PublishedFile]:
        """The files that can be fetched, by name."""
        return self._published

    def find(self, name: str) -> Path | None:
        """A file of this machine."""
        return next((path for folder in self.folders if is_there(path := folder / name)), None)

    def names(self, pattern: str) -> list[str]:
        """The files of a name or pattern: those of the user's own folder, else those that are published.

        Of what is published the cache may hold a part only, so it is not asked.
        """
        if not is_pattern(pattern):
            return [pattern]
        patterns = (pattern, pattern.replace("**/", ""))  # `**/` stands for no folder too
        published = sorted(name for name in self._published if any(fnmatchcase(name, one) for one in patterns))
        for folder in self.folders:
            files = [] if published and folder.is_relative_to(self._hub.cache) else sorted(folder.glob(pattern))
            if files:
                return [file.relative_to(folder).as_posix() for file in files]
        return published

    def fetch(self, name: str) -> Path:
        """A file of this machine, fetched if need be; a name that nobody knows is one in the first folder.

        Raises:
            DataError: it can't be fetched.
        """
        if found := self.find(name):
            return found
        if name not in self._published:
            return self.folder / name
        with self._once(name):
            return self._download(self._published[name])

    def fetch_all(self) -> None:
        """Fetch all that is published and not here.

        Raises:
            DataError: a file can't be fetched.
        """
        for name in self._published:
            self.fetch(name)

    def open_part(self, name: str) -> Path | RangeFile:
        """A large file of a format that can be read in place is left on the server; others are those of `fetch`.

        Raises:
            DataError: it can't be read.
        """
        file = self._published.get(name)
        if file is None or self._hub.whole or not name.endswith(IN_PLACE) or self.find(name):
            return self.fetch(name)
        with self._once(name):
            if name not in self._ranges:
                opened = self._open_ranges(file)
                if opened is None:
                    return self._download(file)
                if opened.is_new and name.endswith(".parquet"):
                    self._hold(opened, name, footer_sha256=footer_hash(opened))
                self._ranges[name] = opened
            return self._ranges[name]

    def open_zip(self, name: str) -> ZipReader:
        """A published zip.

        Raises:
            DataError: it can't be read, or is not the one that was read first.
        """
        with self._once(name):
            opened = self.open_part(name)
            if isinstance(opened, Path):
                return ZipReader(LocalBytes(opened.open("rb")), opened)
            with opened.alone():
                reader = ZipReader(opened, opened.path)
            if opened.is_new:
                self._hold(opened, name, members_sha256=reader.fingerprint())
            return reader

    def directory_hash(self, name: str) -> str | None:
        """The hash of the directory of a zip that was read in place before; nothing is asked for it."""
        known = self._hub.lock.facts(self.title(name)).get("members_sha256")
        return str(known) if known else None

    def bytes_in_place(self, name: str) -> int:
        """How much is here of a file that is read in place."""
        try:
            return (self._cached(name).with_name(f"{Path(name).name}.pieces")).stat().st_blocks * 512
        except OSError:
            return 0

    def facts(self, name: str, directory_of: Callable[[str], str]) -> dict[str, int | str]:
        """What a run's header says of a file: size, and sha256 of it, of a zip's directory or a parquet file's footer.

        Large files are not read for it: what is known since they were fetched counts.

        Args:
            name: the file.
            directory_of: the hash of a zip's directory; raises DataError.
        """
        published, path = self._published.get(name), self.find(name)
        fetched = published is not None and (path is None or path.is_relative_to(self._hub.cache))
        known = dict(self._hub.lock.facts(self.title(name))) if fetched else {}
        if path:
            with suppress(OSError):  # whoever reads it says so
                known["size"] = path.stat().st_size
        if name.endswith(".zip"):
            known.pop("sha256", None)  # the directory says as much, wherever the zip came from
            with suppress(DataError):
                known["members_sha256"] = directory_of(name)
        elif path and known.get("size", SMALL_BYTES) < SMALL_BYTES:
            with suppress(OSError):
                known["sha256"] = sha256_of(path)
        return {fact: known[fact] for fact in _FACTS if fact in known}

    def close(self) -> None:
        """Close what is read in place."""
        for opened in self._ranges.values():
            opened.close()

    def _hold(self, opened: RangeFile, name: str, **facts: str) -> None:
        """A file that is read in place is the one that was read first."""
        self._hub.lock.hold(self.title(name), opened.origin.source.title, size=opened.size, **facts)

    def _open_ranges(self, file: PublishedFile) -> RangeFile | None:
        """None if the file is to be fetched whole: it is small, or the server gives no ranges."""
        from pytest_vqaeval.remote.ranges import open_ranges

        if file.size is not None and file.size <= SMALL_BYTES:
            return None
        opened = open_ranges(file, self.title(file.name), self._cached(file.name), self._hub.connection)
        if opened is None:
            self._hub.progress.say(f"the server gives no ranges of {self.title(file.name)}: it is fetched whole")
            return None
        if opened.size <= SMALL_BYTES:
            opened.discard()
            return None
        if opened.is_new:
            where = opened.origin.source.title
            self._hub.progress.say(f"{self.title(file.name)} ({megabytes(opened.size)}) is read in place from {where}")
        return opened

    def _download(self, file: PublishedFile) -> Path:
        from pytest_vqaeval.remote.download import Downloader
        from pytest_vqaeval.remote.ranges import remove_pieces

        if self._hub.connection is None:
            raise DataError(f"{self.title(file.name)} is not here, and nothing is fetched (offline)")
        downloader = Downloader(self._hub.connection, self._hub.progress, self._hub.lock)
        fetched = downloader.fetch(file, self.title(file.name), self._cached(file.name))
        remove_pieces(fetched)
        return fetched

    @contextmanager
    def _once(self, name: str) -> Iterator[None]:
        """One thread at a time; a file that failed fails again at once. Its error says the other ways to get it."""
        with self._lock:
            if name in self._failed:
                raise self._failed[name]
            try:
                yield
            except DataError as error:
                if error is self._failed.get(name):
                    raise
                own = f"--vqa-data names a folder that holds {self.title(name)}"
                elsewhere = f"`python -m pytest_vqaeval data fetch {self._spec.name}` with a network"
                way = f"{elsewhere} puts it into {self._hub.cache}, {own}" if self._hub.offline else own
                self._failed[name] = DataError(f"no data for {self._spec.name}: {error}; {way}")
                raise self._failed[name] from None

    def _cached(self, name: str) -> Path:
        return self._hub.cache / str(self._spec.data.folder) / name

    def title(self, name: str) -> str:
        """What a file is called in messages and in the lock file: `slake/test.json`."""
        return f"{self._spec.data.folder}/{name}"


def footer_hash(file: RangeFile) -> str:
    """Sha256, as 64 hex digits, over a parquet file's footer: where each column of each row group is, and its size.

    Raises:
        DataError: it has none.
    """
    try:
        length = int.from_bytes(file.read_at(file.size - 8, 4), "little")
        return hashlib.sha256(file.read_at(file.size - 8 - length, length + 8)).hexdigest()
    except (ValueError, OverflowError, OSError):
        raise DataError(f"{file.name} is no parquet file") from None


def is_there(path: Path) -> bool:
    """It is a file, or can't be looked at: that is for its reader to say, and no reason to fetch another."""
    try:
        return path.is_file()
    except OSError:
        return True


def sha256_of(path: Path) -> str:
    """Of a file, as 64 hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
