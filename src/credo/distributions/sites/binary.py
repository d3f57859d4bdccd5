"""Laws of successes: one trial or many, with the probability a link of η."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from credo.distributions import likelihoods
from credo.distributions.likelihoods.probit import inverse_mills
from credo.distributions.sites.base import ExponentialForm, SiteLaw

__all__ = ["BernoulliLogit", "BernoulliProbit", "BernoulliCloglog", "BinomialLogit", "BinomialProbit"]


class BernoulliLogit(SiteLaw):
    """y ∈ {0, 1} with P(y = 1) = 1/(1 + e^−η).

    >>> [part.round(4).tolist() for part in BernoulliLogit().derivatives(np.array([1.0]), np.array([0.0]))]
    [[-0.6931], [0.5], [-0.25]]
    """

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.BernoulliLogit:
        return likelihoods.BernoulliLogit()

    def exponential_form(self, y: np.ndarray, psi: Sequence[Any] = ()) -> ExponentialForm:
        """y η − log(1 + e^η)."""
        return ExponentialForm(1, 1.0, 0.0, y, np.ones(len(y)), np.zeros(len(y)))


class BernoulliProbit(SiteLaw):
    """y ∈ {0, 1} with P(y = 1) = Φ(η).

    >>> [part.round(4).tolist() for part in BernoulliProbit().derivatives(np.array([1.0]), np.array([0.0]))]
    [[-0.6931], [0.7979], [-0.6366]]
    """

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.BernoulliProbit:
        return likelihoods.BernoulliProbit()


class BernoulliCloglog(SiteLaw):
    """y ∈ {0, 1} with P(y = 1) = 1 − exp(−e^η).

    >>> [part.round(4).tolist() for part in BernoulliCloglog().derivatives(np.array([0.0]), np.array([0.0]))]
    [[-1.0], [-1.0], [-1.0]]
    """

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.BernoulliCloglog:
        return likelihoods.BernoulliCloglog()


class BinomialLogit(SiteLaw):
    """y successes in `trials` (a number, or one a row) with probability 1/(1 + e^−η).

    >>> [part.round(4).tolist() for part in BinomialLogit(10).derivatives(np.array([7.0]), np.array([0.0]))]
    [[-2.144], [2.0], [-2.5]]
    """

    def __init__(self, trials: Any) -> None:
        self._likelihood = likelihoods.BinomialLogit(trials)

    def take(self, rows: np.ndarray) -> SiteLaw:
        return type(self)(self.trials[rows]) if np.ndim(self.trials) else self

    @property
    def trials(self) -> Any:
        return self._likelihood.trials

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.BinomialLogit:
        return self._likelihood

    def exponential_form(self, y: np.ndarray, psi: Sequence[Any] = ()) -> ExponentialForm | None:
        """y η − n log(1 + e^η) + log C(n, y)."""
        trials = np.broadcast_to(self.trials, len(y)).astype(np.float64)
        choose = -scipy.special.betaln(y + 1.0, trials - y + 1.0) - np.log1p(trials)
        return ExponentialForm(1, 1.0, 0.0, y, trials, choose)


class BinomialProbit(BinomialLogit):
    """y successes in `trials` (a number, or one a row) with probability Φ(η).

    >>> [part.round(4).tolist() for part in BinomialProbit(10).derivatives(np.array([7.0]), np.array([0.0]))]
    [[-2.144], [3.1915], [-6.3662]]
    """

    def exponential_form(self, y: np.ndarray, psi: Sequence[Any] = ()) -> None:
        return None

    def initial_eta(self, y: np.ndarray) -> np.ndarray:
        return scipy.special.ndtri((y + 0.5) / (self.trials + 1.0))

    def derivatives(
        self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = (), order: int = 2
    ) -> tuple[np.ndarray, ...]:
        """y log Φ(η) + (n − y) log Φ(−η) and its derivatives."""
        failures = self.trials - y
        choose = -scipy.special.betaln(y + 1.0, failures + 1.0) - np.log1p(self.trials)
        value = choose + y * scipy.special.log_ndtr(eta) + failures * scipy.special.log_ndtr(-eta)
        if order == 0:
            return (value,)
        (r, d, k), (low_r, low_d, low_k) = inverse_mills(eta), inverse_mills(-eta)
        slopes = (y * r - failures * low_r, -y * r * d - failures * low_r * low_d, y * r * k - failures * low_r * low_k)
        return (value, *slopes[:order])
