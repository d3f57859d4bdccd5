"""Bayesian networks over finitely many states.

`network`     `BayesianNetwork`: the questions, answered exactly by `credo.probability.factors`
`definition`  `NetworkDefinition`: states, parents and tables, checked; what every other file here speaks
`tables`      a node's table from dicts, arrays, factors; its rows checked
`nodes`       tables by rule: deterministic, noisy-OR, noisy-MAX
`separation`  d-separation and its paths, Markov blankets
`analysis`    sensitivity, value of information, conflict
`files/`      BIF, XMLBIF, UAI and Hugin NET, read and written
"""

from credo.models.network.definition import NetworkDefinition
from credo.models.network.files import NetworkFileError, read_network, write_network
from credo.models.network.network import BayesianNetwork, Explanation
from credo.models.network.nodes import Deterministic, NoisyMax, NoisyOr

__all__ = [
    "BayesianNetwork",
    "Explanation",
    "NetworkDefinition",
    "Deterministic",
    "NoisyOr",
    "NoisyMax",
    "read_network",
    "write_network",
    "NetworkFileError",
]
