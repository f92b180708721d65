"""Shards: the parts of a benchmark that several machines run, each for itself, to be merged afterwards."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` (from 1) of `count`."""

    number: int
    count: int

    def __str__(self) -> str:
        """As it is typed."""
        return f"{self.number}/{self.count}"

    def of(self, clusters: Iterable[str]) -> set[str]:
        """The clusters of a benchmark that are this shard's; samples of one picture stay together.

        Consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, SODA 2018, section 1): a cluster goes
        to the shard that the hash of its name says, or to the next that has room for it within an equal share of the
        samples; where none has, to that with the fewest. So the parts do not depend on the order of the rows, are
        nearly equal, and a further row moves few clusters.

        Args:
            clusters: that of each sample of the benchmark; every shard is told the same.
        """
        sizes = Counter(clusters)
        total = sizes.total()
        loads = [0] * self.count
        mine = set()
        for number, name in sorted((_hash(name), name) for name in sizes):
            turns = ((number + step) % self.count for step in range(self.count))
            with_room = (turn for turn in turns if (loads[turn] + sizes[name]) * self.count <= total)
            chosen = next(with_room, None)
            if chosen is None:
                chosen = loads.index(min(loads))
            loads[chosen] += sizes[name]
            if chosen == self.number - 1:
                mine.add(name)
        return mine


def _hash(text: str) -> int:
    """The same in every process, other than `hash`."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def parse_shard(text: str) -> Shard:
    """`2/4`: the second of four.

    Raises:
        ValueError: it is something else.
    """
    number, _, count = (part.strip() for part in text.partition("/"))
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ValueError(f"{text!r} is not I/N with I from 1 to N, such as 2/4")
    return Shard(int(number), int(count))
