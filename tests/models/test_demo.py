"""The built-in picture reader: the real test set, and pictures and questions that no data set holds."""

import base64
import importlib.util
import io
import json
import random
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from pytest_vqaeval.errors import Failure, ModelError
from pytest_vqaeval.models import Model
from pytest_vqaeval.models.demo import COLORS, SHAPES, Demo, see

INSTRUCTION = (
    "\nAnswer with a single word.\n"
    'The last line of your response must be of the form "ANSWER: <answer>" (without quotes).'
)
GROUND = (240, 245, 250)
RGB = {
    "red": (255, 0, 0),
    "orange": (255, 165, 0),
    "yellow": (255, 255, 0),
    "green": (0, 128, 0),
    "teal": (0, 128, 128),
    "cyan": (0, 255, 255),
    "blue": (30, 60, 220),
    "purple": (128, 0, 128),
    "pink": (255, 20, 147),
    "brown": (139, 69, 19),
    "black": (10, 10, 10),
    "gray": (110, 110, 110),
}


def data_url(content: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(content).decode()


def encoded(image: Image.Image, format: str = "PNG", **options: object) -> str:
    file = io.BytesIO()
    image.save(file, format, **options)
    return data_url(file.getvalue())


def draw(image: Image.Image, shape: str, box: tuple[int, int, int, int], color: object) -> Image.Image:
    left, top, right, bottom = box
    pen = ImageDraw.Draw(image)
    if shape == "circle":
        pen.ellipse(box, fill=color)
    elif shape == "rectangle":
        pen.rectangle(box, fill=color)
    else:
        pen.polygon([(left, bottom), (right, bottom), ((left + right) // 2, top)], fill=color)
    return image


def picture(shape: str = "circle", color: object = "red", size: tuple[int, int] = (90, 70)) -> Image.Image:
    side = min(size) // 2
    left, top = size[0] // 5, size[1] // 4
    return draw(Image.new("RGB", size, GROUND), shape, (left, top, left + side, top + side), color)


def ask(question: str, *urls: str) -> str:
    content = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return Demo().ask([{"role": "user", "content": [*content, {"type": "text", "text": question}]}]).text


def answer(question: str, url: str) -> str | None:
    *_, last = ask(question, url).splitlines()
    return last.removeprefix("ANSWER: ") if last.startswith("ANSWER: ") else None


def easy_vqa(split: str) -> tuple[list[list], Path]:
    pytest.importorskip("easy_vqa", reason="needs the package easy-vqa (extra `demo`)")
    folder = Path(importlib.util.find_spec("easy_vqa").origin).parent / "data" / split
    return json.loads((folder / "questions.json").read_text()), folder / "images"


@pytest.mark.parametrize(("split", "questions"), [("test", 9673), ("train", 38575)])
def test_answers_all_of_easy_vqa(split: str, questions: int) -> None:
    """The thresholds of the reader were set on the test set; the training set shows that they are not fitted to it."""
    records, images = easy_vqa(split)
    urls = {number: data_url((images / f"{number}.png").read_bytes()) for *_, number in records}
    wrong = [
        (question, expected, number)
        for question, expected, number in records
        if answer(question + INSTRUCTION, urls[number]) != expected
    ]
    assert len(records) == questions
    assert wrong == []


@pytest.mark.parametrize("size", [(24, 24), (61, 40), (128, 300), (1200, 800)])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("color", RGB)
def test_reads_pictures_of_any_size(shape: str, color: str, size: tuple[int, int]) -> None:
    assert see(encoded(picture(shape, RGB[color], size))) == (shape, color)


@pytest.mark.parametrize("shape", SHAPES)
def test_reads_light_shapes_on_a_dark_ground(shape: str) -> None:
    image = draw(Image.new("RGB", (64, 64), (0, 0, 90)), shape, (20, 10, 50, 40), "white")
    assert see(encoded(image)) == (shape, "white")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_may_be_larger_than_what_is_left_of_the_ground(shape: str) -> None:
    assert see(encoded(draw(Image.new("RGB", (64, 64), GROUND), shape, (2, 2, 61, 61), "blue"))) == (shape, "blue")


@pytest.mark.parametrize(
    "points",
    [[(10, 10), (50, 10), (30, 50)], [(10, 10), (10, 50), (50, 50)], [(10, 30), (50, 10), (50, 50)]],
    ids=["on its tip", "right-angled", "lying"],
)
def test_reads_triangles_in_other_positions(points: list[tuple[int, int]]) -> None:
    image = Image.new("RGB", (64, 64), GROUND)
    ImageDraw.Draw(image).polygon(points, fill="teal")
    assert see(encoded(image)) == ("triangle", "teal")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("color", ["red", "teal", "gray"])
def test_reads_jpeg_in_spite_of_its_artefacts(shape: str, color: str) -> None:
    image = picture(shape, RGB[color], (160, 160))
    assert see(encoded(image, "JPEG", quality=75)) == (shape, color)


@pytest.mark.parametrize("mode", ["P", "RGBA", "CMYK"])
def test_reads_other_modes(mode: str) -> None:
    image = picture("triangle", "blue").convert(mode, palette=Image.Palette.ADAPTIVE)  # the fixed palette is dithered
    assert see(encoded(image, "TIFF")) == ("triangle", "blue")


def test_transparent_ground_is_white() -> None:
    image = draw(Image.new("RGBA", (64, 64), (0, 0, 0, 0)), "circle", (10, 10, 40, 40), (0, 0, 0, 255))
    assert see(encoded(image)) == ("circle", "black")


def test_names_every_color_it_lists() -> None:
    assert set(COLORS) == {*RGB, "white"}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what shape is in the image?", "triangle"),
        ("Which shape does the picture show?", "triangle"),
        ("What is the brown shape?", "triangle"),
        ("Which object is brown?", "triangle"),
        ("what shape is there", "triangle"),
        ("what is the color of the triangle?", "brown"),
        ("WHAT COLOUR HAS THE SHAPE?", "brown"),
        ("What's the color of the object in this picture?", "brown"),
        ("Question: which color is the shape?", "brown"),
        ("is there a triangle?", "yes"),
        ("Is there any brown triangle in the picture?", "yes"),
        ("Is the shape brown?", "yes"),
        ("Are there triangles?", "yes"),
        ("Do you see a shape?", "yes"),
        ("does the image contain a red triangle?", "no"),
        ("does the image contain a brown circle?", "no"),
        ("is there a grey-colored shape?", "no"),
        ("is there not a triangle?", "no"),
        ("is no circle present?", "yes"),
        ("Doesn't the image contain a circle?", "yes"),
        ("Isn’t the shape brown?", "no"),
        ("Is the image without a teal shape?", "yes"),
        ("is there not no triangle?", "yes"),
    ],
)
def test_understands_other_wordings(question: str, expected: str) -> None:
    assert answer(question + INSTRUCTION, encoded(picture("triangle", "brown"))) == expected


def test_says_what_it_sees_and_ends_with_the_answer() -> None:
    message = {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": encoded(picture("circle", "red"))}},
            {"type": "text", "text": "is there a blue shape?"},
        ],
    }
    reply = Demo().ask([{"role": "system", "content": "Is there a red shape?"}, message])
    assert reply.text == "The shape is a circle. The shape's color is red.\nANSWER: no"
    assert reply.finish_reason == "stop"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("is there a red dog?", "I don't know the word 'dog'"),
        ("how many circles are there?", "I don't know the word 'how'"),
        ("is the shape red or blue?", "I don't know the word 'or'"),
        ("is there?", "I don't understand the question"),
        ("what is in the picture?", "I don't understand the question"),
        ("a red circle", "I don't understand the question"),
        ("", "I don't understand the question"),
        ("what color is the triangle?", "the question does not fit the picture"),
        ("what color is not in the picture?", "the question does not fit the picture"),
        ("is it red? is it blue?", "there is more than one question"),
    ],
)
def test_says_so_where_it_does_not_understand(question: str, reason: str) -> None:
    assert ask(question, encoded(picture("circle", "red"))) == f"I can't tell: {reason}."


def two_shapes(first: str, second: str) -> Image.Image:
    image = draw(Image.new("RGB", (90, 60), GROUND), "circle", (5, 20, 25, 40), first)
    return draw(image, "circle", (60, 20, 80, 40), second)


def noise() -> Image.Image:
    return Image.frombytes("L", (64, 64), random.Random(0).randbytes(64 * 64))


def vignette() -> Image.Image:
    """A blurred disc, as scans have it."""
    return Image.radial_gradient("L")


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (Image.new("RGB", (64, 64), "red"), "nothing stands out from the ground of the picture"),
        (Image.new("RGB", (1, 1)), "nothing stands out from the ground of the picture"),
        (two_shapes("red", "blue"), "the picture is not one shape of one color on a plain ground"),
        (noise(), "the picture is not one shape of one color on a plain ground"),
        (vignette(), "the picture is not one shape of one color on a plain ground"),
    ],
    ids=["plain", "one pixel", "two colors", "noise", "vignette"],
)
def test_says_so_where_the_picture_shows_no_single_shape(image: Image.Image, reason: str) -> None:
    assert ask("is there a circle?", encoded(image)) == f"I can't tell: {reason}."


def ring() -> Image.Image:
    return draw(
        draw(Image.new("RGB", (64, 64), GROUND), "circle", (10, 10, 50, 50), "red"), "circle", (18, 18, 42, 42), GROUND
    )


def diamond() -> Image.Image:
    image = Image.new("RGB", (64, 64), GROUND)
    ImageDraw.Draw(image).polygon([(30, 10), (50, 30), (30, 50), (10, 30)], fill="red")
    return image


def ellipse() -> Image.Image:
    return draw(Image.new("RGB", (64, 64), GROUND), "circle", (5, 20, 55, 40), "red")


def speck() -> Image.Image:
    return draw(Image.new("RGB", (64, 64), GROUND), "rectangle", (20, 20, 23, 23), "red")


@pytest.mark.parametrize("image", [ring(), diamond(), ellipse(), speck(), two_shapes("red", "red")])
def test_a_form_that_it_does_not_know_still_has_a_color(image: Image.Image) -> None:
    url = encoded(image)
    assert see(url) == (None, "red")
    assert ask("what color is the shape?", url) == "The shape's color is red.\nANSWER: red"
    assert answer("is there a blue shape?", url) == "no"
    for question in ("is there a circle?", "what is the red shape?"):
        assert ask(question, url) == "I can't tell: the shape is none of circle, triangle, rectangle."


@pytest.mark.parametrize("count", [0, 2])
def test_wants_exactly_one_picture(count: int) -> None:
    text = ask("is there a circle?", *[encoded(picture())] * count)
    assert text == f"I can't tell: the question comes with {count} pictures, not with one."


def test_a_message_of_text_alone_has_no_picture() -> None:
    text = Demo().ask([{"role": "user", "content": "is there a circle?"}]).text
    assert text == "I can't tell: the question comes with 0 pictures, not with one."


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://example.org/circle.png", "the demo model reads pictures from base64 data URLs only"),
        ("data:text/plain;base64,AAAA", "the demo model reads pictures from base64 data URLs only"),
        ("data:image/png,AAAA", "the demo model reads pictures from base64 data URLs only"),
        ("data:image/png;base64,*", "the picture does not decode"),
        ("data:image/png;base64,é", "the picture does not decode"),
        (data_url(b"no picture"), "the picture does not decode"),
        (encoded(picture())[:-100], "the picture does not decode"),
    ],
)
def test_a_broken_picture_is_an_error_of_its_sample(url: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        ask("is there a dog?", url)
    assert (str(caught.value), caught.value.failure) == (message, Failure.SAMPLE)


def test_is_a_model() -> None:
    assert isinstance(Demo(), Model)
    assert Demo.name == "demo"
