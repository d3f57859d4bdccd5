"""`Choices`: what `Categorical([…])` holds when the list names choices of a search space instead of probabilities."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import UnavailableError, shown

__all__ = ["Choices", "are_choices"]


@dataclass(frozen=True)
class Choices:
    """Named alternatives without probabilities, for a parameter of a `Space`.

    >>> from credo.distributions import Categorical
    >>> Categorical(["rbf", "linear"])
    Choices(choices=('rbf', 'linear'), when=None)
    """

    choices: tuple[Any, ...]
    when: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnavailableError(
            f"Categorical.{name}: {shown(list(self.choices))} names choices of a Space, not probabilities.",
            value=self.choices,
            remedy="A distribution needs probabilities that sum to 1.",
        )


def are_choices(p: Any) -> bool:
    """Whether a list holds text, booleans, None or whole numbers that are no probability vector."""
    if not isinstance(p, (list, tuple)) or not p:
        return False
    if any(isinstance(value, (str, bool, np.bool_)) or value is None for value in p):
        return True
    return all(isinstance(value, numbers.Integral) for value in p) and not (min(p) >= 0 and sum(p) == 1)
