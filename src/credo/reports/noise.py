"""Does the noise model hold? Tests on what is left, with pictures and what to do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.diagnostics.residuals import Check, ResidualChecks, check_residuals
from credo.errors import CredoError
from credo.numerics.readable import percent
from credo.plots.chart import Figure
from credo.plots.checks import autocorrelation, normal_quantiles, residuals
from credo.reports.belief import design_of
from credo.reports.rows import Rows

__all__ = ["Noise", "noise", "QUESTIONS"]

#: what each test asks
QUESTIONS = {
    "curvature": "Does a straight line miss a bend?",
    "spread": "Is the scatter the same everywhere?",
    "tails": "Are there more outliers than expected?",
    "order": "Are consecutive rows alike?",
}
_REMEDIES = {
    "curvature": "Intervals shrink around a wrong curve as rows are added: it takes another model, or a column that "
    "bends, not more rows.",
    "spread": "Intervals are too wide where the scatter is small and too narrow where it is large. The logarithm of a "
    "positive target often evens it out.",
    "tails": "Look at those rows for errors. Intervals of 99 % hold less than they say, and outliers pull at the "
    "coefficients.",
    "order": "Rows are not independent: give --time or --group, so that rows held out are really new.",
}
# Columns along which to look: the squares and cubes of more would take longer than the fit.
MOST_COLUMNS = 100


@dataclass(frozen=True)
class Noise:
    """checks ; verdict : a sentence ; remedies : name → what to do, of the tests that fail ; figures"""

    checks: ResidualChecks
    verdict: str
    remedies: dict[str, str]
    figures: tuple[Figure, ...]


def noise(rows: Rows, transforms: np.ndarray | None = None) -> Noise | str:
    """transforms : (n,) PIT values of rows held out, NaN where there are none. Or why nothing could be tested."""
    predictive, y = rows.predict(rows.X), rows.y
    names = rows.model.encoder.feature_names
    chosen = _widest(rows, min(MOST_COLUMNS, len(names)))
    try:
        checks = check_residuals(
            predictive, y, design_of(rows.model.estimator, rows.X), columns=rows.X[:, chosen],
            names=[names[j] for j in chosen], transforms=transforms,
        )  # fmt: skip
    except CredoError as error:
        return str(error)
    failed = checks.failed
    remedies = {check.name: _REMEDIES[check.name] for check in failed}
    return Noise(checks, _verdict(checks), remedies, tuple(_figures(rows, predictive, y, checks, transforms)))


def _widest(rows: Rows, most: int) -> np.ndarray:
    """The columns with most distinct values: those that can bend."""
    if most == rows.X.shape[1]:
        return np.arange(most)
    distinct = np.array([np.unique(column[:1000]).size for column in rows.X.T])
    return np.sort(np.argsort(-distinct, kind="stable")[:most])


def _verdict(checks: ResidualChecks) -> str:
    if not checks.checks:
        return "Nothing could be tested: there are too few rows."
    alarm = f"a model that holds fails one of these tests in {percent(checks.false_alarm)} of tables"
    if checks.holds:
        return f"Nothing speaks against it ({alarm}). That is no proof: fewer rows, fewer objections."
    plain = [check for check in checks.failed if not check.slight]
    if not plain:
        return f"It does not hold exactly, but misses by little ({alarm})."
    return f"It does not hold: {'; '.join(check.message for check in plain)} ({alarm})."


def _figures(
    rows: Rows, predictive: object, y: np.ndarray, checks: ResidualChecks, transforms: np.ndarray | None
) -> list[Figure]:
    if rows.model.labels:
        return []
    mean = np.asarray(predictive.mean)  # type: ignore[attr-defined]
    left = np.asarray(y, dtype=np.float64) - mean
    figures: list[Figure] = [residuals(*_bent(rows, mean, left, checks))]
    if transforms is not None and np.count_nonzero(~np.isnan(transforms)) >= 10:
        figures.append(normal_quantiles(transforms[~np.isnan(transforms)]))
    if len(left) >= 20 and np.ptp(left) > 0 and "order" not in checks.untested:
        figures.append(autocorrelation(left))
    return figures


def _bent(rows: Rows, mean: np.ndarray, left: np.ndarray, checks: ResidualChecks) -> tuple[np.ndarray, np.ndarray, str]:
    """What to draw the residuals along: the column of the plainest failure, else the fitted values."""
    failed = [check for check in checks.failed if check.where in rows.model.encoder.feature_names]
    if not failed:
        return mean, left, "the fitted value"
    worst: Check = min(failed, key=lambda check: (check.slight, check.name != "curvature"))
    return rows.X[:, rows.model.encoder.feature_names.index(worst.where)], left, worst.where
