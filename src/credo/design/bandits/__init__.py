"""Bandits: which arm to play next, and when to stop.

`arms`       conjugate beliefs about Bernoulli and Gaussian arms; `linear` about linear-contextual ones
`policies`   Thompson, upper bounds, top-two, greedy, uniform
`choose`     the next arms, and stopping by the value that remains
`maximum`    who is best, what stopping loses and what could be gained, by quadrature
`equations`  Kullback–Leibler bounds and the Lai–Robbins constant
`bandit`     the three classes to ask and tell; `state` them as dictionaries
`regret`     a policy against known arms, by simulation
"""

from credo.design.bandits.arms import Arms, bernoulli_arms, gaussian_arms
from credo.design.bandits.bandit import BernoulliBandit, GaussianBandit, LinearBandit
from credo.design.bandits.choose import Stopping, choose, stopping
from credo.design.bandits.equations import lai_robbins
from credo.design.bandits.linear import LinearArms, linear_arms
from credo.design.bandits.maximum import expected_loss, gain_cdf, gain_quantile, probability_best
from credo.design.bandits.policies import (
    KLUCB,
    UCB1,
    BayesUCB,
    Greedy,
    Policy,
    Thompson,
    TopTwoThompson,
    Uniform,
)
from credo.design.bandits.regret import simulate_regret

__all__ = [
    "BernoulliBandit",
    "GaussianBandit",
    "LinearBandit",
    "Arms",
    "LinearArms",
    "bernoulli_arms",
    "gaussian_arms",
    "linear_arms",
    "choose",
    "stopping",
    "Stopping",
    "Policy",
    "Thompson",
    "BayesUCB",
    "UCB1",
    "KLUCB",
    "TopTwoThompson",
    "Uniform",
    "Greedy",
    "probability_best",
    "expected_loss",
    "gain_cdf",
    "gain_quantile",
    "lai_robbins",
    "simulate_regret",
]
