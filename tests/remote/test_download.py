"""Whole files: resumed, checked, fetched once; every failure in one line."""

import errno
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.remote import connection as connections
from pytest_vqaeval.remote import download as downloads
from pytest_vqaeval.remote.connection import Connection
from pytest_vqaeval.remote.download import Downloader
from pytest_vqaeval.remote.lockfile import LockFile
from pytest_vqaeval.remote.progress import Progress
from pytest_vqaeval.remote.source import PublishedFile, Source
from tests.hubserver import HubServer

CONTENT = bytes(range(256)) * 4000  # 1 MB
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HF = Source("hf://datasets/o/d@main/a b.bin")
MS = Source("modelscope://datasets/m/d/a.bin")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    for name in ("o/d/a b.bin", "m/d/a.bin"):
        file = tmp_path / "served" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(CONTENT)
    monkeypatch.setattr(downloads, "wait_before", lambda *arguments: None)
    with HubServer(tmp_path / "served") as server:
        server.point_here(monkeypatch, tmp_path / "cache")
        yield server


Fetch = Callable[..., Path]


@pytest.fixture
def fetch(hub: HubServer, tmp_path: Path) -> Iterator[Fetch]:
    """Fetch a file as a new process would."""
    opened = []

    def fetch(*sources: Source, **facts: object) -> Path:
        opened.append(Connection())
        shared = Downloader(opened[-1], Progress(None), LockFile(tmp_path / "cache" / "lock.json"))
        file = PublishedFile("a.bin", sources or (HF,), **facts)  # type: ignore[arg-type]
        return shared.fetch(file, "d/a.bin", tmp_path / "cache" / "d" / "a.bin")

    yield fetch
    for connection in opened:
        connection.close()


def lock_of(folder: Path) -> dict[str, object]:
    facts: dict[str, object] = json.loads((folder / "cache" / "lock.json").read_text())["d/a.bin"]
    return facts


@pytest.mark.parametrize("source", [HF, MS, "plain"])
@pytest.mark.parametrize("cdn", [False, True])
def test_a_file_is_fetched_and_written_down(
    hub: HubServer, fetch: Fetch, tmp_path: Path, source: Source | str, cdn: bool
) -> None:
    hub.cdn = cdn
    target = fetch(source if isinstance(source, Source) else Source(f"{hub.url}/plain/m/d/a.bin"))
    assert target.read_bytes() == CONTENT
    assert sorted(file.name for file in target.parent.iterdir()) == [".a.bin.lock", "a.bin"]
    assert target.stat().st_mode & 0o777 == 0o600
    assert (lock_of(tmp_path)["size"], lock_of(tmp_path)["sha256"]) == (len(CONTENT), SHA256)
    asked = len(hub.seen)
    assert fetch() == target
    assert len(hub.seen) == asked


def test_what_is_cut_is_gone_on_with(hub: HubServer, fetch: Fetch) -> None:
    hub.cuts = [1000, 0, 500_000]
    assert fetch().read_bytes() == CONTENT
    assert [seen.headers.get("range") for seen in hub.seen] == [None, "bytes=1000-", "bytes=1000-", "bytes=501000-"]
    assert sum(seen.sent for seen in hub.seen) == len(CONTENT)


def test_a_later_process_goes_on(hub: HubServer, fetch: Fetch) -> None:
    hub.cuts = [300_000] + [0] * 4
    with pytest.raises(DataError, match=r"d/a.bin can't be fetched: Hugging Face: the connection was cut|broke"):
        fetch()
    hub.seen.clear()
    assert fetch().read_bytes() == CONTENT
    assert [seen.headers["range"] for seen in hub.seen] == ["bytes=300000-"]


def test_a_file_that_changed_meanwhile_is_begun_anew(hub: HubServer, fetch: Fetch, tmp_path: Path) -> None:
    hub.cuts = [300_000] + [0] * 4
    with pytest.raises(DataError):
        fetch()
    changed = CONTENT[::-1]
    (tmp_path / "served/o/d/a b.bin").write_bytes(changed)
    assert fetch().read_bytes() == changed


def test_a_commit_needs_no_etag(hub: HubServer, fetch: Fetch) -> None:
    pinned = Source(f"hf://datasets/o/d@{'a' * 40}/a b.bin")
    hub.cuts, hub.etag = [300_000], "one"
    wait = downloads.wait_before
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(downloads, "wait_before", lambda *arguments: setattr(hub, "etag", "other") or wait(*arguments))
        assert fetch(pinned).read_bytes() == CONTENT
    assert [seen.sent for seen in hub.seen] == [300_000, len(CONTENT) - 300_000]


def test_a_server_without_ranges_or_etag_starts_again(hub: HubServer, fetch: Fetch) -> None:
    hub.ranges, hub.cuts = False, [1000]
    assert fetch().read_bytes() == CONTENT


def test_killed_after_the_last_byte(hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(downloads._Download, "_check", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            fetch()
    hub.seen.clear()
    assert fetch().read_bytes() == CONTENT
    assert not hub.seen


def test_mirrors_are_tried_in_order(hub: HubServer, fetch: Fetch, tmp_path: Path) -> None:
    hub.status = {"a b.bin": 404}
    assert fetch(HF, MS).read_bytes() == CONTENT
    assert [seen.status for seen in hub.seen] == [404, 200]
    assert lock_of(tmp_path)["source"] == "ModelScope"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "there is no such file, revision or dataset (HTTP 404)"),
        (
            403,
            "access refused (HTTP 403): if it is gated or private, get access at {url}/datasets/o/d and set HF_TOKEN",
        ),
        (503, "{host} answered HTTP 503"),
        (418, "{host} answered HTTP 418"),
    ],
)
def test_refusals_are_one_line(hub: HubServer, fetch: Fetch, status: int, said: str) -> None:
    hub.status = {"a b.bin": status}
    with pytest.raises(DataError) as raised:
        fetch()
    expected = said.format(url=hub.url, host=hub.url.removeprefix("http://"))
    assert str(raised.value) == f"d/a.bin can't be fetched: Hugging Face: {expected}"


def test_a_busy_server_is_asked_again(hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.status = {"a b.bin": 503}
    monkeypatch.setattr(downloads, "wait_before", lambda *arguments: hub.status.clear())
    assert fetch().read_bytes() == CONTENT
    assert [seen.status for seen in hub.seen] == [503, 200]


def test_waits_are_short_and_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(connections.time, "sleep", waits.append)
    for attempt, server_s in ((1, 0), (2, 0), (4, 0), (1, 7), (1, 3600), (20, 0)):
        connections.wait_before(attempt, connections.Interrupted("", server_s))
    assert waits == [0.5, 1, 4, 7, 30, 30]


def test_a_host_that_is_not_there_is_waited_for_once(
    hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    fetch(HF, MS).unlink()
    hub.status = {"a.bin": 404}
    with pytest.raises(DataError, match=r"127.0.0.1:9 can't be reached \(.*efused.*\); ModelScope: there is"):
        fetch(HF, MS)
    asked: list[object] = []
    connection = Connection()
    with monkeypatch.context() as patch:
        transport = connections.httpx.HTTPTransport
        patch.setattr(transport, "handle_request", lambda self, request: asked.append(request) or refuse())
        for _ in range(3):
            with pytest.raises(connections.SourceError, match=r"127.0.0.1:9 can't be reached") as raised:  # noqa: SIM117
                with connection.get(HF):
                    pass
            if isinstance(raised.value, connections.Unreachable):
                connection.give_up(HF, raised.value)
    connection.close()
    assert len(asked) == 1


def refuse() -> None:
    raise connections.httpx.ConnectTimeout("timed out")


def test_a_server_that_says_nothing_is_not_waited_for_again(
    hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections._TIMEOUT, "read", 0.5)
    asked: list[int] = []
    send = Connection._send
    monkeypatch.setattr(Connection, "_send", lambda self, *arguments: asked.append(1) or send(self, *arguments))
    hub.delay_s = 2
    with pytest.raises(DataError, match=r"Hugging Face: .* did not answer within 30 s$"):
        fetch(HF)
    assert len(asked) == 1
    hub.delay_s = 0.1  # a slow start
    assert fetch(HF, MS).read_bytes() == CONTENT


def test_wrong_bytes_are_thrown_away(hub: HubServer, fetch: Fetch, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"sha256 is {SHA256}, not {'0' * 64} as the spec says"):
        fetch(sha256="0" * 64)
    with pytest.raises(DataError, match=f"size is {len(CONTENT)}, not 5 as the spec says"):
        fetch(size=5)
    assert not (tmp_path / "cache/d/a.bin").exists()
    assert fetch(sha256=SHA256, size=len(CONTENT)).read_bytes() == CONTENT


def test_the_hubs_own_checksum_counts(hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.cdn = True
    broken = connections.Answer.chunks
    monkeypatch.setattr(connections.Answer, "chunks", lambda self: (chunk[::-1] for chunk in broken(self)))
    with pytest.raises(DataError, match=f"not {SHA256} as the hub itself says"):
        fetch()


def test_later_downloads_are_held_to_the_first(hub: HubServer, fetch: Fetch, tmp_path: Path) -> None:
    target = fetch()
    target.unlink()
    (tmp_path / "served/o/d/a b.bin").write_bytes(CONTENT[::-1])
    lock = tmp_path / "cache" / "lock.json"
    with pytest.raises(DataError, match=f"not {SHA256} as {lock} \\(take its entry out of there") as raised:
        fetch()
    assert "\n" not in str(raised.value)
    lock.unlink()
    assert fetch().read_bytes() == CONTENT[::-1]


def test_too_little_room_is_said_before(
    hub: HubServer, fetch: Fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(DataError) as raised:
        fetch(HF, MS)
    assert str(raised.value) == (f"d/a.bin can't be written to {tmp_path}/cache/d: 1.0 MB are needed, 0.0 kB are free")


def test_a_disk_that_fills_up_is_said(hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(downloads._Download, "_receive", full)
    with pytest.raises(DataError, match=r"d/a.bin can't be written to .*/cache/d: No space left on device$"):
        fetch()


def test_many_at_once_fetch_once(hub: HubServer, fetch: Fetch) -> None:
    hub.bytes_per_s = 4e6
    threads = [threading.Thread(target=fetch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [seen.status for seen in hub.seen] == [200]


def test_who_waited_for_a_failure_fails_alike(hub: HubServer, fetch: Fetch) -> None:
    """Eight workers without a network wait for the hubs once, not one after the other."""
    hub.status, hub.delay_s = {"a b.bin": 404}, 0.5
    said: list[str] = []

    def work() -> None:
        with pytest.raises(DataError) as raised:
            fetch()
        said.append(str(raised.value))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(said)) == 1
    assert len(said) == 8
    assert len(hub.seen) == 1
    hub.status = {}
    assert fetch().read_bytes() == CONTENT


def test_a_token_stays_with_its_host(hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.cdn, hub.needs_token = True, "hf_secret"
    with pytest.raises(DataError, match=r"HTTP 401.*set HF_TOKEN"):
        fetch()
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(DataError, match=r"your token \(HF_TOKEN\) has no access") as raised:
        fetch()
    assert "hf_wrong" not in str(raised.value)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.seen.clear()
    assert fetch().read_bytes() == CONTENT
    first, second = hub.seen
    assert first.headers["authorization"] == "Bearer hf_secret"
    assert second.host == hub.cdn_host
    assert "authorization" not in second.headers


@pytest.mark.parametrize("token", ["hf_top\nsecret", "hf_top\x01secret", "hf_top secret", "hf_tópsecret"])
def test_a_token_that_is_none_is_not_shown(
    hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(DataError, match="HF_TOKEN has a space or another character that no token has") as raised:
        fetch()
    assert "secret" not in str(raised.value)
    assert not hub.seen


def test_a_token_is_for_its_hub_only(hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(MS)
    assert not [seen for seen in hub.seen if "authorization" in seen.headers]


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://h/a", "gopher://h/a", "data:text/plain,x"])
def test_redirects_to_other_schemes_are_not_followed(hub: HubServer, fetch: Fetch, location: str) -> None:
    hub.location = location
    with pytest.raises(DataError, match=r"it redirects from http to \w+, which is not followed"):
        fetch()


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
def test_a_page_is_no_file(hub: HubServer, fetch: Fetch, kind: str) -> None:
    hub.kind = kind
    with pytest.raises(DataError, match=r"it answered with a message in the place of the file"):
        fetch()


@pytest.mark.parametrize("location", ["http://h:99999/a", "http://[::1/a"])
def test_redirects_to_no_address(hub: HubServer, fetch: Fetch, location: str) -> None:
    hub.location = location
    with pytest.raises(DataError, match="it redirects to what is no address"):
        fetch()


def test_redirects_in_a_circle_end(hub: HubServer, fetch: Fetch) -> None:
    hub.location = f"{hub.url}/datasets/o/d/resolve/main/a%20b.bin"
    with pytest.raises(DataError, match="it redirects without end"):
        fetch()


def test_never_from_https_to_http() -> None:
    with pytest.raises(DataError, match="it redirects from https to http"):
        connections._target("https://a/b", "http://a/b")
    assert connections._target("https://a/b/c", "/d") == "https://a/d"


def test_no_log_has_a_token_or_a_signed_address(
    hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub.cdn = True
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    caplog.set_level("INFO")
    fetch()
    assert len(hub.seen) == 2
    assert "secret" not in caplog.text


def test_a_proxy_of_the_environment_is_used(hub: HubServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv("http_proxy", hub.url)
    monkeypatch.setenv("no_proxy", "")
    assert fetch().read_bytes() == CONTENT
    assert [seen.path for seen in hub.seen] == ["http://hub.invalid/datasets/o/d/resolve/main/a b.bin"]
