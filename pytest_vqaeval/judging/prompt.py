"""What a judge is told: `prompt.txt` or a spec's own text, and the sample as data that can't break out of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from pytest_vqaeval.judging.verdict import Form
from pytest_vqaeval.question import Message, Question, plain_text
from pytest_vqaeval.reply import Reply, without_reasoning

# Marks by which chat templates tell the turns of a conversation (<|im_end|>, <start_of_turn>, [/INST]): many servers
# heed them inside a text too. As JSON escapes they are text to the server and the same characters to the judge.
_TURN_MARK = re.compile(r"<|\[(?=/?g?[A-Z_]+\])")
_LONGEST_ECHO = 2000  # characters of an unreadable verdict that are shown to its judge again


@lru_cache(maxsize=1)
def _sections() -> dict[str, str]:
    """The parts of `prompt.txt` by the names in brackets above them; `version` is the first."""
    text = files(__package__).joinpath("prompt.txt").read_text(encoding="utf-8")
    version, *rest = re.split(r"^\[(\w+)\]\n", text, flags=re.MULTILINE)
    named = zip(rest[::2], rest[1::2], strict=True)
    return {"version": version.split()[-1], **{name: part.strip() for name, part in named}}


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """The judge's instructions.

    Attributes:
        form: what the judge shall answer with.
        own: the instructions of a spec in the place of the package's; what the form is, is said behind them.
    """

    form: Form = "label"
    own: str = ""

    @property
    def version(self) -> str:
        """The version of the package's text, or `own`."""
        return "own" if self.own else _sections()["version"]

    @property
    def text(self) -> str:
        """The system message."""
        return f"{self.own or _sections()['instructions']}\n\n{_sections()[self.form]}"

    @property
    def sha256(self) -> str:
        """The hash of all that a judge is told beside the sample, as 64 hex digits."""
        return hashlib.sha256(f"{self.text}\n\n{_sections()['repair']}".encode()).hexdigest()

    def messages(
        self, question: Question, reply: Reply, extracted: str | None, pictures: Sequence[Message] = ()
    ) -> list[Message]:
        """The request for a verdict on a reply; `pictures` are the parts of the question's messages to show."""
        data = sample_json(question, reply, extracted)
        content: Any = [*pictures, {"type": "text", "text": data}] if pictures else data
        return [{"role": "system", "content": self.text}, {"role": "user", "content": content}]

    def repair(self, messages: Sequence[Message], said: str) -> list[Message]:
        """The one further request after a reply that can't be read."""
        return [
            *messages,
            {"role": "assistant", "content": said[:_LONGEST_ECHO].strip() or "(nothing)"},
            {"role": "user", "content": f"{_sections()['repair']}\n\n{_sections()[self.form]}"},
        ]


def sample_json(question: Question, reply: Reply, extracted: str | None) -> str:
    """The sample as one JSON object, in which no text of data or model can end its own place."""
    data: dict[str, Any] = {"question": [{"role": m["role"], "content": plain_text(m)} for m in question.messages]}
    if question.options:
        data["options"] = dict(zip(question.labels, question.options, strict=True))
    data |= {
        "references": question.references,
        "reply": without_reasoning(reply.text) or "",
        "extracted": extracted,
    }
    text = json.dumps(data, ensure_ascii=False, indent=1)
    return _TURN_MARK.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)
