"""Adaptive importance sampling: proposals that learn from what they drew, all draws kept.

A few rounds; in each, draws of the proposals are weighed by p over the *mixture* of all proposals so far (deterministic
mixture weights, so that no early, bad proposal spoils the average), and each mode's next proposals take the weighted
mean and covariance of what is theirs. Half of the draws are of a Student-t, whose tails are heavy in every direction at
once; in the other half each coordinate, whitened, is a Student-t of its own. For where d numbers are drawn and one of
them has a long tail, the first hardly ever draws it far out with the others near their middle: its density falls as
|z|^−(5 + d), that of the second as |z|^−4.

Reference: Cornuet, Marin, Mira and Robert (2012), Scandinavian Journal of Statistics 39; and for modes that adapt,
Cappé, Douc, Guillin, Marin and Robert (2008), Statistics and Computing 18.
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

# Degrees of freedom of proposals: tails heavier than those of nearly every posterior, sds finite. Where each number has
# its own, heavier ones cost little.
DF, DF_OF_EACH = 5.0, 3.0
# Widths of the proposals of the first round, in sds at the mode, with their shares.
FIRST = ((1.0, 0.7), (2.0, 0.3))
# The first rounds, as shares of the draws wanted; the last takes what is left.
ROUNDS = (0.1, 0.2)
# Effective draws for each dimension from which a mean and covariance are learned; and the least share of a mode.
LEARNABLE, LEAST_SHARE = 5.0, 0.05


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
        the first proposals
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
    d = places.shape[1]
    modes_now = [_Mode(m, c, 1.0 / len(places)) for m, c in zip(places, spreads)]
    widths = FIRST
    sizes = [int(share * n) for share in ROUNDS]
    sizes.append(n - sum(sizes))
    proposals: list[_Proposal] = []
    counts: list[int] = []
    positions, log_p, log_q = np.empty((0, d)), np.empty(0), np.empty(0)
    for k, size in enumerate(sizes):
        new = [each for mode in modes_now for width in widths for each in mode.proposals(*width)]
        each_count = _rounded([share for _, share in new], size)
        fresh = [proposal for proposal, _ in new]
        drawn = np.concatenate([p.draws(m, rng) for p, m in zip(fresh, each_count)])
        # Σ_k n_k q_k of the old draws by the new proposals, and of the new draws by all
        log_q = np.logaddexp(log_q, _log_sum(positions, fresh, each_count))
        proposals, counts = proposals + fresh, counts + each_count
        log_q = np.concatenate([log_q, _log_sum(drawn, proposals, counts)])
        positions = np.concatenate([positions, drawn])
        log_p = np.concatenate([log_p, np.asarray(log_density(drawn), dtype=np.float64)])
        log_w = np.where(np.isnan(log_p), -np.inf, log_p) - log_q + np.log(len(log_p))
        if not np.isfinite(log_w).any():
            raise NumericalError("Importance sampling: the density is 0 at every draw.", value=places,
                                 remedy="Start from its mode.")  # fmt: skip
        if k + 1 < len(sizes):
            modes_now, widths = _learned(modes_now, spreads, positions, log_w), ((1.0, 1.0),)
    weighed = psis(log_w)
    log_smooth = np.asarray(weighed.log_weights)
    weights = np.exp(log_smooth - logsumexp(log_smooth))
    return AdaptiveSample(positions, weights, float(logsumexp(log_w) - np.log(len(log_w))), float(weighed.k_hat))


@dataclass(frozen=True, eq=False)
class _Proposal:
    """mean + root z, where z is a Student-t of d numbers, or d independent Student-t."""

    mean: np.ndarray
    root: np.ndarray
    inverse: np.ndarray
    independent: bool

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        d = len(self.mean)
        df, shape = (DF_OF_EACH, (n, d)) if self.independent else (DF, (n, 1))
        z = rng.standard_normal((n, d)) * np.sqrt(df / rng.chisquare(df, size=shape))
        return self.mean + z @ self.root.T

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """(N,)"""
        square = np.square((x - self.mean) @ self.inverse.T)
        volume = np.linalg.slogdet(self.inverse)[1]
        if self.independent:
            return volume + _log_t(square, DF_OF_EACH, 1).sum(axis=1)
        return volume + _log_t(square.sum(axis=1), DF, square.shape[1])


def _log_t(square: np.ndarray, df: float, d: int) -> np.ndarray:
    """log density of a Student-t of d numbers where they have this sum of squares."""
    constant = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(df * np.pi)
    return constant - 0.5 * (df + d) * np.log1p(square / df)


@dataclass(frozen=True, eq=False)
class _Mode:
    """Mean (d,), covariance (d, d) and share of the draws near one mode."""

    mean: np.ndarray
    covariance: np.ndarray
    share: float

    def proposals(self, width: float, share: float) -> list[tuple[_Proposal, float]]:
        """One of each kind, `width` sds wide, with their shares of all draws.

        The root is that of the correlations, so that whitened coordinates are as near as can be to the coordinates.
        """
        sd = np.sqrt(self.covariance.diagonal())
        values, vectors = np.linalg.eigh(self.covariance / np.outer(sd, sd))
        half = np.sqrt(np.maximum(values, 1e-12))
        root = width * sd[:, None] * ((vectors * half) @ vectors.T)
        inverse = ((vectors / half) @ vectors.T) / (width * sd)
        return [(_Proposal(self.mean, root, inverse, kind), 0.5 * self.share * share) for kind in (False, True)]


def _learned(modes: Sequence[_Mode], spreads: np.ndarray, x: np.ndarray, log_w: np.ndarray) -> list[_Mode]:
    """The modes anew from weighted draws; one that got too few stays as it is."""
    w = np.exp(log_w - log_w.max())
    w = np.minimum(w, np.sqrt(w.size) * w.mean())
    logs = np.array([np.log(m.share) + m.proposals(1.0, 1.0)[0][0].log_density(x) for m in modes])
    belong = np.exp(logs - logsumexp(logs, axis=0)) * (w / w.sum())
    found = []
    for mode, spread, own in zip(modes, spreads, belong):
        share = float(own.sum())
        if share > 0.0 and share**2 / np.square(own).sum() > LEARNABLE * len(mode.mean):
            mean = (own @ x) / share
            shift = x - mean
            learned = (own[:, None] * shift).T @ shift / share
            if np.isfinite(learned).all():
                mode = _Mode(mean, _regular(learned, spread), share)
        found.append(_Mode(mode.mean, mode.covariance, max(share, LEAST_SHARE / len(modes))))
    total = sum(mode.share for mode in found)
    return [_Mode(mode.mean, mode.covariance, mode.share / total) for mode in found]


def _rounded(shares: Sequence[float], n: int) -> list[int]:
    """n split by shares that sum to 1."""
    ends = np.round(n * np.cumsum(shares)).astype(int)
    return [int(count) for count in np.diff(ends, prepend=0)]


def _log_sum(x: np.ndarray, proposals: Sequence[_Proposal], counts: Sequence[int]) -> np.ndarray:
    """log Σ_k n_k q_k(x), (N,)."""
    parts = [np.log(count) + p.log_density(x) for p, count in zip(proposals, counts) if count]
    return np.asarray(logsumexp(np.array(parts), axis=0))


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
