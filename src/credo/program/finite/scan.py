"""The sum over the states of hidden Markov chains: forward and backward along time.

`Scan` answers what `Elimination` does, where all that ties states together is one chain of constant transition: its
last two tables are log initial (K, *batch, 1) and log transition (K, K, *batch, 1), and the others are about single
cells. The slopes by these are, of log initial, the posterior probabilities of the first states; of log transition, the
expected number of each transition; of a cell's table, the posterior probabilities of its states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.errors import ZeroProbabilityError
from credo.probability.chains.hidden import Passes, run_passes
from credo.program.finite.elimination import Elimination, Scope

__all__ = ["Scan"]


class Scan:
    """The plan of a sum.

    size : cells, of all sequences one after the other; ends : (s,) where each ends; states : K
    scopes : of the tables about single cells, in order
    """

    def __init__(self, states: int, size: int, ends: np.ndarray, scopes: Sequence[Scope], *, name: str) -> None:
        self.states, self.size, self.ends, self.name = states, size, np.asarray(ends, dtype=np.int64), name
        self.starts = np.concatenate([[0], self.ends[:-1]])
        self._cells = Elimination(np.full(size, states), scopes, name=name)

    def _emissions(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """(B, cells, K) from the tables about single cells."""
        if all(not len(scope.variables) for scope in self._cells.scopes):
            return np.zeros((1, self.size, self.states))
        joint = self._cells.joint_of_all(tables[:-2])
        joint = joint if joint.ndim == 3 else joint[:, None]
        return np.ascontiguousarray(joint.transpose(1, 2, 0))

    def _each(self, tables: Sequence[np.ndarray], smooth: bool) -> list[Passes | None]:
        """The passes of every member of the batch; None where the data are impossible."""
        emissions = self._emissions(tables)
        start, step = _probabilities(tables[-2], 1), _probabilities(tables[-1], 2)
        count = max(len(emissions), len(start), len(step))
        found: list[Passes | None] = []
        for b in range(count):
            rows = emissions[b % len(emissions)]
            p, P = start[b % len(start)], np.ascontiguousarray(step[b % len(step)])
            try:
                found.append(run_passes(rows, np.ascontiguousarray(p), P, self.ends, smooth=smooth))
            except ZeroProbabilityError:
                found.append(None)
        return found

    def log_sum(self, tables: Sequence[np.ndarray], *, keep: bool = False) -> tuple[Any, Any]:
        """log Σ over states (*batch,), and with `keep` the passes."""
        each = self._each(tables, keep)
        total = np.array([-np.inf if p is None else p.log_predictive.sum() for p in each])
        total = total + self._cells.constants(tables[:-2])
        batch = max(t.ndim - k - 1 for k, t in enumerate(tables[-2:], 1))
        return (total if batch else total[0]), (tables, each)

    def slopes(self, tables: Sequence[np.ndarray], kept: Any) -> list[np.ndarray]:
        """∂ log Σ by every entry of the tables, which have no batch."""
        found = kept[1][0]
        if found is None:
            return [np.zeros(t.shape) for t in tables]
        smoothed = np.ascontiguousarray(found.smoothed.T)
        out = [smoothed[:, self.starts].sum(axis=1, keepdims=True), found.transitions[:, :, None]]
        return [*self._cells.spread_to_all(smoothed), *out]

    def marginals(self, kept: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """All cells with the probabilities of their states (K, B, cells)."""
        each = [np.full((self.size, self.states), np.nan) if p is None else p.smoothed for p in kept[1]]
        return [(np.arange(self.size), np.moveaxis(np.array(each), -1, 0))]

    def sample(self, kept: Any, batch: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """One draw of all states (*batch, cells): the last from its filtered law, then backwards."""
        from credo.program.finite.scan_kernel import backward_paths

        tables, each = kept
        step = _probabilities(tables[-1], 2)
        n = int(np.prod(batch, dtype=np.int64))
        states = np.zeros((n, self.size), dtype=np.int64)
        u = rng.random((n, self.size))
        for i in range(n):
            found = each[i % len(each)]
            if found is not None:
                backward_paths(found.filtered, np.ascontiguousarray(step[i % len(step)]), self.ends, u[i], states[i])
        return states.reshape(*batch, self.size)


def _probabilities(table: np.ndarray, axes: int) -> np.ndarray:
    """exp of log initial or log transition, (B, K) or (B, K, K)."""
    return np.exp(table[..., 0].reshape(*table.shape[:axes], -1).transpose(axes, *range(axes)))
