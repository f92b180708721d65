"""Workers of xdist on other machines: a socket server of execnet on the loopback interface, in a folder of its own."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_vqaeval.store import RunFolder, Selection, read_run
from tests.conftest import ALWAYS_YES, counts_of

# what a path of the controller is on another machine: not there
APART = """
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if hasattr(config, "workerinput"):
        config.workerinput["vqa_run"] = {run!r}
"""


@contextlib.contextmanager
def machine(folder: Path) -> Iterator[str]:
    """A machine that takes workers; gives what `--tx` wants."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "{}:{}".format(*free.getsockname())
    command = [sys.executable, "-u", "-m", "execnet.script.socketserver", address]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert server.stdout
        assert "Accept loop" in server.stdout.readline()
        yield f"--tx=socket={address}//chdir={folder}"
    finally:
        server.kill()
        server.communicate()


def test_workers_on_another_machine(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("pytest.ini").write_text("[pytest]\n")
    shapes.joinpath("conftest.py").write_text(ALWAYS_YES)
    shapes.joinpath("benchmarks").mkdir()
    shapes.joinpath("shapes.vqa.yaml").rename(shapes / "benchmarks" / "shapes.vqa.yaml")
    there = shapes.parent / f"{shapes.name}-there"
    shutil.copytree(shapes, there)
    there.joinpath("conftest.py").write_text(ALWAYS_YES + APART.format(run=str(there / "runs" / "one")))
    with machine(there) as tx:
        options = ["--vqa-benchmark=shapes", "--vqa-model=m", "--vqa-data=.", "--vqa-json=out.json"]
        pytester.runpytest("--dist=load", tx, *options, "-k", "not q11")
    assert counts_of(shapes) == {"correct": 6, "wrong": 5}
    (run,) = shapes.joinpath(".vqaeval", "runs").iterdir()
    assert len(read_run(run).results) == 11  # `selected.jsonl` came over
    assert not list(run.glob("replies-*"))  # replies stay where they were received
    kept = there.joinpath("runs", "one", "replies-gw0.jsonl").read_text().splitlines()
    assert len([json.loads(line) for line in kept]) == 11


def test_a_folder_that_is_there_is_not_taken_for_another_machine(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs" / "one")
    assert folder.make_if_apart()
    folder.write_header({})
    assert not folder.make_if_apart()
    assert folder.selection_text() == ""


def test_the_selection_of_another_machine_replaces_none(tmp_path: Path) -> None:
    (tmp_path / "runs" / "one").mkdir(parents=True)
    folder = RunFolder(tmp_path / "runs" / "one")
    folder.take_selection("")
    assert not folder.has_selection
    folder.write_selection(Selection([], []))
    folder.take_selection('{"about": {}}\n')
    assert folder.selection_text() == ""
