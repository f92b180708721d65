"""A scriptable model server for tests: OpenAI's chat completions on the loopback interface, in a thread.

    def test_counts(pytester):
        with ModelServer("ANSWER: A") as server:
            pytester.runpytest(f"--vqa-model=m@{server.url}")
        assert server.count == 20

A function in the place of the text sees each request and decides on the reply, its latency and its faults:

    def answer(request: Request) -> Answer:
        if request.number % 7 == 0:
            return Answer(status=503, headers={"Retry-After": "1"})
        return Answer("ANSWER: B", latency_s=0.05)
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from types import TracebackType
from typing import Any

from pytest_vqaeval.question import Message

__all__ = ["Answer", "ModelServer", "Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """A chat completion request, as the server received it.

    Attributes:
        number: 1 for the first request that the server received.
        headers: with names in lower case.
        text: all text parts of the last user message, joined with newlines.
        body: the parsed JSON.
    """

    number: int
    headers: Mapping[str, str]
    text: str
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[Message]:
        """The messages of the body."""
        messages: list[Message] = self.body.get("messages", [])
        return messages


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does about a request.

    Attributes:
        text: the content of the reply; the error message where `status` is no success. None is JSON's null.
        finish_reason: of the reply.
        status: HTTP status.
        headers: further or other response headers.
        latency_s: seconds before the first byte is sent.
        body: raw bytes in the place of the JSON body.
        cut_after: how many bytes of the body are sent before the connection is closed; None for all, and no cut.
        stall_s: seconds of silence between the headers and the body.
        usage: token counts of the reply.
    """

    text: str | None = ""
    finish_reason: str | None = "stop"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    latency_s: float = 0.0
    body: bytes | None = None
    cut_after: int | None = None
    stall_s: float = 0.0
    usage: Mapping[str, Any] = field(
        default_factory=lambda: {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    )


class ModelServer:
    """A model server for the time of a `with` block; one that has ended leaves neither a thread nor a socket.

    Args:
        answer: what every request is answered with: a text, or a function from Request to an Answer or a text. The
            function runs in the server's only thread, so it must not wait; `Answer.latency_s` does. An exception that
            it raises is HTTP 400 to the client and is raised again at the end of the `with` block.
        keep_bodies: keep the parsed body of each request in `requests`; otherwise it is empty there, to save memory.

    Attributes:
        requests: the chat completion requests received, in order.
        max_in_flight: the largest number of requests that were waiting for their answer at once.
    """

    def __init__(self, answer: Callable[[Request], Answer | str] | str, *, keep_bodies: bool = False) -> None:
        self.requests: list[Request] = []
        self.max_in_flight = 0
        self._answer = answer
        self._keep_bodies = keep_bodies
        self._in_flight = 0
        self._error: Exception | None = None

    @property
    def url(self) -> str:
        """The base URL, `http://127.0.0.1:PORT/v1`."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def count(self) -> int:
        """How many chat completion requests were received."""
        return len(self.requests)

    def __enter__(self) -> ModelServer:
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._port: int = listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, args=(listener,), name="model-server", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if error is None and self._error is not None:
            raise self._error

    def _run(self, listener: socket.socket) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve(listener))
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _serve(self, listener: socket.socket) -> None:
        connections: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._converse(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        # room for a request with its pictures, so that reading is not paused and resumed within each
        server = await asyncio.start_server(connected, sock=listener, limit=1 << 20)
        await self._stop.wait()
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until either side closes it."""
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is gone, or no HTTP client
        finally:
            writer.close()
            await asyncio.sleep(0)  # the transport closes its socket in the next turn of the loop

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False if the connection was cut or the client wants it closed."""
        method, path, headers = _parse_head(await reader.readuntil(b"\r\n\r\n"))
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        if (method, path) == ("GET", "/v1/models"):
            models = {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "pytest-vqaeval"}]}
            kept = await _respond(writer, Answer(body=json.dumps(models).encode()))
        elif (method, path) == ("POST", "/v1/chat/completions"):
            kept = await self._complete(headers, content, writer)
        else:
            kept = await _respond(writer, Answer(f"no such address: {method} {path}", status=404))
        return kept and headers.get("connection", "").lower() != "close"

    async def _complete(self, headers: Mapping[str, str], content: bytes, writer: asyncio.StreamWriter) -> bool:
        self._in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self._in_flight)
        try:
            answer = self._decide(headers, content)
            if answer.latency_s > 0:
                await asyncio.sleep(answer.latency_s)
        finally:
            self._in_flight -= 1  # before the first byte: the client's next request may be here at once
        return await _respond(writer, answer)

    def _decide(self, headers: Mapping[str, str], content: bytes) -> Answer:
        try:
            body = json.loads(content)
            request = Request(len(self.requests) + 1, headers, _last_text(body["messages"]), body)
        except (ValueError, LookupError, TypeError, AttributeError):
            return Answer("the request is not a chat completion request", status=400)
        self.requests.append(request if self._keep_bodies else replace(request, body={}))
        try:
            answer = self._answer if isinstance(self._answer, str) else self._answer(request)
        except Exception as error:
            self._error = self._error or error
            return Answer(f"the test's answer function raised {error!r}", status=400)
        return Answer(answer) if isinstance(answer, str) else answer


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = f"{first}  ".split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    return method, target.partition("?")[0], {name.lower(): value.strip() for name, _, value in pairs}


def _last_text(messages: list[Message]) -> str:
    content = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def _content(answer: Answer) -> bytes:
    """The response's body: as told, else a chat completion, or an error where the status is no success."""
    if answer.body is not None:
        return answer.body
    if answer.status >= 300:
        return json.dumps({"error": {"message": answer.text, "type": None, "code": answer.status}}).encode()
    message = {"role": "assistant", "content": answer.text}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    completion = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": "scripted"}
    return json.dumps({**completion, "choices": [choice], "usage": answer.usage}).encode()


async def _respond(writer: asyncio.StreamWriter, answer: Answer) -> bool:
    """Send the response; False if the answer wants the connection cut, after which it is of no more use."""
    content = _content(answer)
    headers = {"content-type": "application/json", "content-length": str(len(content))}
    headers |= {name.lower(): value for name, value in answer.headers.items()}
    phrase = HTTPStatus(answer.status).phrase if answer.status in HTTPStatus._value2member_map_ else ""
    lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    head = "\r\n".join(lines).encode("latin-1")
    if answer.stall_s > 0:
        writer.write(head)
        await asyncio.sleep(answer.stall_s)
        head = b""
    writer.write(head + content[: answer.cut_after])
    await writer.drain()
    return answer.cut_after is None
