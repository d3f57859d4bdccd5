"""The coverage-risk curve: how much is lost on the rows one keeps, when the doubtful ones are handed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.decisions.laws import as_classes
from credo.decisions.losses import CostMatrix, as_loss
from credo.errors import DataError

__all__ = ["CoverageRisk", "coverage_risk"]


@dataclass(frozen=True)
class CoverageRisk:
    """Points of the curve, from few rows kept to all; rows of equal expected loss go together.

    coverage : share of rows kept, increasing to 1
    risk : mean realised loss of the rows kept
    expected : mean loss the predictive expected of them; far from `risk` means badly calibrated
    threshold : largest expected loss among the rows kept
    area : ∫ risk d coverage, by steps; smaller is better
    """

    coverage: np.ndarray
    risk: np.ndarray
    expected: np.ndarray
    threshold: np.ndarray

    @property
    def area(self) -> float:
        return float(np.sum(self.risk * np.diff(self.coverage, prepend=0.0)))


def coverage_risk(predictive: Any, y: Any, loss: Any) -> CoverageRisk:
    """Keep the rows of least expected loss first and record the loss realised on them. O(n log n).

    Parameters
    ----------
    predictive : n rows
    y : the n outcomes that came
    loss : a loss of `cr.losses`, or a function of (action, y)

    Examples
    --------
    >>> import credo as cr
    >>> from credo.prediction.classes import ClassPredictive
    >>> p = ClassPredictive([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]], ["a", "b"])
    >>> curve = coverage_risk(p, ["a", "a", "a"], cr.losses.ZeroOne())
    >>> curve.coverage.round(3).tolist(), curve.risk.round(3).tolist()
    ([0.333, 0.667, 1.0], [0.0, 0.0, 0.333])

    References
    ----------
    El-Yaniv and Wiener, JMLR 11 (2010) 1605-1641; Geifman and El-Yaniv, NeurIPS (2017).
    """
    loss, y = as_loss(loss), np.asarray(y)
    actions = loss.act(predictive)
    if y.shape != actions.shape or y.size == 0:
        raise DataError(f"coverage_risk: {y.size} outcomes for {actions.size} predicted rows.", value=y.shape)
    if isinstance(loss, CostMatrix):
        loss = loss.stated(as_classes(predictive).classes)
    doubt, realised = loss.expected(predictive, actions).ravel(), loss(actions, y).ravel()
    order = np.argsort(doubt, kind="stable")
    doubt, realised = doubt[order], realised[order]
    last = np.flatnonzero(np.append(np.diff(doubt) > 1e-12 * np.abs(doubt[-1]), True))
    kept = last + 1.0
    return CoverageRisk(kept / doubt.size, np.cumsum(realised)[last] / kept, np.cumsum(doubt)[last] / kept, doubt[last])
