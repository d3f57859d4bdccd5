"""What it is worth to know more before acting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.decisions.losses import as_loss
from credo.distributions.base import Family
from credo.errors import ParameterError
from credo.prediction.classes import ClassPredictive
from credo.prediction.predictive import Predictive

__all__ = ["InformationValue", "value_of_information"]


@dataclass(frozen=True)
class InformationValue:
    """Value of information, in the units of the loss; never negative.

    action : the best action now
    loss : its expected loss
    perfect : how much knowing the outcome would save
    sample : how much seeing the signal would save; None when no signal was given
    signal_actions : the best action after each signal; None likewise
    """

    action: Any
    loss: Any
    perfect: Any
    sample: Any = None
    signal_actions: Any = None


def value_of_information(joint: Any, loss: Any, *, states: Any = None) -> InformationValue:
    """How much less one would lose, on average, by knowing the outcome, or by seeing a signal, before acting.

        perfect = min_a E l(a, Y) − E min_a l(a, Y)
        sample  = min_a E l(a, Y) − E_s min_a E[l(a, Y) | s]

    Parameters
    ----------
    joint : a table p(state, signal) (k, s); or p(state) (k,); or a `Predictive` or family, row by row.
        Posterior draws of class probabilities (S, k) are the table ``draws.T / S``: the signal is the
        parameter. A `DrawsPredictive` with `conditional`, and a prediction of a `Model`, takes the parameter as
        the signal by itself.
    loss : a loss of `cr.losses`, or a function of (action, y)
    states : labels (k,) of a table's rows; by default 0..k−1

    Raises
    ------
    ParameterError : a table that is negative or does not sum to 1.

    Examples
    --------
    Drill (cost 70) for oil worth 200, present with probability .4; a survey is right 80 % of the time.

    >>> import credo as cr
    >>> drill = cr.losses.CostMatrix([[0, 0], [70, -130]], actions=["leave", "drill"])
    >>> v = value_of_information([[0.48, 0.12], [0.08, 0.32]], drill, states=["dry", "oil"])
    >>> v.action, round(v.perfect, 6), round(v.sample, 6), v.signal_actions.tolist()
    ('drill', 42.0, 23.2, ['leave', 'drill'])

    References
    ----------
    Raiffa and Schlaifer (1961), Applied Statistical Decision Theory, ch. 4.
    """
    loss = as_loss(loss)
    if isinstance(joint, (Predictive, Family)):
        return _of_predictive(joint, loss)
    table = np.asarray(joint, dtype=np.float64)
    # 1e-9: a joint table computed in float64 sums to one this well.
    if table.ndim not in (1, 2) or not np.all(table >= 0) or abs(table.sum() - 1.0) > 1e-9:
        raise ParameterError("value_of_information", "joint", "a table p(state, signal) ≥ 0 that sums to 1", joint)
    states = np.arange(len(table)) if states is None else np.asarray(states)
    prior = ClassPredictive(table.reshape(len(table), -1).sum(axis=1)[None], states)
    now = _of_predictive(prior, loss)
    perfect, action, least = float(now.perfect[0]), now.action.tolist()[0], float(now.loss[0])
    if table.ndim == 1:
        return InformationValue(action, least, perfect)
    signal = table.sum(axis=0)
    # A signal that never comes has no posterior; the prior stands in, with weight 0.
    posterior = np.where(signal > 0, table / np.where(signal > 0, signal, 1.0), prior.probabilities.T)
    after = ClassPredictive(posterior.T, states)
    actions = loss.act(after)
    sample = max(least - float(signal @ loss.expected(after, actions)), 0.0)
    return InformationValue(action, least, perfect, sample, actions)


def _of_predictive(predictive: Any, loss: Any) -> InformationValue:
    action = loss.act(predictive)
    now = loss.expected(predictive, action)
    perfect = np.maximum(now - loss.least(predictive), 0.0)
    given = getattr(predictive, "conditional", None)
    if given is None or not hasattr(predictive, "draws"):
        return InformationValue(action, now, perfect)
    known = np.broadcast_to(loss.expected(given, loss.act(given)), predictive.draws.shape).mean(axis=0)
    return InformationValue(action, now, perfect, np.maximum(now - known, 0.0))
