"""Which latent nodes have finitely many values, and which these are."""

from __future__ import annotations

import numpy as np

from credo.errors import UnavailableError
from credo.program.evaluate import Program
from credo.program.nodes import Node, as_node

__all__ = ["MOST_STATES", "is_finite", "state_values"]

#: states of one cell; more are a range to be treated as numbers
MOST_STATES = 4096


def is_finite(node: Node) -> bool:
    """Whether it is a latent node of whole numbers."""
    return node.kind == "latent" and bool(node.support.is_discrete)


def state_values(node: Node) -> np.ndarray:
    """Its values (K,), the same for every cell: from the lowest that any cell can take to the highest.

    Raises `UnavailableError` where there is no highest, or where there are too many.
    """
    low, high = (_end(end, pick) for end, pick in ((node.support.low, np.min), (node.support.high, np.max)))
    law = type(node.law).__name__
    if not (np.isfinite(low) and np.isfinite(high)):
        raise UnavailableError(
            f"{node.name} is a latent {law}: it has no largest value, so that its values cannot be summed out.",
            value=node.name,
            remedy="Restrict it (high=…), or write down the law of what depends on it: a Poisson count of which a "
            "share is seen is Poisson, one with a Gamma rate NegativeBinomial.",
        )
    if high - low >= MOST_STATES:
        raise UnavailableError(
            f"{node.name} has {high - low + 1:.0f} states, more than the {MOST_STATES} that are summed out.",
            value=high - low + 1, remedy="Treat it as a real number: a Normal of that mean and variance.",
        )  # fmt: skip
    return np.arange(low, high + 1.0)


def _end(end: object, pick: object) -> float:
    """A number; that of an expression of known numbers, such as the sizes of a Binomial."""
    if isinstance(end, Node):
        if any(leaf.kind == "latent" for leaf in _leaves(end)):
            return float(end.bounds[0 if pick is np.min else 1])
        end = Program([as_node(end)], []).values({})[0]
    return float(pick(np.asarray(end, dtype=np.float64)))  # type: ignore[operator]


def _leaves(node: Node) -> list[Node]:
    from credo.program.nodes import topological

    return topological([node])
