"""A run folder that can't be written: one clear line, exit code 4, nothing half-written, nothing counted wrong."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_vqaeval.appendfile import AppendFile, read_rows
from pytest_vqaeval.errors import StoreError
from pytest_vqaeval.testing import ModelServer
from tests.conftest import counts_of
from tests.faults.conftest import Start, many, stored_replies


def files_up_to(size: int):
    """The kernel's own limit, with short writes as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def said(shapes: Path) -> str:
    return shapes.joinpath("output.txt").read_text()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "n2"])
def test_a_disk_that_fills_up(shapes: Path, start: Start, workers: tuple[str, ...]) -> None:
    """There is room for the selection (12 kB), but not for all results (24 kB)."""
    many(shapes, 60)
    with ModelServer("yes") as server:
        assert start(f"--vqa-model=m@{server.url}", *workers, preexec_fn=files_up_to(14_000)).wait(120) == 4
    text = shapes.joinpath("output.txt").read_text()
    assert "the run folder can't be written: File too large" in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    counts = counts_of(shapes)
    assert sum(counts.values()) == 60
    assert counts["not_run"] + counts.get("error", 0) >= 1
    assert len(set(stored_replies(shapes))) >= counts["correct"] + counts["wrong"]
    assert json.loads((shapes / ".vqaeval/latest/run.json").read_text())["exit_code"] == 4


@pytest.mark.parametrize(
    ("file", "workers"),
    [
        ("samples.jsonl", ()),
        ("samples.jsonl", ("-n", "2")),
        ("run.json", ()),
        ("selected.jsonl", ()),
        ("selected.jsonl", ("-n", "2")),
    ],
)
def test_each_file_of_the_run(shapes: Path, pytester: pytest.Pytester, file: str, workers: tuple[str, ...]) -> None:
    shapes.joinpath("conftest.py").write_text(
        f"""
import errno, os
whole = os.open
def no_space(path, *arguments, **more):
    if {file!r} in str(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return whole(path, *arguments, **more)
os.open = no_space
"""
    )
    with ModelServer("yes") as server:
        arguments = ["shapes.vqa.yaml", f"--vqa-model=m@{server.url}", "--vqa-json=out.json", *workers]
        result = pytester.runpytest_subprocess(*arguments)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "can't be written: No space left on device" in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    if file == "samples.jsonl":
        assert sum(counts_of(shapes).values()) == 12
    else:  # without a selection nothing tells what is missing
        assert not shapes.joinpath("out.json").exists()
        assert "all samples" not in text
        assert not shapes.joinpath(".vqaeval", "latest").exists()


def test_a_summary_that_cannot_be_written(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as server:
        result = pytester.runpytest(
            "shapes.vqa.yaml", f"--vqa-model=m@{server.url}", "--vqa-json=/dev/full", "--vqa-fail-under=0.1"
        )
    assert result.ret == 4
    result.stdout.fnmatch_lines(
        ["*all samples*6 of 12*", "vqaeval: /dev/full can't be written: No space left on device"]
    )
    header = json.loads((shapes / ".vqaeval/latest/run.json").read_text())
    assert header["exit_code"] == 4


def test_a_line_that_was_cut_short_stays_alone(tmp_path: Path) -> None:
    """Short writes happen before a disk is full; what is appended when there is room again is on a line of its own."""
    code = f"""
import resource
from pytest_vqaeval.appendfile import AppendFile
from pytest_vqaeval.errors import StoreError
from pathlib import Path
file = AppendFile(Path({str(tmp_path / "rows.jsonl")!r}))
file.append({{"n": 1}})
resource.setrlimit(resource.RLIMIT_FSIZE, (12, resource.RLIM_INFINITY))
try:
    file.append({{"n": 22222}})
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(file.append({{"n": 3}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    path = tmp_path / "rows.jsonl"
    assert done.stdout.split("\n")[0] == f"the run folder can't be written: File too large ({path})"
    assert path.read_text() == '{"n":1}\n{"n"\n{"n":3}\n'
    assert done.stdout.split("\n")[1] == "(13, 8)"


def test_a_line_that_was_torn_in_a_character_is_passed_over(tmp_path: Path) -> None:
    whole = '{"reply":"肝脏"}\n'.encode()
    path = tmp_path / "rows.jsonl"
    for cut in range(1, len(whole)):
        path.write_bytes(whole + whole[:cut])
        AppendFile(path).append({"n": 2})
        assert list(read_rows(path))[:: 1 if cut < len(whole) - 1 else 2] == [{"reply": "肝脏"}, {"n": 2}]


def test_two_writers_of_one_file_know_where_their_lines_are(tmp_path: Path) -> None:
    """A worker that outlives its killed session for a moment, and its successor of the same name."""
    path = tmp_path / "rows.jsonl"
    first, second = AppendFile(path), AppendFile(path)
    places = [writer.append({"n": n}) for n, writer in enumerate([first, second, first, first, second])]
    data = path.read_bytes()
    assert [json.loads(data[offset : offset + length])["n"] for offset, length in places] == [0, 1, 2, 3, 4]


def test_a_thread_that_comes_late_can_still_append(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "rows.jsonl")
    file.append({"n": 1})
    file.close()
    file.append({"n": 2})
    file.close()
    assert file.path.read_text() == '{"n":1}\n{"n":2}\n'


def test_an_error_of_writing_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"the run folder can't be written: No such file or directory \(.*x\.jsonl\)"):
        AppendFile(tmp_path / "nowhere" / "x.jsonl").append({})
