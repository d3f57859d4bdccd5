"""Bayesian optimisation on the unit cube: what to try next, given what was tried. Values are minimised.

`propose`     `propose` and `recommend`
`equations`   what a point is worth: pure functions of mean and sd, with slopes to the last digit
`functions`   the same as functions of points
`inside`      what keeps improvement from going round all corners
`incumbents`  draws of best values that are uncertain, and of pending trials
`search`      where an acquisition function is highest
`averaged`    moments with hyperparameters integrated out, for people
`points`, `checks`  even designs; arguments
"""

from credo.design.acquisition.propose import ACQUISITIONS, Proposal, Recommendation, State, propose, recommend
from credo.design.surrogates.cube import Grid, OneHot

__all__ = ["ACQUISITIONS", "Grid", "OneHot", "Proposal", "Recommendation", "State", "propose", "recommend"]
