"""The card of a benchmark: what its spec says it is, and what its data on this machine holds."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.dataset import open_archive, read_samples
from pytest_vqaeval.errors import DataError, MissingExtra
from pytest_vqaeval.hub import Hub, record_files
from pytest_vqaeval.media import Encoded, Media, MediaCache
from pytest_vqaeval.question import Message, Question, values_in
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.spec import Spec


@dataclass(frozen=True)
class RecordFile:
    """A file of records; `sha256` is hexadecimal."""

    name: str
    records: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Pictures:
    """The pictures of all samples that can be asked.

    Attributes:
        per_sample: how many each sample has, by number of samples.
        sizes: width and height in pixels, by number of pictures; empty where no picture was read.
        formats: media types, by number of pictures.
        distinct: how many different ones there are.
        linked: how many are sent as URLs, which are not looked at.
    """

    per_sample: Counter[int] = field(default_factory=Counter)
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    distinct: int = 0
    linked: int = 0

    @property
    def total(self) -> int:
        """All pictures that are sent; one that several samples have counts for each."""
        return sum(count * samples for count, samples in self.per_sample.items())


@dataclass(frozen=True)
class Example:
    """One sample as it is sent; media are `Encoded`, or `Media` where they were not read."""

    sample: Sample
    question: Question
    messages: Sequence[Message]


@dataclass(frozen=True)
class Card:
    """What is known of a benchmark.

    Attributes:
        missing: why there is no data; empty if there is.
        lengths: of prompts in characters, by subset, in the order of the spec; without samples that can't be asked.
        samples: number of samples by subset.
        problems: one for each sample that can't be asked.
        others: audio and video, by number.
        looked: pictures were read.
    """

    spec: Spec
    missing: str = ""
    files: Sequence[RecordFile] = ()
    samples: Counter[str] = field(default_factory=Counter)
    lengths: dict[str, list[int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    pictures: Pictures = field(default_factory=Pictures)
    others: Counter[str] = field(default_factory=Counter)
    clusters: int = 0
    example: Example | None = None
    looked: bool = True


def make_card(
    spec: Spec, data: Path | None, *, started_in: Path, roots: Sequence[Path] = (), look: bool = True
) -> Card:
    """Read the benchmark's data, one sample after the other; of pictures only a bounded cache is held.

    Args:
        spec: the benchmark.
        data: the folder that holds one folder per benchmark.
        started_in: the folder that paths in records may be relative to.
        roots: media roots.
        look: read the pictures too.
    """
    try:
        found = Hub(data, offline=True).open(spec)
        files = list(record_files(spec, found))
        samples = read_samples(spec, files)
    except (DataError, MissingExtra) as error:
        return Card(spec, missing=str(error))
    with _Reader(open_archive(spec, found, started_in, roots) if look else None) as reader:
        for sample in samples:
            reader.add(sample)
    return Card(
        spec,
        files=[_record_file(file, samples) for _, file in files if isinstance(file, Path)],
        samples=_in_order(spec, Counter(sample.subset for sample in samples)),
        lengths=reader.lengths,
        problems=reader.problems,
        pictures=Pictures(reader.per_sample, reader.sizes, reader.formats, len(reader.hashes), reader.linked),
        others=reader.others,
        clusters=len({sample.cluster for sample in samples}),
        example=reader.example,
        looked=look,
    )


def prompt_length(messages: Sequence[Message]) -> int:
    """The characters of all texts of a request."""
    length = 0
    for message in messages:
        content = message["content"]
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        length += sum(map(len, texts))
    return length


class _Reader:
    """Takes samples one by one and keeps what the card says of them."""

    def __init__(self, archive: Archive | None) -> None:
        self._archive, self._cache = archive, MediaCache()
        self.lengths: dict[str, list[int]] = defaultdict(list)
        self.problems: list[str] = []
        self.per_sample: Counter[int] = Counter()
        self.sizes: Counter[tuple[int, int]] = Counter()
        self.formats: Counter[str] = Counter()
        self.hashes: set[str] = set()
        self.linked = 0
        self.others: Counter[str] = Counter()
        self.example: Example | None = None

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._archive:
            self._archive.close()

    def add(self, sample: Sample) -> None:
        """Note a sample."""
        try:
            question = sample.question()
            messages = self._cache.load(question.messages, self._archive) if self._archive else question.messages
        except DataError as error:
            said = str(error)
            self.problems.append(said if said.startswith(sample.where) else f"{sample.where}: {said}")
            return
        self.lengths[sample.subset].append(prompt_length(question.messages))
        kinds = Counter(medium.kind for medium in values_in(question.messages, Media))
        self.per_sample[kinds.pop("image", 0)] += 1
        self.others += kinds
        if self._archive:
            self._look(messages, values_in(question.messages, Media))
        self.example = self.example or Example(sample, question, messages)

    def _look(self, messages: Sequence[Message], media: Sequence[Media]) -> None:
        encoded = [medium for medium in values_in(messages, Encoded) if medium.size]
        self.linked += sum(medium.kind == "image" for medium in media) - len(encoded)
        for picture in encoded:
            self.formats[picture.mime] += 1
            self.hashes.add(picture.sha256)
            if picture.size:
                self.sizes[picture.size] += 1


def _record_file(file: Path, samples: Sequence[Sample]) -> RecordFile:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
    records = sum(sample.record is not None and sample.record.file == file for sample in samples)
    return RecordFile(file.name, records, file.stat().st_size, digest.hexdigest())


def _in_order(spec: Spec, found: Counter[str]) -> Counter[str]:
    """By subset: those that the spec declares first, in its order."""
    names = [name for name in spec.subsets if name in found]
    return Counter({name: found[name] for name in [*names, *(name for name in found if name not in names)]})


def shortened(value: Any) -> Any:
    """A message for people and files: what a medium is instead of its bytes."""
    if isinstance(value, Encoded):
        return f"<{value}>"
    if isinstance(value, Media):
        return f"<{value.name}>"
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    return [shortened(inner) for inner in value] if isinstance(value, list) else value
