"""Regularisation paths: the modes of one regression under priors from strong to weak.

`ridge_path` (Normal priors), `lasso_path` (Laplace), `elastic_net_path` (both). Each returns a `PenaltyPath`, which
knows its penalties and the priors they stand for, and picks one by AIC, BIC or cross-validation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from credo.blocks.array import ArraySource
from credo.errors import DataError, ParameterError, UnavailableError
from credo.inference.coordinate_columns import problem_of
from credo.inference.coordinate_descent import minimise
from credo.inference.exact.spectrum import Whitening, centred_rows, plain_rows
from credo.inference.exact.summary import summarise
from credo.inference.result import Result
from credo.models.linear.penalties import elastic_net_to_prior
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["CrossValidation", "PenaltyPath", "elastic_net_path", "lasso_path", "ridge_path"]

# The objective is then within a millionth of ‖y‖²/2 of its minimum, so that predictions are within √2 · 1e-3 sd of y
# (root mean square) of the exact ones. scikit-learn's default is 1e-4.
TOLERANCE = 1e-6
MAX_ITER = 100_000


@register
@dataclass(frozen=True)
class PenaltyPath:
    """Modes along K penalties, strongest first.

    alphas : (K,) penalties as scikit-learn's `ElasticNet` takes them; `penalties` is λ = n α, as its `Ridge` does
    l1_ratio : 1 lasso, 0 ridge
    coefs : (K, P); intercepts : (K,)
    gaps : (K,) duality gap relative to ‖y‖² (about the mean with an intercept); 0 in closed form
    df : (K,) effective number of coefficients, without the intercept; None for an elastic net that was not asked
    rss : (K,) residual sum of squares
    column_scale : (P,) what the columns were divided by: their sds if `standardize`, else ones
    n_rows : n; fit_intercept : whether an intercept was fitted; result : "max_iter" if one gap was missed

    The df are the trace of the map from y to the fit on the chosen columns (Zou, Hastie & Tibshirani 2007, Ann.
    Statist. 35: their number, for the lasso).
    """

    alphas: np.ndarray
    l1_ratio: float
    coefs: np.ndarray
    intercepts: np.ndarray
    gaps: np.ndarray
    df: np.ndarray | None
    rss: np.ndarray
    column_scale: np.ndarray
    n_rows: int
    fit_intercept: bool
    result: Result

    @property
    def penalties(self) -> np.ndarray:
        """(K,) λ = n α."""
        return self.n_rows * self.alphas

    def prior(self, index: int, noise_scale: float = 1.0) -> Any:
        """The prior whose mode, with noise of that scale, is `coefs[index]`; on raw columns, one entry a column."""
        on_scaled = elastic_net_to_prior(float(self.alphas[index]), self.l1_ratio, self.n_rows, noise_scale)
        if np.all(self.column_scale == 1.0):
            return on_scaled
        unit = 1.0 / self.column_scale
        kind = type(on_scaled)
        if kind.__name__ == "ElasticNet":
            return kind(on_scaled.laplace_scale * unit, on_scaled.normal_sd * unit)
        return kind(0.0, (on_scaled.sd if self.l1_ratio == 0.0 else on_scaled.scale) * unit)

    def predict(self, X: Any) -> np.ndarray:
        """(K, n) for rows X (n, P), dense or sparse."""
        return np.asarray((X @ self.coefs.T).T + self.intercepts[:, None])

    def aic(self, noise_scale: float | None = None) -> np.ndarray:
        """(K,) Akaike's criterion (−2 log likelihood + 2 df), up to a constant; σ̂² = rss/n where not given."""
        return self._criterion(2.0, noise_scale)

    def bic(self, noise_scale: float | None = None) -> np.ndarray:
        """(K,) Schwarz's criterion (−2 log likelihood + df log n), up to a constant."""
        return self._criterion(float(np.log(self.n_rows)), noise_scale)

    def _criterion(self, price: float, noise_scale: float | None) -> np.ndarray:
        if self.df is None:
            raise UnavailableError(
                "The degrees of freedom of this elastic net were not computed.", remedy="Use elastic_net_path(df=True)."
            )
        df = self.df + self.fit_intercept
        if noise_scale is not None:
            return self.rss / noise_scale**2 + price * df
        if np.any(df >= self.n_rows):
            raise ParameterError(
                "PenaltyPath", "noise_scale", f"given, as a fit uses up all {self.n_rows} rows", noise_scale
            )
        return self.n_rows * np.log(self.rss / self.n_rows) + price * df

    def cross_validate(self, X: Any, y: Any, cv: Any = 10, random_state: Any = 0) -> CrossValidation:
        """Held-out squared error of each penalty α on the rows the path was fitted to.

        cv : number of folds, shuffled by `random_state`, or (train, test) index pairs, for groups or time.
        """
        y = np.asarray(y, dtype=np.float64)
        if y.shape != (self.n_rows,):
            raise ParameterError("PenaltyPath.cross_validate", "y", f"the {self.n_rows} targets of the path", y.shape)
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        folds = []
        for train, test in _splits(self.n_rows, cv, as_generator(random_state)):
            part = self._refit(X[train], y[train])
            folds.append(np.square(part.predict(X[test]) - y[test]).mean(axis=1))
        errors = np.stack(folds)
        return CrossValidation(self.alphas, errors)

    def _refit(self, X: Any, y: np.ndarray) -> PenaltyPath:
        shared = {"fit_intercept": self.fit_intercept, "standardize": not np.all(self.column_scale == 1.0)}
        if self.l1_ratio == 0.0:
            return ridge_path(X, y, self.alphas * y.size, **shared)
        return elastic_net_path(X, y, self.l1_ratio, self.alphas, **shared)


@register
@dataclass(frozen=True)
class CrossValidation:
    """alphas (K,); errors (folds, K), mean squared error of each fold."""

    alphas: np.ndarray
    errors: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """(K,) mean over folds."""
        return self.errors.mean(axis=0)

    @property
    def standard_error(self) -> np.ndarray:
        """(K,) of the mean over folds, as if folds were independent (they share rows: it is a lower bound)."""
        return self.errors.std(axis=0, ddof=1) / np.sqrt(self.errors.shape[0])

    @property
    def best(self) -> int:
        """Index of the lowest mean error."""
        return int(np.argmin(self.mean))

    @property
    def simplest(self) -> int:
        """Index of the strongest penalty within one standard error of the best (Breiman et al. 1984)."""
        return int(np.flatnonzero(self.mean <= self.mean[self.best] + self.standard_error[self.best])[0])


def lasso_path(
    X: Any,
    y: Any,
    alphas: Any = None,
    *,
    n_alphas: int = 100,
    eps: float = 1e-3,
    fit_intercept: bool = True,
    standardize: bool = False,
    tol: float = TOLERANCE,
) -> PenaltyPath:
    """Modes under Laplace(0, b) priors: ‖y − b₀ − Xw‖²/(2n) + α‖w‖₁ minimised for each α.

    Parameters
    ----------
    X, y : (n, P), dense or sparse (never densified), and (n,)
    alphas : penalties > 0, sorted here from strong to weak; None: `n_alphas` of them, geometric from the smallest that
        sets all coefficients to zero down to `eps` times that (scikit-learn's grid)
    fit_intercept : with its own flat prior
    standardize : whether the penalty is on columns divided by their sds; coefficients are of raw columns all the same
    tol : duality gap to reach, relative to ‖y‖²

    Returns
    -------
    PenaltyPath

    Raises
    ------
    ParameterError, DataError : a bad argument; a target that is constant and no `alphas`.

    Notes
    -----
    Every α is certified by its duality gap; see `inference.coordinate_descent` for the method and its references. Cost
    of dense X about n P min(n, P), of sparse X some tens of passes over the nonzeros of the chosen columns per α. More
    than 64 columns import a compiled kernel (compiled once, then cached on disk).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]); y = X @ [3.0, 0.5] + 7.0
    >>> path = lasso_path(X, y, [1.0, 0.1])
    >>> path.coefs.round(6).tolist(), path.intercepts.tolist()
    ([[1.0, 0.0], [2.8, 0.3]], [7.0, 7.0])
    >>> path.prior(0, noise_scale=2.0)
    Laplace(mean=0.0, scale=1.0)
    """
    return elastic_net_path(
        X, y, 1.0, alphas, n_alphas=n_alphas, eps=eps, fit_intercept=fit_intercept, standardize=standardize, tol=tol
    )


def elastic_net_path(
    X: Any,
    y: Any,
    l1_ratio: float = 0.5,
    alphas: Any = None,
    *,
    n_alphas: int = 100,
    eps: float = 1e-3,
    fit_intercept: bool = True,
    standardize: bool = False,
    tol: float = TOLERANCE,
    df: bool = False,
) -> PenaltyPath:
    """Modes under the product of a Laplace and a Normal prior.

    ‖y − b₀ − Xw‖²/(2n) + α l1_ratio ‖w‖₁ + ½ α (1 − l1_ratio) ‖w‖² is minimised for each α, 0 < l1_ratio ≤ 1.

    df : whether to compute degrees of freedom for `aic` and `bic`, k³ for k columns in the model where the path itself
        takes a few k²; those of the lasso cost nothing and are always there

    All else as in `lasso_path`.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]); y = X @ [3.0, 0.5] + 7.0
    >>> elastic_net_path(X, y, 0.5, [1.0]).coefs.round(6).tolist()
    [[1.0, 0.0]]
    """
    if not 0.0 < l1_ratio <= 1.0:
        raise ParameterError("elastic_net_path", "l1_ratio", "> 0 and ≤ 1", l1_ratio, "For 0 use cr.ridge_path.")
    X, y = _checked(X, y, sparse=True)
    n = y.size
    problem, mean, squares = problem_of(X, y, centred=fit_intercept)
    scale = _column_scale(squares, standardize)
    grid = _grid(alphas, np.abs(problem.cross / scale).max(initial=0.0) / (n * l1_ratio), n_alphas, eps)
    coefs, gaps, rss, ok = np.zeros((grid.size, scale.size)), np.zeros(grid.size), np.zeros(grid.size), True
    w, known, previous = coefs[0], (problem.cross, problem.square), None
    for k, alpha in enumerate(grid):
        l1, ridge = n * alpha * l1_ratio * scale, n * alpha * (1.0 - l1_ratio) * np.square(scale)
        fit, known = minimise(problem, l1, ridge, w, tol, MAX_ITER, previous, known)
        w = coefs[k] = fit.coef
        previous, gaps[k], rss[k], ok = l1, fit.result.certificate["duality_gap"], known[1], ok and fit.result.ok
    advice = () if ok else ("Some gaps were not reached: see `gaps`. Raise tol, or use stronger penalties.",)
    result = Result("converged" if ok else "max_iter", "map", certificate={"duality_gap": gaps.max()}, advice=advice)
    effective = np.count_nonzero(coefs, axis=1).astype(np.float64) if l1_ratio == 1.0 else None
    if df and l1_ratio < 1.0:
        ridges = n * grid * (1.0 - l1_ratio)
        effective = np.array([_df(X, w, mean, scale, ridge) for w, ridge in zip(coefs, ridges, strict=True)])
    intercepts = y.mean() - coefs @ mean if fit_intercept else np.zeros(grid.size)
    return PenaltyPath(
        grid, float(l1_ratio), coefs, intercepts, gaps, effective, rss, scale, n, bool(fit_intercept), result
    )


def ridge_path(
    X: Any,
    y: Any,
    penalties: Any = None,
    *,
    fit_intercept: bool = True,
    standardize: bool = False,
) -> PenaltyPath:
    """Modes (and means) under N(0, σ²/λ) priors: ‖y − b₀ − Xw‖² + λ‖w‖² minimised for each λ, in closed form.

    penalties : λ ≥ 0, as scikit-learn's `Ridge(alpha=λ)`; None: 100 of them, geometric from 1e3 to 1e-3 times the
        largest squared singular value of X, where a fit goes from nearly nothing to nearly least squares.

    One singular value decomposition serves all λ. X must be dense; other arguments as in `lasso_path`.

    >>> import numpy as np
    >>> path = ridge_path(np.array([[-1.0], [1.0]]), [-3.0, 3.0], [2.0, 0.0])
    >>> path.coefs.ravel().round(9).tolist(), path.df.round(9).tolist()
    ([1.5, 3.0], [0.5, 1.0])
    """
    X, y = _checked(X, y, sparse=False)
    statistics = summarise(ArraySource(X, y))
    p, n = X.shape[1], y.size
    rows = centred_rows(statistics) if fit_intercept else plain_rows(statistics, intercept_column=False)
    square = statistics.spread[:p] / n + (0.0 if fit_intercept else np.square(statistics.mean[:p]))
    scale = _column_scale(square, standardize)
    spectrum = rows.decompose(Whitening(np.zeros(p), 1.0 / scale))
    squares = np.square(spectrum.singular)
    top = float(squares.max(initial=0.0))
    grid = _sorted(top * np.logspace(3, -3, 100) if penalties is None else penalties, least=0.0, name="penalties")
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(squares > 0.0, squares / (squares + grid[:, None]), 0.0)  # (K, k)
        location = np.where(squares > 0.0, share * spectrum.target[:, 0] / spectrum.singular, 0.0)
    coefs = spectrum.expand(location) / scale
    intercepts = statistics.mean[p] - coefs @ statistics.mean[:p] if fit_intercept else np.zeros(grid.size)
    rss = spectrum.residual[0] + (np.square((1.0 - share) * spectrum.target[:, 0])).sum(axis=1)
    return PenaltyPath(
        grid / n, 0.0, coefs, intercepts, np.zeros(grid.size), share.sum(axis=1), rss, scale, n, bool(fit_intercept),
        Result("exact", "map"),
    )  # fmt: skip


def _df(X: Any, w: np.ndarray, mean: np.ndarray, scale: np.ndarray, ridge: float) -> float:
    """Trace of X_A (X_AᵀX_A + ridge S²)⁻¹ X_Aᵀ on the columns A of the model, by the smaller of its two forms."""
    active = np.flatnonzero(w)
    columns = X[:, active]
    if hasattr(columns, "toarray") and active.size <= X.shape[0]:
        gram = (columns.T @ columns).toarray() - X.shape[0] * np.outer(mean[active], mean[active])
        gram /= np.outer(scale[active], scale[active])
    else:
        dense = columns.toarray() if hasattr(columns, "toarray") else columns
        dense = (dense - mean[active]) / scale[active]
        gram = dense @ dense.T if active.size > X.shape[0] else dense.T @ dense
    values = np.maximum(scipy.linalg.eigvalsh(gram), 0.0) if active.size else np.zeros(0)
    return float((values / (values + ridge)).sum())


def _checked(X: Any, y: Any, *, sparse: bool) -> tuple[Any, np.ndarray]:
    from sklearn.utils.validation import check_X_y

    kind: Any = "csc" if sparse else False
    X, y = check_X_y(X, y, accept_sparse=kind, dtype=np.float64, y_numeric=True)  # type: ignore[arg-type]
    return X, np.asarray(y, dtype=np.float64)


def _column_scale(squares: np.ndarray, standardize: bool) -> np.ndarray:
    return np.where(squares > 0.0, np.sqrt(squares), 1.0) if standardize else np.ones(squares.size)


def _grid(alphas: Any, largest: float, n_alphas: int, eps: float) -> np.ndarray:
    if alphas is not None:
        return _sorted(alphas, least=np.finfo(float).tiny, name="alphas")
    if not (n_alphas >= 1 and 0.0 < eps <= 1.0):
        raise ParameterError("lasso_path", "n_alphas and eps", "≥ 1 and between 0 and 1", (n_alphas, eps))
    if not largest > 0.0:
        raise DataError(
            "The target is constant, or uncorrelated with every column: all coefficients are zero for every alpha.",
            remedy="Pass alphas, or check y.",
        )
    return largest * np.geomspace(1.0, eps, n_alphas)


def _sorted(values: Any, *, least: float, name: str) -> np.ndarray:
    grid = np.sort(np.atleast_1d(np.asarray(values, dtype=np.float64)))[::-1]
    if grid.ndim != 1 or grid.size == 0 or not (np.all(np.isfinite(grid)) and grid[-1] >= least):
        constraint = "a number or a list of numbers ≥ 0" if least == 0.0 else "a number or a list of numbers > 0"
        raise ParameterError("path", name, constraint, values)
    return grid


def _splits(n: int, cv: Any, rng: np.random.Generator) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    if not isinstance(cv, int | np.integer):
        return [(np.asarray(train), np.asarray(test)) for train, test in cv]
    if not 2 <= cv <= n:
        raise ParameterError("PenaltyPath.cross_validate", "cv", f"between 2 and {n} folds, or index pairs", cv)
    parts = np.array_split(rng.permutation(n), int(cv))
    return [(np.concatenate([*parts[:k], *parts[k + 1 :]]), part) for k, part in enumerate(parts)]
