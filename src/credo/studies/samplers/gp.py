"""`GPSampler`, "gp": a design to begin with, then what a Gaussian process says is worth most."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.acquisition import ACQUISITIONS, Grid, OneHot, State, propose
from credo.design.spaces import Space
from credo.design.surrogates.cube import Conditional
from credo.errors import ParameterError
from credo.studies.samplers.base import History, Suggestion
from credo.studies.samplers.guesses import Guessed
from credo.studies.samplers.seen import Seen, design_size, free_parameters, seen, shown
from credo.studies.samplers.start import Start

__all__ = ["GPSampler", "kinds_of", "known_state", "settled"]

# A grid of more levels than this is treated as continuous and rounded: the model cannot tell the difference.
MOST_LEVELS = 256
# Points drawn when a proposal breaks the space's constraints, which the model does not know.
SUBSTITUTES = 512


def kinds_of(space: Space) -> list[Grid | OneHot | Conditional]:
    """Which coordinates of the space's encoding are not continuous, and which only sometimes matter."""
    kinds: list[Grid | OneHot | Conditional] = []
    start, sometimes = 0, {}
    for name, parameter in space.parameters.items():
        if parameter.when is not None:
            sometimes[name] = slice(start, start + parameter.width)
        if parameter.kind == "categorical":
            kinds.append(OneHot(tuple(range(start, start + parameter.width))))
        elif parameter.width and parameter.count <= MOST_LEVELS:
            values = (
                parameter.choices if hasattr(parameter, "choices") else range(parameter.low, parameter.high + 1)  # type: ignore
            )
            kinds.append(Grid(start, tuple(parameter.to_unit(list(values))[:, 0].tolist())))
        start += parameter.width
    if sometimes:
        kinds.append(Conditional(lambda X: _matter(space, sometimes, X)))
    return kinds


def _matter(space: Space, sometimes: Mapping[str, slice], X: np.ndarray) -> np.ndarray:
    """Which coordinates (m, d) matter at X (m, d): those of parameters that are not among `sometimes`, and theirs where
    the points have them."""
    points = space.decode(X)
    matter = np.ones(X.shape, dtype=bool)
    for name, columns in sometimes.items():
        matter[:, columns] = np.array([name in point for point in points])[:, None]
    return matter


class GPSampler:
    """Sobol points and guesses until max(5, 2 d) trials are told (d parameters that are not constant; d + 10 if more
    than ten), then `propose`, or `propose_front` where trials have two values.

    acquisition, warp, warp_inputs : as of `propose`; of two objectives, `warp` alone counts, and None is for what each
        of the two has as its default

    >>> import credo as cr
    >>> bent = cr.Study(cr.Space(x=cr.Real(0, 1)), sampler=GPSampler(warp_inputs=True), random_state=0)
    >>> abs(bent.optimize(lambda p: (p["x"] - 0.02) ** 2, 12).best["x"] - 0.02) < 0.01
    True
    """

    def __init__(self, *, acquisition: str = "auto", warp: bool | None = None, warp_inputs: bool = False) -> None:
        for name, value in (("warp", warp), ("warp_inputs", warp_inputs)):
            if not (isinstance(value, bool) or (name == "warp" and value is None)):
                raise ParameterError("GPSampler", name, "True or False", value)
        if acquisition not in ACQUISITIONS:
            raise ParameterError("GPSampler", "acquisition", f"one of {ACQUISITIONS}", acquisition)
        self._start = Start()
        self.acquisition, self.warp, self.warp_inputs = acquisition, warp, warp_inputs

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion:
        """The point whose trial is worth most, pending ones considered."""
        data = seen(space, history, pending)
        if not free_parameters(space) or data.told < design_size(space):
            return self._start.propose(space, history, pending, rng)
        found = self._found(space, history, data, rng)
        why = {"method": "gp", "acquisition": found.method, "reason": found.reason, **shown(found)}
        return settled(space, found.points[0], why, dataclasses.asdict(found.state), rng)

    def _found(self, space: Space, history: History, data: Seen, rng: np.random.Generator) -> Any:
        options = arguments(space, history, data, rng)
        X = space.encode(data.points).X
        options |= {} if self.warp is None else {"warp": self.warp}
        if data.values.ndim == 2:
            from credo.design.fronts import propose_front  # only where there are two objectives

            return propose_front(X, data.values, **options)
        return propose(X, data.values, acquisition=self.acquisition, warp_inputs=self.warp_inputs, **options)


def arguments(space: Space, history: History, data: Seen, rng: np.random.Generator) -> dict[str, Any]:
    """What `propose` is given beside points and values."""
    options: dict[str, Any] = {
        "pending": space.encode(data.waiting).X if data.waiting else None,
        "kinds": kinds_of(space),
        "noisy": history.noisy,
        "constraints": data.constraints,
        "rng": rng,
        "state": known_state(history.memory),
    }
    guessed = Guessed(space, history.guesses, data.told)
    return options | ({"prior": guessed} if guessed else {})


def known_state(memory: Any) -> State | None:
    """The hyperparameters that the last suggestion left; None if another kind of sampler left it."""
    try:
        constraints = tuple(tuple(theta) for theta in memory["constraints"])
        return State(tuple(float(number) for number in memory["theta"]), int(memory["n"]), constraints)
    except (TypeError, KeyError, ValueError):
        return None


def settled(space: Space, x: np.ndarray, why: dict[str, Any], memory: Any, rng: np.random.Generator) -> Suggestion:
    """The suggestion at coordinates x, or at the nearest that breaks no constraint."""
    (params,) = space.decode(x[None])
    if not space.feasible(params):
        params = _nearest(space, x, rng)
        why["replaced"] = "the point broke a constraint: the nearest that does not"
    return Suggestion(params, why, memory)


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
