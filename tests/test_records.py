"""Data files -> records: JSONL, JSON arrays, and what is true of every format."""

import json
import os
from pathlib import Path

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.records import Record, read_records


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    return tmp_path / "q.jsonl"


def only(file: Path, content: bytes | str) -> Record:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    (record,) = read_records(file)
    return record


def test_rows_their_lines_and_numbers(jsonl: Path) -> None:
    jsonl.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \n{"a": 2}\n{"a": 3}')
    records = read_records(jsonl)
    assert [(r.row["a"], r.number, r.line, r.where) for r in records] == [
        (1, 0, 1, "q.jsonl:1"),
        (2, 1, 4, "q.jsonl:4"),
        (3, 2, 5, "q.jsonl:5"),
    ]


def test_a_json_array_has_no_lines(tmp_path: Path) -> None:
    file = tmp_path / "q.JSON"
    file.write_text('\ufeff[{"a": 1},\n 7]')
    first, second = read_records(file)
    assert (first.row, first.where) == ({"a": 1}, "q.JSON[0]")
    assert (second.row, second.where, second.problem) == ({}, "q.JSON[1]", "is not an object of fields")


def test_columns_name_the_cells_of_arrays(jsonl: Path) -> None:
    jsonl.write_text('["x", 1]\n["y"]\n{"a": "z", "b": 3}')
    good, short, own = read_records(jsonl, ("a", "b"))
    assert (good.row, own.row) == ({"a": "x", "b": 1}, {"a": "z", "b": 3})
    assert short.problem == "has 1 columns, not the 2 of `columns`"


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ('{"a": "x\u2028y\u2029z\x85"}', {"a": "x\u2028y\u2029z\x85"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        (r'{"a": "\ud83d"}', {"a": "\ud83d"}),
        ('{"a": %s}' % ("9" * 4000), {"a": int("9" * 4000)}),
        (r'{"a": "NaN \u0000"}', {"a": "NaN \0"}),
        ('{"a": null, "b": {"c": [0.5, true]}}', {"a": None, "b": {"c": [0.5, True]}}),
    ],
)
def test_what_json_allows(jsonl: Path, line: str, row: object) -> None:
    record = only(jsonl, line)
    assert (record.row, record.problem) == (row, "")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"a": 1', "is not valid JSON: Expecting ',' delimiter (column 8)"),
        ('{"a": 1} {"a": 2}', "is not valid JSON: Extra data (column 10)"),
        ('{"a": "x\ty\0"}', "is not valid JSON: Invalid control character at (column 9)"),
        ("[1, 2]", "is not an object of fields"),
        ("null", "is not an object of fields"),
        ('{"a": NaN}', "is not valid JSON: NaN is no finite number"),
        ('{"a": [-Infinity]}', "is not valid JSON: -Infinity is no finite number"),
        ('{"a": 1e999}', "is not valid JSON: 1e999 is no finite number"),
        ('{"a": %s1}' % ("9" * 4300), "holds a whole number of more than 4,300 digits"),
        ('{"a": %s}' % ("[" * 100_000), "is nested too deeply"),
    ],
)
def test_a_broken_line_is_a_problem_of_its_record_alone(jsonl: Path, line: str, problem: str) -> None:
    jsonl.write_text(f'{{"a": "before"}}\n{line}\n{{"a": "after"}}\n')
    before, broken, after = read_records(jsonl)
    assert (before.row, after.row) == ({"a": "before"}, {"a": "after"})
    assert (broken.row, broken.line, broken.problem) == ({}, 2, problem)


def test_records_share_their_keys(jsonl: Path) -> None:
    jsonl.write_text('{"question": {"inner": 1}}\n' * 2)
    first, second = (record.row for record in read_records(jsonl))
    assert next(iter(first)) is next(iter(second))
    assert next(iter(first["question"])) is next(iter(second["question"]))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.jsonl", b"", " holds no records"),
        ("q.jsonl", b"\xef\xbb\xbf\n \n", " holds no records"),
        ("q.json", b"[]", " holds no records"),
        ("q.json", b"{}", ": is not a JSON array of records"),
        ("q.json", b"", ":1: is not valid JSON: Expecting value (column 1)"),
        ("q.json", b'[{"a": 1},\n{"a"', ":2: is not valid JSON: Expecting ':' delimiter (column 5)"),
        ("q.json", b'[{"a": NaN}]', ": is not valid JSON: NaN is no finite number"),
        (
            "q.json",
            b'{"a": 1}\n{"a": 2}',
            ":2: is not valid JSON: Extra data (column 1); a file with one object a line is named .jsonl",
        ),
        ("q.xlsx", b"PK", ": no known format of records; there are .jsonl, .json, .csv, .tsv, .parquet"),
        ("q", b"", ": no known format of records; there are .jsonl, .json, .csv, .tsv, .parquet"),
    ],
)
def test_a_broken_file_is_an_error(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_records(file)
    assert str(caught.value) == f"{file}{said}"


@pytest.mark.parametrize("name", ["q.jsonl", "q.json", "q.csv", "q.tsv"])
@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("gbk", ":2: is not UTF-8 (byte 18); save the file as UTF-8"),
        ("utf-16", ":1: is UTF-16 or no text (byte 0); save the file as UTF-8"),
        ("utf-16-le", ":1: is UTF-16 or no text (byte 0); save the file as UTF-8"),
        ("utf-16-be", ":1: is UTF-16 or no text (byte 0); save the file as UTF-8"),
        ("utf-32", ":1: is UTF-16 or no text (byte 0); save the file as UTF-8"),
    ],
)
def test_another_encoding_is_an_error_of_the_file(tmp_path: Path, name: str, encoding: str, said: str) -> None:
    file = tmp_path / name
    file.write_bytes('{"a": "x"}\n{"a": "中文"}\n'.encode(encoding))
    with pytest.raises(DataError) as caught:
        read_records(file)
    assert str(caught.value).removeprefix(str(file)) == said


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.csv is not there$"):
        read_records(tmp_path / "gone.csv")
    folder = tmp_path / "folder.tsv"
    folder.mkdir()
    with pytest.raises(DataError, match=r"folder\.tsv is not a file$"):
        read_records(folder)
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match=r"pipe\.jsonl is not a file$"):
        read_records(pipe)


def test_the_real_formats_agree(tmp_path: Path) -> None:
    rows = [{"question": 'Is "it", 图?', "answer": "01"}, {"question": "None", "answer": "NA"}]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "q.csv").write_text('question,answer\n"Is ""it"", 图?",01\nNone,NA\n')
    (tmp_path / "q.tsv").write_text('question\tanswer\nIs "it", 图?\t01\nNone\tNA\n')
    for file in sorted(tmp_path.iterdir()):
        assert [record.row for record in read_records(file)] == rows, file.name
