"""Random forests as the belief about an objective: for spaces that are conditional, categorical, or rough.

`table`       points as columns: a number a parameter, inactive ones apart from all values
`forest`      trees, and their mean and variance at points: within leaves and between trees
`candidates`  random points, and neighbours of good ones
`propose`     `propose_by_forest`
"""

from credo.design.forest.forest import Forest, ForestMoments
from credo.design.forest.propose import ForestProposal, propose_by_forest
from credo.design.forest.table import Table

__all__ = ["Forest", "ForestMoments", "ForestProposal", "Table", "propose_by_forest"]
