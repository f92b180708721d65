"""One process's side of a run: its models, archives, scorers and stored replies."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_vqaeval.abouts import about, complete
from pytest_vqaeval.archive import Archive
from pytest_vqaeval.asking import Asked, Asker
from pytest_vqaeval.data import Data
from pytest_vqaeval.dataset import open_archive
from pytest_vqaeval.errors import FatalError, UsageError
from pytest_vqaeval.hub import Hub
from pytest_vqaeval.judging.panel import Judged, Panel
from pytest_vqaeval.media import MediaCache, Reader
from pytest_vqaeval.models import Model, check_urls, make_judge, make_model, model_labels
from pytest_vqaeval.remote.progress import Progress
from pytest_vqaeval.replies import ReplyStore
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.scorerule import TRIAL, parts_of
from pytest_vqaeval.scoring import BUILT_IN
from pytest_vqaeval.scoring.base import Score, Scorer
from pytest_vqaeval.settings import Settings
from pytest_vqaeval.spec import Spec
from pytest_vqaeval.store import RunFolder, Selection, is_run
from pytest_vqaeval.summary import About
from pytest_vqaeval.usage import ANSWER, JUDGE

if TYPE_CHECKING:
    import pytest

    from pytest_vqaeval.lookahead import LookAhead
    from pytest_vqaeval.models.pace import Pace

_OF_A_JUDGE = "judge "


@dataclass
class Running:
    """The item that runs, and how far it got."""

    item: pytest.Item
    reader: Reader | None = None
    asked: Asked | None = None
    judged: Judged | None = None
    score: Score | None = None
    fatal: bool = False
    keywords: Mapping[str, Any] | None = None


class Evaluation:
    """What is opened once per process and used by all items."""

    def __init__(
        self,
        settings: Settings,
        started_in: Path,
        worker: str,
        own_scorers: Callable[[], Sequence[Mapping[str, Any]]],
        run_folder: str | None = None,
        workers: int = 1,
        replayed: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            settings: the run's settings.
            started_in: the folder pytest was started in.
            worker: the name of this process in the run: `main`, or `gw0` ...
            own_scorers: gives the scorers that users registered.
            run_folder: where the run's files are, if it is known yet.
            workers: how many processes share the requests in flight.
            replayed: by name of a replayed model its whole path, where the controller knows it: once the new run has
                begun, `latest` is another.
            progress: tells of downloads.

        Raises:
            UsageError: a model, a judge or a server is named twice.
        """
        self.settings = settings
        self.concurrency = _share(settings.concurrency, workers, worker)
        self.labels = model_labels(settings.model)
        self.judge_labels = model_labels(settings.judge, "--vqa-judge")
        self.judges: dict[str, Model] = {}
        check_urls(settings.url)
        self.folder = RunFolder(Path(run_folder)) if run_folder else None
        self._apart = self.folder is not None and self.folder.make_if_apart()
        self.abouts: dict[str, About] = {}
        self.replayed = dict(replayed or {})
        self._out = settings.out or started_in / ".vqaeval"
        self.started_in, self._worker, self._own_scorers = started_in, worker, own_scorers
        self._models: dict[str, Model] = {}
        self._collected: dict[str, Sequence[Sample]] = {}
        self._hub = Hub(settings.data, offline=settings.offline, whole=settings.download, progress=progress)
        self._data: dict[Path, Data] = {}
        self._archives: dict[Path, Archive] = {}
        self._scorers: dict[Path, Scorer] = {}
        self._own_names: set[str] = set()  # of scorers that users registered
        self._ready: set[Path] = set()  # the specs whose scorer was tried
        self._replies: ReplyStore | None = None
        self._ahead_for: object = None
        self._ahead: LookAhead | None = None

    def run(self, item: pytest.Item) -> None:
        """An item begins, perhaps again."""
        self.running = Running(item)

    def check_models(self) -> None:
        """Read the files of replayed models now, and make the judges: a mistake in them is one of the command line.

        Raises:
            UsageError: a file or URL can't be used, or there is no judge for a strategy that needs one.
        """
        named = zip(self.judge_labels, self.settings.judge, strict=True)
        self.judges = {label: make_judge(name, self.settings, self.concurrency) for label, name in named}
        strategy = self.settings.judge_strategy
        if strategy not in (None, "rule") and not self.judges:
            raise UsageError(f"--vqa-judge-strategy={strategy} needs a judge: name one with --vqa-judge")
        for name, label in zip(self.settings.model, self.labels, strict=True):
            if name.startswith("replay:"):
                if name not in self.replayed:
                    from pytest_vqaeval.models.replay import locate

                    self.replayed[name] = locate(name, self._out, self.started_in)
                self.model(label)

    def note_selection(self, selection: Selection) -> None:
        """Write down what the run selected, if it has a folder."""
        if self.folder and selection.rows:
            if self.settings.resume is None and self.folder.has_selection:
                return  # another worker was faster; what is there at the start of a resumed run is of its first part
            abouts = [complete(about, self._collected[about.name], self) for about in selection.abouts]
            self.folder.write_selection(Selection(abouts, selection.rows))
            self.folder.publish()  # not before: a run of nothing is not the latest

    def selection_from_apart(self) -> str:
        """What a worker selected that runs on another machine than the controller, whose files are not the same."""
        return self.folder.selection_text() if self.folder and self._apart else ""

    def model(self, label: str) -> Model:
        """The model of that label, made at first use.

        Raises:
            UsageError: a file or URL that can't be used.
        """
        if label not in self._models:
            name = self.settings.model[self.labels.index(label)]
            self._models[label] = make_model(self.replayed.get(name, name), self.settings, self.concurrency)
        return self._models[label]

    def panel(self, spec: Spec) -> Panel | None:
        """Who judges the benchmark's replies; None where the rule's score stands.

        Raises:
            FatalError: the spec wants a judge and none is named.
        """
        strategy = spec.judge.strategy_for(self.settings.judge_strategy, judges=len(self.judges))
        if strategy == "rule":
            return None
        if not self.judges:
            raise FatalError(f"{spec.judge.where} is {strategy}, but there is no judge: name one with --vqa-judge")
        if strategy == "llm_recall" and spec.judge.combine == "mean":
            raise FatalError(
                f"{spec.judge.where}: llm_recall needs verdicts of right and wrong, not their mean: use llm"
            )
        return Panel(tuple(self.judges), strategy, spec.judge)

    def named_panel(self, spec: Spec) -> Panel | None:
        """The same; None too where there is no judge to name, which the first sample says."""
        try:
            return self.panel(spec)
        except FatalError:
            return None

    def data(self, spec: Spec) -> Data:
        """The benchmark's files.

        Raises:
            DataError: they are nowhere.
        """
        if spec.path not in self._data:
            self._data[spec.path] = self._hub.open(spec)
        return self._data[spec.path]

    def archive(self, spec: Spec) -> Archive:
        """The benchmark's media.

        Raises:
            DataError: the data folder is not there.
        """
        if spec.path not in self._archives:
            self._archives[spec.path] = open_archive(spec, self.data(spec), self.started_in, self.settings.media_root)
        return self._archives[spec.path]

    def scorer(self, spec: Spec) -> Scorer:
        """The benchmark's scorer with its options.

        Raises:
            SpecError: it is unknown, or an option is.
        """
        if spec.path not in self._scorers:
            own: dict[str, Any] = {}
            for more in self._own_scorers():
                own.update(more)
            self._own_names.update(own)
            scorers = ChainMap(own, cast("dict[str, Any]", BUILT_IN))  # read only: built-in ones are imported when used
            self._scorers[spec.path] = spec.score.bind(scorers, self.settings.parser)
        return self._scorers[spec.path]

    def check_scorer(self, spec: Spec) -> None:
        """Make sure, before anything is asked, that the benchmark's scorer is ready.

        Raises:
            MissingExtra: it needs a package that is not installed.
        """
        if spec.path not in self._ready:
            scorer = self.scorer(spec)
            if self._own_names.isdisjoint(spec.score.scorers):
                for part in parts_of(scorer):
                    part(TRIAL, "A")
            self._ready.add(spec.path)

    def about(self, spec: Spec, subsets: Sequence[str], samples: Sequence[Sample]) -> None:
        """Note what the reports must know of a benchmark.

        Args:
            spec: the benchmark.
            subsets: in the order of the tables.
            samples: all of them, selected or not, each once.
        """
        self.abouts[spec.name] = about(spec, subsets, samples, self)
        self._collected[spec.name] = samples

    @cached_property
    def asker(self) -> Asker:
        """What asks, once there is a run folder: the one seam between items and requests."""
        assert self.folder is not None
        places = (Path(name.removeprefix("replay:").partition("::")[0]) for name in self.replayed.values())
        replayed = [place for place in places if is_run(place)]
        resume = self.settings.resume is not None
        self._replies = ReplyStore(self.folder.path, self._worker, resume=resume, replayed=replayed)
        return Asker(self._replies, MediaCache(max_pixels=self.settings.max_image_pixels))

    def look_ahead(self, model: Model, fixtures: object, make: Callable[[], LookAhead | None]) -> LookAhead | None:
        """The look-ahead for a model's items; that of another model before it is stopped."""
        key = (id(model), fixtures)
        if self._ahead_for != key:
            self.stop()
            self._ahead_for, self._ahead = key, make()
        return self._ahead

    def servers(self) -> list[tuple[str, int, int, str]]:
        """What each of several servers of a model did in this process (see `models.servers.Share`)."""
        return [
            tuple(share) for model in self._models.values() if (of := getattr(model, "shares", None)) for share in of()
        ]

    def throttled_s(self) -> dict[str, float]:
        """By model, judges included, the seconds in which a server wanted a pause; who never did is left out."""
        longest = {label: max(pace.throttled_s for pace in paces) for label, paces in self._paces().items()}
        return {label: seconds for label, seconds in longest.items() if seconds > 0}

    def in_flight(self) -> dict[str, int]:
        """How many requests this process waits for now, by what they ask for; nothing where no model tells."""
        known: Counter[str] = Counter()
        for label, paces in self._paces().items():
            known[JUDGE if label.startswith(_OF_A_JUDGE) else ANSWER] += sum(pace.in_flight for pace in paces)
        return dict(known)

    def _paces(self) -> dict[str, Sequence[Pace]]:
        """The paces of the models and judges that ask servers, one per server."""
        asked = {**self._models, **{_OF_A_JUDGE + label: judge for label, judge in self.judges.items()}}
        return {label: paces for label, model in asked.items() if (paces := getattr(model, "paces", ()))}

    def stop(self) -> None:
        """Ask nothing more."""
        if self._ahead:
            self._ahead.stop()

    def close(self) -> None:
        """Close connections, archives and files."""
        self.stop()
        for model in (*self._models.values(), *self.judges.values()):
            if close := getattr(model, "close", None):
                close()
        for archive in self._archives.values():
            archive.close()
        for data in self._data.values():
            data.close()
        self._hub.close()
        if self._replies:
            self._replies.close()
        if self.folder:
            self.folder.close()


def _share(total: int, workers: int, worker: str) -> int:
    """How many of the requests in flight are this worker's (`gw0` ...): at least one."""
    number = int("0" + worker.removeprefix("gw")) if worker.startswith("gw") else 0
    return max(1, total // workers + (number % workers < total % workers))
