"""The `sample:` block of a spec: how a record becomes a sample."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_vqaeval.formats.choice import ANSWERS
from pytest_vqaeval.formats.parts import KINDS
from pytest_vqaeval.formats.recognise import FORMATS
from pytest_vqaeval.templates import Switch, Template, nearest, parse
from pytest_vqaeval.yamlblock import Block

TEMPLATE = "template"
_CHOICES = ("vmcq", "vlmevalkit_choice")  # formats whose answer names an option


@dataclass(frozen=True)
class Part:
    """A part of a message.

    Attributes:
        kind: text, image, video, audio, or interleaved: a text in which `<image 1>` stands for a picture.
        several: the field may hold a list of media, or none.
    """

    kind: str
    template: Template
    several: bool = False


@dataclass(frozen=True)
class MessageTemplate:
    """A message of the request."""

    role: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Options:
    """The options of a choice question: a template for each, a field that holds a list, or lines of a text.

    Attributes:
        lines: the text in which they are lines `A. text`.
        optional: a question may have none; it is an open one then.
    """

    templates: tuple[Template, ...] = ()
    field: str | None = None
    lines: Template | None = None
    optional: bool = False


@dataclass(frozen=True)
class SampleRule:
    """How a record becomes a sample.

    Attributes:
        format: `template` (messages, question and reference as written here), or a format with columns of its own.
        answer: how the record says which option is right: label, index or text.
    """

    id: Template = parse("{row}")  # noqa: RUF009 - a template never changes
    format: str = TEMPLATE
    subset: Template | Switch | None = None
    cluster: Template | None = None
    answer: str = ANSWERS[0]
    messages: tuple[MessageTemplate, ...] = ()
    question: Template | None = None
    reference: Template | Switch | None = None
    options: Options | None = None

    def uses(self, field: str) -> bool:
        """A message has `{field}` in it."""
        parts = [part for message in self.messages for part in message.parts]
        return any(piece[0] == field for part in parts for piece in part.template.parts if isinstance(piece, tuple))


def read_sample_rule(block: Block) -> SampleRule:
    """The `sample:` block.

    Raises:
        SpecError: names file, line and key.
    """
    format = _one_of(block, "format", (TEMPLATE, *(known.name for known in FORMATS)))
    rule = _read_template(block) if format == TEMPLATE else _read_columns(block, format)
    block.done()
    return rule


def _read_template(block: Block) -> SampleRule:
    options = _options(block)
    return SampleRule(
        id=block.template("id", required=True),
        messages=tuple(_message(message) for message in block.blocks("messages")),
        question=block.template("question", "{question}"),
        reference=block.switch("reference"),
        subset=block.switch("subset"),
        cluster=block.optional_template("cluster"),
        options=options,
        answer=_one_of(block, "answer", ANSWERS) if options else ANSWERS[0],
    )


def _read_columns(block: Block, format: str) -> SampleRule:
    return SampleRule(
        id=block.template("id", "{row}"),
        format=format,
        subset=block.switch("subset"),
        cluster=block.optional_template("cluster"),
        answer=_one_of(block, "answer", ANSWERS) if format in _CHOICES else ANSWERS[0],
    )


def _one_of(block: Block, key: str, known: tuple[str, ...]) -> str:
    value = block.text(key, known[0])
    if value not in known:
        raise block.error(key, f"unknown {key} {value!r}{nearest(value, known)}; there are {', '.join(known)}")
    return value


def _options(block: Block) -> Options | None:
    if not block.has("options"):
        return None
    if not block.is_map("options"):
        return Options(block.templates("options"))
    inner = block.block("options")
    lines = inner.optional_template("lines")
    options = Options(
        field=None if lines else inner.text("field", required=True), lines=lines, optional=inner.flag("optional")
    )
    inner.done()
    return options


def _message(block: Block) -> MessageTemplate:
    role = block.text("role", required=True)
    if role not in ("system", "user", "assistant"):
        raise block.error("role", f"unknown role {role!r}; there are system, user, assistant")
    if not block.is_list("content"):
        return MessageTemplate(role, (Part("text", block.template("content", required=True)),))
    parts = tuple(part for content in block.blocks("content") for part in _parts(content))
    block.done()
    return MessageTemplate(role, parts)


INTERLEAVED = "interleaved"
_SEVERAL = {"images": "image"}
_PART_KINDS = ("text", *KINDS, *_SEVERAL, INTERLEAVED)


def _parts(block: Block) -> tuple[Part, ...]:
    """The parts of one entry: `images` is as many as it lists."""
    kinds = [kind for kind in _PART_KINDS if block.has(kind)]
    parts: tuple[Part, ...] = ()
    if len(kinds) == 1 and kinds[0] in _SEVERAL:
        parts = tuple(Part(_SEVERAL[kinds[0]], template, several=True) for template in block.templates(kinds[0]))
    elif len(kinds) == 1:
        parts = (Part(kinds[0], block.template(kinds[0])),)
    block.done(also=_PART_KINDS)
    if not parts:
        raise block.error("", f"a content part is one of {', '.join(_PART_KINDS)}")
    return parts
