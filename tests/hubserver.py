"""A server on the loopback interface that speaks the hubs' URL layouts, with faults on demand."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest

HUGGING_FACE = re.compile(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
MODELSCOPE = re.compile(r"/api/v1/datasets/([^/]+/[^/]+)/repo")


@dataclass(frozen=True)
class Seen:
    """A request: `host` is the Host header, `sent` the number of bytes of the body that were sent."""

    host: str
    path: str
    headers: Mapping[str, str]
    status: int
    sent: int


@dataclass
class HubServer:
    """Serves FOLDER/OWNER/NAME/PATH as file PATH of the dataset OWNER/NAME, in any revision, and files below /plain/.

    Attributes:
        folder: what is served.
        ranges: Range is understood.
        cdn: Hugging Face's addresses redirect to another host, and say size and sha256 in the redirect.
        status: answers to paths that end so, in the place of a file.
        location: a redirect of all addresses of files.
        cuts: after how many bytes of the body the next answers are cut.
        delay_s: seconds before the first byte.
        bytes_per_s: how fast bodies are sent, if it is not as fast as can be.
        needs_token: 401 without this bearer token.
        etag: of all files, in the place of their own.
        kind: the media type of all files.
        seen: the requests.
    """

    folder: Path
    ranges: bool = True
    cdn: bool = False
    status: dict[str, int] = field(default_factory=dict)
    location: str | None = None
    cuts: list[int] = field(default_factory=list)
    delay_s: float = 0.0
    bytes_per_s: float | None = None
    needs_token: str | None = None
    etag: str | None = None
    kind: str = "application/octet-stream"
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> HubServer:
        hub = self

        class Handler(_Handler):
            server_hub = hub

        self._server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def cdn_host(self) -> str:
        return f"localhost:{self._server.server_address[1]}"

    def bodies(self, name: str = "") -> list[Seen]:
        """The requests for a file that were answered with bytes of it."""
        return [seen for seen in self.seen if seen.sent and seen.path.endswith(name)]

    def point_here(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        """Both hubs are this server, and the network may be used."""
        monkeypatch.setenv("HF_ENDPOINT", self.url)
        monkeypatch.setenv("MODELSCOPE_DOMAIN", self.url)
        monkeypatch.setenv("VQA_CACHE", str(cache))
        for name in ("VQA_OFFLINE", "VQA_DATA", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MODELSCOPE_API_TOKEN"):
            monkeypatch.delenv(name, raising=False)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments: object) -> None:
        """A client that went away is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_hub: HubServer

    def log_message(self, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        hub = self.server_hub
        time.sleep(hub.delay_s)
        file, name, direct = self._file()
        status = next((status for ending, status in hub.status.items() if name.endswith(ending)), None)
        if hub.needs_token and direct and self.headers.get("authorization") != f"Bearer {hub.needs_token}":
            status = 401
        if status or file is None or not file.is_file():
            self._end(status or 404, {"content-length": "0"})
        elif hub.location and direct:
            self._end(302, {"location": hub.location, "content-length": "0"})
        elif hub.cdn and direct and HUGGING_FACE.match(self.path):
            linked = {"x-linked-size": str(file.stat().st_size)}
            if file.stat().st_size < 10**8:
                linked["x-linked-etag"] = f'"{hashlib.sha256(file.read_bytes()).hexdigest()}"'
            target = f"http://{hub.cdn_host}/cdn/{quote(str(file.relative_to(hub.folder)))}?signature=secret"
            self._end(302, {"location": target, "content-length": "0", **linked})
        else:
            self._send(file)

    def _file(self) -> tuple[Path | None, str, bool]:
        parts = urlsplit(self.path)
        if found := HUGGING_FACE.fullmatch(parts.path):
            name = f"{found[1]}/{unquote(found[3])}"
        elif found := MODELSCOPE.fullmatch(parts.path):
            query = parse_qs(parts.query)
            name = f"{found[1]}/{query['FilePath'][0]}" if "Revision" in query else ""
        elif parts.path.startswith(("/cdn/", "/plain/")):
            name = unquote(parts.path.split("/", 2)[2])
            return self.server_hub.folder / name, name, parts.path.startswith("/plain/")
        else:
            return None, parts.path, True
        return self.server_hub.folder / name, name, True

    def _send(self, file: Path) -> None:
        hub, size = self.server_hub, file.stat().st_size
        etag = f'"{hub.etag}"' if hub.etag else f'"{file.stat().st_mtime_ns:x}-{size:x}"'
        start, end, status = 0, size, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        if asked and hub.ranges and self.headers.get("if-range", etag) == etag:
            start, end, status = int(asked[1]), min(size, int(asked[2] or size - 1) + 1), 206
        if start >= size > 0:
            self._end(416, {"content-length": "0", "content-range": f"bytes */{size}"})
            return
        headers = {"content-length": str(end - start), "etag": etag, "content-type": hub.kind}
        if status == 206:
            headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
        cut = hub.cuts.pop(0) if hub.cuts else None
        stop = end if cut is None else min(end, start + cut)
        self._end(status, headers, start, stop, file)
        if stop < end:
            self.close_connection = True

    def _end(
        self, status: int, headers: Mapping[str, str], start: int = 0, stop: int = 0, file: Path | None = None
    ) -> None:
        host = self.headers.get("host", "")
        sent = {name.lower(): value for name, value in self.headers.items()}
        self.server_hub.seen.append(Seen(host, unquote(self.path), sent, status, stop - start))
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if file is None:
            return
        speed = self.server_hub.bytes_per_s
        piece = max(1, int(speed / 20)) if speed else 1 << 20
        with file.open("rb") as content:
            content.seek(start)
            while start < stop:
                chunk = content.read(min(piece, stop - start))
                try:
                    self.wfile.write(chunk)
                except OSError:
                    self.close_connection = True
                    return
                start += len(chunk)
                if speed:
                    time.sleep(len(chunk) / speed)
