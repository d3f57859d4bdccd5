"""Finite Markov chains.

`chain`         `MarkovChain`: what users hold
`reading`       P as it is given
`structure`     communicating classes and periods, from the arrows alone
`stationary`    π = π P, up to a million states, certified by its residual
`absorption`    where a chain ends, and when
`mixing`        spectral gap, mixing time, distance to stationarity
`estimation`    `learn_chain`: Dirichlet posterior of the transitions from paths
`diagram`       `Diagram`: circles and arrows, in SVG
`hidden`        `forward_backward` and `viterbi`: the states of a chain that is not seen; `hidden_…`, compiled
"""

from credo.probability.chains.chain import MarkovChain
from credo.probability.chains.diagram import Diagram
from credo.probability.chains.estimation import ChainPosterior, learn_chain
from credo.probability.chains.hidden import HiddenPath, HiddenStates, forward_backward, viterbi

__all__ = [
    "MarkovChain",
    "ChainPosterior",
    "learn_chain",
    "Diagram",
    "forward_backward",
    "viterbi",
    "HiddenStates",
    "HiddenPath",
]
