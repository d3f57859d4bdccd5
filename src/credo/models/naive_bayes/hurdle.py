"""Amounts of which some are nothing: 0 with a probability, else log-normal, given the class.

p(x | c) = (1 − π_c) of x = 0, π_c LogNormal(x; μ_c, σ²_c) of x > 0;  π_c ~ Beta(1, 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from credo.errors import DataError
from credo.models.generative.family import Belief, Family, Moments
from credo.models.generative.memberships import Memberships
from credo.models.naive_bayes.counts import BernoulliFamily, ClassSums
from credo.models.naive_bayes.gaussian_family import ClassMoments, GaussianFamily
from credo.saving.registry import register

__all__ = ["HurdleFamily"]


@register
@dataclass(frozen=True, eq=False)
class HurdleStatistics:
    """Of whether cells are above 0, and of the logarithms of those that are."""

    above: ClassSums
    amount: ClassMoments

    def merge(self, other: Self) -> Self:
        return type(self)(self.above.merge(other.above), self.amount.merge(other.amount))


def _split(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(1 where above 0, the amounts there), both NaN where missing."""
    bad = np.argwhere(cells < 0.0)
    if len(bad):
        row, column = bad[0]
        raise DataError(
            f"A hurdle column holds {cells[row, column]} in row {row} of its block; its cells must be ≥ 0.",
            value=float(cells[row, column]),
            rows=bad[:20, 0].tolist(),
            remedy="Choose the family 'gaussian' for it.",
        )
    above = np.where(np.isnan(cells), np.nan, (cells > 0.0).astype(np.float64))
    return above, np.where(cells > 0.0, cells, np.nan)


@register
@dataclass(frozen=True, eq=False)
class HurdleFamily(Family):
    """`amount`: the family of what is above 0."""

    amount: GaussianFamily

    name = "hurdle"

    def _above(self, d: int) -> BernoulliFamily:
        return BernoulliFamily(np.ones(d), np.ones(d))

    def accumulate(self, cells: np.ndarray, rows: Memberships) -> HurdleStatistics:
        above, amounts = _split(cells)
        return HurdleStatistics(ClassSums.accumulate(above, rows), self.amount.accumulate(amounts, rows))

    def finalize(self, statistics: HurdleStatistics, class_weight: np.ndarray) -> HurdleBelief:
        d = statistics.amount.mean.shape[1]
        return HurdleBelief(
            self._above(d).finalize(statistics.above, class_weight),
            self.amount.finalize(statistics.amount, class_weight),
        )


@register
@dataclass(frozen=True, eq=False)
class HurdleBelief(Belief):
    """Beliefs about the share above 0 and about the amounts, independent of each other."""

    above: Any
    amount: Any

    def _sum(self, method: str, cells: np.ndarray) -> np.ndarray:
        above, amounts = _split(cells)
        return getattr(self.above, method)(above) + getattr(self.amount, method)(amounts)

    def log_plug(self, cells: np.ndarray) -> np.ndarray:
        return self._sum("log_plug", cells)

    def log_predictive(self, cells: np.ndarray) -> np.ndarray:
        return self._sum("log_predictive", cells)

    def log_em(self, cells: np.ndarray) -> np.ndarray:
        return self._sum("log_em", cells)

    def log_penalty(self) -> float:
        return self.above.log_penalty() + self.amount.log_penalty()

    def moments(self, cells: np.ndarray) -> Moments:
        above, amounts = _split(cells)
        return self.above.moments(above).plus(self.amount.moments(amounts))

    def draw(self, rng: np.random.Generator) -> HurdleBelief:
        return HurdleBelief(self.above.draw(rng), self.amount.draw(rng))

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        above = self.above.sample(codes, rng, integrated=integrated)
        return np.where(above > 0.0, self.amount.sample(codes, rng, integrated=integrated), 0.0)
