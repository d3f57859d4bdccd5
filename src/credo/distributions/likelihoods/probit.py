"""BernoulliProbit: P(y = 1) = Φ(η).

With x = η for y = 1 and −η for y = 0, R = φ(x)/Φ(x) and d = x + R, in x:

    ℓ = log Φ(x);  ℓ′ = R;  ℓ″ = −R d;  ℓ‴ = R (d² + R d − 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.likelihoods.base import gaussian
from credo.distributions.likelihoods.bernoulli import Binary
from credo.numerics.namespace import namespace

__all__ = ["BernoulliProbit", "inverse_mills"]

ROOT_2_OVER_PI = float(np.sqrt(2.0 / np.pi))
# Below here x and R cancel in d to a tenth or less, and 40 terms of the continued fraction are exact to rounding.
FRACTION = -3.0


@dataclass(frozen=True)
class BernoulliProbit(Binary):
    """Binary outcomes with probit link: a threshold on η plus standard Normal noise.

    Its integrals over a Gaussian η are in closed form: P(y = 1) = Φ(m/√(1 + v)).

    Examples
    --------
    >>> import numpy as np
    >>> probit = BernoulliProbit()
    >>> parts = probit.value_and_derivatives(np.array([1.0, 1.0]), np.array([0.0, -1000.0]), order=3)
    >>> [float(f"{part[1]:.6g}") for part in parts]
    [-500008.0, 1000.0, -0.999999, 1.99998e-09]
    >>> probit.predictive_mean(np.array([1.0]), np.array([3.0])).round(6).tolist()
    [0.691462]
    """

    def _log_prob(self, y: Any, eta: Any) -> Any:
        """log Φ(± η)."""
        return namespace(y, eta).special.log_ndtr((2.0 * y - 1.0) * eta)

    def _derivatives(self, y: Any, eta: np.ndarray, order: int) -> tuple[Any, ...]:
        sign = 2.0 * np.asarray(y) - 1.0
        ratio, excess, third = inverse_mills(sign * eta)
        return sign * ratio, -ratio * excess, sign * ratio * third

    def mean(self, eta: Any, psi: Any = None) -> Any:
        """Φ(η)."""
        return namespace(eta).special.ndtr(eta)

    def link(self, mean: Any) -> Any:
        """Φ⁻¹."""
        return namespace(mean).special.ndtri(mean)

    def predictive_log_prob(self, y: Any, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """log Φ(± m/√(1 + v))."""
        m, v = gaussian("BernoulliProbit", m, v)
        return self._log_prob(np.asarray(y, dtype=np.float64), m / np.sqrt(1.0 + v))

    def tilted_moments(
        self, y: Any, m: Any, v: Any, psi: Any = None, power: Any = 1.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In closed form for power 1, by quadrature else.

        1 − R d is taken as d² − (d² + R d − 1), which keeps the digits of a variance much below v.
        """
        if np.any(np.asarray(power) != 1.0):
            return super().tilted_moments(y, m, v, psi, power)
        sign, root = 2.0 * np.asarray(y) - 1.0, np.sqrt(1.0 + v)
        x = sign * m / root
        ratio, excess, bracket = inverse_mills(x)
        variance = v * (1.0 + v * (excess * excess - bracket)) / (1.0 + v)
        return scipy.special.log_ndtr(x), m + sign * v * ratio / root, variance

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E p(1 − p) = 2 T(m/√(1 + v), 1/√(1 + 2v)), Owen's function."""
        m, v = gaussian("BernoulliProbit", m, v)
        return 2.0 * scipy.special.owens_t(m / np.sqrt(1.0 + v), 1.0 / np.sqrt(1.0 + 2.0 * v))

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """Var p = 2 T(a, 1) − 2 T(a, k), a = m/√(1 + v), k = 1/√(1 + 2v): one integral from k to 1, never a difference.

        (1/π) ∫ exp(−a² (1 + x²)/2)/(1 + x²) dx by 64 Gauss–Legendre nodes.
        """
        m, v = gaussian("BernoulliProbit", m, v)
        a2, root = m * m / (1.0 + v), np.sqrt(1.0 + 2.0 * v)
        width = 2.0 * v / (root * (root + 1.0))  # 1 − k
        nodes, weights = _legendre()
        x2 = (1.0 - width[..., None] * nodes) ** 2
        integral = (np.exp(-0.5 * a2[..., None] * (1.0 + x2)) / (1.0 + x2)) @ weights
        return (width * integral / np.pi)[()]


def inverse_mills(x: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """R = φ(x)/Φ(x), d = x + R and d² + R d − 1, each to a few roundings for every finite x.

    In the lower tail, a = −x, R = a + d with d = 1/(a + k), k = 2/(a + j), j = 3/(a + l), l = 4/(a + …) (Laplace's
    continued fraction), and the bracket is d (2d − k) = 2 d (j − k)/((a + k)(a + j)): nothing left to cancel.
    """
    x = np.asarray(x, dtype=np.float64)
    upper = np.maximum(x, FRACTION)
    with np.errstate(over="ignore"):
        ratio = ROOT_2_OVER_PI / scipy.special.erfcx(-upper / np.sqrt(2.0))
    excess = upper + ratio
    third = excess * excess + ratio * excess - 1.0
    low = x < FRACTION
    if np.any(low):
        a = -x[low]
        tail = a
        for n in range(60, 3, -1):
            tail = a + n / tail
        j = 3.0 / tail  # tail = a + l
        k = 2.0 / (a + j)
        d = 1.0 / (a + k)
        ratio, excess, third = (np.array(part) for part in (ratio, excess, third))
        ratio[low], excess[low], third[low] = a + d, d, 2.0 * d * (j - k) / ((a + k) * (a + j))
    return ratio, excess, third


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    """64 nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return 0.5 * (nodes + 1.0), 0.5 * weights
