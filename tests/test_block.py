"""The block that explains one result, and the list of errors by cause."""

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_vqaeval.media import Media, encode
from pytest_vqaeval.question import Question
from pytest_vqaeval.reports.block import explain
from pytest_vqaeval.reports.terminal import Printer
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from tests.conftest import Run, jpeg


def result(**more: object) -> Result:
    facts = {"outcome": Outcome.WRONG, "reply": "ANSWER: C", "extracted": "C", "reference": ["B"], **more}
    return Result(benchmark="b", subset="s", id="1", model="m", nodeid="b::s[1]", cluster="1", **facts)


def test_options_of_a_choice_are_marked() -> None:
    picture = {"type": "image_url", "image_url": {"url": Media("image", "a.jpg")}}
    asked = Question("Which organ?", [{"role": "user", "content": [picture]}], ("B",), ("Brain", "Lung\nleft", "Heart"))
    lines = explain(result(details={"rule": "answer line"}), asked, where="q.jsonl:1 in B").split("\n")
    assert lines == [
        "outcome      wrong",
        "question     Which organ?",
        "options      A) Brain",
        "             B) Lung left   <- reference",
        "             C) Heart   <- answer",
        "picture      a.jpg",
        "sent         user: [image]",
        "reply        ANSWER: C",
        "extracted    C",
        "rule         answer line",
        "reference    B",
        "finish       no finish reason given",
        "record       q.jsonl:1 in B",
    ]
    assert "   <- reference and answer" in explain(result(extracted="B"), asked)
    assert explain(result(extracted="A,C"), asked).count("<- answer") == 2


def test_a_graded_answer_shows_its_metrics() -> None:
    scored = result(outcome=Outcome.SCORED, score=0.5, metrics={"rouge-l-r": 0.5}, details={"common words": "a dog"})
    text = explain(scored, None)
    assert "common words a dog\n" in text
    assert "score        0.5000\nmetrics      rouge-l-r 0.500\n" in text


def test_an_error_shows_its_cause() -> None:
    failed = result(outcome=Outcome.ERROR, reply=None, extracted=None, reference=[], error="HTTP 503")
    assert explain(failed, None) == "outcome      error\nerror        HTTP 503"


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\u202etxt", "a\rb", "\x9b31m", "\u2066x"])
def test_data_and_replies_move_no_cursor(hostile: str) -> None:
    asked = Question(hostile, [{"role": "user", "content": hostile}], (hostile,), (hostile, "x"))
    text = explain(result(reply=hostile, extracted=hostile, reference=[hostile], details={"rule": hostile}), asked)
    assert hostile not in text
    assert text.replace("\n", "").isprintable()


def test_the_line_after_the_first_blocks_says_where_the_others_are(always_yes: Path, run: Run) -> None:
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-show=2")
    result.stdout.fnmatch_lines(
        [
            "*= wrong answers (2 of 6 shown) =*",
            "and 4 more wrong answers (--vqa-show=N prints N of them)",
            "list         python -m pytest_vqaeval show .vqaeval/runs/*-m --outcome wrong",
            "page         python -m pytest_vqaeval html .vqaeval/runs/*-m -o vqa.html",
            "again        the same command with --lf: only what was wrong or had no verdict",
        ]
    )
    assert "more wrong answers" not in run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-show=6").stdout.str()


def asking(*sources: Any) -> Question:
    parts = [{"type": "image_url", "image_url": {"url": Media("image", source)}} for source in sources]
    return Question("q", [{"role": "user", "content": [*parts, {"type": "text", "text": "q"}]}], ("a",))


def pictures_in(text: str) -> list[str]:
    return [line.removeprefix("picture").strip() for line in text.splitlines() if line.startswith("picture")]


def test_pictures_that_were_sent_and_those_sent_as_urls() -> None:
    sent = str(encode(jpeg(), "a.jpg"))
    text = explain(result(), asking("a.jpg", "https://host/b.jpg"), media=[sent])
    assert pictures_in(text) == [sent, "https://host/b.jpg (sent as a URL)"]


def test_where_nothing_was_sent_pictures_are_named_without_base64() -> None:
    data = base64.b64encode(jpeg()).decode()
    sources = (f"data:image/jpeg;base64,{data}", data, b"bytes", {"path": "p.jpg", "bytes": jpeg()}, "a.jpg")
    names = ["data URL", "base64 text", "embedded image", "p.jpg", "a.jpg"]
    assert pictures_in(explain(result(), asking(*sources))) == names


def error(number: int, said: str) -> Result:
    place = f"q.jsonl:{number}"
    about = {"benchmark": "b", "subset": "s", "id": str(number), "model": "m", "cluster": "c"}
    return Result(**about, nodeid=f"n[{number}]", outcome=Outcome.ERROR, error=f"{place}: {said}", where=place)


def test_errors_that_differ_in_place_or_name_are_one_cause() -> None:
    said: list[str] = []
    terminal = SimpleNamespace(config=None, write_sep=lambda *_, **__: None, write_line=said.append)
    missing = [error(n, f"field 'image_1': file '{n}.jpg' is not there") for n in range(1995)]
    others = [error(3000 + n, "field 'answer' is missing") for n in range(3)]
    Printer(terminal).errors([*missing, *others, error(4000, "field 'question' is missing")])
    assert said == [
        "1,995 x field 'image_1': file '0.jpg' is not there, and the like",
        "    first: q.jsonl:0, n[0]",
        "3 x field 'answer' is missing",
        "    first: q.jsonl:3000, n[3000]",
        "1 x q.jsonl:4000: field 'question' is missing",
        "    first: n[4000]",
    ]
