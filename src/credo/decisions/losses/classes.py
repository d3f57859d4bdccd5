"""Losses over labels: 0-1, with a reject option, or any table of costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.decisions.laws import as_classes, as_predictive
from credo.decisions.losses.base import Loss, aligned, first_minimum
from credo.diagnostics.labels import label_codes
from credo.errors import ParameterError
from credo.prediction.classes import ClassPredictive

__all__ = ["ZeroOne", "CostMatrix", "Reject"]


@dataclass(frozen=True)
class ZeroOne(Loss):
    """1 when the label is wrong, else 0. The Bayes action is the most probable label, the first of ties.

    Counts are labels too. A real outcome has no label: `ParameterError`.

    >>> p = ClassPredictive([[0.2, 0.8], [0.5, 0.5]], ["no", "yes"])
    >>> ZeroOne().act(p).tolist()
    ['yes', 'no']
    """

    def __call__(self, action: Any, y: Any) -> np.ndarray:
        return np.asarray(np.asarray(action) != np.asarray(y), dtype=np.float64)

    def act(self, predictive: Any) -> np.ndarray:
        return as_classes(predictive).mode

    def expected(self, predictive: Any, actions: Any) -> np.ndarray:
        of = as_predictive(predictive)
        if isinstance(of, ClassPredictive):
            return 1.0 - _probability(of, actions)
        as_classes(of)  # refuses real outcomes
        return 1.0 - (of.cdf(actions) - of.cdf(np.asarray(actions) - 1))


@dataclass(frozen=True, eq=False)
class CostMatrix(Loss):
    """costs[action, state]: the Bayes action is argmin_a Σ_y C[a, y] p(y); ties go to the first action.

    Actions need not be the classes. Negative costs are gains. All-zero costs tie
    every action: the first.

    Parameters
    ----------
    costs : (m, k), finite
    actions : m labels; by default the states if m = k, else 0..m−1
    states : k labels, any order, that must include every class; by default the predictive's classes, in order

    Examples
    --------
    >>> p = ClassPredictive([[0.9, 0.1], [0.99, 0.01]], ["healthy", "ill"])
    >>> CostMatrix([[0, 50], [1, 1]], actions=["wait", "test"]).act(p).tolist()
    ['test', 'wait']
    """

    costs: Any
    actions: Any = None
    states: Any = None

    def __post_init__(self) -> None:
        costs = np.asarray(self.costs, dtype=np.float64)
        if costs.ndim != 2 or costs.size == 0 or not np.all(np.isfinite(costs)):
            raise ParameterError("CostMatrix", "costs", "a finite (actions, states) matrix", self.costs)
        for name, size in zip(("actions", "states"), costs.shape):
            labels = getattr(self, name)
            if labels is not None and (np.ndim(labels) != 1 or len(set(np.asarray(labels).tolist())) != size):
                raise ParameterError("CostMatrix", name, f"{size} distinct labels", labels)

    def matrix(self, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(actions (m,), costs (m, k)) with columns in the order of `classes` (k,)."""
        costs = np.asarray(self.costs, dtype=np.float64)
        if self.states is not None:
            costs = costs[:, label_codes(np.asarray(self.states), classes, "CostMatrix.states")]
        elif costs.shape[1] != len(classes):
            raise ParameterError(
                "CostMatrix",
                "costs",
                f"(actions, {len(classes)}), a column per class {classes.tolist()}",
                costs.shape,
            )
        if self.actions is not None:
            return np.asarray(self.actions), costs
        own = np.asarray(classes if self.states is None else self.states)
        return (own if len(costs) == len(own) else np.arange(len(costs))), costs

    def stated(self, classes: np.ndarray) -> CostMatrix:
        """The same costs with actions and states spelt out for these classes, so that single outcomes have a price."""
        if self.states is not None:
            return self
        actions, costs = self.matrix(classes)
        return CostMatrix(costs, actions=actions, states=classes)

    def __call__(self, action: Any, y: Any) -> np.ndarray:
        if self.states is None:
            raise ParameterError("CostMatrix", "states", "given, to price a single outcome", None)
        states = np.asarray(self.states)
        actions, costs = self.matrix(states)
        return costs[label_codes(actions, action, "CostMatrix.actions"), label_codes(states, y, "CostMatrix.states")]

    def act(self, predictive: Any) -> np.ndarray:
        p = as_classes(predictive)
        actions, costs = self.matrix(p.classes)
        return actions[first_minimum(costs @ p.probabilities.T, np.abs(costs) @ p.probabilities.T)]

    def expected(self, predictive: Any, actions: Any) -> np.ndarray:
        p = as_classes(predictive)
        own, costs = self.matrix(p.classes)
        table = costs @ p.probabilities.T
        codes = aligned("CostMatrix", label_codes(own, actions, "CostMatrix.actions"), p.shape)
        return table[codes, np.arange(len(p))]

    def least(self, predictive: Any) -> np.ndarray:
        p = as_classes(predictive)
        return p.probabilities @ self.matrix(p.classes)[1].min(axis=0)


@dataclass(frozen=True)
class Reject(Loss):
    """0-1 loss with the option of not deciding, at a cost: decide iff max p ≥ 1 − cost (Chow's rule).

    The action is a label, or `label` (None) where the row is rejected: `act` returns an object array, and
    `act(p) == None` marks the rejected. For other losses add a row of constant cost to a `CostMatrix`.

    cost : in [0, 1]; from 1 − 1/k on nothing is rejected
    label : what stands for a rejection; by default None

    Reference: Chow, IEEE Trans. Information Theory 16 (1970) 41-46.

    >>> p = ClassPredictive([[0.95, 0.05], [0.6, 0.4]], ["no", "yes"])
    >>> Reject(0.1).act(p).tolist()
    ['no', None]
    """

    cost: float
    label: Any = None

    def __post_init__(self) -> None:
        if np.ndim(self.cost) or not 0.0 <= self.cost <= 1.0:
            raise ParameterError("Reject", "cost", "a number between 0 and 1", self.cost)

    def __call__(self, action: Any, y: Any) -> np.ndarray:
        wrong = np.asarray(np.asarray(action, dtype=object) != np.asarray(y, dtype=object), dtype=np.float64)
        return np.where(self._rejected(action), float(self.cost), wrong)

    def act(self, predictive: Any) -> np.ndarray:
        p = as_classes(predictive)
        if self.label in p.classes.tolist():
            raise ParameterError("Reject", "label", "none of the classes", self.label)
        actions = p.mode.astype(object)
        # 1e-12: a maximum typed as .7 must meet a cost typed as .3.
        actions[p.probabilities.max(axis=1) < 1.0 - self.cost - 1e-12] = self.label
        return actions

    def expected(self, predictive: Any, actions: Any) -> np.ndarray:
        p = as_classes(predictive)
        actions = aligned("Reject", np.asarray(actions, dtype=object), p.shape)
        rejected = self._rejected(actions)
        stand_in = np.where(rejected, np.asarray(p.classes, dtype=object)[0], actions)
        return np.where(rejected, float(self.cost), 1.0 - _probability(p, stand_in))

    def _rejected(self, actions: Any) -> np.ndarray:
        actions = np.asarray(actions, dtype=object)
        flat = [a is None if self.label is None else a == self.label for a in actions.ravel().tolist()]
        return np.array(flat, dtype=bool).reshape(actions.shape)


def _probability(p: ClassPredictive, labels: Any) -> np.ndarray:
    codes = aligned("", label_codes(p.classes, labels, "actions"), p.shape)
    return p.probabilities[np.arange(len(p)), codes]
