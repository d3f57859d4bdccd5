"""The softmax as Poisson counts: what one row's k functions are under its exact term, each row by itself.

    softmax_y(f) = ∫ Π_c Poisson(1[c = y] | e^{f_c − t}) dt

(t is the log of the rate that all classes share), so that given t the classes part, and each term has one argument
η_c = f_c − t. Sites exp(ν_c η_c − ½ τ_c η_c²) of these, t integrated out, are a site of f

    exp(βᵀf − ½ fᵀT f),  T = diag τ − ττᵀ/s,  β = ν − τ b/s,  s = Σ τ_c,  b = Σ ν_c

of the very structure that Laplace's W has, which is what keeps k classes at k n³. The sites of a row are those of EP
within the row: their cavities are in one dimension, whatever k.

Reference: Riihimäki, Jylänki and Vehtari (2013), Nested expectation propagation for Gaussian process classification
with a multinomial probit likelihood, JMLR 14; Baker (1994), The multinomial–Poisson transformation, The Statistician
43.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

__all__ = ["Rows", "RowSites", "poisson_moments", "settled"]

# exp(−40) = 4e-18: what lies beyond adds less than rounding.
NEGLIGIBLE = 40.0
# exp(−e^η) is analytic within π/2 of the line, so that nodes 0.3 apart err by exp(−π²/0.3) = 5e-15; integrands wider
# than 22 take nodes that thin out from the bend (cf. `likelihoods/integrals`).
NARROW, NARROW_NODES, WIDE_NODES = 22.0, 73, 361
# Sweeps within rows at a time: the first few do nearly all, and the next sweep of the whole goes on from there.
SWEEPS = 4
# A site that says nothing is kept this precise, so that T has its structure, and D an inverse root.
LEAST = 1e-10
# Sites of a row of which nothing is known: those of a count of 1/k.
BEGIN = 0.5


class RowSites(NamedTuple):
    """τ > 0 and ν (n, k)."""

    tau: np.ndarray
    nu: np.ndarray

    @classmethod
    def empty(cls, n: int, k: int) -> RowSites:
        return cls(np.full((n, k), BEGIN), np.zeros((n, k)))

    @property
    def total(self) -> np.ndarray:
        """s (n, 1)."""
        return self.tau.sum(axis=1, keepdims=True)

    @property
    def beta(self) -> np.ndarray:
        """(n, k)."""
        return self.nu - self.tau * (self.nu.sum(axis=1, keepdims=True) / self.total)

    def matrices(self) -> np.ndarray:
        """T (n, k, k)."""
        k = self.tau.shape[1]
        return self.tau[:, :, None] * (np.eye(k) - (self.tau / self.total)[:, None, :])


class Rows(NamedTuple):
    """What EP within rows comes to: mean (n, k) and covariance (n, k, k) of f, the sites to go on with, the logs (n,)
    of what the sites lack of the terms (t's integral included), and by how much the sites' marginals last moved, in
    sds."""

    mean: np.ndarray
    covariance: np.ndarray
    sites: RowSites
    lack: np.ndarray
    gap: float


def settled(counts: np.ndarray, mean: np.ndarray, covariance: np.ndarray, start: RowSites, tol: float) -> Rows:
    """EP within each row, under cavities N(mean (n, k), covariance (n, k, k)); counts (n, k) are 1 in the row's class.

    Until no site's marginal moves by more than `tol` sds. Cost some 100 n k evaluations of an exponential a sweep.
    """
    row = _row(counts, mean, covariance, start)
    for _ in range(SWEEPS):
        if row.gap <= tol:
            break
        row = _row(counts, mean, covariance, row.sites)
    return row


def _row(counts: np.ndarray, mean: np.ndarray, covariance: np.ndarray, sites: RowSites) -> Rows:
    """One sweep."""
    tau, nu = sites
    k = tau.shape[1]
    T, s = sites.matrices(), sites.total
    spread = np.linalg.solve(np.eye(k) + covariance @ T, covariance)
    spread = 0.5 * (spread + np.swapaxes(spread, 1, 2))
    centre = mean + np.einsum("ncd,nd->nc", spread, sites.beta - np.einsum("ncd,nd->nc", T, mean))
    # η = f − t, and t given f is N((τᵀf − b)/s, 1/s)
    away = np.eye(k) - (tau / s)[:, None, :]
    eta = np.einsum("ncd,nd->nc", away, centre) + nu.sum(axis=1, keepdims=True) / s
    variance = 1.0 / s + np.einsum("ncd,nde,nce->nc", away, spread, away)
    precision, pull = 1.0 / variance - tau, eta / variance - nu
    precision = np.maximum(precision, 1e-12 / variance)  # rounding
    log_z, tilted, narrow = poisson_moments(counts, pull / precision, 1.0 / precision)
    wanted = RowSites(np.maximum(1.0 / narrow - precision, LEAST), tilted / narrow - pull)
    gap = max(float(np.max(np.abs(tilted - eta) / np.sqrt(variance))), float(np.max(np.abs(np.log(narrow / variance)))))
    lack = np.sum(log_z + _partition(precision, pull) - _partition(1.0 / variance, eta / variance), axis=1)
    lack += 0.5 * nu.sum(axis=1) ** 2 / s[:, 0] + 0.5 * np.log(2.0 * np.pi / s[:, 0])
    return Rows(centre, spread, wanted, lack, gap)


def _partition(precision: np.ndarray, pull: np.ndarray) -> np.ndarray:
    return 0.5 * pull * pull / precision - 0.5 * np.log(precision)


def poisson_moments(counts: np.ndarray, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z, mean and variance of e^{y η} exp(−e^η) N(η; m, v)/Z, elementwise, y 0 or 1; relative error below 1e-9.

    e^{yη} moves the Gaussian to m + y v, with e^{y (m + v/2)} in front. The mode of the rest solves
    (m − η)/v = e^η, by Wright's ω.
    """
    shape = m.shape
    y, m, v = (np.broadcast_to(a, shape).ravel() for a in (counts, m, v))
    front, m = y * (m + 0.5 * v), m + y * v
    rate = scipy.special.wrightomega(m + np.log(v))  # v e^mode
    mode = m - rate
    e = rate / v

    def drop(x: np.ndarray, at: Any = slice(None)) -> np.ndarray:
        """How far the log of the integrand is below its highest, x from the mode."""
        return np.exp(np.minimum(mode[at] + x, 700.0)) - e[at] * (1.0 + x) + 0.5 * x * x / v[at]

    result = np.empty((3, m.size))
    low, high = -_reach(drop, -1.0, v), _reach(drop, 1.0, v)
    wide = high - low > NARROW
    for group, nodes in ((np.flatnonzero(~wide), NARROW_NODES), (np.flatnonzero(wide), WIDE_NODES)):
        if not group.size:
            continue
        left, right = low[group], high[group]
        u = np.linspace(0.0, 1.0, nodes)[:, None]
        if nodes == NARROW_NODES:
            x, step = left + (right - left) * u, (right - left) / (nodes - 1)
            mass = np.broadcast_to(step, x.shape)
        else:  # thin out from where e^η bends, η = 0
            bend = np.clip(-mode[group], left, right)
            a, b = np.arcsinh(left - bend), np.arcsinh(right - bend)
            w = a + (b - a) * u
            x, mass = bend + np.sinh(w), np.cosh(w) * ((b - a) / (nodes - 1))
        with np.errstate(under="ignore"):
            p = np.exp(-drop(x, group)) * mass
        total = p.sum(axis=0)
        p /= total
        centre = np.sum(p * x, axis=0)
        result[0, group] = np.log(total)
        result[1, group], result[2, group] = centre, np.sum(p * (x - centre) ** 2, axis=0)
    # The integrand at its mode: −e^η − ½ (η − m)²/v − ½ log 2πv, and (η − m)²/v = v e².
    peak = front - e - 0.5 * rate * e - 0.5 * np.log(2.0 * np.pi * v)
    return (peak + result[0]).reshape(shape), (mode + result[1]).reshape(shape), result[2].reshape(shape)


def _reach(drop: Callable[[np.ndarray], np.ndarray], side: float, v: np.ndarray) -> np.ndarray:
    """x > 0 at which the integrand, on that side of its mode, is exp(−40) of its highest; the Gaussian alone is at
    √80 sds. To two per cent, from above."""
    top = 0.5 * np.log(2.0 * NEGLIGIBLE * v)
    low, high = np.minimum(top, np.log(2e-3)) - 12.0, top
    for _ in range(12):
        middle = 0.5 * (low + high)
        inside = drop(side * np.exp(middle)) < NEGLIGIBLE
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.exp(high)
