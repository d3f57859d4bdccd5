"""What to ask next: pure functions of space, history, pending points and rng.

`base`      `Sampler`, the protocol; `History`, `Suggestion`
`designs`   "sobol" and "random": points that ignore what was told
`model`     "auto": a design to begin with, then the point a Gaussian process thinks worth most
`distinct`  no point twice
"""

from credo.studies.samplers.base import History, Sampler, Suggestion, sampler_of
from credo.studies.samplers.distinct import distinct

__all__ = ["History", "Sampler", "Suggestion", "sampler_of", "distinct"]
