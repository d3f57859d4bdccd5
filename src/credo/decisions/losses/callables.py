"""`Callable`: any function of action and outcome as a loss."""

from __future__ import annotations

import collections.abc
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.decisions.laws import Law, as_predictive, law
from credo.decisions.losses.base import Loss, aligned, finite
from credo.decisions.losses.classes import CostMatrix
from credo.diagnostics.views import shape
from credo.errors import NumericalError, ParameterError
from credo.prediction.classes import ClassPredictive

__all__ = ["Callable", "as_loss"]

# Starting actions for the continuous search: every local minimum wider than 1/64 of probability is seen.
STARTS = np.concatenate([[1e-6, 1e-4, 1e-3], np.arange(1, 64) / 64.0, [0.999, 1 - 1e-4, 1 - 1e-6]])
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


@dataclass(frozen=True, eq=False)
class Callable(Loss):
    """function(action, y) as a loss.

    Its expectation is a sum for classes and counts, the average of a `DrawsPredictive`'s draws, and otherwise
    a fixed quadrature over 924 quantiles a row: no random numbers; about 1e-9 relative for smooth functions,
    2e-6 with a kink, 1e-3 of the height of a jump.

    Parameters
    ----------
    function : (action, y) → loss ≥ or < 0. For class labels it is called pair by pair; for numbers it must
        work elementwise on NumPy arrays.
    actions : candidate actions; None: the classes, or for numbers a search from 69 quantiles, then by golden
        section (smooth functions to 1e-8, kinked ones to 1e-3 of the spread). `NumericalError` if the best action
        is further outside the outcome's range than that is wide.

    Examples
    --------
    >>> import credo as cr
    >>> late = Callable(lambda a, y: np.where(y > a, 10.0, 0.0) + a, actions=[0, 1, 2, 3])
    >>> late.act(cr.Normal(0.0, 1.0)).item()
    2
    """

    function: collections.abc.Callable[[Any, Any], Any]
    actions: Any = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError("Callable", "function", "a function of (action, y)", self.function)

    def __call__(self, action: Any, y: Any) -> np.ndarray:
        action, y = np.broadcast_arrays(np.asarray(action), np.asarray(y))
        pairs = zip(action.ravel().tolist(), y.ravel().tolist())
        return np.array([float(self.function(a, b)) for a, b in pairs]).reshape(action.shape)

    def act(self, predictive: Any) -> np.ndarray:
        of = as_predictive(predictive)
        if isinstance(of, ClassPredictive):
            return self._table(of.classes, of.classes if self.actions is None else self.actions).act(of)
        return self._search(of) if self.actions is None else self.choose(of, self.actions)

    def expected(self, predictive: Any, actions: Any) -> np.ndarray:
        of = as_predictive(predictive)
        if isinstance(of, ClassPredictive):
            return self._table(of.classes, list(dict.fromkeys(np.ravel(actions).tolist()))).expected(of, actions)
        a, outcome = aligned("Callable", np.asarray(actions), shape(of)), law(of)
        each = [self._averaged(outcome, one) for one in a.reshape(-1, *shape(of))]
        return np.reshape(each, a.shape)

    def least(self, predictive: Any) -> np.ndarray:
        of = as_predictive(predictive)
        if isinstance(of, ClassPredictive):
            return self._table(of.classes, of.classes if self.actions is None else self.actions).least(of)
        if self.actions is None:
            raise ParameterError("Callable", "actions", "given, to know the least loss at each outcome", None)
        return law(of).expect(lambda y: np.min([self._elementwise(a, y) for a in self.actions], axis=0))

    def _table(self, classes: np.ndarray, actions: Any) -> CostMatrix:
        costs = self(np.asarray(actions)[:, None], classes[None, :])
        return CostMatrix(costs, actions=np.asarray(actions), states=classes)

    def _averaged(self, outcome: Law, action: np.ndarray) -> np.ndarray:
        return finite("Callable", outcome.expect(lambda y: self._elementwise(action, y)), "the expected loss")

    def _elementwise(self, action: Any, y: np.ndarray) -> np.ndarray:
        try:
            return np.broadcast_to(np.asarray(self.function(action, y), dtype=np.float64), y.shape)
        except ValueError as error:
            raise ParameterError(
                "Callable", "function", f"elementwise on arrays ({error})", self.function,
                "Write it with np.where, or wrap it in np.vectorize.",
            ) from error  # fmt: skip

    def _search(self, of: Any) -> np.ndarray:
        outcome = law(of)
        grid = outcome.quantile(STARTS)
        span = grid[-1] - grid[0]
        span = np.where(span > 0, span, 1.0)
        grid = np.concatenate([[grid[0] - span], grid, [grid[-1] + span]])
        table = np.stack([self._averaged(outcome, a) for a in grid])
        best = np.take_along_axis(grid, np.argmin(table, axis=0)[None], axis=0)[0]
        if np.any((best == grid[0]) | (best == grid[-1])):
            raise NumericalError(
                "The best action lies far outside the outcome's range, or the loss has no minimum.",
                value=best,
                remedy="Give Callable(..., actions=...) candidates.",
            )
        # Neighbours by value: quantiles of counts and draws repeat.
        left = np.max(np.where(grid < best, grid, -np.inf), axis=0)
        right = np.min(np.where(grid > best, grid, np.inf), axis=0)
        return self._golden(outcome, left, right)

    def _golden(self, outcome: Law, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Golden section in every row at once; 1e-8 of the bracket is where a parabola's rounding begins."""
        for _ in range(39):  # 0.618³⁹ = 7e-9
            inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
            keep_left = self._averaged(outcome, inner) <= self._averaged(outcome, outer)
            left, right = np.where(keep_left, left, inner), np.where(keep_left, outer, right)
        return 0.5 * (left + right)


def as_loss(loss: Any) -> Any:
    """A loss, a plain function of (action, y), or anything with `act` and `expected`."""
    if hasattr(loss, "act") and hasattr(loss, "expected") and not isinstance(loss, type):
        return loss
    if callable(loss) and not isinstance(loss, type):
        return Callable(loss)
    raise ParameterError("", "loss", "a loss such as cr.losses.Square(), or a function of (action, y)", loss)
