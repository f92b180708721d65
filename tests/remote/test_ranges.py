"""Files read in place: few requests, few bytes, each once, and every failure in one line."""

import errno
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.parquet import Cell, read_parquet
from pytest_vqaeval.remote import ranges
from pytest_vqaeval.remote.connection import Connection
from pytest_vqaeval.remote.ranges import RangeFile, open_ranges
from pytest_vqaeval.remote.source import PublishedFile, Source
from pytest_vqaeval.zips import ZipReader
from tests.hubserver import HubServer
from tests.perf import remote_zip

CONTENT = Random(1).randbytes(400_000)
FILE = PublishedFile("a.bin", (Source("hf://datasets/o/d/a.bin"),))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    folder = tmp_path / "served/o/d"
    folder.mkdir(parents=True)
    folder.joinpath("a.bin").write_bytes(CONTENT)
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(ranges, "wait_before", lambda *arguments: None)
    with HubServer(tmp_path / "served") as server:
        server.point_here(monkeypatch, tmp_path / "cache")
        yield server


Open = Callable[..., RangeFile]


@pytest.fixture
def opened(hub: HubServer, tmp_path: Path) -> Iterator[Open]:
    """Open a file as a new process would."""
    closing: list[Connection | RangeFile] = []

    def opened(name: str = "a.bin", *, offline: bool = False) -> RangeFile:
        connection = None if offline else Connection()
        file = PublishedFile(name, (Source(f"hf://datasets/o/d/{name}"),))
        found = open_ranges(file, f"d/{name}", tmp_path / "cache" / name, connection)
        assert found
        closing.extend([found, *([connection] if connection else [])])
        return found

    yield opened
    for one in closing:
        one.close()


def asked_ranges(hub: HubServer) -> list[str]:
    return [seen.headers["range"].removeprefix("bytes=") for seen in hub.seen if seen.sent]


@pytest.mark.parametrize("cdn", [False, True])
def test_each_range_crosses_the_network_once(hub: HubServer, opened: Open, cdn: bool) -> None:
    hub.cdn = cdn
    file = opened()
    for start, count in ((1000, 500), (1000, 500), (1100, 100), (399_000, 1000), (1400, 100), (0, 0)):
        assert file.read_at(start, count) == CONTENT[start : start + count]
    assert asked_ranges(hub) == ["0-0", "1000-1499", "399000-399999"]
    assert opened().read_at(1000, 500) == CONTENT[1000:1500]
    assert opened(offline=True).read_at(1200, 300) == CONTENT[1200:1500]
    assert len(asked_ranges(hub)) == 3
    assert len([seen for seen in hub.seen if seen.status == 302]) == cdn  # the redirect is asked for once
    with pytest.raises(ValueError, match="it ends too early"):
        file.read_at(399_999, 2)


def test_what_another_process_read_is_seen(hub: HubServer, opened: Open) -> None:
    one, other = opened(), opened()
    one.read_at(5000, 100)
    assert other.read_at(5010, 50) == CONTENT[5010:5060]
    assert asked_ranges(hub) == ["0-0", "5000-5099"]


def test_a_killed_process_leaves_nothing_wrong(hub: HubServer, opened: Open, tmp_path: Path) -> None:
    opened().read_at(5000, 100)
    with (tmp_path / "cache/a.bin.pieces.index").open("a") as index:
        index.write("70")  # torn: the next line is added to it
    file = opened()
    assert file.read_at(9000, 10) == CONTENT[9000:9010]
    assert file.read_at(8000, 10) == CONTENT[8000:8010]
    assert opened().read_at(9000, 10) == CONTENT[9000:9010]
    assert opened().read_at(7000, 20) == CONTENT[7000:7020]


def test_requests_that_wait_and_are_neighbours_become_one(
    hub: HubServer, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened()
    hub.delay_s = 0.8
    wanted = [(n * 1000, 990) for n in range(40)]
    found: dict[int, bytes] = {}

    def read(start: int, count: int) -> None:
        found[start] = file.read_at(start, count)

    threads = [threading.Thread(target=read, args=want) for want in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[start] == CONTENT[start : start + count] for start, count in wanted)
    assert len(hub.seen) <= 1 + ranges.CONNECTIONS + 4
    assert sum(seen.sent for seen in hub.seen) < (1.01 + ranges.MOST_WASTE) * 40 * 990


def test_neighbours_with_much_between_them_stay_apart() -> None:
    wants = [ranges._Want(n * 3000, n * 3000 + 1000) for n in range(5)]
    assert ranges._batch(wants[2], wants) == [wants[2]]
    close = [ranges._Want(n * 1010, n * 1010 + 1000) for n in range(5)]
    assert sorted(want.start for want in ranges._batch(close[2], close)) == [0, 1010, 2020, 3030, 4040]
    huge = [ranges._Want(n * ranges.MOST_BYTES, (n + 1) * ranges.MOST_BYTES) for n in range(3)]
    assert ranges._batch(huge[1], huge) == [huge[1]]


def test_cut_connections_are_gone_on_with(hub: HubServer, opened: Open) -> None:
    file = opened()
    hub.cuts = [700, 0, 300]
    assert file.read_at(10_000, 5000) == CONTENT[10_000:15_000]
    assert asked_ranges(hub)[1:] == ["10000-14999", "10700-14999", "11000-14999"]


def test_a_failure_is_one_line_and_nobody_waits_again(
    hub: HubServer, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened()
    hub.status = {"a.bin": 503}
    host = hub.url.removeprefix("http://")
    for _ in range(3):
        with pytest.raises(DataError) as raised:
            file.read_at(0, 10)
        assert str(raised.value) == f"d/a.bin can't be read from Hugging Face: {host} answered HTTP 503"
    assert len([seen for seen in hub.seen if seen.status == 503]) == ranges.TRIES
    monkeypatch.setattr(ranges, "QUIET_S", 0)
    hub.status = {}
    file._failed = None
    assert file.read_at(0, 10) == CONTENT[:10]


def test_an_expired_address_is_asked_for_again(hub: HubServer, opened: Open) -> None:
    hub.cdn = True
    file = opened()
    for connection in [file._connection]:
        assert connection
        for source in connection._resolved:
            connection._resolved[source] = f"http://{hub.cdn_host}/cdn/gone"
    assert file.read_at(10, 10) == CONTENT[10:20]


def test_a_file_that_changed_is_not_mixed(hub: HubServer, opened: Open, tmp_path: Path) -> None:
    opened().read_at(0, 10)
    (tmp_path / "served/o/d/a.bin").write_bytes(CONTENT[::-1])
    with pytest.raises(DataError, match=r"the file has changed there since .*; remove .*/a.bin.pieces\* to begin"):
        opened().read_at(50, 10)


def test_a_commit_can_not_change(hub: HubServer, tmp_path: Path) -> None:
    pinned = PublishedFile("a.bin", (Source(f"hf://datasets/o/d@{'a' * 40}/a.bin"),))
    connection = Connection()
    file = open_ranges(pinned, "d/a.bin", tmp_path / "cache/a.bin", connection)
    hub.etag = "of another mirror"
    assert file
    assert file.read_at(50, 10) == CONTENT[50:60]
    file.close()
    connection.close()


def test_no_ranges(hub: HubServer, tmp_path: Path) -> None:
    hub.ranges = False
    connection = Connection()
    assert open_ranges(FILE, "d/a.bin", tmp_path / "cache/a.bin", connection) is None
    connection.close()
    assert sum(seen.sent for seen in hub.seen if seen.status == 206) == 0


def test_offline_and_never_begun(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"d/a.bin is not here, and nothing is fetched"):
        open_ranges(FILE, "d/a.bin", tmp_path / "a.bin", None)


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_takes_one_request_a_member(hub: HubServer, opened: Open, tmp_path: Path, kind: int) -> None:
    names = [f"p/{n:03}.jpg" for n in range(200)]
    random = Random(2)
    with zipfile.ZipFile(tmp_path / "served/o/d/a.zip", "w", kind) as archive:
        for name in names:
            archive.writestr(name, random.randbytes(3000))
    reader = ZipReader(opened("a.zip"), Path("a.zip"))
    before = len(hub.seen)
    wanted = names[:100:9]
    with zipfile.ZipFile(tmp_path / "served/o/d/a.zip") as archive:
        assert [reader.read(name) for name in wanted] == [archive.read(name) for name in wanted]
    assert before <= 3  # size, end, directory
    assert len(hub.seen) - before == len(wanted)
    assert sum(seen.sent for seen in hub.seen[before:]) < 1.1 * 3000 * len(wanted)


def test_row_groups_of_parquet(hub: HubServer, opened: Open, tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    random = Random(3)
    pictures = [random.randbytes(20_000) for _ in range(60)]
    columns = {"question": [f"q{n}" for n in range(60)], "answer": ["a"] * 60, "image": pictures}
    parquet.write_table(pa.table(columns), tmp_path / "served/o/d/a.parquet", row_group_size=10, compression="none")
    file = opened("a.parquet")
    rows = [row for _, row, _ in read_parquet(file)]
    assert [row["question"] for row in rows] == columns["question"]
    assert sum(seen.sent for seen in hub.seen) < 100_000  # of 1.2 MB
    assert len(hub.seen) < 12  # size, footer, six row groups
    cell = rows[35]["image"]
    assert isinstance(cell, Cell)
    asked = len(hub.seen)
    assert cell.load() == pictures[35]
    assert rows[34]["image"].load() == pictures[34]
    assert len(hub.seen) == asked + 1
    hub.status = {"a.parquet": 404}
    with pytest.raises(DataError, match=r"d/a.parquet can't be read from Hugging Face: there is no such file"):
        rows[5]["image"].load()


def test_a_large_zip_on_a_hub(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The targets of the perf script, on a smaller archive: it asserts them."""
    remote_zip.measure(tmp_path, members=3000, gigabytes=0.1, pictures=30)
    assert "first picture" in capsys.readouterr().out


def test_offline_from_a_cache_that_is_read_only(hub: HubServer, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    opened().read_at(1000, 500)
    really = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise OSError(errno.EROFS, "Read-only file system")
        return really(path, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    file = opened(offline=True)
    with file.alone():
        assert file.read_at(1000, 500) == CONTENT[1000:1500]
    with pytest.raises(DataError, match=r"a.bin.pieces can't be opened: Read-only file system"):
        opened()
