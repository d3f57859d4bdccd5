"""`SoftmaxFit`: k latent Gaussian processes, y_i ~ softmax(f_i1 … f_ik), learned by Laplace's method.

The classes share one kernel: h hyperparameters, not k h, which few rows a class can tell. Or each has its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from credo.distributions.likelihoods import CategoricalLogit
from credo.errors import NumericalError
from credo.inference.latent_gaussian import SoftmaxPosterior, laplace_softmax
from credo.inference.result import Result
from credo.kernels import Kernel
from credo.models.gaussian_process.class_kernels import ClassKernels
from credo.models.gaussian_process.latent_certificate import DRAWS, checked
from credo.models.gaussian_process.latent_evidence import MEAN_REACH
from credo.models.gaussian_process.latent_ladder import report, require_memory, searched
from credo.numerics.cholesky import cholesky, solve_lower
from credo.saving.registry import register

__all__ = ["SoftmaxFit"]

# Cells of a (k, n, rows) block of covariances with new rows: 32 MB of float64.
CELLS = 2**22


@register
@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    """The Gaussian at the mode, at the hyperparameters learned.

    kernel : shared by the classes, or `ClassKernels`
    mean (k,) : constants of their prior means, summing to 0 where learned
    X (n, d), codes (n,), weights (n,) > 0 or None ; pull (n, k) : ω (y − π) at the mode; E f_c = m_c + k_c(x, X) pull_c
    log_evidence, n_learned, result : as of `LatentFit`
    """

    kernel: Kernel | ClassKernels
    X: np.ndarray
    codes: np.ndarray
    mean: np.ndarray
    weights: np.ndarray | None
    pull: np.ndarray
    log_evidence: float
    n_learned: int
    result: Result

    @classmethod
    def learn(
        cls,
        kernel: Kernel | ClassKernels,
        X: np.ndarray,
        codes: np.ndarray,
        n_classes: int,
        *,
        mean: float | None = 0.0,
        weights: np.ndarray | None = None,
        optimize: bool = True,
        n_restarts: int = 0,
        rng: np.random.Generator,
    ) -> Self:
        """Climb the evidence from `kernel`, or stay there. `mean` None: one constant a class is learned.

        Cost some 10 k n³ an evaluation, and 5 k + 3 arrays of n × n beside ten of k n × 1,000.
        """
        drawn = 10 * DRAWS // len(X)  # the draws of the check are (k, n, DRAWS) each
        require_memory("GaussianProcessClassifier", len(X), n_classes * (5 + drawn) + 3)
        evidence = _Evidence(kernel, X, codes, n_classes, mean, weights)
        start = evidence.start()
        top = None
        if optimize:
            top = searched(evidence, start, evidence.bounds(), evidence.names, "laplace", n_restarts, rng)
        found: Any = kernel
        means = evidence.means(start)
        if top is not None:
            found, means = kernel.with_theta(top.theta[: kernel.theta.size]), evidence.means(top.theta)
        posterior = evidence.posterior(found(X), means)
        weighted = posterior.log_weights(DRAWS, np.random.default_rng(0))
        result = report("laplace", posterior.result, top, checked(weighted, posterior.log_evidence))
        learned = start.size if optimize else 0
        return cls(found, X, codes, means, weights, posterior.pull, posterior.log_evidence, learned, result)

    @property
    def n_classes(self) -> int:
        return self.mean.size

    @property
    def inference(self) -> str:
        return self.result.inference

    @cached_property
    def posterior(self) -> SoftmaxPosterior:
        """As the engine returns it, from the mode that is kept."""
        K = self.kernel(self.X)
        return laplace_softmax(K, self.codes, self.n_classes, self.mean, self.weights, start=self.pull)

    def latent(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (q, k) and covariances (q, k, k) of the functions at rows X (q, d)."""
        size = max(1, CELLS // (len(self.X) * self.n_classes))
        parts = [
            self.posterior.predict(self.kernel(self.X, rows), self.kernel.diagonal(rows), self.mean)
            for rows in np.array_split(X, max(1, -(-len(X) // size)))
        ]
        mean, joint = (np.concatenate(each) for each in zip(*parts, strict=True))
        # rounding may leave a variance of −1e-16
        at = np.arange(self.n_classes)
        joint[:, at, at] = np.maximum(joint[:, at, at], 0.0)
        return mean, joint

    def paths(self, X: np.ndarray, n: int) -> np.ndarray:
        """n draws of the functions at all rows of X at once, (n, q, k); always the same ones. Cost (qk)³."""
        k, q, curvature = self.n_classes, len(X), self.posterior.curvature
        cross = np.broadcast_to(self.kernel(self.X, X), (k, len(self.X), q))
        mean = self.mean + np.einsum("cnq,nc->qc", cross, self.pull)
        narrowed = curvature.e @ cross
        flat = np.moveaxis(narrowed, 0, 1).reshape(len(self.X), k * q)
        half = solve_lower(curvature.factor, flat)
        joint = half.T @ half
        own = np.broadcast_to(self.kernel(X), (k, q, q))
        for c in range(k):
            rows = slice(c * q, (c + 1) * q)
            joint[rows, rows] += own[c] - cross[c].T @ narrowed[c]
        noise = np.random.default_rng(0).standard_normal((k * q, n))
        draws = cholesky(0.5 * (joint + joint.T), "the covariance of f").lower @ noise
        return mean + np.moveaxis(draws.reshape(k, q, n), (2, 1), (0, 1))

    def leave_one_out(self) -> np.ndarray:
        """log p(y_i | the other rows) (n,): the marginal of row i without its own site, C = (S⁻¹ − W)⁻¹ = S (I − W S)⁻¹
        about f̂ − C ∇."""
        posterior, k = self.posterior, self.n_classes
        p = posterior.curvature.p.T
        w = posterior.curvature.weights
        S = posterior.blocks()
        W = w[:, None, None] * (p[:, :, None] * np.eye(k) - p[:, :, None] * p[:, None, :])
        cavity = np.linalg.solve(np.eye(k) - S @ W, S)
        cavity = 0.5 * (cavity + np.swapaxes(cavity, 1, 2))
        mean = posterior.mean - np.einsum("ncd,nd->nc", cavity, posterior.pull)
        return np.asarray(CategoricalLogit(k).predictive_log_prob(self.codes, mean, cavity))


class _Evidence:
    """position (θ, and m of all classes but the last where learned) → (log evidence + log prior, gradient)."""

    def __init__(
        self,
        kernel: Kernel | ClassKernels,
        X: np.ndarray,
        codes: np.ndarray,
        n_classes: int,
        mean: float | None,
        weights: np.ndarray | None,
    ) -> None:
        self.kernel, self.X, self.codes, self.k = kernel, X, codes, n_classes
        self.mean, self.weights = mean, weights
        self.pull: np.ndarray | None = None

    @property
    def names(self) -> tuple[str, ...]:
        means = [] if self.mean is not None else [f"mean[{c}]" for c in range(self.k - 1)]
        return (*self.kernel.names, *means)

    def start(self) -> np.ndarray:
        if self.mean is not None:
            return self.kernel.theta
        counts = np.bincount(self.codes, self.weights, minlength=self.k) + 0.5
        level = np.log(counts / counts.sum())
        return np.concatenate([self.kernel.theta, (level - level.mean())[:-1]])

    def bounds(self) -> np.ndarray:
        level = self.start()[self.kernel.theta.size :]
        box = np.stack([level - MEAN_REACH, level + MEAN_REACH], axis=1)
        return np.concatenate([self.kernel.bounds.reshape(-1, 2), box])

    def means(self, position: np.ndarray) -> np.ndarray:
        """(k,): a constant common to all classes changes nothing, so that they sum to 0."""
        if self.mean is not None:
            return np.full(self.k, self.mean)
        free = position[self.kernel.theta.size :]
        return np.append(free, -free.sum())

    def posterior(self, K: np.ndarray, means: np.ndarray) -> SoftmaxPosterior:
        if not np.all(np.isfinite(K)):
            raise NumericalError(
                f"{type(self.kernel).__name__}: covariances of the rows are not finite.", value=self.kernel,
                remedy="Rescale the columns of X, or the lengthscales with them.",
            )  # fmt: skip
        found = laplace_softmax(K, self.codes, self.k, means, self.weights, start=self.pull)
        self.pull = found.pull
        return found

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray]:
        kernel: Any = self.kernel.with_theta(position[: self.kernel.theta.size])
        K, pullback = kernel.value_and_pullback(self.X)
        posterior = self.posterior(K, self.means(position))
        weight, along = posterior.evidence_weights()
        pulled = pullback(weight if isinstance(kernel, ClassKernels) else weight.sum(axis=0))
        gradient: list[Any] = [pulled + kernel.log_prior_gradient()]
        if self.mean is None:
            each = along.sum(axis=0)
            gradient.append(each[:-1] - each[-1])
        return posterior.log_evidence + kernel.log_prior(), np.concatenate(gradient)
