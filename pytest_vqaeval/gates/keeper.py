"""The end of a session: its gates, its baseline file, and the exit code that follows from both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from pytest_vqaeval.gates.base import GateResult, Verdict
from pytest_vqaeval.gates.exits import Exit, exit_code
from pytest_vqaeval.gates.saving import Saving, save_baseline
from pytest_vqaeval.gates.session import GateSettings, allowed_errors, judge_session
from pytest_vqaeval.results import Identity
from pytest_vqaeval.summary import Summary


class Gatekeeper:
    """Judges a session once it is over.

    Attributes:
        gates: what they said.
        saving: what became of the baseline file, where one was asked for.
    """

    def __init__(self, settings: GateSettings, save: Path | None) -> None:
        self.gates: Sequence[GateResult] = ()
        self.saving: Saving | None = None
        self._settings, self._save = settings, save
        self._allowed: AbstractSet[Identity] = frozenset()

    @property
    def failed(self) -> list[GateResult]:
        """The gates that failed."""
        return [gate for gate in self.gates if gate.verdict is Verdict.FAIL]

    def judge(self, summary: Summary, generation: Mapping[str, Any]) -> None:
        """Judge all gates; then write the baseline file, if the run may become one.

        Raises:
            StoreError: it can't be written; the gates are judged all the same.
        """
        self.gates = judge_session(summary, self._settings, generation)
        self._allowed = allowed_errors(summary, self.gates)
        if self._save:
            self.saving = save_baseline(self._save, summary, self.gates, generation)

    def exit_code(
        self,
        pytest_code: int,
        *,
        failures: int,
        wrong: int,
        errors: AbstractSet[Identity],
        stopped: bool,
        unreached: bool,
    ) -> int:
        """The exit code of the session.

        Args:
            pytest_code: what pytest would return.
            failures: how many pytest counted, of whatever kind.
            wrong: how many of these are wrong answers.
            errors: the samples whose failure is that they have no reply or no verdict.
            stopped: see `exit_code`.
            unreached: see `exit_code`.
        """
        code = exit_code(
            pytest_code,
            only_wrong_answers=0 < failures == wrong + len(errors & self._allowed),
            stopped=stopped,
            unreached=unreached,
            verdicts=[gate.verdict for gate in self.gates],
        )
        unsaved = self.saving is not None and not self.saving.done
        return Exit.FAILED if unsaved and code in (Exit.OK, Exit.INCONCLUSIVE) else code
