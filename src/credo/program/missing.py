"""Observed arrays with cells that nobody saw."""

from __future__ import annotations

import numpy as np

from credo.distributions.base import Family
from credo.program.declare import has_states, is_discrete
from credo.program.nodes import Dims, Node, parents_of_law

__all__ = ["with_holes"]


def with_holes(
    name: str, law: Family, array: np.ndarray, axes: Dims, at: np.ndarray, model: object
) -> tuple[Node, Node | None]:
    """The observed node, and the latent vector of its holes, which it is filled with; None where the law is one of
    counts without an end, or of vectors other than Normal. at : their places in C order"""
    parents = parents_of_law(law)
    if (is_discrete(law) and not has_states(law)) or (law.event_ndim and type(law).__name__ != "MultivariateNormal"):
        node = Node("observed", parents, shape=array.shape, dims=axes, name=name, value=array, law=law, model=model)
        return node, None
    hidden = Node("latent", parents, shape=(at.size,), dims=(None,), name=f"{name}_missing", law=law,
                  static={"support": law.support, "hidden": True}, model=model)  # fmt: skip
    value = np.where(np.isfinite(array), array, 0.0)
    value = value.astype(np.int64) if has_states(law) else value  # states: they may pick
    base = Node("constant", shape=array.shape, dims=axes, value=value)
    node = Node("fill", [base, hidden], shape=array.shape, dims=axes, name=name, static={"at": at}, model=model)
    return node, hidden
