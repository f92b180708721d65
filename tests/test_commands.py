"""`python -m pytest_vqaeval`: commands on runs that are over."""

import json
from pathlib import Path

import pytest

from pytest_vqaeval.__main__ import main
from tests.conftest import Run, summary_of


def test_show_prints_the_tables_of_the_run(
    always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json").stdout.str()
    monkeypatch.chdir(always_yes)
    assert main(["show"]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert line.removeprefix("== ") in printed
    assert main(["show", "latest", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["benchmarks"] == summary_of(always_yes)["benchmarks"]


def test_a_run_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "yesterday", "--out", str(tmp_path)]) == 4
    assert capsys.readouterr().err == f"error: there is no run 'yesterday'; there are no runs in {tmp_path}\n"
