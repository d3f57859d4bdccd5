"""Separation: when a hyperplane divides the classes, the likelihood rises for ever and a flat prior has no mode.

There is a direction (b, w) ≠ 0 with s_i (b + w·x_i) ≥ 0 for all rows, s = ±1, and > 0 for some: a linear programme
finds it, or proves that there is none (Albert and Anderson, Biometrika 71, 1984; Konis 2007).
"""

from __future__ import annotations

import numpy as np

from credo.blocks.source import Source
from credo.models.glm.equations import Design

__all__ = ["describe_separation", "SATURATED"]

# |η| beyond which p(1 − p) < 1e-6: an identified fit gets there too, so this only starts the test.
SATURATED = 15.0
# Rows put to the linear programme; a direction that separates them is then checked on all rows.
MOST_ROWS = 200_000


def describe_separation(source: Source, design: Design, names: tuple[str, ...]) -> str | None:
    """The sentence for the error, naming the class and columns; None when the classes overlap."""
    assert design.classes is not None
    rows, codes = _gather(source, design)
    labels = range(1, 2) if design.classes.size == 2 else range(design.classes.size)
    for label in labels:
        direction = separating_direction(rows, codes == label)
        if direction is None:
            continue
        weights = np.abs(direction[int(design.intercept) :])
        involved = [names[i] for i in np.flatnonzero(weights > 1e-6 * max(weights.max(), 1e-300))]
        shown = ", ".join(involved[:6]) + (", ..." if len(involved) > 6 else "")
        return (
            f"Class {design.classes[label]!r} is separated from the others by {shown or 'the intercept'}, "
            "so the likelihood has no maximum under a flat prior. "
            "State a proper prior, such as prior=cr.Normal(0, 2.5) or the default."
        )
    return None


def separating_direction(rows: np.ndarray, positive: np.ndarray) -> np.ndarray | None:
    """A direction with s_i φ_i·d ≥ 0 for all rows and > 0 for some, or None. rows (n, D), positive (n,) booleans."""
    from scipy.optimize import linprog

    scale = np.abs(rows).max(axis=0)
    signed = np.where(positive, 1.0, -1.0)[:, None] * rows / np.where(scale > 0, scale, 1.0)
    # maximise Σ s φ·d over |d| ≤ 1 with every s φ·d ≥ 0: the optimum is 0 exactly when the classes overlap
    result = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(rows)), bounds=(-1, 1), method="highs")
    return result.x if result.success and result.fun <= -1e-6 else None


def _gather(source: Source, design: Design) -> tuple[np.ndarray, np.ndarray]:
    rows, codes, seen = [], [], 0
    for block in source:
        if seen >= MOST_ROWS:
            break
        keep = slice(None) if block.weights is None else np.asarray(block.weights) > 0
        rows.append(block.X[keep])
        assert block.y is not None
        codes.append(block.y[keep])
        seen += block.n_rows
    return np.concatenate(rows), np.concatenate(codes)
