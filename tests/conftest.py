"""A small benchmark that plugin tests run: twelve questions over six pictures."""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpcore  # noqa: F401 - pytester forgets what its runs import; these modules must not come twice
import pytest
from PIL import Image

import pytest_vqaeval.items
import pytest_vqaeval.models.openai
import pytest_vqaeval.run  # noqa: F401

# the same examples in each run, and no deadline: a busy machine fails no test. (pytest loads this file for the
# benchmarks too, where hypothesis need not be installed.)
with contextlib.suppress(ModuleNotFoundError):
    import hypothesis

    hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
    hypothesis.settings.load_profile("steady")

SPEC = """\
name: shapes
title: Shapes
tags: [toy]
data: {folder: shapes}
records: q.jsonl
sample:
  id: "{id}"
  messages:
    - role: user
      content: [{image: "pics.zip!p/{picture}"}, {text: "{prompt}"}]
  reference: "{answer}"
  subset: "{lang}"
  cluster: "{picture}"
prompt: "{question}\\nAnswer in one word."
categories: {English: [en], Chinese: [zh]}
groups: [kind]
marks: [kind]
score: {scorer: short_answer}
"""

ALWAYS_YES = """\
import httpcore  # noqa: F401 - pytester forgets what its runs import; these modules must not come twice
import pytest

@pytest.fixture(scope="session")
def vqa_model():
    return lambda messages: "yes"
"""


def rows() -> list[dict[str, str]]:
    """Numbers are even or odd; six answers are yes, six are no."""
    return [
        {
            "id": f"q{n}",
            "question": f"Is number {n} even?",
            "answer": "no" if n % 2 else "yes",
            "picture": f"{n // 2}.jpg",
            "kind": "Closed" if n % 3 else "OPEN",
            "lang": "en" if n < 8 else "zh",
        }
        for n in range(12)
    ]


def jpeg(width: int = 32, height: int = 24, colour: int = 100) -> bytes:
    """A small picture."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (colour, 0, 0)).save(buffer, "JPEG")
    return buffer.getvalue()


def write_rows(folder: Path, records: list[dict[str, str]]) -> None:
    """The records of the small benchmark."""
    folder.mkdir(exist_ok=True)
    folder.joinpath("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))


@pytest.fixture
def shapes(pytester: pytest.Pytester) -> Path:
    """The folder with the small benchmark: shapes.vqa.yaml, shapes/q.jsonl, shapes/pics.zip."""
    root = pytester.path
    root.joinpath("shapes.vqa.yaml").write_text(SPEC)
    write_rows(root / "shapes", rows())
    with zipfile.ZipFile(root / "shapes" / "pics.zip", "w") as archive:
        for n in range(6):
            archive.writestr(f"p/{n}.jpg", jpeg(colour=40 * n))
    return root


@pytest.fixture
def always_yes(shapes: Path) -> Path:
    """The small benchmark with a model that says yes to everything: half of it is right."""
    shapes.joinpath("conftest.py").write_text(ALWAYS_YES)
    return shapes


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches a hub; those of downloads point at a server of their own (`HubServer.point_here`)."""
    monkeypatch.setenv("VQA_OFFLINE", "1")


_SESSIONS_BEFORE_GARBAGE = 25
_tests = itertools.count(1)


@pytest.fixture(autouse=True)
def garbage() -> Iterator[None]:
    """Sessions inside of tests leave cycles behind, old ones that are looked at too seldom: a suite grew to 1.5 GB."""
    yield
    if next(_tests) % _SESSIONS_BEFORE_GARBAGE == 0:
        gc.collect()


Run = Callable[..., pytest.RunResult]


@pytest.fixture(params=[(), ("-n", "0"), ("-n", "2")], ids=["alone", "n0", "n2"])
def xdist_options(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Without xdist's option, with `-n 0` and with `-n 2`."""
    options: tuple[str, ...] = request.param
    return options


@pytest.fixture
def run(xdist_options: tuple[str, ...], pytester: pytest.Pytester) -> Run:
    """Run pytest in each of the ways of `xdist_options`."""
    return lambda *arguments: pytester.runpytest(*xdist_options, *arguments)


@pytest.fixture
def run_apart(xdist_options: tuple[str, ...], pytester: pytest.Pytester) -> Run:
    """The same in a process of its own: for thousands of samples, of which pytester would record every hook call."""
    return lambda *arguments: pytester.runpytest_subprocess(*xdist_options, *arguments)


def summary_of(root: Path) -> dict[str, object]:
    """The JSON summary that a run wrote to out.json."""
    summary: dict[str, object] = json.loads(root.joinpath("out.json").read_text())
    return summary


def counts_of(root: Path) -> dict[str, int]:
    """The counts of the only benchmark of out.json that are not zero."""
    (benchmark,) = summary_of(root)["benchmarks"]  # type: ignore[misc]
    names = ("correct", "wrong", "unparsed", "truncated", "empty", "scored", "error", "not_run")
    return {name: benchmark["overall"][name] for name in names if benchmark["overall"][name]}
