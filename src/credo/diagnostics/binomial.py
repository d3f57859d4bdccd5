"""The binomial's cdf and quantiles, which bands of counts are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

__all__ = ["binomial_cdf", "binomial_quantile"]


def binomial_cdf(k: Any, n: Any, p: Any) -> np.ndarray:
    """P(Binomial(n, p) ≤ k) for integers k, elementwise; 0 below 0 and 1 from n on."""
    k = np.asarray(k, dtype=np.float64)
    inner = np.clip(k, 0.0, np.asarray(n) - 1.0)
    return np.where(
        k < 0, 0.0, np.where(k >= n, 1.0, scipy.special.betainc(n - inner, inner + 1.0, 1.0 - np.asarray(p)))
    )


def binomial_quantile(q: Any, n: Any, p: Any) -> np.ndarray:
    """Smallest k with P(Binomial(n, p) ≤ k) ≥ q, elementwise; q in (0, 1), p in [0, 1].

    >>> binomial_quantile(0.5, 10, 0.3).item()
    3.0
    """
    q, n, p = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (q, n, p)))
    sure = (p <= 0.0) | (p >= 1.0)
    inner = np.where(sure, 0.5, p)
    # The real-valued crossing is found iteratively, and is undefined where P(0) ≥ q: check the integers beside it.
    k = np.clip(np.floor(np.nan_to_num(scipy.special.bdtrik(q, n, inner), nan=0.0)), 0.0, n)
    k = np.where((k > 0) & (binomial_cdf(k - 1.0, n, inner) >= q), k - 1.0, k)
    k = np.where(binomial_cdf(k, n, inner) < q, np.minimum(k + 1.0, n), k)
    return np.where(sure, n * (p >= 1.0), k)
