"""General-VQA: a row with OpenAI messages."""

import json
from typing import Any

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.messages import build_messages
from pytest_vqaeval.media import Media


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def sent(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return list(build_messages({"messages": list(messages)}).messages)


def test_a_conversation_is_one_request() -> None:
    row = {
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}]},
            user("What is it? <image 1>"),
            {"role": "assistant", "content": "A dog."},
            user([{"type": "text", "text": "Sure?"}]),
        ],
        "image_1": "dog.jpg",
        "answer": ["Yes", "yes"],
    }
    question = build_messages(row)
    picture = {"type": "image_url", "image_url": {"url": Media("image", "dog.jpg"), "detail": "auto"}}
    assert question.messages == [
        {"role": "system", "content": "Be\nbrief."},
        {"role": "user", "content": [{"type": "text", "text": "What is it? "}, picture]},
        {"role": "assistant", "content": "A dog."},
        {"role": "user", "content": [{"type": "text", "text": "Sure?"}]},
    ]
    assert (question.text, question.references, question.record) == ("Sure?", ("Yes", "yes"), row)


def test_a_table_holds_messages_as_json() -> None:
    as_text = build_messages({"messages": json.dumps([user("Hi?")]), "answer": '["Hello", "Hi"]'})
    assert (as_text.messages, as_text.references) == ([user("Hi?")], ("Hello", "Hi"))


@pytest.mark.parametrize(
    ("answer", "references"),
    [
        ("Dog", ("Dog",)),
        (3, ("3",)),
        (0, ("0",)),
        (True, ("true",)),
        ("[1, 2]", ("[1, 2]",)),
        ("['a', 'b']", ("a", "b")),
        (["a", "", None], ("a",)),
        ("", ()),
        (None, ()),
    ],
)
def test_references(answer: Any, references: tuple[str, ...]) -> None:
    assert build_messages({"messages": [user("q")], "answer": answer}).references == references


def test_reasoning_in_the_history_has_a_key_of_its_own() -> None:
    turn = {"role": "assistant", "content": "<think> hm </think> B"}
    assert sent(turn, user("q"))[0] == {"role": "assistant", "content": "\nB", "reasoning_content": "hm"}
    turn = {"role": "assistant", "content": "B", "reasoning_content": "hm"}
    assert sent(turn, user("q"))[0] == {"role": "assistant", "content": "\nB", "reasoning_content": "hm"}


def test_tool_calls_stay() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    called, answered, _ = sent(
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "42"},
        user("q"),
    )
    assert called == {"role": "assistant", "content": "", "tool_calls": calls}
    assert answered == {"role": "tool", "content": "42", "tool_call_id": "1"}


def test_audio_and_video() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    video = {"video_url": {"url": "v.mp4", "fps": 2}}  # the only key is the type
    (message,) = sent(user([audio, video]))
    assert message["content"] == [
        {"type": "input_audio", "input_audio": Media("audio", "UklGRg==", "wav")},
        {"type": "video_url", "video_url": {"url": Media("video", "v.mp4")}, "fps": 2.0},
    ]


@pytest.mark.filterwarnings("ignore::pytest_vqaeval.formats.placeholders.PlaceholderWarning")
def test_a_text_of_placeholders_without_media_is_sent_as_it_is() -> None:
    assert sent(user("<image 1>")) == [user("<image 1>")]


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (None, "field 'messages' is missing"),
        ({}, "field 'messages' is not a list of messages"),
        ([], "field 'messages' is not a list of messages"),
        ("nope", "field 'messages' is not valid JSON: Expecting value"),
        (["q"], "field 'messages[0]' is not a message with role and content"),
        ([{"content": "q"}], "field 'messages[0].role' is None; there are system"),
        ([user(None)], "field 'messages[0].content' is not a text or a list of parts"),
        ([user(["q"])], "field 'messages[0].content[0]' is not a part with a type"),
        ([user([{"type": "text"}])], "field 'messages[0].content[0].text' is not a text"),
        ([user([{"type": "file", "file": {}}])], "field 'messages[0].content[0].type' is 'file'; there are text"),
        ([user([{"type": "image_url", "image_url": {}}])], "field 'messages[0].content[0].image_url.url' is missing"),
        (
            [user([{"type": "input_audio", "input_audio": {"data": "x"}}])],
            "field 'messages[0].content[0].input_audio.format' is missing",
        ),
        (
            [{"role": "system", "content": [{"type": "image_url"}]}],
            "field 'messages[0].content[0].type' is 'image_url'",
        ),
    ],
)
def test_errors_name_the_place(messages: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        build_messages({"messages": messages})
    assert str(error.value).startswith(message)
