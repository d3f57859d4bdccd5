"""`hypervolume`: how much a set of outcomes leaves behind it, up to a reference point; and the rule for that point.

Notation
    values (n, d)   outcomes, lower is better
    r (d,)          the reference: what is worse than it in any objective counts for nothing
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.design.fronts.pareto import checked_outcomes, non_dominated
from credo.errors import DataError, ParameterError

__all__ = ["checked_reference", "hypervolume", "reference_point"]

# Share of the front's range that the reference lies beyond its worst, at least.
BEYOND = 0.1


def hypervolume(values: Any, reference: Any) -> float:
    """The volume of {z : some value ≤ z ≤ r in every objective}, exactly: in units of the objectives' product.

    With two objectives by one sweep. With more, points are taken worst first in the last objective; then what a point
    adds to the later ones is a prism over the last objective, whose base is found in one objective less:

        V_d(p₁ … p_n) = Σᵢ (r_d − p_id) [ Π_{j<d} (r_j − p_ij) − V_{d−1}(max(p_k, p_i), k > i) ]

    Cost n log n for d ≤ 2, n^(d−1) log n in the worst case beyond.

    Raises
    ------
    ParameterError, DataError : shapes that do not match; NaN.

    While, Bradstreet & Barone (2012), A fast way of calculating exact hypervolumes, IEEE Trans. Evol. Comput. 16.

    >>> hypervolume([[1.0, 3.0], [2.0, 1.0], [3.0, 3.5]], [4.0, 4.0])
    7.0
    >>> hypervolume([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [2.0, 2.0, 2.0])
    4.0
    """
    values = checked_outcomes("hypervolume", values)
    r = checked_reference("hypervolume", reference, values.shape[1])
    inside = values[np.all(values < r, axis=1)]
    return _volume(inside[non_dominated(inside, duplicates=False)], r) if len(inside) else 0.0


def _volume(front: np.ndarray, r: np.ndarray) -> float:
    """Of distinct outcomes below r that do not dominate each other."""
    if r.size == 1:
        return float(r[0] - front.min())
    front = front[np.argsort(-front[:, -1], kind="stable")]
    if r.size == 2:  # from the worst in the second objective on, the first rises
        right = np.append(front[1:, 0], r[0])
        return float(np.sum((right - front[:, 0]) * (r[1] - front[:, 1])))
    total = 0.0
    for i, p in enumerate(front):
        base, rest = p[:-1], np.maximum(front[i + 1 :, :-1], p[:-1])
        covered = _volume(rest[non_dominated(rest, duplicates=False)], r[:-1]) if len(rest) else 0.0
        total += float(r[-1] - p[-1]) * (float(np.prod(r[:-1] - base)) - covered)
    return total


def reference_point(values: Any) -> np.ndarray:
    """A reference (d,) for outcomes without one: the front's worst and 1/(k − 1) of its range beyond, at least a tenth.

    k is how many distinct outcomes are on the front. With 1/(k − 1) the ends of an evenly filled front count as much as
    what lies between (Ishibuchi et al. 2018): a sparse front leaves room beyond its ends, a full one little. Where the
    front has no range in an objective (k = 1) that of all outcomes is taken; where they have none, their size, or 1.

    Ishibuchi, Imada, Setoguchi & Nojima (2018), How to specify a reference point in hypervolume calculation for fair
    performance comparison, Evolutionary Computation 26.

    >>> reference_point([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0], [9.0, 9.0]]).tolist()
    [3.0, 3.0]
    """
    values = checked_outcomes("reference_point", values)
    if not len(values):
        raise ParameterError("reference_point", "values", "of at least one outcome", values.shape)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist()
    if bad:
        raise DataError(f"Outcomes {bad[:5]} are infinite.", rows=bad, value=values[bad[0]], remedy="Leave them out.")
    front = values[non_dominated(values, duplicates=False)]
    extent = np.ptp(front, axis=0)
    extent = np.where(extent > 0.0, extent, np.ptp(values, axis=0))
    size = np.abs(front).max(axis=0)
    extent = np.where(extent > 0.0, extent, np.where(size > 0.0, size, 1.0))
    return front.max(axis=0) + extent * max(1.0 / max(len(front) - 1, 1), BEYOND)


def checked_reference(owner: str, reference: Any, d: int) -> np.ndarray:
    """r (d,), finite."""
    r = np.asarray(reference, dtype=np.float64)
    if r.shape != (d,) or not np.all(np.isfinite(r)):
        raise ParameterError(owner, "reference", f"{d} finite numbers, one for each objective", reference)
    return r
