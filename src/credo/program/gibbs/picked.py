"""Cells that latent states pick: mu[z], sigma[z], a[group, z].

Of real numbers, which a Gaussian block may hold, they are spread into sums that are linear in mu: Σ_k [z = k] mu[k].
Given the states this is what it is; and to the passes that look for blocks it is an ordinary expression of the entries
of mu, with rows of coefficients 0 and 1. All others stay picks, of a kind that these passes do not look into; which
entry each cell holds is then a matter of the state (`Places`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from credo.distributions.slopes import unchecked
from credo.program.density import is_opaque
from credo.program.gibbs.expressions import PICKED, Expressions, State
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node, topological
from credo.program.ops import OPS, Op
from credo.program.passes.affine import dependencies
from credo.program.passes.centring import substituted
from credo.program.passes.powers import Memo, gathered

__all__ = ["Placed", "Places", "placed", "with_picks_spread"]

#: entries that are spread; of more, none is in a block
MOST = 24

OPS.setdefault(
    "is_state",
    Op("is_state", lambda values, lead, static: (values[0] == static["k"]).astype(np.float64),
       lambda gradient, out, values, static: (None,), lambda ranges, static: (0.0, 1.0), True, "[{args}]"),
)  # fmt: skip
OPS.setdefault(
    PICKED,
    Op(PICKED, OPS["pick"].forward, OPS["pick"].pull, lambda ranges, static: ranges[0], False, "{0}[{rest}]"),
)


def with_picks_spread(factors: Sequence[Factor], memo: Memo) -> list[Factor]:
    """Factors in which every pick by latent codes is spread, or set apart."""
    return [_spread(factor, memo) for factor in factors]


def _spread(factor: Factor, memo: Memo) -> Factor:
    law = factor.law
    if law is None or is_opaque(law):
        return factor
    mapping: dict[int, Node] = {}
    for node in topological(factor.parts):
        if node.kind in ("take", "pick") and any(dependencies(codes, memo) for codes in node.parents[1:]):
            source, *codes = (substituted(parent, mapping) for parent in node.parents)
            mapping[node.number] = _sum_of(node, source, codes, memo)
    if not mapping:
        return factor
    parameters = {k: substituted(v, mapping) if isinstance(v, Node) else v for k, v in law.parameters.items()}
    node = factor.node if factor.node.kind in ("latent", "observed") else substituted(factor.node, mapping)
    return Factor(factor.name, unchecked(type(law), parameters), node, factor.observed, factor.missing, factor.hidden)


def _sum_of(pick: Node, source: Node, codes: Sequence[Node], memo: Memo) -> Node:
    latent = [axis for axis, each in enumerate(codes) if dependencies(each, memo)]
    axis = latent[0]
    if len(latent) > 1 or source.shape[axis] > MOST or not _may_be_in_a_block(source):
        return Node(PICKED, [source, *codes], shape=pick.shape, dims=pick.dims)
    total = None
    for k in range(source.shape[axis]):
        indicator = Node("is_state", [codes[axis]], shape=codes[axis].shape, dims=codes[axis].dims, static={"k": k})
        indicator = indicator.reshape(*indicator.shape, *(1,) * (source.ndim - len(codes)))
        term = apply("multiply", indicator, source[(*codes[:axis], k, *codes[axis + 1 :])])
        total = term if total is None else apply("add", total, term)
    assert total is not None
    return total


def _may_be_in_a_block(source: Node) -> bool:
    """Whether a latent node without bounds is in it."""
    supports = (node.support for node in topological([source]) if node.kind == "latent")
    return any(each.kind == "real" and not np.any(np.isfinite(each.low)) and not np.any(np.isfinite(each.high))
               for each in supports)  # fmt: skip


# -- which entry of a node each cell holds -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Placed:
    """entries : which entry of the node each cell of an expression holds, or, where states pick, which cell of `picked`
    says so; exponent : of the node there"""

    entries: np.ndarray
    exponent: float
    picked: Node | None = None


Form = Callable[[Node, Node, Memo], "Placed | None"]


def placed(value: Node, node: Node, memo: Memo, form: Form) -> Placed | None:
    """Where an expression holds the node, by `form`, which knows of fixed entries only: before one pick by states and
    after it."""
    found = form(value, node, memo)
    if found is not None:
        return found
    picks = [each for each in topological([value])
             if each.kind == PICKED and node.number in dependencies(each.parents[0], memo)]  # fmt: skip
    if len(picks) != 1 or any(node.number in dependencies(codes, memo) for codes in picks[0].parents[1:]):
        return None
    stand_in = Node("latent", (), shape=picks[0].shape, dims=picks[0].dims)
    outside = substituted(value, {picks[0].number: stand_in})
    if node.number in dependencies(outside, memo):
        return None
    before, after = form(picks[0].parents[0], node, memo), form(outside, stand_in, memo)
    if before is None or after is None:
        return None
    picked = Node(PICKED, [as_node(before.entries), *picks[0].parents[1:]], shape=picks[0].shape, dims=picks[0].dims)
    return Placed(after.entries, before.exponent * after.exponent, picked)


class Places:
    """The entries of a node that cells of this shape hold, at any state."""

    def __init__(self, found: Placed, node: Node, latents: Sequence[Node], memo: Memo) -> None:
        self.entries, self.size = found.entries, node.size
        self._picked = None if found.picked is None else Expressions([found.picked], latents, found.picked.ndim, memo)

    def is_each_by_itself(self) -> bool:
        """Whether every entry is in one cell, in order."""
        return self._picked is None and np.array_equal(self.entries.ravel(), np.arange(self.size))

    def gathered(self, x: np.ndarray, state: State) -> np.ndarray:
        """Sums of cells by entry, (chains or 1, size): x broadcasts against (chains, *cells)."""
        if self._picked is None:
            return gathered(x, self.entries, self.size)
        (at,) = self._picked(state)
        at = at.reshape(len(at), -1)[:, self.entries].astype(np.intp)
        rows = np.broadcast_to(x, at.shape).ravel()
        at = at.reshape(len(at), -1) + self.size * np.arange(len(at))[:, None]
        return np.bincount(at.ravel(), rows, minlength=len(at) * self.size).reshape(len(at), self.size)
