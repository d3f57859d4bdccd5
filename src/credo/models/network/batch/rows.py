"""Many rows through a network: cut into parts, equal parts once, and the few hard rows by the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ZeroProbabilityError
from credo.models.network.batch.layout import RowProgram

if TYPE_CHECKING:
    from credo.models.network.network import BayesianNetwork

__all__ = ["LAW", "MAXIMUM", "TOTAL", "Answers", "answer_rows"]

# As in the kernel, which is imported when first run.
LAW, TOTAL, MAXIMUM, SUPPORT = 0, 1, 2, 3
# Numbers that a part may take here (32 MB). What takes more is planned for what it observes, which then pays.
MOST_ENTRIES = 1 << 22
# As in the engine: products of two entries above this stay within floating point.
TINY = 1e-140
# Cells of rows that are cut at once (and their parts at most as many again): 64 MB each.
MOST_CELLS = 1 << 24


@dataclass(frozen=True, eq=False)
class Answers:
    """laws (n, states) : of the target ; logs (n,) : of the total or maximum ; codes (nodes, n) : at the maximum.

    impossible (n,) : whether the row's cells exclude each other
    """

    laws: np.ndarray
    logs: np.ndarray
    codes: np.ndarray
    impossible: np.ndarray


def answer_rows(network: BayesianNetwork, codes: np.ndarray, target: str | None, kind: int) -> Answers:
    """codes (nodes, n) int32, −1 missing; kind LAW (of the target), TOTAL or MAXIMUM.

    Given a row's observed cells its hidden nodes fall into parts that share no table; a part hangs on the cells around
    it alone, so that most parts of large tables are alike (two 64-bit sums of random numbers tell them apart: any two
    of 10⁹ parts are mistaken with probability 10⁻²⁰).
    """
    number = {name: v for v, name in enumerate(network.nodes)}
    order = [number[name] for name in network.definition_.order]
    cells = np.ascontiguousarray(codes[order].T)
    n, width = cells.shape[0], 0 if target is None else len(network.states[target])
    laws, logs = np.full((n, width), np.nan), np.full(n, -np.inf)
    status = np.full(n, 2, dtype=np.int64)
    program = _program(network, target)
    if program.tables[program.tables > 0.0].min() >= TINY:
        rows = max(1, MOST_CELLS // len(order))
        for start in range(0, n, rows):
            block = slice(start, start + rows)
            _block(network, program, target, kind, cells[block], laws[block], logs[block], status[block])
    for row in np.flatnonzero(status == 2).tolist():
        status[row] = _by_graph(network, codes[order, row], target, kind, laws[row], logs[row : row + 1], cells[row])
    impossible = status == 1
    laws[impossible], logs[impossible] = np.nan, -np.inf
    if kind != MAXIMUM:
        return Answers(laws, logs, codes, impossible)
    filled = np.empty_like(codes)
    filled[order] = cells.T
    return Answers(laws, logs, filled, impossible)


def _program(network: BayesianNetwork, target: str | None) -> RowProgram:
    """Kept with the network."""
    kept: dict[Any, RowProgram] = network.__dict__.setdefault("_row_programs", {})
    if target not in kept:
        kept[target] = RowProgram.of(network.definition_, target)
    return kept[target]


def _block(
    network: BayesianNetwork,
    program: RowProgram,
    target: str | None,
    kind: int,
    cells: np.ndarray,
    laws: np.ndarray,
    logs: np.ndarray,
    status: np.ndarray,
) -> None:
    from credo.models.network.batch.parts_kernel import gather

    at = -1 if target is None else program.order.index(target)
    parts, patterns, part_at, part_of = _split(program, cells, at, kind, logs)
    apart = parts[:, at] != -1 if kind == LAW else np.zeros(len(parts), dtype=bool)
    # equal patterns side by side, parts that only let a row be last
    order = np.argsort(patterns.view(np.uint64) >> np.uint64(1) | apart.astype(np.uint64) << np.uint64(63))
    parts = np.ascontiguousarray(parts[order])
    split = len(parts) - int(apart.sum())
    part_laws, part_logs = np.full((len(parts), laws.shape[1]), np.nan), np.zeros(len(parts))
    part_status = np.zeros(len(parts), dtype=np.int64)
    for some, question in ((slice(split), kind), (slice(split, None), SUPPORT)):
        _run(network, program, parts[some], at, question, part_laws[some], part_logs[some], part_status[some])
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    gather(at, part_at, back[part_of], parts, part_laws, part_logs, part_status, kind, 0, laws, logs, cells, status)


def _split(
    program: RowProgram, cells: np.ndarray, at: int, kind: int, logs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(parts (m, nodes), their patterns, where each row's begin, the rows' parts); room is doubled as it runs out."""
    from credo.models.network.batch.parts_kernel import move, split

    n, nodes = cells.shape
    sizes = program.net[program.net[3] : program.net[3] + nodes]
    salt_at = np.cumsum([0, *(sizes + 1)])[:-1]
    info = np.iinfo(np.int64)
    salt = np.random.default_rng(0).integers(info.min, info.max, size=(2, int((sizes + 1).sum())), dtype=np.int64)
    room = np.zeros(program.room_size, dtype=np.int64)
    most = 1 << max(12, (4 * nodes).bit_length())
    table = _empty_table(most)
    parts, patterns = np.empty((most // 2, nodes), dtype=np.int32), np.empty(most // 2, dtype=np.int64)
    part_at, part_of = np.zeros(n + 1, dtype=np.int64), np.empty(2 * n + 2 * nodes, dtype=np.int64)
    row = 0
    while True:
        row = split(
            program.net,
            room,
            program.tables,
            program.holes,
            salt,
            salt_at,
            cells,
            row,
            at,
            kind,
            table,
            parts,
            patterns,
            part_at,
            part_of,
            logs,
        )
        if row == n:
            return parts[: room[4]], patterns[: room[4]], part_at, part_of[: part_at[n]]
        if part_at[row] + nodes > len(part_of):
            part_of = np.concatenate([part_of, np.empty_like(part_of)])
        if 2 * (room[4] + nodes) > len(table) or room[4] + nodes > len(parts):
            larger = _empty_table(4 * len(table))
            move(table, larger)
            table = larger
            more = len(table) // 2 - len(parts)
            parts = np.concatenate([parts, np.empty((more, nodes), dtype=np.int32)])
            patterns = np.concatenate([patterns, np.empty(more, dtype=np.int64)])


def _empty_table(slots: int) -> np.ndarray:
    return np.full((slots, 3), -1, dtype=np.int64)


def _run(
    network: BayesianNetwork,
    program: RowProgram,
    parts: np.ndarray,
    at: int,
    kind: int,
    laws: np.ndarray,
    logs: np.ndarray,
    status: np.ndarray,
) -> None:
    """Fill in what is asked of the parts."""
    from credo.models.network.batch.kernel import run_parts

    room, work = np.zeros(program.room_size, dtype=np.int64), np.empty(1 << 10)
    scale = np.zeros(program.n_steps + 1)
    most = min(MOST_ENTRIES, network.memory_limit // 8)
    done = 0
    while done < len(parts):
        done = run_parts(
            program.net, room, program.tables, parts, work, scale, done, most, at, kind, laws, logs, status
        )
        if done < len(parts):
            work = np.empty(min(most, 2 * int(room[3])))


def _by_graph(
    network: BayesianNetwork,
    given: np.ndarray,
    target: str | None,
    kind: int,
    law: np.ndarray,
    log: np.ndarray,
    cells: np.ndarray,
) -> int:
    """One row, planned for what it observes, and in logarithms where it must be; 1 where it is impossible."""
    states, order = network.states, network.definition_.order
    evidence = {name: states[name][i] for name, i in zip(order, given.tolist(), strict=True) if i >= 0}
    try:
        if kind == LAW:
            law[:] = network.graph.query(target, evidence).values
        elif kind == TOTAL:
            log[0] = network.graph.log_partition(evidence)
            return int(log[0] == -np.inf)
        else:
            found, log[0] = network.graph.most_probable(evidence)
            for v, name in enumerate(order):
                if name in found:
                    cells[v] = states[name].index(found[name])
    except ZeroProbabilityError:
        return 1
    return 0
