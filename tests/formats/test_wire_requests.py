"""What is sent for each record of the golden file is what EvalScope 1.14 sends, but for its plain defects."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.choice import build_choice
from pytest_vqaeval.formats.messages import build_messages
from pytest_vqaeval.media import MediaCache
from pytest_vqaeval.models.evalscope import letters, said_by_user
from pytest_vqaeval.question import Message, Question
from tests.realdata import ROOT, real_data

BUILD: dict[str, Callable[[dict[str, Any]], Question]] = {"general_vqa": build_messages, "general_vmcq": build_choice}

SENT_OTHERWISE = {
    "general_vqa-img_wrong_ext": "the media type is that of the bytes (PNG), not of the name (JPEG)",
    "general_vqa-img_webp": "the media type is that of the bytes (PNG), not of the name (WebP)",
}
REFUSED = {  # EvalScope asks; here the record is an error
    "general_vqa-ph_audio_fmt_hint": "the file is a picture, not audio",
    "general_vmcq-json_object_options": "options as a JSON object: EvalScope takes the keys for options",
    "general_vmcq-empty_options": "no options: no answer can be right",
}
ASKED = {  # EvalScope fails; here the question is asked
    "general_vqa-ph_list_as_json_string": "a list column as a JSON text, the only way to write one in a table",
    "general_vqa-answer_int": "a number as the reference is taken as text",
    "general_vmcq-null_answer": "a record without an answer has no reference",
}
OTHER_REFERENCE = {
    "general_vqa-answer_zero": "0 is an answer",
}

_GOLDEN = ROOT / os.environ.get("VQA_REAL_DATA", "../shared/data") / "golden" / "wire_requests.json"
_READ = json.loads(_GOLDEN.read_text()) if _GOLDEN.exists() else {}
CASES = {f"{kind}-{case['id']}": (kind, case) for kind in BUILD for case in _READ.get(kind, [])}


def sent(kind: str, record: dict[str, Any]) -> tuple[Question, list[Message]]:
    """The question of a record, and its messages as they go out."""
    folder = real_data("golden")
    question = BUILD[kind](record)
    return question, MediaCache().load(question.messages, Archive(folder, started_in=folder))


def wire(messages: list[Message]) -> Any:
    """As JSON has it: media are plain texts."""
    return json.loads(json.dumps(messages, default=str))


def test_the_golden_file_is_there_and_has_all_ids_named_here() -> None:
    real_data("golden", "wire_requests.json")
    assert len(CASES) >= 79
    assert set(CASES) >= {*SENT_OTHERWISE, *REFUSED, *ASKED, *OTHER_REFERENCE}


@pytest.mark.filterwarnings("ignore::pytest_vqaeval.formats.placeholders.PlaceholderWarning")
@pytest.mark.parametrize("name", CASES)
def test_what_is_sent_is_what_evalscope_sends(name: str) -> None:
    kind, case = CASES[name]
    if name in REFUSED or ("stage" in case and name not in ASKED):
        with pytest.raises(DataError):
            sent(kind, case["record"])
        return
    question, messages = sent(kind, case["record"])
    if name not in ASKED:
        assert (wire(messages) == case["messages"]) is (name not in SENT_OTHERWISE)
        target = case["target"] or ()
        wanted = (target,) if isinstance(target, str) else tuple(target)
        assert (question.references == wanted) is (name not in OTHER_REFERENCE)
        assert list(question.options) == case.get("choices", [])


@pytest.mark.filterwarnings("ignore::pytest_vqaeval.formats.placeholders.PlaceholderWarning")
@pytest.mark.parametrize("name", [name for name in CASES if "stage" not in CASES[name][1] and name not in REFUSED])
def test_a_question_is_recognised_in_what_evalscope_stored(name: str) -> None:
    kind, case = CASES[name]
    question = BUILD[kind](case["record"])
    assert letters(question.text) in letters(said_by_user(case["messages"]))
