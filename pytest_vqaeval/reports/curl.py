"""A request of a run, put together again, so that it can be sent by hand: the body as a file, and a `curl`."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.media import MediaCache
from pytest_vqaeval.models.chat import encode_body
from pytest_vqaeval.models.endpoint import endpoint
from pytest_vqaeval.models.openai import OpenAI
from pytest_vqaeval.names import folder_name
from pytest_vqaeval.reopened import Reopened
from pytest_vqaeval.results import Result
from pytest_vqaeval.store import StoredRun, write_whole


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        body: as it is sent.
        url: of the (first) server, without credentials.
        same: it is known to be the one that was answered.
    """

    body: bytes
    url: str
    same: bool


def rebuild(run: StoredRun, opened: Reopened, result: Result) -> Request:
    """The request of a result, from spec, record and settings, through the code that the run went through.

    Raises:
        UsageError: its model has no server, or the run does not say which.
        DataError: its question or a picture can't be read any more.
    """
    served = (run.header.get("served") or {}).get(result.model)
    if served is None:
        raise UsageError(f"{result.model} was not asked over HTTP, or the run does not say where")
    question = opened.question(result)
    if question is None:
        why = "; ".join(opened.problems) or "it is not in the data any more, or has another reference"
        raise UsageError(f"the question of {result.subset}[{result.id}] can't be read again: {why}")
    settings: dict[str, Any] = run.header.get("settings") or {}
    first = served["urls"][0]
    model = OpenAI(name=served["model"], url=first, generation=settings.get("generation"))
    cache = MediaCache(max_pixels=settings.get("max_image_pixels"))
    messages = cache.load(question.messages, opened.archive(result.benchmark))
    url = endpoint(first, None, {}, "--vqa").shown
    same = model.key(messages, "answer", result.repeat) == result.request_key
    return Request(encode_body(model.body(messages)), url, same)


def write_body(run: StoredRun, result: Result, request: Request) -> Path:
    """Write the body into the run folder.

    Raises:
        StoreError: it can't be written.
    """
    name = folder_name(f"{result.benchmark}-{result.subset}-{result.id}-{result.repeat}-{result.model}")
    file = run.path / f"request-{name}-{(result.request_key or '')[:8]}.json"
    write_whole(file, request.body.decode())
    return file


def command(run: StoredRun, request: Request, body: Path) -> str:
    """The `curl` that sends the request; key and values of headers are not in it."""
    settings: dict[str, Any] = run.header.get("settings") or {}
    lines = [f"curl {shlex.quote(request.url)}", "-H 'Content-Type: application/json'"]
    variable = str(settings.get("api_key_env") or "")
    if variable.isidentifier():
        lines.append(f'-H "Authorization: Bearer ${variable}"')
    lines += [f"-H {shlex.quote(f'{name}: VALUE')}" for name in settings.get("headers") or []]
    lines.append(f"--data-binary {shlex.quote('@' + os.path.relpath(body))}")
    return " \\\n  ".join(lines)
