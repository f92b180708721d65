"""What a whole run costs on the standard job, as ratios to its floor: `python -m tests.perf.standard_job [ROW ...]`.

180 JPEGs of about 63 kB, a question about one of them each time, a local server that replies after a set time. A row is
one `python -m pytest` as a user starts it, start-up included; the median of several. A server of your own, which must
take the options of `external_server`, is used where the environment variable VQA_BENCH_SERVER names its script.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import io
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageFilter

from pytest_vqaeval.testing import Answer, ModelServer, Request

PICTURES, PICTURE_BYTES = 180, 63_000
ORGANS = ["liver", "left lung", "right kidney", "spleen", "heart", "bladder", "brain", "stomach", "pancreas", "trachea"]
SPEC = """\
name: job
data: {folder: job}
records: questions.jsonl
sample: {format: vmcq}
score: {scorer: choice}
"""


@dataclass(frozen=True)
class Row:
    """A job and what it may cost.

    Attributes:
        about: what it is.
        in_flight: of `--vqa-concurrency`.
        latency_ms: the shortest time to a reply.
        spread_ms: how much longer it may take, evenly.
        slow_ms: how long every 100th reply takes; 0 for like the others.
        samples: their number.
        wrong: whether three of four answers are.
        at_most_s: the wall time to reach, in seconds.
        at_most_ms: the CPU time of a sample to reach, in milliseconds.
        at_most_mb: the peak memory to reach.
    """

    about: str
    in_flight: int
    latency_ms: int = 0
    spread_ms: int = 0
    slow_ms: int = 0
    samples: int = 2000
    wrong: bool = False
    at_most_s: float | None = None
    at_most_ms: float | None = None
    at_most_mb: float | None = None

    def latency_of(self, number: int, text: str) -> float:
        """Seconds to the reply to the request of that number, from 1."""
        if self.slow_ms and number % 100 == 0:
            return self.slow_ms / 1000
        return (self.latency_ms + self.spread_ms * (zlib.crc32(text.encode()) % 1000) / 1000) / 1000

    @property
    def floor_s(self) -> float:
        """The wall time of a client that costs nothing: all latency over the slots.

        With slow replies that can't be reached, for the last one takes its time when the others are done: then it is
        the time of slots that take the questions in order.
        """
        if not self.slow_ms:
            return self.samples * (self.latency_ms + self.spread_ms / 2) / 1000 / self.in_flight
        free = [0.0] * self.in_flight
        for number in range(1, self.samples + 1):
            heapq.heapreplace(free, free[0] + self.latency_of(number, ""))
        return max(free)


ROWS = {
    "right": Row("50 ms, 64 in flight, all right", 64, 50, at_most_s=2.6, at_most_mb=130),
    "wrong": Row("50 ms, 64 in flight, 3 of 4 wrong", 64, 50, wrong=True, at_most_s=3.0, at_most_mb=130),
    "200x64": Row("200 ms, 64 in flight", 64, 200, at_most_s=7.2, at_most_mb=130),
    "200x16": Row("200 ms, 16 in flight", 16, 200, at_most_s=26.2),
    "mixed": Row("300 to 1,500 ms, 64 in flight", 64, 300, 1200, at_most_s=1.06 * 28.125, at_most_mb=130),
    "cpu": Row("0 ms, 16 in flight, all right", 16, at_most_ms=1.4),
    "cpu-wrong": Row("0 ms, 16 in flight, 3 of 4 wrong", 16, wrong=True, at_most_ms=1.6),
    "one": Row("one sample", 8, samples=1, at_most_s=0.7),
    "slow-head": Row("50 ms, every 100th 5 s, 64 in flight", 64, 50, slow_ms=5000, at_most_s=1.2 * 6.8, at_most_mb=130),
    "long": Row("50,000 samples, 0 ms, 16 in flight", 16, samples=50_000, at_most_s=80, at_most_mb=550),
}


@dataclass(frozen=True)
class Cost:
    """What one run took: seconds, milliseconds of CPU a sample, megabytes; and what the server saw."""

    wall_s: float
    cpu_ms: float
    peak_mb: float
    requests: int
    max_in_flight: int


def write_pictures(file: Path) -> None:
    """The archive: noise that is smooth enough for a JPEG of the size wanted."""
    chance, quality = random.Random(7), 0
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(PICTURES):
            noise = Image.frombytes("RGB", (256, 256), chance.randbytes(256 * 256 * 3))
            picture = noise.resize((1024, 1024), Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(1.5))
            quality = quality or min(range(5, 96), key=lambda q: abs(len(_jpeg(picture, q)) - PICTURE_BYTES))
            archive.writestr(f"imgs/img{number:03d}.jpg", _jpeg(picture, quality))


def _jpeg(picture: Image.Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def write_questions(file: Path, count: int, wrong: bool) -> None:
    """Multiple-choice records to which A is always right, or right once in four."""
    chance = random.Random(7)
    with file.open("w") as lines:
        for number in range(count):
            side = chance.choice(["left", "right"])
            record = {
                "question": f"<image 1> Question {number}: which organ is marked in the upper {side} of the image?",
                "options": chance.sample(ORGANS, 4),
                "answer": "ABCD"[number % 4] if wrong else "A",
                "image_1": f"imgs.zip!imgs/img{chance.randrange(PICTURES):03d}.jpg",
            }
            lines.write(json.dumps(record) + "\n")


Stats = Callable[[], tuple[int, int]]
"""How many requests came, and how many were in flight at most."""


@contextlib.contextmanager
def own_server(row: Row) -> Iterator[tuple[str, Stats]]:
    """The project's own, in a thread: this process has nothing else to do."""

    def answer(request: Request) -> Answer:
        return Answer("ANSWER: A", latency_s=row.latency_of(request.number, request.text))

    with ModelServer(answer) as server:
        yield server.url, lambda: (server.count, server.max_in_flight)


@contextlib.contextmanager
def external_server(row: Row, script: str) -> Iterator[tuple[str, Stats]]:
    """A script that writes its port to a file and tells its counters under /stats."""
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder) / "port"
        command = [sys.executable, script, "--port=0", f"--portfile={port}", "--answer=letter:1"]
        latency = [f"--latency-ms={row.latency_ms}", f"--jitter-ms={row.spread_ms}"]
        with subprocess.Popen([*command, *latency], stderr=subprocess.DEVNULL) as server:
            try:
                while not port.exists():
                    if server.poll() is not None:
                        sys.exit(f"{script} ended with exit code {server.returncode}")
                    time.sleep(0.01)
                address = f"http://127.0.0.1:{port.read_text()}"
                yield f"{address}/v1", lambda: _stats(f"{address}/stats")
            finally:
                server.terminate()


def _stats(url: str) -> tuple[int, int]:
    with urllib.request.urlopen(url) as response:
        counters = json.load(response)
    return counters["requests"], counters["max_in_flight"]


def run(row: Row, folder: Path) -> Cost:
    """One run as a process of its own.

    Raises:
        SystemExit: a sample has no reply, or the server was asked for one twice.
    """
    script = os.environ.get("VQA_BENCH_SERVER")
    with external_server(row, script) if script and not row.slow_ms else own_server(row) as (url, stats):
        command = [sys.executable, "-m", "pytest", "job.vqa.yaml", f"--vqa-model=m@{url}", "--vqa-data=."]
        command += [f"--vqa-concurrency={row.in_flight}", "--vqa-json=summary.json"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "VQA_"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else all is compiled anew in each run, 0.5 s of CPU
        with (folder / "output.txt").open("w") as output:
            started = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=folder, env={**environment, "NO_PROXY": "*"}, stdout=output, stderr=output
            )
            _, status, usage = os.wait4(process.pid, 0)
            wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)  # lest Popen wait for it, too
        requests, max_in_flight = stats()
    _check(row, folder, process.returncode, requests)
    shutil.rmtree(folder / ".vqaeval", ignore_errors=True)
    cpu_ms = 1000 * (usage.ru_utime + usage.ru_stime) / row.samples
    peak_mb = usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
    return Cost(wall_s, cpu_ms, peak_mb, requests, max_in_flight)


def _check(row: Row, folder: Path, exit_code: int, requests: int) -> None:
    """A fast run that left something out is none."""
    summary = folder / "summary.json"
    right = -(-row.samples // 4) if row.wrong else row.samples
    wanted = (int(row.wrong), row.samples, right, row.samples)
    overall = json.loads(summary.read_text())["benchmarks"][0]["overall"] if summary.exists() else {}
    found = (exit_code, overall.get("answered"), overall.get("correct"), requests)
    if found != wanted:
        print((folder / "output.txt").read_text()[-3000:])
        sys.exit(f"exit code, answered, correct, requests at the server: {found}, not {wanted}")
    summary.unlink()


def _line(row: Row, costs: list[Cost]) -> str:
    def median(name: str) -> float:
        return float(statistics.median(getattr(cost, name) for cost in costs))

    wall_s, cpu_ms, peak_mb = median("wall_s"), median("cpu_ms"), max(cost.peak_mb for cost in costs)
    ratio = f"{wall_s / row.floor_s:.2f}" if row.floor_s else ""
    limits = ((wall_s, row.at_most_s, "s"), (cpu_ms, row.at_most_ms, "ms"), (peak_mb, row.at_most_mb, "MB"))
    missed = [f"over {most:.3g} {unit}" for value, most, unit in limits if most is not None and value > most]
    return (
        f"{row.about:38}{row.floor_s:7.2f}{wall_s:8.2f}{ratio:>7}{cpu_ms:8.2f}{peak_mb:8.0f}"
        f"{max(cost.requests for cost in costs):8}{max(cost.max_in_flight for cost in costs):6}  {', '.join(missed)}"
    ).rstrip()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"which rows (default: all but long): {', '.join(ROWS)}")
    parser.add_argument("--long", action="store_true", help="the row of 50,000 samples, too")
    parser.add_argument("--runs", type=int, default=3, help="runs of each row (default: 3)")
    options = parser.parse_args()
    names = options.rows or [name for name in ROWS if name != "long"]
    names += ["long"] if options.long and "long" not in names else []
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"no row {unknown[0]}; there are {', '.join(ROWS)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.joinpath("job").mkdir()
        folder.joinpath("job.vqa.yaml").write_text(SPEC)
        write_pictures(folder / "job" / "imgs.zip")
        print(f"{'job':38}{'floor s':>7}{'wall s':>8}{'ratio':>7}{'CPU ms':>8}{'peak MB':>8}{'asked':>8}{'most':>6}")
        for row in map(ROWS.__getitem__, names):
            write_questions(folder / "job" / "questions.jsonl", row.samples, row.wrong)
            print(_line(row, [run(row, folder) for _ in range(options.runs)]), flush=True)
    print("CPU per sample; asked: requests at the server; most: in flight at once")


if __name__ == "__main__":
    main()
