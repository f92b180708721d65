"""Where media are found, and zips as `zipfile` and other writers make them."""

import contextlib
import io
import os
import random
import struct
import threading
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_vqaeval import zips
from pytest_vqaeval.archive import Archive, fingerprint, media_roots
from pytest_vqaeval.errors import DataError
from tests.realdata import real_data

FILES = {
    "imgs/a.jpg": b"A" * 5000,
    "imgs/b.jpg": bytes(range(256)),
    "imgs/scan.jpg": b"",
    "empty": b"",
    "深/图.png": b"picture",
}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> bytes:
    """A zip as the standard library writes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.comment = comment
    return buffer.getvalue()


def hand_written(name: bytes, content: bytes, flags: int = 0, method: int = 0, size: int | None = None) -> bytes:
    """A zip of one member that says whatever it is told to."""
    size = len(content) if size is None else size
    facts = struct.pack("<5H3L2H", 20, flags, method, 0, 33, zlib.crc32(content), len(content), size, len(name), 0)
    local = b"PK\3\4" + facts + name + content
    directory = b"PK\1\2" + struct.pack("<H", 20) + facts + bytes(14) + name
    return local + directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(directory), len(local), 0)


def zip64(content: bytes) -> bytes:
    """The same archive with all sizes and offsets in 64 bits, as archives above 4 GB have them."""
    name, size = b"big.jpg", len(content)
    wide = struct.pack("<HH", 0x5455, 1) + b"x" + struct.pack("<HHQQQ", 1, 24, size, size, 0)
    local = struct.pack(
        "<4s5H3L2H", b"PK\3\4", 45, 0, 0, 0, 33, zlib.crc32(content), 2**32 - 1, 2**32 - 1, len(name), 0
    )
    local += name + content
    directory = struct.pack(
        "<4s6H3L5H2L",
        b"PK\1\2",
        45,
        45,
        0,
        0,
        0,
        33,
        zlib.crc32(content),
        2**32 - 1,
        2**32 - 1,
        len(name),
        len(wide),
        0,
        0,
        0,
        0,
        2**32 - 1,
    )
    directory += name + wide
    end = len(local) + len(directory)
    return (
        local
        + directory
        + struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(directory), len(local))
        + struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
        + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    )


@pytest.fixture
def archive(tmp_path: Path) -> Callable[[bytes], Archive]:
    """An archive over a folder with these bytes as `a.zip`."""

    def make(content: bytes) -> Archive:
        tmp_path.joinpath("a.zip").write_bytes(content)
        return Archive(tmp_path)

    return make


def problem(archive: Archive, source: str) -> str:
    """The error of a medium: one line."""
    with pytest.raises(DataError) as caught:
        archive.read(source)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- members ---


@pytest.mark.parametrize("before", [b"", b"#!/bin/sh\nexit\n"], ids=["plain", "prefixed"])
@pytest.mark.parametrize("comment", [b"", b"PK" * 30_000], ids=["", "comment"])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_members_are_read(archive: Callable[[bytes], Archive], method: int, comment: bytes, before: bytes) -> None:
    opened = archive(before + zipped(FILES, method, comment))
    assert {name: opened.read(f"a.zip!{name}") for name in FILES} == FILES


def test_zip64(archive: Callable[[bytes], Archive]) -> None:
    for before in (b"", b"prefix"):
        assert archive(before + zip64(b"content")).read("a.zip!big.jpg") == b"content"


def test_real_pictures_are_those_that_zipfile_reads() -> None:
    opened = Archive(real_data("slake"))
    with zipfile.ZipFile(real_data("slake", "imgs.zip")) as theirs:
        assert len(theirs.namelist()) == 180
        for name in theirs.namelist():
            assert opened.read(f"imgs.zip!{name}") == theirs.read(name)


def test_names_of_old_archives(archive: Callable[[bytes], Archive]) -> None:
    assert archive(hand_written("é.jpg".encode("cp437"), b"x")).read("a.zip!é.jpg") == b"x"
    assert archive(hand_written("é.jpg".encode(), b"x")).read("a.zip!é.jpg") == b"x"  # UTF-8 that does not say so
    assert "has no member 'é?.jpg'" in problem(archive(hand_written("é.jpg".encode("cp437"), b"x")), "a.zip!é?.jpg")
    assert "has no member 'é…x.jpg'" in problem(archive(hand_written(b"\x82x.jpg", b"x")), "a.zip!é…x.jpg")


def test_the_last_of_equal_names_counts(archive: Callable[[bytes], Archive], tmp_path: Path) -> None:
    opened = archive(zipped({"x": b"old"}))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "a.zip", "a") as more:
        more.writestr("x", b"new")
    assert opened.read("a.zip!x") == b"new"


def test_thousands_of_members(archive: Callable[[bytes], Archive]) -> None:
    files = {f"images/PMC{n}_F{n % 7}.jpg": str(n).encode() for n in range(5000)}
    opened = archive(zipped(files, zipfile.ZIP_STORED))
    assert {name: opened.read(f"a.zip!{name}") for name in files} == files
    assert "no member" in problem(opened, "a.zip!images/PMC5000_F2.jpg")


@pytest.mark.parametrize(
    ("member", "hint"),
    [
        ("imgs/a.png", "; did you mean 'imgs/a.jpg'?"),
        ("imgs/SCAN.JPG", "; did you mean 'imgs/scan.jpg'?"),
        ("a.jpg", "; did you mean 'imgs/a.jpg'?"),
        ("pictures/b.jpg", "; did you mean 'imgs/b.jpg'?"),
        ("深/圖.png", "; did you mean '深/图.png'?"),
        ("nothing/like/it", ""),
        ("", ""),
        ("\ud800", ""),
    ],
)
def test_a_missing_member_and_the_nearest_name(archive: Callable[[bytes], Archive], member: str, hint: str) -> None:
    assert problem(archive(zipped(FILES)), f"a.zip!{member}") == f"a.zip has no member {member!r}{hint}"


def test_a_long_name_is_shortened(archive: Callable[[bytes], Archive]) -> None:
    assert len(problem(archive(zipped(FILES)), "a.zip!" + "x" * 100_000)) < 300
    assert len(problem(archive(b""), "x" * 100_000)) < 600


@pytest.mark.parametrize("member", ["../x", "/x", "a/../../x"])
def test_members_that_lead_out_are_refused(archive: Callable[[bytes], Archive], member: str) -> None:
    opened = archive(zipped({member: b"content"}))
    assert problem(opened, f"a.zip!{member}").endswith(
        f"no member {member!r} that may be read: the name leads out of it"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (hand_written(b"x", b"x", flags=1), "a.zip!x is encrypted"),
        (hand_written(b"x", b"x", method=9), "a.zip!x is packed by method 9; only deflate and store can be read"),
        (hand_written(b"x", b"x", size=2**31), "a.zip!x is larger than 256 MiB"),
        (hand_written(b"x", b"x", size=2), "a.zip!x is damaged: size or checksum is wrong; fetch a.zip again"),
        (hand_written(b"x", b"\xff" * 9, method=8), "a.zip!x is damaged: Error -3 while *; fetch a.zip again"),
        (hand_written(b"x", b"x", size=2**32 - 1), "a.zip!x is damaged: its entry in the directory is broken; *"),
        (hand_written(b"x", b"word").replace(b"word", b"work"), "a.zip!x is damaged: size or checksum is wrong; *"),
        (hand_written(b"x", b"x").replace(b"PK\3\4", b"PK\0\0"), "a.zip!x is damaged: it is not where the directory *"),
    ],
    ids=["encrypted", "method", "huge", "size", "deflate", "zip64", "checksum", "elsewhere"],
)
def test_members_that_cant_be_read(archive: Callable[[bytes], Archive], content: bytes, said: str) -> None:
    opened = archive(content)
    assert Path(problem(opened, "a.zip!x")).match(said) or problem(opened, "a.zip!x") == said


def test_a_zip_bomb_is_not_unpacked(archive: Callable[[bytes], Archive], monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that is larger than the directory says: no more than the stated size and a byte are made of it."""
    unpacked = []
    make = zlib.decompressobj

    class Watched:
        def __init__(self, *args: int) -> None:
            self.real = make(*args)

        def decompress(self, content: bytes, most: int) -> bytes:
            unpacked.append(self.real.decompress(content, most))
            return unpacked[-1]

    monkeypatch.setattr(zips.zlib, "decompressobj", Watched)
    packed = zlib.compress(bytes(50_000_000))[2:]  # without the header of zlib: what zips hold
    assert "size or checksum" in problem(archive(hand_written(b"x", packed, method=8, size=1000)), "a.zip!x")
    assert [len(content) for content in unpacked] == [1001]


def test_cut_archives(archive: Callable[[bytes], Archive], tmp_path: Path) -> None:
    whole = zipped(FILES)
    said = f"archive {tmp_path / 'a.zip'} can't be opened: it has no directory at its end (cut short? fetch it again)"
    for length in (0, 1, 21, 22, len(whole) // 2, len(whole) - 1):
        assert problem(archive(whole[:length]), "a.zip!empty") == said
    for start in (1, len(whole) // 2):
        assert "(cut short? fetch it again)" in problem(archive(whole[start:]), "a.zip!empty")


def test_archives_of_noise(archive: Callable[[bytes], Archive]) -> None:
    """Whatever bytes are wrong, it is a DataError or the right content."""
    noise = random.Random(5)
    for whole in (zipped(FILES), zip64(b"content")):
        for _ in range(400):
            broken = bytearray(whole)
            for _ in range(noise.randint(1, 4)):
                # mostly in the directory and the end, where it hurts
                broken[-noise.randint(1, min(len(whole), 400))] = noise.choice((0, 1, 127, 255, noise.randrange(256)))
            opened = archive(bytes(broken))
            for name, content in [*FILES.items(), ("big.jpg", b"content")]:
                with contextlib.suppress(DataError):
                    assert opened.read(f"a.zip!{name}") == content
            opened.close()


def test_threads_read_at_once(archive: Callable[[bytes], Archive]) -> None:
    files = {f"{n}": bytes([n]) * 20_000 for n in range(200)}
    opened, wrong = archive(zipped(files)), []

    def read() -> None:
        wrong.extend(name for name, content in files.items() if opened.read(f"a.zip!{name}") != content)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_closed_archive_is_opened_again(archive: Callable[[bytes], Archive]) -> None:
    opened = archive(zipped(FILES))
    for _ in range(2):
        assert opened.read("a.zip!imgs/b.jpg") == FILES["imgs/b.jpg"]
        opened.close()


# --- fingerprints ---


def test_a_fingerprint_is_that_of_names_sizes_and_checksums(tmp_path: Path) -> None:
    def of(content: bytes) -> str:
        tmp_path.joinpath("f.zip").write_bytes(content)
        return fingerprint(tmp_path / "f.zip")

    known = of(zipped(FILES))
    assert len(known) == 64
    assert of(b"prefix" + zipped(dict(reversed(FILES.items())), zipfile.ZIP_STORED, b"comment")) == known
    assert of(zipped({**FILES, "empty": b"x"})) != known
    assert of(zipped({**FILES, "imgs/b.jpg": bytes(256)})) != known
    assert of(zipped({"c" if name == "empty" else name: content for name, content in FILES.items()})) != known
    with pytest.raises(DataError, match="fetch it again"):
        of(zipped(FILES)[:-30])
    with pytest.raises(DataError, match=r"nowhere\.zip can't be read: No such file"):
        fingerprint(tmp_path / "nowhere.zip")


# --- files ---


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path, Path]:
    """Data folder, start folder and two media roots; each file holds its place's name."""
    folders = tuple(tmp_path / name for name in ("data", "start", "root1", "root2"))
    for n, folder in enumerate(folders):
        for file in [f"{m}.jpg" for m in range(n + 1)] + ["images/own/dog.jpg"] * (n > 1) + ["images/z.jpg"] * (n == 3):
            folder.joinpath(file).parent.mkdir(parents=True, exist_ok=True)
            folder.joinpath(file).write_text(folder.name)
    return folders  # type: ignore[return-value]


def test_the_order_of_looking(places: tuple[Path, Path, Path, Path]) -> None:
    """In which folder each name is, by its number: 0.jpg in all of them, 3.jpg in the last alone."""
    data, start, root1, root2 = places
    opened = Archive(data, started_in=start, roots=[root1, root2])
    assert [opened.read(f"{n}.jpg") for n in range(4)] == [b"data", b"start", b"root1", b"root2"]
    looked = ", ".join(map(str, places))
    assert problem(opened, "4.jpg") == f"file '4.jpg' is not there (looked in {looked})"
    assert problem(Archive(data), "1.jpg") == f"file '1.jpg' is not there (looked in {data})"


def test_zips_are_looked_for_in_the_same_way(places: tuple[Path, Path, Path, Path]) -> None:
    data, start, root1, root2 = places
    root2.joinpath("sub").mkdir()
    root2.joinpath("sub", "p.zip").write_bytes(zipped(FILES))
    opened = Archive(data, started_in=start, roots=[root1, root2])
    assert opened.read("sub/p.zip!imgs/b.jpg") == FILES["imgs/b.jpg"]
    assert opened.read("/data/sub/p.zip!imgs/b.jpg") == FILES["imgs/b.jpg"]
    assert problem(opened, "p.zip!x").startswith("file 'p.zip' is not there (looked in ")


def test_absolute_paths_are_read_in_the_data_folder_and_roots_alone(places: tuple[Path, Path, Path, Path]) -> None:
    data, start, root1, _ = places
    opened = Archive(data, started_in=start, roots=[root1])
    assert opened.read(str(data / "0.jpg")) == b"data"
    assert opened.read(str(root1 / "2.jpg")) == b"root1"
    said = f"file {str(start / '9.jpg')!r} is not in {data}, and no end of its path is below {root1}"
    start.joinpath("9.jpg").write_text("secret")
    assert problem(opened, str(start / "9.jpg")) == said
    said = problem(Archive(data), "/etc/passwd")
    assert said.endswith("no end of its path is below a media root (--vqa-media-root names one)")


def test_absolute_paths_are_found_by_their_tail(places: tuple[Path, Path, Path, Path]) -> None:
    data, start, root1, root2 = places
    opened = Archive(data, started_in=start, roots=[root1, root2])
    assert opened.read("/data/LMUData/images/own/dog.jpg") == b"root1"
    assert opened.read("/data/LMUData/images/z.jpg") == b"root2"
    assert opened.read("/elsewhere/3.jpg") == b"root2"
    root2.joinpath("LMUData/images/own").mkdir(parents=True)
    root2.joinpath("LMUData/images/own/dog.jpg").write_text("longer")
    assert opened.read("/data/LMUData/images/own/dog.jpg") == b"longer"


def test_the_pictures_of_a_real_table() -> None:
    folder, root = real_data("vlmevalkit"), real_data("custom_eval", "multimodal", "images")
    rows = [line.split("\t") for line in folder.joinpath("custom_mcq.tsv").read_text().splitlines()[1:]]
    paths = [row[-1] for row in rows]
    assert paths[0] == "/data/LMUData/images/custom_mcq/dog.jpg"
    opened = Archive(folder, roots=[root])
    assert [opened.read(path) for path in paths] == [root.joinpath(Path(path).name).read_bytes() for path in paths]


def test_media_roots_with_that_of_vlmevalkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMUData", raising=False)
    assert media_roots([Path("/a")]) == (Path("/a"),)
    monkeypatch.setenv("LMUData", "~/LMU")
    assert media_roots([Path("/a")]) == (Path("/a"), Path("~/LMU").expanduser())
    monkeypatch.setenv("LMUData", "/a")
    assert media_roots([Path("/a"), Path("/a")]) == (Path("/a"),)


@pytest.mark.parametrize("name", ["../data/0.jpg", "a/../0.jpg", "", ".", "/", "0.jpg\0", "..", "/data/../etc/passwd"])
def test_names_that_are_refused(places: tuple[Path, Path, Path, Path], name: str) -> None:
    opened = Archive(places[0], roots=[places[2]])
    assert problem(opened, name) == f"file {name!r}: names must not be empty or hold '..' or NUL bytes"


def test_what_is_no_regular_file(places: tuple[Path, Path, Path, Path]) -> None:
    data = places[0]
    os.mkfifo(data / "pipe.jpg")
    data.joinpath("folder.jpg").mkdir()
    assert problem(Archive(data), "pipe.jpg") == f"file 'pipe.jpg' can't be read: it is no regular file (in {data})"
    assert problem(Archive(data), "folder.jpg") == f"file 'folder.jpg' can't be read: Is a directory (in {data})"
    assert problem(Archive(data), "0.jpg/x.jpg") == f"file '0.jpg/x.jpg' is not there (looked in {data})"


def test_large_files_are_refused(places: tuple[Path, Path, Path, Path]) -> None:
    with places[0].joinpath("large.jpg").open("wb") as file:
        file.truncate(256 * 2**20 + 1)
    assert problem(Archive(places[0]), "large.jpg") == "file 'large.jpg' is larger than 256 MiB"


def test_a_file_may_have_an_exclamation_mark(places: tuple[Path, Path, Path, Path]) -> None:
    places[0].joinpath("Hello!.jpg").write_text("x")
    assert Archive(places[0]).read("Hello!.jpg") == b"x"


def test_relative_folders_are_those_of_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("x.jpg").write_text("x")
    monkeypatch.chdir(tmp_path)
    opened = Archive(Path("."), roots=[Path("root")])
    monkeypatch.chdir("/")
    assert opened.read("x.jpg") == b"x"
    assert opened.read(str(tmp_path / "x.jpg")) == b"x"
