"""Progress: one line, in place on a terminal, and never in the way of what pytest writes."""

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.progress import _alone_on_a_terminal
from pytest_vqaeval.reports.progress import Log, Progress, Screen
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.testing import Answer, ModelServer

OURS = re.compile(r"\x1bD\x1b\[A\x1b7\x1b\[B\r(.*?)\x1b\[K\x1b8|\x1b\[J")
SOON = """\
import pytest_vqaeval.reports.progress as progress
for place in (progress.Screen, progress.Log):
    place.first_s = place.every_s = 0.05
"""


def result(outcome: str = "correct", number: int = 0, **facts: Any) -> Result:
    known = {"benchmark": "b", "subset": "s", "model": "m", "nodeid": "n", "cluster": "1"}
    score = {"correct": 1.0, "wrong": 0.0, "scored": 0.25}.get(outcome)
    return Result(**{**known, "id": str(number), "outcome": Outcome(outcome), "score": score, **facts})


def test_the_line() -> None:
    progress = Progress(2094, now=100.0)
    assert progress.line(100.0) == "0/2,094, 0.0/s"
    usage = {"prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234}
    for number in range(30):
        outcome = "error" if number == 3 else "wrong" if number % 2 else "correct"
        progress.add(result(outcome, number, usage=usage), None, now=100.0 + number)
    line = progress.line(130.0, in_flight={"answer": 8})
    assert line == "30/2,094, 51.7 % right, 1 error, 1.0/s, 8 in flight, 34:24 left, 37.0k tokens"
    assert len(line) < 80


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    progress = Progress(1000, now=0.0)
    for number in range(500):
        progress.add(result(number=number), None, now=1.0)
    assert progress.line(10.0) == "500/1,000, 100.0 % right, 50/s, 0:10 left"
    for number in range(30):
        progress.add(result(number=500 + number), None, now=100.0)
    assert progress.line(100.0) == "530/1,000, 100.0 % right, 1.0/s, 7:50 left"
    assert progress.line(200.0) == "530/1,000, 100.0 % right, 0.0/s"


def test_a_rerun_takes_the_place_of_the_earlier_result() -> None:
    progress = Progress(2, now=0.0)
    failed, right = result("error"), result(usage={"total_tokens": 7})
    progress.add(failed, None, now=1.0)
    progress.add(right, failed, now=2.0)
    progress.add(right, right, now=2.0)  # the same reply, scored once more
    assert progress.line(2.0) == "1/2, 100.0 % right, 1.5/s, 0:01 left, 7 tokens"


def test_reused_replies_are_not_spent() -> None:
    progress = Progress(1, now=0.0)
    progress.add(result(usage={"total_tokens": 7}, reused=True), None, now=1.0)
    assert progress.line(2.0) == "1/1, 100.0 % right, 0.5/s"


def test_a_run_that_waits_for_its_judge_says_so() -> None:
    assert Progress(9, now=0.0).line(9.0, {"answer": 0, "judge": 8}) == "0/9, 0.0/s, 0 in flight, 8 at the judge"


def test_the_tokens_of_judges_are_spent_too() -> None:
    progress = Progress(1, now=0.0)
    opinion = {"model": "j", "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    progress.add(result(usage={"total_tokens": 7}, judge={"judges": [opinion]}), None, now=1.0)
    assert progress.line(1.0).endswith(", 14 tokens")


def test_graded_scores_are_no_accuracy() -> None:
    progress = Progress(1, now=0.0)
    progress.add(result("scored"), None, now=1.0)
    assert "25.0 % score" in progress.line(1.0)


def written(show: Any) -> str:
    reading, writing = os.pipe()
    show(writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        return stream.read().decode()


def test_the_screen_keeps_the_cursor_and_the_width() -> None:
    text = written(lambda descriptor: Screen(descriptor).show("x" * 90))
    assert text == "\x1bD\x1b[A\x1b7\x1b[B\r" + "x" * 79 + "\x1b[K\x1b8"


def test_what_is_not_shown_is_not_cleared() -> None:
    assert written(lambda descriptor: Screen(descriptor).clear()) == ""


def test_a_terminal_that_is_gone_ends_no_run() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for place in (Screen(writing), Log(writing, starts_lines=True)):
        place.show("x")
        place.clear()
    os.close(writing)


def test_ordinary_tests_alone_have_no_progress(shapes: Path) -> None:
    shapes.joinpath("test_slow.py").write_text("import time\ndef test_slow(): time.sleep(0.5)")
    shapes.joinpath("conftest.py").write_text(SOON)
    command = [sys.executable, "-m", "pytest", "test_slow.py", "--vqa-model=m"]
    done = subprocess.run(command, cwd=shapes, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout
    assert "vqaeval: 0" not in done.stdout.replace("vqaeval: 0.1", "")


def test_a_line_of_a_log_stands_alone() -> None:
    assert written(lambda descriptor: Log(descriptor, starts_lines=False).show("x")) == "\nvqaeval: x\n"
    assert written(lambda descriptor: Log(descriptor, starts_lines=True).show("x")) == "vqaeval: x\n"


def session(folder: Path, *options: str, terminal: bool, environment: dict[str, str] | None = None) -> str:
    """What a run of the small benchmark prints, to a terminal or to a pipe; replies take 30 ms, one at a time."""
    folder.joinpath("conftest.py").write_text(SOON)
    command = [sys.executable, "-m", "pytest", "shapes.vqa.yaml", "-p", "no:cacheprovider", "--vqa-concurrency=1"]
    env = {key: value for key, value in os.environ.items() if key not in ("CI", "COLUMNS", "NO_COLOR", "PY_COLORS")}
    env |= {"TERM": "xterm", **(environment or {})}
    with ModelServer(lambda request: Answer("yes", latency_s=0.03)) as server:
        whole = [*command, f"--vqa-model=m@{server.url}", *options]
        if not terminal:
            return subprocess.run(whole, cwd=folder, env=env, capture_output=True, text=True, check=False).stdout
        ours, theirs = pty.openpty()
        process = subprocess.Popen(whole, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        pieces = []
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux's end of a terminal
                break
            if not piece:
                break
            pieces.append(piece)
        process.wait()
        os.close(ours)
        return b"".join(pieces).decode().replace("\r\n", "\n")


def between_the_times(text: str) -> str:
    """What is the same in each run: pytest counts while it collects, and the summary has latencies."""
    return text[: text.index("12 samples")].rpartition("collecting")[2].partition("\n")[2]


@pytest.mark.parametrize("option", ["-vv", "-q"])
def test_a_terminal_shows_the_line_and_pytests_own_output_is_whole(shapes: Path, option: str) -> None:
    options = (option, "--vqa-show=0")
    with_line = session(shapes, *options, terminal=True)
    lines = [match[1] for match in OURS.finditer(with_line) if match[1]]
    assert any(
        re.fullmatch(r"\d+/12, .* right, [\d.]+/s, 1 in flight, 0:\d\d left, \d+ tokens", line) for line in lines
    )
    assert OURS.findall(with_line)[-1] == ""  # the last thing is to clear it
    plain = session(shapes, *options, "-p", "no:vqaeval-progress", terminal=True)
    assert between_the_times(OURS.sub("", with_line)) == between_the_times(plain)


def test_xdist_shows_the_line_too(shapes: Path) -> None:
    text = session(shapes, "-n", "2", terminal=True)
    lines = [match[1] for match in OURS.finditer(text) if match[1]]
    assert lines
    assert all(re.match(r"\d+/12, ", line) and "in flight" not in line for line in lines)


def test_a_log_gets_whole_lines(shapes: Path) -> None:
    text = session(shapes, terminal=False)
    assert "\x1b" not in text
    assert re.search(r"^vqaeval: \d+/12, .*/s, 1 in flight", text, re.MULTILINE)
    assert not re.search(r"[^\n]vqaeval: \d", text)


def test_a_terminal_that_tests_write_to_is_a_log(shapes: Path) -> None:
    text = session(shapes, "-s", terminal=True)
    assert not OURS.search(text)
    assert re.search(r"^vqaeval: \d+/12, ", text, re.MULTILINE)


class OtherReporter(pytest.TerminalReporter):
    """As pytest-sugar has one."""


@pytest.mark.parametrize(
    ("options", "environment", "alone"),
    [
        ([], {}, True),
        (["-s"], {}, False),
        (["--log-cli-level=INFO"], {}, False),
        (["-o", "log_cli=true"], {}, False),
        (["-p", "no:logging"], {}, True),
        ([], {"CI": "true"}, False),
        ([], {"TERM": "dumb"}, False),
        (["other"], {}, False),
    ],
)
def test_when_the_line_is_rewritten_in_place(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    environment: dict[str, str],
    alone: bool,
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    config = pytester.parseconfig(*[option for option in options if option != "other"])
    reporter = (OtherReporter if "other" in options else pytest.TerminalReporter)(config)
    ours, theirs = pty.openpty()
    try:
        assert _alone_on_a_terminal(config, reporter, theirs) is alone
    finally:
        os.close(ours)
        os.close(theirs)


def test_double_quiet_shows_nothing(shapes: Path) -> None:
    assert "vqaeval: " not in session(shapes, "-qq", terminal=False)


def test_a_server_that_is_silent_is_seen(shapes: Path) -> None:
    """The line does not wait for a report: nothing has arrived, and it says so."""
    shapes.joinpath("conftest.py").write_text(SOON)
    started = time.monotonic()
    with ModelServer(lambda request: Answer("yes", latency_s=0.8)) as server:
        command = [sys.executable, "-m", "pytest", "shapes.vqa.yaml", "-k", "q0", "--vqa-concurrency=1"]
        done = subprocess.run(
            [*command, f"--vqa-model=m@{server.url}"], cwd=shapes, capture_output=True, text=True, check=False
        )
    assert time.monotonic() - started > 0.8
    assert "vqaeval: 0/1, 0.0/s, 1 in flight\n" in done.stdout
