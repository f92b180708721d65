"""The block that explains a wrong answer, and the list of errors by cause."""

import base64
from types import SimpleNamespace
from typing import Any

from pytest_vqaeval.asking import Asked
from pytest_vqaeval.media import Media, encode
from pytest_vqaeval.question import Question
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.reports.block import explain
from pytest_vqaeval.reports.terminal import Printer
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome, Score
from tests.conftest import jpeg

SAMPLE: Any = SimpleNamespace(where="q.jsonl:1", spec=SimpleNamespace(title="Q"))
WRONG = Score(Outcome.WRONG, "b", 0.0)


def asking(*sources: Any) -> Question:
    parts = [{"type": "image_url", "image_url": {"url": Media("image", source)}} for source in sources]
    return Question("q", [{"role": "user", "content": [*parts, {"type": "text", "text": "q"}]}], ("a",))


def pictures_in(asked: Asked) -> list[str]:
    lines = explain(SAMPLE, WRONG, asked).splitlines()
    return [line.removeprefix("picture").strip() for line in lines if line.startswith("picture")]


def test_pictures_that_were_sent_and_those_sent_as_urls() -> None:
    question = asking("a.jpg", "https://host/b.jpg")
    sent = encode(jpeg(), "a.jpg")
    found = pictures_in(Asked(question, Reply("b"), (str(sent),), "key"))
    assert found == [str(sent), "https://host/b.jpg (sent as a URL)"]


def test_a_stored_reply_names_its_pictures_without_base64() -> None:
    data = base64.b64encode(jpeg()).decode()
    sources = (f"data:image/jpeg;base64,{data}", data, b"bytes", {"path": "p.jpg", "bytes": jpeg()}, "a.jpg")
    names = ["data URL", "base64 text", "embedded image", "p.jpg", "a.jpg"]
    assert pictures_in(Asked(asking(*sources), Reply("b"))) == [f"{n} (not read: the reply was stored)" for n in names]


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
