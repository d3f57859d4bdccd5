"""Scores of a structure: sums over families, higher is better, in nats.

log-likelihood   Σ n_jk log(n_jk/n_j)
AIC, BIC         the same − k, − (k/2) log n, with k = q(r − 1) free probabilities
BDeu, K2         log evidence with Dirichlet(a, …, a) rows: a = ess/(q r), a = 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.network.learning.counts import Counter, FamilyCounts
from credo.models.network.learning.rows import CodedRows

__all__ = ["SCORES", "Score", "checked_score", "family_scores", "score_structure"]

SCORES = ("bic", "aic", "bdeu", "k2", "log_likelihood")


@dataclass(frozen=True)
class Score:
    """name : one of `SCORES`; equivalent_sample_size : > 0, of "bdeu"; total : rows n, of "bic"."""

    name: str
    equivalent_sample_size: float
    total: float

    def of(self, cells: np.ndarray, q: int, r: int, s: int = 1, n_configurations: int | None = None) -> float:
        """The score of a family with counts (q, r, s): r states of the child, q · s configurations of its parents.

        n_configurations : how many there are in all, where `cells` hold only those that occur
        """
        from credo.models.network.learning import count_kernels as kernels

        n_rows = float(q * s if n_configurations is None else n_configurations)
        if self.name == "bdeu":
            return kernels.dirichlet_evidence(cells, q, r, s, self.equivalent_sample_size / (n_rows * r))
        if self.name == "k2":
            return kernels.dirichlet_evidence(cells, q, r, s, 1.0)
        return kernels.log_likelihood(cells, q, r, s) - self.price * n_rows * (r - 1)

    @property
    def price(self) -> float:
        """What one free probability costs."""
        return {"bic": 0.5 * log(self.total), "aic": 1.0}.get(self.name, 0.0)

    def of_family(self, counts: FamilyCounts) -> float:
        m, r = counts.table.shape
        return self.of(np.ascontiguousarray(counts.table).ravel(), m, r, 1, counts.n_configurations)


def checked_score(owner: str, name: Any, equivalent_sample_size: Any, total: float) -> Score:
    """The score of that name for rows that weigh `total`."""
    if not isinstance(name, str) or name not in SCORES:
        raise ParameterError(owner, "score", f"one of {', '.join(SCORES)}", name)
    size = equivalent_sample_size
    if not isinstance(size, (int, float, np.number)) or not 0.0 < size < np.inf:
        raise ParameterError(owner, "equivalent_sample_size", "a number > 0", size)
    return Score(name, float(size), total)


def family_scores(rows: CodedRows, parents: Sequence[Sequence[int]], score: Score) -> np.ndarray:
    """The score of every column's family (d,)."""
    counter = Counter(rows)
    return np.array([score.of_family(counter.family(child, family)) for child, family in enumerate(parents)])


def score_structure(
    rows: CodedRows, parents: Mapping[str, Sequence[str]], score: str = "bic", equivalent_sample_size: float = 1.0
) -> dict[str, float]:
    """The score of each node's family, by name; their sum is the structure's.

    Rows with a missing cell are left out, with a warning. `structural_em` scores the cells that are there.

    Raises
    ------
    ParameterError : an unknown score, node or parent; a cycle.

    >>> from credo.models.network.learning.rows import coded_rows
    >>> rows = coded_rows("", [[0, 0], [0, 0], [1, 1], [1, 0]], (2, 2), ("rain", "wet"))
    >>> {node: round(value, 4) for node, value in score_structure(rows, {"wet": ["rain"]}, "k2").items()}
    {'rain': -3.4012, 'wet': -2.8904}
    """
    from credo.models.network.learning.structure import checked_parents

    rows = rows.complete("score_structure")
    families = checked_parents("score_structure", "parents", parents, rows.names)
    values = family_scores(rows, families, checked_score("score_structure", score, equivalent_sample_size, rows.total))
    return dict(zip(rows.names, values.tolist()))
