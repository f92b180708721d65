"""What came back of one sample: a row of `samples.jsonl`."""

from __future__ import annotations

import contextlib
import marshal
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

from pytest_vqaeval.scoring.base import Outcome

WORKER_LOST = "the xdist worker crashed"  # an error that no gate allows


class Identity(NamedTuple):
    """What a result is the result of. Never the node id, which changes with the folder pytest runs in."""

    benchmark: str
    subset: str
    id: str
    repeat: int
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One sample's result: a row of `samples.jsonl`, and what a worker sends to the controller (`report.vqa`).

    Attributes:
        score: 0 to 1; None where there is no verdict.
        metrics: further metrics, 0 to 1.
        latency_s: seconds of the request that succeeded.
        attempts: requests that it took, or that failed.
        fields: the record's values of the grouping fields.
        units: for each metric over several samples, the name of those that it belongs to and how many they are.
        details: what the scorer said for people (`Score.details`).
        error: why there is no reply or no verdict.
        where: the place of the record (`file:line`), with which the error may begin; only where there is an error.
        fatal: the error stopped the run.
        request_key: hash of the exact request.
        resized: the pictures that were sent smaller than they are, described.
        judge: what the rule alone says (`rule`) and what the judges said, in a judged run (`Judged.to_json`).
    """

    benchmark: str
    subset: str
    id: str
    repeat: int = 1
    model: str
    nodeid: str
    category: str | None = None
    cluster: str
    outcome: Outcome
    guessed: bool = False
    score: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    reply: str | None = None
    extracted: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    reference: Sequence[str] = ()
    finish_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    latency_s: float | None = None
    attempts: int | None = None
    reused: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    error: str | None = None
    where: str | None = None
    fatal: bool = False
    request_key: str | None = None
    resized: Sequence[str] = ()
    judge: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> Identity:
        """The key of this result."""
        return Identity(self.benchmark, self.subset, self.id, self.repeat, self.model)

    @property
    def cause(self) -> str:
        """The error without the place of the record: equal for all records that have it."""
        return (self.error or "unknown").removeprefix(f"{self.where}: ")

    def by_rule(self) -> Result:
        """The result as the rule alone has it, whatever the judges said."""
        if not self.judge:
            return self
        rule = self.judge["rule"]
        outcome = Outcome(rule["outcome"])
        return replace(self, outcome=outcome, score=rule["score"], guessed=rule["guessed"], error=None)

    def not_run(self) -> Result:
        """The same sample, never reached: what is known before it is asked."""
        known = ("benchmark", "subset", "id", "repeat", "model", "nodeid", "category", "cluster", "fields")
        return Result(**{name: getattr(self, name) for name in known}, outcome=Outcome.NOT_RUN)

    def to_json(self) -> dict[str, Any]:
        """Basic types only; what does not apply is left out."""
        row = {key: value for key, value in zip(_KEYS, _values(self), strict=True) if value or not _empty(value)}
        row["outcome"] = self.outcome.value
        if self.reference:
            row["reference"] = list(self.reference)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Result:
        """The inverse of `to_json`; keys of later versions are ignored."""
        score = row.get("score")
        if score is not None and not (isinstance(score, int | float) and 0 <= score <= 1):  # NaN neither
            raise ValueError(f"score {score}")
        known = {key: value for key, value in row.items() if key in _KNOWN}
        return cls(**{**known, "outcome": Outcome(row["outcome"])})


def in_utf8(row: dict[str, Any]) -> dict[str, Any]:
    """The row with U+FFFD for lone surrogates: what xdist carries can have none, or its worker ends."""
    with contextlib.suppress(ValueError):  # other than basic types
        if not _LONE_SURROGATE.search(marshal.dumps(row)):  # a third of the time of looking at each text
            return row
    return {_in_utf8(key): _in_utf8(value) for key, value in row.items()}


_LONE_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")  # in UTF-8 as marshal has it; also in other data, by chance


def _in_utf8(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_in_utf8(key): _in_utf8(inner) for key, inner in value.items()}
    return [_in_utf8(inner) for inner in value] if isinstance(value, list | tuple) else value


def _empty(value: object) -> bool:
    """Not 0.0, which is a score."""
    return value is None or value is False or value in ({}, [], ())


_KEYS = tuple(f.name for f in fields(Result))
_KNOWN = frozenset(_KEYS)
_values = attrgetter(*_KEYS)
