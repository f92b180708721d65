"""HTTP to the hubs: redirects by hand, so that a token stays with its host, and every failure in one line.

It speaks through httpx's transport, below its Client, which would keep cookies and log signed addresses.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.models.endpoint import proxy_of
from pytest_vqaeval.remote.source import Source

CONNECTIONS = 4  # to a server at a time
CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0  # of silence
TRIES = 5  # without any progress between them
LONGEST_WAIT_S = 30.0
MOST_REDIRECTS = 8


class SourceError(DataError):
    """A source does not give the file; another may."""


class Interrupted(SourceError):
    """It may give it at the next try: a broken connection, a busy server."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class Unreachable(Interrupted):
    """There is no connection at all, or no answer."""


@dataclass(frozen=True)
class Answer:
    """A response whose body is still to be read.

    Attributes:
        start: the position of its first byte in the file.
        size: of the whole file, in bytes; None where the server does not say.
        etag: what tells this state of the file from others; None where the server gives none that is strong.
        sha256: of the whole file, where the hub says it.
        ranges: the server gave the range that was asked for.
    """

    response: httpx.Response
    start: int
    size: int | None
    etag: str | None
    sha256: str | None
    ranges: bool

    def chunks(self) -> Iterator[bytes]:
        """The body.

        Raises:
            Interrupted: it breaks off.
        """
        try:
            yield from self.response.iter_raw()
        except httpx.HTTPError as error:
            raise Interrupted(f"the connection broke ({_said(error)})") from None


class Connection:
    """A small pool of connections. Safe to use from several threads."""

    def __init__(self) -> None:
        self._transports: dict[str | None, httpx.HTTPTransport] = {}  # by proxy
        self._lock = threading.Lock()  # of these
        self._headers = {
            "user-agent": f"pytest-vqaeval/{version('pytest-vqaeval')}",
            "accept": "*/*",
            "accept-encoding": "identity",  # sizes and ranges are those of the file
        }
        self._resolved: dict[Source, str] = {}  # where a source redirected to
        self._unreachable: dict[str, str] = {}  # hosts that were given up, and why

    @contextmanager
    def get(self, source: Source, headers: Mapping[str, str] | None = None) -> Iterator[Answer]:
        """Ask for a file or a range of it; redirects are followed.

        Raises:
            SourceError: the source does not have it, or is not reached.
        """
        response, facts = self._follow(source, dict(headers or {}))
        try:
            if _is_message(response, source):
                raise SourceError("it answered with a message in the place of the file")
            yield self._answer(response, facts)
        finally:
            response.close()

    def close(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            transport.close()

    def _follow(self, source: Source, headers: dict[str, str]) -> tuple[httpx.Response, dict[str, str]]:
        try:
            home, token = source.url, source.token
        except ValueError as error:
            raise SourceError(str(error)) from None
        url = self._resolved.get(source, home)
        facts: dict[str, str] = {}
        shortcut = url != home
        for _ in range(MOST_REDIRECTS):
            own = {"authorization": f"Bearer {token}"} if token and _origin(url) == _origin(home) else {}
            response = self._send(url, headers | own)
            facts |= {name: response.headers[name] for name in _LINKED if name in response.headers}
            if response.is_redirect:
                response.close()
                url = _target(url, response.headers["location"])
                continue
            if shortcut and response.status_code in (400, 401, 403, 404, 410):  # a signed address that has expired
                response.close()
                url, shortcut = home, False
                continue
            if response.is_success:
                self._resolved[source] = url
                return response, facts
            response.close()
            raise _refused(response, source, url)
        raise SourceError("it redirects without end")

    def _send(self, url: str, headers: dict[str, str]) -> httpx.Response:
        host = _origin(url)
        if host in self._unreachable:
            raise SourceError(self._unreachable[host])
        try:
            request = httpx.Request("GET", url, headers=self._headers | headers, extensions={"timeout": _TIMEOUT})
            response = self._transport(url).handle_request(request)
            response.request = request
            return response
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise Unreachable(f"{_name(host)} can't be reached ({_said(error)})") from None
        except httpx.TimeoutException:
            raise Unreachable(f"{_name(host)} did not answer within {READ_TIMEOUT_S:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, ValueError, ImportError) as error:
            raise Interrupted(f"{_name(host)} broke the connection ({_said(error)})") from None

    def _transport(self, url: str) -> httpx.HTTPTransport:
        parts = urlsplit(url)
        proxy = proxy_of(parts.scheme, parts.netloc)
        with self._lock:
            if proxy not in self._transports:
                self._transports[proxy] = httpx.HTTPTransport(
                    verify=httpx.create_ssl_context(), proxy=httpx.Proxy(proxy) if proxy else None, limits=_LIMITS
                )
            return self._transports[proxy]

    def give_up(self, source: Source, error: Unreachable) -> None:
        """Ask this source's host no more: nobody shall wait twice for one that is not there."""
        self._unreachable[_origin(source.url)] = str(error)

    @staticmethod
    def _answer(response: httpx.Response, facts: Mapping[str, str]) -> Answer:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise SourceError("it sends the file compressed, which was not asked for")
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("content-range", ""))
        partial = response.status_code == 206 and found is not None
        size = (found[2] if found else "") if partial else response.headers.get("content-length", "")
        size = size if size.isdecimal() else facts.get("x-linked-size", "")
        etag = response.headers.get("etag", "")
        linked = facts.get("x-linked-etag", "").strip('"').lower()
        return Answer(
            response,
            start=int(found[1]) if partial and found else 0,
            size=int(size) if size.isdecimal() else None,
            etag=etag if etag.startswith('"') else None,  # a weak one does not vouch for bytes (RFC 9110, 13.1.5)
            sha256=linked if re.fullmatch("[0-9a-f]{64}", linked) else None,
            ranges=partial,
        )


_TIMEOUT = {"connect": CONNECT_TIMEOUT_S, "read": READ_TIMEOUT_S, "write": READ_TIMEOUT_S, "pool": None}
_LIMITS = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
_LINKED = ("x-linked-etag", "x-linked-size")  # Hugging Face says in the redirect what the file itself is


def _is_message(response: httpx.Response, source: Source) -> bool:
    """A web page (of a login, of a proxy) or an error of an API, with the status of success."""
    kind = response.headers.get("content-type", "")
    return kind.startswith("text/html") or (kind.startswith("application/json") and ".json" not in source.text)


def wait_before(attempt: int, error: Interrupted) -> None:
    """Wait before trying again; `attempt` is 1 after the first failure in a row."""
    time.sleep(min(max(0.25 * 2**attempt, error.wait_s), LONGEST_WAIT_S))


def _target(url: str, location: str) -> str:
    try:
        target = urljoin(url, location)
        old, new = urlsplit(url).scheme, urlsplit(target).scheme
        _origin(target)
    except ValueError:
        raise SourceError("it redirects to what is no address") from None
    if new not in ("http", "https") or (old, new) == ("https", "http"):
        raise SourceError(f"it redirects from {old} to {new or 'nothing'}, which is not followed")
    return target


def _refused(response: httpx.Response, source: Source, url: str) -> SourceError:
    status, host = response.status_code, _name(_origin(url))
    if status in (401, 403):
        return SourceError(f"access refused (HTTP {status}): {source.access}")
    if status in (404, 410):
        return SourceError(f"there is no such file, revision or dataset (HTTP {status})")
    if status in (408, 425, 429) or status >= 500:
        after: Any = response.headers.get("retry-after", "")
        return Interrupted(f"{host} answered HTTP {status}", float(after) if after.isdecimal() else 0.0)
    return SourceError(f"{host} answered HTTP {status}")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def _name(origin: str) -> str:
    return origin.partition("://")[2].removesuffix(":443").removesuffix(":80")


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
