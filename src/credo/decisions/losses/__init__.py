"""Losses: what an action costs once the outcome is known (`cr.losses`).

`base`       the record every loss is, and how ties fall
`real`       numbers: Square, Absolute, Pinball, Linear, Linex
`classes`    labels: ZeroOne, CostMatrix, Reject
`callables`  any function of action and outcome
"""

from credo.decisions.losses.base import Loss
from credo.decisions.losses.callables import Callable, as_loss
from credo.decisions.losses.classes import CostMatrix, Reject, ZeroOne
from credo.decisions.losses.real import Absolute, Linear, Linex, Pinball, Square

__all__ = [
    "Loss",
    "Square",
    "Absolute",
    "Pinball",
    "Linear",
    "Linex",
    "ZeroOne",
    "CostMatrix",
    "Reject",
    "Callable",
    "as_loss",
]
