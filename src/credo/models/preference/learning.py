"""Hyperparameters of a preference model where the evidence times their priors is highest."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, NumericalError
from credo.inference.result import Result
from credo.kernels import Kernel
from credo.models.gaussian_process.learning import climb
from credo.models.preference.arrow import SharedPrior
from credo.models.preference.laplace import Gaussian, laplace
from credo.models.preference.outcomes import Outcomes
from credo.models.preference.propagation import Propagated, propagate
from credo.models.preference.scales import ScalesSpace

__all__ = ["Learner"]

# log ρ, a user's own share of the variance: half of what all share, within a factor of e^1.5 (± one sd).
DEVIATION_PRIOR = (float(np.log(0.5)), 1.5)
DEVIATION_BOUNDS = (float(np.log(1e-4)), float(np.log(1e4)))


class Learner:
    """The evidence of one history as a function of all hyperparameters: θ of the kernel, log ρ if learned, ψ.

    rows (m, d) of the items that occur; deviation : ρ, None to be learned; method : "laplace" or "ep"
    """

    def __init__(
        self, kernel: Kernel, rows: np.ndarray, outcomes: Outcomes, space: ScalesSpace, deviation: float | None,
        method: str,
    ) -> None:  # fmt: skip
        self.kernel, self.rows, self.outcomes, self.space = kernel, rows, outcomes, space
        self.stated = deviation if outcomes.users else 0.0
        self.method = method
        self.own = 1 if self.stated is None else 0
        self.start = np.concatenate([kernel.theta, [DEVIATION_PRIOR[0]] * self.own, space.start])
        self.bounds = np.concatenate([kernel.bounds, np.reshape([DEVIATION_BOUNDS] * self.own, (-1, 2)), space.bounds])
        self.names = (*kernel.names, *("log_deviation",) * self.own, *space.names)
        self.latest: Gaussian | None = None

    def split(self, theta: np.ndarray) -> tuple[Kernel, float, np.ndarray]:
        """Kernel, ρ and ψ."""
        h = self.kernel.theta.size
        rho = float(np.exp(theta[h])) if self.own else float(self.stated or 0.0)
        return self.kernel.with_theta(theta[:h]), rho, theta[h + self.own :]

    def prior(self, kernel: Kernel, rho: float) -> SharedPrior:
        each = np.full(self.outcomes.n_blocks, rho)
        each[0] = 0.0
        return SharedPrior(kernel(self.rows), each)

    def gaussian(self, theta: np.ndarray, warm: bool = False) -> Gaussian:
        """Laplace or EP at θ; `warm` starts from the last one found."""
        kernel, rho, psi = self.split(theta)
        prior, latest = self.prior(kernel, rho), self.latest if warm else None
        if self.method == "laplace":
            found: Gaussian = laplace(
                prior, self.outcomes, self.space, psi, None if latest is None else latest.alpha[0]
            )
        else:
            sites = latest.sites if isinstance(latest, Propagated) else None
            found = propagate(prior, self.outcomes, self.space, psi, sites)
        if not np.isfinite(found.log_evidence):
            raise NumericalError("The evidence of the preferences left the range of floating point.", value=theta)
        self.latest = found
        return found

    def objective(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Log evidence plus log priors, and the gradient."""
        with warnings.catch_warnings():  # where EP does not settle is a wall to the climb, and nobody's concern
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = self.gaussian(theta, warm=True)
        if not found.result.ok:
            raise NumericalError(f"The {self.method} approximation did not settle.", value=theta)
        kernel, rho, psi = self.split(theta)
        value, psi_prior = self.space.log_prior(psi)
        value += found.log_evidence + kernel.log_prior()
        parts = [kernel.gradient(self.rows, None, found.kernel_weight) + kernel.log_prior_gradient()]
        if self.own:
            centre, sd = DEVIATION_PRIOR
            z = (np.log(rho) - centre) / sd
            value -= 0.5 * z * z
            parts.append(np.array([found.deviation - z / sd]))
        return value, np.concatenate([*parts, found.psi + psi_prior])

    def learn(
        self, optimise: bool, n_restarts: int, rng: np.random.Generator, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, Gaussian]:
        """(θ, the Gaussian there), by a climb from `start`. What is returned starts cold: it depends on θ alone."""
        theta, climbed = self.start if start is None else start, None
        if optimise and theta.size:
            climbed = climb(self.objective, theta, self.bounds, n_restarts=n_restarts, rng=rng, names=self.names)
            theta = climbed.theta
        found = self.gaussian(theta)
        if climbed is not None:
            found = replace(found, result=_both(found.result, climbed.result))
        return theta, found

    def learn_quietly(
        self, optimise: bool, rng: np.random.Generator, start: np.ndarray
    ) -> tuple[np.ndarray, Gaussian] | None:
        """`learn`, or None where the approximation does not settle: there is another to fall back on."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                found = self.learn(optimise, 0, rng, start)
            except NumericalError:
                return None
        return found if found[1].result.ok else None


def _both(inner: Result, outer: Result) -> Result:
    """The engine's report, with what the climb adds; the worse status of the two."""
    status = inner.status if not inner.ok else outer.status
    certificate: dict[str, Any] = {**outer.certificate, **inner.certificate}
    return replace(inner, status=status, certificate=certificate, advice=(*inner.advice, *outer.advice))
