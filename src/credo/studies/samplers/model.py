"""`ModelSampler`, "auto": a Sobol design to begin with, then Bayesian optimisation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.acquisition import Grid, OneHot, State, propose
from credo.design.spaces import Space
from credo.studies.samplers.base import History, Suggestion
from credo.studies.samplers.designs import SobolSampler

__all__ = ["ModelSampler", "kinds_of"]

# A grid of more levels than this is treated as continuous and rounded: the model cannot tell the difference.
MOST_LEVELS = 256
# Points drawn when a proposal breaks the space's constraints, which the model does not know.
SUBSTITUTES = 512


def kinds_of(space: Space) -> list[Grid | OneHot]:
    """Which coordinates of the space's encoding are not continuous."""
    kinds: list[Grid | OneHot] = []
    start = 0
    for parameter in space.parameters.values():
        if parameter.kind == "categorical":
            kinds.append(OneHot(tuple(range(start, start + parameter.width))))
        elif parameter.width and parameter.count <= MOST_LEVELS:
            values = (
                parameter.choices if hasattr(parameter, "choices") else range(parameter.low, parameter.high + 1)  # type: ignore[attr-defined]
            )
            kinds.append(Grid(start, tuple(parameter.to_unit(list(values))[:, 0].tolist())))
        start += parameter.width
    return kinds


class ModelSampler:
    """Sobol points until max(5, 2 d) trials are told (d parameters that are not constant), then `propose`.

    A failed trial enters with the worst value told so far: the model then stays away from where trials crash, by no
    more than it stays away from bad values. Trials outside a space narrowed since are left out.
    """

    def __init__(self) -> None:
        self._design = SobolSampler()

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion:
        """The point whose trial is worth most, pending ones considered."""
        free = sum(parameter.width > 0 for parameter in space.parameters.values())
        told = [i for i, point in enumerate(history.points) if space.contains(point)]
        if free == 0 or len(told) < max(5, 2 * free):
            return self._design.propose(space, history, pending, rng)
        values = np.asarray(history.values)[told]
        points = [history.points[i] for i in told]
        failed = [point for point in history.failed if space.contains(point)]
        X = space.encode([*points, *failed]).X
        y = np.concatenate([values, np.full(len(failed), values.max())])
        waiting = [point for point in pending if space.contains(point)]
        found = propose(
            X,
            y,
            pending=space.encode(waiting).X if waiting else None,
            kinds=kinds_of(space),
            noisy=history.noisy,
            rng=rng,
            state=_state(history.memory),
        )
        why: dict[str, Any] = {"method": found.method, "reason": found.reason}
        for name in ("mean", "sd", "exploitation", "exploration"):
            value = float(getattr(found, name)[0])
            why[name] = value if math.isfinite(value) else None
        (params,) = space.decode(found.points[:1])
        if not space.feasible(params):
            params = _nearest(space, found.points[0], rng)
            why["replaced"] = "the point broke a constraint: the nearest that does not"
        return Suggestion(params, why, dataclasses.asdict(found.state))


def _state(memory: Any) -> State | None:
    if not memory:
        return None
    constraints = tuple(tuple(theta) for theta in memory["constraints"])
    return State(tuple(memory["theta"]), memory["n"], constraints)


def _nearest(space: Space, x: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """A feasible point near coordinates x: feasible draws, moved towards x by halves while they stay feasible."""
    points = space.sample(SUBSTITUTES, rng)
    X = space.encode(points).X
    for i in np.argsort(np.sum((X - x) ** 2, axis=1), kind="stable")[:8].tolist():
        step = 0.5
        for _ in range(12):
            (moved,) = space.decode(X[i] + step * (x - X[i]))
            if space.feasible(moved):
                X[i] += step * (x - X[i])
                points[i] = moved
            else:
                step /= 2
    return points[int(np.argmin(np.sum((space.encode(points).X - x) ** 2, axis=1)))]
