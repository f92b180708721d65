"""Which folder is meant, what is refused at once, and what is not even read."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run, counts_of
from tests.realdata import ROOT

ROOT_CONFTEST = (ROOT / "conftest.py").read_text()


@pytest.fixture
def project(always_yes: Path) -> Path:
    """A project laid out as this one: benchmarks/, tests/ and the same root conftest.py."""
    always_yes.joinpath("benchmarks").mkdir()
    always_yes.joinpath("shapes.vqa.yaml").rename(always_yes / "benchmarks" / "shapes.vqa.yaml")
    always_yes.joinpath("shapes").rename(always_yes / "benchmarks" / "shapes")
    always_yes.joinpath("conftest.py").rename(always_yes / "benchmarks" / "conftest.py")
    always_yes.joinpath("tests").mkdir()
    always_yes.joinpath("tests", "test_one.py").write_text("def test_one(): pass\n")
    always_yes.joinpath("conftest.py").write_text(ROOT_CONFTEST)
    return always_yes


@pytest.mark.parametrize(
    ("arguments", "passed", "wrong"),
    [
        ([], 1, 0),
        (["--vqa-model=m"], 6, 6),
        (["--vqa-model=m", "tests"], 1, 0),
        (["--vqa-model=m", "tests", "benchmarks"], 7, 6),
        (["--vqa-model=m", "benchmarks/shapes.vqa.yaml::en[q0]"], 1, 0),
        (["--vqa-model=m", "--vqa-benchmark=shapes::en[q0]"], 1, 0),
        (["--vqa-model=m", "--vqa-benchmark=shapes::zh", "tests"], 3, 2),
    ],
)
def test_which_folder(project: Path, run: Run, arguments: list[str], passed: int, wrong: int) -> None:
    result = run(*arguments, "-p", "no:cacheprovider")
    summary = result.outlines[-1]
    assert f"{passed} passed" in summary
    assert (f"{wrong} wrong" in summary) == bool(wrong)


def test_specs_are_left_alone_without_a_model(always_yes: Path, run: Run) -> None:
    always_yes.joinpath("test_one.py").write_text("def test_one(): pass\n")
    result = run()
    assert result.ret == 0
    result.stdout.re_match_lines([r"=+ 1 passed in .*"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shapes.vqa.yaml"], "shapes.vqa.yaml needs a model: --vqa-model=NAME (and --vqa-url), or --vqa-model=demo"),
        (["shapes.vqa.yaml::en[q0]"], "needs a model"),
        (["--vqa-benchmark=slake"], "slake.vqa.yaml needs a model"),
        (["--vqa-model=m", "--vqa-benchmark=slak"], "there is no benchmark 'slak'; did you mean 'slake'?"),
        (["--vqa-model=m", "--vqa-benchmark=slake:en"], "'slake:en' is not NAME, NAME::SUBSET or NAME::SUBSET[ID]"),
        (["--vqa-model=m", "--vqa-model=m"], "--vqa-model: m is given twice"),
        (["--vqa-model="], "--vqa-model: is empty"),
        (["--vqa-model=@http://h/v1"], "--vqa-model: give it as NAME, or as NAME@URL with http:// or https://"),
        (["--vqa-model=m@ftp://h/v1"], "--vqa-model: give it as NAME, or as NAME@URL with http:// or https://"),
        (["--vqa-model=m", "--vqa-judge=http://h/v1"], "--vqa-judge: give it as NAME, or as NAME@URL with http://"),
        (["--vqa-model=replay:"], "--vqa-model: replay: names no file and no run"),
        (["--vqa-html=/"], "--vqa-html: / is a folder, not a file"),
        (["--vqa-json=/"], "--vqa-json: / is a folder, not a file"),
        (["--vqa-save-baseline=.", "--vqa-model=m"], "is a folder, not a file"),
        (["--vqa-json=shapes.vqa.yaml/out.json"], "shapes.vqa.yaml is a file, not a folder"),
        (["--vqa-limit=0"], "--vqa-limit: '0' is not a whole number of at least 1"),
        (["--vqa-timeout=nan"], "--vqa-timeout: 'nan' is not a time in seconds above 0"),
        (["--vqa-fail-under=60"], "--vqa-fail-under: '60' is not a score from 0 to 1"),
        (["--vqa-generation=top_p"], "--vqa-generation: give it as KEY=JSON"),
        (["--vqa-generation=stop=x"], "the value of stop is not JSON: x"),
        (["--vqa-header=Authorization"], "--vqa-header: give it as NAME=VALUE"),
        (["--vqa-show=many"], "--vqa-show: 'many' is not a whole number of at least 0"),
    ],
)
def test_usage_errors(shapes: Path, run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.ret == 4
    assert message in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vqa-url=localhost:8000/v1"], "'localhost:8000/v1' is not a URL such as *; check --vqa-url"),
        (["--vqa-header=Content-Length=1"], "the header Content-Length is not yours to set; check --vqa-header"),
        (["--vqa-generation=stream=true"], "--vqa-generation stream=… can't be used: *"),
    ],
)
def test_what_is_wrong_about_the_server_stops_the_run(
    shapes: Path, run: Run, arguments: list[str], message: str
) -> None:
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json", *arguments)
    assert result.ret == 4
    result.stdout.fnmatch_lines([f"! *{message} !"])
    counts = counts_of(shapes)
    assert (counts["error"] in (1, 2), sum(counts.values())) == (True, 12)  # with workers: one each, at most


def test_a_model_that_cannot_be_used_fails_an_ordinary_test_that_asks_for_it(
    shapes: Path, pytester: pytest.Pytester
) -> None:
    shapes.joinpath("test_one.py").write_text("def test_one(vqa_model): pass\n")
    result = pytester.runpytest("test_one.py", "--vqa-model=m", "--vqa-url=h")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*'h' is not a URL such as *; check --vqa-url"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_options_may_stand_in_the_ini_file_or_the_environment(
    shapes: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\nvqa_model =\n    replay:yes.jsonl\nvqa_limit = 2\nvqa_json = out.json\n")
    shapes.joinpath("yes.jsonl").write_text("".join(f'{{"id": "q{n}", "reply": "yes"}}\n' for n in range(12)))
    shapes.joinpath("shapes").rename(shapes / "elsewhere")
    elsewhere = shapes / "data"
    elsewhere.mkdir()
    shapes.joinpath("elsewhere").rename(elsewhere / "shapes")
    monkeypatch.setenv("VQA_DATA", str(elsewhere))
    pytester.runpytest("shapes.vqa.yaml")
    assert sum(counts_of(shapes).values()) == 4
    pytester.runpytest("shapes.vqa.yaml", "--vqa-limit=1")
    assert sum(counts_of(shapes).values()) == 2


def test_a_bad_ini_value_names_the_file(shapes: Path, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nvqa_limit = lots\n")
    result = pytester.runpytest()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*vqa_limit in *tox.ini: 'lots' is not a whole number*"])


def test_the_option_help_names_every_option(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--help")
    for option in ("--vqa-model", "--vqa-url", "--vqa-data", "--vqa-fail-under", "--vqa-json", "vqa_limit (string)"):
        assert option in result.stdout.str()


OTHER = """\
name: other
tags: [{tag}]
data: {{folder: other}}
records: huge.jsonl
sample:
  id: "{{id}}"
  messages: [{{role: user, content: "{{question}}"}}]
  reference: "{{answer}}"
  subset: "{{lang}}"
score: {{scorer: short_answer}}
"""


@pytest.mark.parametrize(
    "selection", [["-k", "shapes"], ["-k", "shapes and q1"], ["-m", "toy"], ["-m", "toy and open"]]
)
def test_a_selected_benchmark_needs_no_other(always_yes: Path, run: Run, selection: list[str]) -> None:
    """The other benchmark's file can't be read without the test noticing: it is a FIFO without a writer."""
    import os

    always_yes.joinpath("other").mkdir()
    os.mkfifo(always_yes / "other" / "huge.jsonl")
    always_yes.joinpath("other.vqa.yaml").write_text(OTHER.format(tag="huge"))
    result = run("--vqa-model=m", "--vqa-json=out.json", *selection, ".")
    assert result.ret == 1
    assert set(counts_of(always_yes)) <= {"correct", "wrong"}


@pytest.mark.parametrize("selection", [["-k", "shapes or other"], ["-m", "toy or huge"], ["-k", "q1"]])
def test_a_benchmark_that_may_be_selected_is_read(always_yes: Path, run: Run, selection: list[str]) -> None:
    always_yes.joinpath("other").mkdir()
    row = '{"id": "q1", "question": "?", "answer": "yes", "lang": "en"}\n'
    always_yes.joinpath("other", "huge.jsonl").write_text(row)
    always_yes.joinpath("other.vqa.yaml").write_text(OTHER.format(tag="huge"))
    result = run("--vqa-model=m", *selection, ".", "-v")
    assert "other.vqa.yaml::en[q1]" in result.stdout.str()


def test_importing_the_plugin_is_cheap() -> None:
    heavy = "('httpx', 'PIL', 'yaml', 'tabulate')"
    code = f"import sys, pytest_vqaeval.plugin; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_garbage_collector_is_left_as_it_was(always_yes: Path, pytester: pytest.Pytester) -> None:
    always_yes.joinpath("test_gc.py").write_text(
        "import gc\ndef test_gc():\n    assert gc.isenabled()\n    assert gc.get_threshold()[0] >= 50_000\n"
        "    assert gc.get_freeze_count()\n"
    )
    before = gc.get_threshold(), gc.get_freeze_count()
    result = pytester.runpytest("shapes.vqa.yaml", "test_gc.py", "--vqa-model=m")
    result.stdout.fnmatch_lines(["*7 passed, 6 wrong*"])
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
