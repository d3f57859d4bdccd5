"""`state_sum`: log Σ over all states of the finite nodes of the density of everything about them, as an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from credo.program.finite.sources import Lowered
from credo.program.nodes import Node
from credo.program.ops import OPS, Op

__all__ = ["state_sum"]


def state_sum(lowered: Lowered) -> Node:
    """The scalar node."""
    return Node("state_sum", lowered.parents, shape=(), dims=(), static={"sum": lowered})


def _forward(values: Sequence[np.ndarray], lead: Sequence[bool], static: dict[str, Any]) -> np.ndarray:
    lowered: Lowered = static["sum"]
    with np.errstate(all="ignore"):
        total = lowered.elimination.log_sum(lowered.tables(values, lead))[0]
    if not any(lead):
        return np.asarray(total)
    n = next(len(v) for v, has in zip(values, lead) if has)
    return np.broadcast_to(total, (n,))


def _linear(
    values: Sequence[np.ndarray], static: dict[str, Any]
) -> tuple[np.ndarray, Callable[[np.ndarray], Sequence[np.ndarray | None]]]:
    """The sum and its pull, which share the pass through the states."""
    lowered: Lowered = static["sum"]
    with np.errstate(all="ignore"):
        tables = lowered.tables(values, [False] * len(values))
        total, kept = lowered.elimination.log_sum(tables, keep=True)

    def pull(g: Any) -> list[np.ndarray | None]:
        with np.errstate(all="ignore"):
            slopes = lowered.elimination.slopes(tables, kept)
            varies = static.get("varies", (True,) * len(values))
            return lowered.gradients(slopes, values, float(g), varies)

    return np.asarray(total), pull


def _pull(g: Any, out: Any, values: Sequence[np.ndarray], static: dict[str, Any]) -> Sequence[np.ndarray | None]:
    return _linear(values, static)[1](g)


OPS["state_sum"] = Op("state_sum", _forward, _pull, linear=_linear)
