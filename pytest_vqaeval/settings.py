"""The options: their names, where they are read from, and the one frozen value that the rest of the code sees.

Command line > environment > ini file > default. A path on the command line or in the environment is relative to the
folder pytest was started in, a path in an ini file to that file.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.gates.base import read_alpha, read_margin
from pytest_vqaeval.gates.fail_under import FailUnder, parse_fail_under
from pytest_vqaeval.gates.limit import Limit, MaxErrors, MaxGuessed, MaxTruncated, MaxUnparsed, parse_limit
from pytest_vqaeval.gates.must_pass import MustPass, parse_must_pass, together
from pytest_vqaeval.judging import STRATEGIES
from pytest_vqaeval.shards import Shard, parse_shard

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Settings:
    """Everything that the options say. Times are in seconds, `limit` is a number of samples per subset."""

    model: tuple[str, ...]
    url: tuple[str, ...]
    api_key_env: str
    benchmark: tuple[str, ...]
    data: Path | None
    media_root: tuple[Path, ...]
    max_image_pixels: int | None
    parser: str | None
    limit: int | None
    shard: Shard | None
    repeats: int
    concurrency: int
    timeout: float
    retries: int
    generation: tuple[tuple[str, Any], ...]
    header: tuple[tuple[str, str], ...]
    group: tuple[str, ...]
    show: int
    out: Path
    resume: str | None
    judge: tuple[str, ...]
    judge_url: str | None
    judge_api_key_env: str | None
    judge_generation: tuple[tuple[str, Any], ...]
    judge_strategy: str | None
    fail_under: tuple[FailUnder, ...]
    max_unparsed: tuple[Limit, ...]
    max_truncated: tuple[Limit, ...]
    max_errors: tuple[Limit, ...]
    max_guessed: tuple[Limit, ...]
    must_pass: tuple[MustPass, ...]
    baseline: tuple[str, ...]
    save_baseline: Path | None
    alpha: float | None
    margin: float | None
    json: Path | None
    download: bool
    offline: bool
    html: Path | None
    artifacts: Path | None

    @property
    def gates(self) -> tuple[FailUnder | Limit | MustPass, ...]:
        """The gates of the options, but for those on baselines."""
        return gates_of({name: getattr(self, name) for name in GATES})

    @classmethod
    def read(cls, config: pytest.Config) -> Settings:
        """Read all options of a pytest run.

        Raises:
            UsageError: a value that can't be used; the message names where it came from.
        """
        settings = cls(**{option.name: option.value(config) for option in OPTIONS})
        typed = {  # what stands in an ini file may stand unused
            option.name: option.flag for option in OPTIONS if config.getoption(option.ini, default=None)
        }
        for name in ("judge_url", "judge_api_key_env", "judge_generation"):
            if name in typed and not settings.judge:
                raise UsageError(f"{typed[name]} says how a judge is asked, but none is named: --vqa-judge")
        for name in (*GATES, "baseline", "save_baseline"):  # nothing would be judged, and the exit code would be 0
            if name in typed and not settings.model and not config.option.collectonly:
                raise UsageError(f"{typed[name]} is about a model's answers, but none is named: --vqa-model")
        return settings


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
        origin, raw, base = self._raw(config)
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


def _text(text: str, _base: Path) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _model(text: str, _base: Path) -> str:
    name, _, _ = _text(text, _base).partition("@http")
    if text.removeprefix("replay:").strip() == "":
        raise ValueError("replay: names no file and no run")
    if not name or ("://" in name and not text.startswith("replay:")):  # never the text: it may hold a password
        raise ValueError("give it as NAME, or as NAME@URL with http:// or https://")
    return text


def _path(text: str, base: Path) -> Path:
    return (base / Path(_text(text, base)).expanduser()).absolute()


def _page(text: str, base: Path) -> Path:
    if importlib.util.find_spec("jinja2") is None:
        raise ValueError("needs an extra: pip install 'pytest-vqaeval[html]'")
    return _path(text, base)


def _folder(text: str, base: Path) -> Path:
    path = _path(text, base)
    if not path.is_dir():
        raise ValueError(f"there is no folder {path}")
    return path


def _file(text: str, base: Path) -> Path:
    path = _path(text, base)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    return path


def _one_of(*known: str) -> Callable[[str, Path], str]:
    def parse(text: str, _base: Path) -> str:
        if text not in known:
            raise ValueError(f"{text!r} is none of {', '.join(known)}")
        return text

    return parse


def _count(least: int) -> Callable[[str, Path], int]:
    def parse(text: str, _base: Path) -> int:
        if not text.strip().isdecimal() or int(text) < least:
            raise ValueError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return parse


def _seconds(text: str, _base: Path) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ValueError(f"{text!r} is not a time in seconds above 0")
    return seconds


def _pair(text: str, what: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"give it as {what}")  # never the text: it may hold a secret
    return key.strip(), value


def _generation(text: str, _base: Path) -> tuple[str, Any]:
    key, value = _pair(text, "KEY=JSON")
    try:
        return key, json.loads(value)
    except ValueError:
        raise ValueError(f"the value of {key} is not JSON: {value} (quote a text: '{key}=\"text\"')") from None


def _yes(text: str, _base: Path) -> bool:
    value = text.strip().lower()
    if value not in ("yes", "true", "on", "1", "no", "false", "off", "0"):
        raise ValueError(f"{text!r} is neither yes nor no")
    return value in ("yes", "true", "on", "1")


def _header(text: str, _base: Path) -> tuple[str, str]:
    return _pair(text, "NAME=VALUE")


def _limit(kind: type[Limit]) -> Callable[[str, Path], Limit]:
    return lambda text, _base: parse_limit(kind, text)


def _read(number: Callable[[str], float]) -> Callable[[str, Path], float]:
    return lambda text, _base: number(text)


def _file_or_run(text: str, base: Path) -> str:
    """A path is made whole; another text is the name of a run."""
    path = _path(text, base)
    return str(path) if path.exists() or path.suffix == ".json" else text


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
        _model,
        many=True,
    ),
    Option(
        "url",
        "URL",
        "base URL of the model server (default: http://localhost:8000/v1); give it again for further servers of the "
        "same model",
        _text,
        ("http://localhost:8000/v1",),
        many=True,
        env="OPENAI_BASE_URL",
    ),
    Option(
        "api_key_env",
        "VARIABLE",
        "environment variable that holds the server's key (default: OPENAI_API_KEY)",
        _text,
        "OPENAI_API_KEY",
    ),
    Option(
        "benchmark",
        "NAME[::SUBSET[ID]]",
        "run a shipped benchmark or suite from any folder, or a part of it; may be repeated",
        _text,
        many=True,
    ),
    Option("data", "DIR", "folder that holds the benchmarks' data folders (slake/, ...)", _path, env="VQA_DATA"),
    Option(
        "media_root",
        "DIR",
        "further folder in which the media of records are looked for; may be repeated",
        _folder,
        many=True,
    ),
    Option("max_image_pixels", "N", "send pictures of more pixels smaller (default: as they are)", _count(1)),
    Option(
        "parser",
        "evalscope|strict",
        "how the label is read in replies to choice questions (default: what the spec says)",
        _one_of("evalscope", "strict"),
    ),
    Option("limit", "N", "at most N samples of each subset", _count(1)),
    Option(
        "shard",
        "I/N",
        "only part I of N of each benchmark, pictures kept together; `python -m pytest_vqaeval merge` joins the runs",
        lambda text, _base: parse_shard(text),
    ),
    Option("repeats", "K", "ask each sample K times: pass@k, and how many verdicts differ (default: 1)", _count(1), 1),
    Option("concurrency", "N", "requests in flight, over all xdist workers (default: 8)", _count(1), 8),
    Option("timeout", "S", "seconds to wait for one reply (default: 60)", _seconds, 60.0),
    Option("retries", "N", "further tries after a failed request (default: 4)", _count(0), 4),
    Option(
        "generation",
        "KEY=JSON",
        "generation parameter, sent as it is (default: temperature=0); may be repeated",
        _generation,
        many=True,
    ),
    Option("header", "NAME=VALUE", "further HTTP header; may be repeated", _header, many=True),
    Option("group", "FIELD", "a further table by this field of the records; may be repeated", _text, many=True),
    Option("show", "N", "how many wrong answers are shown in full (default: 5)", _count(0), 5),
    Option("out", "DIR", "folder of the run folders (default: .vqaeval)", _path),
    Option(
        "resume",
        "RUN",
        "go on with a run (default: the latest): replies that are stored are not asked again",
        _text,
        bare="latest",
    ),
    Option(
        "judge", "NAME", "model that judges replies: NAME or NAME@URL; give it again for several", _model, many=True
    ),
    Option("judge_url", "URL", "base URL of the judge's server (default: --vqa-url)", _text),
    Option(
        "judge_api_key_env",
        "VARIABLE",
        "environment variable that holds the key of the judge's server (default: that of the model where the server is "
        "the same, else OPENAI_API_KEY)",
        _text,
    ),
    Option(
        "judge_generation", "KEY=JSON", "generation parameter of the judge; may be repeated", _generation, many=True
    ),
    Option(
        "judge_strategy",
        "|".join(STRATEGIES),
        "which samples are judged: none, all, or those that the rule did not find right (default: what the spec says, "
        "else llm where there is a judge)",
        _one_of(*STRATEGIES),
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
        "max_unparsed", "[SCOPE=]LIMIT", f"gate: replies without an answer: {_AT_MOST}", _limit(MaxUnparsed), many=True
    ),
    Option(
        "max_truncated", "[SCOPE=]LIMIT", f"gate: replies that were cut: {_AT_MOST}", _limit(MaxTruncated), many=True
    ),
    Option("max_errors", "[SCOPE=]LIMIT", f"gate: samples without a verdict: {_AT_MOST}", _limit(MaxErrors), many=True),
    Option(
        "max_guessed", "[SCOPE=]LIMIT", f"gate: answers that were guessed: {_AT_MOST}", _limit(MaxGuessed), many=True
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
        _file_or_run,
        many=True,
    ),
    Option("alpha", "A", "share of false alarms of all baseline gates together (default: 0.05)", _read(read_alpha)),
    Option("margin", "D", "how much of the score may be lost to the baseline (default: 0)", _read(read_margin)),
    Option("save_baseline", "FILE", "write a baseline file, if the run is whole and no gate fails", _file),
    Option("json", "FILE", "write the summary as JSON", _file),
    Option(
        "download",
        "",
        "fetch all files of the selected benchmarks whole, before the first question",
        _yes,
        default=False,
        switch=True,
    ),
    Option("offline", "", "use only data that is on this machine", _yes, default=False, switch=True, env="VQA_OFFLINE"),
    Option("html", "FILE", "write a page with all samples and their pictures (extra: html)", _page),
    Option("artifacts", "DIR", "write picture, prompt and reply of wrong and errored samples as files", _path),
)
