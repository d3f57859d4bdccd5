"""Pólya–Gamma PG(b, z): E exp(−t ω) = (cosh(z/2)/cosh √(z²/4 + t/2))ᵇ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, Family
from credo.distributions.support import POSITIVE, Support
from credo.errors import ParameterError, UnavailableError

__all__ = ["PolyaGamma", "draw_polya_gamma"]

# Where the two envelopes of Devroye's sampler meet: at most 1.0008 proposals are needed a draw.
MEETING = 0.64
# Below this tilt the moments are taken from their series, since the closed forms are 0/0.
SMALL = 0.05


@dataclass(frozen=True, eq=False)
class PolyaGamma(Family):
    """The law that makes logistic models Gaussian: a sum of b draws of PG(1, z).

    With ω ~ PG(b, 0), (e^η)^a/(1 + e^η)^b = 2⁻ᵇ e^{(a − b/2)η} E exp(−ωη²/2), and ω | η ~ PG(b, η).

    Parameters
    ----------
    shape : b > 0; draws need a whole number
    tilt : z, real; PG(b, z) = PG(b, −z)

    Examples
    --------
    >>> PolyaGamma(1.0, 2.0).mean.round(6).item()
    0.190399

    References
    ----------
    Polson, Scott and Windle (2013), Bayesian inference for logistic models using Pólya–Gamma latent variables, JASA
    108;
    Devroye (2009), On exact simulation algorithms for some distributions related to Jacobi theta functions.
    """

    shape: Any = 1.0
    tilt: Any = 0.0

    domain: ClassVar[dict[str, Constraint]] = {"shape": POSITIVE_VALUE, "tilt": FINITE}

    @property
    def support(self) -> Support:
        return POSITIVE

    @property
    def mean(self) -> Any:
        """b tanh(z/2)/(2z)."""
        z = np.abs(np.asarray(self.tilt, dtype=np.float64))
        safe = np.maximum(z, SMALL)
        near = 0.25 - z**2 / 48.0 + z**4 / 480.0
        return self.shape * np.where(z < SMALL, near, np.tanh(0.5 * safe) / (2.0 * safe))

    @property
    def variance(self) -> Any:
        """b (sinh z − z)/(4 z³ cosh²(z/2))."""
        z = np.abs(np.asarray(self.tilt, dtype=np.float64))
        safe = np.maximum(z, SMALL)
        # (sinh z − z)/cosh²(z/2) = 2 tanh(z/2) − z (1 − tanh²(z/2)), which does not overflow
        tanh = np.tanh(0.5 * safe)
        far = (2.0 * tanh - safe * (1.0 - np.square(tanh))) / (4.0 * safe**3)
        near = 1.0 / 24.0 - z**2 / 120.0 + 17.0 * z**4 / 13440.0
        return self.shape * np.where(z < SMALL, near, far)

    def log_laplace(self, t: Any) -> Any:
        """log E exp(−t ω), t ≥ 0."""
        z = np.abs(np.asarray(self.tilt, dtype=np.float64))
        return self.shape * (_log_cosh(0.5 * z) - _log_cosh(np.sqrt(0.25 * z**2 + 0.5 * np.asarray(t))))

    def log_prob(self, x: Any) -> Any:
        """Raises `UnavailableError`: an alternating series that no sampler here needs."""
        raise UnavailableError("The Pólya–Gamma density is not offered.", remedy="Use its moments, transform or draws.")

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        shape = size + self.batch_shape
        b = np.broadcast_to(np.asarray(self.shape, dtype=np.float64), shape)
        if np.any(b != np.floor(b)):
            raise ParameterError("PolyaGamma.sample", "shape", "a whole number", self.shape)
        return draw_polya_gamma(b, np.broadcast_to(np.asarray(self.tilt, dtype=np.float64), shape), rng)


def draw_polya_gamma(shape: np.ndarray, tilt: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Exact draws of PG(shape, tilt) for whole shapes ≥ 0, elementwise over equal arrays. Cost Σ shape."""
    counts = shape.astype(np.int64).ravel()
    if np.all(counts == 1):
        return draw_unit(np.abs(tilt).ravel(), rng).reshape(tilt.shape)
    owner = np.repeat(np.arange(counts.size), counts)
    units = draw_unit(np.abs(tilt).ravel()[owner], rng)
    return np.bincount(owner, units, minlength=counts.size).reshape(tilt.shape)


def draw_unit(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """PG(1, z), z ≥ 0 (n,): a proposal from two envelopes, accepted by the partial sums of an alternating series."""
    half = 0.5 * z
    rate = 0.125 * np.pi**2 + 0.5 * np.square(half)
    log_right = np.log(0.5 * np.pi / rate) - rate * MEETING
    root = np.sqrt(1.0 / MEETING)
    log_left = np.log(2.0) + np.logaddexp(
        special.log_ndtr(root * (MEETING * half - 1.0)) - half, special.log_ndtr(-root * (MEETING * half + 1.0)) + half
    )
    share = special.expit(log_right - log_left)
    result, open_ = np.empty_like(z), np.arange(z.size)
    while open_.size:
        right = rng.random(open_.size) < share[open_]
        x = np.empty(open_.size)
        x[right] = MEETING + rng.standard_exponential(int(right.sum())) / rate[open_[right]]
        x[~right] = _truncated_inverse_gaussian(half[open_[~right]], rng)
        accepted = _series_accepts(x, rng)
        result[open_[accepted]] = 0.25 * x[accepted]
        open_ = open_[~accepted]
    return result


def _truncated_inverse_gaussian(rate: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Inverse Gaussian with mean 1/rate and shape 1, given that it is below MEETING."""
    result, open_ = np.empty_like(rate), np.arange(rate.size)
    while open_.size:
        z = rate[open_]
        x = np.empty(open_.size)
        broad = z < 1.0 / MEETING  # the mean is beyond: from the tail of 1/χ²₁, thinned
        n = int(broad.sum())
        e = _tail_pairs(n, rng)
        x[broad] = MEETING / np.square(1.0 + MEETING * e)
        keep = np.ones(open_.size, dtype=bool)
        keep[broad] = rng.random(n) <= np.exp(-0.5 * np.square(z[broad]) * x[broad])
        narrow = ~broad
        x[narrow] = _inverse_gaussian(z[narrow], rng)
        keep &= x <= MEETING
        result[open_[keep]] = x[keep]
        open_ = open_[~keep]
    return result


def _tail_pairs(n: int, rng: np.random.Generator) -> np.ndarray:
    """Exponentials e kept where e² ≤ 2 e′/MEETING: MEETING/(1 + MEETING e)² is then 1/χ²₁ below MEETING."""
    result, open_ = np.empty(n), np.arange(n)
    while open_.size:
        e, other = rng.standard_exponential((2, open_.size))
        keep = np.square(e) <= 2.0 * other / MEETING
        result[open_[keep]] = e[keep]
        open_ = open_[~keep]
    return result


def _inverse_gaussian(rate: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mean 1/rate, shape 1 (Michael, Schucany and Haas 1976), the small root written without cancellation."""
    mean = 1.0 / rate
    t = 0.5 * mean * np.square(rng.standard_normal(rate.size))
    small = mean / (1.0 + t + np.sqrt(t * (2.0 + t)))
    return np.where(rng.random(rate.size) * (mean + small) <= mean, small, np.square(mean) / small)


def _series_accepts(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whether u a₀ lies below Σ (−1)ᵏ aₖ(x): odd partial sums are below the limit, even ones above."""
    total = _term(0, x)
    level = rng.random(x.size) * total
    decided, accepted = np.zeros(x.size, dtype=bool), np.zeros(x.size, dtype=bool)
    k = 0
    while not decided.all():
        k += 1
        total = total + (_term(k, x) if k % 2 == 0 else -_term(k, x))
        newly = ~decided & ((level <= total) if k % 2 else (level > total))
        accepted |= newly & bool(k % 2)
        decided |= newly
    return accepted


def _term(k: int, x: np.ndarray) -> np.ndarray:
    a = k + 0.5
    far = x > MEETING
    exponent = np.where(far, -0.5 * np.square(a * np.pi) * x, -2.0 * a * a / x)
    return np.pi * a * np.exp(exponent) * np.where(far, 1.0, (2.0 / (np.pi * x)) ** 1.5)


def _log_cosh(x: np.ndarray) -> np.ndarray:
    return x + np.log1p(np.exp(-2.0 * x)) - np.log(2.0)
