"""A history counted: which pairs met how often and with what result. Counts are sufficient; order is not kept.

Notation
    rows      (r,) outcomes that depend on one number η: f_a − f_b of a duel or tie, f_a of a mark (b = −1)
    choices   (c,) best-of-n choices; a ranking is its stages, each the choice of the best of what is left
    block     who: 0 the shared utility, k ≥ 1 the k-th user
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.preference.history import Event, Preferences

__all__ = ["GRADE", "RATING", "TIE", "WIN", "Outcomes", "counted"]

WIN, TIE, GRADE, RATING = range(4)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What inference reads.

    items (m,) : numbers of the items that occur; a, b, best and others count among these
    users : labels of blocks 1, 2, …
    block, a, b, kind (r,) : of rows; value (r,) the mark; count (r,)
    choice_block, best (c,); others (c, k), −1 where there are fewer; choice_count (c,)
    """

    items: np.ndarray
    users: tuple[Any, ...]
    block: np.ndarray
    a: np.ndarray
    b: np.ndarray
    kind: np.ndarray
    value: np.ndarray
    count: np.ndarray
    choice_block: np.ndarray
    best: np.ndarray
    others: np.ndarray
    choice_count: np.ndarray

    @property
    def n_blocks(self) -> int:
        return 1 + len(self.users)

    def has(self, kind: int) -> bool:
        return bool(np.any(self.kind == kind))

    def marks(self, kind: int) -> tuple[np.ndarray, np.ndarray]:
        """Values and counts of the grades or ratings."""
        rows = self.kind == kind
        return self.value[rows], self.count[rows]


def counted(history: Preferences) -> Outcomes:
    """The counts of a history. Cost: a sort of its outcomes."""
    users: dict[Any, int] = {None: 0}
    choices: list[tuple[int, int, tuple[int, ...]]] = []
    columns: list[tuple[Any, ...]] = [([], [], [], 0, [], [])]
    for event in history.events:
        blocks = _blocks(event, users)
        if event.kind == "ranking":
            stages = list(_stages(event))
            choices.extend((blocks[0], best, others) for best, others in stages if len(others) > 1)
            # the best of two is a duel
            columns.extend((blocks, [best], others, WIN, [0.0], [1.0]) for best, others in stages if len(others) == 1)
        elif event.kind == "duels":
            columns.append((blocks, event.first, event.second, WIN, np.zeros(event.first.size), event.values))
        elif event.kind == "ties":
            a, b = np.minimum(event.first, event.second), np.maximum(event.first, event.second)
            columns.append((blocks, a, b, TIE, np.zeros(a.size), event.values))
        else:
            kind, n = GRADE if event.kind == "grades" else RATING, event.first.size
            columns.append((blocks, event.first, np.full(n, -1), kind, event.values, np.ones(n)))
    return _outcomes(*_gathered(_table(columns)), choices, tuple(users)[1:])


def _table(columns: list[tuple[Any, ...]]) -> np.ndarray:
    """(m, 6): block, a, b, kind, value, count."""
    block, a, b, kind, value, count = zip(*columns, strict=True)
    kinds = np.repeat(kind, [len(part) for part in a])
    joined = [np.concatenate(part) for part in (block, a, b)]
    return np.stack([*joined, kinds, np.concatenate(value), np.concatenate(count)], axis=1).astype(np.float64)


def _outcomes(table: np.ndarray, count: np.ndarray, choices: list[Any], users: tuple[Any, ...]) -> Outcomes:
    """With items renumbered among those that occur."""
    block, a, b, kind = (table[:, j].astype(np.intp) for j in range(4))
    widest = max((len(others) for _, _, others in choices), default=0)
    padded = np.array(
        [(who, best, *others, *(-1,) * (widest - len(others))) for who, best, others in choices], dtype=np.intp
    ).reshape(len(choices), 2 + widest)
    stages, times = np.unique(padded, axis=0, return_counts=True)
    seen = np.unique(np.concatenate([a, b, stages[:, 1:].ravel()]))
    seen = seen[seen >= 0]
    items = seen if seen.size else np.zeros(1, dtype=np.intp)  # an empty history is one about some item
    place = np.append(np.searchsorted(items, np.arange(items[-1] + 1)), -1)  # −1 stays −1
    return Outcomes(
        items, users, block, place[a], place[b], kind, table[:, 4], count,
        stages[:, 0], place[stages[:, 1]], place[stages[:, 2:]], times.astype(np.float64),
    )  # fmt: skip


def _gathered(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different rows in order, and how often each."""
    rows = rows[rows[:, 5] > 0]
    table, which = np.unique(rows[:, :5], axis=0, return_inverse=True)
    return table, np.bincount(which.ravel(), rows[:, 5], minlength=len(table))


def _blocks(event: Event, users: dict[Any, int]) -> list[int]:
    """Whose each place is (a ranking's stages are all one user's); new users are numbered as they come."""
    if isinstance(event.user, list):
        return [users.setdefault(user, len(users)) for user in event.user]
    size = 1 if event.kind == "ranking" else event.first.size
    return [users.setdefault(event.user, len(users))] * size


def _stages(event: Event) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(best, the others still there) of each choice in a ranking; what is left is in no order."""
    order, below = event.first.tolist(), event.second.tolist()
    last = len(order) if below else len(order) - 1
    for k in range(last):
        yield order[k], tuple(sorted(order[k + 1 :] + below))
