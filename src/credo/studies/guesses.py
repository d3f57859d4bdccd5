"""Smaller spaces in mid-study; guesses where the best is, and what is left of one when the space is narrowed."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.design.spaces.parameters import Parameter
from credo.errors import ParameterError
from credo.studies.samplers.base import Guess

__all__ = ["checked_guess", "narrowed_guess", "smaller_space"]


def smaller_space(space: Space, data: Mapping[str, Any]) -> Space:
    """The space after an event "narrowed"; `ParameterError` if it is not smaller, or if no point of it satisfies the
    constraints: a study could not go on, and there is no way back."""
    smaller = space.narrowed(data.get("ranges") or {}).fixed(data.get("fixed") or {})
    if smaller.constraints:
        smaller.sample(1, np.random.default_rng(0))
    return smaller


def checked_guess(space: Space, params: Any, sd: Any) -> dict[str, Any]:
    """The data of an event "guessed", or a `ParameterError`."""
    if not isinstance(params, Mapping) or not params:
        raise ParameterError("Study.near", "params", "a mapping of some parameters to values", params)
    point: dict[str, Any] = {}
    for name, value in params.items():
        parameter = space.parameters.get(name)
        if parameter is None:
            raise ParameterError("Study.near", "params", f"of the parameters {list(space.names)}", name)
        if not parameter.contains(value):
            raise ParameterError("Study.near", name, f"in {parameter!r}", value)
        point[name] = parameter.normal(value)
    given: Mapping[Any, Any] = sd if isinstance(sd, Mapping) else {name: sd for name in point}  # noqa: C420
    if set(given) != set(point):
        raise ParameterError("Study.near", "sd", f"a number, or one for each of {list(point)}", dict(given))
    for value in given.values():
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < math.inf:
            raise ParameterError("Study.near", "sd", "a share of the range, > 0", value)
    return {"params": point, "sd": {name: float(given[name]) for name in point}}


def narrowed_guess(guess: Guess, before: Space, after: Space) -> Guess | None:
    """The guess in a smaller space: an sd is a share of the range, so it grows as the range shrinks. Parameters that
    are held fixed, or may no longer take the guessed value, leave the guess; None if none is left."""
    params, sd = {}, {}
    for name, value in guess.params.items():
        old, new = before.parameters[name], after.parameters[name]
        if new.kind == "constant" or not new.contains(value):
            continue
        params[name], sd[name] = value, guess.sd[name] * _growth(old, new)
    return Guess(params, sd) if params else None


def _growth(old: Parameter, new: Parameter) -> float:
    """By how much a share of the old range is more of the new one."""
    ends = [new.low, new.high] if hasattr(new, "low") else list(getattr(new, "choices", ()))  # type: ignore[attr-defined]
    if new.kind == "categorical" or len(ends) < 2:
        return 1.0
    return new.gap(ends[0], ends[-1]) / old.gap(ends[0], ends[-1])
