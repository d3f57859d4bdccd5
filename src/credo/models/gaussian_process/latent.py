"""`LatentFit`: a Gaussian process seen through a likelihood, f ~ GP(m, k) and y_i ~ p(y_i | f_i, ψ), learned.

`LatentFit.learn` climbs the evidence over the kernel's hyperparameters and the likelihood's, by Laplace's method or EP,
checks the Gaussian that it found, and keeps what predictions take: the sites (τ, ν) of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from credo.distributions.likelihoods import Likelihood
from credo.inference.latent_gaussian import LatentPrior
from credo.inference.result import Result
from credo.kernels import Kernel
from credo.models.gaussian_process.latent_evidence import LatentTask
from credo.models.gaussian_process.latent_ladder import climbed
from credo.models.gaussian_process.latent_predictive import LatentPredictive
from credo.numerics.cholesky import cholesky
from credo.saving.registry import register

__all__ = ["LatentFit"]

# Cells of an (n, rows) block of covariances with new rows: 32 MB of float64.
CELLS = 2**22


@register
@dataclass(frozen=True, eq=False)
class LatentFit:
    """q(f) = N(m + Σν, Σ), Σ = (K⁻¹ + diag τ)⁻¹, at the hyperparameters learned.

    kernel, psi (a,) or None, mean : at their learned values; mean is the constant of the prior mean
    X (n, d), y (n,), offset (n,) or None, weights (n,) or None : the rows
    tau, nu (n,) : sites ; log_evidence : log p(y | X, kernel, psi, mean), without the priors of these
    n_learned : how many hyperparameters were ; result : `Result`, its certificate "pareto_k" of importance weights
    """

    kernel: Kernel
    likelihood: Likelihood
    X: np.ndarray
    y: np.ndarray
    psi: np.ndarray | None
    mean: float
    offset: np.ndarray | None
    weights: np.ndarray | None
    tau: np.ndarray
    nu: np.ndarray
    log_evidence: float
    n_learned: int
    result: Result

    @classmethod
    def learn(
        cls,
        task: LatentTask,
        *,
        inference: str = "auto",
        optimize: bool = True,
        n_restarts: int = 0,
        rng: np.random.Generator,
    ) -> Self:
        """Climb from the task's kernel, or stay there.

        inference : "laplace" or "ep"; "auto" is Laplace where the likelihood has a curvature, and EP where the
            importance weights of Laplace's Gaussian fail (k̂ ≥ 0.7)
        optimize : whether θ, ψ and the mean are learned at all

        Raises
        ------
        NumericalError : covariances that are not finite, or more rows than memory holds matrices of.

        Cost about 20 evaluations of 4n³ and a dozen n × n arrays; EP's are five times as long.
        """
        position, posterior, result = climbed(task, inference, optimize, n_restarts, rng)
        kernel, psi, mean = task.parts(position)
        return cls(
            kernel, task.likelihood, task.X, task.y, psi, mean, task.offset, task.weights, posterior.state.tau,
            posterior.state.nu, posterior.log_evidence, position.size if optimize else 0, result,
        )  # fmt: skip

    @property
    def inference(self) -> str:
        return self.result.inference

    @cached_property
    def state(self) -> Any:
        """The prior of the rows given the sites."""
        offset = 0.0 if self.offset is None else self.offset
        prior = LatentPrior(self.kernel(self.X), self.mean + offset, known=True)
        return prior.condition(self.tau, self.nu)

    @property
    def dual_weights(self) -> np.ndarray:
        """α (n,): E f(x) = m + k(x, X) α."""
        return self.state.coordinates

    def latent(self, X: np.ndarray, offset: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (q,) of f at rows X (q, d)."""
        mean, variance = np.empty(len(X)), np.empty(len(X))
        size = max(1, CELLS // len(self.X))
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            cross = self.kernel(self.X, X[rows])
            mean[rows] = cross.T @ self.state.coordinates
            variance[rows] = self.kernel.diagonal(X[rows]) - self.state.reduction(cross)
        return self.mean + offset + mean, np.maximum(variance, 0.0)

    def paths(self, X: np.ndarray, n: int, offset: Any = 0.0) -> np.ndarray:
        """n draws of f at all rows of X at once, (n, q); always the same ones. Cost q³."""
        mean, _ = self.latent(X, offset)
        cross = self.kernel(self.X, X)
        joint = self.kernel(X) - cross.T @ self.state.reduce(cross)
        noise = np.random.default_rng(0).standard_normal((len(X), n))
        return mean + (cholesky(0.5 * (joint + joint.T), "the covariance of f").lower @ noise).T

    def predictive(self, X: np.ndarray, offset: Any = 0.0) -> LatentPredictive:
        """`Predictive` of y at rows X (q, d), of a likelihood of numbers or counts."""
        mean, variance = self.latent(X, offset)
        return LatentPredictive(self.likelihood, mean, variance, self.psi, self.inference)

    def leave_one_out(self) -> np.ndarray:
        """log p(y_i | the other rows) (n,), from the marginal of f_i without its own site.

        Of EP that is its cavity; of Laplace the same formula (Vehtari et al. 2016, JMLR 17, LA-LOO). Hyperparameters
        stay where all rows put them.
        """
        variance = np.maximum(self.state.variance, np.finfo(float).tiny)
        shift = self.state.mean - self.state.prior.mean
        # A site that leaves nothing proper without it is one that Laplace put beyond the inflexion of log p.
        precision = np.maximum(1.0 / variance - self.tau, 1.0 / np.maximum(self.kernel.diagonal(self.X), variance))
        mean = self.state.prior.mean + (shift / variance - self.nu) / precision
        kind: Any = self.likelihood
        return np.asarray(kind.predictive_log_prob(self.y, mean, 1.0 / precision, self.psi))
