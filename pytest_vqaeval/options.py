"""The options: what each is called, what it means, and where it is read from.

Command line > environment > ini file > default. A path on the command line or in the environment is relative to the
folder pytest was started in, a path in an ini file to that file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.gates.base import read_alpha, read_margin
from pytest_vqaeval.gates.fail_under import FailUnder, parse_fail_under
from pytest_vqaeval.gates.limit import Limit, MaxErrors, MaxGuessed, MaxTruncated, MaxUnparsed
from pytest_vqaeval.gates.must_pass import MustPass, parse_must_pass, together
from pytest_vqaeval.judging import STRATEGIES
from pytest_vqaeval.shards import parse_shard

if TYPE_CHECKING:
    import pytest
from pytest_vqaeval.optionvalues import (
    a_count,
    a_file,
    a_folder,
    a_header,
    a_limit,
    a_model,
    a_number,
    a_page,
    a_parameter,
    a_path,
    a_text,
    a_time,
    file_or_run,
    one_of,
    yes_or_no,
)


@dataclass(frozen=True)
class Option:
    """One option `--vqa-NAME`, also the ini setting `vqa_NAME`."""

    name: str
    metavar: str
    help: str
    parse: Callable[[str, Path], Any]
    default: Any = None
    many: bool = False
    env: str | None = None
    bare: str | None = None
    switch: bool = False

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return "--vqa-" + self.name.replace("_", "-")

    @property
    def ini(self) -> str:
        """The ini setting, and pytest's name for the parsed option."""
        return "vqa_" + self.name

    def add_to(self, parser: pytest.Parser, group: pytest.OptionGroup) -> None:
        """Declare the option to pytest."""
        about = self.help + (f" [env: {self.env}]" if self.env else "")
        action = "append" if self.many else "store"
        # an option that may stand without a value: `bare` is what it means then
        may_be_bare: dict[str, Any] = {"nargs": "?", "const": self.bare} if self.bare else {}
        about = about.replace("%", "%%")  # argparse fills help texts in
        if self.switch:
            group.addoption(self.flag, action="store_const", const="yes", dest=self.ini, default=None, help=about)
        else:
            group.addoption(
                self.flag, action=action, dest=self.ini, default=None, metavar=self.metavar, help=about, **may_be_bare
            )
        kind: Literal["linelist", "string"] = "linelist" if self.many else "string"
        parser.addini(self.ini, about, type=kind, default=None)

    def value(self, config: pytest.Config) -> Any:
        """The option's value in this run: a tuple where it may be given several times."""
        return self.read(*self._raw(config))

    def read(self, origin: str, raw: Sequence[str], base: Path) -> Any:
        """The value that texts say.

        Args:
            origin: where they stand, for messages.
            raw: the texts; none where the option is not given.
            base: the folder that paths are relative to.

        Raises:
            UsageError: one can't be used.
        """
        if not raw:
            return () if self.many and self.default is None else self.default
        try:
            values = tuple(self.parse(text, base) for text in raw)
        except ValueError as error:
            raise UsageError(f"{origin}: {error}") from None
        return values if self.many else values[-1]

    def _raw(self, config: pytest.Config) -> tuple[str, list[str], Path]:
        typed = config.getoption(self.ini, default=None)
        if typed is not None and typed != []:
            return self.flag, typed if self.many else [typed], config.invocation_params.dir
        if self.env and (text := os.environ.get(self.env)):
            return self.env, [text], config.invocation_params.dir
        written = config.getini(self.ini)
        base = config.inipath.parent if config.inipath else config.rootpath
        return f"{self.ini} in {config.inipath}", written if self.many else [written] if written else [], base


GATES = ("fail_under", "max_unparsed", "max_truncated", "max_errors", "max_guessed", "must_pass")


def gates_of(values: Mapping[str, Sequence[Any]]) -> tuple[FailUnder | Limit | MustPass, ...]:
    """The gates of the options `GATES`; what must pass is one gate per benchmark or part."""
    named = together(values["must_pass"])
    return (*(rule for name in GATES if name != "must_pass" for rule in values[name]), *named)


_AT_MOST = "a number (20) or a share (1%) of samples at most; may be repeated"

OPTIONS = (
    Option(
        "model",
        "NAME",
        "model to evaluate: NAME or NAME@URL of an OpenAI-compatible server, `demo` (built in), or "
        "`replay:FILE|RUN` (stored replies, of EvalScope too); give it again for another column",
        a_model,
        many=True,
    ),
    Option(
        "url",
        "URL",
        "base URL of the model server (default: http://localhost:8000/v1); give it again for further servers of the "
        "same model",
        a_text,
        ("http://localhost:8000/v1",),
        many=True,
        env="OPENAI_BASE_URL",
    ),
    Option(
        "api_key_env",
        "VARIABLE",
        "environment variable that holds the server's key (default: OPENAI_API_KEY)",
        a_text,
        "OPENAI_API_KEY",
    ),
    Option(
        "benchmark",
        "NAME[::SUBSET[ID]]",
        "run a shipped benchmark or suite from any folder, or a part of it; may be repeated",
        a_text,
        many=True,
    ),
    Option("data", "DIR", "folder that holds the benchmarks' data folders (slake/, ...)", a_path, env="VQA_DATA"),
    Option(
        "media_root",
        "DIR",
        "further folder in which the media of records are looked for; may be repeated",
        a_folder,
        many=True,
    ),
    Option("max_image_pixels", "N", "send pictures of more pixels smaller (default: as they are)", a_count(1)),
    Option(
        "parser",
        "evalscope|strict",
        "how the label is read in replies to choice questions (default: what the spec says)",
        one_of("evalscope", "strict"),
    ),
    Option("limit", "N", "at most N samples of each subset", a_count(1)),
    Option(
        "shard",
        "I/N",
        "only part I of N of each benchmark, pictures kept together; `python -m pytest_vqaeval merge` joins the runs",
        lambda text, _base: parse_shard(text),
    ),
    Option("repeats", "K", "ask each sample K times: pass@k, and how many verdicts differ (default: 1)", a_count(1), 1),
    Option("concurrency", "N", "requests in flight, over all xdist workers (default: 8)", a_count(1), 8),
    Option("timeout", "S", "seconds to wait for one reply (default: 60)", a_time, 60.0),
    Option("retries", "N", "further tries after a failed request (default: 4)", a_count(0), 4),
    Option(
        "generation",
        "KEY=JSON",
        "generation parameter, sent as it is (default: temperature=0); may be repeated",
        a_parameter,
        many=True,
    ),
    Option("header", "NAME=VALUE", "further HTTP header; may be repeated", a_header, many=True),
    Option(
        "group",
        "FIELD",
        "a table by this field of the records, instead of those of the spec; may be repeated",
        a_text,
        many=True,
    ),
    Option("show", "N", "how many wrong answers are shown in full (default: 5)", a_count(0), 5),
    Option("out", "DIR", "folder of the run folders (default: .vqaeval)", a_path),
    Option(
        "resume",
        "RUN",
        "go on with a run (default: the latest): replies that are stored are not asked again",
        a_text,
        bare="latest",
    ),
    Option(
        "judge", "NAME", "model that judges replies: NAME or NAME@URL; give it again for several", a_model, many=True
    ),
    Option("judge_url", "URL", "base URL of the judge's server (default: --vqa-url)", a_text),
    Option(
        "judge_api_key_env",
        "VARIABLE",
        "environment variable that holds the key of the judge's server (default: that of the model where the server is "
        "the same, else OPENAI_API_KEY)",
        a_text,
    ),
    Option(
        "judge_generation", "KEY=JSON", "generation parameter of the judge; may be repeated", a_parameter, many=True
    ),
    Option(
        "judge_strategy",
        "|".join(STRATEGIES),
        "which samples are judged: none, all, or those that the rule did not find right (default: what the spec says, "
        "else llm where there is a judge)",
        one_of(*STRATEGIES),
    ),
    Option(
        "fail_under",
        "[SCOPE=]SCORE",
        "gate: fail if the score is below SCORE (0 to 1), or its lower bound (lower:SCORE); SCOPE is BENCHMARK or "
        "BENCHMARK/PART, where PART is a subset, a category or FIELD:VALUE; may be repeated",
        lambda text, _base: parse_fail_under(text),
        many=True,
    ),
    Option(
        "max_unparsed", "[SCOPE=]LIMIT", f"gate: replies without an answer: {_AT_MOST}", a_limit(MaxUnparsed), many=True
    ),
    Option(
        "max_truncated", "[SCOPE=]LIMIT", f"gate: replies that were cut: {_AT_MOST}", a_limit(MaxTruncated), many=True
    ),
    Option(
        "max_errors", "[SCOPE=]LIMIT", f"gate: samples without a verdict: {_AT_MOST}", a_limit(MaxErrors), many=True
    ),
    Option(
        "max_guessed", "[SCOPE=]LIMIT", f"gate: answers that were guessed: {_AT_MOST}", a_limit(MaxGuessed), many=True
    ),
    Option(
        "must_pass",
        "BENCHMARK=ID",
        "gate: this sample must be right; may be repeated",
        lambda text, _base: parse_must_pass(text),
        many=True,
    ),
    Option(
        "baseline",
        "FILE|RUN",
        "gate: fail if the run is significantly worse than this baseline file or earlier run; may be repeated",
        file_or_run,
        many=True,
    ),
    Option("alpha", "A", "share of false alarms of all baseline gates together (default: 0.05)", a_number(read_alpha)),
    Option("margin", "D", "how much of the score may be lost to the baseline (default: 0)", a_number(read_margin)),
    Option("save_baseline", "FILE", "write a baseline file, if the run is whole and no gate fails", a_file),
    Option("json", "FILE", "write the summary as JSON", a_file),
    Option(
        "download",
        "",
        "fetch all files of the selected benchmarks whole, before the first question",
        yes_or_no,
        default=False,
        switch=True,
    ),
    Option(
        "offline", "", "use only data that is on this machine", yes_or_no, default=False, switch=True, env="VQA_OFFLINE"
    ),
    Option("html", "FILE", "write a page with all samples and their pictures (extra: html)", a_page),
    Option("artifacts", "DIR", "write picture, prompt and reply of wrong and errored samples as files", a_path),
)
