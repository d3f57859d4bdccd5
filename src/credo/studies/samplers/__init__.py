"""What to ask next: pure functions of space, history, pending points and rng.

`base`      `Sampler`, the protocol; `History`, `Guess`, `Suggestion`
`designs`   "sobol" and "random": points that ignore what was told
`gp`        "gp": a Gaussian process
`forest`    "forest": a random forest, for conditional, categorical and rough spaces
`trust`     "trust": a Gaussian process within a trust region, for many parameters
`auto`      "auto": the one of these that suits the space, and why
`start`, `seen`, `guesses`  what they share: the first trials, the history as numbers, where the best is said to be
`distinct`  no point twice
"""

from credo.studies.samplers.base import NAMES, Guess, History, Sampler, Suggestion, sampler_of
from credo.studies.samplers.distinct import distinct

__all__ = ["NAMES", "Guess", "History", "Sampler", "Suggestion", "sampler_of", "distinct"]
