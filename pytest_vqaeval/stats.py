"""What the numbers of a run are worth: intervals, the paired test of two runs, and small rules of counting.

Standard library only, no random numbers: the same values give the same result. Samples that share a cluster (an image)
are treated as dependent; clusters come as `{cluster: values of its samples}`, and their order does not matter.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, cos, exp, fsum, gcd, log1p, pi, sin, sqrt, tan
from statistics import NormalDist

_FEW_CLUSTERS = 20  # up to here Student's t replaces the normal distribution
_NO_SPREAD = 1e-24  # a variance below is rounding: one of 50,000 values that is off by 0.01 gives 4e-14
_LOG_NEGLIGIBLE = -45.0  # exp of it is 3e-20, far below what a sum of doubles near 1 resolves
_SMALLEST_P = 1e-15  # what the sum behind the sign-flip test resolves
_EXACT_CLUSTERS = 40  # up to here a p-value is rounded to the multiple of 2^-clusters that it is


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, and what it rests on.

    Attributes:
        low: lower bound.
        high: upper bound.
        n: number of samples.
        effective_n: number of independent samples that would say as much; at most `n`.
        clusters: number of clusters with samples; None where clusters were not asked for.
        method: in words, fit to be shown (`Wilson on effective n, t(19)`).
    """

    low: float
    high: float
    n: float
    effective_n: float
    clusters: int | None
    method: str


@dataclass(frozen=True, slots=True)
class _Moments:
    """Mean of clustered values with its cluster-robust variance (0 where there is one cluster)."""

    n: int
    clusters: int
    mean: float
    variance: float

    @property
    def independent(self) -> bool:
        return self.clusters == self.n

    def critical(self, confidence: float) -> tuple[float, str]:
        """The two-sided quantile in standard errors, and the distribution's name ("" for the normal)."""
        degrees = self.clusters - 1
        if 0 < degrees < _FEW_CLUSTERS:
            return t_quantile((1 + confidence) / 2, degrees), f"t({degrees})"
        return normal_quantile((1 + confidence) / 2), ""


def _moments(values_by_cluster: Mapping[str, Sequence[float]], lowest: float = 0.0) -> _Moments:
    """Mean and its variance: G/(G-1) times the sum of squared residual sums per cluster, over n^2.

    This is Liang & Zeger's sandwich (Biometrika 73, 1986) for a mean, as statsmodels' `cov_type="cluster"` has it.

    Raises:
        ValueError: a value is not in `lowest`..1, or not a number.
    """
    groups = [values for values in values_by_cluster.values() if values]
    if not all(lowest <= value <= 1 for values in groups for value in values):
        raise ValueError(f"all values must lie in {lowest:g} to 1")
    n = sum(map(len, groups))
    sums = [fsum(values) for values in groups]
    total = fsum(sums)
    # times n, so that whole numbers stay whole and equal shares leave exactly nothing
    squares = fsum((n * part - total * len(values)) ** 2 for part, values in zip(sums, groups, strict=True))
    few = len(groups) < 2
    variance = 0.0 if few else len(groups) / (len(groups) - 1) * squares / n**4
    return _Moments(n, len(groups), total / n if n else 0.0, variance)


def normal_quantile(probability: float) -> float:
    """The standard normal distribution's quantile."""
    return NormalDist().inv_cdf(probability)


def t_quantile(probability: float, degrees: int) -> float:
    """Student's t quantile for a probability of at least 1/2 and whole degrees of freedom.

    Bisection over the angle whose tangent is t / sqrt(degrees), where the distribution is a finite trigonometric sum
    (Abramowitz & Stegun 1964, 26.7.3 and 26.7.4).
    """
    low, high = 0.0, pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _t_within(middle, degrees) < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return sqrt(degrees) * tan(low)


def _t_within(angle: float, degrees: int) -> float:
    """P(|T| <= sqrt(degrees) tan(angle))."""
    odd = degrees % 2
    term = sin(angle) * (cos(angle) if odd else 1.0)
    total = 0.0
    for k in range(1 + odd, degrees, 2):
        total += term
        term *= cos(angle) ** 2 * k / (k + 1)
    return (angle + total) * 2 / pi if odd else total


def wilson(successes: float, n: float, confidence: float = 0.95) -> Interval | None:
    """The score interval of a proportion (Wilson, JASA 22, 1927); None where `n` is 0.

    Raises:
        ValueError: `successes` is not in 0..`n`.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes:g} successes of {n:g}")
    if not n:
        return None
    low, high = _wilson(successes / n, n, normal_quantile((1 + confidence) / 2))
    return Interval(low, high, n, n, None, "Wilson")


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z / scale * sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    # the bounds at 0 and 1 are exact in theory, and off by a rounding error in floating point
    return (0.0 if share == 0 else max(0.0, centre - half)), (1.0 if share == 1 else min(1.0, centre + half))


def effective_n(values_by_cluster: Mapping[str, Sequence[float]]) -> float:
    """How many independent samples would tell as much about a proportion as these clustered ones.

    p (1 - p) over the cluster-robust variance of p, at most n; n where that variance is 0 and where no two samples
    share a cluster. One cluster of several samples says nothing of how clusters differ: it counts as one sample.

    Raises:
        ValueError: a value is not in 0..1.
    """
    return _effective_n(_moments(values_by_cluster))


def _effective_n(moments: _Moments) -> float:
    if moments.clusters == 1:
        return 1.0
    if moments.independent or not moments.variance:
        return float(moments.n)
    return min(float(moments.n), moments.mean * (1 - moments.mean) / moments.variance)


def proportion_interval(values_by_cluster: Mapping[str, Sequence[float]], confidence: float = 0.95) -> Interval | None:
    """The interval of an accuracy: Wilson's, on the effective n where samples share clusters; None without samples.

    Up to 20 clusters, Student's t with G-1 degrees of freedom takes the normal distribution's place. Intervals on an
    effective n are Korn & Graubard's idea (Survey Methodology 24, 1998), who put it into Clopper & Pearson's.

    Raises:
        ValueError: a value is not in 0..1.
    """
    moments = _moments(values_by_cluster)
    if not moments.n:
        return None
    if moments.independent:
        z, method = normal_quantile((1 + confidence) / 2), "Wilson"
    else:
        z, name = moments.critical(confidence)
        method = "Wilson on effective n" + (name and f", {name}")
    effective = _effective_n(moments)
    low, high = _wilson(moments.mean, effective, z)
    return Interval(low, high, moments.n, effective, moments.clusters, method)


def mean_interval(values_by_cluster: Mapping[str, Sequence[float]], confidence: float = 0.95) -> Interval | None:
    """The interval of a mean of scores in 0..1; None without samples.

    Mean plus or minus the cluster-robust standard error times the normal quantile (Student's t with G-1 degrees of
    freedom up to 20 clusters), cut to 0..1. Where no spread was seen, none is claimed: a share of the samples up to
    Wilson's upper bound for 0 of n could still lie at either end of the scale.

    Raises:
        ValueError: a value is not in 0..1.
    """
    return _mean_interval(values_by_cluster, 0.0, confidence)


def paired_interval(differences_by_cluster: Mapping[str, Sequence[float]], confidence: float = 0.95) -> Interval | None:
    """The interval of the mean difference of two runs on the same samples, by the rules of `mean_interval`.

    Args:
        differences_by_cluster: per sample the new score minus the old one, in -1..1.
        confidence: two-sided.

    Raises:
        ValueError: a difference is not in -1..1.
    """
    return _mean_interval(differences_by_cluster, -1.0, confidence)


def _mean_interval(
    values_by_cluster: Mapping[str, Sequence[float]], lowest: float, confidence: float
) -> Interval | None:
    moments = _moments(values_by_cluster, lowest)
    if not moments.n:
        return None
    mean = moments.mean
    quantile, name = moments.critical(confidence)
    if moments.variance < _NO_SPREAD:
        n = 1.0 if moments.clusters == 1 else float(moments.n)
        unseen = _wilson(0.0, n, quantile)[1]
        low, high = mean - unseen * (mean - lowest), mean + unseen * (1 - mean)
        return Interval(low, high, moments.n, n, moments.clusters, "no spread, Wilson's bound")
    half = quantile * sqrt(moments.variance)
    spread = fsum((value - mean) ** 2 for values in values_by_cluster.values() for value in values) / moments.n
    effective = float(moments.n) if moments.independent else min(float(moments.n), spread / moments.variance)
    method = ("" if moments.independent else "cluster-robust ") + (name or "normal")
    return Interval(max(lowest, mean - half), min(1.0, mean + half), moments.n, effective, moments.clusters, method)


def sign_flip_p(differences: Sequence[int]) -> float:
    """The one-sided p-value of "the new run is worse": the chance of a sum as low as this, or lower, if signs are luck.

    The exact randomisation test for pairs (Fisher, The Design of Experiments, 1935, section 21) over clusters; where
    every cluster is one right-or-wrong sample it is McNemar's exact test. Zeros say nothing and drop out.

    With signs at random, the sum of the positive differences has the generating function prod((1 + x^d) / 2); its
    distribution up to the observed sum is read off by a discrete Fourier transform, in which all but a few frequencies
    vanish. Convolution gives the same numbers, but takes 10 s for 10,000 graded samples where this takes 0.2 s.

    Args:
        differences: per cluster, the sum of new minus old over its samples, in whole units (1 for right or wrong,
            hundredths for graded scores).

    Returns:
        A multiple of 2^-clusters, exactly, up to 40 clusters that moved; above, right to 1e-14 and never below 1e-15.
    """
    unit = gcd(*differences)
    if not unit:
        return 1.0
    sizes = Counter(abs(difference) // unit for difference in differences if difference).most_common()
    gained = sum(difference for difference in differences if difference > 0) // unit
    clusters = sum(count for _, count in sizes)
    p = _share_up_to(gained, sizes)
    if clusters <= _EXACT_CLUSTERS:
        return round(p * (1 << clusters)) / (1 << clusters)
    return min(1.0, max(_SMALLEST_P, p))


def _share_up_to(most: int, sizes: Sequence[tuple[int, int]]) -> float:
    """P(sum of a random half of the clusters <= most), for `sizes` as (size, number of clusters of that size).

    Factor (1 + e^(2 i a)) / 2 is cos(a) e^(i a) with a = pi residue / period. Angles are kept as whole residues and
    moduli as logarithms, so that a factor's 50,000th power is as accurate as its first.
    """
    period = sum(size * count for size, count in sizes) + 1 | 1  # odd, so that no cosine is 0
    half = period // 2
    log_cos = [log1p(-2 * sin(pi * residue / (2 * period)) ** 2) for residue in range(half + 1)]
    terms = [most + 1.0]
    for frequency in range(1, half + 1):
        log_modulus, turn = 0.0, -frequency * most
        for size, count in sizes:
            residue = (frequency * size + half) % period - half
            log_modulus += count * log_cos[abs(residue)]
            if log_modulus < _LOG_NEGLIGIBLE:
                break
            turn += count * residue
        else:
            wave = cos(pi * (turn % (2 * period)) / period)
            window = sin(pi * (frequency * (most + 1) % (2 * period)) / period) / sin(pi * frequency / period)
            terms.append(2 * exp(log_modulus) * wave * window)
    return fsum(terms) / period


def least_moved(alpha: float) -> int:
    """How many clusters must move for a p-value of `alpha` or less: the smallest of n clusters is 2^-n."""
    return next(n for n in itertools.count(1) if 0.5**n <= alpha)


def detectable_drop(
    differences: Sequence[int], samples: int, alpha: float = 0.05, power: float = 0.8, unit: float = 1.0
) -> float | None:
    """The smallest drop of the mean score that `sign_flip_p` finds with probability `power`, given what moved here.

    (z(1 - alpha) + z(power)) times the standard deviation sqrt(sum D^2) that the sum has if signs are luck; where less
    moved, as if one sample in each of as many clusters had that `alpha` takes.

    Args:
        differences: as for `sign_flip_p`, one for each cluster, moved or not.
        samples: how many samples were compared.
        alpha: the level of the test.
        power: the probability of an alarm at that drop.
        unit: the score that a difference of 1 stands for (0.01 for hundredths).

    Returns:
        The drop in 0..1, never 0; None where there are too few clusters for any p-value to reach `alpha`, or where no
        drop is large enough: the test is inconclusive.
    """
    least = least_moved(alpha)
    if len(differences) < least:
        return None
    squares = max(sum(difference * difference for difference in differences) * unit**2, least)
    drop = (normal_quantile(1 - alpha) + normal_quantile(power)) * sqrt(squares) / samples
    return drop if drop <= 1 else None


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given (Holm, Scandinavian Journal of Statistics 6, 1979).

    Raises:
        ValueError: a p-value is not in 0..1.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("all p-values must lie in 0 to 1")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that one of `k` replies is right, from `n` replies of which `c` are: 1 - C(n-c, k) / C(n, k).

    The unbiased estimator of Chen et al., "Evaluating Large Language Models Trained on Code" (2021), section 2.1.

    Raises:
        ValueError: not 0 <= c <= n, or not 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} of {n} replies, {c} right")
    return 1 - comb(n - c, k) / comb(n, k)


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value below which `share` (0..1) of the values lie, with linear interpolation; None without values.

    Definition 7 of Hyndman & Fan (The American Statistician 50, 1996), as in numpy.
    """
    if not values:
        return None
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Agreement of two judges beyond what chance gives: (p_o - p_e) / (1 - p_e).

    p_o is the share of pairs that agree, p_e the one expected of two judges who are independent and give each verdict
    as often as these did. J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    Measurement 20(1), 1960, formula 1.

    Returns:
        At most 1; None without pairs, or where both judges gave the same verdict throughout (p_e is 1).
    """
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    agreeing = sum(a == b for a, b in pairs)
    expected = sum(count * second[verdict] for verdict, count in first.items())  # times n^2
    return None if expected == n * n else (n * agreeing - expected) / (n * n - expected)
