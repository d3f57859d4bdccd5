"""The largest linear-Gaussian block: which latent nodes can be integrated out together, given all others.

A node may be in it if its law is Normal or flat, and if wherever the block appears, it is affinely in the mean of a
Normal: never in a standard deviation, in another law, in a product with another of its nodes, or in a curve. With
`sites`, it may be behind a known link of another law of observed cells, too: then it is integrated out by Laplace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions import Flat, MultivariateNormal, Normal
from credo.distributions.slopes import unchecked
from credo.program.model import Factor
from credo.program.nodes import Node, as_node
from credo.program.passes.affine import Affine, NotAffineError, dependencies
from credo.program.passes.covariance import MOST_ROWS
from credo.program.passes.sites import recognised

__all__ = ["Block", "find_block", "in_logarithms"]

#: laws whose factors are rows of the block itself
LINEAR = (Normal, MultivariateNormal, Flat)


@dataclass(frozen=True, eq=False)
class Block:
    """nodes : in the order of their columns; forms : affine forms in them; reasons : node name → why it is left out"""

    nodes: tuple[Node, ...]
    forms: Affine
    reasons: dict[str, str]

    @property
    def size(self) -> int:
        return sum(node.size for node in self.nodes)

    def touches(self, factor: Factor) -> bool:
        """Whether a factor depends on the block."""
        return any(self.forms.in_block(part) for part in factor.parts)

    def is_site(self, factor: Factor) -> bool:
        """Whether a factor depends on the block and is not Normal, or its sd does."""
        if factor.law is None or not self.touches(factor):
            return False
        return not isinstance(factor.law, LINEAR) or _sd_in_block(factor, self.forms)


def in_logarithms(factors: Sequence[Factor]) -> list[Factor]:
    """Observed LogNormal cells as Normal ones of their logarithms, and the constant −Σ log y."""
    found: list[Factor] = []
    for factor in factors:
        law: Any = factor.law
        if type(law).__name__ != "LogNormal" or factor.node.kind != "observed":
            found.append(factor)
            continue
        logs = np.log(np.asarray(factor.node.value, dtype=np.float64))
        normal = unchecked(Normal, {"mean": law.mu, "sd": law.sigma})
        node = Node("observed", factor.node.parents, shape=logs.shape, dims=factor.node.dims, name=factor.name,
                    value=logs, law=normal, model=factor.node.model)  # fmt: skip
        found += [Factor(factor.name, normal, node, True), Factor(factor.name, None, as_node(-logs.sum()), False)]
    return found


def find_block(factors: Sequence[Factor], latents: Sequence[Node], sites: bool = False) -> Block:
    """The maximal block, by taking out what conflicts and then putting back what no longer does.

    sites : whether observed cells of other laws may depend on it through a known link
    """
    memo: dict[int, frozenset[int]] = {}
    reasons: dict[str, str] = {}
    inside = {}
    for node in latents:
        reason = _not_eligible(node, memo)
        if reason is None:
            inside[node.number] = node
        else:
            reasons[str(node.name)] = reason
    removed: dict[int, tuple[Node, str]] = {}
    while inside:
        conflict = _conflict(factors, list(inside.values()), memo, sites)
        if conflict is None:
            break
        reason, options = conflict
        for number in min(options, key=lambda numbers: _loss(numbers, inside)):
            removed[number] = (inside.pop(number), reason)
    for number in sorted(removed, key=lambda k: -removed[k][0].size):
        wider = {**inside, number: removed[number][0]}
        if _conflict(factors, list(wider.values()), memo, sites) is None:
            inside = wider
            del removed[number]
    reasons.update({str(node.name): reason for node, reason in removed.values()})
    nodes = tuple(inside[number] for number in sorted(inside))
    return Block(nodes, _forms(nodes, memo), reasons)


def _not_eligible(node: Node, memo: dict[int, frozenset[int]]) -> str | None:
    support = node.support
    law: Any = node.law
    if support.kind == "ordered":
        return "its entries are in order"
    if support.kind != "real" or np.any(np.isfinite(support.low)) or np.any(np.isfinite(support.high)):
        return f"its law {type(node.law).__name__} is not Normal"
    if isinstance(node.law, (Normal, Flat)):
        return None
    if isinstance(node.law, MultivariateNormal):
        if not dependencies(as_node(law.covariance), memo) or _is_small(node):
            return None
        return "its covariance matrix is not known, and large"
    return f"its law {type(node.law).__name__} is not Normal"


def _loss(numbers: Iterable[int], inside: dict[int, Node]) -> tuple[int, int]:
    """What leaving out these nodes costs: entries that must then be treated numerically."""
    listed = list(numbers)
    return sum(inside[number].size for number in listed), -max(listed)


def _forms(nodes: Sequence[Node], memo: dict[int, frozenset[int]]) -> Affine:
    starts = np.cumsum([0, *(node.size for node in nodes)])
    return Affine({node.number: int(at) for node, at in zip(nodes, starts)}, int(starts[-1]), memo=memo)


def _conflict(
    factors: Sequence[Factor], nodes: Sequence[Node], memo: dict[int, frozenset[int]], sites: bool
) -> tuple[str, list[frozenset[int]]] | None:
    """The first obstacle: why, and the sets of nodes one of which must go; None if there is none."""
    forms = _forms(nodes, memo)
    for factor in factors:
        if factor.law is None:
            if forms.in_block(factor.node):
                return f"it is in the potential {factor.name}", [forms.in_block(factor.node)]
            continue
        parameters = {name: as_node(value) for name, value in factor.law.parameters.items()
                      if isinstance(value, Node)}  # fmt: skip
        if isinstance(factor.law, (Normal, MultivariateNormal)):
            other = "sd" if isinstance(factor.law, Normal) else "covariance"
            if sites and _sd_in_block(factor, forms) and not _not_a_site(factor, forms, _touched(factor, forms)):
                continue
            if other in parameters and forms.in_block(parameters[other]):
                return f"the {other} of {factor.name} depends on it", [forms.in_block(parameters[other])]
            if isinstance(factor.law, MultivariateNormal) and (found := _outside(factor, forms, memo)):
                return f"the covariance of {factor.name} is not known, and large", [found]
            try:
                forms.form(factor.node)
                forms.form(as_node(factor.law.parameters["mean"]))
            except NotAffineError as error:
                options = [option for option in error.remove if option]
                return f"{error.reason} (in {factor.name})", options or [_touched(factor, forms)]
            continue
        touched = _touched(factor, forms)
        if isinstance(factor.law, Flat) or not touched:
            continue
        reason = _not_a_site(factor, forms, touched) if sites else None
        if reason is not None:
            return reason
        if not sites:
            return f"{factor.name} is {type(factor.law).__name__}, not Normal, given it", [touched]
    return None


def _sd_in_block(factor: Factor, forms: Affine) -> bool:
    """Whether a factor is Normal, and the block is in its standard deviation."""
    law: Any = factor.law
    return isinstance(law, Normal) and bool(forms.in_block(as_node(law.sd)))


def _not_a_site(factor: Factor, forms: Affine, touched: frozenset[int]) -> tuple[str, list[frozenset[int]]] | None:
    """Why a factor that is not Normal cannot depend on the block, and what must leave it; None where it can."""
    try:
        forms.form(recognised(factor, forms).eta)
    except NotAffineError as error:
        options = [option for option in error.remove if option]
        return f"{error.reason} (in {factor.name})" if factor.name not in error.reason else error.reason, (
            options or [touched])  # fmt: skip
    return None


def _outside(factor: Factor, forms: Affine, memo: dict[int, frozenset[int]]) -> frozenset[int]:
    """What must leave the block because a Multivariate Normal's large covariance depends on other nodes."""
    law: Any = factor.law
    known = not dependencies(as_node(law.covariance), memo)
    return frozenset() if known or _is_small(factor.node) else _touched(factor, forms)


def _is_small(node: Node) -> bool:
    """Whether a vector may be Normal with a covariance matrix that depends on other nodes."""
    return node.ndim == 1 and node.size <= MOST_ROWS


def _touched(factor: Factor, forms: Affine) -> frozenset[int]:
    return frozenset().union(*(forms.in_block(part) for part in factor.parts))
