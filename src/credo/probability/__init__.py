"""Probability of finitely many things: spaces and events, Bayes' rule, coherent odds.

`masses`      `Masses`: probabilities of outcomes, exact (over a common denominator) or floating
`algebra`     `Algebra`: a σ-algebra as the partition into its atoms
`events`      `Event`: a set of outcomes
`spaces`      `SampleSpace`: conditioning, chain rule, total probability, laws of random variables, trials
`bayes`       `bayes_rule`
`coherence`   `coherence`: the sure loss in quoted odds, by a linear programme
`factors/`    `Factor`, `FactorGraph`: named tables, exact inference by elimination
`chains/`     `MarkovChain`, `learn_chain` from paths, `forward_backward` and `viterbi` of hidden ones
"""

from credo.probability.bayes import bayes_rule
from credo.probability.chains import ChainPosterior, MarkovChain, forward_backward, learn_chain, viterbi
from credo.probability.coherence import Coherence, coherence
from credo.probability.events import Event
from credo.probability.factors import Factor, FactorGraph, read_uai, read_uai_evidence
from credo.probability.spaces import SampleSpace

__all__ = [
    "SampleSpace",
    "Event",
    "bayes_rule",
    "Coherence",
    "coherence",
    "MarkovChain",
    "learn_chain",
    "ChainPosterior",
    "forward_backward",
    "viterbi",
    "Factor",
    "FactorGraph",
    "read_uai",
    "read_uai_evidence",
]
