import itertools
import operator
import random
from math import inf, nan, sqrt

import numpy
import pytest
import scipy.stats

from pytest_vqaeval.stats import (
    detectable_drop,
    effective_n,
    holm,
    least_moved,
    mean_interval,
    paired_interval,
    pass_at_k,
    proportion_interval,
    quantile,
    sign_flip_p,
    t_quantile,
    wilson,
)
from tests.perf.false_alarms import Setting, simulate

CLUSTERS = {"a": [1, 1, 0], "b": [1, 1, 1, 1], "c": [0, 0], "d": [1], "e": [1, 0, 1, 1, 1]}
# statsmodels 0.14: OLS(values, ones).fit(cov_type="cluster", cov_kwds={"groups": ...}).cov_params()
CLUSTERS_VARIANCE = 0.019506172839506175


def singletons(values):
    return {str(number): [value] for number, value in enumerate(values)}


def spread_over(clusters, values):
    """`values` dealt out to `clusters` clusters like cards."""
    return {str(number): values[number::clusters] for number in range(clusters)}


# --- intervals


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (849, 1061), (50_000, 50_000)])
def test_wilson_is_scipys(k, n, confidence):
    expected = scipy.stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    interval = wilson(k, n, confidence)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (interval.n, interval.effective_n, interval.clusters, interval.method) == (n, n, None, "Wilson")


def test_wilson_ends_exactly_at_the_ends_of_the_scale():
    for n in range(1, 500):
        assert wilson(0, n).low == 0
        assert wilson(n, n).high == 1


def test_wilson_of_nothing_is_none():
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3), (nan, 3), (1, nan)])
def test_wilson_refuses_impossible_counts(successes, n):
    with pytest.raises(ValueError):
        wilson(successes, n)


@pytest.mark.parametrize("degrees", range(1, 31))
@pytest.mark.parametrize("probability", [0.5, 0.6, 0.9, 0.975, 0.995, 0.9995])
def test_t_quantile_is_scipys(probability, degrees):
    expected = scipy.stats.t.ppf(probability, degrees)
    assert t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_effective_n_rests_on_the_cluster_robust_variance():
    assert effective_n(CLUSTERS) == pytest.approx(11 / 15 * 4 / 15 / CLUSTERS_VARIANCE, rel=1e-12)


@pytest.mark.parametrize(
    ("clusters", "expected"),
    [
        pytest.param({}, 0, id="nothing"),
        pytest.param({"a": []}, 0, id="a cluster without samples"),
        pytest.param(singletons([1, 0, 1, 1]), 4, id="no two samples share a cluster"),
        pytest.param({"a": [1, 0, 1]}, 1, id="one cluster"),
        pytest.param({"a": [1]}, 1, id="one sample"),
        pytest.param({"a": [1, 1], "b": [1, 1, 1]}, 5, id="all right"),
        pytest.param({"a": [0, 0], "b": [0, 0, 0]}, 5, id="all wrong"),
        pytest.param({"a": [1, 0, 0], "b": [0, 0, 1]}, 6, id="no variance between clusters"),
        pytest.param({"a": [1, 0, 1], "b": [1, 0], "c": [0, 1]}, 7, id="never more than n"),
        pytest.param({"a": [1] * 9, "b": [0] * 9}, 1, id="clusters of one mind"),
    ],
)
def test_effective_n_at_the_edges(clusters, expected):
    assert effective_n(clusters) == expected


def test_proportion_of_few_clusters_takes_student_t():
    n, z = 11 / 15 * 4 / 15 / CLUSTERS_VARIANCE, scipy.stats.t.ppf(0.975, 4)
    centre, half = 11 / 15 + z * z / (2 * n), z * sqrt(11 / 15 * 4 / 15 / n + (z / (2 * n)) ** 2)
    interval = proportion_interval(CLUSTERS)
    assert (interval.low, interval.high) == pytest.approx(
        ((centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)), abs=1e-12
    )
    assert (interval.n, interval.effective_n, interval.clusters) == (15, pytest.approx(n), 5)
    assert interval.method == "Wilson on effective n, t(4)"


def test_student_t_ends_after_twenty_clusters():
    values = [1, 1, 0, 1, 1, 1, 0, 0, 1] * 10
    assert proportion_interval(spread_over(20, values)).method == "Wilson on effective n, t(19)"
    clusters = spread_over(21, values)
    interval = proportion_interval(clusters)
    assert interval.method == "Wilson on effective n"
    normal = wilson(60 / 90 * effective_n(clusters), effective_n(clusters))
    assert (interval.low, interval.high) == pytest.approx((normal.low, normal.high), abs=1e-12)


def test_independent_samples_have_the_plain_wilson_interval():
    interval, plain = proportion_interval(singletons([1, 0, 1, 1, 0])), wilson(3, 5)
    assert (interval.low, interval.high, interval.method) == (plain.low, plain.high, "Wilson")
    assert interval.clusters == 5


@pytest.mark.parametrize("interval_of", [proportion_interval, mean_interval, paired_interval])
def test_interval_of_nothing_is_none(interval_of):
    assert interval_of({}) is None
    assert interval_of({"a": []}) is None


@pytest.mark.parametrize("interval_of", [proportion_interval, mean_interval])
def test_interval_does_not_depend_on_the_order(interval_of):
    backwards = {name: values[::-1] for name, values in reversed(CLUSTERS.items())}
    assert interval_of(backwards) == interval_of(CLUSTERS)


def test_graded_scores_do_not_depend_on_the_order_to_the_last_bit():
    draw = random.Random(4)
    clusters = {str(number): [draw.random() for _ in range(30)] for number in range(30)}
    backwards = {name: values[::-1] for name, values in reversed(clusters.items())}
    assert mean_interval(backwards) == mean_interval(clusters)


@pytest.mark.parametrize("value", [nan, inf, -0.01, 1.01])
@pytest.mark.parametrize("interval_of", [effective_n, proportion_interval, mean_interval])
def test_scores_outside_the_scale_are_refused(interval_of, value):
    with pytest.raises(ValueError, match="0 to 1"):
        interval_of({"a": [1, value], "b": [0, 1]})


@pytest.mark.parametrize("interval_of", [proportion_interval, mean_interval])
def test_certainty_is_not_claimed_where_all_are_right_or_all_wrong(interval_of):
    right, wrong = interval_of(singletons([1] * 30)), interval_of(singletons([0] * 30))
    assert (right.low, right.high) == pytest.approx((wilson(30, 30).low, 1))
    assert (wrong.low, wrong.high) == pytest.approx((0, wilson(0, 30).high))


def test_one_cluster_is_worth_one_sample():
    proportion = proportion_interval({"a": [1] * 50})
    assert (proportion.low, proportion.high) == (wilson(1, 1).low, 1)
    mean = mean_interval({"a": [0.2, 0.6]})
    assert mean.low == pytest.approx(0.4 - 0.4 * wilson(0, 1).high)
    assert mean.high == pytest.approx(0.4 + 0.6 * wilson(0, 1).high)
    assert mean.effective_n == 1


def test_mean_of_independent_scores_is_the_textbook_interval():
    scores = [0.11, 0.35, 0.2, 0.64, 0.5]
    low, high = scipy.stats.t.interval(0.95, 4, numpy.mean(scores), scipy.stats.sem(scores))
    interval = mean_interval(singletons(scores))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-10)
    assert (interval.n, interval.effective_n, interval.clusters, interval.method) == (5, 5, 5, "t(4)")


def test_mean_of_clustered_scores():
    half = scipy.stats.t.ppf(0.9, 4) * sqrt(CLUSTERS_VARIANCE)
    interval = mean_interval(CLUSTERS, 0.8)
    assert (interval.low, interval.high) == pytest.approx((11 / 15 - half, 11 / 15 + half), abs=1e-10)
    assert (interval.effective_n, interval.method) == (pytest.approx(effective_n(CLUSTERS)), "cluster-robust t(4)")


def test_mean_interval_stays_on_the_scale():
    assert mean_interval({"a": [1, 1], "b": [1, 0.2], "c": [1, 1]}).high == 1
    assert paired_interval({"a": [-1, -1], "b": [-1, 0.2], "c": [-1, -1]}).low == -1


def test_mean_without_spread_leaves_room_for_what_was_not_seen():
    interval = mean_interval({"a": [0.7] * 3, "b": [0.7] * 7, "c": [0.7] * 20})
    assert interval.low < 0.7 < interval.high
    assert interval.method == "no spread, Wilson's bound"


def test_paired_interval_may_be_negative():
    differences = [-1, 0, 0, -1, 1, 0, -1, 0]
    low, high = scipy.stats.t.interval(0.95, 7, numpy.mean(differences), scipy.stats.sem(differences))
    interval = paired_interval(singletons(differences))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-10)


def test_two_equal_runs_differ_by_nothing_or_by_what_was_not_seen():
    interval = paired_interval(singletons([0] * 100))
    assert (-interval.low, interval.high) == pytest.approx((wilson(0, 100).high,) * 2)


def test_paired_interval_refuses_more_than_the_scale():
    with pytest.raises(ValueError, match="-1 to 1"):
        paired_interval({"a": [-1.5]})


# --- two runs


def enumerated_p(differences):
    """The definition: every way to set the signs."""
    sizes = [abs(difference) for difference in differences]
    signs = itertools.product((1, -1), repeat=len(sizes))
    sums = [sum(map(operator.mul, row, sizes)) for row in signs]
    return sum(total <= sum(differences) for total in sums) / len(sums)


def test_sign_flip_is_full_enumeration_exactly():
    draw = random.Random(1)
    for clusters in list(range(1, 13)) * 8:
        largest = draw.choice([1, 3, 9, 250])
        differences = [draw.randint(-largest, largest) for _ in range(clusters)]
        assert sign_flip_p(differences) == enumerated_p(differences), differences


@pytest.mark.parametrize("n", [1, 2, 40, 41, 85, 1061, 4000, 50_000])
def test_sign_flip_of_singletons_is_exact_mcnemar(n):
    for better in {0, n // 3, int(n / 2 - sqrt(n)), n // 2, n} - {-1}:
        expected = scipy.stats.binomtest(better, n, alternative="less").pvalue
        assert sign_flip_p([1] * better + [-1] * (n - better)) == pytest.approx(expected, abs=1e-12, rel=0)


def convolved_p(differences):
    """The null distribution in whole numbers, one cluster at a time."""
    counts = {0: 1}
    for size in map(abs, differences):
        grown = {}
        for total, ways in counts.items():
            grown[total + size] = grown.get(total + size, 0) + ways
            grown[total - size] = grown.get(total - size, 0) + ways
        counts = grown
    return sum(ways for total, ways in counts.items() if total <= sum(differences)) / 2 ** len(differences)


@pytest.mark.parametrize(("clusters", "largest"), [(41, 5), (96, 8), (180, 12), (120, 100)])
def test_sign_flip_of_many_clusters_is_the_convolution(clusters, largest):
    draw = random.Random(clusters)
    for _ in range(3):
        differences = [draw.randint(-largest, largest) for _ in range(clusters)]
        assert sign_flip_p(differences) == pytest.approx(convolved_p(differences), abs=1e-13, rel=0)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([], 1),
        ([0, 0, 0], 1),
        ([-1], 0.5),
        ([1], 1),
        ([-1, -1, -1, -1, -1], 1 / 32),
        ([-1, 1], 0.75),  # equality counts: only "both better" is higher
        ([-3, 1, 1, 1], 9 / 16),
    ],
)
def test_sign_flip_by_hand(differences, p):
    assert sign_flip_p(differences) == p


def test_zeros_and_units_change_nothing():
    differences = [-4, 2, -2, 6, -2, -8, 2]
    assert sign_flip_p([0, *differences, 0, 0]) == sign_flip_p(differences)
    assert sign_flip_p([50 * difference for difference in differences]) == sign_flip_p(differences)


def test_a_landslide_has_a_p_value_above_zero():
    assert 0 < sign_flip_p([-1] * 300) <= 1e-14
    assert sign_flip_p([1] * 300) == 1


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1, 1]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@pytest.mark.parametrize("p", [nan, -0.1, 1.1])
def test_holm_refuses_what_is_no_p_value(p):
    with pytest.raises(ValueError):
        holm([0.1, p])


def test_detectable_drop_by_hand():
    # 16 clusters lost or won 1, 4 clusters 2: deviation sqrt(32)
    differences = [1, -1] * 8 + [2, -2] * 2 + [0] * 30
    assert detectable_drop(differences, 400) == pytest.approx((1.6448536 + 0.8416212) * sqrt(32) / 400)
    in_hundredths = [100 * difference for difference in differences]
    assert detectable_drop(in_hundredths, 400, unit=0.01) == pytest.approx(detectable_drop(differences, 400))


def test_a_drop_is_not_detectable_where_no_p_value_can_reach_alpha():
    assert detectable_drop([], 100) is None
    assert detectable_drop([0] * 4, 100) is None
    assert detectable_drop([1] * 4, 100) is None
    assert detectable_drop([1] * 5, 100) is not None
    assert detectable_drop([1] * 5, 100, alpha=0.01) is None
    assert detectable_drop([1] * 5, 5) is None, "all five wrong would not do"


def test_the_detectable_drop_is_never_0():
    five = detectable_drop([1] * 5 + [0] * 45, 100)
    for moved in range(5):
        assert detectable_drop([1] * moved + [0] * (50 - moved), 100) == five > 0.05


@pytest.mark.parametrize(("alpha", "clusters"), [(0.5, 1), (0.05, 5), (1 / 32, 5), (0.03, 6), (0.01, 7)])
def test_least_moved(alpha, clusters):
    assert least_moved(alpha) == clusters
    assert sign_flip_p([-1] * clusters) <= alpha < sign_flip_p([-1] * (clusters - 1))


# --- simulations; tests/perf/false_alarms.py prints the whole table, with more rounds

ROUNDS = 500
FOUR_ERRORS = 4 * sqrt(0.05 * 0.95 / ROUNDS)


@pytest.mark.parametrize("correlated", [False, True], ids=["independent", "correlated"])
@pytest.mark.parametrize(("samples", "images"), [(200, 20), (1061, 96), (2094, 180)])
def test_alarms_without_a_change_are_as_rare_as_advertised(samples, images, correlated):
    alarms = simulate(Setting(samples, images, correlated), ROUNDS)
    assert 0 < alarms.test < 0.05 + FOUR_ERRORS


@pytest.mark.parametrize(("correlated", "power"), [(False, 0.85), (True, 0.60)], ids=["independent", "correlated"])
def test_a_drop_of_three_points_is_seen(correlated, power):
    assert simulate(Setting(1061, 96, correlated, drop=0.03), ROUNDS).test >= power


@pytest.mark.parametrize(("correlated", "drop"), [(False, 0.0245), (True, 0.0375)], ids=["independent", "correlated"])
def test_the_detectable_drop_is_found_four_times_in_five(correlated, drop):
    alarms = simulate(Setting(1061, 96, correlated, drop), ROUNDS)
    assert alarms.detectable == pytest.approx(drop, abs=0.001)
    assert alarms.test == pytest.approx(0.8, abs=0.05)


# --- small rules


@pytest.mark.parametrize(("n", "c", "k"), [(5, 2, 1), (5, 2, 3), (5, 4, 3), (6, 0, 6), (6, 6, 1), (4, 3, 4)])
def test_pass_at_k_is_the_share_of_draws_with_a_right_reply(n, c, k):
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-15)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_pass_at_k_refuses_impossible_counts(n, c, k):
    with pytest.raises(ValueError):
        pass_at_k(n, c, k)


@pytest.mark.parametrize("share", [0, 0.5, 0.9, 0.95, 0.99, 1])
@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_quantile_is_numpys(count, share):
    draw = random.Random(count)
    values = [draw.expovariate(1) for _ in range(count)]
    assert quantile(values, share) == pytest.approx(numpy.quantile(values, share), rel=1e-12)


def test_quantile_of_nothing_is_none():
    assert quantile([], 0.5) is None
