"""NegativeBinomialLog: counts with mean μ = e^η and variance μ + μ²/φ.

Notation: t = η − log φ, p = μ/(μ + φ) = σ(t), q = 1 − p. In η, with ℓ′ = y q − φ p,

    ℓ = log Γ(y + φ)/(Γ(φ) y!) − y log(1 + φ/μ) − φ log(1 + μ/φ);  ℓ″ = −(y + φ) p q;  ℓ‴ = ℓ″ (q − p);

in u = log φ, with φ log((φ + y)/(φ + μ)) = φ log(1 + ℓ′/φ),

    ℓ_u = φ log(1 + ℓ′/φ) − ℓ′ + φ [log φ − ψ(φ)] − φ [log(y + φ) − ψ(y + φ)];
    ℓ_ηu = p ℓ′;  ℓ_uu = ℓ_u + ℓ′²/(y + φ) − φ² [ψ̃(φ) − ψ̃(y + φ)],  ψ̃(a) = ψ′(a) − 1/a.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.likelihoods.base import bad_rows, column
from credo.distributions.likelihoods.log_link import LogLink
from credo.distributions.likelihoods.priors import half_normal_inverse_root
from credo.distributions.likelihoods.series import trigamma_excess
from credo.distributions.negative_binomial import NegativeBinomial
from credo.distributions.stirling import log_minus_digamma, stirling_error
from credo.numerics.namespace import namespace

__all__ = ["NegativeBinomialLog"]

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
# Counts below this are looked up; a table costs as much as that many rows.
TABLE = 1024


@dataclass(frozen=True, eq=False)
class NegativeBinomialLog(LogLink):
    """Overdispersed counts with log link: variance μ + μ²/φ, φ the dispersion (Stan's phi, R's theta; 1/α elsewhere).

    Parameters
    ----------
    dispersion : φ > 0, a number or one a row, large near the Poisson. None learns it with φ^(−½) ~ HalfNormal(1), a
        `Family` learns it under that prior. ψ = (log φ).

    Examples
    --------
    >>> import numpy as np
    >>> counts = NegativeBinomialLog()
    >>> counts.auxiliary
    ('log_dispersion',)
    >>> value, gradient, hessian = counts.joint_derivatives(np.array([3.0]), np.array([0.0]), np.log([2.0]))
    >>> value.round(4).tolist(), gradient.round(4).tolist()
    ([-2.7205], [[1.3333, 0.0224]])
    """

    dispersion: Any = None

    kind = "count"
    positive = ("dispersion",)

    @property
    def without_mean(self) -> tuple[str, ...]:
        """φ under its default prior, which falls as φ^(−3/2) while the likelihood tends to the Poisson's > 0."""
        return ("dispersion",) if self.dispersion is None else ()

    def check(self, y: Any) -> np.ndarray:
        y = column("NegativeBinomialLog", y)
        bad_rows("NegativeBinomialLog", y, (y < 0) | (np.floor(y) != y), "counts (integers ≥ 0)")
        return y

    def initial_eta(self, y: Any) -> np.ndarray:
        """log(y + ½)."""
        return np.log(np.asarray(y, dtype=np.float64) + 0.5)

    def _start(self, y: np.ndarray) -> dict[str, float]:
        """From the moments: mean²/(variance − mean), kept between 0.1 and 100."""
        mean, excess = float(y.mean()), float(y.var() - y.mean())
        return {"dispersion": float(np.clip(mean**2 / excess, 0.1, 100.0)) if excess > 0 and mean > 0 else 10.0}

    def _default_prior(self, name: str) -> Any:
        return half_normal_inverse_root

    def _log_prob(self, y: Any, eta: Any, phi: Any) -> Any:
        """The mass, its Gamma functions by Stirling errors; near y = μ < φ relative to the mode, where terms cancel."""
        xp = namespace(y, eta, phi)
        t = eta - xp.log(phi)
        above, below = xp.logaddexp(0.0, t), xp.logaddexp(0.0, -t)
        k = xp.where(xp.asarray(y) > 0, y, 1.0) * 1.0
        constant, log_k = _by_count(_constant, xp, k, phi), _by_count(_log, xp, k, phi)
        apart = _by_count(_binomial, xp, k, phi) - k * below - phi * above
        d = eta - log_k
        near = xp.clip(d, -2.0, 2.0)
        close = k * near - (k + phi) * xp.log1p(k / (k + phi) * xp.expm1(near))
        positive = constant + xp.where((phi > k) & (xp.abs(d) < 2.0), close, apart)
        return xp.where(xp.asarray(y) > 0, positive, -phi * above)

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, phi: Any) -> tuple[Any, ...]:
        t = eta - np.log(phi)
        p, q = scipy.special.expit(t), scipy.special.expit(-t)
        second = -(y + phi) * p * q
        return y * q - phi * p, second, second * (q - p)

    def _joint(self, y: Any, eta: np.ndarray, phi: Any) -> tuple[list[Any], list[list[Any]]]:
        slope, second = self._derivatives(y, eta, 2, phi)[:2]
        t = eta - np.log(phi)
        p = scipy.special.expit(t)
        ratio = slope / phi
        # log((φ + y)/(φ + μ)): as log(1 + small) where it is, else from its two logarithms.
        near = np.where(np.abs(ratio) < 0.5, ratio, 0.0)
        log_ratio = np.where(np.abs(ratio) < 0.5, np.log1p(near), np.log1p(y / phi) - np.logaddexp(0.0, t))
        total = np.add(y, phi)
        along = phi * log_ratio - slope + phi * _by_count(_digammas, namespace(), y, phi)
        bend = along + slope * slope / total - phi * phi * _by_count(_trigammas, namespace(), y, phi)
        return [slope, along], [[second, p * slope], [bend]]

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """μ + μ²/φ."""
        (phi,), mu = self.natural(psi), self.mean(eta)
        return mu * (1.0 + mu / phi)

    def law(self, eta: Any, psi: Any = None) -> NegativeBinomial:
        """`NegativeBinomial` with mean e^η and shape φ."""
        (phi,) = self.natural(psi)
        return NegativeBinomial(self._rate(eta), phi)

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E μ + E μ²/φ."""
        (phi,) = self.natural(psi)
        return self.predictive_mean(m, v) + self._second_moment(m, v) / phi


def _by_count(f: Callable[[Any, Any, Any], Any], xp: Any, k: Any, phi: Any) -> Any:
    """f(xp, k, φ); for one φ and counts below a table's reach, which real counts nearly all are, from a table."""
    if xp.name == "numpy" and np.ndim(phi) == 0 and np.size(k) > TABLE // 16:
        index = np.asarray(k).astype(np.intp)
        if index.min() >= 0 and index.max() < TABLE and np.array_equal(index, k):
            return f(xp, np.arange(index.min(), index.max() + 1.0), phi)[index - index.min()]
    return f(xp, xp.asarray(k) * 1.0, phi)


def _log(xp: Any, k: Any, phi: Any) -> Any:
    return xp.log(k)


def _constant(xp: Any, k: Any, phi: Any) -> Any:
    """log Γ(k + φ)/(Γ(φ) k!) less `_binomial`: what Stirling's formula leaves, k > 0."""
    errors = stirling_error(xp, k + phi) - stirling_error(xp, k) - stirling_error(xp, xp.asarray(phi))
    return errors - 0.5 * xp.log(k) - 0.5 * xp.log1p(k / phi) - HALF_LOG_2PI


def _binomial(xp: Any, k: Any, phi: Any) -> Any:
    """k log(1 + φ/k) + φ log(1 + k/φ), k > 0."""
    return k * xp.log1p(phi / k) + phi * xp.log1p(k / phi)


def _digammas(xp: Any, k: Any, phi: Any) -> Any:
    """[log φ − ψ(φ)] − [log(k + φ) − ψ(k + φ)]."""
    return log_minus_digamma(xp, xp.asarray(phi)) - log_minus_digamma(xp, k + phi)


def _trigammas(xp: Any, k: Any, phi: Any) -> Any:
    """ψ̃(φ) − ψ̃(k + φ)."""
    return trigamma_excess(phi) - trigamma_excess(k + phi)
