"""Generalised linear models: log-likelihood, gradient and curvature of a block of rows.

Notation: Θ is flat: m linear predictors' weights θ_j, then ψ (a,), the likelihood's auxiliary parameters on the real
line (log dispersion, cut-points...). φ_j(x) = (1, (x − centre)/scale) over the columns of predictor j, without the 1
where there is no intercept; η_j = φ_j·θ_j, and the first takes the row's offset. With ∂ in (η_1..η_m, ψ):

    ∇_j = Σ φ_j ∂_j log p     ∇_ψ = Σ ∂_ψ log p
    H_jl = −Σ φ_j φ_lᵀ ∂²_jl     H_jψ = −Σ φ_j ∂²_jψ     H_ψψ = −Σ ∂²_ψψ
    softmax: m = k classes on one φ, H_ab = Σ φφᵀ p_a (1[a=b] − p_b)

Columns are centred and scaled so that far-off and odd units cost no digits; weights are mapped back at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from credo.blocks.array import ArraySource
from credo.blocks.generator import GeneratorSource
from credo.blocks.source import Block, Source
from credo.distributions.likelihoods import CategoricalLogit, Likelihood
from credo.inference.exact.sparse import csr_of, is_sparse, with_ones
from credo.saving.registry import register

__all__ = ["Design", "GlmStatistics", "accumulate", "log_likelihoods", "values_and_gradients", "predictors"]

# Cells of a (points × rows) chunk of linear predictors: 4 MiB of float64, half an L2 cache in and out.
CHUNK_CELLS = 2**19
# Prepared rows kept between Newton's passes: up to 512 MiB of them, since they double what the data hold.
KEPT_CELLS = 2**26


@dataclass(frozen=True)
class GlmStatistics:
    """Σ over rows of log p (float), its gradient and curvature in Θ, (K,) and (K, K)."""

    value: float
    gradient: np.ndarray
    curvature: np.ndarray

    def merge(self, other: GlmStatistics) -> GlmStatistics:
        return GlmStatistics(self.value + other.value, self.gradient + other.gradient, self.curvature + other.curvature)


@register
@dataclass(frozen=True, eq=False)
class Design:
    """How a row becomes φ, and Θ its parts.

    centre, scale : (P,) of the columns
    classes : labels where outcomes are classes
    """

    likelihood: Likelihood
    intercept: bool
    centre: np.ndarray
    scale: np.ndarray
    classes: np.ndarray | None = None

    @cached_property
    def n_predictors(self) -> int:
        return self.likelihood.n_classes if isinstance(self.likelihood, CategoricalLogit) else 1

    @cached_property
    def n_auxiliary(self) -> int:
        return len(self.likelihood.auxiliary)

    @cached_property
    def spans(self) -> tuple[slice, ...]:
        """Where the weights of each predictor are in Θ."""
        width = self.centre.size + int(self.intercept)
        return tuple(slice(j * width, (j + 1) * width) for j in range(self.n_predictors))

    @property
    def n_weights(self) -> int:
        return self.spans[-1].stop

    @property
    def size(self) -> int:
        """Entries of Θ."""
        return self.n_weights + self.n_auxiliary

    @property
    def is_softmax(self) -> bool:
        return self.n_predictors > 1

    def rows(self, X: Any) -> Any:
        """φ (n, D) in float64, columns contiguous: scaling rows then runs along memory, a dozen columns apart not.

        Sparse rows stay sparse under the raw design.
        """
        if is_sparse(X):
            if not self.centre.any() and np.all(self.scale == 1.0):
                return with_ones(csr_of(X)) if self.intercept else csr_of(X)
            X = X.toarray()
        lead = int(self.intercept)
        phi = np.empty((X.shape[1] + lead, X.shape[0])).T
        phi[:, :lead] = 1.0
        rest = phi[:, lead:]
        np.subtract(X, self.centre, out=rest)
        rest /= self.scale
        return phi

    def prepare(self, source: Source) -> Source:
        """The same blocks with φ for X and codes for y; kept between passes when they fit in memory beside the data."""

        def blocks() -> Iterator[Block]:
            for block in source:
                assert block.y is not None
                y = block.y if self.classes is None else class_codes(self.classes, block.y)
                if not self.is_softmax:
                    y = np.asarray(y, dtype=np.float64)
                weights = None if block.weights is None else np.asarray(block.weights, dtype=np.float64)
                yield replace(block, X=self.rows(block.X), y=y, weights=weights)

        rows = source.n_rows if isinstance(source, ArraySource) else None
        if rows is None or rows * (self.centre.size + 1) > KEPT_CELLS:
            return GeneratorSource(blocks, source.n_rows)
        kept = list(blocks())
        return GeneratorSource(lambda: iter(kept), rows)

    def to_raw(self, theta: np.ndarray) -> np.ndarray:
        """Θ (..., K) for φ = (1, x): weights in the columns' units, levels at x = 0 instead of at the centre."""
        raw = np.array(theta, dtype=np.float64)
        lead = int(self.intercept)
        for span in self.spans:
            weights = raw[..., span][..., lead:]
            weights /= self.scale
            if lead:
                raw[..., span.start] -= weights @ self.centre
            elif np.any(self.centre):  # the level is in the cut-points, of which the first is a parameter itself
                raw[..., self.n_weights] += weights @ self.centre
        return raw

    def raw(self) -> Design:
        """The design that raw Θ belong to."""
        return replace(self, centre=np.zeros_like(self.centre), scale=np.ones_like(self.scale))


def class_codes(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Positions (n,) of labels in `classes`, which may be in any order."""
    order = np.argsort(classes, kind="stable")
    return order[np.searchsorted(classes, y, sorter=order)]


def accumulate(block: Block, theta: np.ndarray, design: Design) -> GlmStatistics:
    """Statistics of one prepared block at Θ, flat (K,). Cost rows · K²."""
    if design.is_softmax:
        return _softmax(block, theta.reshape(design.n_predictors, -1))
    if design.n_auxiliary:
        return _joint(block, theta, design)
    phi, y, weights = block.X, block.y, block.weights
    eta = phi @ theta
    if block.offset is not None:
        eta += block.offset
    value, slope, curvature = design.likelihood.value_and_derivatives(y, eta)
    if weights is not None:
        value, slope, curvature = value * weights, slope * weights, curvature * weights
    np.negative(curvature, out=curvature)
    if design.likelihood.log_concave:
        root = phi * np.sqrt(curvature, out=curvature)[:, None]
        return GlmStatistics(float(value.sum()), phi.T @ slope, root.T @ root)
    return GlmStatistics(float(value.sum()), phi.T @ slope, phi.T @ (phi * curvature[:, None]))


@np.errstate(over="ignore", invalid="ignore")  # a step too far is halved
def _joint(block: Block, theta: np.ndarray, design: Design) -> GlmStatistics:
    """A likelihood with auxiliary parameters beside its predictor."""
    phi, k = block.X, design.n_weights
    eta = phi @ theta[:k]
    if block.offset is not None:
        eta += block.offset
    value, first, second = design.likelihood.joint_derivatives(block.y, eta, theta[k:], order=2)
    if block.weights is not None:
        value, first = value * block.weights, first * block.weights[:, None]
        second = second * block.weights[:, None, None]
    gradient = np.concatenate([phi.T @ first[:, 0], first[:, 1:].sum(axis=0)])
    curvature = np.empty((design.size, design.size))
    curvature[:k, :k] = phi.T @ (phi * second[:, 0, 0][:, None])
    curvature[:k, k:] = phi.T @ second[:, 0, 1:]
    curvature[k:, :k] = curvature[:k, k:].T
    curvature[k:, k:] = second[:, 1:, 1:].sum(axis=0)
    return GlmStatistics(float(value.sum()), gradient, np.negative(curvature, out=curvature))


def _softmax(block: Block, theta: np.ndarray) -> GlmStatistics:
    phi, y, weights = block.X, block.y, block.weights
    assert y is not None
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
            cross = (phi * share[:, None]).T @ phi
            curvature[a, :, b, :] = cross
            curvature[b, :, a, :] = cross.T
    return GlmStatistics(float(value.sum()), (residual.T @ phi).ravel(), curvature.reshape(k * d, k * d))


def predictors(
    phi: np.ndarray, points: np.ndarray, design: Design, offset: np.ndarray | None = None
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Chunks of S points (S, K), with their η: (s, n), of a softmax (s, n, m); and their ψ (s, a)."""
    m = design.n_predictors
    size = max(1, CHUNK_CELLS // max(1, phi.shape[0] * m))
    for start in range(0, len(points), size):
        chunk = slice(start, start + size)
        theta = points[chunk]
        psi = theta[:, design.n_weights :]
        if design.is_softmax:
            yield chunk, (theta.reshape(len(theta) * m, -1) @ phi.T).reshape(len(theta), m, -1).swapaxes(1, 2), psi
        else:
            eta = theta[:, : design.n_weights] @ phi.T
            yield chunk, eta if offset is None else eta + offset, psi


def log_likelihoods(block: Block, points: np.ndarray, design: Design) -> np.ndarray:
    """Log-likelihood of a prepared block's rows at each of S points (S, K): (S,). Cost rows · S · K."""
    result = np.empty(len(points))
    for chunk, eta, psi in predictors(block.X, points, design, block.offset):
        y = np.broadcast_to(block.y, eta.shape[:2]) if design.is_softmax else block.y  # type: ignore[arg-type]
        value = design.likelihood.log_prob(y, eta, psi) if design.n_auxiliary else design.likelihood.log_prob(y, eta)
        result[chunk] = value.sum(axis=1) if block.weights is None else value @ block.weights
    return result


def values_and_gradients(block: Block, points: np.ndarray, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood (S,) and gradient (S, K) of a prepared block at S points. Cost rows · S · K."""
    values, gradients = np.empty(len(points)), np.empty((len(points), design.size))
    m = design.n_predictors
    for chunk, eta, psi in predictors(block.X, points, design, block.offset):
        if design.n_auxiliary:
            value, first, *_ = design.likelihood.joint_derivatives(block.y, eta, psi, order=1)
        else:
            y = np.broadcast_to(block.y, eta.shape[:2]) if design.is_softmax else block.y  # type: ignore[arg-type]
            value, first = design.likelihood.value_and_derivatives(y, eta, order=1)
            first = first if design.is_softmax else first[..., None]
        if block.weights is not None:
            value, first = value * block.weights, first * block.weights[:, None]
        values[chunk] = value.sum(axis=1)
        for j, span in enumerate(design.spans):
            gradients[chunk, span] = first[..., j] @ block.X
        gradients[chunk, design.n_weights :] = first[..., m:].sum(axis=1)
    return values, gradients
