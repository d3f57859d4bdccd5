"""`decide`: f*(x) = argmin_a E[loss(a, Y) | x], for every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.decisions.losses import as_loss

__all__ = ["decide", "expected_loss", "evaluate", "Decision"]


@dataclass(frozen=True)
class Decision:
    """Actions with what they are expected to cost.

    actions : the Bayes action of each row
    expected_loss : E loss(action, Y) of each row
    """

    actions: np.ndarray
    expected_loss: np.ndarray


def decide(predictive: Any, loss: Any, *, actions: Any = None) -> np.ndarray:
    """The Bayes-optimal action for every row: argmin_a E[loss(a, Y)].

    Parameters
    ----------
    predictive : a `Predictive`, or a scalar family such as ``cr.Normal(mean, sd)``
    loss : a loss of `cr.losses`, or a function of (action, y)
    actions : candidates (m,) to choose among; None leaves every action the loss knows open.
        Ties go to the first.

    Returns
    -------
    actions : (rows,), numbers or labels; a rejected row is None

    Examples
    --------
    >>> import credo as cr
    >>> demand = cr.Normal([100.0, 40.0], [10.0, 4.0])
    >>> decide(demand, cr.losses.Linear(over=1, under=9)).round(2).tolist()
    [112.82, 45.13]
    >>> decide(demand, cr.losses.Linear(over=1, under=9), actions=[50, 100, 150]).tolist()
    [100, 50]

    References
    ----------
    Berger (1985), Statistical Decision Theory and Bayesian Analysis, ch. 1 and 2.
    """
    loss = as_loss(loss)
    return loss.act(predictive) if actions is None else loss.choose(predictive, actions)


def expected_loss(predictive: Any, loss: Any, actions: Any = None) -> np.ndarray:
    """E loss(action, Y) of each row, at the given actions (broadcast against the rows) or at the best ones.

    >>> import credo as cr
    >>> expected_loss(cr.Normal(0.0, 2.0), cr.losses.Square()).item()
    4.0
    """
    loss = as_loss(loss)
    return loss.expected(predictive, loss.act(predictive) if actions is None else actions)


def evaluate(predictive: Any, loss: Any, *, actions: Any = None) -> Decision:
    """`decide` and what the decisions are expected to cost, as a record."""
    loss = as_loss(loss)
    chosen = decide(predictive, loss, actions=actions)
    return Decision(chosen, loss.expected(predictive, chosen))
