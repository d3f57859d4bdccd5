"""Generalised linear models: log-likelihood, gradient and curvature of a block, and what the prior adds.

Notation: φ(x) = (1, x − centre) when there is an intercept, (x) otherwise, D entries; k linear predictors η = Θ φ with
Θ (k, D) flattened class by class: k = 1 for scalar likelihoods, the number of classes for softmax.

    scalar    ∇ = Σ φ ∂log p/∂η              H = −Σ φφᵀ ∂²log p/∂η²
    softmax   ∇_a = Σ φ (1[y=a] − p_a)       H_ab = Σ φφᵀ p_a (1[a=b] − p_b)

Centring is on the column means, so that far-off columns do not cost digits; coefficients are mapped back at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.special

from credo.blocks.array import ArraySource
from credo.blocks.generator import GeneratorSource
from credo.blocks.source import Block, Source
from credo.distributions.likelihoods import CategoricalLogit, Likelihood
from credo.saving.registry import register

__all__ = ["GlmStatistics", "Design", "accumulate", "log_likelihoods", "class_probabilities"]

# Cells of a (rows × points) chunk of linear predictors: 4 MiB of float64, half an L2 cache in and out.
CHUNK_CELLS = 2**19
# Prepared rows kept between Newton's passes: up to 512 MiB of them, since they double what the data hold.
KEPT_CELLS = 2**26


@dataclass(frozen=True)
class GlmStatistics:
    """Σ over rows of log p (float), its gradient (kD,) and curvature (kD, kD)."""

    value: float
    gradient: np.ndarray
    curvature: np.ndarray

    def merge(self, other: GlmStatistics) -> GlmStatistics:
        return GlmStatistics(self.value + other.value, self.gradient + other.gradient, self.curvature + other.curvature)


@register
@dataclass(frozen=True)
class Design:
    """How a block becomes φ and outcomes: `centre` (P,), whether there is an intercept, the sorted class labels."""

    likelihood: Likelihood
    intercept: bool
    centre: np.ndarray
    classes: np.ndarray | None = None

    @property
    def n_predictors(self) -> int:
        return self.likelihood.n_classes if isinstance(self.likelihood, CategoricalLogit) else 1

    @property
    def width(self) -> int:
        return self.centre.size + self.intercept

    def rows(self, X: np.ndarray) -> np.ndarray:
        """φ (n, D) in float64, columns contiguous: scaling rows then runs along memory, a dozen columns apart not."""
        lead = int(self.intercept)
        phi = np.empty((X.shape[1] + lead, X.shape[0])).T
        phi[:, :lead] = 1.0
        np.subtract(X, self.centre, out=phi[:, lead:])
        return phi

    def prepare(self, source: Source) -> Source:
        """The same blocks with φ for X and codes for y; kept between passes when they fit in memory beside the data."""

        def blocks() -> Iterator[Block]:
            for block in source:
                assert block.y is not None
                y = block.y if self.classes is None else np.searchsorted(self.classes, block.y)
                if self.n_predictors == 1:
                    y = np.asarray(y, dtype=np.float64)
                yield replace(block, X=self.rows(block.X), y=y)

        rows = source.n_rows if isinstance(source, ArraySource) else None
        if rows is None or rows * self.width > KEPT_CELLS:
            return GeneratorSource(blocks)
        kept = list(blocks())
        return GeneratorSource(lambda: iter(kept))


def accumulate(block: Block, theta: np.ndarray, design: Design) -> GlmStatistics:
    """Statistics of one prepared block at Θ, flat (kD,). Cost rows · D² · k(k + 1)/2."""
    phi, y = block.X, block.y
    assert y is not None
    weights = None if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    if design.n_predictors > 1:
        return _softmax(phi, y, weights, theta.reshape(design.n_predictors, -1))
    value, slope, curvature = design.likelihood.value_and_derivatives(y, phi @ theta)
    if weights is not None:
        value, slope, curvature = value * weights, slope * weights, curvature * weights
    root = phi * np.sqrt(np.negative(curvature, out=curvature), out=curvature)[:, None]
    return GlmStatistics(float(value.sum()), phi.T @ slope, root.T @ root)


def _softmax(phi: np.ndarray, y: np.ndarray, weights: np.ndarray | None, theta: np.ndarray) -> GlmStatistics:
    k, d = theta.shape
    log_p = phi @ theta.T
    log_p -= log_p.max(axis=1, keepdims=True)
    p = np.exp(log_p)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    index = np.arange(y.size)
    value = log_p[index, y] - np.log(total[:, 0])
    residual = -p
    residual[index, y] += 1.0
    if weights is not None:
        value, residual = value * weights, residual * weights[:, None]
    curvature = np.empty((k, d, k, d))
    for a in range(k):
        for b in range(a + 1):
            share = p[:, a] * ((a == b) - p[:, b])
            if weights is not None:
                share = share * weights
            block = (phi * share[:, None]).T @ phi
            curvature[a, :, b, :] = block
            curvature[b, :, a, :] = block.T
    return GlmStatistics(float(value.sum()), (residual.T @ phi).ravel(), curvature.reshape(k * d, k * d))


def log_likelihoods(block: Block, points: np.ndarray, design: Design) -> np.ndarray:
    """Log-likelihood of a prepared block's rows at each of S points (S, kD): (S,). Cost rows · S · kD."""
    y = block.y
    assert y is not None
    weights = np.ones(block.n_rows) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    result = np.empty(len(points))
    for part, eta in predictors(block.X, points, design.n_predictors):
        if design.n_predictors == 1:
            value = design.likelihood.log_prob(y[:, None], eta)
        else:
            value = design.likelihood.log_prob(np.broadcast_to(y[:, None], eta.shape[:2]), eta)
        result[part] = weights @ value
    return result


def predictors(phi: np.ndarray, points: np.ndarray, k: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Chunks of points with their η: (n, s) for k = 1, (n, s, k) for more."""
    size = max(1, CHUNK_CELLS // max(1, len(phi) * k))
    for start in range(0, len(points), size):
        part = slice(start, start + size)
        theta = points[part]
        eta = phi @ theta.T if k == 1 else phi @ theta.reshape(len(theta) * k, -1).T
        yield part, eta if k == 1 else eta.reshape(len(phi), -1, k)


def class_probabilities(
    phi: np.ndarray, points: np.ndarray, weights: np.ndarray, design: Design
) -> tuple[np.ndarray, np.ndarray]:
    """Σ_s w_s p(y | φ, θ_s), (n, classes), and Σ_s w_s H(y | φ, θ_s) in nats, (n,). Cost n · S · kD."""
    k = design.n_predictors
    table, entropy = np.zeros((len(phi), max(k, 2))), np.zeros(len(phi))
    for part, eta in predictors(phi, points, k):
        w = weights[part]
        if k == 1:
            p = scipy.special.expit(eta)
            table[:, 1] += p @ w
            table[:, 0] += scipy.special.expit(-eta) @ w
            # H = log(1 + e^−|η|) + |η| min(p, 1 − p), from what is already there
            size = np.abs(eta)
            entropy += (np.log1p(np.exp(-size)) + size * np.minimum(p, 1.0 - p)) @ w
        else:
            p = design.likelihood.mean(eta)
            table += np.einsum("nsk,s->nk", p, w)
            entropy += scipy.special.entr(p).sum(axis=-1) @ w
    return table, entropy
