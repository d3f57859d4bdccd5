"""`Seen`: the history as models take it: trials outside a space narrowed since left out, failed ones made numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.studies.samplers.base import History

__all__ = ["Seen", "design_size", "free_parameters", "seen", "shown"]

# Trials before a model is asked: two a parameter up to ten parameters, then one more for each.
LEAST, KNEE = 5, 10


@dataclass(frozen=True, eq=False)
class Seen:
    """points, values (n,) or (n, 2), constraints (n, k) or None : told trials, then failed ones with the worst value
    and constraints told; waiting : pending points; told : how many of them were told"""

    points: list[Mapping[str, Any]]
    values: np.ndarray
    constraints: np.ndarray | None
    waiting: list[Mapping[str, Any]]
    told: int


def free_parameters(space: Space) -> int:
    """How many parameters are not constant."""
    return sum(parameter.width > 0 for parameter in space.parameters.values())


def design_size(space: Space) -> int:
    """How many trials are told before a model is asked."""
    free = free_parameters(space)
    return max(LEAST, min(2 * free, free + KNEE))


def seen(space: Space, history: History, pending: Sequence[Mapping[str, Any]]) -> Seen:
    """A failed trial has the worst value told so far: a model then stays away from where trials crash, by no more than
    it stays away from bad values."""
    kept = [i for i, point in enumerate(history.points) if space.contains(point)]
    failed = [point for point in history.failed if space.contains(point)] if kept else []
    values = np.asarray(history.values, dtype=np.float64)[kept]
    limits = None if history.constraints is None else np.asarray(history.constraints, dtype=np.float64)[kept]
    if failed:
        values = np.concatenate([values, np.repeat(values.max(axis=0, keepdims=True), len(failed), axis=0)])
        if limits is not None:
            limits = np.concatenate([limits, np.repeat(limits.max(axis=0, keepdims=True), len(failed), axis=0)])
    waiting = [point for point in pending if space.contains(point)]
    return Seen([*(history.points[i] for i in kept), *failed], values, limits, waiting, len(kept))


def shown(proposal: Any) -> dict[str, Any]:
    """What a proposal of one point says of it, as JSON data."""
    why: dict[str, Any] = {}
    for name in ("mean", "sd", "exploitation", "exploration", "feasibility"):
        given = getattr(proposal, name, None)
        if given is None:
            continue
        value = np.asarray(given, dtype=np.float64)[0]
        if value.ndim:
            why[name] = [float(part) if math.isfinite(part) else None for part in value]
        else:
            why[name] = float(value) if math.isfinite(value) else None
    return why
