"""The block that explains one wrong answer: about fifteen lines, all that is needed to see why."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vqaeval.asking import Asked
from pytest_vqaeval.media import Media
from pytest_vqaeval.names import cut_middle, printable
from pytest_vqaeval.question import plain_text, values_in
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.scoring.base import Outcome, Score

_LONGEST_REPLY = 1200  # characters
_LONGEST_FACT = 240
_LONGEST_TEXT = 4000  # of what was sent
_LABEL = 12  # columns

_WHY = {
    Outcome.UNPARSED: "no answer could be read in the reply",
    Outcome.TRUNCATED: "the reply was cut by the token limit before an answer (raise max_tokens)",
    Outcome.EMPTY: "the reply is empty or was withheld by a content filter",
}


def explain(sample: Sample, score: Score, asked: Asked | None) -> str:
    """All about one wrong answer, a line a fact; what comes from data or model is made printable."""
    lines = [("outcome", _outcome(score))]
    if asked:
        lines += [
            ("question", cut_middle(asked.question.text, _LONGEST_REPLY)),
            *_media(asked),
            ("sent", cut_middle(_sent(asked), _LONGEST_TEXT)),
        ]
        lines += [("reply", cut_middle(asked.reply.text, _LONGEST_REPLY) or "(nothing)")]
    lines.append(("extracted", "(none)" if score.extracted is None else cut_middle(score.extracted, _LONGEST_FACT)))
    lines += [(label, cut_middle(text, _LONGEST_FACT)) for label, text in score.details.items()]
    if asked:
        lines += [("reference", cut_middle(" | ".join(asked.question.references), _LONGEST_REPLY) or "(none)")]
        lines += [("finish", _cost(asked.reply))]
    lines.append(("record", f"{sample.where} in {sample.spec.title}"))
    return "\n".join(_line(label, text) for label, text in lines)


def _line(label: str, text: str) -> str:
    first, *more = printable(text).split("\n")
    return "\n".join([f"{label:<{_LABEL}} {first}", *(" " * (_LABEL + 1) + line for line in more)])


def _outcome(score: Score) -> str:
    said = score.outcome.value
    if score.guessed:
        said += " (guessed: the answer was not stated)"
    return f"{said}: {_WHY[score.outcome]}" if score.outcome in _WHY else said


def _media(asked: Asked) -> Iterator[tuple[str, str]]:
    named = [
        ("picture" if medium.kind == "image" else medium.kind, medium)
        for medium in values_in(asked.question.messages, Media)
    ]
    if asked.media is None:
        yield from ((kind, f"{medium.name} (not read: the reply was stored)") for kind, medium in named)
        return
    yield from (("picture" if "image/" in medium else "medium", medium) for medium in asked.media)
    yield from ((kind, f"{medium.name} (sent as a URL)") for kind, medium in named if medium.is_url)


def _sent(asked: Asked) -> str:
    """The exact text, with a mark where each picture stood."""
    said = (f"{message['role']}: {plain_text(message)}" for message in asked.question.messages)
    return asked.sent or "\n".join(said)


def _cost(reply: Reply) -> str:
    facts = [reply.finish_reason or "no finish reason given"]
    if reply.usage:
        facts.append(" + ".join(f"{n:,} {name.removesuffix('_tokens')}" for name, n in _tokens(reply)) + " tokens")
    if reply.latency_s is not None:
        facts.append(f"{reply.latency_s:.2f} s")
    if reply.attempts > 1:
        facts.append(f"{reply.attempts} attempts")
    if reply.reused:
        facts.append("stored reply")
    return ", ".join(facts)


def _tokens(reply: Reply) -> Iterator[tuple[str, int]]:
    for name in ("prompt_tokens", "completion_tokens"):
        if name in reply.usage:
            yield name, reply.usage[name]
