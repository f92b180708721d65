"""50,000 rows of JSONL with pictures by path, collected and described: `python -m tests.perf.many_rows [ROWS]`.

Prints CPU seconds and peak memory of each; ends with 1 if collection takes 8 s or 400 MB.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import jpeg

ROWS = 50_000
PICTURES = 1_000
MOST_SECONDS, MOST_MB = 8, 400


def write(folder: Path, rows: int) -> None:
    """The rows, as users have them: a question of some length, four options, a picture, further columns."""
    folder.joinpath("pictures").mkdir()
    for n in range(PICTURES):
        folder.joinpath("pictures", f"{n}.jpg").write_bytes(jpeg(64, 48, n % 256))
    with folder.joinpath("many.jsonl").open("w") as file:
        for n in range(rows):
            row = {
                "id": f"q{n}",
                "question": f"<image 1> Question {n}: which of these is seen in the upper left part of the picture?",
                "options": [f"the thing that is called {n % 7 + k}" for k in range(4)],
                "answer": "ABCD"[n % 4],
                "image_1": f"pictures/{n % PICTURES}.jpg",
                "category": f"category {n % 12}",
                "source": "made for measuring",
            }
            file.write(json.dumps(row) + "\n")


def measured(*command: str, cwd: str) -> tuple[float, float]:
    """CPU seconds (of one thread: what an idle machine takes), and the peak memory of the process in MB."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    """Print the table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), rows)
        pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
        seconds, memory = measured(*pytest, "--co", "-qq", "many.jsonl", cwd=folder)
        print(f"collect {rows:,} rows    {seconds:6.2f} s {memory:6.0f} MB")
        late = seconds > MOST_SECONDS or memory > MOST_MB
        described = measured(sys.executable, "-m", "pytest_vqaeval", "describe", "many.jsonl", cwd=folder)
        print(f"describe {rows:,} rows   {described[0]:6.2f} s {described[1]:6.0f} MB")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
