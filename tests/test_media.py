"""What is sent for a medium: from files, archives, URLs, data URLs, base64, bytes and cells."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.media import Encoded, Media, inspect_image
from pytest_vqaeval.sniff import sniff
from tests.mediafiles import MP3, MP4, PNG, WAV, Cell, Files, b64, loaded, picture, problem
from tests.realdata import real_data

# --- audio and video ---


@pytest.mark.parametrize(
    ("content", "format"),
    [(WAV, "wav"), (MP3, "mp3"), (b"\xff\xfb\x90\x64" + bytes(9), "mp3")],
    ids=["wav", "mp3 with tags", "mp3"],
)
def test_audio_is_bare_base64_with_the_format_of_the_bytes(content: bytes, format: str) -> None:
    sources = ("a.flac", f"data:audio/x-anything;base64,{b64(content)}", content, Cell(1, {"bytes": content}))
    for source in sources:
        sent = loaded("audio", source, Files(**{"a.flac": content}))
        assert sent == {"data": b64(content), "format": format}
        assert isinstance(sent["data"], Encoded)
        assert sent["data"].sha256 == hashlib.sha256(content).hexdigest()


def test_raw_base64_of_audio() -> None:
    assert loaded("audio", b64(WAV)) == {"data": b64(WAV), "format": "wav"}
    assert loaded("audio", b64(MP3)) == {"data": b64(MP3), "format": "mp3"}


@pytest.mark.parametrize(
    ("start", "mime"),
    [
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"\0\0\0\x14ftypqt  ", "video/quicktime"),
        (b"\0\0\0\x08wide\0\1", "video/quicktime"),
        (b"\x09\0\0\x08mdat\0\1", "video/quicktime"),
        (b"\0\0\1\xba\x44", "video/mpeg"),
        (b"\0\0\1\xb3\x44", "video/mpeg"),
        (b"RIFF\0\0\0\0AVI LIST", "video/x-msvideo"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", "video/webm"),
    ],
    ids=["isom", "mp42", "qt", "wide", "mdat", "program stream", "elementary stream", "avi", "webm"],
)
def test_videos(start: bytes, mime: str) -> None:
    content = start + bytes(30)
    for source in ("v.mp4", b64(content), f"data:video/any;base64,{b64(content)}", content):
        sent = loaded("video", source, Files(**{"v.mp4": content}))
        assert sent == f"data:{mime};base64,{b64(content)}"
        assert (sent.mime, sent.size) == (mime, None)
    assert str(sent) == f"embedded video ({len(content)} bytes, {mime})"


VIDEO_FORMATS = "mp4, mpeg, mov, avi, webm can"


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("audio", PNG, f"a is no audio that can be sent (image/png, {len(PNG)} bytes): wav, mp3 can"),
        ("audio", MP4, "a is no audio that can be sent (video/mp4, 52 bytes): wav, mp3 can"),
        ("audio", b"fLaC1234", "a is no audio that can be sent (audio/flac, 8 bytes): wav, mp3 can"),
        ("audio", b"\xff\xfea\0b\0", "a is no audio that can be sent (6 bytes): wav, mp3 can"),  # UTF-16
        ("audio", b"\xff\xfb\xff\xff", "a is no audio that can be sent (4 bytes): wav, mp3 can"),
        ("audio", b"", "a is no audio that can be sent (0 bytes): wav, mp3 can"),
        ("video", WAV, f"a is no video that can be sent (audio/wav, 204 bytes): {VIDEO_FORMATS}"),
        ("video", b"[secret]\nkey=1", f"a is no video that can be sent (14 bytes): {VIDEO_FORMATS}"),
        ("video", b"For free use", f"a is no video that can be sent (12 bytes): {VIDEO_FORMATS}"),
        ("video", b"\0\0\0\x20ftypM4A ", f"a is no video that can be sent (audio/mp4, 12 bytes): {VIDEO_FORMATS}"),
        ("video", b"\0\0\0\x20ftypheic", f"a is no video that can be sent (image/heic, 12 bytes): {VIDEO_FORMATS}"),
        ("video", b"\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska", "a is no video that can be sent (video/x-matroska, 16 "),
    ],
    ids=["png", "mp4", "flac", "utf-16", "no frame", "empty", "wav", "text", "free", "m4a", "heic", "mkv"],
)
def test_a_file_is_sent_only_if_it_is_of_the_kind(kind: str, content: bytes, said: str) -> None:
    assert said in problem(kind, "a", Files(a=content))


def test_the_real_video() -> None:
    folder = real_data("custom_eval", "multimodal")
    sent = loaded("video", "videos/sample.mp4", Archive(folder))
    assert (sent.mime, sent.bytes) == ("video/mp4", 1539)


# --- URLs ---


@pytest.mark.parametrize("url", ["http://e.com/x.jpg", "https://e.com/a b\"é'\\.mp4?q=1#x", "HTTPS://E.COM/x"])
def test_urls_are_sent_untouched(url: str) -> None:
    for kind in ("image", "video"):
        for source in (url, {"url": url}, Cell(1, url)):
            sent = loaded(kind, source)
            assert sent == url
            assert type(sent) is str  # it is no text that JSON need not look at


def test_audio_by_url_is_refused() -> None:
    said = ": audio can't be sent as a URL; give a file or base64"
    for source in ("https://e.com/x.wav", Cell(1, "https://e.com/x.wav")):
        assert problem("audio", source).endswith(said)
    assert problem("audio", "https://e.com/x.wav") == f"https://e.com/x.wav{said}"
    assert len(problem("audio", "https://e.com/" + "x" * 10_000)) < 300


@pytest.mark.parametrize(
    "head",
    [
        "data:image/png;base64,",
        "data:image/jpeg;base64,",
        "data:image/png;charset=utf-8;base64,",
        "data:image/png;name=a.png;charset=utf-8;base64,",
        "data:;base64,",
        "data:application/octet-stream;base64,",
        "DATA:image/PNG;BASE64,",
    ],
)
def test_data_urls_are_made_canonical(head: str) -> None:
    assert loaded("image", head + b64(PNG)) == f"data:image/png;base64,{b64(PNG)}"


def test_white_space_and_padding_of_base64() -> None:
    """What is sent is free of characters that JSON would have to escape."""
    whole = b64(WAV + b"12")
    assert whole.endswith("=")
    for data in (
        whole,
        whole.rstrip("="),
        "\r\n".join(whole[start : start + 76] for start in range(0, len(whole), 76)),
    ):
        assert loaded("audio", data)["data"] == loaded("audio", f"data:audio/wav;base64,{data}")["data"] == whole


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("data:image/png;charset=utf-8;base64,AAAA", "data URL is no picture that can be read (3 bytes)"),
        ("data:image/png;base64,!!!!", "data URL is not valid base64"),
        ("data:image/png;base64,A", "data URL is not valid base64"),
        ("data:image/png;base64,é", "data URL is not valid base64"),
        ("data:image/png,AAAA", "data URL is not base64: it must begin like data:image/png;base64,"),
        ("data:image/png;base64", "data URL is not base64: it must begin like data:image/png;base64,"),
        (b64(PNG) + '"}', "base64 text is not valid base64"),
        ("A" * 5000, "base64 text is no picture that can be read (3,750 bytes)"),
        (b64(WAV), "base64 text is no picture that can be read (audio/wav, 204 bytes)"),
        (f"data:image/png;base64,{b64(PNG[:60])}", "data URL does not decode: "),
    ],
    ids=["charset", "alphabet", "one letter", "not ASCII", "no base64", "no comma", "JSON", "long", "wav", "cut"],
)
def test_broken_inline_media(source: str, said: str) -> None:
    assert problem("image", source).startswith(said)


@pytest.mark.parametrize("name", ["media/noext", "a", "iVBO", "abc/def", "深", "Qk1/foo", "//server/share/x", "R0lG"])
def test_names_are_not_taken_for_base64(name: str) -> None:
    assert loaded("image", name, Files(**{name: PNG})).source == name


def test_inline_media_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_vqaeval.media.MAX_BYTES", 1000)
    assert problem("image", "A" * 2000) == "base64 text is larger than 0 MiB"
    assert problem("image", bytes(2000)) == "embedded image is larger than 0 MiB"


# --- bytes, mappings, cells ---


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (PNG, "embedded image"),
        ({"bytes": PNG}, "embedded image"),
        ({"bytes": PNG, "path": "x/1.png"}, "x/1.png"),
        ({"bytes": None, "path": "a.png"}, "a.png"),
        ({"url": "a.png"}, "a.png"),
        ({"data": b64(PNG)}, "base64 text"),
        ({"image": f"data:image/png;base64,{b64(PNG)}"}, "data URL"),
        (Cell(1, PNG), "embedded image"),
        (Cell(1, {"bytes": PNG, "path": "1.png"}), "1.png"),
        (Cell(1, {"bytes": None, "path": "a.png"}), "a.png"),
        (Cell(1, "a.png"), "a.png"),
    ],
)
def test_sources(source: Any, name: str) -> None:
    sent = loaded("image", source, Files(**{"a.png": PNG}))
    assert sent == f"data:image/png;base64,{b64(PNG)}"
    assert sent.source == name


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Cell(1, None), "image is NoneType, not a path, a URL, base64 or bytes"),
        (Cell(1, {"bytes": None, "path": None}), "image is NoneType, not a path, a URL, base64 or bytes"),
        ({}, "image is NoneType, not a path, a URL, base64 or bytes"),
        (5, "image is int, not a path, a URL, base64 or bytes"),
        (Cell(1, [PNG]), "image is list, not a path, a URL, base64 or bytes"),
    ],
)
def test_sources_of_no_use(source: Any, said: str) -> None:
    assert problem("image", source) == said


def test_names_for_people() -> None:
    assert Media("image", "a\nb\x1b.png").name == r"'a\nb\x1b.png'"
    assert Media("image", "深/图.png").name == "深/图.png"
    assert Media("image", "x." * 10_000).name == "x." * 100
    assert Media("audio", Cell(1, b"x")).name == "embedded audio"
    assert "\n" not in problem("image", "a\nb", Files(**{"a\nb": b"x"}))


# --- magic numbers ---


def test_golden_media() -> None:
    """By what they are: two of them have the name of another format."""
    folder = real_data("golden", "media")
    assert {file.name: sniff(file.read_bytes()) for file in sorted(folder.iterdir())} == {
        "blue_png_named.jpg": "image/png",
        "noext": "image/png",
        "pic.webp": "image/png",
        "red.png": "image/png",
        "s.mp3": "audio/mpeg",
        "s.wav": "audio/wav",
        "v.avi": "video/x-msvideo",
        "v.mov": "video/quicktime",
        "v.mp4": "video/mp4",
        "v.webm": "video/webm",
    }


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
def test_pictures_have_the_type_that_pillow_says(format: str) -> None:
    content = picture(format)
    assert sniff(content) == sniff(content[:64]) == inspect_image(content, "a")[0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"\xff",
        b"\xff\xfb",
        b"\xff\xfb\xf0\x64",
        b"\xff\xfb\x00\x64",
        b"RIFF",
        b"BM",
        b"BMW drives",
        b"ID",
        b"\x1aE",
        b"text",
    ],
)
def test_what_has_no_type(content: bytes) -> None:
    assert sniff(content) is None


def test_a_picture_from_a_folder(tmp_path: Path) -> None:
    tmp_path.joinpath("x.jpg").write_bytes(PNG)
    assert str(loaded("image", "x.jpg", Archive(tmp_path))).startswith("x.jpg (8x6 px, ")
