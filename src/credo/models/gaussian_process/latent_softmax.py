"""`SoftmaxFit`: k latent Gaussian processes, y_i ~ softmax(f_i1 … f_ik), learned by Laplace's method or EP.

The classes share one kernel: h hyperparameters, not k h, which few rows a class can tell. Or each has its own.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from credo.distributions.likelihoods import CategoricalLogit
from credo.errors import ConvergenceWarning, NumericalError, ParameterError
from credo.inference.latent_gaussian import SoftmaxPosterior, laplace_softmax, softmax_propagation
from credo.inference.result import Result
from credo.kernels import Kernel
from credo.models.gaussian_process.class_kernels import ClassKernels
from credo.models.gaussian_process.latent_certificate import DRAWS, checked, holds
from credo.models.gaussian_process.latent_evidence import LOOSE, MEAN_REACH
from credo.models.gaussian_process.latent_ladder import report, require_memory, searched
from credo.numerics.cholesky import cholesky, solve_lower
from credo.saving.registry import register

__all__ = ["SoftmaxFit"]

# Cells of a (k, n, rows) block of covariances with new rows: 32 MB of float64.
CELLS = 2**22


@register
@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    """The Gaussian at the mode, or of EP, at the hyperparameters learned.

    kernel : shared by the classes, or `ClassKernels`
    mean (k,) : constants of their prior means, summing to 0 where learned
    X (n, d), codes (n,), weights (n,) > 0 or None ; pull (n, k) : E f_c = m_c + k_c(x, X) pull_c
    sites (2, n, k) : of EP, see `softmax_propagation`; None of Laplace's method
    log_evidence, n_learned, result : as of `LatentFit`; of EP the importance weights' evidence where these hold, as
        nested EP's is some hundredths a row too low
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
    sites: np.ndarray | None = None

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
        inference: str = "laplace",
        optimize: bool = True,
        n_restarts: int = 0,
        rng: np.random.Generator,
    ) -> Self:
        """Climb the evidence from `kernel`, or stay there. `mean` None: one constant a class is learned.

        inference : "laplace" or "ep"; "auto" is Laplace, and EP at its hyperparameters if the importance weights of its
            Gaussian fail (k̂ ≥ 0.7): a tenth of the cost of climbing once more, for an evidence that is nearly the same

        Cost some 10 k n³ an evaluation (EP: 7 k n³ a sweep, 5 to 20 an evaluation), and 5 k + 3 arrays of n × n beside
        ten of k n × 1,000.
        """
        drawn = 10 * DRAWS // len(X)  # the draws of the check are (k, n, DRAWS) each
        require_memory("GaussianProcessClassifier", len(X), n_classes * (5 + drawn) + 3)
        counted = weights is None or bool(np.all(weights >= 1.0))
        if inference == "ep" and not counted:
            raise ParameterError(
                "GaussianProcessClassifier", "sample_weight", "0 or ≥ 1 for EP of several classes, which takes them "
                "for copies of a row; inference='laplace' has any", weights,
            )  # fmt: skip
        task = _Task(kernel, X, codes, n_classes, mean, weights)
        engine = "ep" if inference == "ep" else "laplace"
        found = _by(task, engine, task.start(), optimize, n_restarts, rng)
        if inference == "auto" and counted and not holds(found[2].certificate):
            k_hat = found[2].certificate["pareto_k"]
            why = (
                f"Laplace's Gaussian failed its check (Pareto k̂ {k_hat:.2f} ≥ 0.7), so EP took over at its "
                "hyperparameters; inference='ep' learns them by EP.",
            )
            begin = found
            found = _by(task, "ep", begin[0], False, 0, rng)
            learned = {**begin[2].certificate, **found[2].certificate}
            found = *found[:2], replace(found[2], certificate=learned, advice=(*why, *found[2].advice))
        position, posterior, result = found
        value, checks = posterior.log_evidence, result.certificate
        if result.inference == "ep" and holds(checks):
            value = checks["log_evidence_weighted"]
        return cls(
            task.at(position), X, codes, task.means(position), weights, posterior.pull, value,
            position.size if optimize else 0, result, posterior.sites,
        )  # fmt: skip

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
        if self.sites is None:
            return laplace_softmax(K, self.codes, self.n_classes, self.mean, self.weights, start=self.pull)
        return softmax_propagation(K, self.codes, self.n_classes, self.mean, self.weights, start=self.sites)

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


def _by(
    task: _Task, engine: str, start: np.ndarray, optimize: bool, n_restarts: int, rng: np.random.Generator
) -> tuple[np.ndarray, SoftmaxPosterior, Result]:
    """(position, q(f) there, report) of one engine."""
    evidence = _Evidence(task, engine)
    top = searched(evidence, start, task.bounds(), task.names, engine, n_restarts, rng) if optimize else None
    position = start if top is None else top.theta
    posterior = evidence.posterior(task.at(position)(task.X), task.means(position))
    weighted = posterior.log_weights(DRAWS, np.random.default_rng(0))
    return position, posterior, report(engine, posterior.result, top, checked(weighted, posterior.reference))


class _Task:
    """What is held still while hyperparameters move; position: θ, and m of all classes but the last where learned."""

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

    def at(self, position: np.ndarray) -> Any:
        """The kernel there."""
        return self.kernel.with_theta(position[: self.kernel.theta.size]) if position.size else self.kernel


class _Evidence:
    """position → (log evidence + log prior, gradient), each evaluation from where the last one ended."""

    def __init__(self, task: _Task, engine: str) -> None:
        self.task, self.engine = task, engine
        self.pull: np.ndarray | None = None
        self.sites: np.ndarray | None = None

    def posterior(self, K: np.ndarray, means: np.ndarray, tol: float | None = None) -> SoftmaxPosterior:
        task = self.task
        if not np.all(np.isfinite(K)):
            raise NumericalError(
                f"{type(task.kernel).__name__}: covariances of the rows are not finite.", value=task.kernel,
                remedy="Rescale the columns of X, or the lengthscales with them.",
            )  # fmt: skip
        given: tuple[Any, ...] = (K, task.codes, task.k, means, task.weights)
        if self.engine == "ep":
            found = softmax_propagation(*given, start=self.sites, **({} if tol is None else {"tol": tol}))
        else:
            found = laplace_softmax(*given, start=self.pull)
        self.pull, self.sites = found.pull, found.sites
        return found

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray]:
        task, kernel = self.task, self.task.at(position)
        K, pullback = kernel.value_and_pullback(task.X)
        with warnings.catch_warnings():  # the fit at the end says it
            warnings.simplefilter("ignore", ConvergenceWarning)
            posterior = self.posterior(K, task.means(position), LOOSE["ep"])
        weight, along = posterior.evidence_weights()
        pulled = pullback(weight if isinstance(kernel, ClassKernels) else weight.sum(axis=0))
        gradient: list[Any] = [pulled + kernel.log_prior_gradient()]
        if task.mean is None:
            each = along.sum(axis=0)
            gradient.append(each[:-1] - each[-1])
        return posterior.stationary + kernel.log_prior(), np.concatenate(gradient)
