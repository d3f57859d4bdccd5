"""BernoulliCloglog: P(y = 1) = 1 − exp(−e^η): whether a Poisson count of mean e^η is positive.

With μ = e^η: for y = 0, ℓ = −μ and so are its derivatives. For y = 1, with g = μ/(e^μ − 1) and k = 1 − μ − g,

    ℓ = log(1 − e^−μ);  ℓ′ = g;  ℓ″ = g k;  ℓ‴ = g k² − g (μ + g k).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods.bernoulli import Binary
from credo.numerics.namespace import namespace

__all__ = ["BernoulliCloglog"]

# (μ/2) coth(μ/2) − 1 = Σ B_2n μ^2n/(2n)!: eleven terms leave (1/2π)²⁴ < 1e-19 of it up to μ = 1.
_COTH = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
    77683 / 14101100039391805440000,
)  # fmt: skip


@dataclass(frozen=True)
class BernoulliCloglog(Binary):
    """Binary outcomes with complementary log-log link: grouped survival times, presence in a sample; skewed.

    Examples
    --------
    >>> import numpy as np
    >>> cloglog = BernoulliCloglog()
    >>> cloglog.mean(np.array([-1000.0, 0.0])).round(6).tolist()
    [0.0, 0.632121]
    >>> [part.round(4).tolist() for part in cloglog.value_and_derivatives(np.array([1.0]), np.array([0.0]))]
    [[-0.4587], [0.582], [-0.3387]]
    """

    def _log_prob(self, y: Any, eta: Any) -> Any:
        """−μ, or log(1 − e^−μ) = η + log((1 − e^−μ)/μ)."""
        xp = namespace(y, eta)
        mu = xp.exp(xp.minimum(eta, 700.0))
        small = xp.exp(xp.minimum(eta, 0.0))
        lower = xp.where(eta > -36.0, xp.log(-xp.expm1(-xp.maximum(small, 1e-300))), eta)
        one = xp.where(xp.asarray(eta) > 0, xp.log1p(-xp.exp(-xp.maximum(mu, 1.0))), lower)
        return xp.where(xp.asarray(y) > 0, one, -xp.where(xp.asarray(eta) > 700.0, xp.exp(eta), mu))

    def _derivatives(self, y: Any, eta: np.ndarray, order: int) -> tuple[Any, ...]:
        mu = np.exp(np.minimum(eta, 6.7))  # g is 0 from μ = 745 on
        g = np.where(mu > 0, mu / np.where(mu > 0, np.expm1(mu), 1.0), 1.0)
        small = np.minimum(mu, 1.0)
        coth = np.zeros_like(small)
        for coefficient in reversed(_COTH):
            coth = coth * small**2 + coefficient
        # 1 − μ − g = −μ/2 − ((μ/2) coth(μ/2) − 1) loses its digits for small μ
        k = np.where(mu < 1.0, -0.5 * small - coth * small**2, 1.0 - mu - g)
        second = g * k
        third = g * (k * k - mu - second)
        none = -np.exp(eta)
        return tuple(np.where(np.asarray(y) > 0, one, none) for one in (g, second, third))

    def mean(self, eta: Any, psi: Any = None) -> Any:
        """1 − exp(−e^η)."""
        xp = namespace(eta)
        return -xp.expm1(-xp.exp(xp.minimum(eta, 700.0)))

    def link(self, mean: Any) -> Any:
        """log(−log(1 − mean))."""
        xp = namespace(mean)
        return xp.log(-xp.log1p(-xp.asarray(mean)))
