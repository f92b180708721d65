"""`python -m pytest_vqaeval show`: some of a run's samples, one in full, and the request that was sent."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from pytest_vqaeval.__main__ import main
from pytest_vqaeval.store import read_run
from pytest_vqaeval.testing import ModelServer
from tests.conftest import Run, rows, write_rows

SECRET = "sk-very-secret-key"


@pytest.fixture
def show(always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the small benchmark, of which half is wrong; then `show` with arguments gives code, output and errors."""
    run("shapes.vqa.yaml", "--vqa-model=m")
    monkeypatch.chdir(always_yes)
    monkeypatch.setenv("COLUMNS", "80")
    capsys.readouterr()

    def shown(*arguments: str) -> tuple[int, str, str]:
        code = main(["show", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return shown


def test_samples_of_an_outcome_in_a_subset(show) -> None:
    code, out, _ = show("latest", "--outcome=wrong", "--subset=en", "--limit=3")
    assert code == 0
    assert [line.split(maxsplit=4) for line in out.splitlines()] == [
        ["sample", "outcome", "reference", "answer", "question"],
        ["--------", "---------", "-----------", "--------", "-----------------"],
        *([f"en[q{n}]", "wrong", "no", "yes", f"Is number {n} even?"] for n in (1, 3, 5)),
        ["3", "of", "4", "(--limit", "N shows more; `show RUN ID` shows one in full)"],
    ]
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", ["q3", "en[q3]", "shapes::en[q3]", "shapes.vqa.yaml::en[q3]"])
def test_one_sample_in_full(show, name: str) -> None:
    code, out, _ = show("latest", name)
    assert code == 0
    for line in (
        "outcome      wrong",
        "question     Is number 3 even?",
        "picture      pics.zip!p/1.jpg",
        "reply        yes",
        "of reference no",
        "record       q.jsonl:4 in Shapes",
    ):
        assert f"\n{line}\n" in f"\n{out}"


def test_without_the_data_the_rest_is_shown(show, always_yes: Path) -> None:
    always_yes.joinpath("shapes", "q.jsonl").unlink()
    code, out, err = show("latest", "q3")
    assert code == 0
    assert "reply        yes\n" in out
    assert "question" not in out
    assert err.startswith("shapes: questions and pictures can't be read again: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["latest", "q99"], "error: there is no sample 'q99' in the run; did you mean 'q9'?; it has 12 results"),
        (["latest", "--subset=fr"], "error: --subset: 'fr' is not in the run; there are en, zh"),
    ],
)
def test_what_is_not_there(show, arguments: list[str], message: str) -> None:
    code, out, err = show(*arguments)
    assert code == 4
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.strip() == message


def test_a_model_without_a_server_has_no_requests(
    shapes: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes.joinpath("replies.jsonl").write_text("".join(f'{{"id": "q{n}", "reply": "no"}}\n' for n in range(12)))
    run("shapes.vqa.yaml", "--vqa-model=replay:replies.jsonl")
    monkeypatch.chdir(shapes)
    capsys.readouterr()
    assert main(["show", "latest", "--requests", "q3"]) == 4
    message = "error: replay:replies.jsonl was not asked over HTTP, or the run does not say where\n"
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_limit_is_at_least_one(show, limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        show("latest", "--outcome=wrong", f"--limit={limit}")
    assert f"'{limit}' is not a whole number of at least 1" in capsys.readouterr().err


def test_confusion(show) -> None:
    code, out, _ = show("latest", "--confusion")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["==", "shapes", "en:", "m"]
    assert lines[1] == ["reference", "\\", "answer", "no", "yes"]
    assert lines[3:5] == [["no", "·", "4"], ["yes", "·", "4"]]


def test_a_request_can_be_sent_again(
    shapes: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The very bytes, but for the key and the values of headers, which are nowhere."""
    monkeypatch.setenv("MY_KEY", SECRET)
    options = ["--vqa-api-key-env=MY_KEY", f"--vqa-header=X-Team={SECRET}", "--vqa-generation=max_tokens=20"]
    with ModelServer("no", keep_bodies=True) as server:
        run("shapes.vqa.yaml", f"--vqa-model=m@{server.url}", *options)
        sent = next(request for request in server.requests if "number 3 " in request.text)
        monkeypatch.chdir(shapes)
        capsys.readouterr()
        assert main(["show", "latest", "--requests", "q3"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        command = shlex.split(out.replace("\\\n", " "))
        assert command[:2] == ["curl", f"{server.url}/chat/completions"]
        assert "Authorization: Bearer $MY_KEY" in command
        assert "X-Team: VALUE" in command
        body = Path(command[-1].removeprefix("@"))
        assert body.stat().st_mode & 0o777 == 0o600
        assert json.loads(body.read_text()) == sent.body
        folder = read_run(Path(".vqaeval/latest").resolve()).path
        assert not any(SECRET in file.read_text() for file in folder.iterdir())
        assert SECRET not in out
        before = server.count
        subprocess.run(
            ["sh", "-c", out.replace("curl ", "curl -sS --noproxy '*' ", 1)], check=True, capture_output=True
        )
        assert server.count == before + 1


def test_a_request_that_would_be_another_is_told(
    shapes: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer("no") as server:
        run("shapes.vqa.yaml", f"--vqa-model=m@{server.url}")
    write_rows(shapes / "shapes", [{**row, "question": "Is it even?"} for row in rows()])
    monkeypatch.chdir(shapes)
    capsys.readouterr()
    assert main(["show", "latest", "--requests", "q3"]) == 0
    assert "not the request that was answered" in capsys.readouterr().err


def test_no_such_sample_is_said(show) -> None:
    assert show("latest", "--outcome=truncated") == (0, "no sample of the run is such a one\n", "")
