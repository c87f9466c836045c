"""Intervals of shares and ratios: textbook values, symmetry, and how often the truth is inside."""

from math import inf, isclose
from random import Random

import numpy as np
import pytest

from zabcheck.campaign.tables.ratios import of_means, of_rates, share


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        (5, 10, 0.23659, 0.76341),
        (0, 20, 0.0, 0.16113),
        (20, 20, 0.83887, 1.0),
        (81, 263, 0.25530, 0.36619),  # Newcombe 1998, table I
        (15, 148, 0.06239, 0.16050),
        (1, 29, 0.00613, 0.17176),
    ],
)
def test_a_share_has_wilsons_interval(count: int, total: int, low: float, high: float) -> None:
    assert share(count, total) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_of_a_share_of_no_runs_is_0_to_1() -> None:
    assert share(0, 0) == (0.0, 1.0)


def test_the_ratio_of_two_rates_is_the_inverse_of_the_other_way_round() -> None:
    ratio, low, high = of_rates(30, 1000, 10, 2000)
    assert isclose(ratio, 6.0)
    inverse, inverse_low, inverse_high = of_rates(10, 2000, 30, 1000)
    assert (1 / ratio, 1 / high, 1 / low) == pytest.approx((inverse, inverse_low, inverse_high))
    assert 1 < low < ratio < high < inf


def test_what_was_never_seen_bounds_a_ratio_on_one_side() -> None:
    ratio, low, high = of_rates(0, 500, 40, 500)
    assert (ratio, low) == (0.0, 0.0)
    assert 0 < high < 0.2
    ratio, low, high = of_rates(40, 500, 0, 500)
    assert (ratio, high) == (inf, inf)
    assert low > 5
    assert of_rates(0, 500, 0, 900) == (1.0, 0.0, inf)


def test_the_ratio_of_two_rates_is_inside_19_times_of_20() -> None:
    random = np.random.default_rng(1)
    for rate, other, effort, other_effort in ((5, 5, 1, 1), (40, 10, 2, 1), (3, 30, 1, 5)):
        inside = 0
        for _ in range(2000):
            count, count_other = random.poisson(rate * effort), random.poisson(other * other_effort)
            _, low, high = of_rates(int(count), effort, int(count_other), other_effort)
            inside += low <= rate / other <= high
        assert 0.93 <= inside / 2000 <= 0.985


def test_the_ratio_of_two_means_is_inside_19_times_of_20_though_counts_come_in_bunches() -> None:
    random = Random(1)

    def sample(mean: float, runs: int) -> tuple[float, float, int]:
        values = [random.expovariate(1 / mean) * random.choice((0, 2)) for _ in range(runs)]
        return sum(values), sum(value * value for value in values), runs

    inside = sum(low <= 2 <= high for _, low, high in (of_means(*sample(6, 80), sample(3, 120)) for _ in range(1000)))
    assert 0.93 <= inside / 1000 <= 0.97


def test_a_mean_of_nothing_but_zeros_or_of_one_run_tells_no_variance() -> None:
    assert of_means(0, 0, 10, (5, 9, 10)) == (0.0, 0.0, inf)
    assert of_means(5, 9, 10, (0, 0, 10)) == (inf, 0.0, inf)
    assert of_means(0, 0, 10, (0, 0, 10)) == (1.0, 0.0, inf)
    assert of_means(5, 25, 1, (5, 9, 10)) == (10.0, 0.0, inf)
