"""docs/benchmarks.md and docs/machines.md: complete, and their examples run."""

import json
import re
from pathlib import Path

import pytest
import yaml

from pytest_vqaeval.__main__ import main
from pytest_vqaeval.shipped import SUFFIX, shipped_folder
from pytest_vqaeval.spec import read_spec
from pytest_vqaeval.suites import read_suite, suite_files
from tests.conftest import summary_of
from tests.layouts import LAYOUTS
from tests.realdata import ROOT
from tests.test_readme import example

TEXT = (ROOT / "docs" / "benchmarks.md").read_text()
SPECS = {file.name.removesuffix(SUFFIX): file for file in shipped_folder().glob(f"*{SUFFIX}")}


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_benchmark_is_in_the_table(name: str) -> None:
    (line,) = re.findall(rf"^\| \[.*\| `{name}` \|.*$", TEXT, re.MULTILINE)
    spec = read_spec(SPECS[name])
    assert f"| [{spec.title}](benchmarks/{name}.md) |" in line
    assert f"| {spec.license or 'not stated'} |" in line
    assert all(metric.name in line for metric, _ in spec.metrics)
    assert (ROOT / "docs" / "benchmarks" / f"{name}.md").is_file()


def test_the_readme_counts_them() -> None:
    assert f"{len(SPECS)} benchmarks and three suites" in (ROOT / "README.md").read_text()
    assert len(suite_files(shipped_folder())) == 3


def test_every_suite_is_in_the_table() -> None:
    for name, file in suite_files(shipped_folder()).items():
        (line,) = re.findall(rf"^\| `{name}` \|.*$", TEXT, re.MULTILINE)
        assert all(read_spec(SPECS[entry.benchmark]).title in line for entry in read_suite(file, SPECS))


def test_the_suite(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("benchmarks").joinpath("suites")
    folder.mkdir()
    folder.joinpath("nightly.yaml").write_text(example("suite"))
    entries = read_suite(folder / "nightly.yaml", SPECS)
    assert [entry.benchmark for entry in entries] == ["slake", "chart_qa"]
    result = pytester.runpytest("--vqa-benchmark=nightly", "--vqa-model=demo", "--vqa-data=.")
    result.stdout.fnmatch_lines(["gate inconclusive: chart_qa demo: fail_under 0.7: *"])


def test_cases(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("mixed.vqa.yaml").write_text(example("cases"))
    rows = [
        {"split": "train", "kind": "choice"},
        {"split": "test", "kind": "choice", "question": "Which?", "options": ["a cat", "a dog"], "answer": "B"},
        {"split": "test", "kind": "text", "question": "Is it?", "options": None, "answer": "Yes"},
        {"split": "test", "kind": "text", "question": "What?", "options": None, "answer": "cat"},
    ]
    pytester.path.joinpath("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pytester.makeconftest(
        "import pytest\n@pytest.fixture(scope='session')\n"
        "def vqa_model(): return lambda messages: 'B. a dog' if 'A. a cat' in str(messages) else 'yes'\n"
    )
    pytester.runpytest("mixed.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json")
    (report,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert (report["overall"]["correct"], report["overall"]["wrong"]) == (2, 1)
    assert report["overall"]["aggregates"]["kinds all right"]["value"] == 0.5


def test_the_matrix_is_yaml() -> None:
    jobs = yaml.safe_load(example("matrix"))["jobs"]
    assert jobs["evaluate"]["strategy"]["matrix"]["shard"] == [1, 2, 3, 4]
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    assert "--vqa-shard=${{ matrix.shard }}/4" in commands
    assert "pytest_vqaeval merge" in commands


@pytest.mark.parametrize("name", LAYOUTS)
def test_cards_of_benchmarks_without_data_are_up_to_date(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VQA_CACHE", str(tmp_path))
    main(["describe", name, "--markdown", "--data", str(tmp_path)])
    card = (ROOT / "docs" / "benchmarks" / f"{name}.md").read_text()
    assert capsys.readouterr().out == card  # `python -m pytest_vqaeval describe NAME --markdown` writes it
