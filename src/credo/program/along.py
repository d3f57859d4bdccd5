"""Functions along one axis, which static["axis"] counts from the end, so that a leading axis of draws does not matter;
and the outer product."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from credo.program.op import EVERYWHERE, Array, Bounds, Op, Static, products

__all__ = ["ALONG"]


def _softmax_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    return (out * (g - np.sum(g * out, axis=static["axis"], keepdims=True)),)


def _log_softmax_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    return (g - np.exp(out) * np.sum(g, axis=static["axis"], keepdims=True),)


def _logsumexp(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    return np.asarray(scipy.special.logsumexp(values[0], axis=static["axis"]))


def _logsumexp_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    axis = static["axis"]
    weights = np.exp(values[0] - np.expand_dims(out, axis))
    return (np.expand_dims(g, axis) * np.where(np.isnan(weights), 0.0, weights),)  # NaN: every term is −∞


def _cumsum_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    axis = static["axis"]
    return (np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis),)


def _cumsum_bounds(ranges: Sequence[Bounds], static: Static) -> Bounds:
    low, high = ranges[0]
    return (low if low >= 0.0 else -np.inf, high if high <= 0.0 else np.inf)


def _outer(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    a, b = values
    return a[..., :, None] * b[..., None, :]


ALONG: tuple[Op, ...] = (
    Op("softmax", lambda values, lead, static: scipy.special.softmax(values[0], axis=static["axis"]), _softmax_pull,
       lambda ranges, static: (0.0, 1.0)),
    Op("log_softmax", lambda values, lead, static: scipy.special.log_softmax(values[0], axis=static["axis"]),
       _log_softmax_pull, lambda ranges, static: (-np.inf, 0.0)),
    Op("logsumexp", _logsumexp, _logsumexp_pull,
       lambda ranges, static: (ranges[0][0], np.inf)),
    Op("cumsum", lambda values, lead, static: np.cumsum(values[0], axis=static["axis"]), _cumsum_pull, _cumsum_bounds),
    Op("outer", _outer, lambda g, out, values, static: (g @ values[1], values[0] @ g),
       lambda ranges, static: products(ranges[0], ranges[1]) if len(ranges) > 1 else EVERYWHERE),
)  # fmt: skip
