"""BinomialLogit: y successes in n trials, log p(y | η) = log C(n, y) + y η − n log(1 + e^η)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.binomial import Binomial
from credo.distributions.likelihoods.base import Likelihood, bad_rows, column
from credo.distributions.likelihoods.bernoulli import BernoulliLogit
from credo.errors import ParameterError
from credo.numerics.namespace import namespace

__all__ = ["BinomialLogit"]


@dataclass(frozen=True, eq=False)
class BinomialLogit(Likelihood):
    """Successes in a known number of trials, with logit link. Derivatives in η are n times the Bernoulli's at y/n.

    Parameters
    ----------
    trials : n ≥ 1, an integer or one a row.

    Examples
    --------
    >>> import numpy as np
    >>> likelihood = BinomialLogit(np.array([10, 4]))
    >>> value, slope, curvature = likelihood.value_and_derivatives(np.array([7.0, 0.0]), np.array([0.0, 1.0]))
    >>> value.round(4).tolist(), slope.round(4).tolist(), curvature.round(4).tolist()
    ([-2.144, -5.253], [2.0, -2.9242], [-2.5, -0.7864])
    """

    trials: Any = 1

    kind = "count"

    def __post_init__(self) -> None:
        trials = np.asarray(self.trials, dtype=np.float64)
        if trials.ndim > 1 or not np.all((trials >= 1) & (np.floor(trials) == trials) & np.isfinite(trials)):
            raise ParameterError("BinomialLogit", "trials", "integers ≥ 1, a number or one a row", self.trials)
        object.__setattr__(self, "trials", trials[()])

    def check(self, y: Any) -> np.ndarray:
        y = column("BinomialLogit", y)
        if np.ndim(self.trials) and np.shape(self.trials) != y.shape:
            raise ParameterError("BinomialLogit", "trials", f"one a row ({y.size} rows)", self.trials)
        bad_rows("BinomialLogit", y, (y < 0) | (y > self.trials) | (np.floor(y) != y), "counts from 0 to trials")
        return y

    def initial_eta(self, y: Any) -> np.ndarray:
        """log (y + ½)/(n − y + ½)."""
        return np.log(np.add(y, 0.5)) - np.log(self.trials - np.asarray(y) + 0.5)

    def natural(self, psi: Any = None) -> tuple[Any, ...]:
        """The trials, known, in the place of auxiliary values: so that they follow their rows."""
        return (self.trials,)

    def _log_prob(self, y: Any, eta: Any, trials: Any) -> Any:
        """−log B(y + 1, n − y + 1) − log(n + 1) + y η − n log(1 + e^η)."""
        xp = namespace(y, eta)
        y = xp.asarray(y)
        choose = -xp.special.betaln(y + 1.0, trials - y + 1.0) - xp.log1p(trials)
        return choose - y * xp.logaddexp(0.0, -eta) - (trials - y) * xp.logaddexp(0.0, eta)

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, trials: Any) -> tuple[Any, ...]:
        p, q = scipy.special.expit(eta), scipy.special.expit(-eta)
        second = -trials * p * q
        return y * q - (trials - y) * p, second, second * (q - p)

    def mean(self, eta: Any, psi: Any = None) -> Any:
        """n p."""
        return self.trials * namespace(eta).special.expit(eta)

    def link(self, mean: Any) -> Any:
        """log (mean/n)/(1 − mean/n)."""
        return namespace(mean).special.logit(mean / self.trials)

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """n p (1 − p)."""
        return self.trials * BernoulliLogit().variance(eta)

    def law(self, eta: Any, psi: Any = None) -> Binomial:
        """`Binomial` of n and p."""
        return Binomial(self.trials, BernoulliLogit().mean(eta))

    def predictive_mean(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """n E p."""
        return self.trials * BernoulliLogit().predictive_mean(m, v)

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """n E p(1 − p)."""
        return self.trials * BernoulliLogit().aleatoric(m, v)

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """n² Var p."""
        return self.trials**2 * BernoulliLogit().epistemic(m, v)
