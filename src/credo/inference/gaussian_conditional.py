"""Draws of coefficients from their Gaussian conditional, at the cheaper of two costs.

    y = x d + N(0, σ² I),   d_j ~ N(0, σ² v_j)
    d | y = centre + σ · perturbation,   Q = min_d ‖y − x d‖² + Σ d²/v

so that one factorisation serves every σ, and Q is what the noise learns once d is integrated out.

K rows, P columns. Rows are those of `RegressionStatistics.as_factor` (at most P + 1) or of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import get_lapack_funcs

from credo.errors import NumericalError

__all__ = ["GaussianConditional", "draw_weighted"]

# LAPACK itself: SciPy's own checks cost more than a small factorisation, and a sweep makes dozens.
_FACTOR, _SOLVE = get_lapack_funcs(("potrf", "trtrs"), dtype=np.float64)


@dataclass(frozen=True)
class GaussianConditional:
    """centre (P,), quadratic Q, and what draws need. P × P where P ≤ K, else K × K (Bhattacharya, Chakraborty and
    Mallick 2016, Biometrika 103)."""

    centre: np.ndarray
    quadratic: float
    factor: np.ndarray
    scale: np.ndarray
    wide_rows: np.ndarray | None

    @classmethod
    def of(cls, x: np.ndarray, gram: np.ndarray | None, y: np.ndarray, variances: np.ndarray) -> GaussianConditional:
        """From rows x (K, P), gram xᵀx (None: by the K × K form), y (K,), variances v (P,); infinite ones are flat."""
        if gram is None:
            return cls._wide(x, y, variances)
        precision = 1.0 / variances
        scale = 1.0 / np.sqrt(np.diagonal(gram) + precision)
        # Scaled to a unit diagonal: variances may differ by any number of orders of magnitude.
        matrix = gram * scale[:, None] * scale
        matrix[np.diag_indices(scale.size)] = 1.0
        factor = _lower(matrix)
        half = _SOLVE(factor, scale * (x.T @ y), lower=1)[0]
        centre = scale * _SOLVE(factor, half, lower=1, trans=1)[0]
        residual = y - x @ centre
        return cls(centre, float(residual @ residual + np.square(centre) @ precision), factor, scale, None)

    @classmethod
    def _wide(cls, x: np.ndarray, y: np.ndarray, variances: np.ndarray) -> GaussianConditional:
        scale = np.sqrt(variances)
        rows = x * scale
        matrix = rows @ rows.T
        matrix[np.diag_indices(y.size)] += 1.0
        factor = _lower(matrix)
        half = _SOLVE(factor, y, lower=1)[0]
        solved = _SOLVE(factor, half, lower=1, trans=1)[0]
        return cls(scale * (rows.T @ solved), float(half @ half), factor, scale, rows)

    def perturbation(self, rng: np.random.Generator) -> np.ndarray:
        """A draw (P,) of d − centre at σ = 1."""
        z = rng.standard_normal(self.scale.size)
        if self.wide_rows is None:
            return self.scale * _SOLVE(self.factor, z, lower=1, trans=1)[0]
        seen = self.wide_rows @ z + rng.standard_normal(self.wide_rows.shape[0])
        return self.scale * (z - self.wide_rows.T @ scipy.linalg.cho_solve((self.factor, True), seen))


def draw_weighted(
    rows: np.ndarray,
    target: np.ndarray,
    precision: np.ndarray,
    variances: np.ndarray,
    intercept: tuple[float, float] | None,
    rng: np.random.Generator,
) -> tuple[float, np.ndarray]:
    """An intercept and coefficients (P,) given rows (n, P), targets (n,) with precisions (n,), prior variances (P,).

    intercept : (mean, precision) of its Normal prior, precision 0 for a flat one; None for no intercept. It is
        integrated out for the coefficients: its share leaves the rows, with its prior as one row more.
    """
    n, p = rows.shape
    root = np.sqrt(precision)
    x, y = rows * root[:, None], target * root
    if intercept is None:
        part = GaussianConditional.of(x, x.T @ x if p <= n else None, y, variances)
        return 0.0, part.centre + part.perturbation(rng)
    mean, of_prior = intercept
    total = float(precision.sum()) + of_prior
    x = np.vstack([x, np.zeros((1, p))])
    unit = np.append(root, np.sqrt(of_prior)) / np.sqrt(total)
    y = np.append(y, np.sqrt(of_prior) * mean)
    x_share, y_share = unit @ x, float(unit @ y)
    x, y = x - np.outer(unit, x_share), y - unit * y_share
    part = GaussianConditional.of(x, x.T @ x if p <= n else None, y, variances)
    d = part.centre + part.perturbation(rng)
    return float((y_share - x_share @ d + rng.standard_normal()) / np.sqrt(total)), d


def _lower(matrix: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor; with the smallest jitter of 1e-12, 1e-11, … 1e-4 of the mean diagonal that works."""
    factor, fault = _FACTOR(matrix, lower=1)
    jitter = 1e-12
    while fault and jitter < 1e-3:
        raised = matrix.copy()
        raised[np.diag_indices(len(matrix))] += jitter * np.trace(matrix) / len(matrix)
        factor, fault = _FACTOR(raised, lower=1)
        jitter *= 10.0
    if fault:
        raise NumericalError(
            "The precision of the coefficients in a Gibbs step is not positive definite.",
            value=float(np.max(np.abs(matrix))),
            remedy="Rescale the columns, or use a tighter prior.",
        )
    return factor
