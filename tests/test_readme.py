"""The examples of README and docs, run as they stand."""

import base64
import json
import re
from pathlib import Path

import pytest

from tests.conftest import Run, counts_of, jpeg
from tests.realdata import ROOT

README = (ROOT / "README.md").read_text()
DOCS = README + "".join(file.read_text() for file in sorted((ROOT / "docs").glob("*.md")))
CI = (ROOT / ".ci" / "run").read_text()


def example(name: str) -> str:
    """The fenced block behind `<!-- test: name -->` in the README or in docs/."""
    found = re.search(rf"<!-- test: {name} -->\n```\w+\n(.*?)```", DOCS, re.DOTALL)
    assert found, f"the docs have no example {name}"
    return found.group(1)


def test_the_model_of_five_lines(shapes: Path, run: Run) -> None:
    code = example("conftest")
    assert sum(bool(line) for line in code.splitlines()) == 4  # and a blank line: five
    shapes.joinpath("conftest.py").write_text(code)
    run("shapes.vqa.yaml", "--vqa-model=mine", "--vqa-json=out.json")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_the_scorer(shapes: Path, run: Run) -> None:
    code = (
        example("scorer") + "\nimport pytest\n@pytest.fixture\ndef vqa_model(): return lambda m: 'Surely YES, I say'\n"
    )
    shapes.joinpath("conftest.py").write_text(code)
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("short_answer", "mentions"))
    run("shapes.vqa.yaml", "--vqa-model=mine", "--vqa-json=out.json")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_the_spec(pytester: pytest.Pytester) -> None:
    root = pytester.path
    root.joinpath("parts.vqa.yaml").write_text(example("spec"))
    root.joinpath("photos").mkdir()
    root.joinpath("photos", "a.jpg").write_bytes(jpeg())
    row = {"id": 1, "question": "What is it?", "answer": "bolt", "photo": "a.jpg", "line": "North"}
    root.joinpath("questions.jsonl").write_text(json.dumps(row) + "\n")
    root.joinpath("conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef vqa_model(): return lambda m: 'Bolt.'\n"
    )
    result = pytester.runpytest("parts.vqa.yaml", "--vqa-model=m", "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["parts.vqa.yaml::north[[]1] PASSED*", "gate pass: parts m: fail_under 0.8*"])


def test_a_table_with_a_scorer_of_its_own(pytester: pytest.Pytester) -> None:
    root = pytester.path
    root.joinpath("custom_vqa.vqa.yaml").write_text(example("own-table-spec"))
    model = "import pytest\n@pytest.fixture\ndef vqa_model(): return lambda m: 'Dog\\n'\n"
    root.joinpath("conftest.py").write_text(example("own-table-scorer") + model)
    picture = base64.b64encode(jpeg()).decode()
    lines = ["index\tquestion\tanswer\timage", f"1\tWhat animal?\tDog\t{picture}", "2\tWhat animal?\tCat\t1", ""]
    root.joinpath("custom_vqa.tsv").write_text("\n".join(lines))
    result = pytester.runpytest("custom_vqa.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json", "-v")
    assert counts_of(root) == {"correct": 1, "wrong": 1}
    result.stdout.fnmatch_lines(
        ["custom_vqa.vqa.yaml::default[[]1] PASSED*", "*Answer the question with one word or *"]
    )


@pytest.mark.parametrize("name", ["demo", "test"])
def test_ci_runs_the_commands_of_the_readme(name: str) -> None:
    assert re.search(rf"<!-- command: {name} -->\n```sh\n.+\n```", README)
    assert f"readme_command {name}" in CI


def test_every_option_named_in_the_docs_exists(pytester: pytest.Pytester) -> None:
    known = pytester.runpytest("--help").stdout.str()
    for option in set(re.findall(r"--vqa-[a-z-]+", DOCS)):
        assert option in known
