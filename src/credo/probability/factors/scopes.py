"""Names and states of a table's axes: checked once, then lined up by name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = ["Name", "State", "aligned", "as_names", "checked_states", "places", "state_number"]

Name = Hashable
State = Hashable


def as_names(names: Any, owner: str = "Factor", parameter: str = "names") -> tuple[Name, ...]:
    """A tuple of distinct names; a string, or a number, is one name."""
    if isinstance(names, (str, int)):
        return (names,)
    try:
        found = tuple(names)
        distinct = len(set(found)) == len(found)
    except TypeError:
        raise ParameterError(owner, parameter, "a name or a sequence of hashable names", names) from None
    if not distinct:
        raise ParameterError(owner, parameter, "distinct", names)
    return found


def checked_states(names: tuple[Name, ...], shape: Sequence[int], states: Any) -> tuple[tuple[State, ...], ...]:
    """The states of each axis: given by name or in the order of the names; 0 … n − 1 where they are not given."""
    if states is None:
        given: list[Any] = [None] * len(names)
    elif isinstance(states, Mapping):
        if strangers := [name for name in states if name not in names]:
            raise ParameterError("Factor", "states", f"of the axes {list(names)}", strangers)
        given = [states.get(name) for name in names]
    else:
        given = list(states)
        if len(given) != len(names):
            raise ParameterError("Factor", "states", f"a sequence for each of the {len(names)} axes", states)
    found = []
    for name, size, own in zip(names, shape, given, strict=True):
        row = tuple(range(size)) if own is None else tuple(own)
        if len(row) != size or not all(isinstance(s, Hashable) for s in row) or len(set(row)) != size:
            raise ParameterError("Factor", f"states[{name!r}]", f"{size} distinct names, one an entry of the axis", own)
        found.append(row)
    return tuple(found)


def state_number(owner: str, name: Name, states: tuple[State, ...], state: Any) -> int:
    """Where a state is among those of its axis."""
    try:
        return states.index(state)
    except ValueError:
        raise ParameterError(
            owner, f"state of {name!r}", f"one of {list(states[:12])}{' …' if len(states) > 12 else ''}", state
        ) from None


def aligned(
    values: np.ndarray,
    names: tuple[Name, ...],
    states: tuple[tuple[State, ...], ...],
    onto: tuple[Name, ...],
    onto_states: tuple[tuple[State, ...], ...],
    batched: bool,
) -> np.ndarray:
    """A view of the table with one axis for each of `onto`, of length 1 where it has none; batch axis first.

    States in another order are put in order (a copy); other states are an error.
    """
    for name, own in zip(names, states, strict=True):
        other = onto_states[onto.index(name)]
        if own == other:
            continue
        if len(own) != len(other) or set(own) != set(other):
            raise ParameterError("Factor", f"states of {name!r}", f"{list(other)}, as in the other factor", list(own))
        values = np.take(values, [own.index(state) for state in other], axis=batched + names.index(name))
    order = sorted(range(len(names)), key=lambda axis: onto.index(names[axis]))
    values = values.transpose([0] * batched + [batched + axis for axis in order])
    index: list[Any] = [slice(None)] if batched else [None]
    index += [slice(None) if name in names else None for name in onto]
    return values[tuple(index)]


def places(names: tuple[Name, ...], wanted: Iterable[Name], owner: str, parameter: str) -> list[int]:
    """Axes of the wanted names."""
    found = as_names(wanted, owner, parameter)
    for name in found:
        if name not in names:
            raise ParameterError(owner, parameter, f"among the axes {list(names)}", name)
    return [names.index(name) for name in found]
