"""The page, as text: what stands in it and what can't. How it behaves is tested in a browser (tests/browser)."""

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_vqaeval.__main__ import main
from pytest_vqaeval.names import printable
from pytest_vqaeval.pictures import thumbnail
from pytest_vqaeval.reports.page.latency import latency_of
from pytest_vqaeval.reports.page.pictures import MOST_PIXELS, side_of
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from tests.conftest import Run, rows, write_rows

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"'><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnp.exe \u2066x\u2069 \u2028\u2029",
    "\x00\x1b[2J\ud800",
    "x" * 100_000,
]


class Elements(HTMLParser):
    """Names and attributes of all elements, and the texts of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note the element."""
        self.found.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._inside = dict(attributes).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        """A script or style ends."""
        self._inside = None

    def handle_data(self, data: str) -> None:
        """Note the text of a script or style."""
        if self._inside:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + data


def read(file: Path) -> tuple[Elements, dict[str, Any], list[Any]]:
    """The elements of a page, its data, and its pictures."""
    elements = Elements(file.read_text())
    return elements, json.loads(elements.scripts["data"]), json.loads(elements.scripts["pictures"])


def test_the_page_of_a_run(always_yes: Path, run: Run) -> None:
    run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-html=page.html", "--vqa-fail-under=0.9")
    file = always_yes / "page.html"
    assert file.stat().st_mode & 0o777 == 0o600
    _, data, pictures = read(file)
    assert [sample["question"] for sample in data["samples"]] == [row["question"] for row in rows()]
    first = data["samples"][1]
    assert first["answers"] == [
        {
            "outcome": "wrong",
            "reply": "yes",
            "length": 3,
            "extracted": "yes",
            "details": {"normal form": "yes", "of reference": "no"},
        }
    ]
    assert (first["references"], first["pictures"], first["fields"]) == (["no"], [0], {"kind": "Closed"})
    assert len(pictures) == 6  # each once
    with Image.open(io.BytesIO(base64.b64decode(pictures[0]))) as image:
        assert (image.format, image.size) == ("WEBP", (32, 24))
    text = file.read_text()
    assert "50.00<small> %</small>" in text
    assert "Gate fail</b> fail_under 0.9: 0.5000 of 12 answered" in text


def test_the_command_writes_the_same_page(always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-html=page.html")
    monkeypatch.chdir(always_yes)
    assert main(["html", "latest", "-o", "again/page.html"]) == 0
    assert always_yes.joinpath("again", "page.html").read_text() == always_yes.joinpath("page.html").read_text()


def test_nothing_is_loaded_and_only_its_own_script_runs(always_yes: Path, run: Run) -> None:
    run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-html=page.html")
    elements, _, _ = read(always_yes / "page.html")
    addresses = [value for _, a in elements.found for name, value in a.items() if name in ("src", "href", "action")]
    assert sorted(address or "" for address in addresses) == ["#samples", "data:,"]
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    assert not [True for _, attributes in elements.found if "style" in attributes]
    policy = next(a["content"] or "" for tag, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    for name in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(elements.scripts[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http://" not in elements.scripts["script"] + elements.scripts["style"]
    assert "https://" not in elements.scripts["script"] + elements.scripts["style"]


def test_hostile_data_and_replies_are_text(shapes: Path, run: Run) -> None:
    """No element comes of them; what turns or hides text is shown as an escape."""
    records = [{**row, "question": HOSTILE[n % 8], "kind": HOSTILE[n % 8][:99]} for n, row in enumerate(rows())]
    write_rows(shapes / "shapes", records)
    shapes.joinpath("conftest.py").write_text(
        "import pytest\n@pytest.fixture(scope='session')\ndef vqa_model():\n"
        "    return lambda messages: messages[0]['content'][1]['text'].rpartition('\\n')[0]\n"
    )
    run("shapes.vqa.yaml", "--vqa-model=<b>m</b>", "--vqa-html=page.html")
    elements, data, _ = read(shapes / "page.html")
    names = [tag for tag, _ in elements.found]
    assert names.count("script") == 3
    assert "b" not in [tag for tag, a in elements.found if "m</b>" in str(a)]
    assert names.count("img") == 1
    raw = shapes.joinpath("page.html").read_text()
    for name in ("data", "pictures"):
        assert "<" not in elements.scripts[name]
    assert not re.search("[\u202e\u2066\u2028\u2029\x00\x1b]", raw)
    questions = {sample["question"] for sample in data["samples"]}
    assert HOSTILE[0] in questions
    assert any("\\u202egnp" in question for question in questions)
    longest = max(sample["answers"][0]["length"] for sample in data["samples"])
    assert longest == 100_000
    assert len(raw) < 400_000


def test_two_runs_side_by_side(always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("shapes.vqa.yaml", "--vqa-model=m")
    conftest = always_yes / "conftest.py"
    conftest.write_text(conftest.read_text().replace('"yes"', '"no"'))
    run("shapes.vqa.yaml::en", "--vqa-model=m")
    monkeypatch.chdir(always_yes)
    names = sorted(path.name for path in always_yes.joinpath(".vqaeval", "runs").iterdir())
    assert main(["html", *names]) == 0
    _, data, pictures = read(always_yes / "vqa.html")
    labels = [column["label"] for column in data["columns"]]
    assert len(set(labels)) == 2
    assert all(label.startswith("m (") for label in labels)
    assert [[a and a["outcome"] for a in sample["answers"]] for sample in data["samples"]] == [
        ["wrong" if n % 2 else "correct", ("correct" if n % 2 else "wrong") if n < 8 else None] for n in range(12)
    ]
    assert len(pictures) == 6


def test_without_data_the_page_says_so(always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("shapes.vqa.yaml", "--vqa-model=m")
    always_yes.joinpath("shapes", "q.jsonl").unlink()
    monkeypatch.chdir(always_yes)
    assert main(["html"]) == 0
    _, data, pictures = read(always_yes / "vqa.html")
    assert len(data["samples"]) == 12
    assert not any("question" in sample for sample in data["samples"])
    assert pictures == []
    assert "questions and pictures can&#39;t be read again" in always_yes.joinpath("vqa.html").read_text()


def test_errors_and_unreached_samples_are_there(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(
        "import pytest\n@pytest.fixture(scope='session')\ndef vqa_model():\n"
        "    def model(messages):\n        raise RuntimeError('no <b>luck</b>')\n    return model\n"
    )
    run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-html=page.html", "--maxfail=2")
    _, data, _ = read(shapes / "page.html")
    outcomes = [sample["answers"][0]["outcome"] for sample in data["samples"]]
    assert (outcomes.count("error"), outcomes.count("not_run"))[1] >= 8
    assert "no <b>luck</b>" in data["samples"][0]["answers"][0]["error"]
    assert "Incomplete" in shapes.joinpath("page.html").read_text()


def test_without_jinja2_the_option_is_refused(always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "jinja2" else found(name, *more)
    )
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-html=page.html")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--vqa-html*needs an extra: pip install 'pytest-vqaeval[[]html]'*"])


@pytest.mark.parametrize(("count", "side"), [(0, 640), (1, 640), (180, 527), (1440, 186), (20_000, 72)])
def test_more_pictures_are_smaller(count: int, side: int) -> None:
    assert side_of(count) == side
    assert count > 9_000 or count * side * side <= MOST_PIXELS


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "P", "1", "I;16", "CMYK"])
def test_thumbnails_of_every_kind(mode: str) -> None:
    buffer = io.BytesIO()
    format = "TIFF" if mode == "CMYK" else "PNG"
    source = Image.new("L", (300, 200), 0)
    source.paste(200, (150, 0, 300, 200))
    _as(source, mode).save(buffer, format)
    with Image.open(io.BytesIO(thumbnail(buffer.getvalue(), "p", 150))) as small:
        assert (small.format, small.size) == ("WEBP", (150, 100))
        grey = small.convert("RGB").convert("L")
        assert grey.getpixel((20, 50)) < 100 < grey.getpixel((130, 50))  # type: ignore[operator]


def _as(image: Image.Image, mode: str) -> Image.Image:
    if mode != "I;16":
        return image.convert(mode)
    deep = image.convert("I").point(lambda value: value * 100 + 0)
    return deep.convert("I;16")


def result(seconds: float | None) -> Result:
    return Result(
        benchmark="b", subset="s", id="1", model="m", nodeid="n", cluster="c", outcome=Outcome.WRONG, latency_s=seconds
    )


def test_latency() -> None:
    found = latency_of([result(n / 100) for n in range(1, 101)] + [result(60.0), result(None)])
    assert found is not None
    assert (found.width, sum(found.counts), found.most) == (0.05, 101, 60.0)
    assert len(found.counts) * found.width >= found.p99
    assert latency_of([result(None)]) is None
    assert latency_of([result(0.0)]) is not None


def test_the_terminals_escapes_and_the_pages_agree_on_what_is_dangerous() -> None:
    from pytest_vqaeval.reports.page.samples import shown

    for char in "\x00\x1b\x9b\u202e\u2066\u2028\ufeff":
        assert char not in shown(char)
        assert char not in printable(char)
    assert shown("a\u200db\tc\nd") == "a\u200db\tc\nd"
