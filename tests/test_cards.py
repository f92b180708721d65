"""`describe`: the card of a benchmark, from its spec and its data."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.__main__ import main
from tests.cards import DOCS, arguments, shipped
from tests.conftest import jpeg
from tests.realdata import real_data


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VQA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VQA_DATA", raising=False)


def card_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["describe", *arguments]) == 0
    return capsys.readouterr().out


def test_every_shipped_benchmark_has_a_card() -> None:
    assert sorted(file.stem for file in DOCS.glob("*.md")) == shipped()


@pytest.mark.parametrize("name", shipped())
def test_the_card_in_the_docs_is_what_the_command_writes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """If this fails: `python -m tests.cards` writes the cards anew."""
    if name == "ai2d":
        pytest.importorskip("pyarrow")
    if name == "easy_vqa":
        pytest.importorskip("easy_vqa")
    assert main(arguments(name, real_data("slake").parent)) == 0
    assert capsys.readouterr().out == DOCS.joinpath(f"{name}.md").read_text(encoding="utf-8")


def test_the_numbers_of_slake_are_the_published_ones(capsys: pytest.CaptureFixture[str]) -> None:
    said = card_of(capsys, "slake", "--data", str(real_data("slake").parent))
    rows = {
        line.rsplit(maxsplit=4)[0]: line.split()[-4:] for line in said.splitlines() if re.search(r"\d+ +\d+$", line)
    }
    assert rows == {
        "en_open": ["645", "195.09", "168", "257"],
        "en_closed": ["416", "187.99", "162", "253"],
        "zh_open": ["613", "67.07", "61", "79"],
        "zh_closed": ["420", "65.44", "60", "82"],
        "all samples": ["2,094", "130.2", "60", "257"],
    }
    for fact in (
        "pictures       2,094",
        "per sample     min 1, mean 1, max 1",
        "different      180",
        "image/jpeg (2,094)",
    ):
        assert fact in said
    assert "240x240 to 1024x1024 px" in said
    assert max(map(len, said.splitlines())) <= 80
    assert "a part" not in said


def test_a_part_of_a_benchmark_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    said = card_of(capsys, "pmc_vqa", "--data", str(real_data("pmc_vqa").parent), "--no-pictures")
    assert "100 of the 2,000 samples of the published benchmark" in said
    assert "not read" in said


def test_without_data_the_card_says_what_the_spec_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = card_of(capsys, "slake", "--data", str(tmp_path))
    assert "missing        no data for slake: slake/test.json is not here" in said
    assert "licence        CC-BY-4.0" in said
    assert "Samples" not in said


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_data_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("a.jpg").write_bytes(jpeg(40, 30))
    tmp_path.joinpath("b.jpg").write_bytes(jpeg(10, 10))
    row = {"question": "<image 1> or <image 2>?", "options": ["cat|", "`dog`"], "answer": "A", "image_1": "a.jpg"}
    rows: list[dict[str, Any]] = [{**row, "image_2": "b.jpg"}, {**row, "image_2": "https://host/c.jpg"}]
    write(
        tmp_path / "q.jsonl", [*rows, {**row, "image_2": "gone.jpg"}, {**row, "answer": "Z"}, {"question": "<image 1>"}]
    )
    said = card_of(capsys, "q.jsonl")
    assert "format         General-VMCQ (question, options)" in said
    assert "pictures       4\nper sample     min 2, mean 2, max 2\nas URLs        1, which are not looked at" in said
    assert "different      2\nresolution     10x10 to 40x30 px" in said
    assert "3 samples can't be asked:\n- q.jsonl:3: field 'image_2': file 'gone.jpg' is not" in said
    assert "[image: a.jpg (40x30 px, " in said
    written = card_of(capsys, "q.jsonl", "--markdown")
    shown = json.loads(written.split("```json\n")[1].split("\n```")[0])
    assert shown["options"] == {"A": "cat|", "B": "`dog`"}
    assert shown["messages"][0]["content"][1]["image_url"]["url"].startswith("<a.jpg (40x30 px")


def test_the_command_of_a_card_can_be_pasted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("my data", "elsewhere"):
        tmp_path.joinpath(folder).mkdir()
    file = tmp_path / "my data" / "q.jsonl"
    write(file, [{"question": "?", "options": ["a", "b"], "answer": "A"}])
    monkeypatch.chdir(tmp_path)
    assert "run            pytest 'my data/q.jsonl' --vqa-model=NAME" in card_of(capsys, "my data/q.jsonl")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert f"pytest '{file}' --vqa-model=NAME" in " ".join(card_of(capsys, str(file), "--markdown").split())


def test_options_have_the_names_that_errors_tell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = card_of(capsys, "slake", f"--vqa-data={tmp_path}", f"--vqa-media-root={tmp_path}")
    assert "no data for slake" in said


def test_what_is_no_benchmark_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["describe", "slak"]) == 4
    assert capsys.readouterr().err.startswith("error: there is no benchmark or data file 'slak'; did you mean 'slake'?")
    broken = tmp_path / "q.jsonl"
    broken.write_text('{"x": 1}\n')
    assert main(["describe", str(broken)]) == 4
    assert re.match(r"error: .*q.jsonl: no known format has its columns \(x\)", capsys.readouterr().err)
