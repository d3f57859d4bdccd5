"""`Loss`: what an action costs once the outcome is known, and hence what it is expected to cost before."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.diagnostics.views import shape
from credo.errors import DataError, NumericalError, ParameterError

__all__ = ["Loss", "first_minimum", "numbers", "aligned", "finite"]

# Expected losses this close, relative to the terms they sum, are tied: only rounding parts them.
TIE = 1e-12


class Loss:
    """Base of the losses.

    `loss(action, y)`                  what it costs, elementwise
    `loss.act(predictive)`             the action of least expected loss, one per row
    `loss.expected(predictive, a)`     E loss(a, Y); `a` broadcasts against the rows, extra axes lead
    `loss.least(predictive)`           E min_a loss(a, Y): what someone who knew the outcomes would still lose

    A predictive is a `Predictive` or a scalar family; subclasses are frozen records.
    """

    def __call__(self, action: Any, y: Any) -> np.ndarray:
        raise NotImplementedError

    def act(self, predictive: Any) -> np.ndarray:
        raise NotImplementedError

    def expected(self, predictive: Any, actions: Any) -> np.ndarray:
        raise NotImplementedError

    def least(self, predictive: Any) -> np.ndarray:
        return np.zeros(shape(predictive))

    def choose(self, predictive: Any, actions: Any) -> np.ndarray:
        """The best of the candidate `actions` (m,) for each row; ties (1e-12 relative) go to the first."""
        candidates = np.asarray(actions)
        if candidates.ndim != 1 or candidates.size == 0:
            raise ParameterError(type(self).__name__, "actions", "a non-empty one-dimensional list", actions)
        # An item of an object array stays the object it is (None among labels).
        table = np.stack([self.expected(predictive, candidates[i]) for i in range(candidates.size)])
        return candidates[first_minimum(table)]


def first_minimum(table: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    """Index along axis 0 of the first value tied with the smallest.

    `scale`, same shape, is the size of the terms each value is a sum of; None: the values themselves.
    """
    slack = TIE * (np.abs(table) if scale is None else scale)
    return np.argmax(table - slack <= np.min(table + slack, axis=0), axis=0)


def numbers(owner: str, values: Any, name: str = "actions") -> np.ndarray:
    """Finite float64 array or `DataError`."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(owner, name, "numbers", values) from None
    if not np.all(np.isfinite(array)):
        bad = np.flatnonzero(~np.isfinite(np.ravel(array)))
        raise DataError(
            f"{owner}: {name} has NaN or infinity at {bad[:5].tolist()}.",
            rows=bad[:20].tolist(),
            value=values,
        )
    return array


def aligned(owner: str, actions: np.ndarray, rows: tuple[int, ...]) -> np.ndarray:
    """Actions broadcast against the rows: trailing axes are the rows, extra ones lead."""
    try:
        return np.broadcast_to(actions, np.broadcast_shapes(actions.shape, rows))
    except ValueError:
        raise ParameterError(
            owner, "actions", f"a scalar, or an array that broadcasts against the rows {rows}", actions
        ) from None


def finite(owner: str, values: np.ndarray, what: str) -> np.ndarray:
    """`values`, or `NumericalError` where they are infinite or undefined."""
    values = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(values)):
        rows = np.flatnonzero(~np.isfinite(values))
        raise NumericalError(
            f"{owner}: {what} is infinite or undefined in {rows.size} row(s), the first {rows[0]}.",
            value=values.ravel()[rows[0]],
            remedy="Use a loss that grows more slowly, or a predictive with lighter tails.",
        )
    return values
