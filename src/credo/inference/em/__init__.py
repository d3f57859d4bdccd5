"""Expectation–maximisation, written once: the engine knows no model.

`model`         what the engine asks of a model, and how statistics of any shape merge
`engine`        `em`: passes, the rise of the bound checked, when to stop, what to say about it
`acceleration`  SQUAREM's jumps, guarded by the bound
`starts`        several starts and the best of them; annealing from a flattened E-step
`online`        `OnlineEM`: one block at a time, for `partial_fit` and for streams
"""

from credo.inference.em.acceleration import Squarem
from credo.inference.em.engine import EMFit, em
from credo.inference.em.model import EMModel, merge, scaled
from credo.inference.em.online import OnlineEM
from credo.inference.em.starts import anneal, best_of

__all__ = ["em", "EMFit", "EMModel", "best_of", "anneal", "OnlineEM", "Squarem", "merge", "scaled"]
