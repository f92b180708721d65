"""A stored run whose benchmarks are opened again: questions and pictures, as far as they are still there."""

import json
import shutil
from pathlib import Path

import pytest

from pytest_vqaeval.__main__ import main
from pytest_vqaeval.reopened import Reopened
from pytest_vqaeval.store import StoredRun, read_run
from tests.conftest import Run, rows, write_rows


def stored(root: Path) -> StoredRun:
    return read_run((root / ".vqaeval" / "latest").resolve())


def test_questions_and_pictures_come_back(always_yes: Path, run: Run) -> None:
    run("shapes.vqa.yaml", "--vqa-model=m")
    kept = stored(always_yes)
    opened = Reopened(kept)
    assert not opened.problems
    questions = {result.id: opened.question(result) for result in kept.results}
    assert {name: q and q.text for name, q in questions.items()} == {row["id"]: row["question"] for row in rows()}
    assert opened.archive("shapes").read("pics.zip!p/0.jpg").startswith(b"\xff\xd8")


def test_a_run_folder_names_no_absolute_path(
    always_yes: Path, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run("shapes.vqa.yaml", "--vqa-model=m", f"--vqa-media-root={always_yes}")
    moved = tmp_path_factory.mktemp("moved")
    folder = stored(always_yes).path
    assert (
        str(always_yes) not in folder.joinpath("run.json").read_text() + folder.joinpath("selected.jsonl").read_text()
    )
    shutil.copytree(always_yes, moved / "all", symlinks=True)
    shutil.rmtree(always_yes / "shapes")
    opened = Reopened(stored(moved / "all"))
    assert not opened.problems


def test_a_data_file_without_a_spec(always_yes: Path, run: Run) -> None:
    file = always_yes / "own.jsonl"
    messages = [{"role": "user", "content": "Is it?"}]
    file.write_text("".join(json.dumps({"id": n, "messages": messages, "answer": "yes"}) + "\n" for n in range(3)))
    run("own.jsonl", "--vqa-model=m")
    kept = stored(always_yes)
    opened = Reopened(kept)
    assert [(q := opened.question(result)) and q.text for result in kept.results] == ["Is it?"] * 3


def test_data_that_is_gone(always_yes: Path, run: Run) -> None:
    run("shapes.vqa.yaml", "--vqa-model=m")
    always_yes.joinpath("elsewhere").mkdir()
    shutil.move(always_yes / "shapes", always_yes / "elsewhere" / "shapes")
    kept = stored(always_yes)
    opened = Reopened(kept)
    assert len(opened.problems) == 1
    assert opened.problems[0].startswith("shapes: questions and pictures can't be read again: no data for shapes")
    assert opened.question(kept.results[0]) is None
    assert not Reopened(kept, data=always_yes / "elsewhere").problems


def test_data_that_changed(always_yes: Path, run: Run) -> None:
    """A question with another reference is not the one that was asked."""
    run("shapes.vqa.yaml", "--vqa-model=m")
    changed = rows()
    changed[0]["answer"] = "perhaps"
    write_rows(always_yes / "shapes", changed[:6])
    kept = stored(always_yes)
    opened = Reopened(kept)
    found = [opened.question(result) is not None for result in kept.results]
    assert found == [False] + [True] * 5 + [False] * 6
    assert opened.changed == 1


def test_a_merged_run_in_another_place(always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its parts named relative to their folders is found from its own."""
    for number in (1, 2):
        run("shapes.vqa.yaml", "--vqa-model=m", f"--vqa-shard={number}/2", f"--vqa-out=part{number}")
    monkeypatch.chdir(always_yes)
    assert main(["merge", "part1/latest", "part2/latest", "-o", "far/away/from/them"]) == 1
    kept = read_run((always_yes / "far" / "away" / "from" / "them").resolve())
    opened = Reopened(kept)
    assert not opened.problems
    assert all(opened.question(result) for result in kept.results)
