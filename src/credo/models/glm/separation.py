"""When the likelihood rises for ever along a direction, so that under a flat prior there is no mode.

With d ≠ 0 a change of the weights, the likelihood never falls along d, and rises for some row, when for all rows

    two classes     s φ·d ≥ 0, s = ±1 (> 0 for some row)
    k classes       the same for one class against the others
    levels          φ·d ≤ 0 in the lowest, ≥ 0 in the highest and = 0 in between: the cut-points, whose prior is proper,
                    stay where they are
    counts          φ·d ≤ 0 where y = 0 and φ·d = 0 where y > 0

A linear programme finds d, or proves that there is none (Albert and Anderson, Biometrika 71, 1984; Konis 2007; for
counts Correia, Guimarães and Zylkin 2019).
"""

from __future__ import annotations

import numpy as np

from credo.blocks.source import Source
from credo.models.glm.equations import Design

__all__ = ["SATURATED", "describe_separation"]

# |η| beyond which p(1 − p) < 1e-6 and a rate is below 1e-6 (an identified fit may get there too, so this only starts
# the test).
SATURATED = 15.0
# Rows put to the linear programme.
MOST_ROWS = 200_000


def describe_separation(source: Source, design: Design, names: tuple[str, ...]) -> str | None:
    """The sentence for the error, naming the class and columns; None when the mode exists."""
    rows, y = _gather(source)
    kind = design.likelihood.kind
    if kind == "count":
        direction = _direction(-rows[y == 0], rows[y > 0])
        return None if direction is None else _sentence("Counts of 0 are separated", direction, design, names)
    if design.classes is None:
        return None
    if design.n_auxiliary:
        direction = ordered_direction(rows, y.astype(int), design.classes.size)
        return None if direction is None else _sentence("The levels are separated", direction, design, names)
    for label in range(1, 2) if design.classes.size == 2 else range(design.classes.size):
        direction = separating_direction(rows, y == label)
        if direction is not None:
            who = f"Class {design.classes[label]!r} is separated from the others"
            return _sentence(who, direction, design, names)
    return None


def _sentence(who: str, direction: np.ndarray, design: Design, names: tuple[str, ...]) -> str:
    lead = int(design.intercept)
    weights = np.abs(direction[lead : lead + design.centre.size])
    involved = [names[i] for i in np.flatnonzero(weights > 1e-6 * max(weights.max(initial=0.0), 1e-300))]
    shown = ", ".join(involved[:6]) + (", ..." if len(involved) > 6 else "")
    return (
        f"{who} by {shown or 'the intercept'}, so the likelihood has no maximum under a flat prior. "
        "State a proper prior, such as prior=cr.Normal(0, 2.5) or the default."
    )


def separating_direction(rows: np.ndarray, positive: np.ndarray) -> np.ndarray | None:
    """A direction with s_i φ_i·d ≥ 0 for all rows and > 0 for some, or None. rows (n, D), positive (n,) booleans."""
    return _direction(np.where(positive, 1.0, -1.0)[:, None] * rows)


def ordered_direction(rows: np.ndarray, codes: np.ndarray, n_levels: int) -> np.ndarray | None:
    """A direction that takes no row further from its level, cut-points fixed, or None."""
    lowest, highest = codes == 0, codes == n_levels - 1
    return _direction(np.vstack([-rows[lowest], rows[highest]]), rows[~lowest & ~highest])


def _direction(rising: np.ndarray, level: np.ndarray | None = None) -> np.ndarray | None:
    """d with rising·d ≥ 0, not all 0, and level·d = 0; None if there is none."""
    from scipy.optimize import linprog

    every = rising if level is None else np.vstack([rising, level])
    if not len(rising):
        return None
    scale = np.abs(every).max(axis=0)
    unit = np.where(scale > 0, scale, 1.0)
    signed = rising / unit
    flat = {} if level is None or not len(level) else {"A_eq": level / unit, "b_eq": np.zeros(len(level))}
    # maximise Σ rising·d over |d| ≤ 1: the optimum is 0 exactly when there is no such direction
    result = linprog(
        -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs", **flat
    )
    return result.x / unit if result.success and result.fun <= -1e-6 else None


def _gather(source: Source) -> tuple[np.ndarray, np.ndarray]:
    """The first rows that count, (n, D), and their outcomes."""
    rows, outcomes, seen = [], [], 0
    for block in source:
        if seen >= MOST_ROWS:
            break
        keep = slice(None) if block.weights is None else np.asarray(block.weights) > 0
        rows.append(block.X[keep])
        assert block.y is not None
        outcomes.append(block.y[keep])
        seen += block.n_rows
    return np.concatenate(rows), np.concatenate(outcomes)
