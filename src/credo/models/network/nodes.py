"""Tables by rule, for `NetworkDefinition.from_edges`: `Deterministic`, `NoisyOr`, `NoisyMax`."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.network.tables import checked_table, known_states, table_size

__all__ = ["Deterministic", "NoisyOr", "NoisyMax"]

_PRESENT = [("yes", "no"), ("true", "false"), ("present", "absent"), ("on", "off"), ("positive", "negative")]


@dataclass(frozen=True)
class Deterministic:
    """A node whose state its parents' states decide: P(y | x) = 1 for y = f(x), else 0.

    Parameters
    ----------
    rule : f, a function of the parents' states in the order of the edges, or a dict from these (a tuple; for one
        parent the state alone will do)

    The node's states, where not given, are False and True for truth values, else those of f in the order in which they
    come up as the last parent's state changes fastest.

    Raises
    ------
    ParameterError : f fails, or gives something that is no state of the node, or a dict leaves parents' states out;
        with the node and these states

    Examples
    --------
    >>> from credo.models.network.definition import NetworkDefinition
    >>> network = NetworkDefinition.from_edges(
    ...     [("tub", "either"), ("lung", "either")],
    ...     {"tub": {False: 0.99, True: 0.01}, "lung": {False: 0.9, True: 0.1}, "either": Deterministic(max)},
    ... )
    >>> network.states["either"], network.tables["either"][1, 0]
    ((False, True), array([0., 1.]))
    """

    rule: Callable[..., Hashable] | Mapping[Any, Hashable]

    def conditional_table(
        self, node: str, parents: Mapping[str, tuple[Any, ...]], states: tuple[Any, ...] | None
    ) -> tuple[tuple[Any, ...], np.ndarray]:
        """(states, table) for `node`; called by `NetworkDefinition.from_edges`."""
        table_size(node, parents, states or (None,))
        rows = list(product(*parents.values()))
        values = [self._value(node, row) for row in rows]
        if states is None:
            seen = tuple(dict.fromkeys(values))
            states = known_states(node, (False, True) if {type(value) for value in seen} == {bool} else seen)
        index = {state: i for i, state in enumerate(states)}
        table = np.zeros((len(rows), len(states)))
        for i, (row, value) in enumerate(zip(rows, values)):
            if value not in index:
                given = ", ".join(f"{parent}={state}" for parent, state in zip(parents, row))
                raise ParameterError(
                    "Deterministic", "rule", f"a function into the states {states} of {node!r}; given {given}", value
                )
            table[i, index[value]] = 1.0
        return states, table.reshape(*(len(values) for values in parents.values()), len(states))

    def _value(self, node: str, row: tuple[Any, ...]) -> Hashable:
        if not isinstance(self.rule, Mapping):
            try:
                value = self.rule(*row)
            except Exception as error:  # a user's function may raise anything
                said = ", ".join(map(repr, row))
                raise ParameterError(
                    "Deterministic", f"rule of {node!r}", f"a function of its parents' states; given {said} it fails",
                    f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
                ) from error  # fmt: skip
            value = value.item() if isinstance(value, np.generic) else value
        elif row in self.rule:
            value = self.rule[row]
        elif len(row) == 1 and row[0] in self.rule:
            value = self.rule[row[0]]
        else:
            said = ", ".join(map(str, row))
            raise ParameterError("Deterministic", "rule", f"a state of {node!r} for all states of its parents", said)
        if not isinstance(value, Hashable):
            raise ParameterError("Deterministic", "rule", f"a function into states of {node!r}", value)
        return value


@dataclass(frozen=True)
class NoisyOr:
    """An effect that each present cause brings about by itself, unless something hidden prevents it (Pearl, 1988).

        P(y absent | x) = (1 − leak) ∏ᵢ (1 − sᵢ(xᵢ))

    Parameters
    ----------
    strengths : parent → s, the probability that this cause, present alone and without the leak, brings the effect
        about; or parent → {state: s} for causes of several kinds (a state left out: 0)
    leak : probability of the effect when no cause is present
    present : name → the state, of a parent or of the node, that means "present". Known without it: True and 1 of
        (False, True) and (0, 1); yes, true, present, on and positive against no, false, absent, off and negative.

    The node's states, where not given, are False and True.

    Raises
    ------
    ParameterError : a strength outside [0, 1]; parents without strength or the other way about; more than two states,
        or none that is known to mean "present".

    Notes
    -----
    Every term is positive, so that small probabilities keep their digits. Costs one pass over the table a parent.

    Examples
    --------
    >>> from credo.models.network.definition import NetworkDefinition
    >>> cause = {False: 0.9, True: 0.1}
    >>> network = NetworkDefinition.from_edges(
    ...     [("flu", "fever"), ("cold", "fever")],
    ...     {"flu": cause, "cold": cause, "fever": NoisyOr({"flu": 0.8, "cold": 0.4}, leak=0.01)},
    ... )
    >>> network.tables["fever"][1, 1]  # 1 − 0.99 × 0.2 × 0.6
    array([0.1188, 0.8812])
    """

    strengths: Mapping[str, float | Mapping[Any, float]]
    leak: float = 0.0
    present: Mapping[str, Any] | None = None

    def conditional_table(
        self, node: str, parents: Mapping[str, tuple[Any, ...]], states: tuple[Any, ...] | None
    ) -> tuple[tuple[Any, ...], np.ndarray]:
        """(states, table) for `node`; called by `NetworkDefinition.from_edges`."""
        _same_parents("NoisyOr", "strengths", node, parents, self.strengths)
        states = (False, True) if states is None else states
        yes = self._present(node, states)
        table_size(node, parents, states)
        laws = [_leak_law(_probability("leak", self.leak), len(parents))]
        for axis, (parent, values) in enumerate(parents.items()):
            s = np.array([self._strength(parent, values, i) for i in range(len(values))])
            laws.append(_along(np.stack([1.0 - s, s], axis=-1), axis, len(parents)))
        table = reduce(law_of_maximum, laws)
        return states, table if yes == 1 else table[..., ::-1]

    def _present(self, name: str, states: tuple[Any, ...]) -> int:
        """Which of two states means "present"."""
        if self.present is not None and name in self.present:
            if self.present[name] not in states:
                raise ParameterError("NoisyOr", f"present[{name!r}]", f"one of the states {states}", self.present[name])
            yes = states.index(self.present[name])
        elif set(states) == {False, True}:
            yes = states.index(True)
        else:
            words = [str(state).lower() for state in states]
            yes = next((words.index(word) for word, no in _PRESENT if {word, no} == set(words)), -1)
        if len(states) != 2 or yes < 0:
            raise ParameterError(
                "NoisyOr",
                f"present[{name!r}]",
                "the state that means present, of two",
                states,
                "For a parent of more states give a strength a state: {state: strength}; for such a node use NoisyMax.",
            )
        return yes

    def _strength(self, parent: str, states: tuple[Any, ...], i: int) -> float:
        given = self.strengths[parent]
        if not isinstance(given, Mapping):
            strength = _probability(f"strengths[{parent!r}]", given)
            return strength if self._present(parent, states) == i else 0.0
        if unknown := [state for state in given if state not in states]:
            raise ParameterError("NoisyOr", f"strengths[{parent!r}]", f"keyed by the states {states}", unknown[0])
        return _probability(f"strengths[{parent!r}]", given.get(states[i], 0.0))


@dataclass(frozen=True)
class NoisyMax:
    """A graded effect, the largest of what the causes bring about, each by itself (Díez, 1993).

        P(Y ≤ y | x) = L(y) ∏ᵢ Fᵢ(y | xᵢ)

    where Fᵢ(· | xᵢ) is the distribution function of what cause i brings about in state xᵢ, and L that of the leak.

    Parameters
    ----------
    effects : parent → {state: distribution over the node's states}, each from the lowest state to the highest; a state
        left out brings nothing about (the lowest state surely). Or an array (parent's states, node's states).
    leak : distribution of what is brought about when no cause acts; None for nothing
    levels : the node's states from the lowest (no effect) to the highest, where their order in the network is another

    The node's states, where not given, are `levels`, or 0, 1, ….

    Raises
    ------
    ParameterError : rows that are no distributions over the node's states; parents without effects, or the other way
        about.

    Notes
    -----
    Every term is positive, so that small probabilities keep their digits. Costs one pass over the table a parent.

    Examples
    --------
    >>> from credo.models.network.definition import NetworkDefinition
    >>> network = NetworkDefinition.from_edges(
    ...     [("flu", "fever")],
    ...     {"flu": {False: 0.9, True: 0.1}, "fever": NoisyMax({"flu": {True: [0.2, 0.5, 0.3]}}, leak=[0.9, 0.1, 0])},
    ...     states={"fever": ("none", "mild", "high")},
    ... )
    >>> network.tables["fever"].round(12)  # mild given flu: 0.7 × 1 − 0.2 × 0.9
    array([[0.9 , 0.1 , 0.  ],
           [0.18, 0.52, 0.3 ]])
    """

    effects: Mapping[str, Any]
    leak: Sequence[float] | None = None
    levels: Sequence[Any] | None = None

    def conditional_table(
        self, node: str, parents: Mapping[str, tuple[Any, ...]], states: tuple[Any, ...] | None
    ) -> tuple[tuple[Any, ...], np.ndarray]:
        """(states, table) for `node`; called by `NetworkDefinition.from_edges`."""
        _same_parents("NoisyMax", "effects", node, parents, self.effects)
        levels = self._levels(node, parents, states)
        states = levels if states is None else states
        table_size(node, parents, states)
        leak = np.eye(len(levels))[0] if self.leak is None else self._rows("leak", self.leak, {}, levels)
        laws = [leak.reshape((1,) * len(parents) + leak.shape)]
        for axis, (parent, values) in enumerate(parents.items()):
            given = self.effects[parent]
            if isinstance(given, Mapping):
                if unknown := [state for state in given if state not in values]:
                    where = f"effects[{parent!r}]"
                    raise ParameterError("NoisyMax", where, f"keyed by the states {values}", unknown[0])
                nothing = np.eye(len(levels))[0]
                given = [given.get(state, nothing) for state in values]
            rows = self._rows(f"effects[{parent!r}]", given, {parent: values}, levels)
            laws.append(_along(rows, axis, len(parents)))
        table = reduce(law_of_maximum, laws)
        return states, table[..., [levels.index(state) for state in states]]

    def _levels(self, node: str, parents: Mapping[str, tuple[Any, ...]], states: Any) -> tuple[Any, ...]:
        if self.levels is not None:
            levels = known_states(node, self.levels)
            if states is not None and sorted(map(repr, levels)) != sorted(map(repr, states)):
                raise ParameterError("NoisyMax", "levels", f"the states {states} of {node!r} in some order", levels)
            return levels
        if states is not None:
            return states
        for row in [self.leak, *self.effects.values()]:
            row = next(iter(row.values()), None) if isinstance(row, Mapping) else row
            if row is not None and np.ndim(row):
                return tuple(range(np.shape(row)[-1]))
        raise ParameterError("NoisyMax", "levels", f"the states of {node!r}, which nothing else tells", None)

    def _rows(self, where: str, given: Any, parents: Mapping[str, tuple[Any, ...]], levels: tuple[Any, ...]):
        """A distribution, or one a state of a parent: checked like any table."""
        try:
            return checked_table(where, given, parents, levels)
        except ParameterError as error:
            constraint = error.constraint.replace("own", "levels")
            raise ParameterError("NoisyMax", where, constraint, error.value, error.remedy) from error


def law_of_maximum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """P(max(A, B) = y) = P(A = y) P(B ≤ y) + P(A < y) P(B = y), for independent A and B, levels on the last axis."""
    up_to_b = np.minimum(np.cumsum(b, axis=-1), 1.0)
    below_a = np.minimum(np.cumsum(a, axis=-1), 1.0)
    below_a = np.concatenate([np.zeros_like(below_a[..., :1]), below_a[..., :-1]], axis=-1)
    return a * up_to_b + below_a * b


def _along(rows: np.ndarray, axis: int, n_parents: int) -> np.ndarray:
    """One parent's rows as a table over all parents, of length 1 along the others."""
    shape = [1] * n_parents + [rows.shape[-1]]
    shape[axis] = len(rows)
    return rows.reshape(shape)


def _leak_law(leak: float, n_parents: int) -> np.ndarray:
    return np.array([1.0 - leak, leak]).reshape((1,) * n_parents + (2,))


def _probability(where: str, value: Any) -> float:
    if isinstance(value, (int, float, np.floating, np.integer)) and math.isfinite(value) and 0.0 <= value <= 1.0:
        return float(value)
    raise ParameterError("NoisyOr", where, "a probability in [0, 1]", value)


def _same_parents(owner: str, parameter: str, node: str, parents: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    if not isinstance(given, Mapping) or set(given) != set(parents):
        raise ParameterError(owner, parameter, f"a dict from the parents of {node!r}: {', '.join(parents)}", given)
