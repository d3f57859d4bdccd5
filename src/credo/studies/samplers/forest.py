"""`ForestSampler`, "forest": a design to begin with, then what a random forest says is worth most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.forest import propose_by_forest
from credo.design.spaces import Space
from credo.errors import UnavailableError
from credo.studies.samplers.base import History, Suggestion
from credo.studies.samplers.guesses import Guessed
from credo.studies.samplers.seen import design_size, free_parameters, seen, shown
from credo.studies.samplers.start import Start

__all__ = ["ForestSampler"]

# One trial in so many is at random: where trees have no trials they agree too much to ask.
RANDOM = 10
# Of the weighted sum by which two objectives become one, the share of the sum beside the larger (Knowles 2006).
SUM = 0.05


class ForestSampler:
    """Sobol points and guesses until max(5, 2 d) trials are told, then `propose_by_forest`; one trial in ten is at
    random. Two objectives are weighed anew each time (ParEGO: Knowles 2006, IEEE Trans. Evolutionary Computation 10).
    """

    def __init__(self) -> None:
        self._start = Start()

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion:
        """The point whose trial is worth most, pending ones considered."""
        data = seen(space, history, pending)
        if not free_parameters(space) or data.told < design_size(space):
            return self._start.propose(space, history, pending, rng)
        if rng.random() < 1.0 / RANDOM:
            why = {"method": "forest", "acquisition": "random", "reason": "one in ten, where trees know nothing"}
            return Suggestion(space.sample(1, rng)[0], why)
        guessed = Guessed(space, history.guesses, data.told)
        values = data.values if data.values.ndim == 1 else _weighed(data.values, rng)
        try:
            found = propose_by_forest(
                space, data.points, values, pending=data.waiting, noisy=history.noisy, constraints=data.constraints,
                prior=guessed.of_points if guessed else None, rng=rng,
            )  # fmt: skip
        except UnavailableError:  # few points are left: whoever keeps trials distinct lists them
            return Suggestion(space.sample(1, rng)[0], {"method": "forest", "reason": "no new point was found"})
        why = {"method": "forest", "acquisition": found.method, "reason": found.reason, **shown(found)}
        why |= {"within": float(found.within[0]), "between": float(found.between[0])}
        if data.values.ndim == 2:
            why["reason"] = "two objectives, weighed at random each time"
        return Suggestion(found.points[0], why)


def _weighed(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n,) of (n, 2): max_k w_k y_k + .05 Σ w_k y_k of objectives scaled to [0, 1], at weights drawn."""
    low, high = values.min(axis=0), values.max(axis=0)
    first = rng.random()
    parts = np.array([first, 1.0 - first]) * (values - low) / np.where(high > low, high - low, 1.0)
    return parts.max(axis=1) + SUM * parts.sum(axis=1)
