"""Kernel ridge in the coordinates where everything is elementwise.

Notation: y = b + f(x) + ε, f ~ GP(0, σ² r k), ε ~ N(0, σ²/w_i), b flat; n rows, W = Σ w. A flat intercept is the
projection off the constant, so with the centred kernel

    k̃(x, z) = k(x, z) − m(x) − m(z) + M,    m(x) = Σ w_i k(x, x_i)/W,    M = Σ w_i m(x_i)/W

and D = diag(√w), the eigendecomposition D K̃ D = U S² Uᵀ puts the likelihood where `inference.exact.spectrum` has it:
coordinates v ~ N(0, σ² r) with singular values S and targets z = Uᵀ D(y − ȳ). Its evidence, posteriors and quadrature
over r serve unchanged. At a new row, a(x) = S⁻¹ Uᵀ D k̃(x) and

    E[f(x)]   = ȳ + a(x)·E[v]
    Var[f(x)] = σ² (Σ_k a_k² c_k + (k̃(x, x) − ‖a‖²) r + 1/W)

The primal form of the same model with k(x, z) = xᵀz is `LinearRegression(prior=Normal(0, None))`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from credo.inference.exact.belief import LinearBelief
from credo.inference.exact.linear_gaussian import Likelihood, NoisePrior, fixed_prior, learned_scale
from credo.inference.exact.propriety import ExactFit, count_distinct
from credo.inference.exact.spectrum import Spectrum, Whitening
from credo.kernels.base import Kernel
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.prediction.predictive import Predictive
from credo.prediction.student_t import StudentTPredictive
from credo.saving.registry import register

__all__ = ["KernelBelief", "likelihood_of", "solve"]


@register
@dataclass(frozen=True)
class KernelBelief:
    """What is believed of f.

    kernel; X (n, d) the rows; row_mean (n,) m(x_i) and grand_mean M, zeros without an intercept; belief over v;
    coordinates (n, K) D U S⁻¹, with which a(x) = k̃(x)ᵀ coordinates
    """

    kernel: Kernel
    X: np.ndarray
    share: np.ndarray
    row_mean: np.ndarray
    grand_mean: float
    belief: LinearBelief
    coordinates: np.ndarray

    def evaluate(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (J, m, T) of b + f at m rows and its variance (J, m, T) in units of σ². Cost m n K."""
        cross = self.kernel(X, self.X)
        level = cross @ self.share
        a = (cross - level[:, None] - self.row_mean + self.grand_mean) @ self.coordinates
        own = self.kernel.diagonal(X) - 2.0 * level + self.grand_mean
        squares = np.square(a)
        mean = self.belief.base + np.einsum("nk,jkt->jnt", a, self.belief.location)
        variance = np.einsum("nk,jkt->jnt", squares, self.belief.spread) + self.belief.base_spread
        beyond = np.maximum(own - squares.sum(axis=1), 0.0)
        return mean, variance + beyond[:, None] * self.belief.outside[:, None, :]

    def dual(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients c (n, T) and intercepts (T,) of the posterior mean, f(x) = intercept + Σ_i k(x, x_i) c_i."""
        location = np.einsum("jt,jkt->kt", self.belief.weights, self.belief.location)
        c = self.coordinates @ location
        c = c - self.share[:, None] * c.sum(axis=0) if self.share.any() else c
        return c, self.belief.base - self.row_mean @ c

    def predictive(self, X: np.ndarray, noise_scale: float | None, single: bool, rung: str) -> Predictive:
        """Normal or Student-t, or a mixture of them over the ratio; `noise_scale` replaces the fitted noise."""
        belief = self.belief
        mean, spread = self.evaluate(X)
        spread = spread * belief.noise_variance[:, None, :]
        noise = belief.noise_variance[:, None, :] if noise_scale is None else np.full((1, 1, 1), noise_scale**2)
        noise = np.broadcast_to(noise, mean.shape)
        weights = belief.weights
        if single:
            mean, spread, noise, weights = mean[..., 0], spread[..., 0], noise[..., 0], weights[:, 0]
        parts = [
            NormalPredictive(mean[j], noise[j], spread[j], rung)
            if np.isinf(belief.df)
            else StudentTPredictive(belief.df, mean[j], noise[j], spread[j], rung)
            for j in range(mean.shape[0])
        ]
        return parts[0] if len(parts) == 1 else MixturePredictive(weights, parts, rung)


def likelihood_of(
    K: np.ndarray, y: np.ndarray, weights: np.ndarray, *, fit_intercept: bool, scale: float
) -> tuple[Likelihood, np.ndarray, np.ndarray, float, np.ndarray]:
    """The likelihood of y (n, T), in units of the noise `scale`, under K (n, n).

    Beside it the shares w/W, row means, grand mean and coordinates.

    Cost about 9 n³ flops, once for every ratio, noise and target.
    """
    total, root = float(weights.sum()), np.sqrt(weights)
    share = weights / total if fit_intercept else np.zeros(y.shape[0])
    row_mean = K @ share
    grand_mean = float(share @ row_mean)
    base = share @ y
    centred = (K - row_mean[:, None] - row_mean + grand_mean) * root[:, None] * root
    values, vectors = scipy.linalg.eigh(centred, check_finite=False)
    # Eigenvalues at rounding level are directions that k does not have.
    kept = values > max(values[-1], 0.0) * y.shape[0] * np.finfo(float).eps
    singular, U = np.sqrt(values[kept])[::-1], vectors[:, kept][:, ::-1]
    rows = root[:, None] * (y - base)
    z = U.T @ rows
    residual = np.square(rows - U @ z).sum(axis=0)
    floor = np.maximum((weights @ np.square(y)) * np.finfo(float).eps ** 2, np.finfo(float).tiny)
    n = y.shape[0]
    spectrum = Spectrum(Whitening(np.zeros(n), np.ones(n)), singular, np.empty((n, 0)), z, residual)
    likelihood = Likelihood(
        spectrum, total, total / scale**2, total * float(np.log(scale)), fit_intercept, np.zeros(n), base, floor
    )  # fmt: skip
    return likelihood, share, row_mean, grand_mean, root[:, None] * U / singular


def solve(
    kernel: Kernel,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    *,
    fit_intercept: bool,
    alpha: float | None,
    noise_scale: float | None,
    noise_prior: NoisePrior,
    maximise: bool,
) -> tuple[KernelBelief, str, bool]:
    """The belief, its rung ("exact" at a stated ratio 1/α, else "collapsed" or "evidence" over it), and whether σ is
    identified."""
    scale = 1.0 if noise_scale is None else noise_scale
    K = kernel(X)
    if alpha is not None:
        K = K / alpha
    likelihood, share, row_mean, grand_mean, coordinates = likelihood_of(
        K, y / scale, weights, fit_intercept=fit_intercept, scale=scale
    )
    noise = None if noise_scale is not None else noise_prior
    if alpha is not None:
        belief, rung = fixed_prior(likelihood, noise), "exact"
        kernel = kernel * (1.0 / alpha)
    else:
        belief, rung = learned_scale(likelihood, noise, maximise=maximise), "evidence" if maximise else "collapsed"
    identified = True
    if noise is not None:  # at a stated ratio only a constant target leaves nothing to learn σ from
        fit = ExactFit.of_likelihood(likelihood, len(X), lambda: count_distinct(X, y))
        tail = 1.0 if alpha is None else np.inf
        identified = fit.require_noise("KernelRidge", noise, belief, tail, maximise=maximise and alpha is None)
    return KernelBelief(kernel, X, share, row_mean, grand_mean, _in_units(belief, scale), coordinates), rung, identified


def _in_units(belief: LinearBelief, scale: float) -> LinearBelief:
    """The belief about y from that about y/scale; variances stay in units of the noise's."""
    return replace(
        belief,
        location=belief.location * scale,
        base=belief.base * scale,
        base_spread=belief.base_spread / scale**2,
        noise_variance=belief.noise_variance * scale**2,
    )
