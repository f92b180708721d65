"""Where requests go and what goes along: the address, headers and proxy, and what must never be shown of them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_vqaeval.errors import UsageError

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110, section 5.6.2
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_SCHEMES = {"basic", "bearer", "digest", "token"}
_FRAMING = {"content-length", "transfer-encoding", "connection"}  # of the client alone: where a message ends


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A chat completions address, ready to use.

    Attributes:
        url: the full address, without credentials.
        shown: the address for messages: credentials and query are masked.
        headers: of each request, all but Content-Length.
        secrets: what must not appear in any message, the longest first.
        has_key: True if the requests carry credentials.
        proxy: URL of the proxy, or None.
    """

    url: str
    shown: str
    headers: tuple[tuple[bytes, bytes], ...]
    secrets: tuple[str, ...]
    has_key: bool
    proxy: str | None


def endpoint(url: str, api_key: str | None, headers: Mapping[str, str], options: str) -> Endpoint:
    """Check and combine the settings of a server.

    Args:
        url: the base URL, which usually ends in `/v1`; `user:password@` and a query are kept.
        api_key: sent as a bearer token, unless `headers` have an Authorization of their own.
        headers: further headers; they replace the usual ones of the same name.
        options: what the options that set url and key begin with (`--vqa`).

    Raises:
        UsageError: something is not valid; the message contains neither the key nor a header's value.
    """
    parts = _parse(url, options)
    if not _VALUE.fullmatch(api_key or ""):
        raise UsageError(
            f"the API key has a line break or another character that can't be in a header; check {options}-api-key-env"
        )
    credentials, _, host = parts.netloc.rpartition("@")
    sent = {"host": host, "accept": "application/json", "accept-encoding": "identity", "user-agent": "pytest-vqaeval"}
    sent["content-type"] = "application/json"
    if credentials:
        sent["authorization"] = "Basic " + base64.b64encode(unquote(credentials).encode()).decode()
    if api_key:
        sent["authorization"] = f"Bearer {api_key.strip()}"
    for name, value in headers.items():
        sent[_checked_name(name, value)] = value.strip()
    path = parts.path.rstrip("/")
    path += "" if path.endswith("/chat/completions") else "/chat/completions"
    values = [*headers.values(), api_key or "", unquote(credentials), *unquote(credentials).split(":", 1)]
    values += [sent.get("authorization", ""), *(value for _, value in parse_qsl(parts.query))]
    return Endpoint(
        url=parts._replace(netloc=host, path=path, fragment="").geturl(),
        shown=f"{parts.scheme}://{'***@' if credentials else ''}{host}{path}{'?***' if parts.query else ''}",
        headers=tuple((name.title().encode(), value.encode()) for name, value in sent.items()),
        secrets=tuple(sorted({secret for value in values for secret in _secrets(value)}, key=len, reverse=True)),
        has_key="authorization" in sent,
        proxy=proxy_of(parts.scheme, host),
    )


def without_credentials(url: str) -> str:
    """An address that may be written to a file: credentials and query are masked, and all of what is no URL."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where `user:password` is taken for host and port
    except ValueError:
        return "***"
    _, at, host = parts.netloc.rpartition("@")
    return parts._replace(
        netloc=f"***@{host}" if at else host, query="***" if parts.query else "", fragment=""
    ).geturl()


def _parse(url: str, options: str) -> SplitResult:
    shown = re.sub(r"//.*@", "//***@", url.partition("?")[0])
    wrong = UsageError(f"{shown!r} is not a URL such as http://localhost:8000/v1; check {options}-url")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise wrong from None
    # urlsplit cuts line breaks out in silence
    if not valid or not url.isprintable() or " " in url:
        raise wrong
    return parts


def _checked_name(name: str, value: str) -> str:
    valid = _NAME.match(name)
    if valid is None or valid[0] != name:  # what follows the name's valid part may be a secret already
        raise UsageError(f"a header's name is not valid after {valid[0] if valid else ''!r}; check --vqa-header")
    if name.lower() in _FRAMING:
        raise UsageError(f"the header {name} is not yours to set; check --vqa-header")
    if not _VALUE.fullmatch(value):
        raise UsageError(
            f"the header {name} has a line break or another character that can't be in a header; check --vqa-header"
        )
    return name.lower()


def _secrets(value: str) -> Iterator[str]:
    """The value, and its words, of which a server may repeat one alone (`Bearer sk-…`); the scheme is no secret."""
    first, *rest = value.split() or [""]
    if first:
        yield value.strip()
    words = rest if first.lower() in _SCHEMES else [first, *rest]
    yield from (word for word in words if len(word) >= 4)


def proxy_of(scheme: str, host: str) -> str | None:
    """By HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY (names and addresses, not address ranges)."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or proxy_bypass(host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
