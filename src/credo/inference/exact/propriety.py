"""Whether a posterior over an unknown noise scale σ is proper where the coefficients fit the rows exactly.

Copies of a row (its weight, or the row repeated) count towards ν but leave no residual of their own. Where the residual
is 0, what is left of the likelihood as σ → 0, coefficients integrated, is

    p(y | σ) ∝ σ^{K − ν} · (the prior's density of the coefficients at the fit)        per log σ, K the rank

The density there is constant in σ under a flat or stated prior (h = 0), and of order σ^h under one relative to σ whose
scale has a half-Cauchy (h = 1, its tail). The prior of σ gives σ^{2b}, b its slope in log σ² at 0: −shape for the
improper ones, ½ for a density that is finite and positive at σ = 0, ∞ for an inverse gamma. So it is proper only if

    ν − K − 2b < h

Over rows that all differ ν − K ≤ 0 wherever they are too few to leave a residual, and h = 1 suffices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import DataWarning, NotIdentifiedError, warn
from credo.inference.exact.belief import LinearBelief
from credo.inference.exact.linear_gaussian import Likelihood
from credo.inference.exact.noise_prior import NoisePrior
from credo.inference.exact.sparse import is_sparse

__all__ = ["ExactFit", "count_distinct"]

# Root mean square residual, relative to y, at which a fit is exact: y = Xw computed in float64 errs by a few 2⁻⁵³.
ROUNDING = 32.0 * float(np.finfo(float).eps)
# Below this the rows are looked at for copies: that decides, so the bound need only spare large tables the look.
LOOK = 1e-3
# σ relative to y below which it is at rounding, if nothing says otherwise; and relative to a residual that is rounding.
SUSPICIOUS, MARGIN = 1e-8, 100.0
# Posterior mass of σ at rounding that is worth a warning.
NEGLIGIBLE = 1e-6
# log σ² at which the slope of a prior at 0 is read: σ = 1e-130 in any units.
FAR_BELOW = -600.0

REMEDY = (
    "State noise=cr.noise.Normal(scale), give it a prior that vanishes at 0 (variance_prior=cr.InverseGamma(...)), add "
    "rows, or leave out weights and copies."
)
EXACT = (
    "the coefficients fit the rows exactly, or a target is constant, so the learned noise scale is zero up to "
    "rounding. State its scale; or, if rows are copies of fewer, leave the copies out."
)


@dataclass(frozen=True)
class ExactFit:
    """The rows as far as an exact fit goes.

    nu : Σ sample weights, less a flat intercept; rank : K, beside that intercept
    residual, explained, total : (T,) sums of squares left over, of what was fitted beside the intercept, and of y
    rows : rows seen; distinct : counts those that differ, where they are at hand
    """

    nu: float
    flat_intercept: bool
    rank: int
    residual: np.ndarray
    explained: np.ndarray
    total: np.ndarray
    rows: int
    distinct: Callable[[], int] | None = None

    @classmethod
    def of_likelihood(cls, likelihood: Likelihood, rows: int, distinct: Callable[[], int] | None) -> ExactFit:
        spectrum, total = likelihood.spectrum, likelihood.floor / np.finfo(float).eps ** 2
        explained = np.square(spectrum.target).sum(axis=0)
        return cls(
            likelihood.nu, likelihood.flat_intercept, spectrum.rank(), spectrum.residual, explained, total, rows,
            distinct,
        )  # fmt: skip

    @classmethod
    def of_rows(
        cls,
        x: np.ndarray,
        y: np.ndarray,
        total: np.ndarray,
        nu: float,
        flat_intercept: bool,
        rows: int,
        distinct: Callable[[], int] | None,
    ) -> ExactFit:
        """By least squares of y (K, T) on x (K, P), a flat intercept taken out of both."""
        left, singular, _ = np.linalg.svd(x, full_matrices=False)
        rounding = singular.max(initial=0.0) * max(x.shape) * np.finfo(float).eps
        left = left[:, singular > rounding]
        fitted = left.T @ y
        residual, explained = np.square(y - left @ fitted).sum(axis=0), np.square(fitted).sum(axis=0)
        return cls(nu, flat_intercept, left.shape[1], residual, explained, total, rows, distinct)

    @property
    def is_exact(self) -> np.ndarray:
        """(T,) whether what is left over is rounding of y."""
        return self.residual <= ROUNDING**2 * self.total

    def require_proper(self, owner: str, noise: NoisePrior, tail: float) -> None:
        """`NotIdentifiedError` if the rows are too few for a residual; `DataWarning` if they fit exactly all the same.

        tail : h
        """
        rows, exact = self.examine(noise, tail)
        if rows is not None:
            raise NotIdentifiedError(
                f"The noise scale is not identified: {self._why(rows)}.", value=rows, remedy=REMEDY
            )
        if exact.any():
            warn(f"{owner}: {EXACT}", DataWarning)

    def require_noise(
        self, owner: str, noise: NoisePrior, belief: LinearBelief, tail: float, *, maximise: bool = False
    ) -> bool:
        """The same of a belief whose ratio is learned, as a `DataWarning` in either case; whether σ is identified.

        The integrand is bounded by the rounding of y, so there is an answer: the limit of weighted rows, of which
        scikit-learn's contract asks that they equal repeated ones. It says nothing of σ where its mass is at that
        rounding; where that mass is negligible (one copy among many rows), the rest is a posterior like any.
        """
        rows, exact = self.examine(noise, tail, maximise=maximise)
        square = SUSPICIOUS**2 * self.total
        if rows is not None:  # what is left over is then rounding, of the eigenvectors of a smooth kernel above all
            square = np.maximum(square, MARGIN**2 * self.residual)
        floor = square / (self.nu + self.flat_intercept)
        lost = (belief.weights * (belief.noise_variance < floor)).sum(axis=0) > NEGLIGIBLE
        if rows is not None and lost.any():
            warn(f"{owner}: the noise scale is not identified, and is 0 up to rounding: {self._why(rows)}. {REMEDY}",
                 DataWarning)  # fmt: skip
            return False
        if (exact & lost).any():
            warn(f"{owner}: {EXACT}", DataWarning)
        return True

    def examine(self, noise: NoisePrior, tail: float, *, maximise: bool = False) -> tuple[int | None, np.ndarray]:
        """The rows that differ, where they are too few for a proper posterior; and which targets (T,) fit exactly.

        maximise : the evidence must be bounded, ν − K − 2b ≤ 0
        """
        free = self.nu - 2.0 * slope_at_zero(noise)
        if noise.is_conjugate and noise.scale == 0.0 and free <= 0.0:
            return self.rows, np.zeros(self.total.shape, bool)
        excess = free - self.rank
        exact = self.is_exact
        if not (excess > 0.0 if maximise else excess >= tail):
            # With coefficients of 0 a constant target needs no room in a prior relative to σ.
            return None, exact & (self.explained <= ROUNDING**2 * self.total) & (free >= 0.0)
        rows = self.rows
        if self.distinct is not None and np.any(self.residual <= LOOK**2 * self.total):
            rows = min(rows, self.distinct())
        return (rows if rows - self.flat_intercept <= self.rank else None), exact

    def _why(self, rows: int) -> str:
        count, used = self.nu + self.flat_intercept, self.rank + self.flat_intercept
        copies = "" if count <= rows else f" that count as {count:g} by weight or repetition"
        return (
            f"{rows} different rows{copies}, which {used} coefficients fit exactly, so the posterior under this prior "
            "of σ is improper"
        )


def slope_at_zero(noise: NoisePrior) -> float:
    """b: the slope of log p(log σ²) as σ → 0; ∞ where the density vanishes faster than any power."""
    if noise.is_conjugate:
        return np.inf if noise.scale > 0.0 else -noise.shape
    with np.errstate(all="ignore"):
        near, far = noise.slope(0.5 * FAR_BELOW), noise.slope(FAR_BELOW)
    if not np.isfinite(far) or far > near + 1.0:  # steeper and steeper, as a log-normal
        return np.inf
    return round(far, 6)  # the difference's own error must not decide a tie


def count_distinct(X: Any, y: Any, kept: np.ndarray | None = None) -> int:
    """Rows of X (n, P) in float64, dense or sparse, that differ, or whose y (n,) or (n, T) does, of those `kept`.

    Copies of a row with outcomes of their own leave a residual, and so are no copies here. Cost n P.
    """
    y = np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1) + 0.0
    X, y = (X, y) if kept is None else (X[kept], y[kept])
    if is_sparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return len({(X.indices[a:b].tobytes(), X.data[a:b].tobytes(), t.tobytes()) for (a, b), t in zip(ends, y)})
    return len({row.tobytes() for row in np.column_stack([X + 0.0, y])})  # −0 is 0
