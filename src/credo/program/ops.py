"""The table of operations: all that a model's expressions are made of.

An operation knows how to compute (`forward`), how a gradient flows back (`pull`), and how the range of values follows
from its arguments' (`bounds`). Values may carry one leading axis of draws (`lead` says which arguments do): the
declared axes of every array are its last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

__all__ = ["OPS", "Op", "aligned", "unbroadcast"]

Array = np.ndarray
Bounds = tuple[float, float]
Static = dict[str, Any]
EVERYWHERE: Bounds = (-np.inf, np.inf)


@dataclass(frozen=True)
class Op:
    """name; forward(values, lead, static); pull(gradient, out, values, static) → one gradient an argument, without
    draws' axis, or None for those that do not vary (static["varies"]); bounds(of the arguments, static); `elementwise`
    operations broadcast; written : how it is shown."""

    name: str
    forward: Callable[[Sequence[Array], Sequence[bool], Static], Array]
    pull: Callable[[Array, Array, Sequence[Array], Static], Sequence[Array | None]]
    bounds: Callable[[Sequence[Bounds], Static], Bounds] = lambda ranges, static: EVERYWHERE
    elementwise: bool = False
    written: str = "{name}({args})"


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


def _binary(name: str, function: Any, pull: Any, bounds: Any, written: str) -> Op:
    def forward(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
        a, b = aligned(values, lead)
        return function(a, b)

    def back(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
        a, b = values
        da, db = pull(g, out, a, b)
        return unbroadcast(da, a.shape), unbroadcast(db, b.shape)

    return Op(name, forward, back, lambda ranges, static: bounds(*ranges), True, written)


def _unary(name: str, function: Any, slope: Any, bounds: Any, written: str | None = None) -> Op:
    return Op(
        name,
        lambda values, lead, static: function(values[0]),
        lambda g, out, values, static: (g * slope(values[0], out),),
        lambda ranges, static: bounds(*ranges[0]),
        True,
        written or f"{name}({{args}})",
    )


def _products(a: Bounds, b: Bounds) -> Bounds:
    with np.errstate(invalid="ignore"):
        ends = np.nan_to_num([x * y for x in a for y in b], nan=0.0, posinf=np.inf, neginf=-np.inf)
    return float(min(ends)), float(max(ends))


def _reciprocal(a: Bounds) -> Bounds:
    if a[0] >= 0.0:
        return (0.0 if a[1] == np.inf else 1.0 / a[1], np.inf if a[0] == 0.0 else 1.0 / a[0])
    if a[1] <= 0.0:
        low, high = _reciprocal((-a[1], -a[0]))
        return -high, -low
    return EVERYWHERE


def _power(a: Bounds, b: Bounds) -> Bounds:
    if b[0] == b[1] and float(b[0]).is_integer() and int(b[0]) % 2 == 0 and b[0] > 0:
        most = max(abs(a[0]), abs(a[1])) ** b[0]
        return (0.0 if a[0] <= 0.0 <= a[1] else min(abs(a[0]), abs(a[1])) ** b[0], most)
    return (0.0, np.inf) if a[0] >= 0.0 else EVERYWHERE


def _monotone(function: Any) -> Any:
    def bounds(low: float, high: float) -> Bounds:
        with np.errstate(all="ignore"):
            return float(function(low)), float(function(high))

    return bounds


def _matmul(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    a, b = values
    one, two = np.ndim(a) - lead[0], np.ndim(b) - lead[1]
    if not any(lead):
        return a @ b
    if lead == (True, True) or lead == [True, True]:
        if one == 1 and two == 1:
            return np.einsum("si,si->s", a, b)
        if two == 1:
            return np.einsum("sij,sj->si", a, b)
        return np.matmul(a[:, None, :], b)[:, 0] if one == 1 else np.matmul(a, b)
    if lead[0]:
        return a @ b
    return b @ a.T if two == 1 else (a @ b if one == 2 else np.tensordot(b, a, axes=(1, 0)))


def _matmul_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    a, b = values
    if a.ndim == 1 and b.ndim == 1:
        return g * b, g * a
    if b.ndim == 1:
        return np.outer(g, b), a.T @ g
    if a.ndim == 1:
        return b @ g, np.outer(a, g)
    return g @ b.T, a.T @ g


def _take(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    a, codes = values
    return np.take(a, codes.astype(np.intp, copy=False), axis=1 if lead[0] else 0)


def _take_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array | None]:
    a, codes = values
    codes = codes.astype(np.intp, copy=False)
    if a.ndim == 1:
        return np.bincount(codes.ravel(), weights=np.ravel(g), minlength=a.size), None
    total = np.zeros(a.shape)
    np.add.at(total, codes, g)
    return total, None


def _slice(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    key = static["key"]
    return values[0][(slice(None), *key) if lead[0] else key]


def _slice_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    total = np.zeros(np.shape(values[0]))
    np.add.at(total, static["key"], g)
    return (total,)


def _sum(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    return values[0].sum(axis=static["axis"])  # axes count from the end


def _sum_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    axes = tuple(sorted(axis + values[0].ndim for axis in static["axis"]))
    return (np.broadcast_to(np.expand_dims(g, axes), values[0].shape),)


def _mean_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    return (_sum_pull(g, out, values, static)[0] * (np.size(out) / values[0].size),)


def _concat(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    if any(lead):
        n = next(len(v) for v, has in zip(values, lead) if has)
        values = [v if has else np.broadcast_to(v, (n, *np.shape(v))) for v, has in zip(values, lead)]
    return np.concatenate(values, axis=1 if any(lead) else 0)


def _concat_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    ends = np.cumsum([len(v) for v in values])[:-1]
    return np.split(g, ends)


def _reshape(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    shape = static["shape"]
    return values[0].reshape(len(values[0]), *shape) if lead[0] else values[0].reshape(shape)


def _fill(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    """base with its missing cells, in C order, taken from a vector."""
    base, cells = values
    whole = np.broadcast_to(base, (len(cells), *base.shape)).copy() if lead[1] else np.array(base)
    flat = whole.reshape(len(cells), -1) if lead[1] else whole.reshape(-1)
    flat[..., static["at"]] = cells
    return whole


OPS: dict[str, Op] = {
    op.name: op
    for op in (
        _binary("add", np.add, lambda g, out, a, b: (g, g), lambda a, b: (a[0] + b[0], a[1] + b[1]), "{0} + {1}"),
        _binary("subtract", np.subtract, lambda g, out, a, b: (g, -g), lambda a, b: (a[0] - b[1], a[1] - b[0]),
                "{0} - {1}"),
        _binary("multiply", np.multiply, lambda g, out, a, b: (g * b, g * a), _products, "{0} * {1}"),
        _binary("divide", np.divide, lambda g, out, a, b: (g / b, -g * out / b),
                lambda a, b: _products(a, _reciprocal(b)), "{0} / {1}"),
        _binary("power", np.power,
                lambda g, out, a, b: (g * b * np.power(a, b - 1.0), g * out * np.log(np.where(a > 0.0, a, 1.0))),
                _power, "{0} ** {1}"),
        _unary("negative", np.negative, lambda x, out: -1.0, lambda a, b: (-b, -a), "-{0}"),
        _unary("exp", np.exp, lambda x, out: out, _monotone(np.exp)),
        _unary("log", np.log, lambda x, out: 1.0 / x, lambda a, b: _monotone(np.log)(max(a, 0.0), max(b, 0.0))),
        _unary("sqrt", np.sqrt, lambda x, out: 0.5 / out, lambda a, b: _monotone(np.sqrt)(max(a, 0.0), max(b, 0.0))),
        _unary("square", np.square, lambda x, out: 2.0 * x, lambda a, b: _power((a, b), (2.0, 2.0)), "{0}²"),
        _unary("expit", special.expit, lambda x, out: out * (1.0 - out), _monotone(special.expit)),
        _unary("tanh", np.tanh, lambda x, out: 1.0 - out * out, _monotone(np.tanh)),
        _unary("softplus", lambda x: np.logaddexp(0.0, x), lambda x, out: special.expit(x),
               _monotone(lambda x: np.logaddexp(0.0, x))),
        _unary("log1p", np.log1p, lambda x, out: 1.0 / (1.0 + x), _monotone(lambda x: np.log1p(max(x, -1.0)))),
        _unary("expm1", np.expm1, lambda x, out: out + 1.0, _monotone(np.expm1)),
        _unary("abs", np.abs, lambda x, out: np.sign(x),
               lambda a, b: (0.0 if a <= 0.0 <= b else min(abs(a), abs(b)), max(abs(a), abs(b)))),
        _unary("sin", np.sin, lambda x, out: np.cos(x), lambda a, b: (-1.0, 1.0)),
        _unary("cos", np.cos, lambda x, out: -np.sin(x), lambda a, b: (-1.0, 1.0)),
        _unary("gammaln", special.gammaln, lambda x, out: special.digamma(x), lambda a, b: EVERYWHERE, "log Γ({0})"),
        _unary("ndtr", special.ndtr, lambda x, out: np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi),
               _monotone(special.ndtr)),
        Op("matmul", _matmul, _matmul_pull, written="{0} @ {1}"),
        Op("take", _take, _take_pull, lambda ranges, static: ranges[0], written="{0}[{1}]"),
        Op("slice", _slice, _slice_pull, lambda ranges, static: ranges[0], written="{0}[{key}]"),
        Op("sum", _sum, _sum_pull, lambda ranges, static: (0.0 if ranges[0][0] >= 0.0 else -np.inf, np.inf)),
        Op("mean", lambda values, lead, static: values[0].mean(axis=static["axis"]), _mean_pull,
           lambda ranges, static: ranges[0]),
        Op("identity", lambda values, lead, static: values[0], lambda g, out, values, static: (g,),
           lambda ranges, static: ranges[0], written="{0}"),
        Op("concat", _concat, _concat_pull,
           lambda ranges, static: (min(r[0] for r in ranges), max(r[1] for r in ranges))),
        Op("reshape", _reshape, lambda g, out, values, static: (g.reshape(np.shape(values[0])),),
           lambda ranges, static: ranges[0], written="{0}"),
        Op("transpose", lambda values, lead, static: np.swapaxes(values[0], -1, -2),
           lambda g, out, values, static: (g.T,), lambda ranges, static: ranges[0], written="{0}.T"),
        Op("fill", _fill, lambda g, out, values, static: (None, np.ravel(g)[static["at"]]),
           lambda ranges, static: EVERYWHERE, written="{0}"),
    )
}  # fmt: skip
