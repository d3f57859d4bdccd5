"""Pareto-smoothed importance sampling: weights with a tamed tail, and k̂, which says whether to trust them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from credo.errors import DataError

__all__ = ["K_RELIABLE", "PSIS", "pareto_fit", "psis", "tail_size"]

#: above this k̂ the smoothed estimate converges too slowly to be used (Vehtari et al. 2024)
K_RELIABLE = 0.7
# The tail fit takes a fifth of the draws and needs five of them.
MIN_DRAWS = 25
# Draws that share the largest weight, from which on a larger one would have been drawn as well.
TIES = 10
# Columns smoothed at once: 40 grid points × 200 tail draws of each stay in the second-level cache.
COLUMNS = 16


@dataclass(frozen=True)
class PSIS:
    """Smoothed importance weights of S draws.

    log_weights : (S, ...) normalised, logsumexp over the first axis is 0
    k_hat : (...) tail shape: < 0.7 reliable; −inf where weights are seen to be bounded (all of the tail are equal, or
        they take few values, the largest of them ten times), +inf where a few hold everything
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
    Vehtari, Simpson, Gelman, Yao and Gabry, JMLR 25(72) (2024); Zhang and Stephens, Technometrics 51(3) (2009).
    """
    raw = np.asarray(log_weights, dtype=np.float64)
    if raw.ndim == 0 or len(raw) < MIN_DRAWS:
        raise DataError(f"psis needs at least {MIN_DRAWS} draws.", value=raw.shape)
    if np.any(np.isnan(raw)) or np.any(raw == np.inf) or np.any(np.all(raw == -np.inf, axis=0)):
        raise DataError("psis: log weights hold NaN or +inf, or are all −inf.", value=raw)
    flat = raw.reshape(len(raw), -1)
    parts = [_smooth(flat[:, i : i + COLUMNS]) for i in range(0, flat.shape[1], COLUMNS)]
    smoothed = np.concatenate([w for w, _ in parts], axis=1).reshape(raw.shape)
    k_hat = np.concatenate([k for _, k in parts]).reshape(raw.shape[1:])
    return PSIS(smoothed, k_hat, np.exp(-np.asarray(scipy.special.logsumexp(2.0 * smoothed, axis=0))))


def _smooth(log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smoothed, normalised log weights (S, m) of m columns, and their k̂ (m,)."""
    size = tail_size(len(log_weights))
    order = np.argpartition(log_weights, -size - 1, axis=0)[-size - 1 :]
    tail = np.take_along_axis(log_weights, order, axis=0)
    ascending = np.argsort(tail, axis=0)
    order, tail = (np.take_along_axis(each, ascending, axis=0) for each in (order, tail))
    top = tail[-1]
    k_hat = np.full(top.size, np.inf)
    equal = top - tail[0] < 1e-12  # equal up to rounding: nothing to fit, nothing to smooth
    k_hat[equal] = -np.inf
    above = np.exp(tail - top)
    # Where a few draws hold all the weight, no tail is visible.
    visible = above[(size + 1) // 4] > above[0]
    fitted = np.flatnonzero(~equal & visible)
    # Or weights take few values: the largest, if it came often, is then their bound.
    k_hat[~visible & (np.count_nonzero(tail > top - 1e-12, axis=0) >= TIES)] = -np.inf
    smoothed = log_weights - top
    if fitted.size:
        excess = above[1:, fitted] - above[0, fitted]
        k, scale = pareto_fit(excess)
        k_hat[fitted] = k
        quantiles = _pareto_quantiles((np.arange(size) + 0.5)[:, None] / size, k, scale) + above[0, fitted]
        # No weight grows beyond the largest there was.
        smoothed[order[1:, fitted], fitted] = np.log(np.minimum(quantiles, 1.0))
    return smoothed - np.asarray(scipy.special.logsumexp(smoothed, axis=0)), k_hat


def pareto_fit(excess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shape k and scale of a generalised Pareto law, for each column of ascending excesses (M, m).

    With b = −k/scale, the profile log-likelihood M (log(−b/k(b)) − k(b) − 1), k(b) = mean log(1 − b x), is averaged
    over a grid of b (Zhang and Stephens 2009); k is then drawn towards ½ as ten further observations would.
    """
    m = len(excess)
    grid = 1.0 - np.sqrt((30 + int(m**0.5)) / (np.arange(1, 31 + int(m**0.5)) - 0.5))
    quartile = excess[int(m / 4 + 0.5) - 1]
    b = grid[:, None] / (3.0 * np.maximum(quartile, np.finfo(float).tiny)) + 1.0 / excess[-1]
    shape = np.log1p(-b * excess[:, None]).mean(axis=0)
    profile = m * (np.log(-b / shape) - shape - 1.0)
    weights = np.exp(profile - np.asarray(scipy.special.logsumexp(profile, axis=0)))
    mean_b = (weights * b).sum(axis=0)
    k = np.log1p(-mean_b * excess).mean(axis=0)
    return (m * k + 5.0) / (m + 10.0), -k / mean_b


def _pareto_quantiles(q: np.ndarray, k: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """scale ((1 − q)^(−k) − 1)/k, and its limit at k = 0."""
    safe = np.where(np.abs(k) < 1e-12, 1.0, k)
    return scale * np.where(np.abs(k) < 1e-12, -np.log1p(-q), np.expm1(-k * np.log1p(-q)) / safe)


def tail_size(draws: int) -> int:
    return int(3 * draws**0.5) if draws > 225 else draws // 5
