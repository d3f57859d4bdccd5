"""Random generators: made once at the edge, required inside."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = ["as_generator"]


def as_generator(random_state: Any = None) -> np.random.Generator:
    """A `numpy.random.Generator` from an int seed, a Generator (returned as it is), a RandomState or None.

    >>> as_generator(0).integers(10).item()
    8
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (
        isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool) and int(random_state) >= 0
    ):
        return np.random.default_rng(None if random_state is None else int(random_state))
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    raise ParameterError("", "random_state", "an integer ≥ 0, a numpy.random.Generator or None", random_state)
