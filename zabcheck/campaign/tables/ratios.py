"""Shares and ratios with their 95 % confidence intervals.

Detections are counts of rare, independent events: the detections with a fault and those without are two Poisson counts.
Given their sum, the first count is binomial, and its share compares the rates (Przyborowski, Wilenski:
"Homogeneity of results in testing samples from Poisson series", Biometrika 1940). Wilson's interval for that share
(JASA 1927) is good for small counts and for zero, where the normal interval of the logarithm is not even defined.

New states come in bunches, so their counts vary more than Poisson counts do. For them the ratio of two means is taken,
with the observed variance, and with a normal interval for the logarithm of the ratio (delta method).
"""

from math import exp, inf, sqrt

Z = 1.959963984540054
"""95 % of the standard normal distribution lie between -Z and Z."""


def share(count: int, total: int) -> tuple[float, float]:
    """Return Wilson's interval for the share that `count / total` estimates; (0, 1) if `total` is 0."""
    if total == 0:
        return 0.0, 1.0
    middle = (count + Z * Z / 2) / (total + Z * Z)
    half = Z / (total + Z * Z) * sqrt(count * (total - count) / total + Z * Z / 4)
    low = 0.0 if count == 0 else middle - half
    high = 1.0 if count == total else middle + half
    return low, high


def of_rates(count: int, effort: float, other: int, other_effort: float) -> tuple[float, float, float]:
    """Return the ratio of `count / effort` to `other / other_effort`, and its interval. Neither effort may be 0.

    If both counts are 0, nothing is known: the ratio is 1, from 0 to infinity.
    """
    if count + other == 0:
        return 1.0, 0.0, inf
    scale = other_effort / effort
    low, high = share(count, count + other)
    return scale * _odds(count / (count + other)), scale * _odds(low), scale * _odds(high)


def of_means(total: float, squares: float, runs: int, other: tuple[float, float, int]) -> tuple[float, float, float]:
    """Return the ratio of two means, and its interval.

    Each sample is given by its sum, its sum of squares and its size, which may not be 0. If a mean is 0, or comes
    from a single run, the variance is unknown, so the interval is from 0 to infinity.
    """
    mean, mean_other = total / runs, other[0] / other[2]
    if mean_other == 0:
        return (1.0 if mean == 0 else inf), 0.0, inf
    ratio = mean / mean_other
    if mean == 0 or runs < 2 or other[2] < 2:
        return ratio, 0.0, inf
    error = sqrt(_relative_variance(total, squares, runs) + _relative_variance(*other))
    return ratio, ratio * exp(-Z * error), ratio * exp(Z * error)


def _relative_variance(total: float, squares: float, runs: int) -> float:
    """Return the variance of a sample's mean, divided by the square of the mean."""
    mean = total / runs
    return max(0.0, squares - runs * mean * mean) / (runs - 1) / runs / (mean * mean)


def _odds(part: float) -> float:
    return inf if part >= 1 else part / (1 - part)
