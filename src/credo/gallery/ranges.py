"""Parameters made narrower or fixed, and as a page shows them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.design.spaces import Choice, Constant, Integer, Ordinal, Parameter, Real, Space
from credo.errors import ParameterError
from credo.numerics.readable import number

__all__ = ["checked", "described", "narrowed", "shown"]


def checked(space: Space, sent: Mapping[str, Any], before: Mapping[str, Mapping[str, Any]]) -> tuple[str, Any]:
    """(parameter, what it is narrowed to) in the stored form; before : what the others were narrowed to.

    Raises
    ------
    ParameterError : no such parameter, a range outside the one as created, a space without a point.
    """
    name = sent.get("name")
    if not isinstance(name, str) or name not in space.parameters:
        raise ParameterError("gallery", "name", f"one of {', '.join(space.names)}", name)
    if space.parameters[name].kind == "constant":
        raise ParameterError("gallery", name, "a parameter that can vary", sent)
    to = _to(space.parameters[name], sent)
    left = narrowed(space, {**before, **({} if to is None else {name: to})})
    left.sample(1, np.random.default_rng(0))  # `ParameterError` where constraints leave no point
    return name, to


def _to(parameter: Parameter, sent: Mapping[str, Any]) -> dict[str, Any] | None:
    if "choices" in sent:
        if not isinstance(sent["choices"], list):
            raise ParameterError("gallery", "choices", "a list", sent["choices"])
        return {"choices": sent["choices"]}
    if "low" in sent or "high" in sent:
        to = {"low": sent.get("low"), "high": sent.get("high")}
        if to["low"] == to["high"] and to["low"] is not None:
            return {"value": _typed(parameter, to["low"])}
        return {end: None if value is None else _typed(parameter, value) for end, value in to.items()}
    value = sent.get("value")
    if value is None and not parameter.contains(None):
        return None  # as created
    return {"value": _typed(parameter, value)}


def _typed(parameter: Parameter, value: Any) -> Any:
    """Numbers of a slider as the parameter has them: JavaScript knows no integers, and rounds the ends."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not isinstance(parameter, (Real, Integer)):
        return value
    if not math.isfinite(value):
        raise ParameterError("gallery", "value", "a finite number", value)
    if isinstance(parameter, Integer):
        return round(value)
    low, high, value = parameter.low, parameter.high, float(value)
    near = 1e-9 * (high - low)
    return low if abs(value - low) <= near else high if abs(value - high) <= near else value


def narrowed(space: Space, to: Mapping[str, Mapping[str, Any]]) -> Space:
    """The space as a person has it now."""
    found = space
    for name, how in to.items():
        if "value" in how:
            found = found.fixed({name: how["value"]})
        elif "choices" in how:
            found = found.narrowed({name: how["choices"]})
        else:
            found = found.narrowed({name: (how.get("low"), how.get("high"))})
    return found


def described(space: Space, to: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each parameter: its type, its range now and as created, and the value it is fixed at."""
    now = narrowed(space, to)
    return [_described(name, space.parameters[name], now.parameters[name]) for name in space.names]


def _described(name: str, created: Parameter, now: Parameter) -> dict[str, Any]:
    fixed = now.value if isinstance(now, Constant) else None
    entry: dict[str, Any] = {
        "name": name,
        "type": created.kind,
        "fixed": fixed,
        "conditional": created.when is not None,
    }
    if isinstance(created, (Real, Integer)):
        low, high = (now.low, now.high) if isinstance(now, (Real, Integer)) else (fixed, fixed)
        entry |= {"low": low, "high": high, "full": {"low": created.low, "high": created.high}}
        entry["log"] = bool(created.log)
    elif isinstance(created, (Choice, Ordinal)):
        entry["all"] = list(created.choices)
        entry["choices"] = list(now.choices) if isinstance(now, (Choice, Ordinal)) else [fixed]
    return entry


def shown(params: Mapping[str, Any]) -> dict[str, str]:
    """Values as people read them.

    >>> shown({"x": 0.123456, "n": 3, "fast": True, "kind": "rbf"})
    {'x': '0.1235', 'n': '3', 'fast': 'yes', 'kind': 'rbf'}
    """
    return {name: _text(value) for name, value in params.items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return "none" if value is None else str(value)
