"""Binary outcomes, and `BernoulliLogit`: log p(y | η) = y η − log(1 + e^η), y ∈ {0, 1}; p = 1/(1 + e^−η)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.bernoulli import Bernoulli
from credo.distributions.likelihoods.base import Likelihood, bad_rows, column, gaussian
from credo.distributions.likelihoods.integrals import expected_smooth, expected_step
from credo.numerics.namespace import namespace

__all__ = ["Binary", "BernoulliLogit"]


class Binary(Likelihood):
    """What the links of y ∈ {0, 1} share; p = E[y | η] is `mean`."""

    kind = "class"

    def check(self, y: Any) -> np.ndarray:
        owner = type(self).__name__
        y = column(owner, y)
        bad_rows(owner, y, (y != 0) & (y != 1), "0 or 1", "Code the two classes as 0 and 1.")
        return y

    def initial_eta(self, y: Any) -> np.ndarray:
        """link of (y + ½)/2, ± log 3 for a class under logit."""
        return self.link(0.5 * (np.asarray(y, dtype=np.float64) + 0.5))

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """p (1 − p), without cancellation."""
        xp = namespace(eta)
        return self.mean(eta) * xp.exp(self._log_prob(0.0, eta))

    def law(self, eta: Any, psi: Any = None) -> Bernoulli:
        """`Bernoulli` with probability p."""
        return Bernoulli(self.mean(eta))

    def predictive_mean(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """P(y = 1) = E p, relative error below 1e-10 even where it is tiny."""
        return np.exp(self.predictive_log_prob(1.0, m, v))

    def predictive_probabilities(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """(..., 2): P(y = 0), P(y = 1)."""
        p = self.predictive_mean(m, v)
        return np.stack([1.0 - p, p], axis=-1)

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E p(1 − p); absolute error below 1e-12."""
        return self._expected(lambda rows, eta: self.variance(eta), m, v)

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """Var p, as E (p − E p)²: no cancellation where v is small."""
        m, v = gaussian(type(self).__name__, m, v)
        center = np.atleast_1d(self.predictive_mean(m, v)).ravel()
        ends = center**2, (1.0 - center) ** 2
        return self._expected(lambda rows, eta: (self.mean(eta) - center[rows]) ** 2, m, v, *ends)

    def expected_entropy(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E H(y | η) in nats; absolute error below 1e-12."""
        return self._expected(lambda rows, eta: self._entropy(eta), m, v)

    def _entropy(self, eta: np.ndarray) -> np.ndarray:
        """−Σ p log p, each term 0 where its p is."""
        total = np.zeros(np.shape(eta))
        with np.errstate(over="ignore"):
            for y in (0.0, 1.0):
                log_p = np.maximum(self._log_prob(y, eta), -800.0)  # e⁻⁸⁰⁰ is 0
                total -= np.exp(log_p) * log_p
        return total

    #: how expectations over a Gaussian η are taken
    _rule = staticmethod(expected_smooth)

    def _expected(self, f: Any, m: Any, v: Any, low: Any = 0.0, high: Any = 0.0) -> np.ndarray:
        """E f(η), f tending to `low` and `high`."""
        m, v = gaussian(type(self).__name__, m, v)
        return self._rule(f, m.ravel(), v.ravel(), low, high).reshape(m.shape)[()]


@dataclass(frozen=True)
class BernoulliLogit(Binary):
    """Binary outcomes with logit link. Counts of n trials are two weighted rows, or y = k/n with weight n.

    Derivatives in η: y − p; −p(1 − p); −p(1 − p)(1 − 2p).

    Examples
    --------
    >>> import numpy as np
    >>> logit = BernoulliLogit()
    >>> value, slope, curvature = logit.value_and_derivatives(np.array([1.0, 1.0]), np.array([0.0, -1000.0]))
    >>> value.round(4).tolist(), slope.tolist(), curvature.tolist()
    ([-0.6931, -1000.0], [0.5, 1.0], [-0.25, -0.0])
    >>> logit.predictive_mean(np.array([1.0]), np.array([4.0])).round(6).tolist()
    [0.647726]
    """

    _rule = staticmethod(expected_step)

    def _log_prob(self, y: Any, eta: Any) -> Any:
        """y η − log(1 + e^η), for finite η of any size."""
        xp = namespace(y, eta)
        # y η − max(η, 0) is written as one product: it cannot cancel.
        return xp.where(eta > 0, y - 1.0, y) * eta - xp.log1p(xp.exp(-xp.abs(eta)))

    def value_and_derivatives(
        self, y: Any, eta: Any, order: int = 2, out: tuple[np.ndarray, ...] | None = None, psi: Any = None
    ) -> tuple[np.ndarray, ...]:
        """Everything from one exp(−|η|): r = min(p, 1 − p) keeps its digits in both tails."""
        eta = np.asarray(eta, dtype=np.float64)
        shape = np.broadcast_shapes(np.shape(y), eta.shape)
        parts = out or tuple(np.empty(shape) for _ in range(order + 1))
        tail = np.abs(eta, out=np.empty(eta.shape))  # an array for a single row too
        np.exp(np.negative(tail, out=tail), out=tail)
        excess = np.subtract(y, ~np.signbit(eta), dtype=np.float64)
        np.multiply(excess, eta, out=parts[0])
        np.subtract(parts[0], np.log1p(tail), out=parts[0])
        if order >= 1:
            smaller = tail / (1.0 + tail)
            np.add(excess, np.copysign(smaller, eta), out=parts[1])
        if order >= 2:
            np.multiply(smaller, smaller - 1.0, out=parts[2])
        if order >= 3:
            np.multiply(parts[2], np.copysign(1.0 - 2.0 * smaller, -eta), out=parts[3])
        return parts[: order + 1]

    def mean(self, eta: Any, psi: Any = None) -> Any:
        """p = 1/(1 + e^−η)."""
        return namespace(eta).special.expit(eta)

    def link(self, mean: Any) -> Any:
        """log p/(1 − p)."""
        return namespace(mean).special.logit(mean)

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """p (1 − p), without cancellation."""
        expit = namespace(eta).special.expit
        return expit(eta) * expit(-eta)

    def _entropy(self, eta: np.ndarray) -> np.ndarray:
        """H = log(1 + e^−|η|) + |η| min(p, 1 − p)."""
        size = np.abs(eta)
        return np.log1p(np.exp(-size)) + size * scipy.special.expit(-size)
