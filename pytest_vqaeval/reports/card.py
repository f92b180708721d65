"""A benchmark's card in words: for a terminal of 80 columns, and as Markdown."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from tabulate import tabulate

from pytest_vqaeval.card import Card, Example, Pictures, shortened
from pytest_vqaeval.formats.recognise import FORMATS
from pytest_vqaeval.names import cut_middle, one_line, printable
from pytest_vqaeval.samplerule import TEMPLATE
from pytest_vqaeval.scorerule import ScoreRule, ScoreSwitch
from pytest_vqaeval.scoring import BUILT_IN
from pytest_vqaeval.spec import SUFFIX, Spec

_WIDTH = 80  # columns
_LABEL = 14
_LONGEST_TEXT = 4000  # characters of one text of the sample that is shown
_MOST_PROBLEMS = 5

Fact = tuple[str, str]


@dataclass(frozen=True)
class Section:
    """A part of the card: facts, or a table with its header, a note below, and a list below that."""

    title: str
    facts: Sequence[Fact] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default=())
    note: str = ""
    items: Sequence[str] = ()


def as_text(card: Card) -> str:
    """The card for a terminal."""
    lines = [one_line(card.spec.title), "=" * min(_WIDTH, len(card.spec.title))]
    if card.spec.description:
        lines += _wrapped(one_line(card.spec.description))
    for section in _sections(card, local=True):
        lines += ["", section.title, "-" * len(section.title)]
        for label, text in section.facts:
            lines += _wrapped(one_line(text), f"{label:<{_LABEL}} ")
        if section.header:
            cells = [[one_line(cell) for cell in row] for row in section.rows]
            lines += _tabled(section.header, cells, "simple")
        if section.note:
            lines += _wrapped(one_line(section.note))
        for item in section.items:
            lines += _wrapped(one_line(item), "- ")
    if card.example:
        title = f"Sample {one_line(card.example.sample.subset)}[{one_line(card.example.sample.id)}], as it is sent"
        lines += ["", title[:_WIDTH], "-" * min(_WIDTH, len(title)), *_sent(card.example)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def as_markdown(card: Card) -> str:
    """The card as Markdown; what comes from data and specs is escaped."""
    lines = [f"# {_escaped(card.spec.title)}"]
    if card.spec.description:
        lines += ["", _escaped(card.spec.description)]
    for section in _sections(card, local=False):
        lines += ["", f"## {section.title}", ""]
        if section.facts:
            rows = [[label, _escaped(text)] for label, text in section.facts]
            lines += _tabled(["", ""], rows, "pipe")
        if section.header:
            lines += _tabled(section.header, [[_escaped(cell) for cell in row] for row in section.rows], "pipe")
        if section.note:
            lines += ["", _escaped(section.note)] if section.facts or section.header else [_escaped(section.note)]
        if section.items:
            lines += ["", *(f"- {_escaped(item)}" for item in section.items)]
    if card.example:
        sample = card.example.sample
        lines += ["", "## One sample, as it is sent", "", f"{_escaped(f'{sample.subset}[{sample.id}]')}:", ""]
        lines += _fenced(json.dumps(_as_json(card.example), ensure_ascii=False, indent=2))
    return "\n".join(lines) + "\n"


def _sections(card: Card, *, local: bool) -> Iterator[Section]:
    """All parts but the example; `local`: paths of this machine may be named."""
    yield Section("Benchmark", facts=list(_about(card.spec)))
    yield Section("Data", facts=list(_data(card, local=local)))
    if card.samples:
        yield Section("Samples", header=_SAMPLES_HEADER, rows=list(_samples(card)), note=_PROMPT_LENGTH)
    if card.pictures.total or card.others:
        yield Section(
            "Media" if card.others else "Pictures",
            facts=list(_pictures(card.pictures, looked=card.looked)) + _others(card),
        )
    if card.spec.categories:
        rows = [(name, ", ".join(subsets)) for name, subsets in card.spec.categories.items()]
        yield Section("Categories", header=("category", "subsets"), rows=rows)
    if card.problems:
        more = len(card.problems) - _MOST_PROBLEMS
        count = "1 sample" if len(card.problems) == 1 else f"{len(card.problems):,} samples"
        items = [*card.problems[:_MOST_PROBLEMS], *([f"and {more:,} more"] if more > 0 else [])]
        yield Section("Problems", note=f"{count} can't be asked:", items=items)


def _about(spec: Spec) -> Iterator[Fact]:
    yield "name", spec.name
    if spec.tags:
        yield "tags", ", ".join(spec.tags)
    yield "licence", spec.license or "not stated"
    yield from spec.links.items()
    if spec.sample.format != TEMPLATE:
        yield "format", next(str(known) for known in FORMATS if known.name == spec.sample.format)
    yield from _scorers(spec.score)
    if spec.metrics:
        yield "metrics", ", ".join(metric.name for metric, _ in spec.metrics)
    if spec.groups:
        yield "tables by", ", ".join(spec.groups)
    for gate in spec.gates:
        yield "gate", gate.name if gate.scope == spec.name else f"{gate.scope}: {gate.name}"
    target = f"--vqa-benchmark={spec.name}" if spec.path.name.endswith(SUFFIX) else _from_here(spec.path)
    yield "run", f"pytest {shlex.quote(target)} --vqa-model=NAME"


def _from_here(file: Path) -> str:
    """The file as it can be named in this folder."""
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def _scorers(rule: ScoreRule | ScoreSwitch, when: str = "") -> Iterator[Fact]:
    """Each scorer with its options, those of the spec in the place of its own."""
    if isinstance(rule, ScoreSwitch):
        for value, inner in [*rule.cases.items(), *([("else", rule.other)] if rule.other else [])]:
            yield from _scorers(inner, f"{when}{rule.said} {value}: ")
        return
    yield "scorer", f"{when}{_about_scorer(rule.scorer)}"
    options = dict(rule.options)
    if rule.scorer in BUILT_IN:
        takes = inspect.signature(BUILT_IN[rule.scorer]).parameters.values()
        options = {p.name: p.default for p in takes if p.kind is p.KEYWORD_ONLY} | options
    if rule.correct_from is not None:
        options["correct_from"] = rule.correct_from
    if options:
        yield "options", "; ".join(f"{name} = {_option(value)}" for name, value in options.items())


def _about_scorer(name: str) -> str:
    """Its name, and what it does in the first sentence of its documentation."""
    if name not in BUILT_IN:
        return f"{name} (your own, registered by a conftest.py)"
    first = (inspect.getdoc(BUILT_IN[name]) or "").split("\n", 1)[0].rstrip(".").replace("`", "")
    return f"{name}: {first if first[1:2].isupper() else first[:1].lower() + first[1:]}"


def _option(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _data(card: Card, *, local: bool) -> Iterator[Fact]:
    source = card.spec.data
    if source.package:
        yield "from", f"the Python package {source.package}"
    elif source.folder:
        yield "folder", f"{source.folder}/ in the folder of --vqa-data"
    for name, remote in source.files.items():
        yield "published", f"{name}: {remote.sources[0].text}"
    for name, values in card.spec.where.items():
        yield "rows", f"those whose {name} is {' or '.join(values)}"
    if card.missing:
        yield "missing", card.missing if local else "all: there was none where this card was written"
    for file in card.files:
        counted = "1 record" if file.records == 1 else f"{file.records:,} records"
        about = f"{counted}, {file.bytes:,} bytes, sha256 {file.sha256[:16]}…"
        yield "made from", f"{file.name}: {about}"
    total, published = card.samples.total(), source.samples
    if published and total and total != published:
        yield "a part", f"{total:,} of the {published:,} samples of the published benchmark: what follows is of these"


_SAMPLES_HEADER = ("subset", "samples", "prompt mean", "min", "max")
_PROMPT_LENGTH = "Prompt length: characters of all texts of the request."


def _samples(card: Card) -> Iterator[Sequence[str]]:
    for subset, count in card.samples.items():
        yield subset, f"{count:,}", *_lengths(card.lengths.get(subset, []))
    if len(card.samples) > 1:
        every = [length for lengths in card.lengths.values() for length in lengths]
        yield "all samples", f"{card.samples.total():,}", *_lengths(every)


def _lengths(lengths: Sequence[int]) -> tuple[str, str, str]:
    if not lengths:
        return "-", "-", "-"
    return _short(fmean(lengths)), f"{min(lengths):,}", f"{max(lengths):,}"


def _short(value: float) -> str:
    """At most two decimals."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _pictures(pictures: Pictures, *, looked: bool) -> Iterator[Fact]:
    if not pictures.total:
        return
    counts = sorted(pictures.per_sample.elements())
    yield "pictures", f"{pictures.total:,}"
    yield "per sample", f"min {counts[0]}, mean {_short(fmean(counts))}, max {counts[-1]}"
    if not looked:
        yield "not read", "resolution and formats are not known"
    if pictures.linked:
        yield "as URLs", f"{pictures.linked:,}, which are not looked at"
    if pictures.sizes:
        yield "different", f"{pictures.distinct:,}"
        by_area = sorted(pictures.sizes, key=lambda size: (size[0] * size[1], size))
        (low_w, low_h), (high_w, high_h) = by_area[0], by_area[-1]
        yield "resolution", f"{low_w}x{low_h} to {high_w}x{high_h} px (by area)"
        yield "formats", ", ".join(f"{mime} ({count:,})" for mime, count in pictures.formats.most_common())


def _others(card: Card) -> list[Fact]:
    return [(kind, f"{count:,}") for kind, count in sorted(card.others.items())]


def _as_json(example: Example) -> dict[str, Any]:
    question = example.question
    shown: dict[str, Any] = {"messages": shortened(list(example.messages))}
    if question.options:
        shown["options"] = dict(zip(question.labels, question.options, strict=True))
    return {**shown, "reference": list(question.references)}


def _sent(example: Example) -> Iterator[str]:
    """The sample for reading: the texts as they are, a line for each medium."""
    for message in shortened(list(example.messages)):
        content = message["content"]
        parts = [{"text": content}] if isinstance(content, str) else content
        said = "\n".join(part["text"] if "text" in part else _medium(part) for part in parts)
        yield from _paragraphs(f"{message['role']}", said)
    if example.question.options:
        yield from _paragraphs("labels", ", ".join(example.question.labels))
    yield from _paragraphs("reference", " | ".join(example.question.references) or "(none)")


def _medium(part: dict[str, Any]) -> str:
    """The description of a medium inside its part."""
    inner = part[part["type"]]
    named = inner.get("url") or inner.get("data") if isinstance(inner, dict) else inner
    return f"[{part['type'].split('_')[0]}: {str(named).removeprefix('<').removesuffix('>')}]"


def _paragraphs(label: str, text: str) -> Iterator[str]:
    for n, line in enumerate(printable(cut_middle(text, _LONGEST_TEXT)).split("\n")):
        yield from _wrapped(line, f"{label if n == 0 else '':<{_LABEL}} ")


def _wrapped(text: str, label: str = "") -> list[str]:
    indent = " " * len(label)
    return textwrap.wrap(text, _WIDTH, initial_indent=label, subsequent_indent=indent) or [label.rstrip()]


def _tabled(header: Sequence[str], rows: Sequence[Sequence[str]], style: str) -> list[str]:
    numbers = ["right"] * (len(header) - 1) if "samples" in header else ["left"] * (len(header) - 1)
    return tabulate(rows, header, tablefmt=style, disable_numparse=True, colalign=["left", *numbers]).split("\n")


def _escaped(text: str) -> str:
    """Plain text in Markdown; addresses stay links."""
    if re.fullmatch(r"https?://[^\s<>|`]+", text):
        return f"<{text}>"
    return re.sub(r"[\\`*{}\[\]<>#|~]|(?<!\w)_|_(?!\w)", r"\\\g<0>", one_line(text))


def _fenced(text: str) -> list[str]:
    """A block of code whose fence is longer than any in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}json", printable(text), fence]
