"""CSV and TSV -> records."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.records import Record, read_records
from pytest_vqaeval.tables import read_csv
from tests.realdata import real_data

UNCLOSED = "has a quote that is never closed in cell 2; inside a quoted cell a quote is written twice"
AFTER = "has text after the closing quote in cell 2; inside a quoted cell a quote is written twice"


def read(folder: Path, suffix: str, text: str) -> list[Record]:
    """Records of a table that is written here with commas."""
    file = folder / f"q{suffix}"
    file.write_bytes((text.replace(",", "\t") if suffix == ".tsv" else text).encode())
    return read_records(file)


def cells(records: list[Record]) -> list[list[str] | str]:
    return [record.problem or list(record.row.values()) for record in records]


both = pytest.mark.parametrize("suffix", [".csv", ".tsv"])


@both
def test_cells_are_texts_as_they_stand(tmp_path: Path, suffix: str) -> None:
    text = "\ufeffid,question,answer\r\n01,None,NA\r\n\r\n, null,\r\n 1.0 ,nan,[1 2]\r\n"
    records = read(tmp_path, suffix, text)
    assert [record.row for record in records] == [
        {"id": "01", "question": "None", "answer": "NA"},
        {"id": "", "question": " null", "answer": ""},
        {"id": " 1.0 ", "question": "nan", "answer": "[1 2]"},
    ]
    assert [(record.number, record.line) for record in records] == [(0, 2), (1, 4), (2, 5)]


@both
def test_quoted_cells(tmp_path: Path, suffix: str) -> None:
    text = 'a,"b, ""c"""\n"",""""\n"x\n\ny","1,2"\n"say ""hi""\r\n",z\nin "the" middle," "\nlast,"row"'
    records = read(tmp_path, suffix, text)
    comma = "\t" if suffix == ".tsv" else ","
    assert list(records[0].row) == ["a", f'b{comma} "c"']
    assert cells(records) == [
        ["", '"'],
        ["x\n\ny", f"1{comma}2"],
        ['say "hi"\r\n', "z"],
        ['in "the" middle', " "],
        ["last", "row"],
    ]
    assert [record.line for record in records] == [2, 3, 6, 8, 9]


def test_cells_have_no_limit_and_the_csv_module_is_left_alone(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    long = "A" * 3_000_000
    assert cells(read(tmp_path, ".tsv", f'id,image\n1,{long}\n2,"{long}"\n')) == [["1", long], ["2", long]]
    assert csv.field_size_limit() == limit


@both
def test_too_many_cells_are_a_problem_of_the_row(tmp_path: Path, suffix: str) -> None:
    records = read(tmp_path, suffix, "a,b\n1,2\n1,2,3,4,5\n3,4\n")
    assert cells(records) == [["1", "2"], "has 5 cells, not the 2 of the header", ["3", "4"]]
    assert records[1].where == f"q{suffix}:3"
    assert records[1].row == {}


def test_too_few_cells_are_a_problem_in_csv(tmp_path: Path) -> None:
    records = read(tmp_path, ".csv", "a,b,c\n1,2\nx\n1,2,3\n")
    assert cells(records) == [
        "has 2 cells, not the 3 of the header",
        "has 1 cell, not the 3 of the header",
        ["1", "2", "3"],
    ]


def test_cells_at_the_end_may_be_left_out_in_tsv(tmp_path: Path) -> None:
    assert cells(read(tmp_path, ".tsv", "a,b,c,d\n1,2,\n")) == [["1", "2", "", None]]


@both
def test_a_nul_byte_is_a_problem_of_the_row(tmp_path: Path, suffix: str) -> None:
    assert cells(read(tmp_path, suffix, "a,b\n1,2\n1,x\0\n3,4\n")) == [
        ["1", "2"],
        "field 'b' holds a NUL byte",
        ["3", "4"],
    ]


def test_a_quote_that_never_closes_is_a_problem_in_csv(tmp_path: Path) -> None:
    for row in ('1,"open,A', '1,"open', '1,"open ""A"",""'):
        assert cells(read(tmp_path, ".csv", f"a,b,c\n{row}\n2,x,B\n3,y,C")) == [
            UNCLOSED,
            ["2", "x", "B"],
            ["3", "y", "C"],
        ]
    records = read(tmp_path, ".csv", 'a,b,c\n1,"open,A\n2,"x",B\n3,y,C\n')
    assert cells(records) == [UNCLOSED, ["2", "x", "B"], ["3", "y", "C"]]
    assert [record.line for record in records] == [2, 3, 4]
    assert cells(read(tmp_path, ".csv", 'a,b,c\n1,"x" y,A\n2,x,B\n')) == [AFTER, ["2", "x", "B"]]


def test_rows_after_a_row_of_the_wrong_width_are_read_anew(tmp_path: Path) -> None:
    records = read(tmp_path, ".csv", 'a,b,c\n1,"open,A\n2,x,B\n3,y,"\n4,z,C\n')
    assert cells(records)[0] == "has 2 cells, not the 3 of the header"
    assert cells(records)[1] == ["2", "x", "B"]
    assert cells(records)[-1] == ["4", "z", "C"]


def test_a_stray_quote_is_a_character_in_tsv(tmp_path: Path) -> None:
    rows = [["1", '"open', "A"], ["2", '"x" y', '"B'], ["3", "shut", '5"'], ["4", "z", "C"]]
    text = "\n".join(["a,b,c", *map(",".join, rows)])
    assert cells(read(tmp_path, ".tsv", text)) == rows


def test_a_stray_quote_does_not_swallow_rows_though_one_closes_later(tmp_path: Path) -> None:
    rows = [["1", '"open', "A"], ["2", "x", "B"], ["3", 'shut"', "C"]]
    assert cells(read(tmp_path, ".tsv", "\n".join(["a,b,c", *map(",".join, rows)]))) == rows


def test_quoted_cells_over_several_lines_in_tsv(tmp_path: Path) -> None:
    text = 'a,b,c\n1,x,"if y:\n,return\n"\n2,"p\nq",z\n'
    assert cells(read(tmp_path, ".tsv", text)) == [["1", "x", "if y:\n\treturn\n"], ["2", "p\nq", "z"]]


@both
@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("a,b,a,b", "has several columns of the name 'a', 'b'"),
        ("a,,b, ", "has no name for column 2, 4"),
        ("a,b\r1,2\r3,4", "is all in one line with the rows: lines end in CR alone; save the file with LF or CRLF"),
    ],
)
def test_a_header_that_cant_be_used(tmp_path: Path, suffix: str, header: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, suffix, f"\n{header}\n1,2,3,4\n")
    assert str(caught.value) == f"{tmp_path / 'q'}{suffix}:2: the header {said}"


def test_a_header_whose_quote_never_closes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"q\.csv:1: the header has a quote that is never closed in cell 2"):
        read(tmp_path, ".csv", 'a,"b\n1,2\n')


@both
@pytest.mark.parametrize("text", ["", "\n", "a,b", "a,b\n\n"])
def test_a_table_without_rows(tmp_path: Path, suffix: str, text: str) -> None:
    with pytest.raises(DataError, match=r"holds no records$"):
        read(tmp_path, suffix, text)


@pytest.mark.parametrize("name", ["vlmevalkit", "custom_eval", "pmc_vqa"])
def test_real_tables_are_read_as_by_the_csv_module(name: str) -> None:
    files = [file for file in real_data(name).rglob("*") if file.suffix in (".csv", ".tsv")]
    assert files
    for file in files:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            wanted = list(csv.DictReader(lines, delimiter="\t" if file.suffix == ".tsv" else ","))
        assert [record.row for record in read_records(file)] == wanted, file.name


@given(st.lists(st.lists(st.text('ab"\n\r,', max_size=6), min_size=3, max_size=3), min_size=1, max_size=5))
def test_what_is_quoted_is_read_back(rows: list[list[str]]) -> None:
    quoted = "".join(",".join('"{}"'.format(cell.replace('"', '""')) for cell in row) + "\r\n" for row in rows)
    lines = (f"{line}\n" for line in f"a,b,c\n{quoted}".split("\n")[:-1])
    assert [list((row or {}).values()) for _, row, _ in read_csv(Path("q.csv"), lines)] == rows
