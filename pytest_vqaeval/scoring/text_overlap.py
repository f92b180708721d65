"""The scorer `text_overlap`: BLEU and ROUGE of a free text, as EvalScope's general_vqa computes them."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from pytest_vqaeval.errors import MissingExtra
from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import Outcome, Score
from pytest_vqaeval.scoring.words import chinese_tokenizer, is_chinese, words

HEADLINE = "rouge-l-r"
_ROUGE = [f"rouge-{kind}-{part}" for kind in "12l" for part in "rpf"]
# BLEU-n is the precision of that one order times the brevity penalty, not the usual mean over the orders up to n
_ONE_ORDER = [(0,) * (order - 1) + (1,) for order in (1, 2, 3, 4)]


def text_overlap(question: Question, text: str) -> Score:
    """Overlap of the reply with the reference: `value` is the recall of ROUGE-L.

    `metrics` are `bleu-1` to `bleu-4` (Papineni et al., ACL 2002) and recall, precision and F of `rouge-1`, `rouge-2`
    and `rouge-l` (Lin, ACL workshop 2004), all from 0 to 1, by the rules of EvalScope 1.14: case and punctuation
    count, Chinese is cut into words by jieba, English by nltk for BLEU and at white space for ROUGE. An order of BLEU
    without any match is the smallest positive float, if there is a match of order 1. Of several references the one
    with the highest `value` counts (EvalScope joins them into one).

    Raises:
        NoReference: the question has none.
        MissingExtra: nltk, jieba or rouge-chinese is not installed.
    """
    candidates = [(bleu(text, reference) | rouge(text, reference), reference) for reference in question.wanted()]
    metrics, reference = max(candidates, key=lambda candidate: candidate[0][HEADLINE])
    details = {"common words": " ".join(common_words(text, reference)) or "(none)"}
    return Score(Outcome.SCORED, text, metrics[HEADLINE], metrics, explicit=False, details=details)


def common_words(text: str, reference: str) -> list[str]:
    """The words of the reference that the text has too, each as often as in both, in the reference's order."""
    left = Counter(words(text))
    common = []
    for word in words(reference):
        if left[word]:
            left[word] -= 1
            common.append(word)
    return common


def bleu(text: str, reference: str) -> dict[str, float]:
    """BLEU-1 to BLEU-4, each of its order alone, unsmoothed."""
    try:
        from nltk.translate.bleu_score import sentence_bleu
    except ImportError as missing:
        raise MissingExtra("the scorer text_overlap", "text") from missing
    values = sentence_bleu([words(reference)], words(text), _ONE_ORDER, _smallest_instead_of_zero)
    return {f"bleu-{order}": float(value) for order, value in enumerate(values, 1)}


def _smallest_instead_of_zero(precisions: Sequence[Any], **_: object) -> list[Any]:
    # nltk's own method0, without its warning for every short answer
    return [precision or sys.float_info.min for precision in precisions]


def rouge(text: str, reference: str) -> dict[str, float]:
    """ROUGE-1, ROUGE-2 and ROUGE-L: recall, precision and F; all 0 if one side has no words."""
    if not text.strip() or not reference.strip():
        return dict.fromkeys(_ROUGE, 0.0)
    (scores,) = _rouge_chinese()(_spaced(text), _spaced(reference))
    return {name: float(scores[name[:-2]][name[-1]]) for name in _ROUGE}


def _spaced(text: str) -> str:
    return " ".join(chinese_tokenizer()(text)) if is_chinese(text) else text


@lru_cache(maxsize=1)
def _rouge_chinese() -> Callable[[str, str], list[dict[str, dict[str, float]]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes, at import
        try:
            from rouge_chinese import Rouge
        except ImportError as missing:
            raise MissingExtra("the scorer text_overlap", "text") from missing
    scores: Callable[[str, str], list[dict[str, dict[str, float]]]] = Rouge().get_scores
    return scores
