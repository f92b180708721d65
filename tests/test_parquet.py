"""Parquet -> records; pictures stay in the file until they are asked for."""

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval import parquet
from pytest_vqaeval.errors import DataError, MissingExtra
from pytest_vqaeval.parquet import Cell
from pytest_vqaeval.records import read_records
from tests.realdata import real_data

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


@pytest.fixture(autouse=True)
def chunks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty cache of row groups that counts what is read: it holds two of the groups below."""
    fresh = parquet._Chunks(2500)
    monkeypatch.setattr(parquet, "_chunks", fresh)
    return fresh


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    """Three row groups of ten rows, with pictures of 100 bytes."""
    table = pa.table(
        {
            "question": [f"q{n}" for n in range(30)],
            "options": [["x", "y"]] * 30,
            "image": pa.array([picture(n) for n in range(30)], IMAGE),
            "answer": [None, *range(1, 30)],
        }
    )
    file = tmp_path / "test-00000-of-00001.parquet"
    pq.write_table(table, file, row_group_size=10, compression="none", use_dictionary=False)
    return file


def picture(n: int) -> dict[str, Any]:
    return {"bytes": bytes([n]) * 100, "path": f"{n}.png"}


def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are opened from now on."""
    opened: list[Path] = []
    whole = parquet._opened

    def counted(file: Path) -> Any:
        opened.append(file)
        return whole(file)

    monkeypatch.setattr(parquet, "_opened", counted)
    return opened


def test_rows_and_cells(shard: Path) -> None:
    records = read_records(shard)
    assert len(records) == 30
    assert records[0].row == {
        "question": "q0",
        "options": ["x", "y"],
        "image": Cell(shard, 0, 0, "image"),
        "answer": None,
    }
    assert records[17].row["image"] == Cell(shard, 1, 7, "image")
    assert (records[17].where, records[17].row["answer"]) == (f"{shard.name}[17]", 17)
    assert [record.row["image"].load() for record in records] == [picture(n) for n in range(30)]
    assert len({record.row["image"] for record in records}) == 30


def test_collection_does_not_read_pictures(shard: Path) -> None:
    content = bytearray(shard.read_bytes())
    for group in range(3):
        row_group = pq.ParquetFile(shard).metadata.row_group(group)
        chunk = next(c for c in map(row_group.column, range(5)) if c.path_in_schema == "image.bytes")
        start = chunk.data_page_offset
        content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    shard.write_bytes(content)
    records = read_records(shard)
    assert [record.row["question"] for record in records] == [f"q{n}" for n in range(30)]
    with pytest.raises(DataError, match=rf"^\S*{shard.name} can't be read as parquet: [^\n]+$"):
        records[0].row["image"].load()


def test_a_row_group_is_read_once(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = read_records(shard)
    opened = reads(monkeypatch)
    for n in (3, 7, 3, 14, 5):
        assert records[n].row["image"].load() == picture(n)
    assert len(opened) == 2
    records[25].row["image"].load()  # a third group: the one that was used least recently goes
    records[0].row["image"].load()
    assert len(opened) == 3
    records[14].row["image"].load()
    assert len(opened) == 4


def test_a_row_group_larger_than_the_cache_is_kept(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_chunks", parquet._Chunks(10))
    records = read_records(shard)
    opened = reads(monkeypatch)
    for n in range(30):
        records[n].row["image"].load()
    assert len(opened) == 3


def test_threads_share_a_read(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = read_records(shard)[:10]
    opened = reads(monkeypatch)
    found: list[Any] = [None] * 10
    barrier = threading.Barrier(10)

    def load(n: int) -> None:
        barrier.wait()
        found[n] = records[n].row["image"].load()

    threads = [threading.Thread(target=load, args=(n,)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [picture(n) for n in range(10)]
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.binary(), b"x"),
        (pa.large_binary(), b"x"),
        (pa.binary(3), b"xyz"),
        (pa.list_(pa.binary()), [b"x", b"y"]),
        (pa.list_(IMAGE), [{"bytes": b"x", "path": None}]),
        (pa.struct([("inner", pa.list_(pa.binary()))]), {"inner": [b"x"]}),
        (pa.map_(pa.string(), pa.binary()), [("k", b"x")]),
        (IMAGE, None),
    ],
    ids=str,
)
def test_all_that_holds_bytes_is_left_in_the_file(tmp_path: Path, kind: Any, value: Any) -> None:
    pq.write_table(pa.table({"image": pa.array([value], kind)}), tmp_path / "q.parquet")
    (record,) = read_records(tmp_path / "q.parquet")
    assert isinstance(record.row["image"], Cell)
    assert record.row["image"].load() == value


def test_texts_and_numbers_are_as_they_stand(tmp_path: Path) -> None:
    row = {"a.b": "None", "a": "", "n": None, "i": 1, "f": 0.5, "l": [None, "x"], "s": {"path": "p"}}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "q.parquet")
    assert [record.row for record in read_records(tmp_path / "q.parquet")] == [row]


def test_a_column_with_a_dot_beside_pictures(tmp_path: Path) -> None:
    table = pa.table({"image.name": ["n"], "image": pa.array([picture(1)], IMAGE)})
    pq.write_table(table, tmp_path / "q.parquet")
    (record,) = read_records(tmp_path / "q.parquet")
    assert record.row["image.name"] == "n"
    assert record.row["image"].load() == picture(1)


def test_cells_survive_a_change_of_folder(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shard.parent)
    record = read_records(Path(shard.name))[4]
    monkeypatch.chdir("/")
    assert record.row["image"].load() == picture(4)


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "head"])
def test_a_broken_file_is_an_error(shard: Path, damage: str) -> None:
    content = shard.read_bytes()
    broken = {"empty": b"", "text": b"question,answer\n", "cut": content[:-20], "head": content[:400]}
    shard.write_bytes(broken[damage])
    with pytest.raises(DataError, match=rf"{shard.name} can't be read as parquet: [^\n]+$"):
        read_records(shard)


def test_columns_of_one_name(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), tmp_path / "q.parquet")
    with pytest.raises(DataError, match=r"q\.parquet has several columns of the name 'a'$"):
        read_records(tmp_path / "q.parquet")


def test_no_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), tmp_path / "q.parquet")
    with pytest.raises(DataError, match=r"holds no records$"):
        read_records(tmp_path / "q.parquet")


def test_a_file_that_goes_or_shrinks_after_collection(shard: Path) -> None:
    first, *_, last = read_records(shard)
    pq.write_table(pa.table({"image": pa.array([picture(0)], IMAGE)}), shard)
    with pytest.raises(DataError, match=shard.name):
        last.row["image"].load()
    shard.unlink()
    with pytest.raises(DataError, match=shard.name):
        first.row["image"].load()


def test_the_extra_that_is_missing(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra) as caught:
        read_records(shard)
    assert str(caught.value) == "an extra is missing for parquet files: pip install 'pytest-vqaeval[parquet]'"


def test_the_real_ai2d() -> None:
    (file,) = real_data("ai2d").glob("*.parquet")
    records = read_records(file)
    assert len(records) == 60
    assert {type(record.row["image"]) for record in records} == {Cell}
    assert {type(record.row["options"]) for record in records} == {list}
    assert all(record.row["image"].load()["bytes"].startswith((b"\x89PNG", b"\xff\xd8")) for record in records)
