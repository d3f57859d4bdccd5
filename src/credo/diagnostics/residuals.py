"""Does the noise model hold? Tests on what a model leaves unexplained.

    curvature   residuals bend along a column: the square or cube of one, or of the fitted value, still explains them
    spread      their size changes along a column: the noise is not the same everywhere
    tails       more of them lie far out than the predictive allows
    order       consecutive rows leave alike: rows are not independent

A posterior that narrows says only that the parameters of *this* model are known well; these say whether it is the
model that is wrong. More rows make a misfit plainer and never smaller.

All tests together raise a false alarm in `FALSE_ALARM` of the tables on which the model holds: each gets an equal
share of it, and divides its share among the columns it tries (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc, ndtr, ndtri, stdtr

from credo.diagnostics.labels import label_codes
from credo.diagnostics.views import kind
from credo.errors import DataError, ParameterError

__all__ = ["Check", "ResidualChecks", "check_residuals", "FALSE_ALARM"]

#: share of right models about which any of the tests complains
FALSE_ALARM = 0.01
# The tail that is counted: rare enough to be far out, common enough to be met in a few hundred rows.
OUTSIDE = 0.01
# Fewer degrees of freedom cannot tell noise from misfit: the t distribution's own tails then swallow everything.
LEAST_FREEDOM = 5
# Below these a real departure changes little: a hundredth of the variance left; a rank correlation of a tenth; half as
# many outliers again as expected; standard errors off by a tenth (lag-1 correlation of .1).
SLIGHT = {"curvature": 0.01, "spread": 0.1, "tails": 1.5 * OUTSIDE, "order": 0.1}
# A column whose part outside the model's span is smaller than this, relative, is in the span up to rounding.
IN_SPAN = 1e-6


@dataclass(frozen=True)
class Check:
    """One test.

    name : "curvature", "spread", "tails" or "order"
    p_value : after division among the columns tried
    level : it fails below this
    effect : curvature: share of the remaining variance explained; spread: rank correlation of size and column;
        tails: share of rows outside their 99 % interval; order: correlation of neighbours
    where : column (or row) where it is strongest
    message : what was found, in a sentence
    """

    name: str
    p_value: float
    level: float
    effect: float
    where: str
    message: str

    @property
    def holds(self) -> bool:
        return self.p_value > self.level

    @property
    def slight(self) -> bool:
        """Whether it fails, but by so little that few decisions would change."""
        return not self.holds and abs(self.effect) < SLIGHT[self.name]


@dataclass(frozen=True)
class ResidualChecks:
    """The tests that could be done, and why the others could not (name → reason).

    false_alarm : probability that any test fails although the model holds
    n : rows
    """

    checks: tuple[Check, ...]
    untested: dict[str, str]
    false_alarm: float
    n: int

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.holds)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        known = [check.name for check in self.checks]
        raise ParameterError("ResidualChecks", "name", f"one of {known}", name, self.untested.get(name))


def check_residuals(
    predictive: Any,
    y: Any,
    design: Any,
    *,
    columns: Any = None,
    names: Any = None,
    transforms: Any = None,
    false_alarm: float = FALSE_ALARM,
) -> ResidualChecks:
    """Test whether outcomes scatter about their predictions as the model says.

    Parameters
    ----------
    predictive : of the rows the model was fitted to: numbers (n,) or classes
    y : (n,) outcomes or labels
    design : (n, P) columns in which the model is linear, without the intercept
    columns : (n, Q) columns along which to look; by default the design
    names : of the Q columns
    transforms : (n,) PIT values of predictions *held out*, NaN where there are none; by default those of `predictive`,
        which are too central when parameters are many
    false_alarm : of all tests together

    Returns
    -------
    ResidualChecks : for classes without "spread" and "tails", as a probability fixes its own spread.

    Raises
    ------
    DataError : shapes that do not agree, or values that are not finite.

    Notes
    -----
    *curvature*: the part of a square or cube outside the span of the design, against the least-squares residuals: exact
    t test under Normal noise; the weaker of it and its heteroscedasticity-robust form (HC1) counts, so that uneven
    noise is not taken for a bend. For classes the score test. *spread*: Spearman's correlation of a column with the
    size of studentised residuals, which heavy tails do not disturb. *tails*: the exact binomial test of rows outside
    their 99 % interval, and the most extreme row; each takes half. *order*: lag-1 correlation of normal scores, with
    Moran's variance. Cost n P (P + Q).

    References
    ----------
    Ramsey, JRSS B 31 (1969); Tukey, Biometrics 5 (1949) (squares of fitted values); MacKinnon and White, J.
    Econometrics 29 (1985) (HC1); Moran, Biometrika 35 (1948) (variance of the lag-1 correlation).

    Examples
    --------
    >>> import credo as cr
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (60, 1)); y = x[:, 0] ** 2 + 0.1 * rng.normal(size=60)
    >>> line = cr.LinearRegression().fit(x, y)
    >>> [check.name for check in check_residuals(line.predict_distribution(x), y, x, names=["x"]).failed]
    ['curvature']
    """
    if not 0.0 < false_alarm < 1.0:
        raise ParameterError("check_residuals", "false_alarm", "between 0 and 1 (exclusive)", false_alarm)
    rows = _Rows.of(predictive, y, design, columns, names)
    tests = {"curvature": lambda: _curvature(rows), "order": lambda: _order(rows)}
    untested: dict[str, str] = {}
    if rows.numbers:
        tests |= {"spread": lambda: _spread(rows), "tails": lambda: _tails(predictive, y, transforms)}
    else:
        untested = dict.fromkeys(("spread", "tails"), "a class's probability fixes its spread")
    found = {name: test() for name, test in tests.items()}
    done = {name: result for name, result in found.items() if not isinstance(result, str)}
    untested |= {name: result for name, result in found.items() if isinstance(result, str)}
    level = false_alarm / max(1, len(done))
    checks = tuple(Check(name, result[0], level, *result[1:]) for name, result in done.items())
    return ResidualChecks(checks, untested, false_alarm, len(rows.fitted))


@dataclass(frozen=True)
class _Rows:
    """What the tests look at.

    residuals, fitted, variance : (n, K), K = 1 for numbers and one column a class otherwise; variance is p(1 − p), or 1
    leverage : (n,) of the design with its intercept; basis (n, r) orthonormal
    columns, names : (n, Q) along which to look, standardised
    """

    numbers: bool
    residuals: np.ndarray
    fitted: np.ndarray
    variance: np.ndarray
    design: np.ndarray
    basis: np.ndarray
    columns: np.ndarray
    names: tuple[str, ...]
    sorted: bool

    @classmethod
    def of(cls, predictive: Any, y: Any, design: Any, columns: Any, names: Any) -> _Rows:
        design = np.asarray(design, dtype=np.float64)
        columns = design if columns is None else np.asarray(columns, dtype=np.float64)
        names = tuple(f"column {j}" for j in range(columns.shape[-1])) if names is None else tuple(map(str, names))
        numbers = kind(predictive) in ("real", "count")
        if numbers:
            y = np.asarray(y, dtype=np.float64)
            fitted = np.asarray(predictive.mean, dtype=np.float64)
            steps = np.diff(y)
            is_sorted = bool(np.all(steps >= 0) or np.all(steps <= 0))
        else:
            codes = label_codes(predictive.classes, y, "check_residuals")
            fitted = predictive.probabilities
            y = np.eye(fitted.shape[1])[codes]
            is_sorted = int(np.count_nonzero(np.diff(codes))) + 1 <= np.unique(codes).size
            if fitted.shape[1] == 2:  # the second is the negative of the first
                y, fitted = y[:, 1], fitted[:, 1]
        n = len(fitted)
        if design.ndim != 2 or columns.ndim != 2 or len({n, len(y), len(design), len(columns)}) != 1 or n == 0:
            shapes = (np.shape(fitted), np.shape(y), design.shape, columns.shape)
            raise DataError(
                f"check_residuals: predictions, outcomes, design and columns of shapes {shapes}.", value=shapes
            )
        if len(names) != columns.shape[1]:
            raise ParameterError("check_residuals", "names", f"{columns.shape[1]} names", names)
        bad = np.flatnonzero(~np.isfinite(np.column_stack([fitted, y, design, columns])).all(axis=1))
        if bad.size:
            raise DataError(f"check_residuals: row {bad[0]} is not finite.", rows=bad[:20].tolist(), value=bad[0])
        y, fitted = y.reshape(n, -1), fitted.reshape(n, -1)
        variance = np.ones_like(fitted) if numbers else fitted * (1.0 - fitted)
        design = np.column_stack([np.ones(n), _standardised(design)])
        return cls(
            numbers, y - fitted, fitted, variance, design, _basis(design), _standardised(columns), names, is_sorted
        )

    @property
    def freedom(self) -> int:
        return len(self.basis) - self.basis.shape[1]


def _standardised(table: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and sd 1; a constant column is 0."""
    centred = table - table.mean(axis=0)
    scale = np.sqrt(np.mean(np.square(centred), axis=0))
    # What is left of a constant column is rounding of its level.
    level = np.finfo(float).eps * np.abs(table).max(axis=0, initial=0.0) * 8.0
    return np.where(scale > level, centred / np.where(scale > level, scale, 1.0), 0.0)


def _basis(table: np.ndarray) -> np.ndarray:
    """Orthonormal columns of the same span; directions below rounding are dropped."""
    u, s, _ = np.linalg.svd(table, full_matrices=False)
    return u[:, s > s[0] * max(table.shape) * np.finfo(float).eps]


def _powers(rows: _Rows) -> list[tuple[str, str, np.ndarray]]:
    """(column, what it is, values (n,)) of every bend to look for; two-valued columns have none."""
    found = []
    for name, x in zip(rows.names, rows.columns.T):
        if np.unique(x).size > 2:
            found += [(name, "square", x**2), (name, "cube", x**3)]
    for f in _standardised(rows.fitted).T:
        if np.ptp(f) > 0.0:
            found.append(("the fitted value", "square", f**2))
    return found


def _curvature(rows: _Rows) -> tuple[float, float, str, str] | str:
    if rows.freedom < LEAST_FREEDOM:
        return "there are hardly more rows than coefficients"
    candidates = _powers(rows)
    if not candidates:
        return "every column has two values, so none can bend"
    values = _standardised(np.column_stack([values for *_, values in candidates]))
    p, effect = _least_squares_bends(rows, values) if rows.numbers else _score_bends(rows, values)
    # With one column its square and the fitted value's are the same test, and the column's name says more.
    at = int(np.argmax(p <= p.min() * (1.0 + 1e-6)))
    tried = int(np.count_nonzero(p < 2.0))
    if tried == 0:
        return "squares and cubes of the columns are in the model already"
    column, what, _ = candidates[at]
    said = f"the {what} of {column} explains {_percent(effect[at])} of what the model leaves"
    return min(1.0, tried * float(p[at])), float(effect[at]), column, said


def _least_squares_bends(rows: _Rows, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided p (2 where a value is in the design's span) and the share of the residual variance explained."""
    basis, n = rows.basis, len(values)
    q = values - basis @ (basis.T @ values)
    e = rows.residuals[:, 0] - basis @ (basis.T @ rows.residuals[:, 0])
    size, total = np.square(q).sum(axis=0), float(e @ e)
    ok = (size > IN_SPAN * n) & (total > 0.0)
    size = np.where(ok, size, 1.0)
    slope = np.where(ok, q.T @ e / size, 0.0)
    explained = np.minimum(slope**2 * size / total, 1.0) if total > 0.0 else np.zeros(size.size)
    freedom = rows.freedom - 1
    left = np.maximum(total * (1.0 - explained), np.finfo(float).tiny)
    t = np.abs(slope) * np.sqrt(size * freedom / left)
    robust = np.array([_robust_error(q[:, j], e - slope[j] * q[:, j], size[j], n / freedom) for j in range(size.size)])
    t = np.minimum(t, np.abs(slope) / np.maximum(robust, np.finfo(float).tiny))
    return np.where(ok, 2.0 * stdtr(freedom, -t), 2.0), explained


def _robust_error(q: np.ndarray, left: np.ndarray, size: float, correction: float) -> float:
    return float(np.sqrt(correction * (np.square(q) @ np.square(left))) / size)


def _score_bends(rows: _Rows, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The score test class by class, the least p of each value; with several classes it errs on the quiet side."""
    n, k = rows.residuals.shape
    p, effect = np.full((k, values.shape[1]), 2.0), np.zeros((k, values.shape[1]))
    for c in range(k):
        root = np.sqrt(rows.variance[:, c])
        basis = _basis(root[:, None] * rows.design)
        weighted = root[:, None] * values
        q = weighted - basis @ (basis.T @ weighted)
        e = rows.residuals[:, c] / np.maximum(root, 1e-8)
        e = e - basis @ (basis.T @ e)
        size = np.square(q).sum(axis=0)
        # Where probabilities are all near 0 and 1 nothing is left to bend, nor enough for the Normal limit.
        ok = (size > IN_SPAN * n) & (np.square(root).sum() >= LEAST_FREEDOM)
        score = np.where(ok, q.T @ e, 0.0)
        z = score / np.sqrt(np.where(ok, size, 1.0))
        p[c] = np.where(ok, 2.0 * ndtr(-np.abs(z)), 2.0)
        effect[c] = np.minimum(z**2 / n, 1.0)
    at = np.argmin(p, axis=0)
    least = np.take_along_axis(p, at[None], axis=0)[0]
    return np.where(least < 2.0, np.minimum(k * least, 1.0), 2.0), np.take_along_axis(effect, at[None], axis=0)[0]


def _spread(rows: _Rows) -> tuple[float, float, str, str] | str:
    if rows.freedom < LEAST_FREEDOM:
        return "there are hardly more rows than coefficients"
    leverage = np.square(rows.basis).sum(axis=1)
    e = rows.residuals[:, 0] - rows.basis @ (rows.basis.T @ rows.residuals[:, 0])
    keep = leverage < 1.0 - 1e-8  # a row that determines its own fit leaves nothing
    size = np.abs(e[keep]) / np.sqrt(1.0 - leverage[keep])
    along = [*zip(rows.names, rows.columns.T), ("the fitted value", rows.fitted[:, 0])]
    found = [(name, _spearman(size, x[keep])) for name, x in along if np.ptp(x[keep]) > 0.0]
    if size.size < LEAST_FREEDOM + 2 or np.ptp(size) == 0.0 or not found:
        return "the residuals do not vary"
    name, rho = max(found, key=lambda pair: abs(pair[1]))
    t = abs(rho) * np.sqrt((size.size - 2.0) / max(1.0 - rho**2, 1e-300))
    p = 2.0 * float(stdtr(size.size - 2.0, -t)) * len(found)
    wider = "grows" if rho > 0 else "shrinks"
    return min(1.0, p), rho, name, f"the scatter {wider} along {name} (rank correlation {rho:.2f})"


def _ranks(x: np.ndarray) -> np.ndarray:
    """Ranks from 1; ties share their mean."""
    _, at, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - 0.5 * (counts - 1.0))[at]


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    a, b = _ranks(a), _ranks(b)
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def _tails(predictive: Any, y: Any, transforms: Any) -> tuple[float, float, str, str] | str:
    values = predictive.cdf(np.asarray(y, dtype=np.float64)) if transforms is None else transforms
    transforms = np.asarray(values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(transforms))
    if known.size < LEAST_FREEDOM:
        return "no row was predicted from others"
    tail = 2.0 * np.minimum(transforms[known], 1.0 - transforms[known])
    n, outside = known.size, int(np.count_nonzero(tail < OUTSIDE))
    many = float(bdtrc(outside - 1, n, OUTSIDE)) if outside else 1.0
    at = int(np.argmin(tail))
    extreme = float(-np.expm1(n * np.log1p(-min(tail[at], 1.0 - 1e-12))))
    said = f"{outside} of {n:,} rows lie outside their 99 % interval, where {OUTSIDE * n:.2g} are expected"
    if extreme < many:
        said += f"; the farthest is row {known[at] + 1}"
    return min(1.0, 2.0 * min(many, extreme)), outside / n, f"row {known[at] + 1}", said


def _order(rows: _Rows) -> tuple[float, float, str, str] | str:
    n = len(rows.residuals)
    if rows.sorted:
        return "the rows are sorted by the outcome"
    if n < 4 * LEAST_FREEDOM or rows.freedom < n // 2:
        return "there are too few rows"
    e = rows.residuals - rows.residuals.mean(axis=0)
    if rows.numbers:
        e = ndtri((_ranks(e[:, 0]) - 0.5) / n)[:, None]
    total = float(np.square(e).sum())
    if total == 0.0:
        return "the residuals do not vary"
    r = float((e[:-1] * e[1:]).sum()) / total
    # Of K columns the variance is Moran's times tr S²/(tr S)², S their covariance: 1 for a single column.
    shape = float(np.square(e.T @ e).sum()) / total**2
    z = (r + 1.0 / n) / np.sqrt(shape * (n - 2.0) ** 2 / (n**2 * (n - 1.0)))
    return 2.0 * float(ndtr(-abs(z))), r, "", f"consecutive rows leave residuals that are correlated ({r:.2f})"


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %"
