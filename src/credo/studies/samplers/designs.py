"""Samplers that do not learn: the next point of a Sobol sequence, or a random one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.design.spaces.drawing import SobolStream
from credo.studies.samplers.base import History, Suggestion

__all__ = ["RandomSampler", "SobolSampler"]


class RandomSampler:
    """Uniform points."""

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion:
        """A point that satisfies the constraints, uniform among those."""
        return Suggestion(space.sample(1, rng)[0], {"method": "random"})


class SobolSampler:
    """Trial i is the i-th feasible point of one scrambled Sobol sequence, so workers fill the space together."""

    def __init__(self) -> None:
        # The stream so far, so that trial i costs one point and not i: a memo, the answer does not depend on it.
        self._memo: tuple[Space, int, SobolStream, list[dict[str, Any]]] | None = None

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion:
        """The point of trial `history.index`."""
        memo = self._memo
        if memo is None or memo[0] is not space or memo[1] != history.seed:
            memo = (space, history.seed, SobolStream(space, np.random.default_rng(history.seed)), [])
            self._memo = memo
        stream, points = memo[2:]
        if history.index >= len(points):
            points += stream.take(max(history.index + 1 - len(points), 16))
        return Suggestion(points[history.index], {"method": "sobol"})
