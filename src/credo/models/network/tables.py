"""A node's conditional table: from what a user writes to a checked array, parents' states × the node's states."""

from __future__ import annotations

import difflib
import math
from collections.abc import Hashable, Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = [
    "ROW_TOLERANCE",
    "MAX_PARENTS",
    "MAX_CELLS",
    "known_states",
    "first_repeated",
    "table_size",
    "checked_table",
    "table_of",
]

#: What printing rounds off: tables of public networks are printed to 3–7 digits, and their worst rows are off by 3e-7.
ROW_TOLERANCE = 1e-5

#: NumPy's arrays have up to 32 axes everywhere (64 from version 2 on), and one is the node's own.
MAX_PARENTS = 31

#: Of tables that are not given as an array: 1 GB.
MAX_CELLS = 1 << 27

_OWNER = "NetworkDefinition"


def known_states(node: str, states: Any) -> tuple[Any, ...]:
    """The states as a tuple: at least one, hashable, all different, none of them a missing cell."""
    where = f"states[{node!r}]"
    if isinstance(states, (str, bytes)) or not isinstance(states, Iterable):
        raise ParameterError(_OWNER, where, "a sequence of states", states)
    states = tuple(state.item() if isinstance(state, np.generic) else state for state in states)
    if not states:
        raise ParameterError(_OWNER, where, "at least one state", states)
    for state in states:
        if not isinstance(state, Hashable):
            raise ParameterError(_OWNER, where, "hashable", state)
        if state is None or state != state:
            raise ParameterError(_OWNER, where, "values", state, "None and NaN stand for a missing cell.")
    if len(set(states)) < len(states):
        twice = first_repeated(states)
        raise ParameterError(_OWNER, where, "all different", twice, "Python takes 1, 1.0 and True as equal.")
    return states


def first_repeated(values: Iterable[Hashable]) -> Any:
    """The first that came before; in one pass, for lists of any length."""
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def checked_table(
    node: str, table: Any, parents: Mapping[str, tuple[Any, ...]], states: tuple[Any, ...], normalise: bool = False
) -> np.ndarray:
    """A read-only float64 copy with rows that sum to 1, of shape (\\*parents' states, states).

    Rows off 1 by rounding alone stay as they are, so that a table read twice is the same table.
    """
    where = f"tables[{node!r}]"
    try:
        table = np.array(table, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ParameterError(_OWNER, where, "an array of numbers", table) from error
    shape = (*(len(values) for values in parents.values()), len(states))
    if table.shape != shape:
        said = ", ".join([*(f"{len(values)} of {parent}" for parent, values in parents.items()), f"{len(states)} own"])
        raise ParameterError(_OWNER, where, f"of shape {shape} (states: {said})", table.shape)
    sums = table.sum(axis=-1)
    off = np.abs(sums - 1.0)
    worst = off.max()
    if not (table.min() >= 0.0 and (worst <= ROW_TOLERANCE or (normalise and np.isfinite(worst)))):
        _refuse_row(where, table, sums, off, parents)
    if worst > len(states) * np.finfo(float).eps:
        _normalise(where, table, sums, off, parents)
    table.flags.writeable = False
    return table


def _refuse_row(where: str, table: np.ndarray, sums: np.ndarray, off: np.ndarray, parents: Mapping[str, Any]) -> None:
    """The error for the first row that is none."""
    wrong = ~((table >= 0.0) & np.isfinite(table))
    if wrong.any():
        bad = np.argwhere(wrong)[0]
        raise ParameterError(_OWNER, where, f"finite and ≥ 0{_row(bad[:-1], parents)}", float(table[tuple(bad)]))
    bad = np.argwhere(off > ROW_TOLERANCE)[0]
    raise ParameterError(
        _OWNER,
        where,
        f"rows that sum to 1{_row(bad, parents)}",
        float(sums[tuple(bad)]),
        "Correct the row, or accept it divided by its sum: normalise=True.",
    )


def _normalise(where: str, table: np.ndarray, sums: np.ndarray, off: np.ndarray, parents: Mapping[str, Any]) -> None:
    if not sums.min() > 0.0:
        row = _row(np.argwhere(sums <= 0.0)[0], parents)
        raise ParameterError(_OWNER, where, f"rows with a positive sum{row}", 0.0)
    np.divide(table, sums[..., None], out=table, where=(off > table.shape[-1] * np.finfo(float).eps)[..., None])


def _row(index: Any, parents: Mapping[str, tuple[Any, ...]]) -> str:
    """The parents' states of a row, for messages."""
    pairs = [f"{parent}={values[i]}" for i, (parent, values) in zip(index, parents.items(), strict=True)]
    return f", given {', '.join(pairs)}" if pairs else ""


def table_size(node: str, parents: Mapping[str, tuple[Any, ...]], states: tuple[Any, ...]) -> int:
    """Probabilities in a node's table, or an error before memory is asked for that is not there."""
    size = len(states) * math.prod(len(values) for values in parents.values())
    if size > MAX_CELLS:
        raise ParameterError(
            _OWNER,
            f"tables[{node!r}]",
            f"of at most {MAX_CELLS} probabilities",
            size,
            "Gather the parents in groups below nodes of their own.",
        )
    return size


def table_of(
    node: str, given: Any, parents: Mapping[str, tuple[Any, ...]], states: tuple[Any, ...] | None
) -> tuple[tuple[Any, ...], np.ndarray]:
    """(states, table) from a dict, an array, a factor or a rule; states are read off it where None."""
    if hasattr(given, "conditional_table"):
        return given.conditional_table(node, parents, states)
    if isinstance(given, Mapping):
        return _from_mapping(node, given, parents, states)
    if hasattr(given, "names") and hasattr(given, "values"):
        return _from_factor(node, given, parents, states)
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(_OWNER, f"tables[{node!r}]", "a dict, an array, a factor or a rule", given) from error
    if states is None:
        states = tuple(range(table.shape[-1] if table.ndim else 0))
    return known_states(node, states), table


def _from_factor(node: str, factor: Any, parents: Mapping[str, Any], states: tuple[Any, ...] | None):
    """The factor's axes and states, put in order by name."""
    where = f"tables[{node!r}]"
    names = tuple(factor.names)
    wanted = (*parents, node)
    if len(names) != len(wanted) or set(names) != set(wanted):
        raise ParameterError(_OWNER, where, f"a factor of {', '.join(wanted)}", names)
    of = factor.states
    own = {name: tuple(of[name] if isinstance(of, Mapping) else of[i]) for i, name in enumerate(names)}
    states = known_states(node, own[node] if states is None else states)
    values = np.asarray(factor.values, dtype=np.float64)
    if values.ndim != len(names):
        raise ParameterError(_OWNER, where, "one factor, not a batch of them", factor)
    values = values.transpose([names.index(name) for name in wanted])
    for axis, (name, order) in enumerate([*parents.items(), (node, states)]):
        if own[name] != order:
            if set(own[name]) != set(order):
                raise ParameterError(_OWNER, where, f"a factor over the states {order} of {name}", own[name])
            values = values.take([own[name].index(state) for state in order], axis=axis)
    return states, values


def _from_mapping(node: str, given: Mapping[Any, Any], parents: Mapping[str, Any], states: tuple[Any, ...] | None):
    """A dict of rows: each parents' states must be there, once."""
    where = f"tables[{node!r}]"
    rows: dict[tuple[Any, ...], Any] = {}
    _gather(where, given, tuple(parents.values()), (), rows)
    states = known_states(node, _seen_states(where, rows) if states is None else states)
    if len(rows) < table_size(node, parents, states) // len(states):
        key = next(key for key in product(*parents.values()) if key not in rows)
        raise ParameterError(_OWNER, where, "a row for all states of the parents", f"none for {_said(key)}")
    table = np.empty((len(rows), len(states)))
    index = {state: i for i, state in enumerate(states)}
    for i, key in enumerate(product(*parents.values())):
        table[i] = _row_of(f"{where}, row {_said(key)},", rows[key], index)
    return states, table.reshape(*(len(values) for values in parents.values()), len(states))


def _gather(where: str, given: Any, axes: tuple[tuple[Any, ...], ...], key: tuple[Any, ...], rows: dict) -> None:
    """Rows by the full key, down the levels of a dict; a level is keyed by one parent's state or by tuples of all."""
    if not axes:
        if key in rows:
            raise ParameterError(_OWNER, where, "a dict with each row once", f"two for {_said(key)}")
        rows[key] = given
        return
    if not isinstance(given, Mapping):
        raise ParameterError(_OWNER, where, "a dict keyed by the parents' states", given)
    for states, below in given.items():
        if states in axes[0]:
            _gather(where, below, axes[1:], (*key, states), rows)
        elif isinstance(states, tuple) and len(states) == len(axes) and all(map(_within, states, axes)):
            _gather(where, below, (), (*key, *states), rows)
        else:
            raise ParameterError(_OWNER, where, "a dict keyed by the parents' states", states)


def _within(state: Any, states: tuple[Any, ...]) -> bool:
    return state in states


def _seen_states(where: str, rows: Mapping[tuple[Any, ...], Any]) -> list[Any]:
    """States in the order in which the dicts among the rows first name them; 0, 1, … if none is a dict.

    One row at least must name them all: else a slip of the pen in a row would be one more state.
    """
    dicts = {key: row for key, row in rows.items() if isinstance(row, Mapping)}
    seen = list(dict.fromkeys(state for row in dicts.values() for state in row))
    if not seen:
        return list(range(max((np.size(row) for row in rows.values()), default=0)))
    if not any(len(row) == len(seen) for row in dicts.values()):
        key, odd = _oddest(dicts, seen)
        texts = {str(state): state for state in seen if state not in dicts[key]}
        near = [repr(texts[text]) for text in difflib.get_close_matches(str(odd), list(texts), n=3)]
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        others = ", ".join(repr(state) for state in seen if state != odd)
        raise ParameterError(
            _OWNER,
            f"{where}, row {_said(key)},",
            f"of the states that other rows name ({others})",
            odd,
            f"{meant}Else name all states of the node in one of the rows, or with states=.",
        )
    return seen


def _oddest(rows: Mapping[tuple[Any, ...], Any], seen: list[Any]) -> tuple[tuple[Any, ...], Any]:
    """(row, state): the state that fewest rows name, the last of several, and the row where it first comes."""
    named = {state: [key for key, row in rows.items() if state in row] for state in seen}
    odd = min(reversed(seen), key=lambda state: len(named[state]))
    return named[odd][0], odd


def _row_of(where: str, row: Any, index: Mapping[Any, int]) -> np.ndarray:
    if not isinstance(row, Mapping):
        try:
            values = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(_OWNER, where, "numbers, or a dict from states to numbers", row) from error
        if values.shape != (len(index),):
            raise ParameterError(_OWNER, where, f"{len(index)} numbers", row)
        return values
    if unknown := [state for state in row if state not in index]:
        raise ParameterError(_OWNER, where, f"keyed by the states {tuple(index)}", unknown[0])
    absent = [state for state in index if state not in row]
    if len(absent) > 1:
        raise ParameterError(_OWNER, where, "a number for all states but at most one", row)
    try:
        values = {state: float(p) for state, p in row.items()}
    except (TypeError, ValueError) as error:
        raise ParameterError(_OWNER, where, "a dict from states to numbers", row) from error
    if absent:
        # The one state left out has what the others leave; below 0 only by rounding.
        rest = 1.0 - math.fsum(values.values())
        values[absent[0]] = 0.0 if -ROW_TOLERANCE <= rest < 0.0 else rest
    return np.array([values[state] for state in index])


def _said(key: tuple[Any, ...]) -> str:
    return ", ".join(map(str, key)) or "(no parents)"
