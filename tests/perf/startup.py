"""What import, collection and wrong answers cost on SLAKE: `python -m tests.perf.startup`.

Ratios are taken within one run of this script, as timings on a shared machine drift.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DATA = (ROOT / os.environ.get("VQA_REAL_DATA", "../shared/data")).resolve()
RUNS = 5


def seconds(*command: str, cwd: str) -> float:
    """Median wall time of a command."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    python = sys.executable
    rows = (DATA / "slake" / "test.json").read_text()
    with tempfile.TemporaryDirectory() as folder:
        empty = seconds(python, "-c", "import pytest", cwd=folder)
        plugin = seconds(python, "-c", "import pytest, pytest_vqaeval.plugin", cwd=folder)
        print(f"import pytest_vqaeval.plugin   {1000 * (plugin - empty):6.0f} ms beside pytest's own")
        pytest = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--vqa-data={DATA}")
        none = seconds(*pytest, "--co", cwd=folder)
        collect = seconds(*pytest, "--co", "--vqa-benchmark=slake", cwd=folder)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"collect 2,094 samples          {collect:6.2f} s whole process ({collect - none:.2f} s more than none)")
        print(f"peak memory of collection      {memory:6.0f} MB")
        times = {}
        for name in ("right", "wrong"):
            file = Path(folder) / f"{name}.py"
            file.write_text(
                "import json, sys\n"
                f"rows = json.loads({rows!r})\n"
                f"lines = [json.dumps(dict(id=str(r['qid']), reply=r['answer'] if {name == 'right'} else 'neither'))"
                " for r in rows]\n"
                f"open('{name}.jsonl', 'w').write('\\n'.join(lines))\n"
            )
            subprocess.run([python, str(file)], cwd=folder, check=True)
            model = f"--vqa-model=replay:{name}.jsonl"
            times[name] = seconds(*pytest, "--vqa-benchmark=slake", model, cwd=folder)
        print(f"2,094 right answers            {times['right']:6.2f} s")
        print(f"2,094 wrong answers            {times['wrong']:6.2f} s ({times['wrong'] / times['right']:.2f} x)")


if __name__ == "__main__":
    main()
