"""Bayesian networks over finitely many states.

`network`     `BayesianNetwork`: the questions, answered exactly by `credo.probability.factors`
`row_questions`  the questions of many rows, which `batch` answers
`naming`      columns called by numbers
`findings`    evidence, and what is wrong with it
`definition`  `NetworkDefinition`: states, parents and tables, checked; what every other file here speaks
`tables`      a node's table from dicts, arrays, factors; its rows checked
`nodes`       tables by rule: deterministic, noisy-OR, noisy-MAX
`arrow_questions`  the questions of the arrows alone
`causes`      back-door and front-door sets
`separation`  d-separation and its paths, Markov blankets
`analysis`, `derivatives`  sensitivity, value of information, conflict
`credible`    answers under draws of the tables
`batch/`      questions of many rows at once
`files/`      BIF, XMLBIF, UAI and Hugin NET, read and written
`learning/`   structures and tables from rows
`sampling/`   draws, estimates with errors, cut-sets
`drawing/`    pictures as SVG and HTML
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
