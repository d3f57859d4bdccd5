"""Upper bounds on a mean from a Kullback–Leibler ball, and the regret that no policy beats: functions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from credo.errors import ParameterError

__all__ = ["bernoulli_kl", "bernoulli_kl_upper", "lai_robbins", "normal_kl", "normal_kl_upper"]


def bernoulli_kl(p: Any, q: Any) -> np.ndarray:
    """KL(Bernoulli(p) ‖ Bernoulli(q)) in nats, elementwise."""
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q)


def normal_kl(gap: Any, sd: Any) -> np.ndarray:
    """Least KL from N(μ, σ²) to a Normal of mean ≥ μ + gap and any variance: ½ log(1 + gap²/σ²)."""
    return 0.5 * np.log1p(np.square(np.asarray(gap, dtype=np.float64) / sd))


def bernoulli_kl_upper(p: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The largest q ≤ 1 with KL(p ‖ q) ≤ radius, elementwise, by bisection to 2⁻⁴⁰.

    >>> q = bernoulli_kl_upper(np.array([0.3]), np.array([0.1]))
    >>> round(float(bernoulli_kl(0.3, q)[0]), 9)
    0.1

    Reference: Garivier and Cappé (2011), The KL-UCB algorithm for bounded stochastic bandits and beyond.
    """
    low = p.copy()
    # Pinsker: KL ≥ 2 (p − q)²
    high = np.minimum(1.0, p + np.sqrt(0.5 * radius))
    for _ in range(40):
        middle = 0.5 * (low + high)
        inside = bernoulli_kl(p, middle) <= radius
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def normal_kl_upper(mean: np.ndarray, scatter: np.ndarray, counts: np.ndarray, level: float) -> np.ndarray:
    """mean + σ̂ √(exp(2 level/(n − 2)) − 1), σ̂² = scatter/n; ∞ for n < 3.

    Reference: Cowan, Honda and Katehakis (2018), Normal bandits of unknown means and variances, JMLR 18.
    """
    enough = counts >= 3
    n = np.where(enough, counts, 3.0)
    with np.errstate(over="ignore"):
        width = np.sqrt(scatter / n * np.expm1(2.0 * level / (n - 2.0)))
    return np.where(enough, mean + width, np.inf)


def lai_robbins(means: Any, sd: Any = None) -> float:
    """C in the least regret C log T of a policy that does well on every problem: Σ_k Δ_k/KL_k over the worse arms.

    means : (K,) true expected rewards, of Bernoulli arms; with `sd` (a number or (K,)) of Normal arms of unknown
        variance

    >>> round(lai_robbins([0.5, 0.4, 0.3]), 3)
    7.397
    >>> round(lai_robbins([1.0, 0.0], sd=1.0), 3)
    2.885

    References: Lai and Robbins (1985), Asymptotically efficient adaptive allocation rules; Burnetas and
    Katehakis (1996).
    """
    means = np.asarray(means, dtype=np.float64)
    if means.ndim != 1 or not np.all(np.isfinite(means)) or (sd is None and not np.all((means >= 0) & (means <= 1))):
        raise ParameterError("lai_robbins", "means", "(arms,) in [0, 1], or finite with `sd`", means)
    gap = means.max() - means
    worse = gap > 0
    if sd is None:
        return float(np.sum(gap[worse] / bernoulli_kl(means[worse], means.max())))
    sd = np.broadcast_to(np.asarray(sd, dtype=np.float64), means.shape)
    if not np.all(sd > 0):
        raise ParameterError("lai_robbins", "sd", "> 0, a number or one for each arm", sd)
    return float(np.sum(gap[worse] / normal_kl(gap[worse], sd[worse])))
