"""`guess`: an easy question planned along the order of the whole graph, by compiled loops."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from credo.probability.factors.elimination.tables import Tables

__all__ = ["Guess", "graph_arrays", "guess"]


class Guess(NamedTuple):
    """As `Plan` has them; `offset` is where the one output lies, `roots` where the numbers formed do."""

    code: np.ndarray
    size: int
    formed: int
    tables: tuple[int, ...]
    entries: int
    offset: int
    roots: tuple[int, ...]


def guess(tables: Tables, targets: Sequence[int], evidence: Sequence[int], keep_total: bool, most: int) -> Guess | None:
    """Sums over what is neither asked for nor observed, in at most that many products; None where it takes more.

    targets, evidence : numbers of variables ; keep_total : as of `compile_plan`
    Cost: some 20 µs for a few dozen tables.
    """
    from credo.probability.factors.elimination import guess_kernel as kernel

    room, code = _room(kernel, tables)
    asked, seen = np.array(targets, dtype=np.int64), np.array(evidence, dtype=np.int64)
    if kernel.plan_question(tables.arrays, room, code, asked, seen, keep_total, most):
        return None
    info = room.info.tolist()
    last = info[kernel.LAST]
    return Guess(
        code[: info[kernel.CODE]].copy(),
        info[kernel.SIZE] + info[kernel.FORMED] + 1,
        info[kernel.FORMED],
        tuple(np.flatnonzero(room.kept).tolist()),
        info[kernel.ENTRIES],
        int(room.offset[last]) if last >= 0 else 0,
        tuple(room.roots[: info[kernel.ROOTS]].tolist()),
    )


def _room(kernel: Any, tables: Tables) -> tuple[Any, np.ndarray]:
    """Room for a question of these tables and its records, more than easy ones need."""
    n, given, axes = len(tables.names), len(tables.scopes), sum(map(len, tables.scopes))
    made = 3 * given + n + 8

    def whole(size: int) -> np.ndarray:
        return np.empty(size, dtype=np.int64)

    room = kernel.Room(
        slot=whole(n), rank=whole(n), count=whole(n), mark=whole(n), kept=whole(given), at=whole(made),
        length=whole(made), offset=whole(made), size=whole(made), axes=whole(8 * axes + 64), steps=whole(8 * axes + 64),
        live=whole(given + 1), bucket=whole(given + 1), roots=whole(made), loops=whole(8 * kernel.WIDEST),
        info=whole(6),
    )  # fmt: skip
    return room, whole(64 * made + 2 * axes)


def graph_arrays(tables: Tables) -> Any:
    """The tables as the kernel takes them."""
    from credo.probability.factors.elimination.guess_kernel import Graph

    def flat(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        starts = np.array([0, *itertools.accumulate(map(len, rows))], dtype=np.int64)
        return starts, np.array(list(itertools.chain.from_iterable(rows)), dtype=np.int64)

    scope_at, scopes = flat(tables.scopes)
    law_at, laws = flat([tables.laws.get(t, ()) for t in range(len(tables.scopes))])
    strides = [place.strides[v] for place, scope in zip(tables.places, tables.scopes, strict=True) for v in scope]
    return Graph(
        sizes=np.array(tables.sizes, dtype=np.int64), order=np.array(tables.order, dtype=np.int64),
        scope_at=scope_at, scopes=scopes, strides=np.array(strides, dtype=np.int64),
        offsets=np.array([place.offset for place in tables.places], dtype=np.int64),
        law_at=law_at, laws=laws,
    )  # fmt: skip
