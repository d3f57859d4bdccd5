"""Rows with missing cells as complete rows with weights: what each may have been, and how probably."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from credo.errors import MemoryLimitError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.learning.counts import packed
from credo.models.network.learning.layout import TableLayout
from credo.models.network.learning.rows import CodedRows

__all__ = ["completed", "DRAWS"]

# Completions of a row that are listed one by one, and draws of a row that has more of them. 32 draws, spread evenly,
# leave an expected count an error far below that of the rows themselves.
DRAWS = 32
# Fewest draws a row, where many rows have holes, and cells for which more are taken (64 MB); cells at most (1 GB).
_FEWEST, _CELLS, _MOST_CELLS = 4, 2**24, 2**28


def completed(
    rows: CodedRows,
    families: Sequence[Sequence[int]],
    tables: Sequence[np.ndarray],
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> CodedRows:
    """Complete rows whose weighted counts are the expected counts of `rows`, of every family at once.

        E[n(x_F)] = Σ over rows of P(x_F | the row's cells)

    A row with ≤ `draws` completions is taken once for each, weighing P(completion | cells): exactly. Of a row with
    more, `draws` completions are drawn from their joint law (fewer, 4 at least, of very many rows): unbiased.

    Raises
    ------
    MemoryLimitError : more than 2²⁸ cells; or a network too densely connected to draw cells.

    Cost: O(d) a listed completion; a drawn one takes an answer of the network for each missing cell.

    >>> from credo.models.network.learning.rows import coded_rows
    >>> rows = coded_rows("", [[0, 0], [1, -1]], (2, 2))
    >>> found = completed(rows, [(), (0,)], [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]])], None)
    >>> found.columns.T.tolist(), found.weights.round(9).tolist()
    ([[0, 0], [1, 0], [1, 1]], [1.0, 0.2, 0.8])
    """
    missing = rows.missing
    holes = np.asarray(missing.any(axis=0))
    closed, open_ = rows.taken(~holes), rows.taken(holes)
    if open_.n_rows == 0:
        return closed
    d = len(rows.names)
    n_draws = int(np.clip(_CELLS // (d * open_.n_rows), _FEWEST, draws))
    if d * open_.n_rows * n_draws > _MOST_CELLS:
        raise MemoryLimitError(
            f"hill_climb: what {open_.n_rows:,} rows with missing cells may have been takes "
            f"{d * open_.n_rows * n_draws / 2**30:.1f} × 4 GB.",
            value=4 * d * open_.n_rows * n_draws,
            remedy="Learn from a part of the rows, from complete ones (missing='drop'), or a tree (method='chow_liu').",
        )
    log_states = np.log(rows.sizes) @ open_.missing
    few = log_states <= np.log(n_draws) + 1e-9
    parts = [closed, _listed(open_.taken(few), families, tables)]
    if not few.all():
        parts.append(_drawn(open_.taken(~few), families, tables, n_draws, rng))
    weights = [np.ones(part.n_rows) if part.weights is None else part.weights for part in parts]
    columns = np.ascontiguousarray(np.concatenate([part.columns for part in parts], axis=1))
    return replace(rows, columns=columns, weights=np.concatenate(weights))


def _listed(rows: CodedRows, families: Sequence[Sequence[int]], tables: Sequence[np.ndarray]) -> CodedRows:
    """Every completion of every row, with its probability times the row's weight."""
    missing = rows.missing
    sizes = np.where(missing, np.array(rows.sizes)[:, None], 1)
    n_each = sizes.prod(axis=0)
    starts = np.cumsum(n_each) - n_each
    of = np.repeat(np.arange(rows.n_rows), n_each)
    rest = np.arange(len(of)) - starts[of]
    columns = np.ascontiguousarray(rows.columns[:, of])
    for column, hole, size in zip(columns, missing, rows.sizes):
        at = hole[of]
        column[at] = rest[at] % size
        rest[at] //= size
    log_p = np.zeros(len(of))
    with np.errstate(divide="ignore"):
        for child, family in enumerate(families):
            log_p += np.log(tables[child].ravel())[packed(columns, rows.sizes, (*family, child))]
    if len(of):
        log_p -= np.maximum.reduceat(log_p, starts)[of]
        p = np.exp(log_p)
        p /= np.add.reduceat(p, starts)[of]
        weights = p if rows.weights is None else p * rows.weights[of]
    else:
        weights = log_p
    kept = weights > 0.0
    return replace(rows, columns=np.ascontiguousarray(columns[:, kept]), weights=weights[kept])


def _drawn(
    rows: CodedRows,
    families: Sequence[Sequence[int]],
    tables: Sequence[np.ndarray],
    draws: int,
    rng: np.random.Generator,
) -> CodedRows:
    """`draws` completions of every row: one node after the other, given the row's cells and those drawn before."""
    from credo.models.network.batch.rows import LAW, answer_rows
    from credo.models.network.network import BayesianNetwork

    names = rows.names
    layout = TableLayout.of(names, rows.sizes, families)
    shaped = layout.tables(np.concatenate([table.ravel() for table in tables]))
    states = {name: tuple(range(size)) for name, size in zip(names, rows.sizes)}
    parents = {name: tuple(names[p] for p in family) for name, family in zip(names, families)}
    network = BayesianNetwork.of(NetworkDefinition(states, parents, dict(zip(names, shaped))))
    columns = np.repeat(rows.columns, draws, axis=1)
    missing = rows.missing
    for node in map(names.index, network.definition_.order):
        holes = np.flatnonzero(missing[node])
        if holes.size == 0:
            continue
        at = (holes[:, None] * draws + np.arange(draws)).ravel()
        laws = answer_rows(network, np.ascontiguousarray(columns[:, at]), names[node], LAW).laws
        edges = np.cumsum(laws, axis=1)
        # a row's draws share out the unit interval, so that their shares are nearly the law itself
        place = rng.permuted(np.tile(np.arange(draws), (holes.size, 1)), axis=1).ravel()
        u = (place + rng.random(len(at))) / draws * edges[:, -1]
        columns[node, at] = np.minimum((u[:, None] > edges).sum(axis=1), rows.sizes[node] - 1)
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    return replace(rows, columns=columns, weights=np.repeat(weights / draws, draws))
