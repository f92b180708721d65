"""What people do with tests, they do with samples."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.conftest import Run, counts_of, rows, summary_of, write_rows

ALL = ["shapes.vqa.yaml", "--vqa-model=mine", "--vqa-json=out.json"]


def test_every_sample_is_an_item(always_yes: Path, run: Run) -> None:
    result = run(*ALL)
    assert result.ret == 1
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    result.stdout.re_match_lines([r"=+ 6 passed, 6 wrong in .*"])


def test_collect_only_lists_node_ids_without_a_model(shapes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--co", "-q", "shapes.vqa.yaml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["shapes.vqa.yaml::en[[]q0]", "shapes.vqa.yaml::zh[[]q11]", "12 tests collected*"])
    assert not shapes.joinpath(".vqaeval").exists()


@pytest.mark.parametrize(
    ("selection", "count"),
    [
        (["-k", "zh"], 4),
        (["-k", "q1"], 3),
        (["-k", "shapes and not zh"], 8),
        (["-m", "toy and closed"], 8),
        (["-m", "open"], 4),
        (["-m", "not toy"], 0),
        (["--vqa-limit=3"], 6),
    ],
)
def test_keywords_marks_and_limit(always_yes: Path, run: Run, selection: list[str], count: int) -> None:
    result = run(*ALL, *selection, "--strict-markers")
    assert result.ret == (1 if count else 5)
    assert count == (sum(counts_of(always_yes).values()) if count else 0)


@pytest.mark.parametrize("part", ["en", "en[q3]"])
def test_node_ids(always_yes: Path, run: Run, part: str) -> None:
    run(f"shapes.vqa.yaml::{part}", *ALL[1:])
    assert sum(counts_of(always_yes).values()) == (8 if part == "en" else 1)


def test_exitfirst_stops_and_explains(always_yes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*ALL, "-x")
    assert result.ret == 1
    assert counts_of(always_yes) == {"correct": 1, "wrong": 1, "not_run": 10}
    result.stdout.fnmatch_lines(
        [
            "*wrong answers (1 of 1 shown)*",
            "*shapes.vqa.yaml::en[[]q1]*",
            "outcome      wrong",
            "question     Is number 1 even?",
            "picture      pics.zip!p/0.jpg (32x24 px, * bytes, image/jpeg)",
            "sent         user: [[]image]",
            "             Is number 1 even?",
            "             Answer in one word.",
            "reply        yes",
            "extracted    yes",
            "normal form  yes",
            "of reference no",
            "reference    no",
            "finish       no finish reason given",
            "record       q.jsonl:2 in Shapes",
            "again        pytest --vqa-model=mine 'shapes.vqa.yaml::en[[]q1]'",
        ],
        consecutive=False,
    )
    assert "Traceback" not in result.stdout.str()
    assert "items.py" not in result.stdout.str()


def test_the_command_that_runs_one_sample_again_knows_which_options_take_a_value(
    always_yes: Path, pytester: pytest.Pytester
) -> None:
    pytester.runpytest(*ALL)
    result = pytester.runpytest("--vqa-offline", "shapes.vqa.yaml", "--vqa-model", "m", "--vqa-resume", "--vqa-show=1")
    result.stdout.fnmatch_lines(["again        pytest --vqa-offline --vqa-model=m 'shapes.vqa.yaml::en[[]q1]'"])


def test_last_failed_asks_the_wrong_ones_again(always_yes: Path, run: Run) -> None:
    run(*ALL)
    result = run(*ALL, "--lf")
    assert counts_of(always_yes) == {"wrong": 6}
    result.stdout.fnmatch_lines(["*6 of the benchmark's 12 samples were selected*"])


def test_a_spec_outside_rootdir_has_node_ids(
    shapes: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes.joinpath("yes.jsonl").write_text("".join(f'{{"id": "q{n}", "reply": "yes"}}\n' for n in range(12)))
    elsewhere = pytester.mkdir("elsewhere")
    elsewhere.joinpath("pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(elsewhere)
    arguments = [f"--rootdir={elsewhere}", f"{shapes}/shapes.vqa.yaml"]
    result = pytester.runpytest(*arguments, "--co", "-q")
    result.stdout.fnmatch_lines(["benchmarks/shapes.vqa.yaml::en[[]q0]"])
    arguments += [f"--vqa-model=replay:{shapes}/yes.jsonl", f"--vqa-json={shapes}/out.json"]
    pytester.runpytest(*arguments)
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    pytester.runpytest(*arguments, "--lf")
    assert counts_of(shapes) == {"wrong": 6}


def test_junit_tells_wrong_from_error(always_yes: Path, run: Run) -> None:
    always_yes.joinpath("shapes", "q.jsonl").open("a").write("{broken\n")
    run(*ALL, "--junitxml=junit.xml")
    suite = ET.parse(always_yes / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("13", "6", "1")
    messages = [failure.get("message", "") for failure in suite.iter("failure")]
    assert all("outcome      wrong" in message for message in messages)


def test_names_of_any_script_and_hostile_ids(shapes: Path, pytester: pytest.Pytester) -> None:
    import json

    ids = ["a::b", "x/y.z", "肝脏", "a b", "a-b", "[q]"]
    shapes.joinpath("shapes", "q.jsonl").write_text(
        "".join(
            json.dumps({"id": i, "question": "?", "answer": "yes", "picture": "0.jpg", "kind": "k", "lang": "en"})
            + "\n"
            for i in ids
        )
    )
    shapes.joinpath("conftest.py").write_text("import pytest\n@pytest.fixture\ndef vqa_reply(): return 'yes'\n")
    result = pytester.runpytest(*ALL, "-v")
    assert counts_of(shapes) == {"correct": 6}
    for node in ("en[a-b]", "en[x-y-z]", "en[-q-]", "en[a-b-row3]"):
        assert f"shapes.vqa.yaml::{node} PASSED" in result.stdout.str()
    stored = [json.loads(line)["id"] for line in (shapes / ".vqaeval/latest/samples.jsonl").read_text().splitlines()]
    assert stored == ids  # the identity is what the data says, whatever the node id


@pytest.mark.parametrize("mark", ["skip", "xfail", "parametrize"])
def test_a_value_that_is_a_mark_of_pytest_does_nothing(always_yes: Path, pytester: pytest.Pytester, mark: str) -> None:
    text = always_yes.joinpath("shapes", "q.jsonl").read_text().replace('"OPEN"', f'"{mark}"')
    always_yes.joinpath("shapes", "q.jsonl").write_text(text)
    result = pytester.runpytest(*ALL)
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    result.stdout.fnmatch_lines([f"*the value '{mark}' is not made a mark*"])


def test_xfail_and_skip_by_a_conftest(always_yes: Path, run: Run) -> None:
    always_yes.joinpath("conftest.py").open("a").write(
        """
def pytest_collection_modifyitems(items):
    for item in items:
        if "[q1]" in item.name: item.add_marker(pytest.mark.xfail)
        if "[q3]" in item.name: item.add_marker(pytest.mark.skip)
"""
    )
    run(*ALL)
    assert counts_of(always_yes) == {"correct": 6, "wrong": 5, "not_run": 1}


def test_a_field_that_no_record_has_makes_no_table(always_yes: Path, run: Run) -> None:
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json", "--vqa-group=lang", "--vqa-group=lnag")
    assert list(summary_of(always_yes)["benchmarks"][0]["groups"]) == ["lang"]  # type: ignore[index]
    result.stdout.fnmatch_lines(["*--vqa-group=lnag: no record of shapes has this field"])


def test_a_subset_without_a_name_has_a_row_that_can_be_seen(always_yes: Path, pytester: pytest.Pytester) -> None:
    write_rows(always_yes / "shapes", [{**row, "lang": " " if row["lang"] == "zh" else "en"} for row in rows()])
    result = pytester.runpytest("shapes.vqa.yaml", "--vqa-model=m")
    result.stdout.fnmatch_lines(["' ' *"])
