"""What users pass as trials, values and seeds, as plain Python data."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.numerics.random import as_generator
from credo.studies.trial import Trial

__all__ = ["number_of", "plain_data", "seed_of", "trial_number"]


def trial_number(trial: Trial | int) -> int:
    """The number of a trial."""
    if isinstance(trial, Trial):
        return trial.id
    if isinstance(trial, bool) or not isinstance(trial, numbers.Integral):
        raise ParameterError("Study", "trial", "a Trial or its number", trial)
    return int(trial)


def number_of(value: Any) -> float:
    """A number as a float; an array of one value counts."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ParameterError("Study", "value", "a number", value)
    return float(value)


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
