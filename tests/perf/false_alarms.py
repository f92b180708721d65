"""How often the paired test cries wolf, and how often it sees a real drop: a table, simulated.

    python -m tests.perf.false_alarms [ROUNDS]

A round draws what changed between two runs of the same samples. Each image has a flip rate of its own, drawn from a
beta distribution with mean 8 % and an intra-image correlation of 0.3. A flip is right to wrong with probability 1/2
where nothing changed, and with 5.5 / 8 for a drop of 3 points. Correlated: with probability one half all flips of an
image go the same way. How many were right at first does not enter, since flips alone make the difference.
"""

import sys
import time
from dataclasses import dataclass
from random import Random
from statistics import fmean

from pytest_vqaeval.stats import detectable_drop, sign_flip_p

FLIP_RATE = 0.08
CORRELATION = 0.3
SIZES = ((200, 20), (1061, 96), (2094, 180))  # samples, images; the last two are SLAKE in English and as a whole


@dataclass(frozen=True)
class Setting:
    samples: int
    images: int
    correlated: bool
    drop: float = 0.0

    def differences(self, random: Random) -> list[int]:
        """Right answers won minus lost, per image."""
        worse = (FLIP_RATE + self.drop) / (2 * FLIP_RATE)
        return [self._difference(size, worse, random) for size in self._cluster_sizes()]

    def _cluster_sizes(self) -> list[int]:
        size, larger = divmod(self.samples, self.images)
        return [size + 1] * larger + [size] * (self.images - larger)

    def _difference(self, size: int, worse: float, random: Random) -> int:
        strength = 1 / CORRELATION - 1
        rate = random.betavariate(FLIP_RATE * strength, (1 - FLIP_RATE) * strength)
        flips = sum(random.random() < rate for _ in range(size))
        if self.correlated and random.random() < 0.5:
            return -flips if random.random() < worse else flips
        return sum(-1 if random.random() < worse else 1 for _ in range(flips))


@dataclass(frozen=True)
class Alarms:
    """Shares of the rounds in which a rule fired, and the mean of the drop that the test said it can see."""

    test: float
    naive: float
    detectable: float


def simulate(setting: Setting, rounds: int, seed: int = 5, alpha: float = 0.05) -> Alarms:
    """Ask the test, and the naive rule "accuracy fell by more than 1 point", in each of `rounds` comparisons."""
    random = Random(seed)
    drawn = [setting.differences(random) for _ in range(rounds)]
    visible = [detectable_drop(differences, setting.samples, alpha) for differences in drawn]
    return Alarms(
        test=fmean(sign_flip_p(differences) <= alpha for differences in drawn),
        naive=fmean(-sum(differences) > 0.01 * setting.samples for differences in drawn),
        detectable=fmean(drop for drop in visible if drop is not None),
    )


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print(f"{rounds:,} rounds, alpha 0.05\n")
    print("samples  images  flips        drop   alarms   'fell by > 1 point'   visible drop   seconds")
    for samples, images in SIZES:
        for correlated in (False, True):
            for drop in (0.0, 0.03):
                start = time.perf_counter()
                alarms = simulate(Setting(samples, images, correlated, drop), rounds)
                flips = "correlated " if correlated else "independent"
                print(
                    f"{samples:7,}  {images:6}  {flips}  {drop:5.1%}  {alarms.test:7.2%}   {alarms.naive:19.2%}"
                    f"   {alarms.detectable:12.2%}   {time.perf_counter() - start:7.1f}"
                )


if __name__ == "__main__":
    main()
