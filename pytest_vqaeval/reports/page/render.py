"""The page as one file: template, style, script and data put together."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vqaeval.errors import MissingExtra
from pytest_vqaeval.reports.page.columns import Column, columns_of
from pytest_vqaeval.reports.page.figures import figures_of
from pytest_vqaeval.reports.page.pictures import Pictures
from pytest_vqaeval.reports.page.samples import samples_of, shown
from pytest_vqaeval.scoring.base import Outcome

if TYPE_CHECKING:
    import jinja2

    from pytest_vqaeval.reopened import Reopened
    from pytest_vqaeval.store import StoredRun

_HERE = Path(__file__).parent
_SCRIPTS = ("list.js", "card.js", "page.js")
_MOST_ROWS = 40  # of a table
_OUTCOMES = {Outcome.UNPARSED: "no answer read", Outcome.NOT_RUN: "not run"}
_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(runs: Sequence[tuple[StoredRun, Reopened]]) -> str:
    """The HTML of a page about one run or several.

    Raises:
        MissingExtra: Jinja2 is not installed.
    """
    environment = _environment()
    columns = columns_of(runs)
    figures = figures_of(columns)
    pictures = Pictures()
    samples = samples_of(columns, pictures)
    stored = pictures.encoded()
    data = {
        "columns": [{"number": column.number, "label": shown(column.label)} for column in columns],
        "benchmarks": [shown(one.name) for one in figures],
        "samples": samples,
    }
    style = _read("page.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_read, _SCRIPTS)) + "\n})();\n"
    return environment.get_template("page.html.j2").render(
        title=", ".join(one.title for one in figures) or "No samples",
        columns=columns,
        benchmarks=figures,
        problems=_problems(columns, stored),
        notes=_notes(columns),
        version=version("pytest-vqaeval"),
        policy=_policy(style, script),
        style=_trusted(style),
        script=_trusted(script),
        data=_trusted(_json(data)),
        pictures=_trusted(_json(stored)),
    )


def _environment() -> jinja2.Environment:
    try:
        import jinja2
    except ImportError as missing:
        raise MissingExtra("the HTML page", "html") from missing
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE), autoescape=True, undefined=jinja2.StrictUndefined, finalize=_visible
    )
    environment.filters.update(
        count=lambda number: f"{number:,}",
        percent=lambda share: "–" if share is None else f"{100 * share:.2f} %",
        seconds=lambda seconds: f"{seconds:.3g} s",
    )
    environment.globals.update(
        outcomes=Outcome,
        outcome_names={outcome.value: _OUTCOMES.get(outcome, outcome.value) for outcome in Outcome},
        most_rows=_MOST_ROWS,
    )
    return environment


def _visible(value: Any) -> Any:
    """What the template puts in, without characters that hide or reorder text; `Markup` is the template's own."""
    return shown(value) if type(value) is str else value


def _trusted(text: str) -> Any:
    """Text that the template puts in as it is: the package's own files, and JSON without `<`."""
    from markupsafe import Markup  # comes with Jinja2

    return Markup(text)  # noqa: S704


def _read(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """JSON that can stand in a script element, whatever it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_IN_SCRIPT)


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, and no script or style is used but the page's own."""
    allowed = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _problems(columns: Sequence[Column], pictures: Sequence[str | int | None]) -> list[str]:
    """What the page can't show."""
    opened = list({id(column.opened): column.opened for column in columns}.values())
    said = [problem for one in opened for problem in one.problems]
    if changed := sum(one.changed for one in opened):
        said.append(
            f"{changed:,} results are of questions that are not in the data any more, or have other references."
        )
    if unreadable := sum(picture is None for picture in pictures):
        said.append(f"{unreadable:,} pictures can't be shown.")
    return list(dict.fromkeys(said))


def _notes(columns: Sequence[Column]) -> list[str]:
    """The runs, and what they generated with."""
    notes = []
    for run in {column.run.path: column.run for column in columns}.values():
        generation = (run.header.get("settings") or {}).get("generation") or {}
        given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in generation.items())
        notes.append(f"run {run.path.name}" + (f" ({given})" if given else ""))
    return notes
