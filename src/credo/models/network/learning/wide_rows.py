"""Expected counts of rows with many unknown nodes, by variable elimination over a block of rows at once."""

from __future__ import annotations

import numpy as np

from credo.models.network.learning.layout import TableLayout
from credo.models.network.learning.rows import CodedRows
from credo.probability.factors.elimination import compile_plan, pack, run

__all__ = ["WideRows"]

# Rows that go through a plan together: enough to fill vector registers, few enough for the cache.
BLOCK = 128


class WideRows:
    """One plan a family over the whole network, every observed cell a vector of likelihoods 0 and 1.

    Cost: as many eliminations of the network as it has nodes, a block of rows.

    Raises
    ------
    MemoryLimitError : the network is too densely connected for exact inference.
    """

    def __init__(self, rows: CodedRows, layout: TableLayout) -> None:
        self.rows, self.layout = rows, layout
        scopes = [(*family, child) for child, family in enumerate(layout.families)]
        shapes = [tuple(layout.sizes[v] for v in scope) for scope in scopes]
        d = len(scopes)
        self.plans = [
            compile_plan(shapes, scopes, scope, likelihoods=range(d), batch=BLOCK, keep_total=True) for scope in scopes
        ]

    @property
    def shape(self) -> tuple[int, int]:
        """As a block of rows has it."""
        return self.rows.n_rows, 1

    def expected(self, theta: np.ndarray, counts: np.ndarray) -> float:
        """Add expected counts to `counts`, and return Σ weight · log p of the rows."""
        packed = pack(self.layout.tables(theta))
        value = 0.0
        for start in range(0, self.rows.n_rows, BLOCK):
            cells = self.rows.columns[:, start : start + BLOCK]
            weights = np.zeros(BLOCK)
            weights[: cells.shape[1]] = 1.0 if self.rows.weights is None else self.rows.weights[start : start + BLOCK]
            vectors = self._vectors(cells)
            for child, plan in enumerate(self.plans):
                found = run(plan, packed, likelihoods=np.concatenate([vectors[v].ravel() for v in range(len(vectors))]))
                if child == 0:
                    log_total = found.log_total + packed.log_scale[list(plan.tables)].sum()
                    value += float(log_total[weights > 0.0] @ weights[weights > 0.0])
                    if value == -np.inf:
                        return value
                self.layout.table(counts, child)[...] += found.probabilities() @ weights
        return value

    def _vectors(self, cells: np.ndarray) -> list[np.ndarray]:
        """For each node (states, BLOCK): 1 where the cell allows the state; rows beyond the last allow all."""
        vectors = []
        for size, column in zip(self.layout.sizes, cells):
            allowed = np.ones((size, BLOCK))
            seen = np.flatnonzero(column >= 0)
            allowed[:, seen] = 0.0
            allowed[column[seen], seen] = 1.0
            vectors.append(allowed)
        return vectors
