"""Names, states and limits that a user gives, checked under the decision network's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import ParameterError, ZeroProbabilityError
from credo.models.network import findings
from credo.probability.factors import FactorGraph

__all__ = ["OWNER", "checked_limit", "impossible", "known_node", "known_state", "names_in"]

OWNER = "DecisionNetwork"


def known_node(states: Mapping[str, tuple[Any, ...]], node: Any, parameter: str = "node") -> str:
    """The name itself, or an error that names those like it."""
    try:
        return findings.known_node(states, node, parameter)
    except ParameterError as error:
        raise ParameterError(OWNER, error.parameter, error.constraint, error.value, error.remedy) from None


def known_state(own: tuple[Any, ...], node: str, state: Any, parameter: str) -> int:
    """The state's number, or an error that names those like it."""
    try:
        return findings.known_state(own, node, state, parameter)
    except ParameterError as error:
        raise ParameterError(OWNER, error.parameter, error.constraint, error.value, error.remedy) from None


def impossible(graph: FactorGraph, evidence: Mapping[str, Any]) -> ZeroProbabilityError:
    """The error for evidence that cannot be, with the findings that exclude each other."""
    found = findings.conflicting(graph, evidence, {})
    said = ", ".join(f"{node}={seen!r}" for node, seen in found.items())
    return ZeroProbabilityError(
        f"{OWNER}: P(evidence) = 0: {said} cannot be.", value=found, remedy="Leave out or correct one of them."
    )


def checked_limit(limit: Any) -> int:
    """A number of bytes."""
    if isinstance(limit, bool) or not isinstance(limit, (int, float, np.integer)) or not limit > 0:
        raise ParameterError(OWNER, "memory_limit", "a number of bytes > 0", limit)
    return int(limit)


def names_in(given: Any, parameter: str) -> list[str]:
    """A name or several, each once."""
    try:
        found = [given] if isinstance(given, str) else list(dict.fromkeys(given))
    except TypeError:
        raise ParameterError(OWNER, parameter, "a name or several", given) from None
    return found
