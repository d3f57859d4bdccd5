"""A model written as a statistician would: one line a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.distributions.base import Family
from credo.program.nodes import Node, as_node, described

if TYPE_CHECKING:
    from credo.program.model import Model

__all__ = ["law_written", "written"]


def written(model: Model) -> str:
    """The lines of `repr(model)`: priors, definitions, observations."""
    lines = []
    for node in model.nodes.values():
        if node.kind == "data":
            continue
        axes = ", ".join(f"{d}:{n}" if d else str(n) for d, n in zip(node.dims, node.shape))
        left = f"{node.name}[{axes}]" if axes else str(node.name)
        factor = next((f for f in model.factors if f.node is node), None)
        if factor is None:
            lines.append(f"{left} = {described(node.parents[0])}")
        elif factor.law is None:
            lines.append(f"log density += sum({described(node.parents[0])})   {node.name}")
        else:
            is_ordered = node.kind == "latent" and node.support.kind == "ordered"
            said = "   observed" if factor.observed else "   ordered" if is_ordered else ""
            said += f", {factor.missing.size} missing" if factor.missing is not None else ""
            lines.append(f"{left} ~ {law_written(factor.law)}{said}")
    return "\n  ".join(["Model", *lines])


def law_written(law: Family) -> str:
    """Normal(X @ w, sigma)."""
    parts = []
    for value in law.parameters.values():
        if isinstance(value, (Node, int, float, np.ndarray, np.generic, list)):
            parts.append(described(as_node(value)))
        else:
            parts.append(law_written(value) if isinstance(value, Family) else str(value))
    return f"{type(law).__name__}({', '.join(parts)})"
