"""Adaptive importance sampling: proposals that learn from what they drew, all draws kept.

A few rounds; in each, draws of the proposal are weighed by p over the *mixture* of all proposals so far (deterministic
mixture weights, so that no early, bad proposal spoils the average), and the next proposal is the Student-t with the
weighted mean and covariance. Reference: Cornuet, Marin, Mira and Robert (2012), Scandinavian Journal of Statistics 39.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from credo.diagnostics.psis import psis
from credo.errors import NumericalError
from credo.inference.direct.resampling import resample

__all__ = ["AdaptiveSample", "adaptive_importance"]

# Degrees of freedom of proposals: tails heavier than those of nearly every posterior, sds finite.
DF = 5.0
# Widths of the proposals of the first round, in sds at the mode, with their shares.
FIRST = ((1.0, 0.7), (2.0, 0.3))
# The first rounds, as shares of the draws wanted; the last takes what is left.
ROUNDS = (0.1, 0.2)


@dataclass(frozen=True, eq=False)
class AdaptiveSample:
    """positions (N, d) and weights (N,) ≥ 0 summing to 1, Pareto-smoothed; log_evidence of the density; pareto_k of
    the weights, reliable below 0.7; effective = 1/Σ w², the number of draws they are worth."""

    positions: np.ndarray
    weights: np.ndarray
    log_evidence: float
    pareto_k: float

    @property
    def effective(self) -> float:
        return float(1.0 / np.sum(np.square(self.weights)))

    @property
    def mean(self) -> np.ndarray:
        """(d,)"""
        return self.weights @ self.positions

    def resampled(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n equally weighted draws (n, d), in random order; heavy ones come up more than once."""
        return self.positions[rng.permutation(resample(self.weights, n, rng))]


def adaptive_importance(
    log_density: Callable[[np.ndarray], np.ndarray],
    modes: np.ndarray,
    covariances: np.ndarray,
    n: int,
    rng: np.random.Generator,
) -> AdaptiveSample:
    """Weighted draws of exp(log_density) over ℝᵈ.

    Parameters
    ----------
    log_density : positions (B, d) → (B,), up to a constant; −∞ where the density is 0
    modes, covariances : where the density peaks, (d,) or (K, d), and roughly how wide it is there, (d, d) or (K, d, d):
        the first proposal. With several modes it is the only one: a single Student-t does not fit several.
    n : how many positions are evaluated in all

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = adaptive_importance(lambda x: -0.5 * np.square(x).sum(axis=1), np.ones(2), np.eye(2), 4000, rng)
    >>> found.pareto_k < 0.5, bool(abs(found.log_evidence - np.log(2 * np.pi)) < 0.05), found.effective > 2000
    (True, True, True)
    """
    places = np.atleast_2d(np.asarray(modes, dtype=np.float64))
    spreads = np.asarray(covariances, dtype=np.float64).reshape(len(places), places.shape[1], -1)
    (k_modes, d), covariance = places.shape, spreads[0]
    proposals = [(m, scale**2 * c) for m, c in zip(places, spreads) for scale, _ in FIRST]
    shares = [share / k_modes for _ in places for _, share in FIRST]
    sizes = [] if k_modes > 1 else [int(share * n) for share in ROUNDS]
    sizes.append(n - sum(sizes))
    positions, values, counts = np.empty((0, d)), np.empty(0), []
    for k, size in enumerate(sizes):
        if k == 0:
            each = [round(share * size) for share in shares[:-1]]
            each.append(size - sum(each))
            drawn = np.concatenate([_draws(*p, m, rng) for p, m in zip(proposals, each)])
            counts += each
        else:
            drawn = _draws(*proposals[-1], size, rng)
            counts.append(size)
        positions = np.concatenate([positions, drawn])
        values = np.concatenate([values, np.asarray(log_density(drawn), dtype=np.float64)])
        log_w = np.where(np.isnan(values), -np.inf, values) - _log_mixture(positions, proposals, counts)
        if not np.isfinite(log_w).any():
            raise NumericalError("Importance sampling: the density is 0 at every draw.", value=places,
                                 remedy="Start from its mode.")  # fmt: skip
        weights = np.exp(log_w - logsumexp(log_w))
        if k + 1 < len(sizes):
            smooth = np.minimum(weights, np.sqrt(weights.size) * weights.mean())
            smooth /= smooth.sum()
            mean = smooth @ positions
            shift = positions - mean
            spread = (smooth[:, None] * shift).T @ shift
            proposals.append((mean, _regular(spread, covariance)))
    weighed = psis(log_w)
    log_smooth = np.asarray(weighed.log_weights)
    weights = np.exp(log_smooth - logsumexp(log_smooth))
    return AdaptiveSample(positions, weights, float(logsumexp(log_w) - np.log(len(log_w))), float(weighed.k_hat))


def _regular(spread: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """A covariance learned from few effective draws, kept away from collapse along any direction of the reference."""
    values, vectors = _relative(spread, reference)
    return (vectors * np.maximum(values, 0.05)) @ vectors.T


def _relative(spread: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of spread relative to reference, and L V with reference = L Lᵀ."""
    lower = np.linalg.cholesky(reference)
    half = np.linalg.solve(lower, np.linalg.solve(lower, spread).T)
    values, vectors = np.linalg.eigh(0.5 * (half + half.T))
    return values, lower @ vectors


def _draws(mean: np.ndarray, covariance: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    scale = np.sqrt(DF / rng.chisquare(DF, size=n))
    return mean + scale[:, None] * (rng.standard_normal((n, len(mean))) @ np.linalg.cholesky(covariance).T)


def _log_mixture(
    x: np.ndarray, proposals: Sequence[tuple[np.ndarray, np.ndarray]], counts: Sequence[int]
) -> np.ndarray:
    """log Σ_k (n_k/N) t(x; mean_k, covariance_k)."""
    total = sum(counts)
    parts = []
    for (mean, covariance), count in zip(proposals, counts):
        d, lower = len(mean), np.linalg.cholesky(covariance)
        z = np.linalg.solve(lower, (x - mean).T)
        constant = gammaln(0.5 * (DF + d)) - gammaln(0.5 * DF) - 0.5 * d * np.log(DF * np.pi)
        density = constant - np.log(np.diag(lower)).sum() - 0.5 * (DF + d) * np.log1p(np.square(z).sum(axis=0) / DF)
        parts.append(np.log(count / total) + density)
    return np.asarray(logsumexp(np.array(parts), axis=0))
