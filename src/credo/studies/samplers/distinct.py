"""No point twice: a proposal that was tried before gives way to one that was not."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.errors import ParameterError
from credo.studies.samplers.base import Suggestion

__all__ = ["distinct", "untried"]

# Below this a finite space is listed, and its untried points are known; above, random points are untried soon enough.
MOST_LISTED = 20_000
TRIES = 200


def untried(space: Space, tried: Set[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """The points of a finite space that are not among `tried`; `ParameterError` if it is too large to list."""
    return [point for point in space.points(max(MOST_LISTED, len(tried))) if space.key(point) not in tried]


def distinct(
    space: Space, tried: Set[tuple[Any, ...]], proposed: Suggestion, rng: np.random.Generator
) -> Suggestion | None:
    """The suggestion itself if it is new, else one near at random among new points; None if every point was tried."""
    if space.key(proposed.params) not in tried:
        return proposed
    why = {**proposed.why, "replaced": "this point was tried before"}
    if space.size > MOST_LISTED:
        for point in space.sample(TRIES, rng):
            if space.key(point) not in tried:
                return Suggestion(point, why, proposed.memory)
    try:
        new = untried(space, tried)
    except ParameterError:  # too large to list, and 200 random points were all tried: almost nothing is left
        return None
    if not new:
        return None
    near = min(new, key=lambda point: (space.distance(point, proposed.params), rng.random()))
    return Suggestion(near, why, proposed.memory)
