"""Independent draws from P(x | evidence): elimination, and then each node given those after it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ZeroProbabilityError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.sampling.arrays import Findings, NetworkArrays
from credo.models.network.sampling.forward import checked_count
from credo.probability.factors.elimination import MEMORY_LIMIT
from credo.probability.factors.elimination.memory import check_memory
from credo.probability.factors.elimination.orders import bits, elimination_orders

__all__ = ["posterior_sample"]

# Axes that an array may have, in every NumPy that is supported.
MOST_AXES = 32

Table = tuple[tuple[int, ...], np.ndarray]  # nodes, one an axis; values


@dataclass(frozen=True, eq=False)
class Step:
    """A node and the table over those that are drawn before it and itself, its own axis last, up to a factor a row."""

    node: int
    given: tuple[int, ...]
    table: np.ndarray


def posterior_sample(
    definition: NetworkDefinition,
    n: int,
    evidence: Mapping[str, Any] | None,
    rng: np.random.Generator,
    *,
    memory_limit: int = MEMORY_LIMIT,
) -> dict[str, np.ndarray]:
    """Independent draws from P(x | evidence), exactly: {node: states (n,)}.

    Nodes are summed out one after another; the table that each was summed out of is its law given the nodes that are
    still there, so that going back all are drawn, n at once. Soft evidence counts as elsewhere.

    Cost: one elimination, whose tables are all kept, and O(n × Σ states).

    Raises
    ------
    ZeroProbabilityError : evidence that cannot be. MemoryLimitError : tables beyond `memory_limit`.

    >>> wet = NetworkDefinition(
    ...     {"rain": (0, 1), "wet": (0, 1)}, {"wet": ("rain",)}, {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}
    ... )
    >>> x = posterior_sample(wet, 100_000, {"wet": 1}, np.random.default_rng(0))
    >>> bool(abs(x["rain"].mean() - 2 / 3) < 0.006), set(x["wet"].tolist())
    (True, {1})
    """
    arrays = NetworkArrays.of(definition)
    n = checked_count("posterior_sample", "n", n, 0)
    seen = arrays.findings(evidence)
    steps = eliminated(arrays, seen, memory_limit)
    codes = np.empty((len(arrays.names), n), dtype=np.int32)
    for node, state in seen.hard.items():
        codes[node] = state
    for step in reversed(steps):
        rows = np.zeros(n, dtype=np.int64)
        for node, stride in zip(step.given, _strides(step.table.shape[:-1]), strict=True):
            rows += stride * codes[node]
        above = np.cumsum(step.table.reshape(-1, step.table.shape[-1]), axis=1)
        total = above[:, -1].copy()
        above[above >= above[:, -1:]] = np.inf
        u = rng.random(n) * total[rows]
        state = np.zeros(n, dtype=np.int32)
        for k in range(above.shape[1] - 1):
            state += u >= above[rows, k]
        codes[step.node] = state
    return arrays.decoded(codes)


def eliminated(arrays: NetworkArrays, seen: Findings, memory_limit: int) -> list[Step]:
    """The steps of an elimination, each with what it summed over."""
    tables = _tables(arrays, seen)
    weight = [math.log2(r) for r in arrays.sizes]
    masks = [sum(1 << v for v in names) for names, _ in tables if names]
    hidden = sum(1 << v for v in range(len(arrays.sizes)) if v not in seen.hard)
    order = elimination_orders(masks, weight, [hidden])[0]
    _check(order, masks, arrays.sizes, memory_limit)
    if any(not names and not values > 0.0 for names, values in tables):
        raise _impossible()
    waiting: dict[int, list[Table]] = {v: [] for v in order}
    rank = {v: i for i, v in enumerate(order)}

    def wait(table: Table) -> None:
        if table[0]:
            waiting[min(table[0], key=rank.__getitem__)].append(table)

    for table in tables:
        wait(table)
    steps = []
    for v in order:
        names = sorted({name for own, _ in waiting[v] for name in own if name != v}, key=rank.__getitem__)
        product = _product(waiting.pop(v), (*names, v), arrays.sizes)
        top = float(product.max())
        if not top > 0.0:
            raise _impossible()
        product /= top
        steps.append(Step(v, tuple(names), product))
        wait((tuple(names), product.sum(axis=-1)))
    return steps


def _impossible() -> ZeroProbabilityError:
    return ZeroProbabilityError("posterior_sample: P(evidence) = 0.", remedy="Leave out or correct a finding.")


def _tables(arrays: NetworkArrays, seen: Findings) -> list[Table]:
    """The families' tables at the states that are known, and likelihoods."""
    tables: list[Table] = []
    for family in arrays.families:
        names = (*family.parents, family.node)
        table = family.table.reshape([arrays.sizes[v] for v in names])
        table = table[tuple(seen.hard.get(v, slice(None)) for v in names)]
        tables.append((tuple(v for v in names if v not in seen.hard), table))
    return tables + [((v,), np.asarray(likelihood, dtype=np.float64)) for v, likelihood in seen.soft.items()]


def _product(tables: Sequence[Table], names: tuple[int, ...], sizes: Sequence[int]) -> np.ndarray:
    product = np.ones([sizes[v] for v in names])
    axis = {v: i for i, v in enumerate(names)}
    for own, values in tables:
        order = sorted(range(len(own)), key=lambda i: axis[own[i]])
        shape = [sizes[v] if v in own else 1 for v in names]
        product *= values.transpose(order).reshape(shape)
    return product


def _check(order: Sequence[int], masks: Sequence[int], sizes: Sequence[int], memory_limit: int) -> None:
    """The tables' bytes, counted before there is any."""
    near = [0] * len(sizes)
    for mask in masks:
        for v in bits(mask):
            near[v] |= mask
    needed, widest = 0, 0
    for v in order:
        others = near[v] & ~(1 << v)
        needed += 16 * sizes[v] * math.prod(sizes[u] for u in bits(others))
        widest = max(widest, others.bit_count() + 1)
        for u in bits(others):
            near[u] = (near[u] | others) & ~(1 << v)
    check_memory(needed if widest <= MOST_AXES else max(needed, memory_limit + 1), memory_limit)


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]
