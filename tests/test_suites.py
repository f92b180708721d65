"""Suites: benchmarks that are run together, some of them changed."""

from pathlib import Path

import pytest

from pytest_vqaeval.shipped import SUFFIX, shipped_folder
from pytest_vqaeval.spec import read_spec, read_variant
from pytest_vqaeval.suites import read_suite, suite_files
from tests.conftest import Run, summary_of

SUITE = """\
title: Two
benchmarks:
  - shapes
  - benchmark: others
    limit: 1
    score: {normalize: [lowercase]}
"""


@pytest.fixture
def suite(always_yes: Path) -> Path:
    """A suite of the project's own: the small benchmark, and another one changed; all answers are yes."""
    folder = always_yes / "benchmarks"
    folder.joinpath("suites").mkdir(parents=True)
    spec = always_yes.joinpath("shapes.vqa.yaml").read_text()
    folder.joinpath("shapes.vqa.yaml").write_text(spec)
    folder.joinpath("others.vqa.yaml").write_text(spec.replace("name: shapes", "name: others"))
    file = folder / "suites" / "two.yaml"
    file.write_text(SUITE)
    return file


ALL = ["--vqa-benchmark=two", "--vqa-model=m", "--vqa-data=.", "--vqa-json=out.json"]


def test_all_benchmarks_of_a_suite_run(suite: Path, run: Run) -> None:
    result = run(*ALL)
    found = {report["name"]: report["overall"]["samples"] for report in summary_of(suite.parents[2])["benchmarks"]}  # type: ignore[attr-defined]
    assert found == {"shapes": 12, "others": 2}  # one of each subset
    result.stdout.fnmatch_lines(["  partial: 2 of the benchmark's 12 samples were selected"])


def test_the_option_goes_before_the_suite(suite: Path, pytester: pytest.Pytester) -> None:
    pytester.runpytest(*ALL, "--vqa-limit=2")
    reports = summary_of(pytester.path)["benchmarks"]
    assert [report["overall"]["samples"] for report in reports] == [4, 4]  # type: ignore[attr-defined]


def test_a_wrong_answer_is_asked_again_as_the_suite_asks(suite: Path, pytester: pytest.Pytester) -> None:
    suite.write_text(SUITE.replace("limit: 1", "prompt: 'Other words: {question}'"))
    result = pytester.runpytest(*ALL, "-k", "others and q1")
    again = next(line for line in result.outlines if line.startswith("again "))
    assert again.endswith("'--vqa-benchmark=two/others::en[q1]'")
    result = pytester.runpytest("--vqa-benchmark=two/others::en[q1]", *ALL[1:])
    result.stdout.fnmatch_lines(["*Other words: Is number 1 even?", "* 1 wrong in *"])


def test_a_part_of_a_benchmark(suite: Path, pytester: pytest.Pytester) -> None:
    suite.write_text("benchmarks: ['shapes::zh']")
    result = pytester.runpytest("--co", "-q", *ALL)
    result.stdout.fnmatch_lines(["4 tests collected*"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("benchmarks: [shape]", "1: benchmarks: there is no benchmark 'shape'; did you mean 'shapes'?"),
        ("benchmarks:\n- {benchmark: othrs}", "2: benchmarks[[]0].benchmark: there is no benchmark 'othrs'; did you*"),
        ("benchmarks:\n- {limit: 3}", "2: benchmarks[[]0].benchmark is missing"),
        ("benchmarks: [shapes, 'shapes::en']", "1: benchmarks: shapes is listed twice"),
        ("benchmarks: []", "1: benchmarks: lists no benchmark"),
        ("benchmark: [shapes]", "1: benchmark: unknown key; did you mean 'benchmarks'?; there are title, benchmarks"),
        ("- shapes", "1: is not a mapping of keys (benchmarks:)"),
    ],
)
def test_a_mistake_is_one_line(suite: Path, pytester: pytest.Pytester, text: str, message: str) -> None:
    suite.write_text(text)
    result = pytester.runpytest(*ALL)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: --vqa-benchmark=two: {suite}:{message}"])


def test_a_mistake_with_workers(suite: Path, run: Run) -> None:
    suite.write_text("benchmarks: []")
    assert run(*ALL).ret == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("limit: 0", "5: benchmarks[[]1].limit: '0' is not a whole number of at least 1"),
        ("limt: 1", "5: benchmarks[[]1].limt: unknown key; did you mean 'limit'?*"),
        ("score: {normalise: []}", "short_answer has no option 'normalise'*"),
    ],
)
def test_a_mistake_in_the_changes(suite: Path, pytester: pytest.Pytester, changes: str, message: str) -> None:
    suite.write_text(SUITE.replace("limit: 1", changes).replace("    score: {normalize: [lowercase]}\n", ""))
    result = pytester.runpytest(*ALL)
    result.stdout.fnmatch_lines([f"*{message}"])
    assert "Traceback" not in result.stdout.str()


def test_unknown_names(suite: Path, pytester: pytest.Pytester) -> None:
    for name, message in {
        "twos": "there is no benchmark 'twos'; did you mean 'two'?; there are *; and the suites *, two",
        "two::en": "there is no benchmark 'two'*",
        "two/slake": "the suite two lists no slake",
        "slake:en": "'slake:en' is not NAME, NAME::SUBSET or NAME::SUBSET[[]ID]",
    }.items():
        result = pytester.runpytest(f"--vqa-benchmark={name}", *ALL[1:])
        result.stderr.fnmatch_lines([f"ERROR: --vqa-benchmark: {message}"])
        assert result.ret == 4


def test_a_benchmark_that_two_suites_change(suite: Path, pytester: pytest.Pytester) -> None:
    suite.with_name("more.yaml").write_text("benchmarks: [{benchmark: others, limit: 2}]")
    for name in ("more", "others"):
        result = pytester.runpytest(*ALL, f"--vqa-benchmark={name}")
        result.stderr.fnmatch_lines([f"ERROR: --vqa-benchmark: others is wanted in two ways, by two and {name}"])
    assert pytester.runpytest(*ALL, "--vqa-benchmark=shapes", "--co", "-q").ret == 0


def test_the_shipped_suites_can_be_read() -> None:
    specs = {file.name.removesuffix(SUFFIX): file for file in shipped_folder().glob(f"*{SUFFIX}")}
    suites = suite_files(shipped_folder())
    assert suites.keys() == {"medical", "documents", "quick"}
    for file in suites.values():
        for entry in read_suite(file, specs):
            spec = specs[entry.benchmark]
            made = read_variant(spec, entry.changes()) if entry.changes else read_spec(spec)
            assert made.name == entry.benchmark
