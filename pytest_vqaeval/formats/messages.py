"""General-VQA: a row that holds the `messages` of the request, and perhaps the `answer`.

Messages are OpenAI's, with the history of a conversation where there is one; a user message that is a plain text may
hold media placeholders. What is sent is what EvalScope 1.14 sends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import alternatives
from pytest_vqaeval.formats.parts import Part, media_part, text_part
from pytest_vqaeval.formats.placeholders import Key, fill, has_placeholder, referenced_media
from pytest_vqaeval.question import Message, Question

_THOUGHT = re.compile(r"<think[^>]*>(.*?)</think>", re.DOTALL)


def build_messages(row: Mapping[str, Any]) -> Question:
    """The question of a row with `messages` (a list, or a text that is JSON) and `answer` (one or several, or none).

    Raises:
        DataError: names the field, down to the part of the message.
    """
    given = _messages(row)
    user_texts = [m["content"] for m in given if m.get("role") == "user" and isinstance(m.get("content"), str)]
    media = referenced_media(row, user_texts)
    messages = [_message(message, f"messages[{n}]", media) for n, message in enumerate(given)]
    return Question(_last_question(given), messages, alternatives(row.get("answer"), "answer"), record=row)


def _messages(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    value = row.get("messages")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise DataError(f"field 'messages' is not valid JSON: {error}") from None
    if not isinstance(value, list) or not value:
        raise DataError(f"field 'messages' is {'missing' if value is None else 'not a list of messages'}")
    for n, message in enumerate(value):
        if not isinstance(message, dict):
            raise DataError(f"field 'messages[{n}]' is not a message with role and content")
    return value


def _message(message: Mapping[str, Any], place: str, media: Mapping[Key, Part]) -> Message:
    role = message.get("role")
    build = _ROLES.get(role) if isinstance(role, str) else None
    if build is None:
        raise DataError(f"field '{place}.role' is {role!r}; there are {', '.join(_ROLES)}")
    return build(message, place, media)


def _system(message: Mapping[str, Any], place: str, _media: Mapping[Key, Part]) -> Message:
    return {"role": "system", "content": "\n".join(_texts(message, place))}


def _user(message: Mapping[str, Any], place: str, media: Mapping[Key, Part]) -> Message:
    content = message.get("content")
    if isinstance(content, str):
        # a text that is nothing but placeholders without media is sent as it is
        parts = fill(content, media) if has_placeholder(content) else []
        return {"role": "user", "content": parts or content}
    return {"role": "user", "content": [_part(part, where) for part, where in _parts(content, place)]}


def _assistant(message: Mapping[str, Any], place: str, _media: Mapping[Key, Part]) -> Message:
    """A turn of the history. Its reasoning goes under a key of its own, and structured text becomes one text.

    As in EvalScope, each text of a structured turn then begins with a new line.
    """
    if message.get("content") is None:
        message = {**message, "content": message.get("refusal") or ""}
    given = message.get("reasoning_content") or message.get("reasoning")
    thoughts, texts = [str(given)] if given else [], []
    for text in _texts(message, place):
        if thought := _THOUGHT.search(text):
            thoughts.append(thought.group(1).strip())
            text = (text[: thought.start()] + text[thought.end() :]).strip()
        texts.append(text)
    plain = isinstance(message["content"], str) and not thoughts
    turn: Message = {"role": "assistant", "content": texts[0] if plain else "".join("\n" + text for text in texts)}
    if thoughts:
        turn["reasoning_content"] = "\n".join(thoughts)
    if message.get("tool_calls"):
        turn["tool_calls"] = message["tool_calls"]
    return turn


def _tool(message: Mapping[str, Any], place: str, _media: Mapping[Key, Part]) -> Message:
    if not isinstance(message.get("tool_call_id"), str):
        raise DataError(f"field '{place}.tool_call_id' is not a text")
    return {"role": "tool", "content": "\n".join(_texts(message, place)), "tool_call_id": message["tool_call_id"]}


_ROLES: dict[str, Callable[[Mapping[str, Any], str, Mapping[Key, Part]], Message]] = {
    "system": _system,
    "developer": _system,
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
}


def _texts(message: Mapping[str, Any], place: str) -> list[str]:
    """The content of a message that may hold texts alone."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    texts = []
    for part, where in _parts(content, place):
        if part["type"] not in ("text", "refusal"):
            raise DataError(f"field '{where}.type' is {part['type']!r}; a {message['role']} message takes texts alone")
        texts.append(_text(part, part["type"], where))
    return texts


def _parts(content: Any, place: str) -> list[tuple[dict[str, Any], str]]:
    """The parts of a structured content, each with its place; a part with one key and no type is of that type."""
    if not isinstance(content, list) or not content:
        raise DataError(f"field '{place}.content' is not a text or a list of parts")
    parts = []
    for n, part in enumerate(content):
        where = f"{place}.content[{n}]"
        if not isinstance(part, dict):
            raise DataError(f"field {where!r} is not a part with a type")
        if "type" not in part and len(part) == 1:
            part = {"type": next(iter(part)), **part}
        if not isinstance(part.get("type"), str):
            raise DataError(f"field '{where}.type' is missing")
        parts.append((part, where))
    return parts


def _part(part: Mapping[str, Any], where: str) -> Part:
    build = _PARTS.get(part["type"])
    if build is None:
        raise DataError(f"field '{where}.type' is {part['type']!r}; there are {', '.join(_PARTS)}")
    return build(part, where)


def _image(part: Mapping[str, Any], where: str) -> Part:
    inner, place = _inner(part, "image_url", where)
    return media_part("image", _given(inner, "url", place), f"{place}.url", detail=inner.get("detail"))


def _audio(part: Mapping[str, Any], where: str) -> Part:
    inner, place = _inner(part, "input_audio", where)
    source, format = _given(inner, "data", place), _given(inner, "format", place)
    return media_part("audio", source, f"{place}.data", format=format)


def _video(part: Mapping[str, Any], where: str) -> Part:
    if isinstance(part.get("video_url"), str):
        return media_part("video", part["video_url"], f"{where}.video_url")
    inner, place = _inner(part, "video_url", where)
    _given(inner, "url", place)
    return media_part("video", inner, place)


_PARTS: dict[str, Callable[[Mapping[str, Any], str], Part]] = {
    "text": lambda part, where: text_part(_text(part, "text", where)),
    "image_url": _image,
    "input_audio": _audio,
    "video_url": _video,
}


def _inner(part: Mapping[str, Any], key: str, where: str) -> tuple[Mapping[str, Any], str]:
    inner = part.get(key)
    if not isinstance(inner, Mapping):
        raise DataError(f"field '{where}.{key}' is not a mapping")
    return inner, f"{where}.{key}"


def _given(inner: Mapping[str, Any], key: str, place: str) -> Any:
    if not inner.get(key):
        raise DataError(f"field '{place}.{key}' is missing")
    return inner[key]


def _text(part: Mapping[str, Any], key: str, where: str) -> str:
    if not isinstance(part.get(key), str):
        raise DataError(f"field '{where}.{key}' is not a text")
    return str(part[key])


def _last_question(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last user message."""
    content = next((m["content"] for m in reversed(messages) if m.get("role") == "user"), "")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
