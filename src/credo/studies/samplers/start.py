"""`Start`: the first trials of a study: a Sobol design, and what was guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.studies.samplers.base import History, Suggestion
from credo.studies.samplers.designs import SobolSampler
from credo.studies.samplers.guesses import Guessed

__all__ = ["Start"]


class Start:
    """The guesses themselves, then by turns a point near a guess and the next of a Sobol sequence."""

    def __init__(self) -> None:
        self._design = SobolSampler()

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion:
        """The point of trial `history.index`."""
        guessed = Guessed(space, history.guesses)
        if guessed:
            first = len(guessed.guesses)
            asked = {space.key(point) for point in [*history.points, *history.failed, *pending]}
            for number in range(first):
                point = guessed.draw(number, np.random.default_rng([history.seed, number]))
                if point is not None and space.key(point) not in asked:
                    return Suggestion(point, {"method": "guess", "reason": "it was said to be near the best"})
            if history.index % 2:
                point = guessed.draw(first + history.index // 2, rng)
                if point is not None:
                    return Suggestion(point, {"method": "guess", "reason": "near what was said to be near the best"})
        return self._design.propose(space, history, pending, rng)
