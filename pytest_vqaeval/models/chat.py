"""The format of chat completions: a request as bytes and as a key, a response as a Reply or as an error. No network."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.media import Encoded
from pytest_vqaeval.question import Message
from pytest_vqaeval.reply import Reply

# Not known to anybody before the process runs, so that no prompt can contain it.
_PICTURE = os.urandom(16).hex()


def map_pictures(value: Any, picture: Callable[[Encoded], Any]) -> Any:
    """A copy of nested dicts and lists with `picture(p)` in the place of each picture p, in the order of the JSON."""
    if type(value) is str:  # first, as nearly all are
        return value
    if isinstance(value, dict):
        return {key: map_pictures(item, picture) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_pictures(item, picture) for item in value]
    return picture(value) if isinstance(value, Encoded) else value


class Prepared(list[Message]):
    """Messages that know the whole request which was made of them, and is sent in the place of another."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body.get("messages") or ())
        self.body = dict(body)


def encode_body(body: Mapping[str, Any]) -> bytes:
    """The JSON of a request as UTF-8.

    Pictures are base64, which JSON need not look at: a token stands for each until the rest is encoded. A lone
    surrogate, which UTF-8 can't express and servers refuse as an escape, becomes U+FFFD.

    Raises:
        UsageError: it holds what JSON can't express.
    """
    pictures: list[Encoded] = []

    def token(picture: Encoded) -> str:
        pictures.append(picture)
        return _PICTURE

    try:
        text = json.dumps(map_pictures(body, token), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise _no_json(error) from None
    try:
        content = text.encode()
    except UnicodeEncodeError:
        content = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    head, *tails = content.split(_PICTURE.encode())
    pieces = [head]
    for picture, tail in zip(pictures, tails, strict=True):
        pieces += (picture.encode("ascii"), tail)
    return b"".join(pieces)


def _no_json(error: Exception) -> UsageError:
    return UsageError(f"the request can't be written as JSON ({error}); check --vqa-generation and hooks")


def request_key(messages: Sequence[Message], model: str, generation: Mapping[str, Any], kind: str, repeat: int) -> str:
    """The identity of a request, under which its reply is stored: equal requests have equal keys.

    Neither the URL nor timeouts are part of it, so that a stored reply survives `localhost` becoming `127.0.0.1`.

    Args:
        messages: what is asked; each picture counts by its sha256.
        model: name of the model.
        generation: all further keys of the body.
        kind: what the request is for (the sample itself, a judge's verdict on it).
        repeat: which of several equal requests it is.

    Returns:
        A sha256 as 64 hex digits.

    Raises:
        UsageError: it holds what JSON can't express.
    """
    request = {"messages": messages, "model": model, "generation": generation, "kind": kind, "repeat": repeat}
    pictures_by_hash = map_pictures(request, lambda picture: {"sha256": picture.sha256})
    try:
        canonical = json.dumps(pictures_by_hash, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise _no_json(error) from None
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_reply(document: Any, latency_s: float) -> Reply | None:
    """The first choice of a chat completion, or None if there is none.

    A content of null is a reply without text: a content filter, or reasoning that took all tokens. `reasoning_content`
    is not the answer.
    """
    try:
        choice = document["choices"][0]
        content = choice["message"].get("content")
        if choice.get("error") or document.get("error"):
            return None
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part.get("type") == "text")
    except (LookupError, TypeError, AttributeError):
        return None
    if not isinstance(content, str | None):
        return None
    reason, usage = choice.get("finish_reason"), document.get("usage")
    counts = {key: n for key, n in usage.items() if type(n) is int} if isinstance(usage, dict) else {}
    return Reply(content or "", reason if isinstance(reason, str) else None, counts, latency_s)


def read_error(document: Any, received: bytes) -> tuple[str, object, object]:
    """Message, code and type of an error body.

    It may be OpenAI's `error`, vLLM's older one without that level, FastAPI's `detail`, one in a choice (OpenRouter),
    or no JSON at all (`document` is not a dict then, and the message describes `received`).
    """
    if not isinstance(document, dict):
        return _described(received.decode("utf-8", "replace").strip()), None, None
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    error = document.get("error") or (first.get("error") if isinstance(first, dict) else None) or document
    if not isinstance(error, dict):
        return str(error), None, None
    said = error.get("message") or error.get("detail") or ""
    if isinstance(said, list):  # FastAPI repeats the input, pictures and all, beside each `msg`
        said = "; ".join(str(item.get("msg", "")) for item in said if isinstance(item, dict))
    return str(said), error.get("code"), error.get("type")


def _described(text: str) -> str:
    """A body that is not a JSON object, in words that are the same for each sample."""
    if not text:
        return "an empty body"
    if text[:100].lower().startswith(("<!doctype html", "<html")):
        return "an HTML page"
    return "broken or unknown JSON" if text[0] in "{[" else text
