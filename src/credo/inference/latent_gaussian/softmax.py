"""Laplace's method for k classes, one latent function each: f_c ~ N(m_c, K_c), y_i ~ softmax(f_i1 … f_ik).

    log evidence = log p(y | f̂) − ½ (f̂ − m)ᵀK⁻¹(f̂ − m) − ½ log |I + K W|,  W = diag(π) − Π Πᵀ

couples the functions of a row only; `softmax_mode` says how that keeps the cost at k n³. The gradient has the part at
a fixed mode and, through the third derivatives of the softmax, that of the mode's move.

Reference: Rasmussen and Williams (2006), §3.5; the gradient is that of §5.5.1 with W no longer diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods import CategoricalLogit
from credo.errors import ParameterError
from credo.inference.latent_gaussian.prior import DIGITS
from credo.inference.latent_gaussian.softmax_mode import Curvature, SoftmaxTask, softmax_mode
from credo.inference.result import Result
from credo.numerics.cholesky import cholesky, solve_lower

__all__ = ["SoftmaxPosterior", "laplace_softmax", "softmax_task"]


@dataclass(frozen=True, eq=False)
class SoftmaxPosterior:
    """Gaussian at the mode, or that of EP: `mean` (n, k); log_evidence; what predicts new points and moves
    hyperparameters.

    pull : K⁻¹(f̂ − m) (n, k), at the mode ω (y − π)
    curvature : W of the sites, diag(ω π) − ω π πᵀ in each row
    sites : τ and ν (2, n, k) of EP's, see `softmax_propagation`; None where the sites are the softmax's at the mode,
        and move with it
    nested : the evidence of EP with its rows' integrals by EP too, see `softmax_propagation`
    """

    task: SoftmaxTask
    mean: np.ndarray
    pull: np.ndarray
    log_evidence: float
    result: Result
    curvature: Curvature
    sites: np.ndarray | None = None
    nested: float | None = None

    @property
    def stationary(self) -> float:
        """The evidence of which `evidence_weights` are the slopes, to climb by: `log_evidence`, and of EP `nested`."""
        return self.log_evidence if self.nested is None else self.nested

    @property
    def reference(self) -> float:
        """log ∫ Π sites d prior for sites that are as high as the likelihood at f̂; of Laplace's method the evidence."""
        f = self.mean.T
        fit = float(np.sum(self.task.log_prob(f)) - 0.5 * np.sum(self.pull.T * (f - self.task.mean)))
        return fit - self.curvature.half_log_determinant

    @property
    def n_classes(self) -> int:
        return self.mean.shape[1]

    def predict(self, cross: Any, covariance: Any, mean: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Mean (q, k) and covariance (q, k, k) at q new points.

        cross : (k, n, q) or (n, q), prior covariances with the training points; covariance : (k, q) or (q,), variances
        """
        e, k, n = self.curvature.e, self.n_classes, len(self.mean)
        cross = np.broadcast_to(np.asarray(cross, dtype=np.float64), (k, n, np.shape(cross)[-1]))
        narrowed = e @ cross
        half = np.stack([solve_lower(self.curvature.factor, part) for part in narrowed])
        # Cov(c, d) = δ (k** − k*ᵀE_c k*) + k*ᵀE_c M⁻¹ E_d k*
        joint = np.einsum("cnq,dnq->qcd", half, half)
        own = np.asarray(covariance, dtype=np.float64) - np.einsum("cnq,cnq->cq", cross, narrowed)
        joint[:, np.arange(k), np.arange(k)] += own.T
        return mean + np.einsum("cnq,nc->qc", cross, self.pull), joint

    def blocks(self) -> np.ndarray:
        """The posterior covariance of the k functions at each row, (n, k, k). Cost k n³."""
        K, e = self.task.covariances, self.curvature.e
        precision = self.curvature.weights * self.curvature.p
        at = np.arange(len(self.mean))
        raised, own = np.empty_like(e), np.empty_like(precision)
        for c, d in enumerate(precision):
            # E K = I − E D⁻¹, and K − K E K = D⁻¹ (I − E D⁻¹) on the diagonal: no products, and no cancellation of
            # prior variances, but of 1/d where a site says little.
            some = d * np.diag(K[c]) > DIGITS
            safe = np.where(some, d, 1.0)
            inner = e[c] / -safe
            inner[at, at] += 1.0
            own[c] = inner[at, at] / safe
            if not some.all():
                few = np.flatnonzero(~some)
                inner[:, few] = e[c] @ K[c][:, few]
                own[c, few] = np.diag(K[c])[few] - np.einsum("ij,ij->j", K[c][:, few], inner[:, few])
            raised[c] = solve_lower(self.curvature.factor, inner)
        joint = np.einsum("cjn,djn->ncd", raised, raised)
        every = np.arange(self.n_classes)
        joint[:, every, every] += own.T
        return joint

    def _halves(self) -> np.ndarray:
        """L_M⁻¹ E_c (k, n, n)."""
        return np.stack([solve_lower(self.curvature.factor, e) for e in self.curvature.e])

    def evidence_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """W (k, n, n) and w (n, k) with d `stationary` = Σ_c Σ W_c ∘ dK_c + Σ w ∘ dm. Cost 6 k n³."""
        halves = self._halves()
        pull = self.pull.T
        moved = np.zeros_like(pull)
        if self.sites is None:
            slope = self._slope(self.blocks())
            moved = slope - self.curvature.reduce(self.task.apply(slope))  # slope · ∂f̂ = movedᵀ (dK pull + dm)
        weight = np.empty_like(halves)
        for c, half in enumerate(halves):
            np.matmul(half.T, half, out=weight[c])
            weight[c] -= self.curvature.e[c]
            weight[c] *= 0.5
            weight[c] += np.multiply.outer(0.5 * (pull[c] + moved[c]), pull[c])
            weight[c] += np.multiply.outer(0.5 * pull[c], moved[c])
        return weight, (pull + moved).T

    def _slope(self, blocks: np.ndarray) -> np.ndarray:
        """∂/∂f (k, n) of −½ log |I + K W| through W: ½ ω Σ_ab Σ_ab ∂³ log p/∂f_a ∂f_b ∂f_c."""
        p = self.curvature.p.T
        inner = np.einsum("nab,nb->na", blocks, p)
        own = np.einsum("naa->na", blocks)
        within = np.sum(p * inner, axis=1, keepdims=True)
        third = -p * (own - 2.0 * inner + 2.0 * within - np.sum(p * own, axis=1, keepdims=True))
        return 0.5 * self.task.weights * third.T

    def log_weights(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Log importance weights (n_draws,) of draws from this Gaussian towards the posterior; their mean is the ratio
        of the evidence to `reference`'s. The prior cancels: what is left is log p less the sites' parabolas.
        """
        task, curvature = self.task, self.curvature
        k, n = curvature.p.shape
        noise = rng.standard_normal((2, k, n, n_draws))
        roots = [cholesky(K, "the prior covariance").lower for K in task.covariances]
        free = np.stack([root @ z for root, z in zip(roots, noise[0], strict=True)])
        # W = V Vᵀ, V = ω^½ (diag π^½ − π π^½ᵀ); f₀ + K V ε less what the sites pull back has covariance (K⁻¹ + W)⁻¹
        root_p = np.sqrt(curvature.p)[..., None]
        site = root_p * noise[1]
        site -= curvature.p[..., None] * site.sum(axis=0)
        free += task.apply(np.sqrt(curvature.weights)[:, None] * site)
        move = np.moveaxis(free - task.apply(curvature.reduce(free)), -1, 0)  # (S, k, n)
        at = self.mean.T
        change = task.log_prob(at + move) - task.log_prob(at)
        average = np.sum(curvature.p * move, axis=1)
        bend = curvature.weights * (np.sum(curvature.p * move**2, axis=1) - average**2)
        return np.sum(change - np.sum(self.pull.T * move, axis=1) + 0.5 * bend, axis=1)


def laplace_softmax(
    covariances: Any, y: Any, n_classes: int, mean: Any = 0.0, weights: Any = None, start: Any = None
) -> SoftmaxPosterior:
    """The mode of the k latent functions and the Gaussian there.

    Parameters
    ----------
    covariances : (k, n, n), or (n, n) shared by the classes
    y : codes (n,) 0..k−1; mean : prior mean, broadcasting to (n, k); weights : times > 0 that each row counts
    start : `pull` (n, k) of an earlier fit, to start from if better than the prior mean

    Examples
    --------
    >>> fit = laplace_softmax(np.eye(2), [0, 2], 3)
    >>> fit.mean.round(4).tolist()
    [[0.4897, -0.2448, -0.2448], [-0.2448, -0.2448, 0.4897]]
    """
    task = softmax_task("laplace_softmax", covariances, y, n_classes, mean, weights)
    f, value, result = softmax_mode(task, None if start is None else np.asarray(start, dtype=np.float64).T)
    curvature = Curvature.at(task, f)
    evidence = value - curvature.half_log_determinant
    return SoftmaxPosterior(task, f.T, task.slope(f).T, evidence, result, curvature)


def softmax_task(owner: str, covariances: Any, y: Any, n_classes: int, mean: Any, weights: Any) -> SoftmaxTask:
    """The arguments, checked, classes first."""
    likelihood = CategoricalLogit(n_classes)
    codes = likelihood.check(y)
    n, k = codes.size, n_classes
    covariances = np.asarray(covariances, dtype=np.float64)
    if covariances.shape not in ((n, n), (k, n, n)):
        raise ParameterError(owner, "covariances", f"({n}, {n}) or ({k}, {n}, {n})", covariances.shape)
    counted = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if counted.shape != (n,) or not np.all(np.isfinite(counted) & (counted > 0.0)):
        raise ParameterError(owner, "weights", f"{n} finite numbers > 0", weights)
    centre = np.ascontiguousarray(np.broadcast_to(np.asarray(mean, dtype=np.float64), (n, k)).T)
    return SoftmaxTask(np.broadcast_to(covariances, (k, n, n)), codes, centre, counted, likelihood)
