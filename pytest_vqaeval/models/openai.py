"""A model behind an OpenAI-compatible server: one request in, one Reply or one ModelError out.

It speaks HTTP through httpx's transport, below its Client: a third less CPU a request, and no redirects, cookies or
stored credentials. Each thread has a connection of its own.
"""

from __future__ import annotations

import functools
import json
import re
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import httpx

from pytest_vqaeval.errors import Failure, ModelError, UsageError
from pytest_vqaeval.models.chat import Prepared, encode_body, read_error, read_reply, request_key
from pytest_vqaeval.models.endpoint import endpoint
from pytest_vqaeval.models.pace import ADAPT_ABOVE, Pace
from pytest_vqaeval.models.retry import (
    Patience,
    ask_patiently,
    failure_of_exception,
    failure_of_status,
    meant_status,
    retry_after_s,
)
from pytest_vqaeval.question import Message
from pytest_vqaeval.reply import Reply

__all__ = ["OpenAI", "request_key"]

CONNECT_TIMEOUT_S = 10.0
MAX_RESPONSE_BYTES = 32 << 20
MAX_QUOTE = 200
"""Characters of a server's own words in a message."""

# What changes from one response to the next, and would keep equal errors from being counted as one.
_IDS = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?:req|chatcmpl|cmpl|msg)[-_]\w{6,}|\b0x[0-9a-f]+\b"
    r"|\b[0-9a-f]{16,}\b|[A-Za-z0-9+/=]{64,}",
    re.IGNORECASE,
)


@functools.cache
def _ssl_context(secure: bool) -> ssl.SSLContext:
    """One for all connections, as loading certificates takes 20 ms; an empty one, which trusts none, without TLS."""
    return httpx.create_ssl_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class OpenAI:
    """A model of an OpenAI-compatible server; every method may be called from several threads.

    Proxies are taken from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, certificates from SSL_CERT_FILE.

    Args:
        name: the model's name, as the server knows it.
        url: the base URL, which usually ends in `/v1`.
        api_key: sent as a bearer token; None or "" sends none.
        timeout_s: seconds that a reply may take. All attempts for a sample together end after `retries + 1` times that,
            not counting the time in which others had their turn.
        retries: how many more attempts may follow a failed one.
        generation: further keys of the body, as they are; `temperature` is 0 unless it is among them.
        headers: further request headers.
        concurrency: how many requests may be in flight at once; above 16 fewer after a 429.
        options: what the options that set url and key begin with, for messages (`--vqa`, or `--vqa-judge`).

    Attributes:
        name: the model's name.
        concurrency: how many requests a caller should keep in flight.
        pace: what all attempts go through.

    Raises:
        UsageError: the URL, a header, the key or a generation parameter can't be used.
    """

    def __init__(
        self,
        *,
        name: str,
        url: str,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        retries: int = 5,
        generation: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        concurrency: int = 8,
        options: str = "--vqa",
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self.generation = {"temperature": 0, **(generation or {})}
        for key in ("messages", "model", "stream"):
            if key in self.generation and (key != "stream" or self.generation[key]):
                raise UsageError(f"{options}-generation {key}=… can't be used: the plugin decides on it")
        self._timeout_s = timeout_s
        self._retries = retries
        self._total_s = timeout_s * (retries + 1)
        self.pace = Pace(concurrency, adapt=concurrency > ADAPT_ABOVE, longest_s=self._total_s)
        self._options = options
        self._patience = Patience()
        self._endpoint = endpoint(url, api_key, headers or {}, options)
        self._local = threading.local()
        self._transports: list[httpx.HTTPTransport] = []
        try:
            self._url = httpx.URL(self._endpoint.url)
            self._proxy = httpx.Proxy(self._endpoint.proxy) if self._endpoint.proxy else None
            if self._proxy is not None:
                self._transport()  # tells whether the proxy's scheme can be spoken
        except httpx.InvalidURL:
            raise UsageError(f"{self._endpoint.shown} is not a valid URL; check {options}-url") from None
        except (ValueError, ImportError):
            raise UsageError(
                "the proxy that the environment names can't be used; check HTTPS_PROXY, HTTP_PROXY"
            ) from None

    @property
    def address(self) -> str:
        """The server's address, fit to be shown."""
        return self._endpoint.shown.removesuffix("/chat/completions")

    @property
    def paces(self) -> tuple[Pace, ...]:
        """The paces of all servers that are asked: one."""
        return (self.pace,)

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The request as it is sent, but for the pictures, which are still Encoded strings."""
        if isinstance(messages, Prepared):
            return messages.body
        return {"model": self.name, "messages": messages, **self.generation}

    def key(self, messages: Sequence[Message], kind: str, repeat: int) -> str:
        """The `request_key` of the body that `ask(messages)` sends."""
        rest = dict(self.body(messages))
        return request_key(rest.pop("messages", ()), rest.pop("model", ""), rest, kind, repeat)

    def ask(self, messages: Sequence[Message]) -> Reply:
        """Ask, with retries.

        Raises:
            ModelError: there was no reply.
        """
        return ask_patiently(
            lambda: self.ask_once(messages),
            self._patience,
            retries=self._retries,
            total_s=self._total_s,
            sleep=self.pace.sleep,
            clock=self.pace.clock,
        )

    def ask_once(self, messages: Sequence[Message]) -> Reply:
        """Ask, without retries, when it is this request's turn.

        Raises:
            ModelError: there was no reply.
        """
        with self.pace.turn():
            return self._attempt(messages)

    def close(self) -> None:
        """End all waiting for turns, pauses and retries, and close all connections."""
        self.pace.stop()
        while self._transports:
            self._transports.pop().close()

    def _attempt(self, messages: Sequence[Message]) -> Reply:
        content = encode_body(self.body(messages))
        started = time.monotonic()
        response, received = self._exchange(content, deadline=started + self._timeout_s)
        latency_s = time.monotonic() - started
        try:
            document = json.loads(received)
        except (ValueError, RecursionError):
            document = None
        reply = read_reply(document, latency_s) if response.status_code < 300 else None
        if reply is None:
            raise self._refusal(response, document, received)
        return reply

    def _transport(self) -> httpx.HTTPTransport:
        """The calling thread's own; a pool that is shared is searched through for each request."""
        transport: httpx.HTTPTransport | None = getattr(self._local, "transport", None)
        if transport is None:
            secure = self._url.scheme == "https" or (self._proxy is not None and self._proxy.url.scheme == "https")
            context = _ssl_context(secure)
            limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
            transport = httpx.HTTPTransport(verify=context, proxy=self._proxy, limits=limits)
            self._local.transport = transport
            self._transports.append(transport)
        return transport

    def _exchange(self, content: bytes, deadline: float) -> tuple[httpx.Response, bytes]:
        """Send and receive; the response's own stream is closed."""
        limit = self._timeout_s
        timeout = {"connect": min(limit, CONNECT_TIMEOUT_S), "read": limit, "write": limit, "pool": limit}
        request = httpx.Request(
            "POST",
            self._url,
            headers=[*self._endpoint.headers, (b"Content-Length", b"%d" % len(content))],
            stream=httpx.ByteStream(content),
            extensions={"timeout": timeout},
        )
        try:
            response = self._transport().handle_request(request)
            try:
                return response, _read(response, deadline)
            finally:
                response.close()
        except (httpx.HTTPError, httpx.StreamError) as error:
            failed = self._no_response(error)
        raise failed  # outside of `except`, so that it does not hold httpx's error, whose frames hold the body

    def _no_response(self, error: Exception) -> ModelError:
        if isinstance(error, httpx.ConnectTimeout):
            limit = min(self._timeout_s, CONNECT_TIMEOUT_S)
            message = f"no connection to {self._endpoint.shown} within {limit:g} s; check {self._options}-url"
        elif isinstance(error, httpx.TimeoutException):
            message = f"no reply within {self._timeout_s:g} s (--vqa-timeout)"
        elif isinstance(error, httpx.ConnectError | httpx.ProxyError):
            message = f"no connection to {self._endpoint.shown} ({self._quote(str(error))}); check {self._options}-url"
        else:
            kind = type(error).__name__
            message = f"the connection to {self._endpoint.shown} broke before the whole reply was there ({kind})"
        connecting = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        return ModelError(message, failure_of_exception(error, connecting=connecting))

    def _refusal(self, response: httpx.Response, document: Any, received: bytes) -> ModelError:
        """The error of a response that is no reply."""
        said, code, kind = read_error(document, received)
        status = response.status_code
        meant = meant_status(status, code, kind, said)
        failure = failure_of_status(meant)
        message = f"HTTP {status}"
        if failure is Failure.PERMANENT:
            message += f" from {self._endpoint.shown}: {self._advice(meant)}"
        elif status < 300:
            message += " without a reply in it"
        # a rate limit's own words tell how much was used so far, different each time
        if said and failure is not Failure.RATE_LIMIT:
            message += f": {self._quote(said)}"
        wait = retry_after_s(response.headers, time.time())
        return ModelError(message, failure, status=status, retry_after_s=wait)

    def _advice(self, meant: int) -> str:
        if meant in (401, 403):
            has_key = self._endpoint.has_key
            refused = "the server refuses the API key" if has_key else "the server wants an API key and none is set"
            return f"{refused}; check {self._options}-api-key-env"
        if meant == 402:
            return f"the account has no credit left; check {self._options}-api-key-env"
        if meant == 404:
            return (
                f"no such model or address; check the model's name, {self._quote(self.name)}, and {self._options}-url"
            )
        return f"the server does not take requests at this address; check {self._options}-url"

    def _quote(self, text: str) -> str:
        """Somebody else's words in a message: no secrets, no control characters, nothing that varies, and short."""
        for secret in self._endpoint.secrets:
            text = text.replace(secret, "***")
        text = " ".join(_IDS.sub("…", text).split())
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: MAX_QUOTE + 1])
        return text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"


def _read(response: httpx.Response, deadline: float) -> bytes:
    """The body; httpx limits each wait for bytes, and a server that sends one now and then is not to last for ever."""
    received = bytearray()
    decoded = "content-encoding" in response.headers  # though none was asked for
    for chunk in response.iter_bytes() if decoded else cast(httpx.SyncByteStream, response.stream):
        received += chunk
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the whole reply took too long")
        if len(received) > MAX_RESPONSE_BYTES:
            raise httpx.DecodingError("the reply is too large")
    return bytes(received)
