"""Draws of coefficients from their Gaussian conditionals, of many chains at once, at the cheaper of two costs.

    y = x d + N(0, σ² I),   d_j ~ N(0, σ² v_j)
    d | y = centre + σ · perturbation,   Q = min_d ‖y − x d‖² + Σ d²/v

so that one factorisation serves every σ, and Q is what the noise learns once d is integrated out.

B chains, K rows, P columns. Rows are those of `RegressionStatistics.as_factor` (at most P + 1) or of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_lapack_funcs

from credo.errors import NumericalError

__all__ = ["GaussianConditionals", "WeightedRows"]

# LAPACK itself: SciPy's own checks cost more than a small factorisation, and a sweep makes dozens.
_FACTOR, _SOLVE = get_lapack_funcs(("potrf", "trtrs"), dtype=np.float64)
# Up to this order NumPy's inverse of a stack of triangles is faster than LAPACK's solves one by one.
SMALL = 16
# Numbers that products of columns may hold (32 MB): beyond, Gram matrices are made chain by chain.
PRODUCTS = 4_000_000


class Triangles:
    """Lower Cholesky factors L of positive definite matrices (B, m, m), and solutions with them."""

    def __init__(self, matrices: np.ndarray) -> None:
        self.small = matrices.shape[-1] <= SMALL
        if not self.small:
            self.factors = [_lower(matrix) for matrix in matrices]
            return
        try:
            lower = np.linalg.cholesky(matrices)
        except np.linalg.LinAlgError:
            lower = np.array([np.tril(_lower(matrix)) for matrix in matrices])
        self.inverses = np.linalg.inv(lower)

    def log_determinant(self) -> np.ndarray:
        """log |L Lᵀ|, (B,)."""
        if self.small:
            return -2.0 * np.log(np.diagonal(self.inverses, axis1=1, axis2=2)).sum(axis=1)
        return np.array([2.0 * np.log(np.diagonal(lower)).sum() for lower in self.factors])

    def solve(self, b: np.ndarray) -> np.ndarray:
        """L⁻¹ b, (B, m)."""
        if self.small:
            return np.matmul(self.inverses, b[..., None])[..., 0]
        return np.array([_SOLVE(lower, one, lower=1)[0] for lower, one in zip(self.factors, b, strict=True)])

    def solve_transposed(self, b: np.ndarray) -> np.ndarray:
        """L⁻ᵀ b, (B, m)."""
        if self.small:
            return np.matmul(b[:, None], self.inverses)[:, 0]
        return np.array([_SOLVE(lower, one, lower=1, trans=1)[0] for lower, one in zip(self.factors, b, strict=True)])


@dataclass(frozen=True)
class GaussianConditionals:
    """centre (B, P), quadratic Q (B,), and what draws need. P × P where Gram matrices are given, else K × K
    (Bhattacharya, Chakraborty and Mallick 2016, Biometrika 103)."""

    centre: np.ndarray
    quadratic: np.ndarray
    triangles: Triangles
    scale: np.ndarray
    wide_rows: np.ndarray | None

    @classmethod
    def of(cls, x: np.ndarray, gram: np.ndarray | None, y: np.ndarray, variances: np.ndarray) -> GaussianConditionals:
        """From rows x (K, P) or (B, K, P), gram xᵀx of the same (None: by the K × K form, for finite variances), y
        (B, K), variances v (B, P)."""
        if gram is None:
            return cls._wide(x, y, variances)
        precision = 1.0 / variances
        cross = y @ x if x.ndim == 2 else np.matmul(y[:, None], x)[:, 0]
        scale, triangles, centre = solve_scaled(gram, precision, cross)
        residual = y - (centre @ x.T if x.ndim == 2 else np.matmul(x, centre[..., None])[..., 0])
        quadratic = np.square(residual).sum(axis=1) + (np.square(centre) * precision).sum(axis=1)
        return cls(centre, quadratic, triangles, scale, None)

    @classmethod
    def _wide(cls, x: np.ndarray, y: np.ndarray, variances: np.ndarray) -> GaussianConditionals:
        scale = np.sqrt(variances)
        rows = x * scale[:, None]
        matrices = np.array([one @ one.T for one in rows])  # one by one: NumPy then sees that they are symmetric
        set_diagonal(matrices, np.diagonal(matrices, axis1=1, axis2=2) + 1.0)
        triangles = Triangles(matrices)
        half = triangles.solve(y)
        centre = scale * np.matmul(triangles.solve_transposed(half)[:, None], rows)[:, 0]
        return cls(centre, np.square(half).sum(axis=1), triangles, scale, rows)

    def perturbation(self, rng: np.random.Generator) -> np.ndarray:
        """Draws (B, P) of d − centre at σ = 1."""
        z = rng.standard_normal(self.scale.shape)
        if self.wide_rows is None:
            return self.scale * self.triangles.solve_transposed(z)
        rows = self.wide_rows
        seen = np.matmul(rows, z[..., None])[..., 0] + rng.standard_normal(rows.shape[:2])
        solved = self.triangles.solve_transposed(self.triangles.solve(seen))
        return self.scale * (z - np.matmul(solved[:, None], rows)[:, 0])


def solve_scaled(
    gram: np.ndarray, precision: np.ndarray, cross: np.ndarray
) -> tuple[np.ndarray, Triangles, np.ndarray]:
    """Of gram + diag(precision), (P, P) or (B, P, P): its scale (B, P), the factors of what is left, and its solution
    for cross (B, P). Scaled to a unit diagonal, precisions may differ by any number of orders of magnitude."""
    scale = 1.0 / np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1) + precision)
    matrices = gram * scale[:, :, None] * scale[:, None]
    set_diagonal(matrices, 1.0)
    triangles = Triangles(matrices)
    return scale, triangles, scale * triangles.solve_transposed(triangles.solve(scale * cross))


def set_diagonal(matrices: np.ndarray, value: np.ndarray | float) -> None:
    at = np.arange(matrices.shape[-1])
    matrices[:, at, at] = value


class WeightedRows:
    """Rows (n, P), with an intercept beside them or not, that are asked for coefficients under many weights.

    rows : (n, P)
    intercept : (mean, precision) of its Normal prior, precision 0 for a flat one; None for no intercept

    The products of columns are kept, so that the Gram matrices of all chains are one matrix product.
    """

    def __init__(self, rows: np.ndarray, intercept: tuple[float, float] | None) -> None:
        n, p = rows.shape
        self.rows, self.intercept = rows, intercept
        self.is_wide = p > n
        self.design = rows if intercept is None else np.column_stack([np.ones(n), rows])
        self.pairs = np.triu_indices(self.design.shape[1])
        self.mean = np.zeros(self.design.shape[1])
        if intercept is not None:
            self.mean[0] = intercept[0]
        keep = not self.is_wide and n * self.pairs[0].size <= PRODUCTS
        self.products = self.design[:, self.pairs[0]] * self.design[:, self.pairs[1]] if keep else None

    def draw(
        self, target: np.ndarray, precision: np.ndarray, variances: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Intercepts (B,) and coefficients (B, P) given targets and precisions (B, n), prior variances (B, P)."""
        if self.is_wide:
            return self._draw_wide(target, precision, variances, rng)
        scale, triangles, centre, _ = self._conditional(target, precision, variances)
        d = centre + scale * triangles.solve_transposed(rng.standard_normal(scale.shape))
        return (np.zeros(len(d)), d) if self.intercept is None else (d[:, 0], d[:, 1:])

    def log_marginal(self, target: np.ndarray, precision: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """log p(target) (B,), coefficients and intercept integrated out, up to a constant; not where rows are fewer."""
        scale, triangles, centre, prior = self._conditional(target, precision, variances)
        away = np.square(target - centre @ self.design.T)
        quadratic = (precision * away).sum(axis=1) + (prior * np.square(centre - self.mean)).sum(axis=1)
        log_prior = np.log(prior, out=np.zeros_like(prior), where=prior > 0.0).sum(axis=1)
        log_posterior = triangles.log_determinant() - 2.0 * np.log(scale).sum(axis=1)
        return 0.5 * (np.log(precision).sum(axis=1) + log_prior - log_posterior - quadratic)

    def _conditional(
        self, target: np.ndarray, precision: np.ndarray, variances: np.ndarray
    ) -> tuple[np.ndarray, Triangles, np.ndarray, np.ndarray]:
        """`solve_scaled` of the coefficients, the intercept first, and their prior precision (B, D)."""
        cross, prior = (target * precision) @ self.design, 1.0 / variances
        if self.intercept is not None:
            prior = np.column_stack([np.full(len(prior), self.intercept[1]), prior])
        return *solve_scaled(self._grams(precision), prior, cross + self.mean * prior), prior

    def _grams(self, precision: np.ndarray) -> np.ndarray:
        """Σ_i ω_i x_i x_iᵀ of every chain, (B, D, D)."""
        if self.products is None:
            roots = (self.design * np.sqrt(one)[:, None] for one in precision)
            return np.array([root.T @ root for root in roots])
        entries = precision @ self.products
        grams = np.empty((len(precision), *(self.design.shape[1],) * 2))
        first, second = self.pairs
        grams[:, first, second] = entries
        grams[:, second, first] = entries
        return grams

    def _draw_wide(
        self, target: np.ndarray, precision: np.ndarray, variances: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """By the K × K form, where a flat intercept cannot be a column: its share leaves the rows, with its prior as
        one row more, and it is drawn last."""
        root = np.sqrt(precision)
        x, y = self.rows * root[:, :, None], target * root
        if self.intercept is None:
            part = GaussianConditionals.of(x, None, y, variances)
            return np.zeros(len(y)), part.centre + part.perturbation(rng)
        mean, of_prior = self.intercept
        total = precision.sum(axis=1, keepdims=True) + of_prior
        x = np.concatenate([x, np.zeros((len(x), 1, x.shape[2]))], axis=1)
        last = np.full((len(y), 1), np.sqrt(of_prior))
        unit, y = np.hstack([root, last]) / np.sqrt(total), np.hstack([y, last * mean])
        x_share, y_share = np.matmul(unit[:, None], x), (unit * y).sum(axis=1, keepdims=True)
        part = GaussianConditionals.of(x - unit[:, :, None] * x_share, None, y - unit * y_share, variances)
        d = part.centre + part.perturbation(rng)
        level = y_share - (x_share[:, 0] * d).sum(axis=1, keepdims=True) + rng.standard_normal(y_share.shape)
        return (level / np.sqrt(total))[:, 0], d


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
