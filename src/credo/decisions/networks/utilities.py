"""A utility as an array over the states of its parents, from what a user writes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from credo.decisions.networks.names import OWNER
from credo.errors import ParameterError
from credo.models.network.tables import table_size

__all__ = ["utility_table"]


def utility_table(name: str, given: Any, parents: Mapping[str, tuple[Any, ...]]) -> np.ndarray:
    """(\\*parents' states), finite, from an array, a dict (nested or keyed by tuples), a function, or a number."""
    where = f"utilities[{name!r}]"
    shape = tuple(len(states) for states in parents.values())
    table_size(name, parents, (None,))
    if callable(given):
        try:
            cells = [given(**dict(zip(parents, states, strict=True))) for states in product(*parents.values())]
        except TypeError as error:
            said = f"a function of {', '.join(parents)} by name"
            raise ParameterError(OWNER, where, said, str(error)) from error
        table = _floats(where, cells, given).reshape(shape)
    elif isinstance(given, Mapping):
        table = np.empty(shape)
        found = _gathered(where, given, list(parents.items()), ())
        for place, states in zip(np.ndindex(*shape), product(*parents.values()), strict=True):
            if states not in found:
                raise ParameterError(OWNER, where, "a number for all states of the parents", f"none for {states}")
            table[place] = _floats(where, found[states], found[states])
    else:
        table = _floats(where, given, given)
    if table.shape != shape:
        said = ", ".join(f"{len(states)} of {parent}" for parent, states in parents.items()) or "no parents"
        raise ParameterError(OWNER, where, f"of shape {shape} (states: {said})", table.shape)
    if not np.all(np.isfinite(table)):
        raise ParameterError(OWNER, where, "finite", given, "An option that must not be taken is no option.")
    table.flags.writeable = False
    return table


def _floats(where: str, cells: Any, given: Any) -> np.ndarray:
    try:
        return np.array(cells, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(OWNER, where, "numbers: an array, a dict, or a function", given) from None


def _gathered(where: str, given: Any, axes: list[tuple[str, tuple[Any, ...]]], key: tuple[Any, ...]) -> dict[Any, Any]:
    """{tuple of all states: number}, down the levels; a level is keyed by one parent's states or by tuples of all."""
    if not axes:
        return {key: given}
    if not isinstance(given, Mapping):
        raise ParameterError(OWNER, where, f"a dict keyed by the states of {axes[0][0]}", given)
    found: dict[Any, Any] = {}
    for state, below in given.items():
        if state in axes[0][1]:
            found |= _gathered(where, below, axes[1:], (*key, state))
        elif isinstance(state, tuple) and len(state) == len(axes):
            for one, (parent, states) in zip(state, axes, strict=True):
                if one not in states:
                    raise ParameterError(OWNER, where, f"keyed by states of {parent}: {list(states)}", one)
            found[(*key, *state)] = below
        else:
            raise ParameterError(OWNER, where, f"keyed by states of {axes[0][0]}: {list(axes[0][1])}", state)
    return found
