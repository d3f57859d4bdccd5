"""The best of several: log P(u_0 is the largest of u_0 … u_k) with its derivatives in f.

    logit    f_0/σ − log Σ_j exp(f_j/σ)
    probit   log ∫ φ(e) Π_j Φ(z_j + e) de,  z_j = (f_0 − f_j)/σ

Notation: c choices, k others at most; f (c, k + 1), the chosen one first; `shown` (c, k) which others there are;
W (c, k + 1, k + 1) the negative Hessian; S a covariance of f. The slope of ½ tr(S W) in f is what Laplace's evidence
needs of the third derivatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.special

from credo.distributions.likelihoods.probit import inverse_mills

__all__ = ["ChoiceTerms"]

# The integrand falls like a Normal of sd ≤ 1 on the right of its mode and faster on the left: 8.5 sds leave 1e-16 out.
REACH = 8.5
# Nodes lie at most 0.7 of the narrowest sd apart, where the trapezoid rule is exact to rounding.
SPACING = 0.7
CHUNK = 2**21


def nodes(rivals: int) -> int:
    """How many nodes so many rivals need: each adds at most 1 to the precision of the integrand.

    >>> nodes(1), nodes(3), nodes(43)
    (31, 38, 94)
    """
    narrowest = 1.0 / math.sqrt(1.0 + rivals)
    return 1 + math.ceil(REACH * (narrowest + 1.0) / (SPACING * narrowest))


@dataclass(frozen=True, eq=False)
class ChoiceTerms:
    """All choices of one history; scale : σ."""

    shown: np.ndarray
    scale: float
    logistic: bool

    def derivatives(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log P (c,), its gradient (c, k + 1), and W (c, k + 1, k + 1)."""
        if self.logistic:
            return self._softmax(f)
        value = np.empty(len(f))
        gradient, curvature = np.empty(f.shape), np.empty((*f.shape, f.shape[1]))
        for rows in self._chunks(len(f)):
            value[rows], first, second = _normal(*self._gaps(f, rows))
            gradient[rows] = _outward(first) / self.scale
            curvature[rows] = _outward(_outward(-second).transpose(0, 2, 1)) / self.scale**2
        return value, gradient, curvature

    def curvature_slope(self, f: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """∂/∂f of ½ tr(S W), (c, k + 1), for S (c, k + 1, k + 1)."""
        if self.logistic:
            _, _, curvature = self._softmax(f)
            p = self._shares(f)
            q = 0.5 * (np.einsum("cii->ci", spread) - 2.0 * np.einsum("cij,cj->ci", spread, p)) / self.scale**2
            return np.einsum("cij,cj->ci", curvature, q) * self.scale
        slope = np.empty(f.shape)
        for rows in self._chunks(len(f)):
            inward = _inward(_inward(spread[rows]).transpose(0, 2, 1)) / self.scale**2
            slope[rows] = _outward(-0.5 * _normal_third(*self._gaps(f, rows), inward)) / self.scale
        return slope

    def _chunks(self, c: int) -> list[slice]:
        rivals = max(1, self.shown.shape[1])
        size = max(1, CHUNK // (nodes(rivals) * rivals))
        return [slice(start, start + size) for start in range(0, c, size)]

    def _gaps(self, f: np.ndarray, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        return (f[rows, :1] - f[rows, 1:]) / self.scale, self.shown[rows]

    def _shares(self, f: np.ndarray) -> np.ndarray:
        there = np.column_stack([np.ones(len(f), dtype=bool), self.shown])
        return scipy.special.softmax(np.where(there, f / self.scale, -np.inf), axis=1)

    def _softmax(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        there = np.column_stack([np.ones(len(f), dtype=bool), self.shown])
        scaled = np.where(there, f / self.scale, -np.inf)
        p = scipy.special.softmax(scaled, axis=1)
        gradient = -p
        gradient[:, 0] += 1.0
        curvature = -p[:, :, None] * p[:, None, :]
        curvature[:, np.arange(f.shape[1]), np.arange(f.shape[1])] += p
        value = scaled[:, 0] - scipy.special.logsumexp(scaled, axis=1)
        return value, gradient / self.scale, curvature / self.scale**2


def _outward(x: np.ndarray) -> np.ndarray:
    """From slopes in z (c, k, …) to those in f (c, k + 1, …) at σ = 1: f_0 moves every z up, f_j its own down."""
    return np.concatenate([x.sum(axis=1, keepdims=True), -x], axis=1)


def _inward(x: np.ndarray) -> np.ndarray:
    """The transpose of `_outward`: rows of f (c, k + 1, …) become rows of z."""
    return x[:, :1] - x[:, 1:]


def _nodes(z: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e (c, q) and log weights: about the mode of −e²/2 + Σ log Φ(z_j + e), which Newton's steps from 0 climb to.

    The slope is decreasing and convex, so that Newton's steps never overshoot.
    """
    e = np.zeros(len(z))
    for _ in range(20):
        ratio, excess, _ = inverse_mills(z + e[:, None])
        curvature = 1.0 + np.sum(np.where(shown, ratio * excess, 0.0), axis=1)
        step = (np.sum(np.where(shown, ratio, 0.0), axis=1) - e) / curvature
        e = e + step
        if np.all(np.abs(step) < 1e-3):
            break
    count = nodes(z.shape[1])
    width = REACH * (1.0 / np.sqrt(curvature) + 1.0) / (count - 1)
    points = (e - REACH / np.sqrt(curvature))[:, None] + width[:, None] * np.arange(count)
    return points, -0.5 * points**2 - 0.5 * np.log(2.0 * np.pi) + np.log(width)[:, None]


def _integrand(z: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, ...]:
    """log P (c,), weights (c, q) of the nodes, and R, d and d² + R d − 1 of `inverse_mills` there, (c, q, k).

    R is 0 of what is not shown; log Φ has the derivatives R, −R d and R (d² + R d − 1).
    """
    e, log_weight = _nodes(z, shown)
    x = z[:, None, :] + e[:, :, None]
    logs = scipy.special.log_ndtr(x)
    ratio, excess, third = inverse_mills(x)
    if not shown.all():
        there = shown[:, None, :]
        logs, ratio = np.where(there, logs, 0.0), np.where(there, ratio, 0.0)
    total = log_weight + logs.sum(axis=2)
    value = np.asarray(scipy.special.logsumexp(total, axis=1))
    return value, np.exp(total - value[:, None]), ratio, excess, third


def _normal(z: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log P (c,), gradient (c, k) and Hessian (c, k, k) in z: E h, E h′ + Cov h over the tilted e."""
    value, weight, h, excess, _ = _integrand(z, shown)
    h2 = -h * excess
    mean = np.einsum("cq,cqk->ck", weight, h)
    centred = h - mean[:, None, :]
    hessian = np.matmul((centred * weight[:, :, None]).transpose(0, 2, 1), centred)
    k = z.shape[1]
    hessian[:, np.arange(k), np.arange(k)] += np.einsum("cq,cqk->ck", weight, h2)
    return value, mean, hessian


def _normal_third(z: np.ndarray, shown: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Σ_ij S_ij ∂³ log P/∂z_i ∂z_j ∂z_k, (c, k): third cumulants over the tilted e."""
    _, weight, h, excess, third = _integrand(z, shown)
    h2, h3 = -h * excess, h * third
    own = np.einsum("cii->ci", S)
    mean, mean2 = (np.einsum("cq,cqk->ck", weight, part) for part in (h, h2))
    centred, centred2 = h - mean[:, None], h2 - mean2[:, None]
    moved = np.matmul(centred, S)
    square = np.sum(centred * moved, axis=2) + np.einsum("cqk,ck->cq", centred2, own)
    return (
        np.einsum("cq,cq,cqk->ck", weight, square, centred)
        + 2.0 * np.einsum("cq,cqk,cqk->ck", weight, centred2, moved)
        + own * np.einsum("cq,cqk->ck", weight, h3)
    )
