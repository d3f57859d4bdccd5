"""`LawDraws`: the law of y at some rows, given each of S points of the posterior.

Everything that is read off a model rather than predicted (effects, R², information criteria) is a function of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.scalar import ScalarFamily

__all__ = ["LawDraws"]

# Cells of a (points × rows) chunk: 4 MiB an array of float64.
CHUNK_CELLS = 2**19


@dataclass(frozen=True, eq=False)
class LawDraws:
    """p(y_i | θ_s) at n rows and S weighted points.

    weights : (S,) ≥ 0, summing to 1
    law : rows (an index array) → family of batch shape broadcasting to (S, rows); of classes `Categorical`, (S, rows)
    n_rows ; classes : (k,) labels behind the codes of a categorical law, None for numbers

    >>> import credo as cr
    >>> slopes = np.array([[1.0], [3.0]])
    >>> draws = LawDraws(np.array([0.5, 0.5]), lambda rows: cr.Normal(slopes * rows, 1.0), 3)
    >>> draws.means().tolist(), draws.log_prob([0.0, 1.0, 2.0]).shape
    ([[0.0, 1.0, 2.0], [0.0, 3.0, 6.0]], (2, 3))
    """

    weights: np.ndarray
    law: Callable[[np.ndarray], ScalarFamily]
    n_rows: int
    classes: np.ndarray | None = None

    def means(self) -> np.ndarray:
        """E[y_i | θ_s], (S, n); of classes their probabilities, (S, n, k)."""
        return self._joined(lambda law, rows: self._mean(law, rows))

    def averages(self, rows_weight: np.ndarray | None = None) -> np.ndarray:
        """Mean over rows of `means`, (S,) or (S, k), in bounded memory."""
        w = np.ones(self.n_rows) if rows_weight is None else rows_weight
        total: Any = 0.0
        for rows in self.chunks():
            total = total + np.tensordot(self._mean(self.law(rows), rows), w[rows], axes=(1, 0))
        return total / w.sum()

    def variances(self) -> np.ndarray:
        """Var(y_i | θ_s), (S, n); of classes those of their indicators, (S, n, k)."""
        if self.classes is not None:
            return self._joined(lambda law, rows: law.p * (1.0 - law.p))  # type: ignore[attr-defined]
        return self._joined(lambda law, rows: self._spread(law.variance, rows))  # type: ignore[attr-defined]

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y_i | θ_s), (S, n); y are numbers, or codes of classes."""
        y = np.asarray(y)
        return self._joined(lambda law, rows: self._spread(law.log_prob(y[rows]), rows))

    def chunks(self) -> Iterator[np.ndarray]:
        """Runs of rows, each of a size that stays in cache."""
        cells = len(self.weights) * (1 if self.classes is None else self.classes.size)
        size = max(1, CHUNK_CELLS // cells)
        for start in range(0, self.n_rows, size):
            yield np.arange(start, min(start + size, self.n_rows))

    def _mean(self, law: Any, rows: np.ndarray) -> np.ndarray:
        if self.classes is not None:
            return np.broadcast_to(law.p, (len(self.weights), rows.size, self.classes.size))
        return self._spread(law.mean, rows)

    def _spread(self, value: Any, rows: np.ndarray) -> np.ndarray:
        return np.broadcast_to(value, (len(self.weights), rows.size))

    def _joined(self, part: Callable[[ScalarFamily, np.ndarray], np.ndarray]) -> np.ndarray:
        return np.concatenate([part(self.law(rows), rows) for rows in self.chunks()], axis=1)
