"""What users pass as trials, values, directions and seeds, as plain Python data."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.numerics.random import as_generator
from credo.studies.trial import Trial

__all__ = [
    "answer_of",
    "constraints_of",
    "direction_of",
    "in_own_units",
    "number_of",
    "plain_data",
    "seed_of",
    "signs_of",
    "step_of",
    "trial_number",
    "values_of",
]


def trial_number(trial: Trial | int) -> int:
    """The number of a trial."""
    if isinstance(trial, Trial):
        return trial.id
    if isinstance(trial, bool) or not isinstance(trial, numbers.Integral):
        raise ParameterError("Study", "trial", "a Trial or its number", trial)
    return int(trial)


def number_of(value: Any, name: str = "value") -> float:
    """A number as a float; an array of one value counts."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ParameterError("Study", name, "a number", value)
    try:
        return float(value)
    except OverflowError:  # an integer beyond any float
        return math.inf if value > 0.0 else -math.inf  # type: ignore[operator]


def values_of(value: Any, n: int) -> tuple[float, ...]:
    """What was told of a trial of n objectives."""
    if n == 1:
        return (number_of(value),)
    listed = _listed(value)
    if listed is None or len(listed) != n:
        raise ParameterError("Study", "value", f"{n} numbers, in the order of direction", value)
    return tuple(number_of(each) for each in listed)


def constraints_of(given: Any) -> tuple[float, ...]:
    """What was told of the constraints: None, a number or numbers."""
    if given is None:
        return ()
    listed = _listed(given)
    return tuple(number_of(each, "constraints") for each in ([given] if listed is None else listed))


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim == 1 else None
    return list(value) if isinstance(value, (list, tuple)) else None


def answer_of(returned: Any) -> tuple[Any, Any]:
    """Value and constraints from what an objective returns: the value, or a mapping of both."""
    if not isinstance(returned, Mapping):
        return returned, None
    if "value" not in returned or not set(returned) <= {"value", "constraints"}:
        raise ParameterError("Study", "value", "a number, or a mapping of 'value' and 'constraints'", dict(returned))
    return returned["value"], returned.get("constraints")


def step_of(step: Any) -> int:
    """The step of an intermediate value."""
    if isinstance(step, bool) or not isinstance(step, numbers.Integral) or int(step) < 0:
        raise ParameterError("Study", "step", "an integer ≥ 0", step)
    return int(step)


def direction_of(given: Any) -> str | tuple[str, str]:
    """One direction, or the two of a study with two objectives."""
    known = ("minimize", "maximize")
    if isinstance(given, str) and given in known:
        return given
    if isinstance(given, (list, tuple)) and len(given) == 2 and all(isinstance(d, str) and d in known for d in given):
        return given[0], given[1]
    raise ParameterError("Study", "direction", "'minimize' or 'maximize', or a pair of them for two objectives", given)


def signs_of(direction: str | Sequence[str]) -> tuple[float, ...]:
    """1 for each objective that is minimised, −1 for each that is maximised."""
    return tuple(
        1.0 if each == "minimize" else -1.0 for each in ([direction] if isinstance(direction, str) else direction)
    )


def in_own_units(why: Mapping[str, Any], signs: Sequence[float]) -> dict[str, Any]:
    """What a sampler, to which lower is better, says of a point, its mean as the objective has it."""
    mean = why.get("mean")
    if -1.0 not in signs or "sd" not in why:
        return dict(why)
    if isinstance(mean, (list, tuple)) and len(mean) == len(signs):
        return {**why, "mean": [m if m is None else s * m for s, m in zip(signs, mean)]}
    return {**why, "mean": signs[0] * mean} if isinstance(mean, (int, float)) and len(signs) == 1 else dict(why)


def seed_of(random_state: Any) -> int:
    """A seed that every JSON reader keeps."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return int(random_state)
    return int(as_generator(random_state).integers(2**53))


def plain_data(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numpy's scalars, arrays and tuples as JSON data."""

    def convert(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.tolist()
        return [convert(item) for item in value] if isinstance(value, (list, tuple)) else value

    return {name: convert(value) for name, value in values.items()}
