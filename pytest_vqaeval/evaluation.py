"""One process's side of a run: its models, archives, scorers and stored replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.asking import Asked, Asker
from pytest_vqaeval.hub import find_data
from pytest_vqaeval.media import Reader
from pytest_vqaeval.models import Model, make_model, model_labels
from pytest_vqaeval.results import About
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.scoring import BUILT_IN
from pytest_vqaeval.scoring.base import Scorer
from pytest_vqaeval.settings import Settings
from pytest_vqaeval.spec import Spec
from pytest_vqaeval.store import RunFolder, Selection


class Evaluation:
    """What is opened once per process and used by all items."""

    def __init__(
        self,
        settings: Settings,
        started_in: Path,
        worker: str,
        own_scorers: Callable[[], Sequence[Mapping[str, Any]]],
        run_folder: str | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            settings: the run's settings.
            started_in: the folder pytest was started in.
            worker: the name of this process in the run: `main`, or `gw0` ...
            own_scorers: gives the scorers that users registered.
            run_folder: where the run's files are, if it is known yet.

        Raises:
            UsageError: a model is named twice.
        """
        self.settings = settings
        self.labels = model_labels(settings.model)
        self.folder = RunFolder(Path(run_folder)) if run_folder else None
        self.abouts: dict[str, About] = {}
        self._started_in, self._worker, self._own_scorers = started_in, worker, own_scorers
        self._models: dict[str, Model] = {}
        self._archives: dict[Path, Archive] = {}
        self._scorers: dict[Path, Scorer] = {}
        self._asker: Asker | None = None

    def check_models(self) -> None:
        """Read the files of replayed models now: a mistake in them is one of the command line.

        Raises:
            UsageError: a file can't be used.
        """
        for name, label in zip(self.settings.model, self.labels, strict=True):
            if name.startswith("replay:"):
                self.model(label)

    def note_selection(self, selection: Selection) -> None:
        """Write down what the run selected, if it has a folder."""
        if self.folder and selection.rows:
            self.folder.write_selection(selection)

    def model(self, label: str) -> Model:
        """The model of that label, made at first use.

        Raises:
            UsageError: a file or URL that can't be used.
        """
        if label not in self._models:
            name = self.settings.model[self.labels.index(label)]
            self._models[label] = make_model(name, self.settings, self._started_in)
        return self._models[label]

    def archive(self, spec: Spec) -> Archive:
        """The benchmark's media.

        Raises:
            DataError: the data folder is not there.
        """
        if spec.path not in self._archives:
            self._archives[spec.path] = Archive(find_data(spec, self.settings.data))
        return self._archives[spec.path]

    def scorer(self, spec: Spec) -> Scorer:
        """The benchmark's scorer with its options.

        Raises:
            SpecError: it is unknown, or an option is.
        """
        if spec.path not in self._scorers:
            scorers = dict(BUILT_IN)
            for more in self._own_scorers():
                scorers.update(more)
            self._scorers[spec.path] = spec.score.bind(scorers)
        return self._scorers[spec.path]

    def about(self, spec: Spec, subsets: Sequence[str], collected: int) -> None:
        """Note what the reports must know of a benchmark."""
        groups = tuple(dict.fromkeys(self.settings.group or spec.groups))
        self.abouts[spec.name] = About(
            name=spec.name,
            title=spec.title,
            scorer=spec.score.scorer,
            collected=collected,
            subsets=subsets,
            categories=tuple(spec.categories),
            groups=groups,
            fail_under=spec.fail_under,
        )

    def ask(self, sample: Sample, model: Model, label: str, reader: Reader) -> Asked:
        """Ask a sample's question: the one seam between items and requests.

        Raises:
            DataError: the record or a medium can't be used.
            ModelError: no reply.
        """
        if self._asker is None:
            self._asker = Asker(self.folder, self._worker)
        return self._asker.ask(sample, model, label, reader)

    def close(self) -> None:
        """Close connections, archives and files."""
        for model in self._models.values():
            if close := getattr(model, "close", None):
                close()
        for archive in self._archives.values():
            archive.close()
        if self.folder:
            self.folder.close()
