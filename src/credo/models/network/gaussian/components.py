"""Continuous nodes of a conditional Gaussian network: which hang together, and what each of their configurations says.

Given the discrete nodes all continuous ones are jointly normal. Arrows out of observed continuous nodes carry a known
number, so that they are cut; what is left falls apart into components, and each speaks of its own discrete parents
alone. A component of d nodes whose discrete parents have K configurations costs K d³.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from credo.errors import MemoryLimitError
from credo.models.network.gaussian.equations import residual, responses, whitened
from credo.models.network.separation import reached

__all__ = ["Cells", "Component", "Evaluated", "evaluate", "split_components"]


@dataclass(frozen=True, eq=False)
class Cells:
    """A node's equations: discrete and continuous parents; intercepts, sds (\\*sizes), coefficients (\\*sizes, c)."""

    discrete: tuple[str, ...]
    continuous: tuple[str, ...]
    intercepts: np.ndarray
    coefficients: np.ndarray
    sds: np.ndarray


@dataclass(frozen=True)
class Component:
    """nodes, parents before children; scope: the discrete parents whose states are open."""

    nodes: tuple[str, ...]
    scope: tuple[str, ...]


def split_components(
    cells: Mapping[str, Cells],
    order: Sequence[str],
    observed: Iterable[str],
    targets: Iterable[str],
    fixed: Iterable[str],
) -> list[Component]:
    """Components of what matters to evidence on `observed` and to `targets`; `fixed`: discrete nodes of known state."""
    observed, fixed = set(observed), set(fixed)
    relevant = reached({node: own.continuous for node, own in cells.items()}, [*observed, *targets])
    group = {node: {node} for node in relevant}
    for node in relevant:
        for parent in cells[node].continuous:
            if parent not in observed and group[parent] is not group[node]:
                merged = group[parent] | group[node]
                group |= dict.fromkeys(merged, merged)
    found, done = [], set()
    for node in order:
        if node in relevant and node not in done:
            nodes = tuple(name for name in order if name in group[node])
            done.update(nodes)
            scope = dict.fromkeys(p for name in nodes for p in cells[name].discrete if p not in fixed)
            found.append(Component(nodes, tuple(scope)))
    return found


@dataclass(frozen=True, eq=False)
class Evaluated:
    """log_density (n, K) of the rows' evidence under each configuration; means (n, K, t) of the targets and what is
    left open of them, rows (K, t, d); dense (n, K): whether there is a density."""

    log_density: np.ndarray
    dense: np.ndarray
    means: np.ndarray
    rows: np.ndarray


def evaluate(
    cells: Mapping[str, Cells],
    component: Component,
    sizes: Sequence[int],
    fixed: Mapping[str, int],
    values: Mapping[str, np.ndarray],
    targets: Sequence[str],
    memory_limit: int,
) -> Evaluated:
    """values {observed node: (n,)}; sizes of the component's scope; fixed {discrete node: number of its state}."""
    nodes, k, d = component.nodes, math.prod(sizes), len(component.nodes)
    n = next((len(v) for v in values.values()), 1)
    _check_memory(component, k, d, n, memory_limit)
    grid = dict(zip(component.scope, np.unravel_index(np.arange(k), tuple(sizes)) if sizes else (), strict=True))
    place = {node: i for i, node in enumerate(nodes)}
    weights, sds, intercepts = np.zeros((k, d, d)), np.empty((k, d)), np.empty((n, k, d))
    for i, node in enumerate(nodes):
        own = cells[node]
        at = tuple(grid[p] if p in grid else fixed[p] for p in own.discrete)
        sds[:, i] = own.sds[at]
        intercepts[:, :, i] = own.intercepts[at]
        for parent, w in zip(own.continuous, np.moveaxis(own.coefficients[at], -1, 0), strict=True):
            if parent in values:
                intercepts[:, :, i] += w * values[parent][:, None]
            else:
                weights[:, i, place[parent]] = w
    gain = responses(weights, np.zeros((k, d)), np.ones((k, d)))[1]  # (I − W)⁻¹
    mean = np.matmul(gain, intercepts[..., None])[..., 0]
    a = gain * sds[:, None]
    seen = [i for i, node in enumerate(nodes) if node in values]
    parts = whitened(a[:, seen])
    given = np.stack([values[nodes[i]] for i in seen], axis=-1)[:, None] if seen else np.zeros((n, 1, 0))
    z, possible = parts.noises(given, mean[..., seen])
    log_density = np.where(possible, parts.log_density(z), -np.inf)
    # a value of probability 1 under one configuration and a density under another cannot be weighed
    dense = ~possible | (parts.dense & (parts.varying == parts.varying.max()))
    wanted = [place[node] for node in targets]
    means = mean[..., wanted] + np.matmul(np.matmul(a[:, wanted], parts.basis), z[..., None])[..., 0]
    return Evaluated(log_density, dense, means, residual(a[:, wanted], parts.basis))


def _check_memory(component: Component, k: int, d: int, n: int, limit: int) -> None:
    """Weights, (I − W)⁻¹ and A; means, deviations and noises of each row."""
    needed = 8 * k * d * (4 * d + 4 * n)
    if needed > limit:
        some = ", ".join(component.nodes[:8]) + (", …" if d > 8 else "")
        raise MemoryLimitError(
            f"ConditionalGaussianNetwork: the {k} configurations of {', '.join(component.scope[:8])} under {some} "
            f"would need {needed / 2**30:.3g} GiB, above memory_limit = {limit / 2**30:.3g} GiB.",
            value=needed,
            remedy="Observe more of these nodes, or raise memory_limit.",
        )
