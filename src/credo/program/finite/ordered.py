"""Latent vectors in increasing order: one labelling of exchangeable labels, or cut-points.

The law is restricted to x_1 < x_2 < … along the last axis, and its density divided by the probability of that: 1/k! for
k numbers of one law, an integral for known laws that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln

from credo.distributions import Flat
from credo.distributions.support import Support
from credo.errors import NumericalError, ParameterError, UnavailableError
from credo.program.density import is_opaque
from credo.program.nodes import Node

__all__ = ["declared_order", "drawn_in_order", "is_ordered", "typical_in_order"]

# Points of each law's quantiles at which the probability of the order is summed: its error is of the order of 1/n².
POINTS = 4000
# Draws are tried so often; an order of probability 1e-4 is then found.
ROUNDS = 200


def is_ordered(node: Node) -> bool:
    """Whether it is a latent node in increasing order."""
    return node.kind == "latent" and node.support.kind == "ordered"


def declared_order(name: str, law: Any, support: Support, shape: tuple[int, ...]) -> tuple[Support, Node]:
    """The support of the node, and −log P(x_1 < … < x_k), added up over its rows, a constant of the density.

    Raises
    ------
    ParameterError : a node without an axis, a law of vectors or of whole numbers
    UnavailableError : a law that differs along the axis and depends on latent nodes
    """
    if not shape:
        raise ParameterError("Model", f"shape of {name}", "of one axis at least, for values in order", shape)
    if support.kind != "real" or law.event_ndim:
        raise ParameterError("Model", f"law of {name}", "one of real numbers, to be in order", law)
    k = shape[-1]
    if isinstance(law, Flat):
        total = 0.0
    elif _is_one_law(law):
        total = float(gammaln(k + 1.0)) * int(np.prod(shape[:-1]))
    elif any(isinstance(v, Node) and v.kind != "constant" for v in law.parameters.values()):
        raise UnavailableError(
            f"{name}: its law differs along the axis in order and depends on other nodes, so that the probability of "
            "the order is not known.", value=name,
            remedy="Let all of the axis have one law; or order a vector of standard ones and scale it.",
        )  # fmt: skip
    else:
        total = -float(np.sum(_log_probability(law, shape)))
    constant = Node("constant", shape=(), dims=(), value=np.asarray(total), static={"normaliser": True})
    return Support("ordered", support.low, support.high), constant


def _is_one_law(law: Any) -> bool:
    """Whether every entry along the last axis has the same law."""
    inner = law
    while is_opaque(inner):
        inner = next((v for v in inner.parameters.values() if hasattr(v, "parameters")), None)
        if inner is None:
            return False
    for part in (law, inner):
        for value in part.parameters.values():
            if hasattr(value, "parameters") or value is None:
                continue
            if isinstance(value, Node) and value.kind != "constant":
                if value.ndim and value.shape[-1] != 1:
                    return False
            else:
                numbers = np.asarray(value.value if isinstance(value, Node) else value)
                if numbers.ndim and np.any(numbers != numbers[..., :1]):
                    return False
    return True


def _log_probability(law: Any, shape: tuple[int, ...]) -> np.ndarray:
    """log P(x_1 < … < x_k) of independent known laws (*shape[:-1]), by F_i(x) = P(x_1 < … < x_i ≤ x)."""
    # Quantiles of every entry, the tails too: F changes nowhere else.
    q = np.concatenate([np.logspace(-15, -3, 200), np.linspace(1e-3, 1 - 1e-3, POINTS), 1 - np.logspace(-3, -15, 200)])
    each = np.broadcast_to(law.quantile(q.reshape(-1, *(1,) * len(shape))), (q.size, *shape))
    points = np.sort(np.moveaxis(each, -1, 1).reshape(q.size * shape[-1], *shape[:-1]), axis=0)
    cdf = np.broadcast_to(law.cdf(points[..., None]), (*points.shape, shape[-1]))
    total = cdf[..., 0]
    for i in range(1, shape[-1]):
        mass = np.diff(cdf[..., i], axis=0, prepend=0.0)
        middle = 0.5 * (total + np.concatenate([np.zeros_like(total[:1]), total[:-1]]))
        total = np.cumsum(middle * mass, axis=0)
    with np.errstate(divide="ignore"):
        return np.log(total[-1])


def drawn_in_order(node: Node, draw: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """n draws (n, *shape) of an ordered node: sorted if all of its axis has one law, else those that are in order.

    draw : numbers of draws → one draw without order for each. Raises `NumericalError` where the order is too rare.
    """
    if _is_one_law(node.law):
        return np.sort(draw(np.arange(n)), axis=-1)
    found, left = np.empty((n, *node.shape)), np.arange(n)
    for _ in range(ROUNDS):
        tried = draw(left)
        good = (np.diff(tried, axis=-1) > 0).reshape(len(left), -1).all(axis=1)
        found[left[good]] = tried[good]
        left = left[~good]
        if not left.size:
            return found
    raise NumericalError(f"{node.name}: draws in increasing order are too rare under its law.", value=node.name,
                         remedy="Give its entries laws whose means are in order.")  # fmt: skip


def typical_in_order(node: Node) -> np.ndarray:
    """Medians of the order statistics of a standard start, inside the node's ends."""
    k = node.shape[-1]
    low, high = float(np.max(node.support.low)), float(np.min(node.support.high))
    law: Any = node.law
    share = (np.arange(k) + 0.5) / k
    known = not any(isinstance(v, Node) and v.kind != "constant" for v in law.parameters.values())
    if known and not isinstance(law, Flat):
        rows = np.sort(np.broadcast_to(law.quantile(share), node.shape), axis=-1)
        if np.all(np.diff(rows, axis=-1) > 0.0):
            return rows.astype(np.float64)
    if np.isfinite(low) and np.isfinite(high):
        rows = low + (high - low) * share
    else:
        rows = low + np.arange(1.0, k + 1.0) if np.isfinite(low) else np.arange(k) - 0.5 * (k - 1)
        rows = high - np.arange(k, 0.0, -1.0) if np.isfinite(high) else rows
    return np.broadcast_to(rows, node.shape).astype(np.float64)
