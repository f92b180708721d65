"""`merge`: shards and pieces of a run become one run, which is what the run of all would have been."""

import json
from pathlib import Path

import pytest

from pytest_vqaeval.__main__ import main
from pytest_vqaeval.store import read_run
from tests.conftest import summary_of

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json"]
Out = pytest.CaptureFixture[str]


@pytest.fixture
def models(shapes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replies of a model that is right about even numbers, and of one that knows all but q0."""
    for name, known in (("even", range(0, 12, 2)), ("most", range(1, 12))):
        lines = [{"id": f"q{n}", "reply": ("no" if n % 2 else "yes") if n in known else "neither"} for n in range(12)]
        shapes.joinpath(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.chdir(shapes)
    return shapes


def run(pytester: pytest.Pytester, name: str, *options: str, model: str = "even") -> Path:
    """A run in the folder `name`."""
    pytester.runpytest(*ALL, f"--vqa-model=replay:{model}.jsonl", f"--vqa-out={name}", *options)
    return pytester.path / name / "latest"


def test_shards_are_the_whole_run(models: Path, pytester: pytest.Pytester, capsys: Out) -> None:
    parts = [str(run(pytester, f"part{n}", f"--vqa-shard={n}/2", "--vqa-fail-under=0.1")) for n in (1, 2)]
    run(pytester, "whole", "--vqa-fail-under=0.5")
    capsys.readouterr()
    assert main(["merge", *parts, "-o", "merged", "--vqa-fail-under=0.5", "--json"]) == 0
    merged, whole = json.loads(capsys.readouterr().out), summary_of(models)
    for benchmark in (*merged["benchmarks"], *whole["benchmarks"]):  # type: ignore[misc]
        benchmark.pop("usage", None)
    assert merged["benchmarks"] == whole["benchmarks"]
    assert merged["gates"] == whole["gates"]
    stored = read_run(models / "merged")
    assert len(stored.results) == 12
    assert stored.header["exit_code"] == 0
    assert main(["show", "merged"]) == 0
    assert "gate pass: shapes replay:even.jsonl: fail_under 0.5: 0.5000 of 12 answered" in capsys.readouterr().out


def test_a_merged_run_can_be_compared_and_saved(models: Path, pytester: pytest.Pytester, capsys: Out) -> None:
    parts = [str(run(pytester, f"part{n}", f"--vqa-shard={n}/2")) for n in (1, 2)]
    code = main(["merge", *parts, "-o", "merged", "--vqa-fail-under=0.5", "--vqa-save-baseline=base.json"])
    assert code == 0
    assert main(["compare", "base.json", "merged"]) == 0
    assert "0 worse, 0 better, of 12 samples" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 1, ""),  # wrong answers, and no gate
        (["--vqa-fail-under=0.6"], 1, "gate fail: shapes replay:even.jsonl: fail_under 0.6: 0.5000 of 12 answered"),
        (["--vqa-fail-under=other=0.6"], 20, "gate inconclusive: other: fail_under 0.6: no sample was selected"),
        (["--vqa-fail-under=60"], 4, "error: --vqa-fail-under: '60' is not a score from 0 to 1"),
        (["--vqa-baseline=none.json"], 4, "none.json can't be read: No such file or directory"),
    ],
)
def test_gates_run_on_the_merge(
    models: Path, pytester: pytest.Pytester, capsys: Out, options: list[str], code: int, said: str
) -> None:
    parts = [str(run(pytester, f"part{n}", f"--vqa-shard={n}/2")) for n in (1, 2)]
    capsys.readouterr()
    assert main(["merge", *parts, "-o", "merged", *options]) == code
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert (models / "merged").exists() == (code != 4)


def test_a_lacking_shard_passes_no_gate(models: Path, pytester: pytest.Pytester, capsys: Out) -> None:
    part = str(run(pytester, "part1", "--vqa-shard=1/2"))
    assert main(["merge", part, "-o", "merged", "--vqa-fail-under=0.5", "--vqa-save-baseline=base.json"]) == 1
    out = capsys.readouterr().out
    assert "gate inconclusive: shapes" in out
    assert "base.json was not saved: shapes replay:even.jsonl is partial: 6 of 12 samples were selected" in out
    assert main(["merge", part, "-o", "merged2", "--vqa-fail-under=0.5"]) == 20


def test_the_pieces_of_a_run_that_broke_off(models: Path, pytester: pytest.Pytester, capsys: Out) -> None:
    whole = models.joinpath("even.jsonl").read_text()
    models.joinpath("even.jsonl").write_text("".join(whole.splitlines(keepends=True)[:7]))
    first = str(run(pytester, "first"))  # five errors
    stopped = str(run(pytester, "stopped", "-x"))  # most were never reached
    models.joinpath("even.jsonl").write_text(whole)
    rest = str(run(pytester, "rest", "-k", "not q0"))
    assert main(["merge", first, stopped, rest, "-o", "merged", "--vqa-fail-under=0.5"]) == 0
    assert "12 samples:\n  6 correct, 6 wrong, 0 unparsed, 0 truncated, 0 empty, 0 error" in capsys.readouterr().out


def test_allowed_errors_are_allowed_on_the_merge_but_no_lost_worker(
    models: Path, pytester: pytest.Pytester, capsys: Out
) -> None:
    whole = models.joinpath("even.jsonl").read_text()
    models.joinpath("even.jsonl").write_text("".join(whole.splitlines(keepends=True)[:11]))
    part = run(pytester, "part").resolve()  # one error
    gates = ["--vqa-fail-under=0.4", "--vqa-max-errors=1"]
    assert main(["merge", str(part), "-o", "one", "--vqa-fail-under=0.4"]) == 1
    assert main(["merge", str(part), "-o", "two", *gates]) == 0
    samples = part / "samples.jsonl"
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for line in lines:
        if line["outcome"] == "error":
            line["error"] = "the xdist worker crashed"
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["merge", str(part), "-o", "three", *gates]) == 1


def test_two_verdicts_on_one_sample_are_an_error(models: Path, pytester: pytest.Pytester, capsys: Out) -> None:
    first = run(pytester, "first")
    assert main(["merge", str(first), str(first), "-o", "same", "--vqa-fail-under=0.5"]) == 0
    models.joinpath("even.jsonl").write_text(models.joinpath("most.jsonl").read_text())
    other = run(pytester, "other")
    capsys.readouterr()
    assert main(["merge", str(first), str(other), "-o", "merged"]) == 4
    names = f"{first.resolve().name} and {other.resolve().name}"
    said = f"error: shapes.vqa.yaml::en[q0] (replay:even.jsonl) has different results in {names}\n"
    assert capsys.readouterr().err == said
    assert not (models / "merged").exists()


def test_models_stay_apart(models: Path, pytester: pytest.Pytester, capsys: Out) -> None:
    both = [str(run(pytester, name, model=name)) for name in ("even", "most")]
    assert main(["merge", *both, "-o", "merged", "--vqa-fail-under=0.5"]) == 0
    assert read_run(models / "merged").header["models"] == ["replay:even.jsonl", "replay:most.jsonl"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--vqa-generation=temperature=1"], "generation parameters"),
        (["--vqa-repeats=2"], "number of samples or repeats"),
    ],
)
def test_runs_that_asked_otherwise_are_not_merged(
    models: Path, pytester: pytest.Pytester, capsys: Out, change: list[str], said: str
) -> None:
    both = [str(run(pytester, "one")), str(run(pytester, "two", *change))]
    capsys.readouterr()
    assert main(["merge", *both, "-o", "merged"]) == 4
    assert f"can't be merged: shapes has other {said}" in capsys.readouterr().err


def test_a_folder_that_is_there_is_left_alone(models: Path, pytester: pytest.Pytester, capsys: Out) -> None:
    part = str(run(pytester, "part"))
    models.joinpath("merged").mkdir()
    assert main(["merge", part, "-o", "merged", "--vqa-save-baseline=b.json"]) == 4
    assert not (models / "b.json").exists()
    assert capsys.readouterr().err == "error: -o: merged is there already\n"
