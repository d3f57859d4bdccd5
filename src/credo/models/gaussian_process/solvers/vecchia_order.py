"""In which order rows follow each other, and which earlier ones each is conditioned on.

Notation
    Z (n, d)   rows in the metric of a kernel: a Euclidean distance in which correlation falls alike in all columns
    order (n,) the row at each place; rank (n,) the place of each row
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.kernels import Kernel, Scaled
from credo.kernels.radial import Radial
from credo.saving.registry import register

__all__ = ["Boxes", "Layout", "arrange", "column_scales", "maxmin"]

# So many rows are ordered farthest-first exactly, at a cost of n^1.5; the rest, all closer to one of these than these
# are to each other, follow by their distance from them. By then each has its coarse scales among its neighbours.
FARTHEST = 100_000
PROBES = 64


@register
@dataclass(frozen=True, eq=False)
class Layout:
    """Which rows are conditioned on which.

    index : (t, s) int32, a row's earlier neighbours, nearest first, then the row; where it has fewer it is repeated
    scale : n/t, how many rows each of these stands for
    """

    index: np.ndarray
    scale: float


def arrange(Z: np.ndarray, m: int, ordering: str, terms: int | None = None) -> Layout:
    """The m nearest earlier rows of every row (n, d), or of `terms` rows evenly through the ordering."""
    n = len(Z)
    order = {"maxmin": maxmin, "random": _shuffled, "given": lambda Z: np.arange(len(Z))}[ordering](Z)
    places = np.arange(n) if terms is None or terms >= n else np.arange(terms) * n // terms
    if m >= n - 1:
        found = np.where(np.arange(n - 1) < places[:, None], np.arange(n - 1), -1)
    else:
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        found = Boxes.of(Z, rank).nearest(Z[order[places]], places, m)
    rows = order[places][:, None]
    index = np.column_stack([np.where(found < 0, rows, order[found]), rows])
    return Layout(np.ascontiguousarray(index, dtype=np.int32), n / len(places))


def maxmin(Z: np.ndarray) -> np.ndarray:
    """An ordering that starts in the middle, each row as far as can be from the nearest before it. Cost about n^1.5 d.

    J. Guinness (2018), Technometrics 60, 415-429.

    >>> maxmin(np.arange(5.0)[:, None]).tolist()
    [2, 0, 4, 1, 3]
    """
    from credo.models.gaussian_process.solvers import vecchia_search

    n = len(Z)
    boxes = Boxes.of(Z, np.arange(n))
    real = boxes.rank < n
    gap = np.where(real, np.inf, -1.0)
    order = np.empty(min(n, FARTHEST), dtype=np.int64)
    middle = int(np.argmin(np.square(Z - Z.mean(axis=0)).sum(axis=1)))
    order[0] = np.flatnonzero(boxes.rank == middle)[0]
    vecchia_search.farthest_first(
        boxes.points, boxes.rank, boxes.low, boxes.high, gap, np.full(len(gap), np.inf), order
    )
    left = np.empty(n)
    left[boxes.rank[real]] = gap[real]
    return np.concatenate([order, np.argsort(-left, kind="stable")[: n - order.size]])


def _shuffled(Z: np.ndarray) -> np.ndarray:
    return np.random.default_rng(0).permutation(len(Z))


@dataclass(frozen=True, eq=False)
class Boxes:
    """Points by recursive halves across the widest side, in the layout of `vecchia_search`."""

    points: np.ndarray  # (B d, c)
    rank: np.ndarray  # (B, c)
    low: np.ndarray  # (d, B)
    high: np.ndarray  # (d, B)

    @classmethod
    def of(cls, Z: np.ndarray, rank: np.ndarray) -> Boxes:
        """Of points (n, d) with these places (n,) in an ordering."""
        parts = _halves(Z)
        c = max(part.size for part in parts)
        seats, ranks = np.empty((len(parts), c), dtype=np.int64), np.full((len(parts), c), len(Z))
        for b, part in enumerate(parts):
            part = part[np.argsort(rank[part])]
            ranks[b, : part.size] = rank[part]
            seats[b, : part.size], seats[b, part.size :] = part, part[0]
        inside = Z[seats].transpose(0, 2, 1)  # (B, d, c); a box that is not full repeats a point of its own
        low, high = inside.min(axis=2), inside.max(axis=2)
        points = np.ascontiguousarray(inside).reshape(-1, c)
        return cls(points, ranks, np.ascontiguousarray(low.T), np.ascontiguousarray(high.T))

    def nearest(self, queries: np.ndarray, limit: np.ndarray, m: int) -> np.ndarray:
        """(q, m) ranks of the nearest points of rank below limit (q,), nearest first; -1 where there are no more."""
        from credo.models.gaussian_process.solvers import vecchia_search

        found = np.empty((len(queries), m), dtype=np.int64)
        bound, room, best = np.empty(len(self.rank)), np.empty(self.rank.shape[1]), np.empty(m)
        centres = 0.5 * (self.low + self.high)
        for group in _halves(queries):
            inside = queries[group]
            middle = 0.5 * (inside.min(axis=0) + inside.max(axis=0))
            near = np.argsort(np.square(centres - middle[:, None]).sum(axis=0), kind="stable")
            own = np.empty((group.size, m), dtype=np.int64)
            vecchia_search.nearest(
                self.points, self.rank, self.low, self.high, inside, limit[group], near, bound, room, best, own
            )
            found[group] = own
        return found


def _halves(Z: np.ndarray) -> list[np.ndarray]:
    """Rows of Z in groups that lie together."""
    # The bounds of a box cost about as much as looking through 10 points; with √n/5 of them neither dominates.
    size = max(32, int(np.sqrt(len(Z)) / 5.0))
    parts = [np.arange(len(Z))] if len(Z) else []
    while parts and parts[0].size > size:
        parts = [half for part in parts for half in _halved(Z, part)]
    return parts


def _halved(Z: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inside = Z[part]
    middle = part.size // 2
    by_half = np.argpartition(inside[:, np.argmax(np.ptp(inside, axis=0))], middle)
    return part[by_half[:middle]], part[by_half[middle:]]


def column_scales(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """w (d,) such that the distance of rows X·w tells how correlated they are, up to a common factor.

    1/ℓ for a radial kernel. For any other, correlations between rows and copies in which one column comes from another
    row tell how fast they fall along it. Neighbours by this distance may not be the most correlated ones; the evidence
    is then a coarser approximation, and remains one.
    """
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    reach = np.ptp(X, axis=0) if len(X) else np.ones(X.shape[1])
    if isinstance(kernel, Radial):
        w = np.zeros(X.shape[1])
        active = slice(None) if kernel.active_dims is None else list(kernel.active_dims)
        w[active] = 1.0 / np.asarray(kernel.lengthscale)
    else:
        w = _probed(kernel, X)
    largest = np.max(w * reach, initial=0.0)
    return w / largest if 0.0 < largest < np.inf else w


def _probed(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    rows = X[np.linspace(0, len(X) - 1, min(PROBES, len(X))).astype(int)]
    w = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        rows = rows[np.argsort(rows[:, j], kind="stable")]
        moved = rows.copy()
        moved[:, j] = np.roll(rows[:, j], len(rows) // 8)  # an eighth of the rows apart: neither beside nor opposite
        square = (moved[:, j] - rows[:, j]) ** 2
        sizes = np.maximum(_variance(kernel, rows) * _variance(kernel, moved), np.finfo(float).tiny)
        alike = np.clip(np.diag(kernel(rows, moved)) / np.sqrt(sizes), 1e-6, 1.0)
        if np.any(square > 0.0):
            w[j] = np.sqrt(np.median(-2.0 * np.log(alike[square > 0.0]) / square[square > 0.0]))
    return w


def _variance(kernel: Kernel, rows: np.ndarray) -> np.ndarray:
    """k(x, x) (n,) without `White`, which no other row shares."""
    return np.diag(kernel(rows, rows.copy()))
