"""`Belief`: a Gaussian process with what was seen of it, at one setting of its hyperparameters.

Notation
    θ (h,)  the kernel's, then the noise's
    y (n, T) outcomes in units of `unit` from a common `location`, as `Observations` has them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from credo.kernels import Differentiated, Kernel
from credo.models.gaussian_process import equations
from credo.models.gaussian_process.equations import Conditioned, Score
from credo.models.gaussian_process.mean import Mean
from credo.models.gaussian_process.noise import Noise, WithSlopes
from credo.models.gaussian_process.observations import Observations
from credo.models.gaussian_process.solvers.base import Factored, Solver
from credo.models.gaussian_process.solvers.choose import choose
from credo.models.gaussian_process.solvers.exact import ExactFactor
from credo.models.gaussian_process.solvers.state_space import StateSpace
from credo.saving.registry import register

__all__ = ["Belief", "as_values"]


@register
@dataclass(frozen=True, eq=False)
class Belief:
    """y_g = h(x_g)ᵀβ + f(x_g) + N(0, s(x_g)/p_g), f ~ GP(0, kernel)."""

    kernel: Kernel
    noise: Noise
    mean: Mean
    observations: Observations
    solver: Solver

    # -- hyperparameters ---------------------------------------------------------------------------------------------

    @property
    def theta(self) -> np.ndarray:
        return np.concatenate([self.kernel.theta, self.noise.theta])

    @property
    def bounds(self) -> np.ndarray:
        return np.concatenate([self.kernel.bounds, self.noise.bounds])

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.kernel.names, *self.noise.names)

    def at(self, theta: np.ndarray) -> Belief:
        """The same observations under another θ."""
        h = self.kernel.theta.size
        return replace(self, kernel=self.kernel.with_theta(theta[:h]), noise=self.noise.with_theta(theta[h:]))

    def log_prior(self) -> tuple[float, np.ndarray]:
        """Log density of θ under the priors stated of kernel and noise, and its gradient."""
        value, gradient = self.noise.log_prior()
        return value + self.kernel.log_prior(), np.concatenate([self.kernel.log_prior_gradient(), gradient])

    # -- conditioning ------------------------------------------------------------------------------------------------

    @cached_property
    def variance(self) -> np.ndarray:
        """s (n,) at the distinct rows."""
        return self.noise.variance(self.observations.X)

    @cached_property
    def conditioned(self) -> Conditioned:
        seen = self.observations
        return self._condition(self.solver(self.kernel, seen.X, seen.noise(self.variance)))

    def _condition(self, factored: Factored) -> Conditioned:
        seen, mean = self.observations, self.mean
        return equations.condition(factored, seen.y, mean.design(seen.X), mean.location, mean.precision)

    def evidence(self, gradient: bool = True) -> Score:
        """log p(y) of all rows as given, copies too, with its gradient in θ (in `theta`)."""
        if not gradient:
            score = equations.evidence(self.conditioned, False)
            return score._replace(value=score.value + self.observations.rest(self.variance)[0])
        score = self.scores()
        own = self.noise.gradient(self.observations.X, score.noise)
        return Score(score.value, np.concatenate([score.theta, own]), np.empty(0))

    def scores(self) -> Score:
        """log p(y), with its gradients in the kernel's θ and in s (n,)."""
        score = equations.evidence(self.conditioned)
        rest, slope = self.observations.rest(self.variance)
        return Score(score.value + rest, score.theta, self.observations.noise(score.noise) + slope)

    def left_out_score(self, folds: Sequence[np.ndarray]) -> Score:
        """Σ log p(y_F | the other rows) over folds, with its gradient in θ."""
        score = equations.left_out_score(self.conditioned, folds)
        own = self.noise.gradient(self.observations.X, self.observations.noise(score.noise))
        return Score(score.value, np.concatenate([score.theta, own]), np.empty(0))

    # -- reading -----------------------------------------------------------------------------------------------------

    def latent(self, X: np.ndarray, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Mean (m, T) of the function at rows X and its variance (m,), or covariance (m, m)."""
        return equations.predict(self.conditioned, X, self.mean.design(X), joint)

    def latent_mean(self, X: np.ndarray) -> np.ndarray:
        """Mean (m, T) of the function at rows X alone; n a row where the solver's K_y is the kernel's."""
        factored = self.conditioned.factored
        if not isinstance(factored, ExactFactor):
            return self.latent(X)[0]
        return self.mean.design(X) @ self.conditioned.coefficients + factored.mean(X, self.dual)

    @property
    def dual(self) -> np.ndarray:
        """α (n, T): the posterior mean is h(x)ᵀβ̂ + Σ_g α_g k(x, x_g), a network with a basis at every row."""
        return self.conditioned.dual

    def left_out(
        self, y: np.ndarray, ratio: np.ndarray, weights: np.ndarray, row: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means (N, T) and variances (N,) of the rows as given, each left out whole with its copies."""
        seen = self.observations
        s = self.variance[row]
        with np.errstate(divide="ignore", invalid="ignore"):
            own = weights / (s * ratio)
            total = seen.precision[row] / s
            remains = np.where(total - own > 1e-9 * total, total - own, 0.0)  # rounding of a row that was alone
            mean = np.where(remains[:, None] > 0, total[:, None] * seen.y[row] - own[:, None] * y, 0.0)
        rest = np.concatenate([remains[:, None], np.nan_to_num(mean)], axis=1)
        return equations.left_out(self.conditioned, y, s * ratio, rest, row)

    def extended(self, X: np.ndarray, y: np.ndarray, ratio: np.ndarray, weights: np.ndarray) -> Belief:
        """With rows X (m, d), y (m, T) added, apart from their copies. Cost n²m with a dense factor, else a fit."""
        added = Observations.of(X, y, ratio, weights, merge=False)
        seen = self.observations.joined(added)
        done = replace(self, observations=seen)
        factored = self.conditioned.factored
        if isinstance(factored, ExactFactor):
            grown: Any = factored.extended(X, added.noise(self.noise.variance(X)))
            done.__dict__["conditioned"] = done._condition(grown)
        return done

    def sloped(self) -> Belief:
        """The same belief on rows [x, which], of which values and slopes can be asked; by another solver if this one is
        of values alone."""
        if self.mean.sloped:
            return self
        kernel, seen = Differentiated(self.kernel), self.observations
        rows, solver = as_values(seen.X), self.solver
        if isinstance(solver, StateSpace):
            solver = choose(kernel, *rows.shape)[0]
        done = replace(
            self, solver=solver, kernel=kernel, mean=replace(self.mean, sloped=True), noise=WithSlopes(self.noise),
            observations=replace(seen, X=rows),
        )  # fmt: skip
        factored = self.conditioned.factored
        if isinstance(factored, ExactFactor):
            same = replace(factored, kernel=kernel, X=rows, pullback=None)
            done.__dict__["conditioned"] = replace(self.conditioned, factored=same)
        return done

    def settled(self) -> Belief:
        """The same, conditioned, without what only gradients take."""
        done = replace(self)
        factored: Any = self.conditioned.factored
        if hasattr(factored, "settled"):
            done.__dict__["conditioned"] = replace(self.conditioned, factored=factored.settled())
        else:
            done.__dict__["conditioned"] = self.conditioned
        return done


def as_values(X: np.ndarray) -> np.ndarray:
    """Rows [x, −1] (n, d + 1): values, not slopes."""
    return np.column_stack([X, np.full(len(X), -1.0)])
