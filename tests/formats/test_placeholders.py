"""Media placeholders: which column or list entry stands for `<image 2>`."""

from typing import Any

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.placeholders import PlaceholderWarning, all_media, fill, referenced_media
from pytest_vqaeval.media import Media


class Cell:
    """A stand-in for a parquet cell."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def load(self) -> Any:
        return self.value


def sources(text: str, row: dict[str, Any]) -> list[Any]:
    """The text with each medium's source in its place."""
    parts = fill(text, referenced_media(row, [text]))
    return [part["text"] if part["type"] == "text" else source(part) for part in parts]


def source(part: dict[str, Any]) -> Any:
    inner = part[part["type"]]
    medium = inner if isinstance(inner, Media) else inner["url"]
    assert isinstance(medium, Media)
    return medium.source


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("a <image 1> b", {"image_1": "x.png"}, ["a ", "x.png", " b"]),
        ("<image_1><image 01>", {"image_1": "x.png"}, ["x.png", "x.png"]),
        ("<image 1> <image 2>", {"image_1": "x.png", "image_2": "y.png"}, ["x.png", "y.png"]),
        ("<IMAGE 1> <image1> <image  1>", {"image_1": "x.png"}, ["<IMAGE 1> <image1> <image  1>"]),
        ("<image 2>", {"images": ["x.png", "y.png"]}, ["y.png"]),
        ("<image 2>", {"images": '["x.png", "y.png"]'}, ["y.png"]),
        ("<image 2>", {"images": "['x.png', 'y.png']"}, ["y.png"]),
        ("<image 2>", {"images": Cell(["x.png", "y.png"])}, ["y.png"]),
        ("<image 101>", {"images": ["x.png"] * 100 + ["y.png"]}, ["y.png"]),
        ("<image 1>", {"image_1": {"bytes": b"png", "path": "x.png"}}, [b"png"]),
        ("<image 1>", {"image_1": {"bytes": None, "path": "x.png"}}, ["x.png"]),
        ("<image 1>", {"image_1": {"url": "http://h/x.png"}}, ["http://h/x.png"]),
        ("<video 1>", {"video_1": {"video": "v.mp4"}}, ["v.mp4"]),
        ("<audio 1>", {"audio_1": b"wav"}, [b"wav"]),
    ],
)
def test_what_stands_for_a_placeholder(text: str, row: dict[str, Any], expected: list[Any]) -> None:
    assert sources(text, row) == expected


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("a <image 2> b", {"image_1": "x.png"}, ["a ", " b"]),
        ("<image 0>a", {"image_0": "x.png", "images": ["x.png"]}, ["a"]),
        ("<image 101>a", {"image_101": "x.png"}, ["a"]),
        ("<image 1>a", {"image_1": ""}, ["a"]),
        ("<image 1>a", {"images": [None, "y.png"]}, ["a"]),
        ("<image 1><image 2>a", {"image_1": "x.png", "images": ["y.png", "z.png"]}, ["x.png", "a"]),
    ],
)
def test_a_placeholder_without_a_medium_is_left_out_with_a_warning(
    text: str, row: dict[str, Any], expected: list[Any]
) -> None:
    with pytest.warns(PlaceholderWarning, match=r"<image \d+> is left out"):
        assert sources(text, row) == expected


def test_a_list_counts_where_no_column_that_is_referred_to_is_filled() -> None:
    assert sources("<image 2>", {"image_1": "x.png", "images": ["a.png", "b.png"]}) == ["b.png"]


def test_columns_that_are_not_referred_to_may_hold_anything() -> None:
    assert sources("<image 1>", {"image_1": "x.png", "image_2": 5, "audios": "?"}) == ["x.png"]


def test_all_media_takes_the_list_only_where_no_column_is_filled() -> None:
    assert set(all_media({"image_1": "x.png", "images": ["a.png", "b.png"], "videos": ["v.mp4"]})) == {
        ("image", 1),
        ("video", 1),
    }
    assert set(all_media({"image_1": "", "images": ["a.png", None, "b.png"]})) == {("image", 1), ("image", 3)}


def test_formats_and_frame_rate() -> None:
    (audio,) = fill("<audio 1>", all_media({"audio_1": "x", "audio_1_format": "wav"}))
    assert audio == {"type": "input_audio", "input_audio": Media("audio", "x", "wav")}
    (video,) = fill("<video 1>", all_media({"video_1": {"path": "v", "fps": 2}, "video_1_format": "avi"}))
    assert video == {"type": "video_url", "video_url": {"url": Media("video", "v", "avi")}, "fps": 2.0}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"image_1": 5}, "field 'image_1' is 5, not a path, a URL, base64 or a mapping with bytes or path"),
        ({"image_3": {"foo": 1}}, "field 'image_3' has none of bytes, path, url, data, image; it has foo"),
        ({"image_1": {"bytes": "text"}}, "field 'image_1' has none of bytes"),
        ({"images": "a, b"}, "field 'images' is not a list of media"),
        ({"images": 3}, "field 'images' is not a list of media"),
        ({"images": ["x.png", 3]}, "field 'images[1]' is 3, not a path"),
        ({"audio_1": "x", "audio_1_format": "flac"}, "field 'audio_1': format is 'flac'; audio may be wav, mp3"),
        ({"video_1": "x", "video_1_format": "mkv"}, "field 'video_1': format is 'mkv'; video may be mp4"),
        ({"video_1": {"path": "x", "fps": "two"}}, "field 'video_1': fps is 'two', not a number above 0"),
    ],
)
def test_errors_name_the_field(row: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        all_media(row)
    assert str(error.value).startswith(message)
