"""`compare`: runs and baseline files on the same samples."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from pytest_vqaeval.__main__ import main
from pytest_vqaeval.baselinefile import write_baseline
from pytest_vqaeval.reports.comparison import compare_all, lines
from pytest_vqaeval.scores import Scores
from tests.rundata import graded, rows, scores

Out = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Baseline files of 100 samples, two to an image: `b` lost eight, `c` lost two and won two."""
    monkeypatch.chdir(tmp_path)
    letters = {
        "a": "c" * 98 + "ww",
        "b": "w" * 8 + "c" * 90 + "ww",
        "c": "w" * 2 + "c" * 98,
    }
    for name, text in letters.items():
        save(name, scores(rows(text, per_cluster=2, model=f"model-{name}")))
    return tmp_path


def save(name: str, *all_scores: Scores) -> None:
    write_baseline(Path(f"{name}.json"), all_scores)


def compared(out: Out, *arguments: str) -> list[str]:
    assert main(["compare", *arguments]) == 0
    return out.readouterr().out.splitlines()


def test_two_baseline_files_alone(files: Path, capsys: Out) -> None:
    lines = compared(capsys, "a.json", "b.json", "--show=2")
    assert lines[:4] == [
        "== B: 2 runs compared",
        "    model    from    samples    accuracy    95 % interval",
        "--  -------  ------  ---------  ----------  ---------------",
        "a   model-a  a.json  100        98.00 %     89.4 - 99.7",
    ]
    assert lines[6:] == [
        "a -> b: no difference seen: -8.00 points (95 % -15.60 to -0.40), p 0.12",
        "  8 worse, 0 better, of 100 samples in 50 clusters",
        "  compared: model model-a -> model-b",
        "  a gate at alpha 0.05 sees a drop of 9.95 points (80 % power)",
        "",
        "worse (2 of 8):",
        "  b.vqa.yaml::s[0]  correct -> wrong",
        "  b.vqa.yaml::s[1]  correct -> wrong",
        "",
    ]
    assert all(len(line) <= 80 for line in lines)


def test_more_than_two_are_compared_in_pairs(files: Path, capsys: Out) -> None:
    lines = compared(capsys, "a.json", "b.json", "c.json")
    pairs = [line for line in lines if "->" in line and line[0] in "abc"]
    assert [line.split(":")[0] for line in pairs] == ["a -> b", "a -> c", "b -> c"]
    assert all("(Holm, 3 pairs)" in line for line in pairs)


def test_verdicts(files: Path, capsys: Out) -> None:
    save("much", scores(rows("w" * 20 + "c" * 78 + "ww", per_cluster=2)))
    (down,) = [line for line in compared(capsys, "a.json", "much.json") if line.startswith("a -> b")]
    (up,) = [line for line in compared(capsys, "much.json", "a.json") if line.startswith("a -> b")]
    assert down.startswith("a -> b: worse: -20.00 points")
    assert up.startswith("a -> b: better: +20.00 points")


def test_two_runs_of_the_same_model_show_its_noise(files: Path, capsys: Out) -> None:
    save("e", scores(rows("w" * 2 + "c" * 98, per_cluster=2, model="model-a")))
    lines = compared(capsys, "a.json", "e.json", "--show=0")
    assert "  the same model, prompt and parameters: 4.0 % (4 of 100) flipped by themselves" in lines
    assert "  a gate at alpha 0.05 sees a drop of 7.03 points (80 % power)" in lines
    assert any("--vqa-repeats" in line for line in lines)


def test_what_can_not_be_compared_says_why(files: Path, capsys: Out) -> None:
    save("other", scores(rows("c" * 100, per_cluster=2), fingerprint={"records": "2"}))
    assert "a -> b: not comparable: other records" in compared(capsys, "a.json", "other.json")


def test_a_single_file_with_two_models_is_enough(files: Path, capsys: Out) -> None:
    both = [scores(rows(letters * 10, model=model)) for letters, model in (("c", "m"), ("w", "n"))]
    save("both", *both)
    assert any(line.startswith("a -> b: worse: -100.00 points") for line in compared(capsys, "both.json"))


def test_graded_scores(files: Path, capsys: Out) -> None:
    for name, value in (("e", 0.5), ("f", 0.25)):
        save(name, scores(graded([value] * 20)))
    lines = compared(capsys, "e.json", "f.json", "--show=1")
    assert any(line.startswith("a -> b: worse: -25.00 points") for line in lines)
    assert "  b.vqa.yaml::s[0]  0.50 -> 0.25" in lines


def test_samples_without_a_verdict_are_left_out_and_counted(files: Path, capsys: Out) -> None:
    save("e", scores(rows("x" * 10 + "c" * 88 + "ww", per_cluster=2)))
    lines = compared(capsys, "a.json", "e.json")
    assert any("90 (of 100)" in line for line in lines)
    assert "  0 worse, 0 better, of 90 samples in 45 clusters" in lines


def test_json_has_all_that_changed(files: Path, capsys: Out) -> None:
    (benchmark,) = json.loads("\n".join(compared(capsys, "a.json", "b.json", "--json", "--show=1")))["benchmarks"]
    (pair,) = benchmark["pairs"]
    assert pair["worse"] == [f"b.vqa.yaml::s[{n}]" for n in range(8)]
    assert (pair["difference"], pair["flip_rate"], pair["samples"], pair["clusters"]) == (-0.08, 0.08, 100, 50)
    assert [run["model"] for run in benchmark["runs"]] == ["model-a", "model-b"]


def test_the_order_of_samples_changes_no_byte(files: Path, capsys: Out) -> None:
    one = compared(capsys, "a.json", "c.json")
    for name in "ac":
        draw = Random(name)
        letters = {"a": "c" * 98 + "ww", "c": "w" * 2 + "c" * 98}[name]
        shuffled = rows(letters, per_cluster=2, model=f"model-{name}")
        draw.shuffle(shuffled)
        save(name, scores(shuffled))
    assert compared(capsys, "a.json", "c.json") == one


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.json", "none.json"], "the baseline none.json can't be read: No such file or directory"),
        (["a.json", "yesterday"], "there is no run 'yesterday'; there are no runs in .vqaeval"),
        (["a.json"], "there is nothing to compare: no benchmark is there twice (found: b)"),
        (["a.json", "z.json"], "there is nothing to compare: no benchmark is there twice (found: b, z)"),
        (["a.json", "b.json", "--alpha=2"], "--alpha: '2' is not a share of false alarms, above 0 and up to 0.5"),
    ],
)
def test_mistakes_are_one_line(files: Path, capsys: Out, arguments: list[str], said: str) -> None:
    save("z", replace(scores(rows("cc")), benchmark="z"))
    assert main(["compare", *arguments]) == 4
    assert capsys.readouterr().err == f"error: {said}\n"


def test_names_from_models_can_not_write_to_the_terminal(files: Path, capsys: Out) -> None:
    for name in "ef":
        save(name, scores(rows("cw" * 10, model=f"{name}\x1b[31m\nx")))
    text = "\n".join(compared(capsys, "e.json", "f.json"))
    assert "\x1b" not in text
    save("e", replace(scores(rows("cc")), benchmark="\x1b[31mz"))
    assert main(["compare", "e.json", "f.json"]) == 4
    assert "\x1b" not in capsys.readouterr().err


def test_runs_of_one_day_are_told_apart(files: Path, capsys: Out) -> None:
    """The start of a run's name is its time; of a file the end of its path counts."""
    long = "replay-slake_en_huatuogpt_vision_7b.jsonl"
    runs = [
        replace(scores(rows("cw" * 10)), source=source)
        for source in (f"20261130-101328-{long}", f"20261130-102437-{long}", "somewhere/baselines/slake.json")
    ]
    text = "\n".join(lines(compare_all([runs], 0.05)[0], 0.05, 10))
    assert all(part in text for part in ("20261130-101328-re", "20261130-102437-re", "elines/slake.json"))
