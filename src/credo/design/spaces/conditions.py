"""When a parameter matters: `{"kernel": "rbf"}`, `"depth > 2"`, or a function of the parameters chosen so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.spaces.choices import identity, plain
from credo.design.spaces.expressions import Expression
from credo.errors import ParameterError

__all__ = ["Condition", "condition"]


@dataclass(frozen=True)
class Condition:
    """A test of the active parameters; `parents` must be decided first, `state` is its JSON form (None: a function)."""

    parents: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], bool]
    state: Any


def condition(name: str, when: Any, before: Sequence[str]) -> Condition | None:
    """The condition behind `when=` of parameter `name`; a function may look at the parameters `before` it."""
    if when is None:
        return None
    if isinstance(when, str):
        expression = Expression(when)
        return Condition(expression.names, lambda p: _known(expression.names, p) and expression.holds(p), when)
    if isinstance(when, Mapping) and when:
        return _values(name, when)
    if callable(when):
        return Condition(tuple(before), lambda p: _call(name, when, p, before), None)
    raise ParameterError(f"Space.{name}", "when", "a mapping, an expression or a function", when)


def _known(names: Sequence[str], params: Mapping[str, Any]) -> bool:
    """A parameter that is itself inactive switches off what hangs on it."""
    return all(name in params for name in names)


def _values(name: str, when: Mapping[str, Any]) -> Condition:
    wanted: dict[str, set[Any]] = {}
    state: dict[str, Any] = {}
    for parent, values in when.items():
        listed = list(values) if isinstance(values, (list, tuple, set, frozenset, np.ndarray)) else [values]
        listed = [plain(f"Space.{name}", "when", value) for value in listed]
        if not listed:
            raise ParameterError(f"Space.{name}", "when", "values at which it matters", when)
        wanted[str(parent)] = {identity(value) for value in listed}
        state[str(parent)] = listed if len(listed) > 1 else listed[0]
    return Condition(
        tuple(wanted), lambda p: all(q in p and identity(p[q]) in values for q, values in wanted.items()), state
    )


def _call(name: str, when: Callable[[Any], Any], params: Mapping[str, Any], before: Sequence[str]) -> bool:
    try:
        return bool(when(dict(params)))
    except KeyError as error:
        key = error.args[0] if error.args else None
        if key in before:  # it asked for a parameter that is inactive here
            return False
        wanted = f"a function of the parameters before it, {list(before)}"  # a slip would switch it off for ever
        raise ParameterError(f"Space.{name}", "when", wanted, key) from error
    except Exception as error:
        wanted = f"a function that returns True or False ({error!r})"
        raise ParameterError(f"Space.{name}", "when", wanted, dict(params)) from error
