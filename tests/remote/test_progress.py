"""What people see of downloads."""

import io

import pytest

from pytest_vqaeval.remote.progress import Progress, megabytes


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_has_one_line_per_download() -> None:
    log = io.StringIO()
    with Progress(log).bar("slake/imgs.zip", "Hugging Face", 207_100_000, 0) as bar:
        bar.move(10)
        bar.move(207_100_000)
    assert log.getvalue() == "vqaeval: fetching slake/imgs.zip (207.1 MB) from Hugging Face\n"


def test_a_terminal_has_a_bar_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("pytest_vqaeval.remote.progress.EVERY_S", -1)
    terminal = Terminal()
    with Progress(terminal).bar("slake/imgs.zip", "Hugging Face", 200_000_000, 0) as bar:
        bar.move(100_000_000)
    lines = terminal.getvalue().split("\r")
    assert all(len(line) <= 80 for line in lines)
    assert lines[2].startswith("slake/imgs.zip: 100.0 MB of 200.0 MB  50% [#####     ] ")
    assert lines[-1].startswith("slake/imgs.zip: 100.0 MB from Hugging Face in 0.")
    assert terminal.getvalue().endswith("\n")


def test_a_bar_that_stops_says_where() -> None:
    terminal = Terminal()
    bar = Progress(terminal).bar("a", "b", None, 0)
    bar.move(5_000_000)
    bar.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert "a: stopped at 5.0 MB" in terminal.getvalue()


def test_of_several_workers_none_tells_of_its_waiting() -> None:
    log = io.StringIO()
    Progress(log, alone=False).wait("a")
    assert log.getvalue() == ""
    Progress(log).wait("a")
    assert log.getvalue() == "vqaeval: waiting for another process that fetches a\n"


def test_a_stream_that_is_gone_stops_nothing() -> None:
    log = io.StringIO()
    progress = Progress(log)
    log.close()
    progress.say("a")
    progress.say("b")


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "size unknown"), (5, "0.0 kB"), (635_829, "635.8 kB"), (1e6, "1.0 MB"), (18.945e9, "18.95 GB")],
)
def test_sizes(count: float | None, text: str) -> None:
    assert megabytes(count) == text
