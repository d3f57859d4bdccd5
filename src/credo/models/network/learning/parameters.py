"""Tables from counts, and what is still open about them: a Dirichlet for each row of each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from credo.errors import DataWarning, NotIdentifiedError, warn
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.priors import TablePrior
from credo.saving.registry import register

__all__ = ["DirichletTables", "row_means", "draw_rows", "tables_from_counts", "estimate_tables"]


@register
@dataclass(frozen=True, eq=False)
class DirichletTables:
    """A posterior over a network's tables: independent Dirichlets, one for each row.

    concentrations : node → (\\*parents' sizes, own size), ≥ 0; the last axis is one Dirichlet

    >>> tables = DirichletTables({"wet": np.array([[8.0, 2.0], [1.0, 3.0]])})
    >>> tables.mean["wet"].tolist()
    [[0.8, 0.2], [0.25, 0.75]]
    >>> tables.sd["wet"].round(3).tolist()
    [[0.121, 0.121], [0.194, 0.194]]
    """

    concentrations: Mapping[str, np.ndarray]

    def state(self) -> dict[str, dict[str, np.ndarray]]:
        return {"concentrations": dict(self.concentrations)}

    @classmethod
    def from_state(cls, state: Mapping[str, Mapping[str, np.ndarray]], version: int) -> DirichletTables:
        return cls(dict(state["concentrations"]))

    @property
    def mean(self) -> dict[str, np.ndarray]:
        """node → table; a row without any concentration is even."""
        return {node: row_means(a) for node, a in self.concentrations.items()}

    @property
    def sd(self) -> dict[str, np.ndarray]:
        """node → standard deviations √(p(1 − p)/(Σa + 1)) of the table's entries."""
        return {
            node: np.sqrt(p * (1.0 - p) / (self.concentrations[node].sum(axis=-1, keepdims=True) + 1.0))
            for node, p in self.mean.items()
        }

    def sample(self, rng: np.random.Generator, size: int | None = None) -> dict[str, np.ndarray]:
        """node → a table drawn, or `size` of them along a leading axis.

        Raises
        ------
        NotIdentifiedError : a concentration is 0, as after maximum likelihood: there is nothing to draw from.
        """
        many = () if size is None else (size,)
        shaped = {n: np.asarray(a, dtype=np.float64) for n, a in self.concentrations.items()}
        return {n: draw_rows(n, np.broadcast_to(a, (*many, *a.shape)), rng) for n, a in shaped.items()}


def draw_rows(node: str, a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A draw of each Dirichlet along the last axis."""
    if not np.all(a > 0.0):
        raise NotIdentifiedError(
            f"The posterior of {node}'s table has no density where a concentration is 0.",
            value=float(a.min()),
            remedy="Estimate with a prior other than 'none', every part of which is > 0.",
        )
    # Gamma(a) = Gamma(a + 1) U^(1/a), in logs: a draw with a = 0.001 would often be 0 in all states.
    log_gamma = np.log(rng.standard_gamma(a + 1.0)) + np.log1p(-rng.random(a.shape)) / a
    log_gamma -= log_gamma.max(axis=-1, keepdims=True)
    share = np.exp(log_gamma)
    return share / share.sum(axis=-1, keepdims=True)


def row_means(concentration: np.ndarray) -> np.ndarray:
    """a/Σa along the last axis; even where all are 0."""
    total = concentration.sum(axis=-1, keepdims=True)
    even = np.full(concentration.shape, 1.0 / concentration.shape[-1])
    return np.divide(concentration, total, out=even, where=total > 0.0)


def tables_from_counts(
    counts: Sequence[np.ndarray], names: Sequence[str], families: Sequence[Sequence[int]], prior: TablePrior
) -> DirichletTables:
    """Prior and counts (q, r) of every node as concentrations (\\*parents' sizes, own size)."""
    sizes = [table.shape[1] for table in counts]
    return DirichletTables(
        {
            names[child]: (table + prior.concentration(names[child], *table.shape)).reshape(
                *(sizes[p] for p in families[child]), sizes[child]
            )
            for child, table in enumerate(counts)
        }
    )


def estimate_tables(counter: Counter, families: Sequence[Sequence[int]], prior: TablePrior) -> DirichletTables:
    """The posterior of all tables from rows in which every cell of a family is there.

    Rows with a missing cell in a family say nothing of that family: unbiased where cells are missing completely at
    random. EM uses the rest of them as well.

    A row of a table whose configuration never occurs has its prior; without a prior it is even, and a `DataWarning`
    names the nodes.
    """
    names, counts, unseen = counter.rows.names, [], []
    for child, family in enumerate(families):
        table = counter.dense(child, family)
        counts.append(table)
        empty = int((table.sum(axis=1) == 0.0).sum())
        if empty and not prior.concentration(names[child], *table.shape).any():
            unseen.append(f"{names[child]} ({empty} of {len(table)})")
    if unseen:
        warn(
            f"No row has some configurations of the parents of {', '.join(unseen[:8])}; without a prior their "
            "probabilities are undefined, and set even.",
            DataWarning,
        )
    return tables_from_counts(counts, names, families, prior)
