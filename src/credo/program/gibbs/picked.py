"""Entries that latent states pick, mu[z], as sums that are linear in mu: Σ_k [z = k] mu[k].

Given the states this is what it is; and to the passes that look for blocks and powers it is an ordinary expression of
the entries of mu, with rows of coefficients 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credo.distributions.slopes import unchecked
from credo.program.density import is_opaque
from credo.program.model import Factor
from credo.program.nodes import Node, apply, topological
from credo.program.ops import OPS, Op
from credo.program.passes.affine import dependencies
from credo.program.passes.centring import substituted
from credo.program.passes.powers import Memo

__all__ = ["with_picks_spread"]

#: entries that are spread; of more, none is in a block
MOST = 24

OPS.setdefault(
    "is_state",
    Op("is_state", lambda values, lead, static: (values[0] == static["k"]).astype(np.float64),
       lambda gradient, out, values, static: (None,), lambda ranges, static: (0.0, 1.0), True, "[{args}]"),
)  # fmt: skip
OPS.setdefault(
    "picked_by_states",
    Op("picked_by_states", OPS["take"].forward, OPS["take"].pull, lambda ranges, static: ranges[0], False, "{0}[{1}]"),
)


def with_picks_spread(factors: Sequence[Factor], memo: Memo) -> list[Factor]:
    """Factors in which every pick by latent codes from latent entries is spread, or set apart where there are many."""
    return [_spread(factor, memo) for factor in factors]


def _spread(factor: Factor, memo: Memo) -> Factor:
    law = factor.law
    if law is None or is_opaque(law):
        return factor
    picks = [
        node
        for node in topological(factor.parts)
        if node.kind == "take" and dependencies(node.parents[1], memo) and dependencies(node.parents[0], memo)
    ]
    if not picks:
        return factor
    mapping = {node.number: _sum_of(node) for node in picks}
    parameters = {k: substituted(v, mapping) if isinstance(v, Node) else v for k, v in law.parameters.items()}
    node = factor.node if factor.node.kind in ("latent", "observed") else substituted(factor.node, mapping)
    return Factor(factor.name, unchecked(type(law), parameters), node, factor.observed, factor.missing, factor.hidden)


def _sum_of(node: Node) -> Node:
    source, codes = node.parents
    if source.shape[0] > MOST:
        return Node("picked_by_states", node.parents, shape=node.shape, dims=node.dims, static=node.static)
    total = None
    for k in range(source.shape[0]):
        indicator = Node("is_state", [codes], shape=codes.shape, dims=codes.dims, static={"k": float(k)})
        for _ in range(source.ndim - 1):
            indicator = indicator.reshape(*indicator.shape, 1)
        term = apply("multiply", indicator, source[k])
        total = term if total is None else apply("add", total, term)
    assert total is not None
    return total
