"""`Op`: how one operation of a model computes, how a gradient flows back, and how ranges follow.

Values may carry one leading axis of draws (`lead` says which arguments do): the declared axes of every array are its
last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["EVERYWHERE", "Array", "Bounds", "Op", "Static", "aligned", "binary", "monotone", "power", "products",
           "reciprocal", "unary", "unbroadcast"]  # fmt: skip

Array = np.ndarray
Bounds = tuple[float, float]
Static = dict[str, Any]
EVERYWHERE: Bounds = (-np.inf, np.inf)


@dataclass(frozen=True)
class Op:
    """name; forward(values, lead, static); pull(gradient, out, values, static) → one gradient an argument, without
    draws' axis, or None for those that do not vary (static["varies"]); bounds(of the arguments, static); `elementwise`
    operations broadcast; written : how it is shown; linear(values, static) → the value and its pull (gradient → one
    gradient an argument), for operations that share work between them."""

    name: str
    forward: Callable[[Sequence[Array], Sequence[bool], Static], Array]
    pull: Callable[[Array, Array, Sequence[Array], Static], Sequence[Array | None]]
    bounds: Callable[[Sequence[Bounds], Static], Bounds] = lambda ranges, static: EVERYWHERE
    elementwise: bool = False
    written: str = "{name}({args})"
    linear: Callable[[Sequence[Array], Static], tuple[Array, Callable[[Array], Sequence[Array | None]]]] | None = None


def unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Summed over the axes along which an argument of this shape was repeated."""
    gradient = np.asarray(gradient)
    if gradient.shape == shape:
        return gradient
    if not shape:
        return gradient.sum()
    extra = gradient.ndim - len(shape)
    gradient = gradient.sum(axis=tuple(range(extra))) if extra > 0 else gradient
    repeated = tuple(i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1)
    gradient = gradient.sum(axis=repeated, keepdims=True) if repeated else gradient
    return gradient if gradient.shape == shape else np.broadcast_to(gradient, shape)


def aligned(values: Sequence[Array], lead: Sequence[bool], ndims: Sequence[int] | None = None) -> list[Array]:
    """Arguments of an elementwise operation, those with draws given axes of length 1 after them, so that declared axes
    meet."""
    if not any(lead):
        return list(values)
    ndims = ndims or [np.ndim(v) - bool(has) for v, has in zip(values, lead)]
    most = max(ndims)
    return [
        v.reshape(v.shape[0], *(1,) * (most - n), *v.shape[1:]) if has and n < most else v
        for v, has, n in zip(values, lead, ndims)
    ]


def binary(name: str, function: Any, pull: Any, bounds: Any, written: str) -> Op:
    def forward(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
        a, b = aligned(values, lead)
        return function(a, b)

    def back(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
        a, b = values
        da, db = pull(g, out, a, b)
        return unbroadcast(da, a.shape), unbroadcast(db, b.shape)

    return Op(name, forward, back, lambda ranges, static: bounds(*ranges), True, written)


def unary(name: str, function: Any, slope: Any, bounds: Any, written: str | None = None) -> Op:
    return Op(
        name,
        lambda values, lead, static: function(values[0]),
        lambda g, out, values, static: (g * slope(values[0], out),),
        lambda ranges, static: bounds(*ranges[0]),
        True,
        written or f"{name}({{args}})",
    )


def products(a: Bounds, b: Bounds) -> Bounds:
    with np.errstate(invalid="ignore"):
        ends = np.nan_to_num([x * y for x in a for y in b], nan=0.0, posinf=np.inf, neginf=-np.inf)
    return float(min(ends)), float(max(ends))


def reciprocal(a: Bounds) -> Bounds:
    if a[0] >= 0.0:
        return (0.0 if a[1] == np.inf else 1.0 / a[1], np.inf if a[0] == 0.0 else 1.0 / a[0])
    if a[1] <= 0.0:
        low, high = reciprocal((-a[1], -a[0]))
        return -high, -low
    return EVERYWHERE


def power(a: Bounds, b: Bounds) -> Bounds:
    if b[0] == b[1] and float(b[0]).is_integer() and int(b[0]) % 2 == 0 and b[0] > 0:
        most = max(abs(a[0]), abs(a[1])) ** b[0]
        return (0.0 if a[0] <= 0.0 <= a[1] else min(abs(a[0]), abs(a[1])) ** b[0], most)
    return (0.0, np.inf) if a[0] >= 0.0 else EVERYWHERE


def monotone(function: Any) -> Any:
    def bounds(low: float, high: float) -> Bounds:
        with np.errstate(all="ignore"):
            return float(function(low)), float(function(high))

    return bounds
