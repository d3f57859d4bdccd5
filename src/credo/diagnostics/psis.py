"""Pareto-smoothed importance sampling: weights with a tamed tail, and k̂, which says whether to trust them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credo.errors import DataError

__all__ = ["PSIS", "psis", "K_RELIABLE"]

#: above this k̂ the smoothed estimate converges too slowly to be used (Vehtari et al. 2024)
K_RELIABLE = 0.7
# The tail fit takes a fifth of the draws and needs five of them.
MIN_DRAWS = 25


@dataclass(frozen=True)
class PSIS:
    """Smoothed importance weights of S draws.

    log_weights : (S, ...) normalised, logsumexp over the first axis is 0
    k_hat : (...) tail shape: < 0.7 reliable; −inf where all weights are equal, +inf
        where a few hold everything
    ess : (...) effective sample size 1/Σ w², in (0, S]; an optimist when k_hat is high
    """

    log_weights: np.ndarray
    k_hat: np.ndarray
    ess: np.ndarray

    @property
    def reliable(self) -> bool:
        """Whether every k_hat is below 0.7."""
        return bool(np.all(self.k_hat < K_RELIABLE))


def psis(log_weights: Any) -> PSIS:
    """Smooth importance weights: the largest 3√S become quantiles of a generalised Pareto law fitted to them.

    Computed by arviz-stats, which is imported here when first needed.

    Parameters
    ----------
    log_weights : (S, ...) log p̃ − log q of S ≥ 25 draws, up to a constant; −inf is a weight of 0

    Raises
    ------
    DataError : fewer than 25 draws, NaN or +inf, or all weights 0.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal(1000)
    >>> psis(-0.1 * z**2).reliable
    True

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry, JMLR 25(72) (2024).
    """
    raw = np.asarray(log_weights, dtype=np.float64)
    if raw.ndim == 0 or len(raw) < MIN_DRAWS:
        raise DataError(f"psis needs at least {MIN_DRAWS} draws.", value=raw.shape)
    if np.any(np.isnan(raw)) or np.any(raw == np.inf) or np.any(np.all(raw == -np.inf, axis=0)):
        raise DataError("psis: log weights hold NaN or +inf, or are all −inf.", value=raw)
    columns = [_smooth(column) for column in raw.reshape(len(raw), -1).T]
    smoothed = np.stack([w for w, _ in columns], axis=1).reshape(raw.shape)
    k_hat = np.array([k for _, k in columns]).reshape(raw.shape[1:])
    return PSIS(smoothed, k_hat, np.exp(-np.asarray(logsumexp(2.0 * smoothed, axis=0))))


def _smooth(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    plain = log_weights - float(logsumexp(log_weights))  # type: ignore[arg-type]
    tail = np.sort(log_weights)[-_tail_size(log_weights.size) - 1 :]
    if tail[-1] - tail[0] < 1e-12:  # equal up to rounding: nothing to fit, nothing to smooth
        return plain, -np.inf
    weights = np.exp(tail - tail[-1])
    if weights[len(weights) // 4] <= weights[0]:  # a few draws hold all the weight: no tail is visible
        return plain, np.inf
    from arviz_stats.base.array import array_stats

    # It takes log-likelihoods, whose negatives are the log weights; and zero weights only as very small ones.
    smoothed, k_hat = array_stats.psislw(-np.maximum(log_weights, tail[-1] - 700.0))
    return smoothed, float(k_hat)


def _tail_size(draws: int) -> int:
    return int(3 * draws**0.5) if draws > 225 else draws // 5
