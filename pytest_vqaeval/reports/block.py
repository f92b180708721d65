"""The block that explains one sample's result: about fifteen lines, all that is needed to see why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_vqaeval.media import Media
from pytest_vqaeval.names import cut_middle, printable
from pytest_vqaeval.question import Question, plain_text, values_in
from pytest_vqaeval.results import Result
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.scoring.base import Outcome

_LONGEST_REPLY = 1200  # characters
_LONGEST_FACT = 240
_LONGEST_TEXT = 4000  # of what was sent
_LABEL = 12  # columns

_WHY = {
    Outcome.UNPARSED: "no answer could be read in the reply",
    Outcome.TRUNCATED: "the reply was cut by the token limit before an answer (raise max_tokens)",
    Outcome.EMPTY: "the reply is empty or was withheld by a content filter",
    Outcome.NOT_RUN: "the sample was never reached",
}

Fact = tuple[str, str]


def explain(
    result: Result,
    question: Question | None,
    *,
    media: Sequence[str] | None = None,
    sent: str | None = None,
    where: str = "",
) -> str:
    """All about one result, a line a fact; what comes from data or model is made printable.

    Args:
        result: what became of the sample.
        question: what was asked; None where it can't be read any more.
        media: what was sent, described for people; None where nothing was.
        sent: the text that was sent, if it was not that of the question.
        where: the place of the record.
    """
    lines = [("outcome", _outcome(result))]
    if result.error:
        lines.append(("error", cut_middle(result.error, _LONGEST_REPLY)))
    if question:
        lines.append(("question", cut_middle(question.text, _LONGEST_REPLY)))
        lines += _options(result, question)
        lines += _media(question, media)
        lines.append(("sent", cut_middle(sent or sent_text(question), _LONGEST_TEXT)))
    lines += _answer(result)
    if where:
        lines.append(("record", where))
    return "\n".join(_line(label, text) for label, text in lines)


def place_of(sample: Sample) -> str:
    """The place of a sample's record, for `explain`."""
    return f"{sample.where} in {sample.spec.title}"


def _answer(result: Result) -> Iterator[Fact]:
    if result.reply is not None:
        yield "reply", cut_middle(result.reply, _LONGEST_REPLY) or "(nothing)"
    if result.outcome.answered:
        yield "extracted", "(none)" if result.extracted is None else cut_middle(result.extracted, _LONGEST_FACT)
        yield from ((label, cut_middle(text, _LONGEST_FACT)) for label, text in result.details.items())
        yield "reference", cut_middle(" | ".join(result.reference), _LONGEST_REPLY) or "(none)"
        if result.outcome is Outcome.SCORED and result.score is not None:
            yield "score", f"{result.score:.4f}"
            yield "metrics", ", ".join(f"{name} {value:.3f}" for name, value in result.metrics.items())
    if result.reply is not None:
        yield "finish", _cost(result)


def _line(label: str, text: str) -> str:
    first, *more = printable(text).split("\n")
    return "\n".join([f"{label:<{_LABEL}} {first}", *(" " * (_LABEL + 1) + line for line in more)])


def _outcome(result: Result) -> str:
    said = result.outcome.value
    if result.guessed:
        said += " (guessed: the answer was not stated)"
    return f"{said}: {_WHY[result.outcome]}" if result.outcome in _WHY else said


def _options(result: Result, question: Question) -> Iterator[Fact]:
    """The options of a choice question, the right ones and those that were answered marked."""
    if not question.options:
        return
    right = {label.strip().lower() for label in question.references}
    answered = set((result.extracted or "").split(","))
    lines = []
    for label, text in zip(question.labels, question.options, strict=True):
        marks = ["reference"] * (label.lower() in right) + ["answer"] * (label in answered)
        said = cut_middle(text, _LONGEST_FACT).replace("\n", " ")
        lines.append(f"{label}) {said}{'   <- ' if marks else ''}{' and '.join(marks)}")
    yield "options", "\n".join(lines)


def _media(question: Question, media: Sequence[str] | None) -> Iterator[Fact]:
    named = [
        ("picture" if medium.kind == "image" else medium.kind, medium) for medium in values_in(question.messages, Media)
    ]
    if media is None:
        yield from ((kind, medium.name) for kind, medium in named)
        return
    yield from (("picture" if "image/" in medium else "medium", medium) for medium in media)
    yield from ((kind, f"{medium.name} (sent as a URL)") for kind, medium in named if medium.is_url)


def sent_text(question: Question) -> str:
    """The exact text that is sent, with a mark where each picture stands."""
    return "\n".join(f"{message['role']}: {plain_text(message)}" for message in question.messages)


def _cost(result: Result) -> str:
    facts = [result.finish_reason or "no finish reason given"]
    if result.usage:
        facts.append(" + ".join(f"{n:,} {name.removesuffix('_tokens')}" for name, n in _tokens(result)) + " tokens")
    if result.latency_s is not None:
        facts.append(f"{result.latency_s:.2f} s")
    if (result.attempts or 0) > 1:
        facts.append(f"{result.attempts} attempts")
    if result.reused:
        facts.append("stored reply")
    return ", ".join(facts)


def _tokens(result: Result) -> Iterator[tuple[str, int]]:
    for name in ("prompt_tokens", "completion_tokens"):
        if name in result.usage:
            yield name, result.usage[name]
