"""Two objectives at once: what is best is a front, outcomes that no other beats in both. Lower is better.

`pareto`       which outcomes are on the front
`hypervolume`  how good a front is, exactly, for any number of objectives; the reference point
`propose`      `propose_front`, Bayesian optimisation of two objectives
`equations`    expected hypervolume improvement in closed form, with slopes; `functions`  the same of points
`incumbents`   draws of fronts that are uncertain, and of pending trials
"""

from credo.design.fronts.hypervolume import hypervolume, reference_point
from credo.design.fronts.pareto import non_dominated
from credo.design.fronts.propose import FrontProposal, propose_front

__all__ = ["FrontProposal", "hypervolume", "non_dominated", "propose_front", "reference_point"]
