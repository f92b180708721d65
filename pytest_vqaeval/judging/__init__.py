"""A language model as judge of replies: what it is told, what it may say, and what follows from it."""

from __future__ import annotations

from typing import Literal

Strategy = Literal["rule", "llm", "llm_recall"]
STRATEGIES: tuple[Strategy, ...] = ("rule", "llm", "llm_recall")
"""No judge; each sample is judged; those are that the rule did not find right."""
