"""Generalised linear models of sparse rows, which are never made dense but a block of bounded size at a time.

    columns ≤ 2048      dense blocks of the rows, one after the other, into the usual passes
    rows ≤ 2048         the same model in the coordinates that the rows touch (below), exactly
    both larger         the mode under a stated Normal prior, by L-BFGS on sparse products

With A = (X − 1 cᵀ) T = U S Vᵀ and w = T u, u ~ N(0, τ² I): the rows see v = Vᵀ u alone, whose prior is N(0, τ² I) too.
So the model with design Z = U S (n × K) and that prior has the same evidence and the same posterior of v, whatever
likelihood and inference; the rest of u keeps its prior. A new row's predictor is b + a·v + ‖beyond‖ ζ with a its
coordinates and ζ ~ N(0, τ²) independent of v given τ: a column of zeros in Z holds ζ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize

from credo.blocks.array import ArraySource
from credo.blocks.generator import GeneratorSource
from credo.blocks.partition import row_ranges, rows_per_block
from credo.blocks.source import Block, Source
from credo.distributions.likelihoods import CategoricalLogit
from credo.distributions.normal import Normal
from credo.errors import ConvergenceWarning, DataError, ParameterError, UnavailableError, warn
from credo.inference.exact.sparse import (
    KernelRotation,
    SparseRows,
    csr_of,
    is_sparse,
    kernel_rows,
    require_finite,
    scaled_columns,
    square_norms,
    with_ones,
)
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.evidence import Outcomes
from credo.models.glm.equations import Design, values_and_gradients
from credo.models.glm.fitting import INFERENCES, GlmFit, GlmSpecification, fit_glm
from credo.models.glm.posterior import GlmPosterior
from credo.models.priors import CoefficientPrior, resolve_intercept_prior, resolve_prior
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["ReducedDesign", "ReducedPosterior", "fit_any"]

# Parameters up to which a dense curvature is carried: 32 MiB, and some seconds a factorisation.
NARROW = 2048
# In units of posterior sds (see `models.linear.sparse`), what is asked of a mode, and what is called converged.
GOAL, ENOUGH = 1e-6, 1e-2
MAX_ITER = 5000


def fit_any(source: Source, specification: GlmSpecification) -> GlmFit:
    """`fit_glm`, and what stands for it where the rows are sparse."""
    first = next((block for block in source if block.n_rows), None)
    if first is None or not is_sparse(first.X):
        return fit_glm(source, specification)
    p = first.X.shape[1]
    if p <= NARROW:
        return fit_glm(_dense_blocks(source, p), specification)
    if not isinstance(source, ArraySource):
        raise DataError(
            f"{specification.owner}: blocks of more than {NARROW} sparse columns.",
            value=p,
            remedy="Give them as one CSR matrix.",
        )
    if specification.inference not in INFERENCES:
        raise ParameterError(specification.owner, "inference", f"one of {INFERENCES}", specification.inference)
    X: Any = csr_of(source.X)
    require_finite(X, np.zeros(X.shape[0]), 0)
    if X.shape[0] <= NARROW:
        return _fit_reduced(X, source, specification)
    return _fit_mode(X, source, specification)


def _dense_blocks(source: Source, p: int) -> Source:
    size = rows_per_block(p)

    def blocks() -> Any:
        for block in source:
            X: Any = csr_of(block.X)
            require_finite(X, np.zeros(block.n_rows), block.start)
            for a, b in row_ranges(block.n_rows, size):
                beside = (None if each is None else each[a:b] for each in (block.y, block.weights))
                offset = None if block.offset is None else block.offset[a:b]
                yield Block(X[a:b].toarray(), *beside, start=block.start + a, offset=offset)

    return GeneratorSource(blocks, source.n_rows, source.column_names)


def _prior_of(
    X: Any, source: ArraySource, specification: GlmSpecification
) -> tuple[SparseRows, CoefficientPrior, bool]:
    """The rows, each counted once; the prior; whether a flat intercept takes up the means of the columns."""
    owner, n = specification.owner, X.shape[0]
    rows = SparseRows(
        X.data, X.indices, X.indptr, X.shape[1], np.zeros((n, 1)), np.ones(n), n_rows=n, count=float(n), log_scale=0.0
    )
    counted = rows if source.weights is None else replace(rows, weights=np.asarray(source.weights, dtype=np.float64))
    square, mean = counted.spread[:-1] / counted.weight, counted.mean[:-1]
    scale = np.sqrt(square if specification.fit_intercept else square + np.square(mean))
    prior = resolve_prior(owner, specification.prior, scale)
    gaussian = prior.kind in ("learned", "stated") and prior.whitening.scale.ndim == 1
    if not gaussian:
        raise ParameterError(
            owner, "prior", f"None or a Normal for sparse X of more than {NARROW} columns", specification.prior,
            "Keep fewer columns, or use X.toarray() if it fits in memory.",
        )  # fmt: skip
    flat = resolve_intercept_prior(owner, specification.prior_intercept) is None
    return rows, prior, specification.fit_intercept and flat


# -- few rows ------------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class ReducedDesign(Design):
    """A design whose rows are the coordinates of x in the span of the rows fitted to, and the length beyond it."""

    rotation: KernelRotation | None = None
    column_scale: np.ndarray | None = None
    column_centre: np.ndarray | None = None

    def rows(self, X: Any) -> np.ndarray:
        """φ (n, D) of rows X (n, P), dense or sparse. Cost n times the stored cells of the rows fitted to."""
        assert self.rotation is not None
        assert self.column_scale is not None
        assert self.column_centre is not None
        lead = self.column_centre * self.column_scale
        if is_sparse(X):
            whitened = scaled_columns(csr_of(X), self.column_scale)
            along = self.rotation.project(whitened) - self.rotation.project(lead[None])
            total = square_norms(whitened) - 2.0 * (whitened @ lead) + lead @ lead
        else:
            whitened = (np.asarray(X, dtype=np.float64) - self.column_centre) * self.column_scale
            along = self.rotation.project(whitened)
            total = square_norms(whitened)
        beyond = np.sqrt(np.maximum(total - square_norms(along), 0.0))
        phi = np.column_stack([along, beyond])
        return with_ones(phi) if self.intercept else phi


@register
@dataclass(frozen=True, eq=False)
class ReducedPosterior(GlmPosterior):
    """A posterior of v and ζ, read as one of the coefficients w = T (V v + (I − V Vᵀ) u).

    rotation, scale, centre : V, T and c
    """

    rotation: KernelRotation | None = None
    scale: np.ndarray | None = None
    centre: np.ndarray | None = None

    def _parts(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v (..., k, K) and ζ (..., k)."""
        shaped = super()._coefficients(flat)
        return shaped[..., :-1], shaped[..., -1]

    def _coefficients(self, flat: np.ndarray) -> np.ndarray:
        assert self.rotation is not None
        return self.rotation.expand(self._parts(flat)[0]) * np.asarray(self.scale)

    def _intercepts(self, flat: np.ndarray) -> np.ndarray:
        level = super()._intercepts(flat)
        return level - self._coefficients(flat) @ self.centre if self.has_intercept else level

    @property
    def at_mode(self) -> np.ndarray:
        flat = self.flat_mode
        lead = [self._intercepts(flat)[:, None]] if self.has_intercept else []
        return np.hstack([*lead, self._coefficients(flat)])

    def _marginal_points(self, draws: WeightedDraws) -> Any:
        """Points (S, k, part) of the coefficients, each right on its own, a part of the columns at a time."""
        assert self.rotation is not None
        assert self.scale is not None
        v, zeta = self._parts(draws.points)
        for part in self.rotation.blocks():
            for a, b in row_ranges(part.stop - part.start, 256):
                some = slice(part.start + a, min(part.start + b, self.scale.size))
                basis = self.rotation.rows(some)
                rest = np.sqrt(np.maximum(1.0 - square_norms(basis), 0.0))
                yield self.scale[some] * (v @ basis.T + zeta[..., None] * rest)

    @property
    def sd(self) -> np.ndarray:
        draws = self._require("sd")
        parts = []
        for w in self._marginal_points(draws):
            spread = w - np.tensordot(draws.weights, w, axes=1)
            parts.append(np.sqrt(np.tensordot(draws.weights, np.square(spread), axes=1)))
        return np.concatenate(parts, axis=-1)

    @property
    def intercept_sd(self) -> np.ndarray:
        draws = self._require("sd")
        level = self._intercepts(draws.points)
        return np.sqrt(draws.weights @ np.square(level - draws.weights @ level))

    @property
    def covariance(self) -> np.ndarray:
        raise UnavailableError("The covariance of so many coefficients is not kept.", remedy="Use sd or sample(n).")

    def quantile(self, q: Any) -> np.ndarray:
        draws = self._require("quantiles")
        parts = [
            replace(draws, points=w.reshape(len(w), -1)).quantile(q).reshape(*np.shape(q), *w.shape[1:])
            for w in self._marginal_points(draws)
        ]
        return np.concatenate(parts, axis=-1)

    def sample(self, n: int, rng: Any = None) -> np.ndarray:
        """Draws of the coefficients (n, k, P). Beyond the span of the rows they are the prior's, at E[τ²]."""
        rng = as_generator(rng)
        return self._named(self._require("draws").sample(n, rng), rng)["coef"]

    def _named(self, flat: np.ndarray, rng: Any = 0) -> dict[str, np.ndarray]:
        assert self.rotation is not None
        assert self.scale is not None
        draws = self._require("draws")
        size = np.sqrt(draws.weights @ np.square(self._parts(draws.points)[1]))
        v, _ = self._parts(flat)
        free = as_generator(rng).standard_normal((*v.shape[:-1], self.rotation.shape[0]))
        along = self.rotation.project(free.reshape(-1, free.shape[-1]))
        free = size[:, None] * (free - self.rotation.expand(along).reshape(free.shape))
        coef = self._coefficients(flat) + free * self.scale
        level = super()._intercepts(flat)
        level = level - coef @ np.asarray(self.centre) if self.has_intercept else level
        return {"coef": coef, "intercept": level, **self.auxiliary(flat)}

    def log_prob(self, theta: Any) -> np.ndarray:
        raise UnavailableError("The joint density of so many coefficients is not kept.", remedy="Use sample(n).")

    def summary(self, mass: float = 0.9) -> dict[str, dict[str, Any]]:
        raise UnavailableError(
            "A table of so many coefficients is not made.", remedy="Use posterior_.mean, .sd and .interval(mass)."
        )


def _fit_reduced(X: Any, source: ArraySource, specification: GlmSpecification) -> GlmFit:
    rows, prior, centred = _prior_of(X, source, specification)
    if np.any(prior.whitening.offset):
        raise ParameterError(
            specification.owner, "prior.mean", f"0 for sparse X of more than {NARROW} columns", specification.prior
        )
    scale = prior.whitening.scale
    kernel = kernel_rows(rows, centred=centred)
    singular, rotation, _, _ = kernel.decomposed(scale, np.zeros(scale.size))
    Z = np.column_stack([rotation.right * np.square(singular), np.zeros(X.shape[0])])
    labels = (*(f"direction {i}" for i in range(singular.size)), "beyond the rows")
    inner = replace(specification, prior=Normal(0.0, None if prior.kind == "learned" else 1.0), names=labels)
    fit = fit_glm(ArraySource(Z, source.y, source.weights, offset=source.offset), inner)
    names = specification.names or tuple(f"x{i}" for i in range(scale.size))
    # What the kernel's rows were centred by, seen from the columns as they are.
    centre = rows.mean[:-1] if centred else np.zeros(scale.size)
    posterior = ReducedPosterior(
        **{**_fields(fit.posterior), "names": names}, rotation=rotation, scale=scale, centre=centre
    )
    design = ReducedDesign(**_fields(fit.design), rotation=rotation, column_scale=scale, column_centre=centre)
    return replace(fit, posterior=posterior, design=design)


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


# -- many rows and columns -----------------------------------------------------------------------------------------


def _fit_mode(X: Any, source: ArraySource, specification: GlmSpecification) -> GlmFit:
    """The mode under a stated Normal prior: −log p(y | b, m + T u) + ½ ‖u‖², strongly convex in u."""
    owner = specification.owner
    n, p = X.shape
    if specification.inference != "map":
        raise ParameterError(
            owner, "inference", f"'map', with a Normal prior stated, for sparse X of {n} × {p}: a posterior needs at "
            f"most {NARROW} rows or columns, since its covariance is dense", specification.inference,
            "Or keep the columns with most entries, or hash them to fewer.",
        )  # fmt: skip
    rows, prior, _ = _prior_of(X, source, specification)
    if prior.kind != "stated":
        raise ParameterError(
            owner, "prior", f"a Normal with its sd stated for the mode of sparse X of {n} × {p}", specification.prior
        )
    classes = None
    y, weights = source.y, source.weights
    assert y is not None
    if specification.classify:
        classes = np.unique(y if weights is None else y[weights > 0])
        if classes.size < 2:
            raise DataError(f"{owner} needs two classes, got one class: {classes.tolist()}.", value=classes.tolist())
        classes = classes if specification.levels is None else specification.levels
    likelihood = specification.likelihood(classes)
    if "cutpoint_1" in likelihood.auxiliary:
        raise ParameterError(owner, "X", f"of at most {NARROW} rows or columns where it is sparse", X.shape)
    lead = int(specification.fit_intercept)
    k = likelihood.n_classes if isinstance(likelihood, CategoricalLogit) else 1
    design = Design(likelihood, bool(lead), np.zeros(p), np.ones(p), classes)
    codes = y if classes is None else _codes(classes, y)
    codes = codes if k > 1 else np.asarray(codes, dtype=np.float64)
    phi = with_ones(X) if lead else X
    block = Block(phi, codes, None if weights is None else np.asarray(weights, dtype=np.float64), 0, source.offset)
    found = _ascend(block, design, prior, specification, rows.spread[:-1] / rows.weight)
    head = found[0][: design.n_weights].reshape(k, p + lead)
    rest = found[0][design.n_weights :]
    names = specification.names or tuple(f"x{i}" for i in range(p))
    posterior = GlmPosterior(None, head, bool(lead), names, found[1], None, likelihood, rest)
    digest = Outcomes.of_labels(y, weights) if specification.classify else Outcomes.of_numbers(y, weights)
    return GlmFit(posterior, replace(design, classes=None), 1.0, False, classes, digest)


def _codes(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    order = np.argsort(classes, kind="stable")
    return order[np.searchsorted(classes, y, sorter=order)]


def _ascend(
    block: Block, design: Design, prior: CoefficientPrior, specification: GlmSpecification, variance: np.ndarray
) -> tuple[np.ndarray, Result]:
    """Θ at the mode. Variables are prior sds, shrunk by a guess of the curvature, so that all have one size."""
    lead, k = int(design.intercept), design.n_predictors
    offset, scale = prior.whitening.offset, prior.whitening.scale
    level = resolve_intercept_prior(specification.owner, specification.prior_intercept) if lead else None
    centre = np.concatenate([[level[0] if level else 0.0] * lead, offset])
    precision = np.concatenate([[1.0 / level[1] ** 2 if level else 0.0] * lead, 1.0 / np.square(scale)])
    # ¼ is the curvature of a logit at 0; any other likelihood's is of that order on its scale.
    unit = 1.0 / np.sqrt(precision + 0.25 * block.n_rows * np.concatenate([[1.0] * lead, variance]))
    head, tail = k * centre.size, design.n_auxiliary
    centre, precision = np.tile(centre, k), np.tile(precision, k)
    unit = np.concatenate([np.tile(unit, k), np.ones(tail)])
    start = np.concatenate([np.zeros(head), design.likelihood.initial_auxiliary(block.y) if tail else []])  # type: ignore[arg-type]
    start[:head] = centre

    def gradient_of(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = values_and_gradients(block, theta[None], design)
        shift = theta[:head] - centre
        loss, slope = 0.5 * float(precision @ np.square(shift)) - float(value[0]), -gradient[0]
        slope[:head] += precision * shift
        if tail:
            more, pull = design.likelihood.auxiliary_log_prior(theta[None, head:])[:2]
            loss, slope[head:] = loss - float(more[0]), slope[head:] - pull[0]
        return loss, slope

    def scaled(z: np.ndarray) -> tuple[float, np.ndarray]:
        loss, slope = gradient_of(z * unit)
        return loss, slope * unit

    trace: list[float] = []

    def note(intermediate_result: Any) -> None:
        trace.append(-float(intermediate_result.fun))

    fit = scipy.optimize.minimize(
        scaled, start / unit, jac=True, method="L-BFGS-B", callback=note,
        options={"maxiter": MAX_ITER, "maxfun": 2 * MAX_ITER, "gtol": GOAL * 1e-3, "ftol": 0.0, "maxcor": 30},
    )  # fmt: skip
    theta = fit.x * unit
    slope = gradient_of(theta)[1]
    weak = np.where(precision > 0.0, 1.0 / np.sqrt(np.maximum(precision, np.finfo(float).tiny)), unit[:head])
    error = float(np.linalg.norm(slope * np.concatenate([weak, unit[head:]])))
    certificate = {"error_in_posterior_sds": error, "iterations": int(fit.nit)}
    if error <= ENOUGH:
        return theta, Result("converged", "map", tuple(trace), certificate=certificate)
    advice = (
        f"L-BFGS stopped within {error:.2g} posterior sds of the mode. Rescale the columns, or state a tighter prior."
    )
    warn(f"{specification.owner}: {advice}", ConvergenceWarning)
    return theta, Result("max_iter", "map", tuple(trace), certificate=certificate, advice=(advice,))
