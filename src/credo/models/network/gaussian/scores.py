"""Scores of families of real numbers: what a search for arrows maximises, in nats, higher is better.

All hang on the rows through n and the scatter S = Σ (x − x̄)(x − x̄)ᵀ alone. With r what p parents leave of a node's
own scatter:

log-likelihood   −n/2 (log(2π r/n) + 1)
AIC, BIC         the same − k, − (k/2) log n, with k = p + 2 (intercept, coefficients, sd)
BGe              the evidence, with a Normal–Wishart prior of all nodes together; equivalent structures agree
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from credo.errors import NotIdentifiedError
from credo.models.network.learning.gains import FamilyGains

__all__ = ["SCORES", "GaussianGains", "GaussianScore"]

SCORES = ("bic", "bge", "aic", "log_likelihood")
# What rounding may leave of a node's scatter where its parents determine it: an sd of 1e-6 of the node's own.
EXACT = 1e-12


@dataclass(frozen=True, eq=False)
class GaussianScore:
    """A score and all that it needs of the rows.

    name : one of `SCORES` ; total : rows n ; scatter (d, d) : S of columns scaled to variance 1, and under BGe the
        prior's T added ; logs (d,) : log sd of the columns
    constants (d,) : what a family has by its number of parents alone ; freedom : n and the prior's, under BGe

    BGe (Geiger and Heckerman 2002, in the form of Kuipers, Moffa and Heckerman 2014): with α rows' worth of prior, the
    mean about x̄ with weight α, the precision Wishart with d + α + 1 degrees of freedom and T = α²/(α + 1) I on the
    scaled columns, so that units do not matter.
    """

    name: str
    total: float
    scatter: np.ndarray
    logs: np.ndarray
    constants: np.ndarray
    freedom: float = 0.0

    @classmethod
    def of(cls, name: str, x: np.ndarray, weight: np.ndarray, equivalent_sample_size: float = 1.0) -> GaussianScore:
        """x (n, d) without missing cells or constant columns; weight (n,) ≥ 0."""
        d, total, alpha = x.shape[1], float(weight.sum()), float(equivalent_sample_size)
        z = x - (weight @ x) / total
        sds = np.sqrt((weight @ np.square(z)) / total)
        z = z / sds * np.sqrt(weight)[:, None]
        scatter, p = z.T @ z, np.arange(float(d))
        if name != "bge":
            price = {"bic": 0.5 * np.log(total), "aic": 1.0}.get(name, 0.0)
            constants = -0.5 * total * (np.log(2.0 * np.pi / total) + 1.0) - price * (p + 2.0)
            return cls(name, total, scatter, np.log(sds), constants)
        t, before = alpha * alpha / (alpha + 1.0), alpha + 1.0
        scatter[np.diag_indices(d)] += t
        # the evidence of p + 1 columns less that of p, of whose multivariate Γ one factor stays
        constants = (
            0.5 * np.log(alpha / (total + alpha))
            - 0.5 * total * np.log(np.pi)
            + gammaln(0.5 * (total + before + p + 1.0))
            - gammaln(0.5 * (before + p + 1.0))
            + 0.5 * (before + 2.0 * p + 1.0) * np.log(t)
        )
        return cls(name, total, scatter, np.log(sds), constants, total + before)

    def value(self, child: int, p: int, left: Any, log_parents: Any) -> Any:
        """Of a child with p parents: `left` is what they leave of its scatter, `log_parents` log det of theirs."""
        if self.name == "bge":
            own = -0.5 * (self.freedom + p + 1.0) * np.log(left) - 0.5 * log_parents
        else:
            own = -0.5 * self.total * np.log(left)
        return self.constants[p] + own - self.total * self.logs[child]


class GaussianGains(FamilyGains):
    """Of rows of real numbers: one elimination of a node's parents scores all families with one parent more."""

    def __init__(self, names: tuple[str, ...], score: GaussianScore) -> None:
        super().__init__(names)
        self.score = score

    def _score_of(self, child: int, parents: tuple[int, ...]) -> float:
        left, log_det = self._left((child,), parents)
        return float(self.score.value(child, len(parents), self._told(child, parents, left[0, 0]), log_det))

    def _extend(self, child: int, candidates: list[int]) -> None:
        if not candidates:
            return
        parents = self.parents[child]
        left, log_det = self._left((child, *candidates), parents)
        across, own = left[0, 1:], np.diag(left)[1:]
        for candidate, share, cross in zip(candidates, own.tolist(), across.tolist(), strict=True):
            family = tuple(sorted((*parents, candidate)))
            self._told(candidate, parents, share)
            rest = self._told(child, family, left[0, 0] - cross * cross / share)
            value = self.score.value(child, len(family), rest, log_det + np.log(share))
            self._scores[child, family] = float(value)

    def _left(self, nodes: tuple[int, ...], parents: tuple[int, ...]) -> tuple[np.ndarray, float]:
        """Scatter of `nodes` that `parents` leave, and log det of the parents' own."""
        scatter = self.score.scatter
        own = scatter[np.ix_(nodes, nodes)]
        if not parents:
            return own, 0.0
        lower = np.linalg.cholesky(scatter[np.ix_(parents, parents)])
        along = np.linalg.solve(lower, scatter[np.ix_(parents, nodes)])
        return own - along.T @ along, 2.0 * float(np.log(np.diag(lower)).sum())

    def _told(self, node: int, parents: tuple[int, ...], left: float) -> float:
        """What is left, or an error where that is rounding alone: the likelihood then has no bound."""
        if left <= EXACT * self.score.scatter[node, node]:
            names = [self.names[p] for p in parents]
            raise NotIdentifiedError(
                f"Column {self.names[node]!r} is a linear function of {', '.join(names)}, so that no score of arrows "
                "between them has a bound.",
                value=[self.names[node], *names],
                remedy="Leave one of these columns out, or forbid these arrows.",
            )
        return left
