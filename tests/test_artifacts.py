"""`--vqa-artifacts DIR`: wrong and errored samples as files."""

from pathlib import Path

import pytest

from pytest_vqaeval.reports.artifacts import safe_name
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, jpeg


def answer(request: Request) -> Answer:
    if "number 7 " in request.text:
        return Answer("out of order", status=400)
    return Answer("yes\ud800" if "number 3 " in request.text else "yes")


def test_wrong_and_errored_samples_are_files(shapes: Path, run: Run) -> None:
    with ModelServer(answer) as server:
        run("shapes.vqa.yaml", f"--vqa-model=m@{server.url}", "--vqa-artifacts=out", "--vqa-retries=0")
    (folder,) = shapes.joinpath("out").iterdir()
    assert folder.name == shapes.joinpath(".vqaeval", "latest").resolve().name
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    wrong = {f"shapes/en/q{n}/{name}" for n in (1, 3, 5) for name in FILES}
    wrong |= {f"shapes/zh/q{n}/{name}" for n in (9, 11) for name in FILES}
    assert found == wrong | {f"shapes/en/q7/{name}" for name in FILES if name != "reply.txt"}
    one = folder / "shapes" / "en" / "q1"
    assert one.joinpath("picture-1.jpg").read_bytes() == jpeg(colour=0)
    assert one.joinpath("reply.txt").read_text() == "yes"
    assert one.joinpath("prompt.txt").read_text() == "user: [image]\nIs number 1 even?\nAnswer in one word."
    assert "reference    no\n" in one.joinpath("about.txt").read_text()
    assert "error        " in folder.joinpath("shapes", "en", "q7", "about.txt").read_text()
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()} == {0o600}


FILES = ("about.txt", "reply.txt", "prompt.txt", "picture-1.jpg")


@pytest.mark.parametrize("text", ["../../etc", "/abs", "a/b", "..", "", "a\0b", "x" * 300, "名/字", "CON:", "\ud800"])
def test_hostile_names_stay_in_the_folder(tmp_path: Path, text: str) -> None:
    name = safe_name(text)
    tmp_path.joinpath(name).mkdir()
    assert tmp_path.joinpath(name).resolve().parent == tmp_path
    assert name != safe_name(text + "!")


def test_plain_names_stay_as_they_are() -> None:
    assert [safe_name(name) for name in ("q1", "en_open", "中文")] == ["q1", "en_open", "中文"]


def test_a_folder_that_cannot_be_written_is_told(always_yes: Path, run: Run) -> None:
    always_yes.joinpath("out").write_text("a file")
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-artifacts=out")
    assert result.ret == 4
    result.stdout.fnmatch_lines(["vqaeval: *out* can't be written: *"])
    assert "INTERNALERROR" not in result.stdout.str()
