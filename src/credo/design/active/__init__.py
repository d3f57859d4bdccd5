"""Active learning: which rows of a pool to label next, with any model that has a predictive.

`equations`  what labels are worth, one by one and together
`beliefs`    what a model believes of the pool
`select`     scores, the next rows, and whether to go on
`curve`      learning curves against random labels
"""

from credo.design.active.curve import LearningCurve, accuracy, learning_curve
from credo.design.active.select import Remaining, remaining, scores, select

__all__ = ["scores", "select", "learning_curve", "LearningCurve", "remaining", "Remaining", "accuracy"]
