"""The table of operations: all that a model's expressions are made of.

Here are arithmetic and what moves, picks and adds up cells; functions are in `elementwise` and `along`, and
those of the user's own in `user`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credo.program.along import ALONG
from credo.program.elementwise import ELEMENTWISE
from credo.program.op import (
    Array,
    Op,
    Static,
    aligned,
    binary,
    power,
    products,
    reciprocal,
    unary,
    unbroadcast,
)
from credo.program.sparse import SPARSE_MATMUL
from credo.program.user.operation import CALL

__all__ = ["OPS", "Op", "aligned", "unbroadcast"]


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
    a, codes = values[0], values[1].astype(np.intp, copy=False)
    if not (lead[0] and lead[1]):
        return np.take(a, codes, axis=1 if lead[0] else 0)
    return a[np.arange(len(a)).reshape(-1, *(1,) * (codes.ndim - 1)), codes]  # codes may be latent states


def _take_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array | None]:
    a, codes = values
    codes = codes.astype(np.intp, copy=False)
    if a.ndim == 1:
        return np.bincount(codes.ravel(), weights=np.ravel(g), minlength=a.size), None
    total = np.zeros(a.shape)
    np.add.at(total, codes, g)
    return total, None


def _pick(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    a, codes = values[0], [c.astype(np.intp, copy=False) for c in values[1:]]
    if not any(lead[1:]):
        return a[(slice(None), *codes) if lead[0] else tuple(codes)]
    codes = aligned(codes, lead[1:])  # latent states have draws
    if not lead[0]:
        return a[tuple(codes)]
    return a[(np.arange(len(a)).reshape(-1, *(1,) * (max(c.ndim for c in codes) - 1)), *codes)]


def _pick_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array | None]:
    a, codes = values[0], tuple(c.astype(np.intp, copy=False) for c in values[1:])
    if a.ndim == len(codes):
        cells = np.ravel_multi_index(np.broadcast_arrays(*codes), a.shape)
        total = np.bincount(np.ravel(cells), weights=np.ravel(g), minlength=a.size).reshape(a.shape)
    else:
        total = np.zeros(a.shape)
        np.add.at(total, codes, g)
    return (total, *(None for _ in codes))


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
        *ELEMENTWISE,
        *ALONG,
        CALL,
        SPARSE_MATMUL,
        binary("add", np.add, lambda g, out, a, b: (g, g), lambda a, b: (a[0] + b[0], a[1] + b[1]), "{0} + {1}"),
        binary("subtract", np.subtract, lambda g, out, a, b: (g, -g), lambda a, b: (a[0] - b[1], a[1] - b[0]),
                "{0} - {1}"),
        binary("multiply", np.multiply, lambda g, out, a, b: (g * b, g * a), products, "{0} * {1}"),
        binary("divide", np.divide, lambda g, out, a, b: (g / b, -g * out / b),
                lambda a, b: products(a, reciprocal(b)), "{0} / {1}"),
        binary("power", np.power,
                lambda g, out, a, b: (g * b * np.power(a, b - 1.0), g * out * np.log(np.where(a > 0.0, a, 1.0))),
                power, "{0} ** {1}"),
        unary("negative", np.negative, lambda x, out: -1.0, lambda a, b: (-b, -a), "-{0}"),
        Op("matmul", _matmul, _matmul_pull, written="{0} @ {1}"),
        Op("take", _take, _take_pull, lambda ranges, static: ranges[0], written="{0}[{1}]"),
        Op("pick", _pick, _pick_pull, lambda ranges, static: ranges[0], written="{0}[{rest}]"),
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
           lambda ranges, static: (min(r[0] for r in ranges), max(r[1] for r in ranges)), written="{0}"),
    )
}  # fmt: skip
