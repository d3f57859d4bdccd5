"""Normal–Inverse-Gamma: one variance v that scales every Normal of a block.

If v ~ InverseGamma(a, b), all else of θ is known, and every sd of the block is a number times √v, then with R rows
and p latent entries

    ∫ of the block given v = C v^{−(R − p)/2} exp(−Q/2v),

so that v | data ~ InverseGamma(a + (R − p)/2, b + Q/2), z | v ~ Normal(ẑ, v V), and both are exact: z is Student-t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.distributions import Flat, InverseGamma, Normal
from credo.program.model import Factor
from credo.program.nodes import Node, as_node
from credo.program.passes.affine import NotAffineError, dependencies
from credo.program.passes.collapse import Block

__all__ = ["common_variance"]


def common_variance(factors: Sequence[Factor], block: Block, rest: Sequence[Node]) -> Node | None:
    """The variance, where the model is of that form; None otherwise."""
    if len(rest) != 1 or not isinstance(rest[0].law, InverseGamma) or not rest[0].is_scalar:
        return None
    variance, memo = rest[0], block.forms._dependencies
    if any(dependencies(parent, memo) for parent in variance.parents):
        return None
    for factor in factors:
        if factor.node is variance or isinstance(factor.law, Flat):
            continue
        if not any(variance.number in dependencies(part, memo) for part in factor.parts):
            if block.touches(factor):
                return None  # a row of the block whose scale is known: v does not scale all
            continue
        if not isinstance(factor.law, Normal) or not _scales(factor, variance, block, memo):
            return None
    return variance


def _scales(factor: Factor, variance: Node, block: Block, memo: dict[int, frozenset[int]]) -> bool:
    """Whether the factor's sd is known × √v, and v is nowhere else in it, and the block is."""
    law: Any = factor.law
    outside = [factor.node, as_node(law.mean)]
    if any(variance.number in dependencies(part, memo) for part in outside):
        return False
    if not any(block.forms.in_block(part) for part in outside):
        return False
    try:
        terms = block.forms.form(as_node(law.sd))
    except NotAffineError:
        return False
    return all(
        term.row is None and term.coefficient is not None and term.coefficient.kind == "sqrt"
        and term.coefficient.parents[0] is variance and term.vector is not None and np.all(term.vector >= 0.0)
        for term in terms
    )  # fmt: skip
