"""Whether a space is a part of another, and points that are asked about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credo.design.spaces import Choice, Constant, Integer, Ordinal, Parameter, Real, Space
from credo.errors import ParameterError

__all__ = ["checked_points", "is_part"]


def checked_points(owner: str, name: str, space: Space, points: Any) -> list[dict[str, Any]]:
    """One point, several, or None, as the space has them. ParameterError : what is none; a point that is elsewhere."""
    if points is None:
        return []
    if isinstance(points, Mapping):
        return [space.check(points)]
    try:
        listed = list(points)
    except TypeError:
        listed = [points]
    for point in listed:
        if not isinstance(point, Mapping):
            raise ParameterError(owner, name, "points, dicts of parameters", point)
    return [space.check(point) for point in listed]


def is_part(part: Any, whole: Space) -> bool:
    """Whether it has the same parameters, each as it was, narrower, or fixed."""
    if part is whole:
        return True
    if not isinstance(part, Space) or part.names != whole.names:
        return False
    return all(_within(part.parameters[name], parameter) for name, parameter in whole.parameters.items())


def _within(part: Parameter, whole: Parameter) -> bool:
    if part is whole or part == whole:
        return True
    if part.when != whole.when:
        return False
    if isinstance(part, Constant):
        return whole.contains(part.value)
    if type(part) is not type(whole):
        return False
    if isinstance(part, (Real, Integer)):
        assert isinstance(whole, (Real, Integer))
        return part.log == whole.log and whole.low <= part.low and part.high <= whole.high
    assert isinstance(part, (Choice, Ordinal))
    return all(whole.contains(value) for value in part.choices)
