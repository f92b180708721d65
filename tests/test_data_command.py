"""`python -m pytest_vqaeval data`: what is here, fetching it, and whether it is what it was."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_vqaeval.__main__ import main
from tests.conftest import SPEC
from tests.hubserver import HubServer

FILES = """\
data:
  folder: shapes
  files:
    q.jsonl: {sources: ["hf://datasets/o/d/q.jsonl"]}
    pics.zip: {size: 5, sources: ["hf://datasets/o/d/pics.zip", "modelscope://datasets/o/d/pics.zip"]}
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    published = tmp_path / "served/o/d"
    published.mkdir(parents=True)
    (published / "q.jsonl").write_text("12")
    (published / "pics.zip").write_text("12345")
    (tmp_path / "benchmarks").mkdir()
    spec = SPEC.replace("data: {folder: shapes}\n", FILES)
    (tmp_path / "benchmarks/shapes.vqa.yaml").write_text(spec)
    monkeypatch.chdir(tmp_path)
    with HubServer(tmp_path / "served") as server:
        server.point_here(monkeypatch, tmp_path / "cache")
        yield server


def test_list_says_where_files_are(hub: HubServer, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "own/shapes").mkdir(parents=True)
    shutil.copy(tmp_path / "served/o/d/q.jsonl", tmp_path / "own/shapes")
    assert main(["data", "list", "shapes", "--data", "own"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "shapes",
        f"  q.jsonl   0.0 kB  {tmp_path}/own/shapes/q.jsonl",
        "  pics.zip  0.0 kB  on Hugging Face, ModelScope",
        "",
        f"cache: {tmp_path}/cache",
    ]
    assert not hub.seen
    assert main(["data", "list"]) == 0
    listed = capsys.readouterr().out
    assert "slake\n" in listed
    assert "  images.zip      size unknown  on Hugging Face, ModelScope" in listed


def test_fetch_then_verify(hub: HubServer, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["data", "verify", "shapes"]) == 0
    assert "nothing to verify" in capsys.readouterr().out
    assert main(["data", "fetch", "shapes"]) == 0
    said = capsys.readouterr()
    folder = tmp_path / "cache/shapes"
    assert said.out.splitlines() == [f"{folder}/q.jsonl", f"{folder}/pics.zip"]
    assert "vqaeval: fetching shapes/q.jsonl (0.0 kB) from Hugging Face" in said.err
    assert main(["data", "path", "shapes"]) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    assert main(["data", "verify", "shapes"]) == 0
    assert capsys.readouterr().out.count("as the first download says") == 2
    (folder / "q.jsonl").write_text("13")
    assert main(["data", "verify"]) == 1
    out = capsys.readouterr().out
    assert f"WRONG  {folder}/q.jsonl" in out
    assert out.count("WRONG") == 1


def test_nothing_is_fetched_offline(
    hub: HubServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VQA_OFFLINE", "1")
    assert main(["data", "fetch", "shapes"]) == 4
    assert "shapes/q.jsonl is not here, and nothing is fetched (offline)" in capsys.readouterr().err
    assert not hub.seen


def test_fetch_leaves_no_broken_file_unsaid(hub: HubServer, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["data", "fetch", "shapes"]) == 0
    broken = tmp_path / "cache/shapes/pics.zip"
    broken.write_text("123")
    capsys.readouterr()
    assert main(["data", "fetch", "shapes"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"WRONG  {broken}: sha256 ")
    assert last.endswith("; remove it to have it fetched again")
    broken.unlink()
    assert main(["data", "fetch", "shapes"]) == 0


def test_fetch_fails_in_one_line(hub: HubServer, capsys: pytest.CaptureFixture[str]) -> None:
    hub.status = {"q.jsonl": 403}
    assert main(["data", "fetch", "shapes"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: no data for shapes: shapes/q.jsonl can't be fetched: Hugging Face: access refused")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("fetch",), "error: data fetch: name a benchmark; there are "),
        (("list", "slak"), "error: there is no benchmark 'slak'; did you mean 'slake'?"),
        (("fetch", "easy_vqa"), "error: easy_vqa: no files are published; "),
        (("path", "shapes", "--data", "absent"), "error: no data for shapes: the folder "),
    ],
)
def test_mistakes(hub: HubServer, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...], said: str) -> None:
    assert main(["data", *asked]) == 4
    assert capsys.readouterr().err.startswith(said)
