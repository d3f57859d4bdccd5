"""Losses over numbers, with their Bayes actions in closed form.

Notation: a action, y outcome, d = a − y (positive when over), (x)₊ = max(x, 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.decisions.laws import law
from credo.decisions.losses.base import Loss, aligned, finite, numbers
from credo.diagnostics.views import shape
from credo.errors import ParameterError

__all__ = ["Square", "Absolute", "Pinball", "Linear", "Linex"]


@dataclass(frozen=True)
class Square(Loss):
    """d². The Bayes action is the mean; its expected loss is the variance.

    Raises `NumericalError` where the mean (for `act`) or the variance (for `expected`) does not exist.

    >>> import credo as cr
    >>> Square().act(cr.Normal(2.0, 3.0)).item(), Square().expected(cr.Normal(2.0, 3.0), 3.0).item()
    (2.0, 10.0)
    """

    def __call__(self, action: Any, y: Any) -> np.ndarray:
        return np.square(numbers("Square", action) - numbers("Square", y, "y"))

    def act(self, predictive: Any) -> np.ndarray:
        return finite("Square", law(predictive).moments()[0], "the mean")

    def expected(self, predictive: Any, actions: Any) -> np.ndarray:
        mean, variance = law(predictive).moments()
        a = aligned("Square", numbers("Square", actions), mean.shape)
        return finite("Square", variance + np.square(a - mean), "the expected loss")


@dataclass(frozen=True)
class _Sided(Loss):
    """under (y − a)₊ + over (a − y)₊ for the two slopes of a subclass."""

    def _slopes(self) -> tuple[float, float]:
        raise NotImplementedError

    def __call__(self, action: Any, y: Any) -> np.ndarray:
        owner, (over, under) = type(self).__name__, self._slopes()
        d = numbers(owner, action) - numbers(owner, y, "y")
        return np.where(d > 0, over * d, -under * d)

    def act(self, predictive: Any) -> np.ndarray:
        over, under = self._slopes()
        level = under / (over + under)
        return finite(type(self).__name__, law(predictive).quantile(level), f"the {level:g}-quantile")

    def expected(self, predictive: Any, actions: Any) -> np.ndarray:
        owner, (over, under) = type(self).__name__, self._slopes()
        outcome, a = law(predictive), aligned(owner, numbers(owner, actions), shape(predictive))
        excess = outcome.excess(a)
        shortfall = np.maximum(excess + a - outcome.mean, 0.0)  # E(a − Y)₊; rounding may take a zero below
        return finite(owner, under * excess + over * shortfall, "the expected loss")


@dataclass(frozen=True)
class Absolute(_Sided):
    """|d|. The Bayes action is the median (draws and counts: the lower of two).

    >>> import credo as cr
    >>> Absolute().act(cr.Normal([1.0, 2.0], 1.0)).tolist()
    [1.0, 2.0]
    """

    def _slopes(self) -> tuple[float, float]:
        return 1.0, 1.0


@dataclass(frozen=True)
class Pinball(_Sided):
    """q (y − a)₊ + (1 − q)(a − y)₊. The Bayes action is the q-quantile.

    q : in (0, 1), exclusive

    >>> import credo as cr
    >>> Pinball(0.9).act(cr.Normal(0.0, 1.0)).round(4).item()
    1.2816
    """

    q: float

    def __post_init__(self) -> None:
        if not np.ndim(self.q) == 0 or not 0.0 < self.q < 1.0:
            raise ParameterError("Pinball", "q", "a number between 0 and 1 (exclusive)", self.q)

    def _slopes(self) -> tuple[float, float]:
        return 1.0 - self.q, float(self.q)


@dataclass(frozen=True)
class Linear(_Sided):
    """over (a − y)₊ + under (y − a)₊: costs per unit of overshoot and of shortfall (the newsvendor's loss).

    The Bayes action is the under/(over + under)-quantile.

    over, under : finite, ≥ 0, not both 0 (every action would be best). With one of them 0 the best action is
        the end of the outcome's range; `act` raises `NumericalError` where that is infinite.

    >>> import credo as cr
    >>> Linear(over=1, under=9).act(cr.Normal(100.0, 10.0)).round(3).item()
    112.816
    """

    over: float
    under: float

    def __post_init__(self) -> None:
        for name in ("over", "under"):
            value = getattr(self, name)
            if np.ndim(value) or not np.isfinite(value) or value < 0:
                raise ParameterError("Linear", name, "a finite number ≥ 0", value)
        if self.over + self.under <= 0:
            raise ParameterError(
                "Linear", "over", "> 0 when under is 0", self.over, "With both costs 0 every action is best."
            )

    def _slopes(self) -> tuple[float, float]:
        return float(self.over), float(self.under)


@dataclass(frozen=True)
class Linex(Loss):
    """exp(a d) − a d − 1, d = action − y: for a > 0 overshoot costs exponentially, shortfall linearly.

    The Bayes action is −(1/a) log E exp(−a Y): for a Normal μ − a σ²/2. Student-t tails make the expected
    loss infinite: `NumericalError`.

    a : finite, not 0 (a < 0 swaps the sides; 0 is no loss at all)

    Reference: Varian (1975); Zellner, JASA 81 (1986) 446-451.

    >>> import credo as cr
    >>> Linex(0.5).act(cr.Normal(2.0, 2.0)).item()
    1.0
    """

    a: float

    def __post_init__(self) -> None:
        if np.ndim(self.a) or not np.isfinite(self.a) or self.a == 0:
            raise ParameterError("Linex", "a", "a finite number, not 0", self.a)

    def __call__(self, action: Any, y: Any) -> np.ndarray:
        return _exp_beyond_linear(self.a * (numbers("Linex", action) - numbers("Linex", y, "y")))

    def act(self, predictive: Any) -> np.ndarray:
        outcome = law(predictive)
        return finite("Linex", outcome.mean - outcome.cumulant(-self.a) / self.a, "E exp(−aY)")

    def expected(self, predictive: Any, actions: Any) -> np.ndarray:
        outcome = law(predictive)
        cumulant = outcome.cumulant(-self.a)
        # exp(s) − a(â − μ) − 1 with s = a(â − μ) + cumulant, ordered so that small losses keep their digits.
        a = aligned("Linex", numbers("Linex", actions), shape(predictive))
        s = self.a * (a - outcome.mean) + cumulant
        return finite("Linex", _exp_beyond_linear(s) + cumulant, "the expected loss")


def _exp_beyond_linear(z: np.ndarray) -> np.ndarray:
    """exp(z) − z − 1 ≥ 0; by seven terms of its series for |z| < 0.02, where the difference would cancel."""
    small = np.clip(z, -0.02, 0.02)
    series = np.square(small) * np.polyval([1 / 40320, 1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2], small)
    with np.errstate(over="ignore"):
        return np.where(np.abs(z) < 0.02, series, np.expm1(z) - z)
