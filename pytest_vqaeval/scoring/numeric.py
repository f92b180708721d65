"""The scorer `numeric`: a number, near enough."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.answer_line import AnswerRule, read_answer
from pytest_vqaeval.scoring.base import UNPARSED, Score, verdict
from pytest_vqaeval.scoring.normalize import WORDS, normalizer

_SCALES = {"%": "0.01", "percent": "0.01", "thousand": "1e3", "million": "1e6", "billion": "1e9", "trillion": "1e12"}
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-−+]?)[$€£¥]?"
    r"(?P<digits>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)(?P<exponent>e[-+]?[0-9]{1,2})?"
    rf"(?!\.?[0-9]|e[-+]?[0-9])\s*(?P<scale>(?:{'|'.join(_SCALES)})(?![a-z]))?"
)
_UNIT = re.compile(r"\s*((?:[^\W\d_]|°(?!\d))(?:\w|[°/](?!\d))*)[\s.!]*")
_END = " \t\n.!"


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written: `3.5 million kg` is 3.5, of scale 1,000,000 and unit `kg`."""

    value: Decimal
    scale: Decimal
    unit: str  # lower case, without plural s; "" where none is seen

    def is_near(self, right: Number, tolerance: Decimal) -> bool:
        """Within `tolerance` of `right`, relative to it.

        A percent sign or "million" that one side leaves out may be meant or not ("50" and "0.5" are both 50 %). A unit
        may be left out; another one is another answer.
        """
        if self.unit and right.unit and self.unit != right.unit:
            return False
        pairs = [(self.value * self.scale, right.value * right.scale)]
        if self.scale != right.scale and 1 in (self.scale, right.scale):
            pairs.append((self.value, right.value))
        return any(abs(mine - its) <= tolerance * abs(its) for mine, its in pairs)


def numeric(question: Question, text: str, *, answer: AnswerRule = "marker", tolerance: float = 0.05) -> Score:
    """Relaxed accuracy (Masry et al., ChartQA, Findings of ACL 2022, section 5.1, after Methani et al. 2020).

    A number is right within 5 % of the reference (of 0: equal); any other reference needs an exact match, here of the
    normal forms of its words. Beyond the paper, thousands separators, currency signs, %, "million" and one unit are
    understood, and a sentence counts if there is one number in it. Years are numbers like any other: 2015 is within
    5 % of 1950. For those use a lower `tolerance`, or `short_answer`.

    Args:
        question: the question with its references, any of which counts.
        text: the reply without its reasoning.
        answer: `marker` (the last `ANSWER:` line, else the whole reply) or `whole`.
        tolerance: the greatest relative error, 0 to 1.

    Raises:
        NoReference: the question has none.
        ValueError: an unknown `answer` rule or a tolerance out of range.
    """
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance must be from 0 to 1, not {tolerance!r}")
    read = read_answer(text, answer)
    references = {reference: number_alone(reference) for reference in question.wanted()}
    number = only_number(read.text)
    if number is None and not read.explicit and all(references.values()):
        return UNPARSED
    words = normalizer(WORDS)

    def matches(reference: str, right: Number | None) -> bool:
        if right is None:
            return words(read.text) == words(reference)
        # through str, so that 0.05 is 5 % exactly
        return number is not None and number.is_near(right, Decimal(str(tolerance)))

    right = any(matches(*pair) for pair in references.items())
    details = {"number": "none" if number is None else f"{number.value * number.scale:f}"}
    return verdict(right, read.text, explicit=read.explicit, details=details)


def only_number(text: str) -> Number | None:
    """The number in `text`; None if there is none or more than one."""
    text = normalizer(("number_words",))(text.lower().rstrip(_END))
    found = list(_NUMBER.finditer(text))
    return _number(found[0]) if len(found) == 1 else None


def number_alone(text: str) -> Number | None:
    """The number that `text` is, perhaps with a unit; None if it says anything else ("2 of 3", "Covid-19")."""
    text = normalizer(("number_words",))(text.lower().rstrip(_END).lstrip(" \t\n≈~"))
    found = _NUMBER.match(text)
    alone = found and (found.end() == len(text) or _UNIT.fullmatch(text, found.end()))
    return _number(found) if found and alone else None


def _number(found: re.Match[str]) -> Number:
    """The unit is the one word after the number, if it is the last of the text."""
    value = Decimal(found["digits"].replace(",", "") + (found["exponent"] or ""))
    unit = _UNIT.fullmatch(found.string, found.end())
    return Number(
        value=-value if found["sign"] in ("-", "−") else value,
        scale=Decimal(_SCALES[found["scale"]]) if found["scale"] else Decimal(1),
        unit=unit[1].removesuffix("s") if unit else "",
    )
