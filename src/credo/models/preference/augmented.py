"""Choices as rows: with the chosen item's noise e known, beating each of the others is a duel of its own.

    P(u_0 is the largest) = E_e Π_j Φ((f_0 − f_j + e)/σ),  e ~ N(0, σ²)

so that ξ_j = f_0 − f_j + e, j = 1 … k, are k rows that share one more Gaussian unknown. Given Gaussian sites (τ, ν) on
rows it is integrated out in closed form, choice by choice, T = Σ τ_j + 1/σ²:

    M ← A'(diag τ − ττ'/T) A,   b ← A'(ν − τ Σν/T),   e | g ~ N((Σν − τ'A g)/T, 1/T)

Expectation propagation and Gibbs sampling both read the rows from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from credo.models.preference.arrow import Arrow, SharedPrior
from credo.models.preference.design import gather, scatter, scatter_slopes
from credo.models.preference.outcomes import WIN, Outcomes
from credo.models.preference.scales import Scales
from credo.models.preference.terms import RowTerms, row_terms

__all__ = ["AugmentedRows", "Sited"]


@dataclass(frozen=True, eq=False)
class AugmentedRows:
    """All outcomes as rows.

    outcomes : with the choices' rows after the others; choice (r,) : which choice a row belongs to, −1 for none
    noise : σ; times (c,) : how often each choice was made
    """

    outcomes: Outcomes
    choice: np.ndarray
    noise: float
    times: np.ndarray

    @classmethod
    def of(cls, outcomes: Outcomes, noise: float) -> AugmentedRows:
        choice, place = np.nonzero(outcomes.others >= 0)
        plain = outcomes.kind.size

        def longer(rows: np.ndarray, more: np.ndarray | float) -> np.ndarray:
            return np.concatenate([rows, np.broadcast_to(more, choice.shape)])

        extended = replace(
            outcomes,
            block=longer(outcomes.block, outcomes.choice_block[choice]),
            a=longer(outcomes.a, outcomes.best[choice]),
            b=longer(outcomes.b, outcomes.others[choice, place]),
            kind=longer(outcomes.kind, WIN),
            value=longer(outcomes.value, 0.0),
            count=longer(outcomes.count, outcomes.choice_count[choice]),
        )
        return cls(extended, np.concatenate([np.full(plain, -1), choice]), noise, outcomes.choice_count)

    @property
    def count(self) -> np.ndarray:
        return self.outcomes.count

    @cached_property
    def joined(self) -> np.ndarray:
        """Rows of choices."""
        return np.flatnonzero(self.choice >= 0)

    def terms(self, scales: Scales) -> RowTerms:
        """Terms of ξ: a choice's rows have the noise of one item, and no threshold."""
        terms = row_terms(self.outcomes, scales)
        low, kappa = terms.low.copy(), terms.kappa.copy()
        low[self.joined], kappa[self.joined] = 0.0, 1.0 / scales.noise
        return replace(terms, low=low, kappa=kappa)

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Σ over the rows of each choice, (c,)."""
        return np.bincount(self.choice[self.joined], values[self.joined], minlength=self.times.size)

    def pulls(self, values: np.ndarray, m: int) -> np.ndarray:
        """A'values, choice by choice: (c, m)."""
        rows, a, b = self.joined, self.outcomes.a, self.outcomes.b
        result = np.zeros((self.times.size, m))
        np.add.at(result, (self.choice[rows], a[rows]), values[rows])
        np.add.at(result, (self.choice[rows], b[rows]), -values[rows])
        return result

    def given(self, prior: SharedPrior, tau: np.ndarray) -> Sited:
        return Sited(self, prior, tau)


class Sited:
    """The prior given precisions τ (r,) of the rows, each site standing as often as its row was counted."""

    def __init__(self, rows: AugmentedRows, prior: SharedPrior, tau: np.ndarray) -> None:
        outcomes, m = rows.outcomes, len(prior.covariance)
        self.rows, self.tau, self.m = rows, tau, m
        _, precision = scatter(outcomes, np.zeros_like(tau), rows.count * tau, m)
        self.total = 1.0 / rows.noise**2 + rows.totals(tau)  # T (c,)
        self.pull = rows.pulls(tau, m)  # A'τ (c, m)
        self.blocks = outcomes.choice_block
        for block in np.unique(self.blocks):
            mine = self.blocks == block
            weight = rows.times[mine] / self.total[mine]
            precision[block] -= (self.pull[mine] * weight[:, None]).T @ self.pull[mine]
        self.arrow: Arrow = prior.given(precision)

    def pulled(self, nu: np.ndarray) -> np.ndarray:
        """b (U, m) of sites' ν (r,)."""
        rows = self.rows
        joined = rows.choice[rows.joined]
        left = nu.copy()
        left[rows.joined] -= self.tau[rows.joined] * (rows.totals(nu) / self.total)[joined]
        return scatter_slopes(rows.outcomes, rows.count * left, self.m)

    def own_means(self, nu: np.ndarray, g: np.ndarray) -> np.ndarray:
        """E[e | g] (c,)."""
        return (self.rows.totals(nu) - np.sum(self.pull * g[self.blocks], axis=1)) / self.total

    def row_means(self, nu: np.ndarray, g: np.ndarray) -> np.ndarray:
        """E ξ (r,) at the posterior mean g (U, m)."""
        mean = gather(self.rows.outcomes, g)
        mean[self.rows.joined] += self.own_means(nu, g)[self.rows.choice[self.rows.joined]]
        return mean

    @cached_property
    def row_variances(self) -> np.ndarray:
        """Var ξ (r,): (a − w)'Σ(a − w) + 1/T with w = A'τ/T for the rows of choices."""
        outcomes, spread, rows = self.rows.outcomes, self.arrow.marginals, self.rows.joined
        block, a, b = outcomes.block, outcomes.a, outcomes.b
        variance = spread[block, a, a] + np.where(b >= 0, spread[block, b, b] - 2.0 * spread[block, a, b], 0.0)
        if rows.size:
            w = self.pull / self.total[:, None]
            along = np.einsum("cij,cj->ci", spread[self.blocks], w)
            choice = self.rows.choice[rows]
            cross = along[choice, a[rows]] - along[choice, b[rows]]
            variance[rows] += (np.sum(w * along, axis=1) + 1.0 / self.total)[choice] - 2.0 * cross
        return variance

    def log_normaliser(self, nu: np.ndarray, b: np.ndarray, g: np.ndarray) -> float:
        """log ∫ Π sites dprior of all unknowns."""
        own = 0.5 * self.rows.totals(nu) ** 2 / self.total - 0.5 * np.log(self.rows.noise**2 * self.total)
        return 0.5 * float(np.vdot(b, g)) - self.arrow.half_log_determinant + float(self.rows.times @ own)
