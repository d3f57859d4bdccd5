"""Networks with continuous nodes that are linear in their continuous parents, with normal noise.

`network`           `LinearGaussianNetwork`: all nodes continuous
`equation`          `LinearGaussian`: one node given its parents
`structure`         nodes and arrows, checked
`equations`         conditioning in square-root form: pure arrays
`rows`              many rows, grouped by the cells that they miss
`columns`           tables to numbers and back
`learned`, `learning`  `learn` and `fit`: regressions, and EM where cells are missing
`search`, `scores`  arrows from rows: BIC, BGe
`credible`          answers under draws of the equations
`conditional`       `ConditionalGaussianNetwork`: discrete nodes above continuous ones
`mixed_structure`   its nodes, arrows and equations, checked
`components`        continuous nodes that hang together, under each configuration of their discrete parents
`mixture`           `NormalMixture`: several continuous nodes together
`mixed_learning`    its tables and equations from rows
`mixed_sampling`    draws given evidence
`mixed_weighting`   estimates beyond memory
`mixed_rows`, `mixed_questions`  many rows
`documents`         both as JSON
"""

from credo.models.network.gaussian.conditional import ConditionalGaussianNetwork
from credo.models.network.gaussian.credible import CredibleNumber
from credo.models.network.gaussian.equation import LinearGaussian
from credo.models.network.gaussian.mixture import NormalMixture
from credo.models.network.gaussian.network import LinearGaussianNetwork, Moments

__all__ = [
    "ConditionalGaussianNetwork",
    "CredibleNumber",
    "LinearGaussian",
    "LinearGaussianNetwork",
    "Moments",
    "NormalMixture",
]
