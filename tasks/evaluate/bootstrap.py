"""Bootstrap: confidence intervals of a mean, or of a difference of means, by resampling the questions.

Source: Smucker, Allan and Carterette, A comparison of statistical significance tests for information retrieval
evaluation, CIKM 2007.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_RESAMPLES = 10_000
"""Resamplings: the 2.5th percentile rests on 250 of them. With fewer, another seed would move the bounds."""
_SEED = 20_070_906
"""Any number: a fixed seed makes intervals depend only on the values."""
_AT_ONCE = 1_000
"""Resamplings in memory at once, one row of questions each."""
_BOUNDS = (0.025, 0.975)
"""Quantiles of the resampled means that enclose 95 of 100."""
FEWEST = 6
"""Minimum number of questions for significance: 5 agree by chance in 6 of 100 cases (sign test)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over questions with its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Return the meaning of a difference with this interval."""
        if self.low <= 0 <= self.high:
            return "indistinguishable"
        return "better" if self.mean > 0 else "worse"


def enough_questions(change: Interval, count: int) -> int | None:
    """Return about how many questions would make a gain significant, if it stays as it is over `count` of them.

    The width of an interval falls with the square root of the number. None if there is no gain.
    """
    width = change.mean - change.low
    return max(FEWEST, math.ceil(count * (width / change.mean) ** 2)) if change.mean > 0 else None


def interval(values: Mapping[str, float]) -> Interval:
    """Return the mean of a measure over questions; the same values always give the same interval."""
    numbers = np.array([values[key] for key in sorted(values)], dtype=np.float64)
    low, high = np.quantile(_means(numbers, np.random.default_rng(_SEED)), _BOUNDS)
    return Interval(float(numbers.mean()), float(low), float(high))


def _means(numbers: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return np.concatenate(
        [
            numbers[rng.integers(0, len(numbers), (_AT_ONCE, len(numbers)))].mean(axis=1)
            for _ in range(_RESAMPLES // _AT_ONCE)
        ]
    )


def gap(values: Sequence[float], others: Sequence[float], comparisons: int = 1) -> Interval:
    """Return the difference between the means of two disjoint groups of questions.

    The interval is wider for the worst of several groups, so that it holds for all `comparisons` at once (Bonferroni).
    """
    rng = np.random.default_rng(_SEED)
    one, other = (np.array(sorted(some), dtype=np.float64) for some in (values, others))
    resampled = _means(one, rng) - _means(other, rng)
    low, high = np.quantile(resampled, (_BOUNDS[0] / comparisons, 1 - _BOUNDS[0] / comparisons))
    return Interval(float(one.mean() - other.mean()), float(low), float(high))


def difference(values: Mapping[str, float], others: Mapping[str, float]) -> Interval:
    """Return the mean paired difference of a measure over the same questions.

    With fewer than 6 questions, the interval always contains 0.
    """
    found = interval({key: value - others[key] for key, value in values.items()})
    if len(values) >= FEWEST:
        return found
    return Interval(found.mean, min(found.low, 0.0), max(found.high, 0.0))
