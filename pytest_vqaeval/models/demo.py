"""The model `demo`: reads pictures of one colored shape on a plain ground from their pixels, without any weights.

It is meant for easy-VQA (https://github.com/vzhou842/easy-VQA) and for trying things out. It knows no data set:
whatever it says is measured in the picture, and where it can't measure or does not know a word, it says so.
"""

from __future__ import annotations

import base64
import colorsys
import io
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pytest_vqaeval.errors import Failure, ModelError
from pytest_vqaeval.question import Message
from pytest_vqaeval.reply import Reply

if TYPE_CHECKING:
    from PIL.Image import Image

RGB = tuple[int, int, int]

SHAPES = ("circle", "triangle", "rectangle")

# Hues in degrees up to which a name holds, and what people call some of them when they are dark.
_HUES = {18: "red", 45: "orange", 72: "yellow", 162: "green", 200: "cyan", 258: "blue", 315: "purple", 345: "pink"}
_DARK = {"red": "brown", "orange": "brown", "cyan": "teal"}
COLORS = ("black", "gray", "white", *_HUES.values(), *dict.fromkeys(_DARK.values()))

# A question with any other word is not answered: "is there a red dog?" is not "is there something red?".
_SYNONYMS = {"colour": "color", "colored": "color", "coloured": "color", "grey": "gray", "object": "shape"}
_AUXILIARIES = {"is", "are", "does", "do", "can", "has"}
_NEGATIONS = {"not", "no", "without"}
_ARTICLES = {"a", "an", "any", "the", "this", "it"}
_PLACES = {"there", "in", "on", "of", "image", "picture"}
_VERBS = {"s", "see", "contain", "show", "have", "present", "visible", "you", "with"}
_KNOWN_WORDS = {"what", "which", "color", "shape", *SHAPES, *COLORS}
_KNOWN_WORDS |= _AUXILIARIES | _NEGATIONS | _ARTICLES | _PLACES | _VERBS

_LARGEST_PX = 128  # larger pictures are reduced to this side; form and color do not need more
_SMALLEST_PX = 5  # side of the smallest box in which the three shapes differ
_NOISE = 40  # of 255; contrast to the ground below which there is no shape
_EDGE_WIDTH_PX = 4  # of a soft edge: one by antialiasing, the rest by scaling and by JPEG
_OTHER_COLOR = 80  # of 255; a compression changes few pixels as much


class Seen(NamedTuple):
    """What a picture shows; `shape` is None if the form is none of SHAPES."""

    shape: str | None
    color: str


class Unknown(Exception):
    """What the demo can't tell; the text says why."""


class Demo:
    """The built-in picture reader (see the module)."""

    name = "demo"

    def ask(self, messages: Sequence[Message]) -> Reply:
        """Answer the question of the last user message about its picture.

        Returns:
            A reply that ends in the line `ANSWER: <answer>`, or one without such a line that says what can't be told.

        Raises:
            ModelError: the picture is not in a data URL, or does not decode.
        """
        try:
            url, question = _request(messages)
            seen = see(url)
            text = f"{_description(seen)}\nANSWER: {_answer(_words(question), seen)}"
        except Unknown as reason:
            text = f"I can't tell: {reason}."
        return Reply(text, "stop")


def _request(messages: Sequence[Message]) -> tuple[str, str]:
    """The data URL and the question in the last message of the user."""
    content = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "")
    parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    if len(urls) != 1:
        raise Unknown(f"the question comes with {len(urls)} pictures, not with one")
    text = "\n".join(part["text"] for part in parts if part["type"] == "text").strip()
    questions = re.findall(r"[^.:!?\n]+\?", text)
    if len(questions) > 1:
        raise Unknown("there is more than one question")
    return urls[0], questions[0] if questions else text.partition("\n")[0]


# --- the question ---------------------------------------------------------------------------------------------------


def _words(question: str) -> list[str]:
    """The words of a question, each in its basic form."""
    spelled = re.findall(r"\w+", re.sub(r"n['’]t\b", " not", question.lower()))
    words = [_basic_form(word) for word in spelled]
    for word, original in zip(words, spelled, strict=True):
        if word not in _KNOWN_WORDS:
            raise Unknown(f"I don't know the word {original!r}")
    return words


def _basic_form(word: str) -> str:
    word = word if word in _KNOWN_WORDS else word.removesuffix("s")
    return _SYNONYMS.get(word, word)


def _answer(words: Sequence[str], seen: Seen) -> str:
    """`yes` or `no`, or the shape or color that is asked for."""
    said = set(words)
    shapes, colors = said & set(SHAPES), said & set(COLORS)
    asked = said & {"what", "which"}
    named = shapes | colors | said & {"shape", "color"}
    if not named or not (asked or said & _AUXILIARIES):
        raise Unknown("I don't understand the question")
    if seen.shape is None and (shapes or (asked and "color" not in said)):
        raise Unknown(f"the shape is none of {', '.join(SHAPES)}")
    true = shapes <= {seen.shape} and colors <= {seen.color}
    negated = sum(word in _NEGATIONS for word in words) % 2 == 1
    if not asked:
        return "yes" if true != negated else "no"
    if negated or not true:
        raise Unknown("the question does not fit the picture")
    return seen.color if "color" in said else str(seen.shape)


def _description(seen: Seen) -> str:
    color = f"The shape's color is {seen.color}."
    return f"The shape is a {seen.shape}. {color}" if seen.shape else color


# --- the picture ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)  # benchmarks ask several questions in a row about one picture
def see(url: str) -> Seen:
    """What the picture in a data URL shows.

    Raises:
        Unknown: it is not a shape of one color on a plain ground.
        ModelError: the URL is no data URL of a picture, or does not decode.
    """
    image = _decoded(url)
    ground = _ground(image)
    color = _shape_color(image, ground)
    coverage = _coverage(image, ground, color)
    return Seen(_shape(coverage), color_name(color))


def _decoded(url: str) -> Image:
    """The picture in RGB, on white where it is transparent, at most _LARGEST_PX wide and high."""
    from PIL import Image

    head, comma, data = url.partition(";base64,")
    if not comma or not head.startswith("data:image/"):
        raise ModelError("the demo model reads pictures from base64 data URLs only", Failure.SAMPLE)
    try:
        image: Image.Image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
        image.load()
    except Exception:  # Pillow's decoders raise whatever a broken file makes them raise
        raise ModelError("the picture does not decode", Failure.SAMPLE) from None
    if image.mode != "RGB":
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    image.thumbnail((_LARGEST_PX, _LARGEST_PX), Image.Resampling.BOX)
    return image


def _ground(image: Image) -> RGB:
    """The color that most of the corners have."""
    right, bottom = image.width - 1, image.height - 1
    corners = ((0, 0), (right, 0), (0, bottom), (right, bottom))
    return Counter(cast("RGB", image.getpixel(corner)) for corner in corners).most_common(1)[0][0]


def _shape_color(image: Image, ground: RGB) -> RGB:
    """The most frequent of the colors that differ most from the ground; those between are the shape's soft edge."""
    counted = cast("list[tuple[int, RGB]]", image.getcolors(image.width * image.height))
    contrasts = [(max(abs(a - b) for a, b in zip(color, ground, strict=True)), n, color) for n, color in counted]
    highest = max(contrasts)[0]
    if highest < _NOISE:
        raise Unknown("nothing stands out from the ground of the picture")
    return max((n, color) for contrast, n, color in contrasts if contrast > 0.75 * highest)[1]


def _coverage(image: Image, ground: RGB, color: RGB) -> Image:
    """How much of each pixel the shape covers, 0 to 255: at its edge, its color is mixed with that of the ground.

    Raises:
        Unknown: there are other colors than mixtures of the two, or more mixtures than an edge has.
    """
    from PIL import Image, ImageChops

    band = max(range(3), key=lambda i: abs(color[i] - ground[i]))
    low, high = ground[band], color[band]
    shares = [min(255, max(0, round(255 * (value - low) / (high - low)))) for value in range(256)]
    coverage = image.getchannel(band).point(shares)
    redrawn = Image.composite(Image.new("RGB", image.size, color), Image.new("RGB", image.size, ground), coverage)
    red, green, blue = ImageChops.difference(redrawn, image).split()
    difference = ImageChops.lighter(ImageChops.lighter(red, green), blue).histogram()
    covered = coverage.histogram()
    area, mixtures, others = sum(covered[128:]), sum(covered[32:224]), sum(difference[_OTHER_COLOR:])
    if others > 0.1 * area or mixtures > _EDGE_WIDTH_PX * 4 * area**0.5:  # the perimeter of a square of that area
        raise Unknown("the picture is not one shape of one color on a plain ground")
    return coverage


def _shape(coverage: Image) -> str | None:
    """The shape that fills its bounding box as much: rectangle 1, circle pi/4, triangle 1/2; None if none does.

    The ranges are wider above than below, because the box of the pixels that are covered for two thirds is up to a
    pixel too small. A rectangle must stand parallel to the picture, a triangle more or less on one of its sides.
    """
    box = coverage.point([0] * 170 + [255] * 86).getbbox() or (0, 0, 0, 0)
    width, height = box[2] - box[0], box[3] - box[1]
    if min(width, height) < _SMALLEST_PX:
        return None
    pixels = coverage.crop(box).tobytes()
    fill = sum(pixels) / 255 / (width * height)
    # what is not covered after a turn by 180 degrees: half of a triangle, nothing of the others
    lopsided = sum(max(0, here - there) for here, there in zip(pixels, reversed(pixels), strict=True)) / sum(pixels)
    if lopsided > 0.25:
        return "triangle" if 0.45 < fill < 0.74 else None
    if fill > 0.93:
        return "rectangle"
    is_round = abs(width - height) <= max(1, 0.1 * width)
    return "circle" if is_round and 0.74 < fill < 0.92 else None


def color_name(color: RGB) -> str:
    """The name of a color in COLORS, from its hue, saturation and brightness (HSV)."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(channel / 255 for channel in color))
    if value < 0.2:
        return "black"
    if saturation < 0.15:
        return "white" if value > 0.85 else "gray"
    name = next((name for bound, name in _HUES.items() if hue * 360 <= bound), "red")
    return _DARK.get(name, name) if value < 0.75 else name
