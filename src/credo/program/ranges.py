"""Laws restricted by `low=` and `high=`, and the ranges of latent nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo.distributions import Flat, Truncated
from credo.distributions.base import Family
from credo.distributions.support import Support
from credo.errors import ParameterError
from credo.program.nodes import Node

__all__ = ["restricted", "support_of"]


def restricted(law: Any, low: float | None, high: float | None) -> Any:
    """The law between two values; a flat one stays, as do laws that are between them anyway."""
    if not isinstance(law, Family) or isinstance(law, Flat):
        return law
    support = law.support
    if (low is None or np.all(support.low >= low)) and (high is None or np.all(support.high <= high)):
        return law
    return Truncated(law, -np.inf if low is None else low, np.inf if high is None else high)


def support_of(name: str, law: Family, low: float | None, high: float | None) -> Support:
    """The range of a latent node: its law's, restricted."""
    if any(isinstance(v, Node) for v in law.parameters.values()) and type(law).__name__ in (
        "Uniform",
        "Truncated",
        "Pareto",
    ):
        raise ParameterError("Model", f"law of {name}", "one whose range does not depend on other nodes", law,
                             "Scale a standard one: u = latent(Uniform(0, 1)); x = a + (b - a) * u.")  # fmt: skip
    support = law.support
    if low is not None or high is not None:
        if not (low is None or high is None or low < high):
            raise ParameterError("Model", f"low of {name}", "below high", (low, high))
        support = replace(support, low=support.low if low is None else max(support.low, low),
                          high=support.high if high is None else min(support.high, high))  # fmt: skip
    return support
