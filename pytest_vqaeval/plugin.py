"""The face of the plugin: options and hooks. Each forwards; nothing heavy is imported before it is needed."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from pytest_vqaeval.errors import UsageError, VqaError
from pytest_vqaeval.options import OPTIONS
from pytest_vqaeval.settings import Settings

if TYPE_CHECKING:
    from pytest_vqaeval.datafile import DataFile
    from pytest_vqaeval.evaluation import Evaluation
    from pytest_vqaeval.run import Run

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
EVALUATION: pytest.StashKey[Evaluation] = pytest.StashKey()
RUN: pytest.StashKey[Run] = pytest.StashKey()
DATA_FILES: pytest.StashKey[dict[Path, DataFile]] = pytest.StashKey()
STDERR: pytest.StashKey[TextIO] = pytest.StashKey()
GC_THRESHOLDS: pytest.StashKey[tuple[int, int, int]] = pytest.StashKey()
LEFT_OUT: pytest.StashKey[list[Path]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare all options, on the command line and in ini files."""
    group = parser.getgroup("vqaeval", "visual-question-answering benchmarks (pytest-vqaeval)")
    for option in OPTIONS:
        option.add_to(parser, group)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that others may implement."""
    from pytest_vqaeval import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Read the options once, and refuse at once what can't be used."""
    from pytest_vqaeval.arguments import named_data_files
    from pytest_vqaeval.fixtures import fixtures_of
    from pytest_vqaeval.shipped import add_benchmarks, refuse_spec_without_model

    # added here it runs behind pytest's own searches for garbage at the end
    config.add_cleanup(lambda: _look_for_garbage_as_before(config))
    config.pluginmanager.register(fixtures_of(lambda: _evaluation(config), config.hook), "vqaeval-fixtures")
    try:
        settings = config.stash[SETTINGS] = Settings.read(config)
        config.stash[STDERR] = _stderr()
        add_benchmarks(config, settings)
        refuse_spec_without_model(config, settings)
        if files := named_data_files(config, settings):
            from pytest_vqaeval.datafile import read_data_files

            config.stash[DATA_FILES] = read_data_files(files)
        if settings.model and not config.option.collectonly:
            _evaluation(config).check_models()
            if not hasattr(config, "workerinput"):
                _start_run(config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def _look_for_garbage_as_before(config: pytest.Config) -> None:
    if GC_THRESHOLDS in config.stash:
        gc.set_threshold(*config.stash[GC_THRESHOLDS])
        gc.unfreeze()


def _stderr() -> TextIO:
    """Standard error as it is now, for downloads: later it is captured."""
    return open(os.dup(2), "w", encoding="utf-8", errors="replace")


def _start_run(config: pytest.Config) -> None:
    """The controller's side: results, summary, gates, exit code."""
    from pytest_vqaeval.run import Run

    config.stash[RUN] = Run(config, config.stash[SETTINGS], _evaluation(config))
    config.pluginmanager.register(config.stash[RUN], "vqaeval-run")


def _evaluation(config: pytest.Config) -> Evaluation:
    """The process's side of the run: models, archives, scorers."""
    if EVALUATION not in config.stash:
        from pytest_vqaeval.evaluation import Evaluation
        from pytest_vqaeval.remote.progress import Progress
        from pytest_vqaeval.replies import ALONE

        worker: dict[str, Any] = getattr(config, "workerinput", {})
        config.stash[EVALUATION] = Evaluation(
            config.stash[SETTINGS],
            config.invocation_params.dir,
            worker.get("workerid", ALONE),
            config.hook.pytest_vqa_scorers,
            worker.get("vqa_run"),
            worker.get("workercount", 1),
            worker.get("vqa_replayed"),
            Progress(config.stash[STDERR], alone=not hasattr(config, "workerinput")),
        )
    return config.stash[EVALUATION]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the models, and say what was recognised in data files."""
    run = config.stash.get(RUN, None)
    lines = [run.header()] if run else []
    return lines + [f"vqaeval: {data_file.about}" for data_file in config.stash.get(DATA_FILES, {}).values()]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for cyclic garbage: there is none, and 50,000 samples would be searched a dozen times."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return (yield)
    finally:
        if was_on:
            gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Look for cyclic garbage seldom, and not among what was collected, which lives to the end: a tenth of the CPU."""
    if EVALUATION in session.config.stash:
        session.config.stash[GC_THRESHOLDS] = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)
        atexit.unregister(gc.freeze)  # once is enough
        atexit.register(gc.freeze)  # nor when the process ends


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A spec, or a data file among the arguments, becomes a module of samples; without a model specs are left alone."""
    config = parent.config
    data_file = config.stash.get(DATA_FILES, {}).get(file_path)
    if data_file is None and not file_path.name.endswith(".vqa.yaml"):
        return None
    if not config.stash[SETTINGS].model and not config.option.collectonly:
        config.stash.setdefault(LEFT_OUT, []).append(file_path)
        return None
    from pytest_vqaeval.collect import SpecModule

    return SpecModule.of(parent, file_path, _evaluation(config), data_file.spec if data_file else None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Several models: one item per model."""
    if "vqa_model_name" in metafunc.fixturenames and EVALUATION in metafunc.config.stash:
        labels = metafunc.config.stash[EVALUATION].labels
        if len(labels) > 1:
            from pytest_vqaeval.names import node_name

            ids = [node_name(label) for label in labels]
            metafunc.parametrize("vqa_model_name", labels, ids=ids, scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Point each sample at its record."""
    if EVALUATION in config.stash:
        from pytest_vqaeval.collect import point_at_record, sample_of

        for item in items:
            if sample := sample_of(item):
                point_at_record(item, sample)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Write down what the run selected."""
    config = session.config
    if EVALUATION in config.stash and not config.option.collectonly:
        from pytest_vqaeval.items import selection_of

        if run := config.stash.get(RUN, None):
            run.open_folder()
        try:
            config.stash[EVALUATION].note_selection(selection_of(session.items, config.stash[EVALUATION]))
        except VqaError as error:  # the run folder, or the cache's lock file
            if not hasattr(config, "workerinput"):
                raise pytest.UsageError(str(error)) from None
            session.shouldstop = str(error)  # what a worker raises here, xdist takes for a crash of itself


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Note which item runs, before anything of its setup can fail."""
    if evaluation := item.config.stash.get(EVALUATION, None):
        evaluation.run(item)
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach a sample's result to its report, as basic types: this is what xdist carries to the controller."""
    if EVALUATION not in item.config.stash:
        return (yield)
    from pytest_vqaeval.items import attach_result, forget_hidden_traceback

    forget_hidden_traceback(item, call)
    report = yield
    attach_result(item, call, report, item.config.stash[EVALUATION])
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """A wrong answer is filed under a category of its own: 800 of them print no 800 failures."""
    if report.when == "???" and report.outcome == "rerun":  # type: ignore[comparison-overlap]  # by xdist's leave
        return "asked again", "R", ("ASKED AGAIN", {"yellow": True})
    result: dict[str, Any] = getattr(report, "vqa", None) or {}
    if report.when == "call" and report.failed and result.get("outcome") in _WRONG:
        return "wrong", "w", ("WRONG", {"yellow": True})
    return None


_WRONG = ("wrong", "unparsed", "truncated", "empty")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which specs were left alone."""
    if left := config.stash.get(LEFT_OUT, None):
        terminalreporter.write_line(f"vqaeval: {len(left)} benchmarks were not run: no --vqa-model")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Whatever ended the session: nothing more is asked; a worker tells the controller what only it knows."""
    if EVALUATION in session.config.stash:
        evaluation = session.config.stash[EVALUATION]
        evaluation.stop()
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["vqa_throttled_s"] = evaluation.throttled_s()
            session.config.workeroutput["vqa_servers"] = evaluation.servers()
            session.config.workeroutput["vqa_selection"] = evaluation.selection_from_apart()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what was opened."""
    if EVALUATION in config.stash:
        config.stash[EVALUATION].close()
    if stream := config.stash.get(STDERR, None):
        stream.close()
