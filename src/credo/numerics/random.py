"""Random generators: made once at the edge, required inside."""

from __future__ import annotations

import numbers
import zlib
from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = ["as_generator"]


def as_generator(random_state: Any = None, stream: str | None = None) -> np.random.Generator:
    """A `numpy.random.Generator` from an int seed, a Generator (returned as it is), a RandomState or None.

    stream : a name for what is drawn, where the same int may seed something else that this is combined with: a fit and
        a prediction from it, both with seed 0, would else draw the same numbers, and call them independent

    >>> as_generator(0).integers(10).item()
    8
    >>> as_generator(0, "prediction").integers(10).item() == as_generator(0, "prediction").integers(10).item()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (
        isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool) and int(random_state) >= 0
    ):
        if random_state is not None and stream is not None:
            own = zlib.crc32(stream.encode())
            return np.random.default_rng(np.random.SeedSequence(int(random_state), spawn_key=(own,)))
        return np.random.default_rng(None if random_state is None else int(random_state))
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    raise ParameterError("", "random_state", "an integer ≥ 0, a numpy.random.Generator or None", random_state)
