"""Inference over a bounded number of points Z, so that a long session costs what a short one does.

    f(x) ≈ k(x, Z) K⁻¹ f(Z) = A f(Z)        for the points x that were shown (Seeger, Williams & Lawrence 2003)

Outcomes read A g instead of g, and add the precisions A'W A: to the engines of `models.preference` Z are the items.
While no more points were shown than Z may have, A = I and nothing is approximated. Predictions keep what Z does not
explain of the prior variance.
"""

from __future__ import annotations

import numpy as np

from credo.kernels import Kernel
from credo.models.preference.arrow import SharedPrior
from credo.models.preference.belief import UtilityBelief
from credo.models.preference.choices import ChoiceTerms
from credo.models.preference.design import choice_rows
from credo.models.preference.laplace import LogLikelihood, preference_mode
from credo.models.preference.outcomes import Outcomes
from credo.models.preference.scales import Scales
from credo.models.preference.terms import row_terms
from credo.numerics.cholesky import solve_lower

__all__ = ["ProjectedLikelihood", "representatives", "utility_belief"]

# Rows whose covariances are computed at once where representatives are sought.
AHEAD = 16


def utility_belief(
    kernel: Kernel, rows: np.ndarray, outcomes: Outcomes, scales: Scales, deviation: float, most: int
) -> UtilityBelief:
    """Laplace's Gaussian of the utilities of at most `most` of the rows (n, d), which outcomes are about by number.

    Cost: ten times (U + 1) most³ + n most².
    """
    rho = np.full(outcomes.n_blocks, deviation)
    rho[0] = 0.0
    if len(rows) <= most:
        prior, kept = SharedPrior(kernel(rows), rho), rows
        likelihood = LogLikelihood(outcomes, scales)
    else:
        kept = rows[representatives(kernel, rows, most)]
        prior = SharedPrior(kernel(kept), rho)
        half = solve_lower(prior.root, kernel(kept, rows))
        likelihood = ProjectedLikelihood(outcomes, scales, solve_lower(prior.root, half, transpose=True).T)
    alpha, _, precision, _, _ = preference_mode(prior, likelihood, None)
    return UtilityBelief(kernel, kept, outcomes.users, deviation, alpha[None], precision, scales)


def representatives(kernel: Kernel, rows: np.ndarray, most: int) -> np.ndarray:
    """Numbers (most,) of the rows that explain the most prior variance of the others, greedily: a pivoted Cholesky."""
    left = kernel.diagonal(rows).copy()
    tiny = 1e-10 * float(left.max())
    parts, chosen, covariances = np.zeros((most, len(rows))), [], {}
    for j in range(most):
        i = int(np.argmax(left))
        if left[i] <= tiny:
            break
        chosen.append(i)
        if i not in covariances:
            # those that are likely to be next too: a call of the kernel costs as much as a few hundred of its values
            next_ = np.argsort(-left, kind="stable")[:AHEAD].tolist()
            covariances.update(zip(next_, kernel(rows[next_], rows), strict=True))
        parts[j] = (covariances[i] - parts[:j, i] @ parts[:j]) / np.sqrt(left[i])
        left = np.maximum(left - parts[j] ** 2, 0.0)
        left[i] = 0.0
    return np.sort(np.array(chosen, dtype=np.intp))


class ProjectedLikelihood:
    """Σ ℓ as a function of g (U, M) at the points Z, through A (n, M); for A = I it is `LogLikelihood`."""

    def __init__(self, outcomes: Outcomes, scales: Scales, A: np.ndarray) -> None:
        self.outcomes, self.m = outcomes, A.shape[1]
        self.terms, self.number = row_terms(outcomes, scales), np.arange(outcomes.kind.size)
        self.rows = A[outcomes.a] - np.where(outcomes.b[:, None] >= 0, A[outcomes.b], 0.0)
        places, shown = choice_rows(outcomes)
        self.choices = ChoiceTerms(shown, scales.scale, scales.link == "logit")
        self.own_rows = [(u, at, self.rows[at]) for u, at in _by_block(outcomes.block)]
        self.own_shown = [(u, at, A[places[at]]) for u, at in _by_block(outcomes.choice_block)]

    def derivatives(self, g: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient (U, M) and negative Hessian (U, M, M)."""
        outcomes, count, times = self.outcomes, self.outcomes.count, self.outcomes.choice_count
        gradient, curvature = np.zeros_like(g), np.zeros((len(g), self.m, self.m))
        eta = np.einsum("rm,rm->r", self.rows, g[outcomes.block])
        value, slope, bend = self.terms.value_and_derivatives(self.number, eta)[:3]
        total = float(count @ value)
        for u, at, rows in self.own_rows:
            gradient[u] += (count * slope)[at] @ rows
            curvature[u] -= rows.T @ ((count * bend)[at, None] * rows)
        if outcomes.best.size:
            f = np.empty((len(times), self.choices.shown.shape[1] + 1))
            for u, at, shown in self.own_shown:
                f[at] = shown @ g[u]
            value, slope, bend = self.choices.derivatives(f)
            total += float(times @ value)
            for u, at, shown in self.own_shown:
                flat = shown.reshape(-1, self.m)
                gradient[u] += (times[at, None] * slope[at]).ravel() @ flat
                weighted = np.matmul(times[at, None, None] * bend[at], shown)
                curvature[u] += flat.T @ weighted.reshape(-1, self.m)
        return total, gradient, curvature


def _by_block(block: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """(u, numbers of its rows) of the blocks that occur."""
    return [(int(u), np.flatnonzero(block == u)) for u in np.unique(block)]
