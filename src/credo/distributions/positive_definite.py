"""Positive-definite parameters: checked at construction, factored once, used through triangular solves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo.errors import DataError, DataWarning, NotPositiveDefiniteError, ParameterError, warn
from credo.numerics.cholesky import cholesky, solve_lower
from credo.numerics.namespace import is_jax, namespace

__all__ = [
    "checked_matrix",
    "whiten",
    "log_determinants",
    "Partition",
    "partition",
    "split",
    "pair",
    "values",
    "vectors",
]

# Products such as XᵀX computed in a different order differ by a few hundred roundings; more is a typing error.
SYMMETRY_TOLERANCE = 1e-8


def checked_matrix(owner: str, parameter: str, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric positive-definite parameter (d, d) and its lower Cholesky factor; a scalar is 1 × 1.

    Singular to rounding: factored with the jitter of `numerics.cholesky`, and a `DataWarning` says how much.
    """
    matrix = np.array(value, dtype=np.float64)
    matrix = matrix.reshape(1, 1) if matrix.ndim == 0 else matrix
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ParameterError(owner, parameter, "a square matrix", value)
    scale = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > SYMMETRY_TOLERANCE * scale:
        raise ParameterError(owner, parameter, "symmetric", value)
    try:
        factor = cholesky(matrix, f"{owner}.{parameter}")
    except NotPositiveDefiniteError as error:
        raise NotPositiveDefiniteError(str(error), value=value) from None
    if factor.jitter > 0.0:
        warn(
            f"{owner}.{parameter} is singular to rounding; {factor.jitter:.1e} was added to its diagonal.",
            DataWarning,
        )
    return matrix, factor.lower


def whiten(lower: Any, deviation: Any) -> Any:
    """L⁻¹ d along the last axis: deviation (..., d) → (..., d), so that Σ z² = dᵀ (L Lᵀ)⁻¹ d. Cost d² a vector."""
    if is_jax(lower) or is_jax(deviation):
        xp = namespace(lower, deviation)
        return xp.linalg.solve(lower, deviation[..., None])[..., 0]
    deviation = np.asarray(deviation, dtype=np.float64)
    flat = deviation.reshape(-1, deviation.shape[-1])
    return solve_lower(lower, flat.T).T.reshape(deviation.shape)


def log_determinants(x: np.ndarray) -> np.ndarray:
    """log |x| over a batch of symmetric matrices (..., d, d): −inf where not positive definite, NaN for NaN."""
    unknown = ~np.all(np.isfinite(x), axis=(-2, -1))
    eigenvalues = np.linalg.eigvalsh(np.where(unknown[..., None, None], np.eye(x.shape[-1]), x))
    # LAPACK's eigenvalues of a singular matrix are zero only to rounding of the largest.
    floor = eigenvalues[..., -1:] * x.shape[-1] * np.finfo(np.float64).eps
    inside = np.all(eigenvalues > np.maximum(floor, 0.0), axis=-1)
    logs = np.sum(np.log(np.where(inside[..., None], eigenvalues, 1.0)), axis=-1)
    return np.where(unknown, np.nan, np.where(inside, logs, -np.inf))


def split(owner: str, indices: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    """(`indices` as an array, the others in order), checked: in 0..d−1, no repeats; negatives count from the end."""
    chosen = np.atleast_1d(np.asarray(indices))
    if chosen.dtype == bool and chosen.shape == (d,):
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer) or np.any((chosen < -d) | (chosen >= d)):
        raise ParameterError(owner, "indices", f"integers in 0..{d - 1}", indices)
    chosen = chosen % d
    if np.unique(chosen).size < chosen.size:
        raise ParameterError(owner, "indices", "without repeats", indices)
    return chosen, np.setdiff1d(np.arange(d), chosen)


class Partition(NamedTuple):
    """Blocks of the factor of a matrix reordered to (given, kept): L = [[given, 0], [cross, kept]].

    `kept` is the factor of the Schur complement S_kk − S_kg S_gg⁻¹ S_gk: no subtraction, so it cannot lose
    positive definiteness; S_kg S_gg⁻¹ d = cross given⁻¹ d.
    """

    given: np.ndarray
    cross: np.ndarray
    kept: np.ndarray


def partition(matrix: np.ndarray, given: np.ndarray, kept: np.ndarray, name: str) -> Partition:
    """Factor `matrix` with the rows `given` first. Cost d³/3."""
    order = np.concatenate([given, kept])
    lower = cholesky(matrix[np.ix_(order, order)], name).lower
    m = given.size
    return Partition(lower[:m, :m], lower[m:, :m], lower[m:, m:])


def pair(owner: str, x: Any, location: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A value of a joint family, a location of trailing shape `location` and a spread, as two arrays."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ParameterError(owner, "x", "a pair (location, spread)", x)
    first, second = (np.asarray(part, dtype=np.float64) for part in x)
    if location and first.shape[-1:] != location:
        raise ParameterError(owner, "x", f"a pair whose location has length {location[0]}", first.shape)
    return first, second


def values(owner: str, x: Any, d: int, *parameters: Any) -> tuple[Any, Any]:
    """The namespace of x and the parameters, and the argument x (..., d) of a vector family as an array."""
    xp = namespace(x, *parameters)
    x = xp.asarray(x)
    if x.ndim == 0 or x.shape[-1] != d:
        raise ParameterError(owner, "x", f"vectors of {d} along the last axis", np.shape(x))
    return xp, x


def vectors(owner: str, x: Any, weights: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Checked rows (n, d) and weights (n,) for `fit`: finite, n ≥ 1; weights ≥ 0 with a positive sum, None is ones."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or x.size == 0:
        raise DataError(f"{owner} needs rows × columns, at least 1 × 1, got shape {x.shape}.", value=x.shape)
    bad = np.flatnonzero(~np.all(np.isfinite(x), axis=1))
    if bad.size:
        raise DataError(
            f"{owner}: row {bad[0]} holds NaN or infinite values ({bad.size} such rows).",
            rows=bad[:20].tolist(),
            value=x[bad[0]],
        )
    weights = np.ones(x.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    if weights.shape != x.shape[:1]:
        raise DataError(f"{owner}: {weights.size} weights for {x.shape[0]} rows.")
    if not np.all(np.isfinite(weights) & (weights >= 0)) or weights.sum() <= 0:
        raise ParameterError(owner, "weights", "finite, ≥ 0 and not all zero", weights)
    return x, weights
