"""Gates as they are written: in a spec's `gates:` block, and as JSON in the run folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_vqaeval.gates.base import ALPHA, read_alpha, read_margin
from pytest_vqaeval.gates.baseline import Baseline
from pytest_vqaeval.gates.fail_under import FailUnder, read_fail_under
from pytest_vqaeval.gates.limit import Limit, MaxErrors, MaxGuessed, MaxTruncated, MaxUnparsed, read_limit
from pytest_vqaeval.gates.must_pass import MustPass
from pytest_vqaeval.yamlblock import Block

Rule = FailUnder | Limit | MustPass | Baseline

_LIMITS: Mapping[str, type[Limit]] = {limit.kind: limit for limit in (MaxUnparsed, MaxTruncated, MaxErrors, MaxGuessed)}
_RULES: Mapping[str, type[Rule]] = {
    FailUnder.kind: FailUnder,
    **_LIMITS,
    MustPass.kind: MustPass,
    Baseline.kind: Baseline,
}


def read_gates(block: Block, benchmark: str, folder: Path) -> tuple[Rule, ...]:
    """The `gates:` of a spec: a list of mappings, each with one rule, and with `of`, the part that it is about.

    Args:
        block: the spec.
        benchmark: its name.
        folder: that of the spec; a baseline file is named from here.

    Raises:
        SpecError: names file, line and key.
    """
    rules: list[Rule] = []
    for gate in block.blocks("gates"):
        rule = _read_gate(gate, benchmark, folder)
        if any((rule.kind, rule.scope) == (other.kind, other.scope) for other in rules):
            raise block.error("gates", f"{rule.kind} is given twice for {rule.scope}")
        rules.append(rule)
    return tuple(rules)


def _read_gate(block: Block, benchmark: str, folder: Path) -> Rule:
    kinds = [kind for kind in _RULES if block.has(kind)]
    of = block.text("of", "")
    if block.has("of") and not of.strip():
        raise block.error("of", "is empty: it names the part that the gate is about")
    scope = f"{benchmark}/{of}" if of else benchmark
    alpha, margin = block.text("alpha", ""), block.text("margin", "")
    block.done(also=tuple(_RULES))
    if len(kinds) != 1:
        raise block.error("", f"a gate is one of {', '.join(_RULES)}")
    kind = kinds[0]
    for key in ("alpha", "margin"):
        if block.has(key) and kind != Baseline.kind:
            raise block.error(key, f"belongs to {Baseline.kind}, not to {kind}")
    key = kind
    try:
        if kind == FailUnder.kind:
            return read_fail_under(block.text(kind), scope)
        if kind == MustPass.kind:
            if not (ids := block.texts(kind)):
                raise block.error(key, "names no sample")
            return MustPass(ids, scope)
        if kind != Baseline.kind:
            return _LIMITS[kind](*read_limit(block.text(kind)), scope)
        key = "alpha"
        level = read_alpha(alpha) if alpha else ALPHA
        key = "margin"
        return Baseline(str(folder / block.text(kind)), scope, level, read_margin(margin) if margin else 0.0)
    except ValueError as error:
        raise block.error(key, str(error)) from None


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """Basic types only."""
    return {"kind": rule.kind, **asdict(rule)}


def rule_from_json(row: Mapping[str, Any]) -> Rule:
    """The inverse of `rule_to_json`, after a way through JSON."""
    facts: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items() if key != "kind"
    }
    return _RULES[row["kind"]](**facts)
