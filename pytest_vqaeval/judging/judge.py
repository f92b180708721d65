"""One judge: asks its model for a verdict, and once more if the answer can't be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_vqaeval.errors import ModelError
from pytest_vqaeval.judging.prompt import JudgePrompt
from pytest_vqaeval.judging.verdict import Malformed, Verdict, read_verdict
from pytest_vqaeval.names import cut_middle
from pytest_vqaeval.question import Message
from pytest_vqaeval.reply import Reply

_LONGEST = 2000  # characters of a judge's text in a result; the stored reply is whole


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one judge made of one sample.

    Attributes:
        judge: the judge's label.
        verdict: None if there is none.
        problem: why there is none.
        replies: all that the judge replied, the unreadable ones too.
        failed: how many times a request was sent that got no reply.
    """

    judge: str
    verdict: Verdict | None = None
    problem: str | None = None
    replies: tuple[Reply, ...] = ()
    failed: int = 0

    def to_json(self) -> dict[str, Any]:
        """Basic types only; what does not apply is left out. What it took counts the replies of this run alone."""
        asked = [reply for reply in self.replies if not reply.reused]
        usage: Counter[str] = Counter()
        for reply in asked:
            usage.update(reply.usage)
        row = {
            "model": self.judge,
            "verdict": self.verdict and self.verdict.said,
            "value": self.verdict and self.verdict.value,
            "reason": self.verdict and cut_middle(self.verdict.reason, _LONGEST),
            "problem": self.problem,
            "replies": None if self.verdict else [cut_middle(reply.text, _LONGEST) for reply in self.replies] or None,
            "asked": len(asked) or None,
            "reused": len(self.replies) - len(asked) or None,
            "retries": sum(reply.attempts - 1 for reply in asked) + max(0, self.failed - 1) or None,
            "latency_s": round(sum(reply.latency_s or 0 for reply in asked), 4) or None,
            "usage": dict(usage) or None,
        }
        return {key: value for key, value in row.items() if value is not None}


class Line(Protocol):
    """A way to a judge's model, for one sample."""

    def key(self, messages: Sequence[Message], /) -> str:
        """The hash of a request."""

    def find(self, key: str, /) -> Reply | None:
        """The reply that the run's store has to a request."""

    def ask(self, messages: Sequence[Message], key: str, /) -> Reply:
        """Ask, and store the reply.

        Raises:
            ModelError: there is none.
            FatalError: nor will there be for any other sample.
        """


def ask_judge(judge: str, line: Line, prompt: JudgePrompt, messages: Sequence[Message]) -> Opinion:
    """The judge's opinion. Stored replies that hold a verdict are not asked for again, others are.

    Raises:
        FatalError: no sample can be judged.
    """
    stored = _hear(judge, lambda m: line.find(line.key(m)), prompt, messages)
    return stored if stored.verdict else _hear(judge, lambda m: line.ask(m, line.key(m)), prompt, messages)


def _hear(
    judge: str,
    ask: Callable[[Sequence[Message]], Reply | None],
    prompt: JudgePrompt,
    messages: Sequence[Message],
) -> Opinion:
    """What the judge says at once, or when it is asked to repair what can't be read."""
    replies: list[Reply] = []
    problem, failed = None, 0
    try:
        while len(replies) < 2 and (reply := ask(messages)) is not None:
            replies.append(reply)
            try:
                return Opinion(judge, read_verdict(reply.text, prompt.form), None, tuple(replies))
            except Malformed as error:
                problem = str(error)
            messages = prompt.repair(messages, reply.text)
    except ModelError as error:
        problem, failed = str(error), error.attempts
    return Opinion(judge, None, problem, tuple(replies), failed)
