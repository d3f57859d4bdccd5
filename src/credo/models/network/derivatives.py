"""How the probability of evidence hangs on every number of every table: all derivatives in two passes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.network.definition import NetworkDefinition
from credo.probability.factors.elimination.memory import check_memory
from credo.probability.factors.elimination.orders import elimination_orders
from credo.probability.factors.elimination.steps import NOTHING, StepTree, forward

__all__ = ["Derivatives", "table_derivatives"]

# Products of two tables of more entries are left to BLAS.
LARGE = 1 << 14


@dataclass(frozen=True, eq=False)
class Derivatives:
    """P(evidence) = total · exp(log_scale), and ∂P/∂(tables) = by_node · exp(log_scale).

    by_node : node → an array of the shape of its table, 0 where the evidence has another state ; total : 1, or 0
    """

    by_node: Mapping[str, np.ndarray]
    total: float
    log_scale: float


def table_derivatives(definition: NetworkDefinition, evidence: Mapping[str, Any], memory_limit: int) -> Derivatives:
    """P(evidence) is linear in each table: Σ over its entries of the entry times the derivative, which is returned.

    The products of an elimination, gone through forwards, and backwards by the chain rule (Darwiche 2003, A
    differential approach to inference in Bayesian networks, J. ACM 50).

    Raises `MemoryLimitError`. Cost: three times that of P(evidence).
    """
    number = {name: v for v, name in enumerate(definition.nodes)}
    sizes = [len(states) for states in definition.states.values()]
    families = [(*definition.parents[name], name) for name in definition.nodes]
    values, axes, places = [], [], []
    for name, family in zip(definition.nodes, families, strict=True):
        place: Any = tuple(definition.states[n].index(evidence[n]) if n in evidence else slice(None) for n in family)
        places.append(place)
        values.append(definition.tables[name][place])
        axes.append(tuple(number[n] for n in family if n not in evidence))
    tree = _tree(axes, sizes, memory_limit)
    values, scales = _forwards(tree, values)
    adjoints = _backwards(tree, values, scales, len(axes))
    by_node = {}
    for place, name, found in zip(places, definition.nodes, adjoints, strict=True):
        by_node[name] = np.zeros(definition.tables[name].shape)
        by_node[name][place] = found
    total = math.prod(float(values[i]) for i in tree.roots)
    return Derivatives(by_node, total, sum(math.log(scale) for scale in scales))


def _tree(axes: Sequence[tuple[int, ...]], sizes: Sequence[int], memory_limit: int) -> StepTree:
    weight = [math.log2(n) for n in sizes]
    masks = [sum(1 << v for v in scope) for scope in axes]
    hidden = 0
    for mask in masks:
        hidden |= mask
    orders = elimination_orders(masks, weight, [hidden] if hidden else [])
    trees = [forward(axes, order, (), weight, hidden, 0) for order in orders or [[]]]
    tree = min(trees, key=lambda each: each.entries(weight))
    check_memory(8 * 3 * sum(math.prod(sizes[v] for v in scope) for scope in tree.axes), memory_limit)
    return tree


def _forwards(tree: StepTree, given: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[float]]:
    """Every table formed, divided by its largest entry; and the divisors, step by step."""
    values, scales = list(given), []
    for step in tree.steps:
        a, b = (step.a, step.b) if step.b != NOTHING else (step.a, None)
        found = _product(tree, values, a, b, tree.axes[step.out])
        top = float(found.max())
        scales.append(top if top > 0.0 else 1.0)
        values.append(found / scales[-1])
    return values, scales


def _product(tree: StepTree, values: Sequence[np.ndarray], a: int, b: int | None, out: tuple[int, ...]) -> np.ndarray:
    pairs = [(values[i], tree.axes[i]) for i in (a, b) if i is not None]
    return _summed(pairs, out)


def _summed(pairs: Sequence[tuple[np.ndarray, tuple[int, ...]]], out: tuple[int, ...]) -> np.ndarray:
    """Σ of the product over the axes that `out` lacks."""
    label = {v: i for i, v in enumerate(dict.fromkeys(v for _, scope in pairs for v in scope))}
    operands: list[Any] = []
    for table, scope in pairs:
        operands += [table, [label[v] for v in scope]]
    large = len(pairs) == 2 and max(table.size for table, _ in pairs) > LARGE
    return np.asarray(np.einsum(*operands, [label[v] for v in out], optimize=large))


def _backwards(tree: StepTree, values: Sequence[np.ndarray], scales: Sequence[float], n_given: int) -> list[np.ndarray]:
    """Derivatives of the (scaled) total by the tables given."""
    adjoint: list[Any] = [None] * len(tree.axes)
    for i in tree.roots:  # the total is the product of the roots
        adjoint[i] = np.array(math.prod(float(values[j]) for j in tree.roots if j != i))
    for step, scale in zip(reversed(tree.steps), reversed(scales), strict=True):
        above = adjoint[step.out] / scale
        adjoint[step.out] = None
        for mine, other in ((step.a, step.b), (step.b, step.a)):
            if mine == NOTHING:
                continue
            pairs = [(above, tree.axes[step.out])]
            if other != NOTHING:
                pairs.append((values[other], tree.axes[other]))
            known = {v for _, scope in pairs for v in scope}
            held = tuple(v for v in tree.axes[mine] if v in known)
            found = _summed(pairs, held)
            spread = tuple(slice(None) if v in known else None for v in tree.axes[mine])
            adjoint[mine] = np.broadcast_to(found[spread], np.shape(values[mine]))
    return adjoint[:n_given]
