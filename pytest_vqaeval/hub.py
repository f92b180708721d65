"""Where a benchmark's data comes from: `--vqa-data`, the cache, or the hubs that publish it."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.names import file_names, is_pattern
from pytest_vqaeval.remote.lockfile import LockFile
from pytest_vqaeval.remote.progress import Progress, megabytes
from pytest_vqaeval.remote.source import PublishedFile
from pytest_vqaeval.spec import Spec
from pytest_vqaeval.zips import LocalBytes, ZipReader

if TYPE_CHECKING:
    from pytest_vqaeval.remote.connection import Connection
    from pytest_vqaeval.remote.ranges import RangeFile

SMALL_BYTES = 50 * 10**6  # smaller files are fetched whole
IN_PLACE = (".zip", ".parquet")  # formats of which a part can be read


def cache_folder() -> Path:
    """Folder of the data that was fetched: `VQA_CACHE`, else `pytest-vqaeval` under the user's cache folder."""
    if own := os.environ.get("VQA_CACHE"):
        return Path(own).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "pytest-vqaeval"


class Hub:
    """Finds the files of benchmarks and fetches what is published. Safe to use from several threads."""

    def __init__(
        self, data: Path | None = None, *, offline: bool = False, whole: bool = False, progress: Progress | None = None
    ) -> None:
        """Nothing is looked for yet.

        Args:
            data: the folder of `--vqa-data`, which holds one folder per benchmark.
            offline: the network is never used.
            whole: everything is fetched whole, and before it is needed.
            progress: tells of downloads.
        """
        self.data, self.offline, self.whole = data, offline, whole
        self.cache = cache_folder()
        self.lock = LockFile(self.cache / "lock.json")
        self.progress = progress or Progress(None)
        self._connected = False

    @cached_property
    def connection(self) -> Connection | None:
        """The connections of this process; None where the network must not be used."""
        if self.offline:
            return None
        from pytest_vqaeval.remote.connection import Connection

        self._connected = True
        return Connection()

    def open(self, spec: Spec) -> Data:
        """The files of a benchmark.

        Raises:
            DataError: they are nowhere; the message lists where they were looked for, and how to mend it.
        """
        if spec.data.package:
            return Data(self, spec, (_package_folder(spec, spec.data.package),))
        folder = spec.data.folder
        if folder is None:
            return Data(self, spec, (spec.path.parent,))
        if self.data and not self.data.is_dir():
            raise DataError(f"no data for {spec.name}: the folder {self.data} (--vqa-data) is not there")
        if self.data and self.data.name == folder and not (self.data / folder).is_dir():
            parent = self.data.parent
            raise DataError(f"no data for {spec.name}: --vqa-data is the folder that holds {folder}/: {parent}")
        places = [place / folder for place in (self.data, self.cache, spec.path.parent) if place]
        found = tuple(place for place in places if place.is_dir())
        if not found and not spec.data.files:
            looked = ", ".join(str(place) for place in places)
            raise DataError(
                f"no data for {spec.name}: looked for {looked}; --vqa-data names the folder that holds {folder}/"
            )
        return Data(self, spec, found or (self.cache / folder,))

    def close(self) -> None:
        """Close all connections."""
        if self._connected and self.connection:
            self.connection.close()


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
        return next((path for folder in self.folders if (path := folder / name).is_file()), None)

    def names(self, pattern: str) -> list[str]:
        """The files of a name or pattern: those of the user's own folder, else those that are published.

        Of what is published the cache may hold a part only, so it is not asked.
        """
        if not is_pattern(pattern):
            return [pattern]
        published = sorted(name for name in self._published if fnmatchcase(name, pattern))
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
            reader = ZipReader(opened, opened.path)
            if opened.is_new:
                source, members = opened.origin.source.title, reader.fingerprint()
                self._hub.lock.hold(self._title(name), source, size=opened.size, members_sha256=members)
            return reader

    def close(self) -> None:
        """Close what is read in place."""
        for opened in self._ranges.values():
            opened.close()

    def _open_ranges(self, file: PublishedFile) -> RangeFile | None:
        """None if the file is to be fetched whole: it is small, or the server gives no ranges."""
        from pytest_vqaeval.remote.ranges import open_ranges

        if file.size is not None and file.size <= SMALL_BYTES:
            return None
        opened = open_ranges(file, self._title(file.name), self._cached(file.name), self._hub.connection)
        if opened is None:
            self._hub.progress.say(f"the server gives no ranges of {self._title(file.name)}: it is fetched whole")
            return None
        if opened.size <= SMALL_BYTES:
            opened.discard()
            return None
        if opened.is_new:
            where = opened.origin.source.title
            self._hub.progress.say(f"{self._title(file.name)} ({megabytes(opened.size)}) is read in place from {where}")
        return opened

    def _download(self, file: PublishedFile) -> Path:
        from pytest_vqaeval.remote.download import Downloader

        if self._hub.connection is None:
            raise DataError(f"{self._title(file.name)} is not here, and nothing is fetched (offline)")
        downloader = Downloader(self._hub.connection, self._hub.progress, self._hub.lock)
        return downloader.fetch(file, self._title(file.name), self._cached(file.name))

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
                own = f"--vqa-data names a folder that holds {self._title(name)}"
                elsewhere = f"`python -m pytest_vqaeval data fetch {self._spec.name}` with a network"
                way = f"{elsewhere} puts it into {self._hub.cache}, {own}" if self._hub.offline else own
                self._failed[name] = DataError(f"no data for {self._spec.name}: {error}; {way}")
                raise self._failed[name] from None

    def _cached(self, name: str) -> Path:
        return self._hub.cache / str(self._spec.data.folder) / name

    def _title(self, name: str) -> str:
        return f"{self._spec.data.folder}/{name}"


def record_files(spec: Spec, data: Data) -> Iterator[tuple[str | None, Path | RangeFile]]:
    """The files of the benchmark's records, each with its subset (None: the record says it).

    Where neither the spec nor the record names a subset, each of several files is one.

    Raises:
        DataError: no file matches, or one can't be fetched.
    """
    found: list[tuple[str | None, str]] = []
    for subset, pattern in spec.records.files:
        names = data.names(pattern)
        if subset and not names:
            raise DataError(f"no file {pattern} in {data.folder}")
        found += [(subset, name) for name in names]
    if not found:
        raise DataError(f"no file {' or '.join(name for _, name in spec.records.files)} in {data.folder}")
    if len(found) > 1 and spec.sample.subset is None:
        own_names = file_names([Path(name) for _, name in found])
        found = [(subset or own, name) for (subset, name), own in zip(found, own_names, strict=True)]
    return ((subset, data.open_part(name)) for subset, name in found)


def _package_folder(spec: Spec, package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        install = f"pytest-vqaeval[{spec.data.extra}]" if spec.data.extra else package.replace("_", "-")
        raise DataError(f"no data for {spec.name}: the package {package} is not installed; pip install '{install}'")
    return Path(found.origin).parent / (spec.data.folder or ".")
