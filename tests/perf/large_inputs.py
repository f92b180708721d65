"""Time over large inputs where a quadratic way would take minutes: `python -m tests.perf.large_inputs`.

Prints a line for each input and ends with 1 if one took longer than its bound; bounds are ten times what two idle
cores need, or more.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_vqaeval.question import labels
from pytest_vqaeval.records import read_records
from pytest_vqaeval.scoring.choice_evalscope import read_evalscope
from pytest_vqaeval.scoring.choice_strict import read_strict
from pytest_vqaeval.stats import sign_flip_p

CHARACTERS = 100_000
UNITS = (
    *(
        "ANSWER: ",
        "ANSWER: A\n",
        "ANSWER: A, ",
        "ANSWER: $ ",
        "ANSWER",
        "ANSWER: \\text{",
        "answer is ",
        "(A) ",
        "A) x\n",
    ),
    *(
        "A ",
        "A",
        "the answer is not ",
        "correct option ",
        "\n",
        " ",
        "(",
        "**",
        "{",
        "\\boxed{",
        "\\frac{1}{",
        "√{",
        "<",
    ),
    *(
        "选",
        "答案",
        "应该",
        "option A ",
        "so A",
        "therefore it is MRI. ",
        "1,234,",
        '"',
        "word: ",
        "best fits ",
        "C) x - ",
    ),
    *("最", "'answer_", "A is most likely ", "it is ", "leaves us with "),
)
ROWS = 20_000
STRAY_QUOTES = ('1,"open,b\n', 'x","y\n', '1,"a\n2,b"\n', 'a,"y\nx","y\n', '""""""\n')
DIFFERENCES: dict[str, Callable[[random.Random], list[int]]] = {
    "50,000 samples, all moved": lambda draw: [draw.choice((-1, 1)) for _ in range(50_000)],
    "10,000 clusters of 5": lambda draw: [draw.randint(-5, 5) for _ in range(10_000)],
    "10,000 graded samples": lambda draw: [draw.randint(-100, 100) for _ in range(10_000)],
}

Case = tuple[str, float, Callable[[], Any]]
"""Name, bound in seconds of CPU time, what is done."""


def cases(folder: Path) -> Iterator[Case]:
    """All inputs."""
    scans = ["X-ray", "MRI", "CT", "Ultrasound"]
    for unit in UNITS:
        reply = unit * (CHARACTERS // len(unit))
        yield f"strict parser, {unit!r} repeated", 2, lambda reply=reply: read_strict(reply, scans)
        yield f"evalscope parser, {unit!r} repeated", 2, lambda reply=reply: read_evalscope(reply, labels(4))
    for name, draw in DIFFERENCES.items():
        yield f"sign-flip test, {name}", 5, lambda draw=draw: sign_flip_p(draw(random.Random(2)))
    for row in STRAY_QUOTES:
        for suffix in ("csv", "tsv"):
            text = ("a,b,c\n" + row * ROWS).replace(",", "\t" if suffix == "tsv" else ",")
            file = folder / f"stray.{suffix}"
            yield (
                f"{suffix}, {row!r} repeated",
                10,
                lambda file=file, text=text: (
                    file.write_text(text),
                    read_records(file),
                ),
            )


def main() -> int:
    """Print the table."""
    late = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, bound, work in cases(Path(folder)):
            start = time.process_time()
            work()
            taken = time.process_time() - start
            late += taken > bound
            print(f"{taken:7.2f} s  {name}{'  LATE' if taken > bound else ''}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
