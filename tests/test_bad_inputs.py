"""A table of bad inputs: each is one line that names file, line (or row) and field; what stands beside it still runs.

All bad rows run in one session, every file of them between good rows; a case looks at what became of its row.
"""

import base64
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_vqaeval.datafile import read_data_files
from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.zips import MAX_BYTES
from tests.conftest import jpeg

GOOD = "good"  # the model's answer, and the reference of good rows
TIMEOUT_S = 300  # of the session; a good one takes seconds

MODEL = f"""\
import pytest

@pytest.fixture(scope="session")
def vqa_model():
    return lambda messages: "{GOOD} ANSWER: A"
"""


@dataclass
class Bad:
    """A row that can't be asked, and what is said of it after `file:line: ` (a regular expression)."""

    name: str
    row: Any
    says: str


@dataclass
class File:
    """A data file (or the records of a spec) with a good row, the bad ones, and a good row."""

    name: str
    good: Any
    bad: list[Bad]
    header: str = ""
    line_of: Callable[[int], str] = field(default=lambda position: f":{position + 2}")  # of the bad row at a position


def raw(text: str) -> bytes:
    """A line as it stands."""
    return text.encode("utf-8", "surrogatepass")


def ask(content: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}], "answer": GOOD, **more}


def picture(url: Any, **more: Any) -> dict[str, Any]:
    return ask([{"type": "image_url", "image_url": {"url": url, **more}}])


def part(**content: Any) -> dict[str, Any]:
    return ask([content])


def choice(**more: Any) -> dict[str, Any]:
    return {"question": "<image 1> q", "options": ["x", "y"], "answer": "A", **more}


def data_url(content: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


def png(width: int, height: int) -> bytes:
    saved = io.BytesIO()
    Image.new("1", (width, height)).save(saved, "PNG")
    return saved.getvalue()


URL = r"field 'messages\[0\].content\[0\].image_url.url': "
MESSAGES = File(
    "messages.jsonl",
    ask("q"),
    [
        Bad(
            "cut JSON",
            raw('{"messages": [{"role": "user", "content": "q'),
            r"is not valid JSON: Unterminated string .*\(column 43\)",
        ),
        Bad("single quotes", raw("{'messages': []}"), "is not valid JSON: Expecting property name"),
        Bad("two objects on a line", raw('{"messages": []} {"messages": []}'), r"is not valid JSON: Extra data"),
        Bad("a list", [1, 2], "is not an object of fields"),
        Bad("a text", "q", "is not an object of fields"),
        Bad("null", None, "is not an object of fields"),
        Bad("NaN", raw('{"messages": [], "answer": NaN}'), "is not valid JSON: NaN is no finite number"),
        Bad("a number without end", raw('{"x": ' + "9" * 5000 + "}"), "holds a whole number of more than 4,300 digits"),
        Bad("a number too large", raw('{"x": 1e999}'), "is not valid JSON: 1e999 is no finite number"),
        Bad("deep nesting", raw('{"x": ' + "[" * 100_000), "is nested too deeply"),
        Bad("a NUL byte", raw('{"messages": "a\0b"}'), "is not valid JSON: Invalid control character"),
        Bad("no messages", {"answer": GOOD}, "field 'messages' is missing"),
        Bad("messages null", {"messages": None, "answer": GOOD}, "field 'messages' is missing"),
        Bad("messages an object", {"messages": {}, "answer": GOOD}, "field 'messages' is not a list of messages"),
        Bad("messages empty", {"messages": [], "answer": GOOD}, "field 'messages' is not a list of messages"),
        Bad("messages no JSON", {"messages": "hello", "answer": GOOD}, "field 'messages' is not valid JSON"),
        Bad("a message that is none", {"messages": [1], "answer": GOOD}, r"field 'messages\[0\]' is not a message"),
        Bad("no role", {"messages": [{"content": "q"}], "answer": GOOD}, r"field 'messages\[0\].role' is None"),
        Bad(
            "unknown role",
            {"messages": [{"role": "bot", "content": "q"}], "answer": GOOD},
            r"field 'messages\[0\].role' is 'bot'; there are system",
        ),
        Bad(
            "no content",
            {"messages": [{"role": "user"}], "answer": GOOD},
            r"field 'messages\[0\].content' is not a text",
        ),
        Bad("content a number", ask(5), r"field 'messages\[0\].content' is not a text or a list of parts"),
        Bad("unknown part", part(type="picture", x=1), r"field 'messages\[0\].content\[0\].type' is 'picture'"),
        Bad("part without type", part(text="a", more=1), r"field 'messages\[0\].content\[0\].type' is missing"),
        Bad("text a number", part(type="text", text=1), r"field 'messages\[0\].content\[0\].text' is not a text"),
        Bad("image_url a text", part(type="image_url", image_url="a.jpg"), r"field '.*image_url' is not a mapping"),
        Bad("image_url empty", part(type="image_url", image_url={}), r"field '.*image_url.url' is missing"),
        Bad("bad detail", picture("good.jpg", detail="ultra"), r"field '.*url': detail is 'ultra'; there are auto"),
        Bad("answer an object", ask("q", answer={"a": 1}), "field 'answer' is not a text, a number or a list"),
        Bad("answer nested", ask("q", answer=[["a"]]), "field 'answer' is not a text, a number or a list"),
        Bad(
            "no answer among others",
            ask("q", answer=None),
            "field 'answer' is empty, and other records have references",
        ),
        Bad("missing file", picture("gone.jpg"), URL + r"file 'gone.jpg' is not there \(looked in "),
        Bad(
            "a path upwards",
            picture("../secret.jpg"),
            URL + "file '../secret.jpg': names must not be empty or hold '..'",
        ),
        Bad(
            "an absolute path",
            picture("/etc/passwd"),
            URL + "file '/etc/passwd' is not in .*no end of its path is below",
        ),
        Bad("a NUL in a path", picture("a\0.jpg"), URL + r"file 'a\\x00.jpg': names must not be empty"),
        Bad("a folder", picture("folder.jpg"), URL + "file 'folder.jpg' can't be read: .*"),
        Bad("a pipe", picture("pipe.jpg"), URL + "file 'pipe.jpg' can't be read: it is no regular file"),
        Bad("no picture", picture("notes.jpg"), URL + r"notes.jpg is no picture that can be read \(7 bytes\)"),
        Bad("a spec as a picture", picture("zipped.vqa.yaml"), URL + "zipped.vqa.yaml is no picture that can be read"),
        Bad("an empty picture", picture("empty.jpg"), URL + r"empty.jpg is no picture that can be read \(0 bytes\)"),
        Bad("a cut picture", picture("cut.jpg"), URL + "cut.jpg does not decode"),
        Bad("an SVG", picture("drawn.svg"), URL + "drawn.svg is no picture that can be read"),
        Bad(
            "a sound as a picture", picture("sound.wav"), URL + r"sound.wav is no picture that can be read \(audio/wav"
        ),
        Bad("a picture bomb", picture("bomb.png"), URL + "bomb.png has too many pixels"),
        Bad("a huge file", picture("huge.jpg"), URL + "file 'huge.jpg' is larger than 256 MiB"),
        Bad("a long name", picture("x.y" * 100 + ".jpg"), URL + r"file 'x.*can't be read: File name too long"),
        Bad("a data URL of text", picture("data:text/plain,hello"), URL + "data URL is not base64"),
        Bad("a data URL that is broken", picture("data:image/png;base64,####"), URL + "data URL is not valid base64"),
        Bad(
            "a data URL without a picture", picture(data_url(b"hello")), URL + "data URL is no picture that can be read"
        ),
        Bad("an empty data URL", picture("data:image/png;base64,"), URL + r"data URL is no picture .*\(0 bytes\)"),
        Bad("a file URL", picture("file:///etc/passwd"), URL + "file 'file:///etc/passwd' is not there"),
        Bad(
            "audio without format",
            part(type="input_audio", input_audio={"data": "sound.wav"}),
            r"field 'messages\[0\].content\[0\].input_audio.format' is missing",
        ),
        Bad(
            "audio of another format",
            part(type="input_audio", input_audio={"data": "sound.wav", "format": "ogg"}),
            "field '.*input_audio.data': format is 'ogg'; audio may be wav, mp3",
        ),
        Bad(
            "a picture as audio",
            part(type="input_audio", input_audio={"data": "good.jpg", "format": "wav"}),
            "field '.*input_audio.data': good.jpg is no audio that can be sent .image/jpeg",
        ),
        Bad(
            "audio as a URL",
            part(type="input_audio", input_audio={"data": "https://host/a.wav", "format": "wav"}),
            "field '.*input_audio.data': https://host/a.wav: audio can't be sent as a URL",
        ),
        Bad(
            "a picture as video",
            part(type="video_url", video_url={"url": "good.jpg"}),
            "field '.*': good.jpg is no video",
        ),
        Bad(
            "video with a bad rate",
            part(type="video_url", video_url={"url": "clip.mp4", "fps": -1}),
            "field '.*': fps is -1, not a number above 0",
        ),
    ],
)
PLACEHOLDERS = File(
    "placeholders.jsonl",
    ask("<image 1> q", image_1="good.jpg", image_2=5),  # a column that is not asked for may hold anything
    [
        Bad("a number as picture", ask("<image 1>", image_1=5), "field 'image_1' is 5, not a path, a URL"),
        Bad("an object without picture", ask("<image 1>", image_1={"x": 1}), "field 'image_1' has none of bytes, path"),
        Bad("a missing file", ask("<image 2>", image_2="gone.jpg"), "field 'image_2': file 'gone.jpg' is not there"),
        Bad("a list that is none", ask("<image 1>", images="a.jpg"), "field 'images' is not a list of media"),
        Bad("a number in a list", ask("<image 2>", images=["good.jpg", 7]), r"field 'images\[1\]' is 7, not a path"),
        Bad(
            "another sound", ask("<audio 1>", audio_1="sound.wav", audio_1_format="flac"), "field 'audio_1': format is"
        ),
        Bad("a missing video", ask("<video 1>", video_1="gone.mp4"), "field 'video_1': file 'gone.mp4' is not there"),
    ],
)
CHOICE = File(
    "choice.jsonl",
    choice(image_1="good.jpg"),
    [
        Bad("no question", {"options": ["x", "y"], "answer": "A"}, "field 'question' is missing"),
        Bad("question null", choice(question=None), "field 'question' is null"),
        Bad("question a list", choice(question=["q"]), "field 'question' is a list, not a text"),
        Bad("no options", {"question": "q", "answer": "A"}, "field 'options' is missing"),
        Bad("options a text", choice(options="x, y"), "field 'options' is not a list of options"),
        Bad("options empty", choice(options=[]), "field 'options' is an empty list"),
        Bad("options an object (C28)", choice(options={"A": "x"}), "field 'options' is not a list of options"),
        Bad("options a JSON object (C28)", choice(options='{"A": "x"}'), "field 'options' is not a list of options"),
        Bad("answer out of range (C19)", choice(answer="F"), "field 'answer' is 'F', none of the labels A,B"),
        Bad("answer a number (C19)", choice(answer=7), "field 'answer' is '7', none of the labels A,B"),
        Bad("one answer of a list (C19)", choice(answer=["A", "Z"]), "field 'answer' is 'Z', none of the labels A,B"),
        Bad("answer an object", choice(answer={"x": 1}), "field 'answer' is not a text, a number or a list"),
        Bad("a bad picture that is not asked for", choice(image_2=5), "field 'image_2' is 5, not a path"),
        Bad("a missing picture", choice(image_1="gone.jpg"), "field 'image_1': file 'gone.jpg' is not there"),
    ],
)
CHOICE_TABLE = File(
    "choice.tsv",
    '<image 1> q\t["x", "y"]\tA\tgood.jpg',
    [
        Bad("too many cells", 'q\t["x", "y"]\tA\tgood.jpg\tmore', "has 5 cells, not the 4 of the header"),
        Bad("a NUL byte", 'q\0\t["x", "y"]\tA\tgood.jpg', "field 'question' holds a NUL byte"),
        Bad("options without brackets", "q\tx, y\tA\tgood.jpg", "field 'options' is not a list of options"),
        Bad("a cut list", 'q\t["x", "y\tA\tgood.jpg', "field 'options' is not a list of options"),
        Bad("an empty question's answer", 'q\t["x", "y"]\t\tgood.jpg', "field 'answer' is empty, and other records"),
    ],
    header="question\toptions\tanswer\timage_1",
    line_of=lambda position: f":{position + 3}",
)
TABLE = File(
    "table.tsv",
    f"{{n}}\tq\tx\ty\t\tA\t{base64.b64encode(jpeg()).decode()}",
    [
        Bad("broken base64 (VK#237)", "10\tq\tx\ty\t\tA\t" + "A" * 70 + "!", r"field 'image\[0\]' is not base64"),
        Bad("base64 of no picture", "11\tq\tx\ty\t\tA\t" + "QUJD" * 30, r"field 'image\[0\]': .* is no picture"),
        Bad("an index that is not there", "12\tq\tx\ty\t\tA\t99", "field 'image' is '99', and no row with this index"),
        Bad("no picture", "13\tq\tx\ty\t\tA\t", "field 'image' is empty: the table has pictures"),
        Bad("one option", "14\tq\tx\t\t\tA\t1", "fields 'A' and 'B': at least two options are needed"),
        Bad("a gap in the options", "15\tq\tx\t\tz\tA\t1", "field 'B' is empty, and there are options after it"),
        Bad("another answer", "16\tq\tx\ty\t\tD\t1", "field 'answer' is 'D', none of the labels A,B"),
        Bad("an index twice", "1\tq\tx\ty\t\tA\t1", "id '1' is also that of table.tsv:2"),
    ],
    header="index\tquestion\tA\tB\tC\tanswer\timage",
    line_of=lambda position: f":{position + 3}",
)
ANSWERS = File(
    "answers.csv",
    "q,A,good.jpg",
    [
        Bad("too few cells", "q,good", "has 2 cells, not the 3 of the header"),
        Bad("text behind a quote", f'"q"x,{GOOD},good.jpg', "has text after the closing quote in cell 1"),
        Bad(
            "a picture that is missing", f"q,{GOOD},gone.jpg", r"field 'image_path\[0\]': file 'gone.jpg' is not there"
        ),
        Bad("an open quote", f'"q,{GOOD},good.jpg', "has a quote that is never closed in cell 1"),
    ],
    header="question,answer,image_path",
    line_of=lambda position: f":{position + 3}",
)
ARRAY = File(
    "array.json",
    choice(image_1="good.jpg"),
    [
        Bad("a list in an array", [1], "is not an object of fields"),
        Bad("null in an array", None, "is not an object of fields"),
        Bad("an option's text that is none", choice(answer="z"), "field 'answer' is 'z', none of the labels"),
    ],
    line_of=lambda position: f"[{position + 1}]",
)
ZIPPED = File(
    "zipped/rows.jsonl",
    {"id": "{n}", "question": "q", "answer": GOOD, "picture": "good.jpg"},
    [
        Bad("no id", {"question": "q", "answer": GOOD, "picture": "good.jpg"}, "field 'id' is missing"),
        Bad("id a list", {"id": [1], "question": "q", "answer": GOOD, "picture": "good.jpg"}, "field 'id' is a list"),
        Bad("no field of the prompt", {"id": 3, "answer": GOOD, "picture": "good.jpg"}, "field 'question' is missing"),
        *(
            Bad(what, {"id": what, "question": "q", "answer": GOOD, "picture": name}, f"field 'picture': .*{says}")
            for what, name, says in (
                ("a missing member (C26)", "gone.jpg", "gone.jpg"),
                ("a member with a wrong checksum (C26)", "crc.jpg", "checksum"),
                ("an encrypted member", "locked.jpg", "encrypted"),
                ("a member that is a bomb", "bomb.jpg", "larger than 256 MiB"),
                ("a member upwards", "../up.jpg", r"up\.jpg"),
                ("a member that is no picture", "notes.jpg", "is no picture"),
            )
        ),
    ],
)
FILES = [MESSAGES, PLACEHOLDERS, CHOICE, CHOICE_TABLE, TABLE, ANSWERS, ARRAY, ZIPPED]
SPEC = """\
name: zipped
data: {folder: zipped}
records: rows.jsonl
sample:
  id: "{id}"
  messages:
    - role: user
      content: [{image: "pics.zip!p/{picture}"}, {text: "{question}"}]
  reference: "{answer}"
score: {scorer: contains, answer: whole}
"""


def write_media(root: Path) -> None:
    """What the rows refer to, good and bad."""
    root.joinpath("good.jpg").write_bytes(jpeg())
    root.joinpath("notes.jpg").write_bytes(b"secrets")
    root.joinpath("empty.jpg").write_bytes(b"")
    root.joinpath("cut.jpg").write_bytes(jpeg(400, 400)[:900])
    root.joinpath("drawn.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    root.joinpath("sound.wav").write_bytes(b"RIFF\x24\0\0\0WAVEfmt ")
    root.joinpath("clip.mp4").write_bytes(b"\0\0\0\x18ftypmp42")
    root.joinpath("bomb.png").write_bytes(png(20_000, 20_000))
    root.joinpath("folder.jpg").mkdir()
    os.mkfifo(root / "pipe.jpg")
    with root.joinpath("huge.jpg").open("wb") as huge:
        huge.truncate(MAX_BYTES + 1)
    root.joinpath("zipped").mkdir()
    write_zip(root / "zipped" / "pics.zip")


def write_zip(file: Path) -> None:
    """Members that are good, damaged, encrypted, and much larger than they look."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("good", "crc", "locked"):
            archive.writestr(zipfile.ZipInfo(f"p/{name}.jpg"), jpeg())
        archive.writestr("p/notes.jpg", b"secrets")
        archive.writestr("p/bomb.jpg", bytes(MAX_BYTES + 1))
    content = bytearray(file.read_bytes())
    directory = content.index(b"PK\x01\x02")
    for name, change in (("crc", 16), ("locked", 8)):  # offsets in an entry of the directory: checksum, flags
        entry = content.rindex(b"PK\x01\x02", directory, content.index(f"p/{name}.jpg".encode(), directory))
        content[entry + change] ^= 1
    local = content.index(b"PK\x03\x04", content.index(b"p/crc.jpg"))
    content[local + 6] |= 1  # locked.jpg's own header
    file.write_bytes(content)


def write_rows(root: Path, file: File) -> None:
    """A good row, the bad ones, a good row."""
    rows = [_numbered(file.good, 1), *(bad.row for bad in file.bad), _numbered(file.good, 2)]
    path = root / file.name
    if file.name.endswith(".json"):
        path.write_text(json.dumps(rows))
    elif file.header:
        path.write_text("\n".join([file.header, *rows, ""]))
    else:
        path.write_bytes(
            b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)
        )


def _numbered(row: Any, number: int) -> Any:
    if isinstance(row, str):
        return row.replace("{n}", str(number))
    return {key: value.replace("{n}", str(number)) if key == "id" else value for key, value in row.items()}


@dataclass
class Session:
    """What one run of all files said."""

    printed: str
    code: int
    results: list[dict[str, Any]]


@pytest.fixture(scope="module", params=[(), ("-n", "2")], ids=["alone", "n2"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Run all files, once alone and once with two workers."""
    root = tmp_path_factory.mktemp("bad")
    write_media(root)
    for file in FILES:
        write_rows(root, file)
    root.joinpath("zipped.vqa.yaml").write_text(SPEC)
    root.joinpath("conftest.py").write_text(MODEL)
    names = [file.name for file in FILES if file is not ZIPPED]
    command = [sys.executable, "-m", "pytest", *names, "zipped.vqa.yaml", "--vqa-model=m", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *request.param], cwd=root, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    samples = root.joinpath(".vqaeval", "latest", "samples.jsonl").read_text().splitlines()
    return Session(done.stdout + done.stderr, done.returncode, [json.loads(line) for line in samples])


CASES = [
    pytest.param(file, position, id=f"{file.name}-{bad.name}".replace("/", "-"))
    for file in FILES
    for position, bad in enumerate(file.bad)
]


def test_there_are_sixty_of_them() -> None:
    assert len(CASES) + len(BROKEN) >= 60


@pytest.mark.parametrize(("file", "position"), CASES)
def test_a_bad_row_is_one_line_with_its_place(session: Session, file: File, position: int) -> None:
    place = f"{Path(file.name).name}{file.line_of(position)}: "
    found = [row["error"] for row in session.results if row.get("error", "").startswith(place)]
    assert len(found) == 1, [row.get("error") for row in session.results if file.name in row["nodeid"]]
    said = found[0].removeprefix(place)
    assert re.match(file.bad[position].says, said), said
    assert "\n" not in said
    assert len(said) < 700


def test_all_that_is_good_was_scored(session: Session) -> None:
    answered = [row for row in session.results if row["outcome"] != "error"]
    assert {row["outcome"] for row in answered} <= {"correct", "scored"}
    assert len(answered) == 2 * len(FILES)
    assert len(session.results) == len(CASES) + len(answered)


def test_nothing_more_is_said(session: Session) -> None:
    assert session.code == 1
    for word in ("Traceback", "INTERNALERROR", "secrets", "root:"):
        assert word not in session.printed
    assert max(map(len, session.printed.splitlines())) < 700


def _write(text: str | bytes) -> Callable[[Path], object]:
    content = text if isinstance(text, bytes) else text.encode()
    return lambda path: path.write_bytes(content)


ROW = json.dumps(ask("q"))
BROKEN = [
    ("empty.jsonl", _write(""), "empty.jsonl holds no records"),
    ("blank.jsonl", _write("\n \n"), "blank.jsonl holds no records"),
    ("empty.json", _write(""), "empty.json:1: is not valid JSON"),
    ("none.json", _write("[]"), "none.json holds no records"),
    ("object.json", _write("{}"), "object.json: is not a JSON array of records"),
    ("cut.json", _write("[" + ROW + ", {"), "cut.json:1: is not valid JSON: .*column"),
    ("lines.json", _write(f"{ROW}\n{ROW}"), "lines.json:2: is not valid JSON: Extra data.*is named .jsonl"),
    ("deep.json", _write("[" * 100_000), "deep.json: is nested too deeply"),
    ("utf16.jsonl", _write(ROW.encode("utf-16")), "utf16.jsonl:1: is UTF-16 or no text"),
    ("utf32.jsonl", _write(ROW.encode("utf-32")), "utf32.jsonl:1: is UTF-16 or no text"),
    ("gbk.jsonl", _write(f"{ROW}\n".encode() + '{"messages": "狗"}'.encode("gbk")), "gbk.jsonl:2: is not UTF-8"),
    ("gbk.tsv", _write("question\tA\tB\n狗\tx\ty\n".encode("gbk")), "gbk.tsv:2: is not UTF-8 .byte 13"),
    ("picture.jsonl", _write(b"\xff\xd8\xff\xe0" + bytes(20)), "picture.jsonl:1: is not UTF-8|is UTF-16 or no text"),
    ("header.csv", _write("question,A,B\n"), "header.csv holds no records"),
    ("twice.csv", _write("question,A,A\nq,x,y\n"), "twice.csv:1: the header has several columns of the name 'A'"),
    ("unnamed.csv", _write("question,,A\nq,x,y\n"), "unnamed.csv:1: the header has no name for column 2"),
    ("mac.csv", _write("question,A,B\rq,x,y\r"), "mac.csv:1: the header is all in one line with the rows"),
    ("other.jsonl", _write('{"q": "x", "a": "y"}'), r"other.jsonl: no known format has its columns \(q, a\)"),
    ("numbers.jsonl", _write("1\n2\n"), r"numbers.jsonl:1: is not an object of fields \(none of the 2 records can"),
    (
        "pretty.jsonl",
        _write('{\n "question": "q"\n}'),
        r"pretty.jsonl:1: is not valid JSON: .*none of the 3 records can",
    ),
    ("nul.tsv", _write("question\tA\tB\na\0b\tx\ty\n"), "nul.tsv:2: .*none of the 1 records can be read"),
    ("no.parquet", _write("PAR1 not"), "no.parquet can't be read as parquet"),
    ("folder.jsonl", Path.mkdir, "folder.jsonl is not a file"),
    ("pipe.jsonl", os.mkfifo, "pipe.jsonl is not a file"),
]


@pytest.mark.parametrize(("name", "make", "says"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_a_file_that_is_broken_as_a_whole(tmp_path: Path, name: str, make: Callable[[Path], object], says: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    make(tmp_path / name)
    with pytest.raises(UsageError) as caught:
        read_data_files([tmp_path / name])
    assert re.search(says, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["folder", "pipe", "missing"])
def test_what_is_no_file_ends_the_run_at_once(pytester: pytest.Pytester, kind: str) -> None:
    path = pytester.path / "q.jsonl"
    if kind != "missing":
        path.mkdir() if kind == "folder" else os.mkfifo(path)
    result = pytester.runpytest("q.jsonl", "--vqa-model=demo")
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)


def test_a_byte_order_mark_and_odd_texts_are_fine(pytester: pytest.Pytester) -> None:
    rows = [ask(f"q {text}", answer=text) for text in ("None", "NA", "01", "null", "\u2028", "\ud800", "\x1b[31m")]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    pytester.path.joinpath("q.jsonl").write_bytes(b"\xef\xbb\xbf" + lines.encode())
    pytester.path.joinpath("conftest.py").write_text(MODEL)
    result = pytester.runpytest("q.jsonl", "--vqa-model=m")
    result.assert_outcomes(passed=len(rows))
