"""The run folder: what a run was, what it selected, every reply and every result, written as they arrive."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_vqaeval.appendfile import AppendFile, json_line, read_rows
from pytest_vqaeval.errors import StoreError, UsageError
from pytest_vqaeval.names import folder_name
from pytest_vqaeval.results import Identity, Result
from pytest_vqaeval.summary import About, Summary, summarize

SCHEMA = 1
_HEADER, _SELECTED, _SAMPLES = "run.json", "selected.jsonl", "samples.jsonl"


def new_run(out: Path, models: Iterable[str]) -> RunFolder:
    """Make the folder of a new run, `runs/<time>-<model>`.

    Raises:
        UsageError: it can't be made.
    """
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{folder_name('+'.join(models))}"
    try:
        (out / "runs").mkdir(parents=True, exist_ok=True)
        for number in range(1, 1000):  # two runs may start in the same second
            path = out / "runs" / (stem if number == 1 else f"{stem}-{number}")
            try:
                path.mkdir(mode=0o700)
                break
            except FileExistsError:
                continue
        ignore = out / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")  # replies may be confidential: they get into a repository on purpose only
    except OSError as error:
        raise UsageError(f"--vqa-out: {out} can't be written: {error.strerror}") from None
    return RunFolder(path)


def is_run(path: Path) -> bool:
    """There is a run in this folder."""
    return (path / _HEADER).is_file()


def find_run(out: Path, name: str) -> RunFolder:
    """The folder of a run: `latest`, its name below `runs/`, or a path.

    Raises:
        UsageError: there is none; the message lists the newest.
    """
    for path in (out / name, out / "runs" / name, Path(name)):
        if is_run(path):
            return RunFolder(path.resolve())
    newest = sorted(path.name for path in (out / "runs").glob("*"))[-5:]
    known = f"; there are {', '.join(newest)}" if newest else f"; there are no runs in {out}"
    raise UsageError(f"there is no run {name!r}{known}")


@dataclass(frozen=True)
class Selection:
    """What a run selected: the benchmarks, and a row in the state `not_run` for each sample."""

    abouts: list[About]
    rows: list[Result]


@dataclass(frozen=True)
class StoredRun:
    """A run folder, read.

    Attributes:
        header: what `run.json` says: settings, and at the end of a finished run its totals.
        results: one row per selected sample; those without a result are `not_run`.
    """

    path: Path
    header: Mapping[str, Any]
    abouts: Sequence[About]
    results: Sequence[Result]

    @property
    def started_in(self) -> Path:
        """The folder that pytest was started in; what the run names is relative to it."""
        return Path(os.path.normpath(self.path / str(self.header.get("started_in") or ".")))

    def summary(self) -> Summary:
        """The run's numbers, from its results."""
        return summarize(self.abouts, self.results)


def read_run(path: Path) -> StoredRun:
    """Read a run folder, finished or not.

    Raises:
        UsageError: it is none, one of a later version, or was tampered with.
    """
    try:
        header = json.loads((path / _HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(f"{path} is no run folder: it has no readable {_HEADER}") from None
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise UsageError(f"{path / _HEADER} was written by another version of pytest-vqaeval")
    selection = RunFolder(path).read_selection()
    try:
        results = {result.identity: result for result in map(Result.from_json, read_rows(path / _SAMPLES))}
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path / _SAMPLES}: a row is no result of a sample: {error}") from None
    if selection.rows:  # what an earlier session selected, and the one that resumed it did not, is not of the run
        selected = {row.identity for row in selection.rows}
        results = {identity: result for identity, result in results.items() if identity in selected}
    return StoredRun(path, header, selection.abouts, final_results(selection, results))


def write_whole(file: Path, text: str) -> None:
    """Write a private text file, whole or not at all.

    Raises:
        StoreError: it can't be written.
    """
    write_private(file, text.encode("utf-8", "backslashreplace"))


def write_private(file: Path, content: bytes) -> None:
    """Write a private file, whole or not at all; straight into a device or a pipe, never in its place.

    Raises:
        StoreError: it can't be written.
    """
    if file.parent == Path("/dev") or (file.exists() and not file.is_file() and not file.is_dir()):
        try:
            file.write_bytes(content)
        except OSError as error:
            raise StoreError(f"{file} can't be written: {error.strerror}") from None
        return
    fresh = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(content)
        fresh.replace(file)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise StoreError(f"{file} can't be written: {error.strerror}") from None


class RunFolder:
    """The files of one run. All are private to the user (mode 0600)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._samples = AppendFile(path / _SAMPLES)
        self._claim: int | None = None

    def claim(self) -> None:
        """Keep other sessions out until `close`, or until this process is dead, however it dies.

        Raises:
            UsageError: another session writes into the folder.
        """
        with contextlib.suppress(OSError):  # a file system without locks: two sessions still tear no line
            self._claim = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(self._claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"another session is writing the run {self.path.name}; wait for its end") from None

    def write_header(self, header: Mapping[str, Any]) -> None:
        """Write `run.json`, whole or not at all.

        Raises:
            StoreError: it can't be written.
        """
        self._replace(_HEADER, json.dumps({"schema": SCHEMA, **header}, ensure_ascii=False, indent=1) + "\n")

    @property
    def has_selection(self) -> bool:
        """`selected.jsonl` is there: of another worker, or of the run that is resumed."""
        return (self.path / _SELECTED).exists()

    def make_if_apart(self) -> bool:
        """Make the folder where it is not there: in a worker on another machine. Whether that was so.

        What can't be made is said when something is written.
        """
        if (self.path / _HEADER).exists():
            return False
        with contextlib.suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return True

    def selection_text(self) -> str:
        """`selected.jsonl` as it is; empty where it is not there."""
        return (self.path / _SELECTED).read_text(encoding="utf-8") if self.has_selection else ""

    def take_selection(self, text: str) -> None:
        """Write the `selected.jsonl` of a worker on another machine, unless there is one.

        Raises:
            StoreError: it can't be written.
        """
        if text and not self.has_selection:
            self._replace(_SELECTED, text)
            self.publish()

    def write_selection(self, selection: Selection) -> None:
        """Write `selected.jsonl`, whole or not at all; all workers of a run select the same.

        Raises:
            StoreError: it can't be written.
        """
        lines = [json_line({"about": asdict(about)}) for about in selection.abouts]
        lines += [json_line(row.to_json()) for row in selection.rows]
        self._replace(_SELECTED, "".join(lines))

    def read_selection(self, results: Mapping[Identity, Result] | None = None) -> Selection:
        """What the run selected; empty where no process got as far as that.

        Args:
            results: stand for their own rows, which then take no memory.
        """
        selection, results = Selection([], []), results or {}
        for row in read_rows(self.path / _SELECTED):
            if "about" in row:
                selection.abouts.append(About.from_json(row["about"]))
            else:
                selected = Result.from_json(row)
                selection.rows.append(results.get(selected.identity, selected))
        return selection

    def count_selected(self) -> int:
        """How many samples the run selected; cheaper than to read them."""
        try:
            with open(self.path / _SELECTED, "rb") as stream:
                return sum(not line.startswith(b'{"about"') for line in stream)
        except FileNotFoundError:
            return 0

    def add_result(self, result: Result) -> None:
        """Append to `samples.jsonl`. A later row of the same identity counts, an earlier does not.

        Raises:
            StoreError: it can't be written.
        """
        self._samples.append(result.to_json())

    def publish(self) -> None:
        """Point the link `latest`, beside the folder of all runs, at this run.

        Raises:
            StoreError: it can't be written.
        """
        link = self.path.parent.parent / "latest"
        fresh = link.with_name(f".latest-{os.getpid()}")
        try:
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(Path("runs") / self.path.name, target_is_directory=True)
            fresh.replace(link)
        except OSError as error:
            raise StoreError(f"{link} can't be written: {error.strerror}") from None

    def discard(self) -> None:
        """Remove the folder of a run that has nothing but its header; any other stays as it is."""
        if {file.name for file in self.path.iterdir()} <= {_HEADER}:
            (self.path / _HEADER).unlink(missing_ok=True)
            self.path.rmdir()

    def close(self) -> None:
        """Close the files, and let other sessions in."""
        self._samples.close()
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def _replace(self, name: str, text: str) -> None:
        write_whole(self.path / name, text)


def final_results(selection: Selection, results: Mapping[Identity, Result]) -> list[Result]:
    """One row per selected sample: its result, or the state `not_run`; then results that nobody selected."""
    selected = {row.identity: row for row in selection.rows}
    rows = [results.get(identity, row) for identity, row in selected.items()]
    return rows + [result for identity, result in results.items() if identity not in selected]
