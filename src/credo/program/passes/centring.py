"""Centred or not: a latent node x ~ Normal(μ, τ) whose μ or τ is latent is sampled as it is, or as z = (x − μ)/τ.

Where data tell much of each entry, x and (μ, τ) are nearly independent a posteriori, and the node is sampled as it is;
where they tell little, x lies in a funnel below τ, and z is the better coordinate (Papaspiliopoulos, Roberts and Sköld
2007, Statistical Science 22). The share is decided by curvatures: of the log likelihood in each entry of x, against the
prior precision 1/τ², where all latent nodes are at the medians of their priors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions import Normal
from credo.distributions.slopes import unchecked
from credo.errors import CredoError
from credo.program.evaluate import Program
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node
from credo.program.passes.affine import dependencies

__all__ = ["Centring", "centred", "substituted", "typical"]

# The step of the second differences, in sds of the node.
STEP = 1e-2


@dataclass(frozen=True, eq=False)
class Centring:
    """factors, latents : with z in the place of nodes that are sampled non-centred; restore : (node, its expression in
    z); informed : node name → the data's share of the precision of its entries, the median"""

    factors: tuple[Factor, ...]
    latents: tuple[Node, ...]
    restore: tuple[tuple[Node, Node], ...]
    informed: dict[str, float]


def centred(factors: Sequence[Factor], latents: Sequence[Node]) -> Centring:
    """The coordinates for a sampler, chosen from the data."""
    memo: dict[int, frozenset[int]] = {}
    own = {f.node.number: f for f in factors if not f.observed and f.law is not None}
    hierarchical = [
        node for node in latents
        if isinstance(node.law, Normal) and node.support.kind == "real" and node.number in own
        and any(dependencies(v, memo) for v in node.parents)
    ]  # fmt: skip
    informed = _information(hierarchical, factors, latents)
    mapping: dict[int, Node] = {}
    restore: list[tuple[Node, Node]] = []
    changed: dict[int, Node] = {}
    for node in sorted(hierarchical, key=lambda n: n.number):
        if informed[str(node.name)] >= 0.5:
            continue
        law: Any = node.law
        z = Node("latent", shape=node.shape, dims=node.dims, name=str(node.name), law=Normal(0.0, 1.0),
                 static=dict(node.static), model=node.model)  # fmt: skip
        mean, sd = (substituted(as_node(v), mapping) for v in (law.mean, law.sd))
        expression = apply("add", mean, apply("multiply", sd, z))
        mapping[node.number] = expression
        restore.append((node, expression))
        changed[node.number] = z
    if not changed:
        return Centring(tuple(factors), tuple(latents), (), informed)
    new = [changed.get(node.number, node) for node in latents]
    rewritten = []
    for factor in factors:
        if factor.node.number in changed:
            z = changed[factor.node.number]
            rewritten.append(Factor(factor.name, z.law, z, False))
            continue
        law = factor.law
        if law is not None:
            parameters = {k: substituted(v, mapping) if isinstance(v, Node) else v for k, v in law.parameters.items()}
            law = unchecked(type(law), parameters)
        node = substituted(factor.node, mapping)
        rewritten.append(Factor(factor.name, law, node, factor.observed, factor.missing, factor.hidden))
    return Centring(tuple(rewritten), tuple(new), tuple(restore), informed)


def substituted(node: Node, mapping: dict[int, Node]) -> Node:
    """An expression with some of its nodes replaced; parts without them are kept as they are."""
    if not mapping:
        return node
    known: dict[int, Node] = {}

    def visit(each: Node) -> Node:
        if each.number in mapping:
            return mapping[each.number]
        if each.number in known or not each.is_operation:
            return known.get(each.number, each)
        parents = [visit(parent) for parent in each.parents]
        same = all(a is b for a, b in zip(parents, each.parents))
        known[each.number] = each if same else Node(each.kind, parents, shape=each.shape, dims=each.dims,
                                                    name=each.name, static=each.static, model=each.model)  # fmt: skip
        return known[each.number]

    return visit(node)


def _information(hierarchical: Sequence[Node], factors: Sequence[Factor], latents: Sequence[Node]) -> dict[str, float]:
    """The data's share of the precision of a node's entries, I/(I + 1/τ²), the median over entries."""
    if not hierarchical:
        return {}
    own = {node.number for node in hierarchical}
    terms = [f.term for f in factors if f.node.number not in own]
    values = {node.number: typical(node) for node in latents}
    shares = {}
    for node in hierarchical:
        law: Any = node.law
        mean, sd = Program([as_node(law.mean), as_node(law.sd)], latents).values(values)
        at = {**values, node.number: np.broadcast_to(mean, node.shape).astype(np.float64)}
        step = STEP * np.broadcast_to(sd, node.shape)
        slopes = []
        for sign in (1.0, -1.0):
            program = Program(terms, latents)
            outputs, pull = program.value_and_pull({**at, node.number: at[node.number] + sign * step})
            slopes.append(pull([1.0] * len(outputs))[node.number])
        with np.errstate(all="ignore"):
            curvature = np.maximum(-(slopes[0] - slopes[1]) / (2.0 * step), 0.0)
            share = curvature / (curvature + 1.0 / np.square(sd))
        shares[str(node.name)] = float(np.nanmedian(share)) if np.isfinite(share).any() else 0.0
    return shares


def typical(node: Node) -> np.ndarray:
    """The median of its prior where that is known, else a point inside its support."""
    if node.support.kind == "ordered":
        from credo.program.finite.ordered import typical_in_order

        return typical_in_order(node)
    law: Any = node.law
    if not any(isinstance(v, Node) for v in law.parameters.values()) and hasattr(law, "quantile"):
        with contextlib.suppress(CredoError):  # a flat law has no quantiles
            return np.broadcast_to(np.asarray(law.quantile(0.5), dtype=np.float64), node.shape)
    support = node.support
    if support.kind == "simplex":
        return np.full(node.shape, 1.0 / node.shape[-1])
    low, high = float(np.max(support.low)), float(np.min(support.high))
    if np.isfinite(low) and np.isfinite(high):
        return np.full(node.shape, 0.5 * (low + high))
    return np.full(node.shape, low + 1.0 if np.isfinite(low) else high - 1.0 if np.isfinite(high) else 0.0)
