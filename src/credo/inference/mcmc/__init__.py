"""Markov chain Monte Carlo: kernels that know no model, and the driver that runs them.

`kernel`        the contract: `init`, `step` (a generator that asks for densities), tuners
`metropolis`    Metropolis–Hastings with any proposal; `random_walk` the adaptive one
`gibbs`         blocks by exact draws or by kernels; the parallel sweep as a proposal
`slice`, `elliptical`, `adaptive_rejection`   no tuning needed
`hmc`, `nuts`   gradients; `hamiltonian` and `metric` are what they share
`mixture`       cycles and mixtures of kernels
`windows`       the schedule of warm-up
`driver`        `sample`: chains, warm-up, thinning, interruption, resume
`starts`, `progress`, `report`   where chains begin, how far they are, what became of them
`ensemble`      many chains of HMC in step with each other, for a target whose scale is known
"""

from credo.inference.mcmc.adaptive_rejection import AdaptiveRejection
from credo.inference.mcmc.driver import Checkpoint, sample
from credo.inference.mcmc.elliptical import EllipticalSlice
from credo.inference.mcmc.gibbs import Exact, Gibbs, ParallelGibbs, Within
from credo.inference.mcmc.hmc import HMC
from credo.inference.mcmc.kernel import Kernel, State, Tuner, advance
from credo.inference.mcmc.metric import Dense, Diagonal, LowRank, metric_from
from credo.inference.mcmc.metropolis import Independence, MetropolisHastings
from credo.inference.mcmc.mixture import Cycle, Mixture
from credo.inference.mcmc.nuts import NUTS
from credo.inference.mcmc.progress import Progress
from credo.inference.mcmc.random_walk import RandomWalk
from credo.inference.mcmc.slice import Slice

__all__ = [
    "sample",
    "Progress",
    "Checkpoint",
    "Kernel",
    "State",
    "Tuner",
    "advance",
    "MetropolisHastings",
    "Independence",
    "RandomWalk",
    "Gibbs",
    "ParallelGibbs",
    "Exact",
    "Within",
    "Slice",
    "EllipticalSlice",
    "AdaptiveRejection",
    "HMC",
    "NUTS",
    "Diagonal",
    "Dense",
    "LowRank",
    "metric_from",
    "Cycle",
    "Mixture",
]
