"""Every outcome, counted where it belongs: an error is never a wrong answer, a missing sample is never silent."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of, rows, summary_of, write_rows

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "--vqa-retries=0"]


def answer(request: Request) -> Answer:
    """What happens to a question is told by its number."""
    number = int(request.text.split()[2])
    return {
        0: Answer("yes"),
        1: Answer("yes"),
        2: Answer(""),
        3: Answer("no", finish_reason="content_filter"),
        4: Answer("I look at the number and", finish_reason="length"),
        5: Answer("<think>it is odd"),
        6: Answer("<think>odd? no, 6</think>Yes."),
        7: Answer("no", finish_reason="length"),
        8: Answer("broken", status=500),
        9: Answer("context length exceeded", status=400),
        10: Answer(body=b"<html>gateway</html>"),
        11: Answer("ANSWER: yes, then cut off in the", finish_reason="length"),
    }[number]


def test_each_outcome(shapes: Path, run: Run) -> None:
    with ModelServer(answer) as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}")
    assert result.ret == 1
    assert counts_of(shapes) == {"correct": 3, "wrong": 2, "truncated": 2, "empty": 2, "error": 3}
    result.stdout.re_match_lines([r"=+ 3 passed, 3 errors, 6 wrong in .*"])
    result.stdout.fnmatch_lines(
        ["  3 correct, 2 wrong, 0 unparsed, 2 truncated, 2 empty, 3 error, 0 not run"],
    )
    result.stdout.fnmatch_lines(["  incomplete: 25.00 % of 12 if all 3 missing are wrong, 50.00 % if right"])
    (benchmark,) = summary_of(shapes)["benchmarks"]
    assert benchmark["overall"]["accuracy"] == pytest.approx(3 / 9)
    assert benchmark["overall"]["bounds"] == [3 / 12, 6 / 12]


def test_a_reply_without_answer_line_is_unparsed(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(
        """
from pytest_vqaeval.scoring.base import UNPARSED
def pytest_vqa_scorers():
    return {"silent": lambda question, text: UNPARSED}
"""
    )
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("short_answer", "silent"))
    with ModelServer("yes") as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
    assert counts_of(shapes) == {"unparsed": 12}


def test_a_bad_record_or_picture_errors_alone(shapes: Path, run: Run) -> None:
    records = rows()
    del records[0]["answer"]
    records[1]["picture"] = "9.jpg"
    records[2]["picture"] = "../conftest.py"
    records[3]["lang"] = "fr"
    records[4]["id"] = "q5"
    del records[6]["id"]
    del records[7]["lang"]
    records[8]["picture"] = "text.jpg"
    write_rows(shapes / "shapes", records)
    shapes.joinpath("shapes", "q.jsonl").open("a").write('{"id": "cut\n')
    with zipfile.ZipFile(shapes / "shapes" / "pics.zip", "a") as archive:
        archive.writestr("p/text.jpg", b"no picture")
    with ModelServer("yes") as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}")
    assert counts_of(shapes) == {"correct": 2, "wrong": 2, "error": 9}
    text = result.stdout.str()
    for message in (
        "q.jsonl:1: field 'answer' is missing",
        "pics.zip has no member 'p/9.jpg'",
        "pics.zip has no member 'p/../conftest.py'",
        "q.jsonl:4: subset 'fr' is not in the spec's categories (en, zh)",
        "q.jsonl:6: id 'q5' is also that of q.jsonl:5",
        "q.jsonl:7: field 'id' is missing",
        "q.jsonl:8: subset: field 'lang' is missing",
        "q.jsonl:13: is not valid JSON",
        "text.jpg is no picture that can be read",
    ):
        assert message in text
    assert "Traceback" not in text


@pytest.mark.parametrize("damage", ["absent", "cut", "no_rows", "broken_json"])
def test_absent_or_broken_data_is_one_error_per_subset(shapes: Path, run: Run, damage: str) -> None:
    file = shapes / "shapes" / "q.jsonl"
    spec = shapes / "shapes.vqa.yaml"
    if damage == "absent":
        spec.write_text(spec.read_text().replace("folder: shapes", "folder: nowhere"))
    elif damage == "cut":
        archive = shapes / "shapes" / "pics.zip"
        archive.write_bytes(archive.read_bytes()[:2000])
    elif damage == "no_rows":
        file.write_text("\n")
    else:
        spec.write_text(spec.read_text().replace("q.jsonl", "q.json"))
        file.rename(file.with_suffix(".json")).write_text('[{"id": 1},')
    with ModelServer("yes") as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}")
    assert result.ret == 1
    assert server.count == 0
    assert counts_of(shapes) == {"error": 12 if damage == "cut" else 2}
    said = {
        "absent": "no data for shapes: looked for *nowhere; --vqa-data names the folder that holds nowhere/",
        "cut": "* fetch it again*",
        "no_rows": "*q.jsonl holds no records*",
        "broken_json": "*q.json:1: is not valid JSON*",
    }
    result.stdout.fnmatch_lines([f"*{said[damage]}*"])


def test_two_thousand_errors_end_in_a_short_summary(shapes: Path, run_apart: Run) -> None:
    records = [{**rows()[n % 12], "id": f"q{n}"} for n in range(2000)]
    write_rows(shapes / "shapes", records)

    def dies(request: Request) -> Answer:
        return Answer("yes") if request.number <= 5 else Answer("overloaded", status=503)

    with ModelServer(dies) as server:
        result = run_apart(*ALL, f"--vqa-model=m@{server.url}", "--vqa-show=2", "-q")
    assert counts_of(shapes)["error"] == 1995
    assert "1,995 x HTTP 503" in result.stdout.str()
    lines = [line for line in result.outlines if not line.endswith("%]")]
    assert len(lines) - 2 * 16 < 60, "\n".join(lines)  # two wrong answers are shown in full
    assert result.stdout.str().count("Traceback") == 0


def test_a_lost_worker_is_an_error(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(
        """
import os, signal, pytest
@pytest.fixture(scope="session")
def vqa_model():
    def model(messages):
        if "number 4 " in str(messages): os.kill(os.getpid(), signal.SIGKILL)
        return "yes"
    return model
"""
    )
    result = pytester.runpytest_subprocess(*ALL, "--vqa-model=m", "-n", "2")
    assert result.ret == 1
    assert counts_of(shapes) == {"correct": 5, "wrong": 6, "error": 1}
    result.stdout.fnmatch_lines(["1 x the xdist worker crashed", "*first: shapes.vqa.yaml::en[[]q4]"])


def test_a_users_model_that_raises_is_shown_where(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef vqa_model():\n    return lambda messages: 1 / 0\n"
    )
    result = run(*ALL, "--vqa-model=m", "--vqa-show=1")
    assert counts_of(shapes) == {"error": 12}
    result.stdout.fnmatch_lines(["12 x ZeroDivisionError: division by zero", "*conftest.py:4: ZeroDivisionError"])
    assert result.stdout.str().count("conftest.py:4: ZeroDivisionError") == 1


def test_a_scorer_that_exits_leaves_its_neighbours_alone(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(
        "import sys\ndef leaving(question, text): return sys.exit(3) if question.record['id'] == 'q0' else True\n"
        "def pytest_vqa_scorers(): return {'leaving': leaving}\n"
    )
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("short_answer", "leaving"))
    with ModelServer("yes") as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}")
    result.stdout.fnmatch_lines(["1 x *the scorer leaving failed: SystemExit: 3 (*conftest.py:2)"])
    assert counts_of(shapes) == {"correct": 11, "error": 1}


def test_a_scorer_that_raises_is_an_error_not_a_wrong_answer(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(
        "def broken(question, text): return [][0]\ndef pytest_vqa_scorers(): return {'broken': broken}\n"
    )
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("short_answer", "broken"))
    with ModelServer("yes") as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}")
    assert counts_of(shapes) == {"error": 12}
    result.stdout.fnmatch_lines(["12 x the scorer broken failed: IndexError: list index out of range (*conftest.py:1)"])


def test_control_characters_do_not_reach_the_terminal(shapes: Path, run: Run) -> None:
    with ModelServer("no\x1b[2J\u202e\x07") as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}")
    assert not set(result.stdout.str()) & {"\x1b", "\u202e", "\x07"}
    assert "\\x1b[2J\\u202e\\x07" in result.stdout.str()


def test_long_replies_are_cut_in_the_middle(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("a" * 50_000 + "b" * 50_000) as server:
        result = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-show=1")
    assert "98,800 characters left out" in result.stdout.str()
    assert len(result.stdout.str()) < 20_000


def test_interrupted_runs_write_their_summary(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(
        """
import os, signal, pytest
@pytest.fixture(scope="session")
def vqa_model():
    def model(messages):
        if "number 4 " in str(messages): os.kill(os.getpid(), signal.SIGINT)
        return "yes"
    return model
"""
    )
    result = pytester.runpytest_subprocess(*ALL, "--vqa-model=m")
    assert result.ret == 2
    assert counts_of(shapes) == {"correct": 2, "wrong": 2, "not_run": 8}


def test_the_run_folder_is_private_and_holds_no_secret(shapes: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-hush")

    def echoes(request: Request) -> Answer:
        assert request.headers["authorization"] == "Bearer sk-hush"
        assert request.headers["x-team"] == "team-hush"
        return Answer(f"bad {request.headers['authorization']}", status=400) if request.number > 6 else Answer("no")

    arguments = ["--vqa-api-key-env=MY_KEY", "--vqa-header=X-Team=team-hush", "-vv"]
    with ModelServer(echoes) as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}", *arguments)
    assert counts_of(shapes)["error"] == 6
    folder = shapes / ".vqaeval" / "latest"
    files = [file for file in folder.iterdir() if file.is_file()]
    assert {file.name for file in files} >= {"run.json", "samples.jsonl", "selected.jsonl"}
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o600
        assert "hush" not in file.read_text()
        assert "base64" not in file.read_text()
    assert "hush" not in result.stdout.str() + result.stderr.str()
    assert os.stat(shapes / "out.json").st_mode & 0o777 == 0o600
    header = json.loads(folder.joinpath("run.json").read_text())
    assert header["schema"] == 1
    assert header["models"] == ["m"]


def test_lines_that_cannot_be_read_are_told_together(always_yes: Path, pytester: pytest.Pytester) -> None:
    always_yes.joinpath("shapes", "q.jsonl").open("a").write("{cut\n{cut\n")
    result = pytester.runpytest(*ALL, "--vqa-model=m")
    result.stdout.fnmatch_lines(["2 x a record is not valid JSON: *", "    first: q.jsonl:13, *"])


LENGTHS = """\
import pytest
from pathlib import Path
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.excinfo:
        shown, whole, tb = len(call.excinfo.traceback), 0, call.excinfo.tb
        while tb:
            whole, tb = whole + 1, tb.tb_next
        with Path("lengths").open("a") as lines:
            print(shown, whole > 5, file=lines)
    return report
"""


def test_pytest_looks_through_no_traceback_that_is_not_shown(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(LENGTHS)
    with ModelServer("no") as server:
        pytester.runpytest("shapes.vqa.yaml", f"--vqa-model=m@{server.url}", "-q")
    assert set(shapes.joinpath("lengths").read_text().splitlines()) == {"2 True"}, "--pdb has it whole"


PLAIN = """\
import pytest
def test_plain():
    pytest.fail("plain words", pytrace=False)
"""


def test_failures_without_traceback_keep_their_words_everywhere(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("test_plain.py").write_text(PLAIN)
    with ModelServer(lambda request: Answer("no") if request.number > 1 else Answer(status=400)) as server:
        options = [f"--vqa-model=m@{server.url}", "-rfE", "--junitxml=junit.xml", "--vqa-concurrency=1"]
        result = pytester.runpytest("test_plain.py", "shapes.vqa.yaml", *options)
    result.stdout.fnmatch_lines(["FAILED test_plain.py::test_plain - Failed: plain words"])
    result.stdout.no_fnmatch_line("*traceback entries are hidden*")
    junit = shapes.joinpath("junit.xml").read_text()
    assert junit.count('message="Failed: outcome ') == 5, "wrong answers"
    assert 'message="Failed: plain words"' in junit
    assert "entries are hidden" not in junit
