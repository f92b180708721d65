"""What may stand in the place of the model."""

import json
from pathlib import Path

import pytest

from pytest_vqaeval.testing import ModelServer
from tests.conftest import ALWAYS_YES, Run, counts_of, summary_of

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json"]


def replies(folder: Path, text: str = "yes", **more: object) -> str:
    """A file of stored replies to all twelve questions."""
    lines = [json.dumps({"id": f"q{n}", "reply": text, **more}) for n in range(12)]
    folder.joinpath("replies.jsonl").write_text("\n".join(lines))
    return f"--vqa-model=replay:{folder}/replies.jsonl"


def test_stored_replies_are_scored_without_a_server(shapes: Path, run: Run) -> None:
    option = replies(shapes)
    shapes.joinpath("shapes", "pics.zip").unlink()  # pictures are not needed
    run(*ALL, option)
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    assert summary_of(shapes)["benchmarks"][0]["model"] == "replay:replies.jsonl"


def test_a_sample_without_a_stored_reply_is_an_error(shapes: Path, run: Run) -> None:
    option = replies(shapes)
    lines = shapes.joinpath("replies.jsonl").read_text().splitlines()
    shapes.joinpath("replies.jsonl").write_text("\n".join(lines[:10]))
    result = run(*ALL, option)
    assert counts_of(shapes) == {"correct": 5, "wrong": 5, "error": 2}
    result.stdout.fnmatch_lines(["2 x no reply for this sample in replies.jsonl"])


def test_a_stored_finish_reason_counts(shapes: Path, pytester: pytest.Pytester) -> None:
    pytester.runpytest(*ALL, replies(shapes, "", finish_reason="length"))
    assert counts_of(shapes) == {"truncated": 12}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "replies.jsonl holds no records"),
        (
            '{"id": 1, "reply": "a"}\n{"id": "1", "reply": "b"}',
            "replies.jsonl:2: id '1' is also that of replies.jsonl:1",
        ),
        ('{"reply": "a"}', "replies.jsonl:1: has no id (a text or a whole number)"),
        ('{"id": "1"}', "replies.jsonl:1: has no reply (a text)"),
        ('{"id": "1", "reply": 3}', "replies.jsonl:1: has no reply (a text)"),
        ("[1]", "replies.jsonl:1: is not an object of fields"),
        ("{", "replies.jsonl:1: is not valid JSON"),
        (None, "replies.jsonl is not there"),
    ],
)
def test_a_bad_file_of_replies_is_a_usage_error(shapes: Path, run: Run, content: str | None, message: str) -> None:
    if content is not None:
        shapes.joinpath("replies.jsonl").write_text(content)
    result = run(*ALL, "--vqa-model=replay:replies.jsonl")
    assert result.ret == 4
    assert message in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_a_replayed_reply_may_name_its_subset(shapes: Path, pytester: pytest.Pytester) -> None:
    replies(shapes)
    with shapes.joinpath("replies.jsonl").open("a") as file:
        file.write('\n{"id": "q0", "subset": "en", "reply": "no"}')
    pytester.runpytest(*ALL, "--vqa-model=replay:replies.jsonl")
    assert counts_of(shapes) == {"correct": 5, "wrong": 7}


def test_a_function_in_the_place_of_the_model(always_yes: Path, run: Run) -> None:
    run(*ALL, "--vqa-model=label")
    (benchmark,) = summary_of(always_yes)["benchmarks"]
    assert (benchmark["model"], benchmark["overall"]["accuracy"]) == ("label", 0.5)


def test_what_a_function_sees(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(
        """
import base64, io, pytest
from PIL import Image
@pytest.fixture
def vqa_model(vqa_model_name):
    def look(messages):
        (message,) = messages
        picture, text = message["content"]
        assert text == {"type": "text", "text": text["text"]}
        data = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
        assert Image.open(io.BytesIO(data)).size == (32, 24)
        return "no" if int(text["text"].split()[2]) % 2 else "yes"
    return look
"""
    )
    pytester.runpytest(*ALL, "--vqa-model=looks")
    assert counts_of(shapes) == {"correct": 12}


@pytest.mark.parametrize("gives", ["3", "object()"])
def test_a_function_that_gives_no_text_is_an_error(shapes: Path, pytester: pytest.Pytester, gives: str) -> None:
    body = f"import pytest\n@pytest.fixture\ndef vqa_model(): return lambda messages: {gives}\n"
    shapes.joinpath("conftest.py").write_text(body)
    pytester.runpytest(*ALL, "--vqa-model=m")
    assert counts_of(shapes) == {"error": 12}


def test_two_models_are_two_columns(shapes: Path, run: Run) -> None:
    with ModelServer("yes") as server:
        result = run(*ALL, replies(shapes, "no"), f"--vqa-model=a@{server.url}")
    benchmarks = summary_of(shapes)["benchmarks"]
    assert [(b["model"], b["overall"]["correct"]) for b in benchmarks] == [("replay:replies.jsonl", 6), ("a", 6)]
    result.stdout.fnmatch_lines(["subset * replay:replies.jsonl * a"])
    result.stdout.re_match_lines([r"all samples \* +50.00 % of 12 +50.00 % of 12"])


def test_a_function_stands_for_each_of_two_models(always_yes: Path, run: Run) -> None:
    """The fixture of the README does not ask for the name: none of the models is dropped in silence."""
    assert run(*ALL, "--vqa-model=a", "--vqa-model=b", "--vqa-fail-under=0.5").ret == 0
    summary = summary_of(always_yes)
    assert [(b["model"], b["overall"]["answered"]) for b in summary["benchmarks"]] == [("a", 12), ("b", 12)]
    assert len(summary["gates"]) == 2


def test_the_same_name_on_two_servers(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as first, ModelServer("no") as second:
        pytester.runpytest(*ALL, f"--vqa-model=m@{first.url}", f"--vqa-model=m@{second.url}")
    names = [benchmark["model"] for benchmark in summary_of(shapes)["benchmarks"]]
    assert [name.rpartition(":")[0] for name in names] == ["m@127.0.0.1", "m@127.0.0.1"]
    assert (first.count, second.count) == (12, 12)


def test_a_users_own_parametrized_model(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(
        """
import pytest
@pytest.fixture(scope="session", params=["yes", "no"])
def vqa_model(request):
    return lambda messages: request.param
"""
    )
    run(*ALL, "--vqa-model=ignored")
    benchmarks = summary_of(shapes)["benchmarks"]
    assert {b["model"]: b["overall"]["correct"] for b in benchmarks} == {"yes": 6, "no": 6}
    run(*ALL, "--vqa-model=a", "--vqa-model=b")  # each of the two stands for each name: none hides the other
    benchmarks = summary_of(shapes)["benchmarks"]
    correct = {b["model"]: (b["overall"]["correct"], b["overall"]["answered"]) for b in benchmarks}
    assert len(correct) == 4
    assert set(correct.values()) == {(6, 12)}


def test_the_model_hook(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(
        """
def pytest_vqa_model(name, settings):
    if name.startswith("const:"):
        return lambda messages: name.removeprefix("const:")
"""
    )
    run(*ALL, "--vqa-model=const:yes", "--vqa-model=const:no")
    benchmarks = summary_of(shapes)["benchmarks"]
    assert {b["model"]: b["overall"]["correct"] for b in benchmarks} == {"const:yes": 6, "const:no": 6}


def test_fixtures_can_be_overridden_one_by_one(shapes: Path, run: Run) -> None:
    shapes.joinpath("shapes", "pics.zip").unlink()
    shapes.joinpath("conftest.py").write_text(
        """
import io, pytest
from PIL import Image

class Drawn:
    def read(self, source):
        assert source.startswith("pics.zip!p/")
        buffer = io.BytesIO()
        Image.new("RGB", (7, 5)).save(buffer, "PNG")
        return buffer.getvalue()

@pytest.fixture
def vqa_archive(): return Drawn()

@pytest.fixture
def vqa_score(vqa_reply, vqa_sample):
    return vqa_reply.text == "yes" and vqa_sample.subset == "en"
"""
    )
    with ModelServer("yes") as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-show=1")
    assert counts_of(shapes) == {"correct": 8, "wrong": 4}
    result.stdout.fnmatch_lines(["picture      pics.zip!p/4.jpg (7x5 px, * bytes, image/png)"])


def test_generation_parameters_are_sent_as_they_are(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes", keep_bodies=True) as server:
        arguments = ["--vqa-generation=min_p=0.1", '--vqa-generation=stop=["x"]', "--vqa-limit=1"]
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", *arguments)
    body = server.requests[0].body
    assert (body["min_p"], body["stop"], body["temperature"], body["model"]) == (0.1, ["x"], 0, "m")


def test_each_picture_is_read_once(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(
        """
import pytest
from pytest_vqaeval.archive import Archive
reads = []
def pytest_configure():
    read = Archive.read
    Archive.read = lambda self, source: (reads.append(source), read(self, source))[1]
def pytest_unconfigure():
    assert len(reads) == 6, reads
@pytest.fixture
def vqa_model(): return lambda messages: "yes"
"""
    )
    assert pytester.runpytest_subprocess(*ALL, "--vqa-model=m").ret == 1
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


OWN = """\
import pytest


class Own:
    concurrency = 2

    def ask(self, messages):
        return {"yes": "yes", "five": 5}[VALUE]


@pytest.fixture(scope="session")
def vqa_model():
    return Own()
"""


def test_what_an_object_may_return(always_yes: Path, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(OWN.replace("VALUE", "'yes'"))
    pytester.runpytest(*ALL, "--vqa-model=own")
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    pytester.makeconftest(OWN.replace("VALUE", "'five'"))
    result = pytester.runpytest(*ALL, "--vqa-model=own")
    assert counts_of(always_yes) == {"error": 12}
    result.stdout.fnmatch_lines(["12 x the model returned int, not a text"])


def test_a_fixture_that_gives_no_model_stops_the_run(always_yes: Path, run: Run) -> None:
    always_yes.joinpath("conftest.py").write_text(ALWAYS_YES.replace('lambda messages: "yes"', "5"))
    result = run(*ALL, "--vqa-model=own")
    assert result.ret == 4
    result.stdout.fnmatch_lines(["! *the fixture vqa_model gave int; it must give an object with ask*"])
