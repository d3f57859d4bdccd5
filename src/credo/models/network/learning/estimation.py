"""`fit_tables`: the tables of a given structure, by EM where cells are missing or nodes hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.errors import ConvergenceWarning, DataWarning, ParameterError, warn
from credo.inference.em import EMModel, best_of
from credo.inference.result import Result
from credo.models.network.learning.augmentation import MOST_STATES, AugmentedTables, Cases
from credo.models.network.learning.expectation import CaseSource, ExpectedCounts, PackedGroups
from credo.models.network.learning.layout import TableLayout
from credo.models.network.learning.parameters import DirichletTables
from credo.models.network.learning.priors import TablePrior
from credo.models.network.learning.rows import CodedRows
from credo.numerics.random import as_generator

__all__ = ["TableEM", "TableFit", "fit_tables"]

_OWNER = "fit_tables"
# Starts where some node is never seen with its parents: the likelihood then has maxima that differ.
STARTS, SCREEN = 10, 15


@dataclass(frozen=True, eq=False)
class TableFit:
    """tables : node → probabilities; posterior : prior and (expected) counts; log_likelihood : of the rows, in nats.

    Where cells are missing the posterior is an `AugmentedTables`, which draws them too. Parts of rows with
    more than 256 unknown states count as EM expects them: it is a little too sure of these.
    """

    tables: dict[str, np.ndarray]
    posterior: DirichletTables
    log_likelihood: float
    result: Result


class TableEM(EMModel):
    """EM over tables θ (cells,), end to end as a `TableLayout` has them.

        bound = log p(x | θ) + Σ a log θ

    Its maximum for complete rows is the posterior mean under Dirichlet(a), which is the mode in log-odds coordinates:
    so that EM and `estimate_tables` agree, and a < 1 is no trouble.
    """

    def __init__(self, counts: ExpectedCounts, prior: np.ndarray) -> None:
        self.counts, self.prior, self.layout = counts, prior, counts.layout

    def accumulate(self, block: Any, params: np.ndarray) -> tuple[np.ndarray, float]:
        found = np.zeros(self.layout.n_cells)
        return found, block.X.expected(params, found)

    def finalize(self, statistics: tuple[np.ndarray, float]) -> np.ndarray:
        return self.layout.normalised(self.concentration(statistics))

    def concentration(self, statistics: tuple[np.ndarray, float]) -> np.ndarray:
        """Prior and counts (cells,)."""
        return self.prior + self.counts.seen + statistics[0]

    def log_likelihood(self, statistics: tuple[np.ndarray, float], params: np.ndarray) -> float:
        return float(statistics[1]) + self.counts.seen_log_likelihood(params)

    def bound(self, statistics: tuple[np.ndarray, float], params: np.ndarray) -> float:
        return self.log_likelihood(statistics, params) + float(scipy.special.xlogy(self.prior, params).sum())

    def pack(self, params: np.ndarray) -> np.ndarray:
        return params

    def unpack(self, vector: np.ndarray) -> np.ndarray:
        return self.layout.normalised(np.maximum(vector, 0.0))

    def start(self, rng: np.random.Generator, random: bool, given: np.ndarray | None = None) -> np.ndarray:
        """Tables to begin with: counts of what is seen and half a row more, spread; else those given, or random."""
        layout, even = self.layout, np.repeat(1.0 / self.layout.widths, self.layout.widths)
        theta = layout.normalised(self.counts.seen + self.prior + 0.5 * even)
        noise = layout.normalised(rng.standard_exponential(layout.n_cells))
        if given is not None and not random:  # a 0 could not be left by EM
            noise = 0.99 * given + 0.01 * even
        unseen = np.repeat([not self._any_seen(c) for c in range(len(layout.sizes))], np.diff(layout.offsets))
        share = np.where(unseen, 1.0, 0.3 if random else 0.0)
        return layout.normalised((1.0 - share) * theta + share * noise)

    def _any_seen(self, child: int) -> bool:
        return bool(self.layout.table(self.counts.seen, child).any())

    @property
    def all_seen(self) -> bool:
        """Whether every family has been seen whole in some row."""
        return all(map(self._any_seen, range(len(self.layout.sizes))))


def fit_tables(
    rows: CodedRows,
    families: Sequence[Sequence[int]],
    prior: TablePrior,
    *,
    n_init: int | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    acceleration: str | None = "squarem",
    random_state: Any = 0,
    start: Mapping[str, np.ndarray] | None = None,
    threads: int | None = None,
) -> TableFit:
    """Estimate tables from rows in which any cells may be missing, whole columns included.

    Parameters
    ----------
    rows : columns of codes; a hidden node is a column of −1
    families : parents of every column, in the order of its table's axes
    prior : of the tables
    n_init : starts of EM; None is 10 where a node is never seen together with its parents, else 1
    tol : EM stops when a step raises the bound by less than this a row
    acceleration : None or "squarem"
    random_state : seed, of starts only
    start : tables {node: (\\*parents, states)} that the first start takes where nothing is seen of a family; None draws
        them. It is then the only start by default, so that hidden states mean what they meant: unless a hidden node
        matters to none of its children, of which EM could learn nothing

    Returns
    -------
    TableFit : status "exact" where no cell is missing, else that of EM

    Raises
    ------
    ParameterError : a table is too large, or bad arguments. MemoryLimitError : a row has many unknown nodes, in a
        network too densely connected.

    Notes
    -----
    Right where whether a cell is missing depends on what is observed alone (missing at random).

    The states of a hidden node have no names that the rows could tell: any permutation is as good.

    Cost a pass: O(states of the unknown nodes × tables) for each different case, see `parts`; rows with a part of more
    than 16,384 states (256 where there are many) take as many eliminations of the network as it has nodes, 128 rows at
    once.

    References
    ----------
    Lauritzen (1995), The EM algorithm for graphical association models with missing data, Comput. Stat. Data Anal. 19.
    """
    if n_init is not None and (not isinstance(n_init, (int, np.integer)) or isinstance(n_init, bool) or n_init < 1):
        raise ParameterError(_OWNER, "n_init", "an integer ≥ 1", n_init)
    layout = TableLayout.of(rows.names, rows.sizes, families)
    counts = ExpectedCounts(rows, layout)
    model = TableEM(counts, _prior(layout, rows.names, prior))
    if not counts.blocks:
        statistics = (np.zeros(layout.n_cells), 0.0)
        theta, result = model.finalize(statistics), Result("exact", "exact")
    else:
        given = _given(layout, rows, start)
        n = n_init or (1 if model.all_seen or given is not None else STARTS)
        rngs = as_generator(random_state).spawn(n)
        starts = [model.start(rng, i > 0, given) for i, rng in enumerate(rngs)]
        fit = best_of(
            model, CaseSource(counts), starts, screen=SCREEN if n > 1 else None, keep=max(1, n // 3),
            tol=tol, scale=max(rows.total, 1.0), max_iter=max_iter, acceleration=acceleration, threads=threads,
        )  # fmt: skip
        theta, statistics, result = fit.params, fit.statistics, fit.result
        if not result.ok:
            warn(f"{_OWNER}: {result.message}", ConvergenceWarning)
    concentration = model.concentration(statistics)
    _warn_of_unseen(rows.names, layout, concentration)
    return TableFit(
        dict(zip(rows.names, layout.tables(theta))),
        _posterior(rows.names, model, concentration, theta),
        model.log_likelihood(statistics, theta),
        result,
    )


def _given(layout: TableLayout, rows: CodedRows, start: Mapping[str, np.ndarray] | None) -> np.ndarray | None:
    """Tables end to end; None without any, or where a column without cells makes no difference to its children."""
    if start is None:
        return None
    for hidden in np.flatnonzero((rows.columns < 0).all(axis=1)).tolist():
        below = [c for c, family in enumerate(layout.families) if hidden in family]
        axes = [layout.families[c].index(hidden) for c in below]
        tables = [np.asarray(start[rows.names[c]]) for c in below]
        if all(np.ptp(table, axis=axis).max() < 1e-9 for table, axis in zip(tables, axes)):
            return None
    return np.concatenate([np.asarray(start[name], dtype=np.float64).ravel() for name in rows.names])


def _posterior(names: Sequence[str], model: TableEM, concentration: np.ndarray, theta: np.ndarray) -> DirichletTables:
    def named(flat: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(names, model.layout.tables(flat)))

    few = [group for group in model.counts.groups if np.prod(group.sizes) <= MOST_STATES]
    many = [group for group in model.counts.groups if np.prod(group.sizes) > MOST_STATES]
    if not few:
        return DirichletTables(named(concentration))
    known = model.prior + model.counts.seen
    if many:
        PackedGroups.of(many).expected(theta, known)
    if model.counts.wide is not None:
        model.counts.wide.expected(theta, known)
    return AugmentedTables(named(concentration), named(known), [Cases.of(group) for group in few])


def _prior(layout: TableLayout, names: Sequence[str], prior: TablePrior) -> np.ndarray:
    parts = []
    for child, (name, size) in enumerate(zip(names, layout.sizes)):
        q = int(layout.offsets[child + 1] - layout.offsets[child]) // size
        parts.append(np.tile(prior.concentration(name, q, size), q))
    return np.concatenate(parts)


def _warn_of_unseen(names: Sequence[str], layout: TableLayout, concentration: np.ndarray) -> None:
    empty = np.add.reduceat(concentration, layout.starts) == 0.0
    if not empty.any():
        return
    owner = np.searchsorted(layout.offsets, layout.starts, side="right") - 1
    said = [
        f"{names[child]} ({int(empty[owner == child].sum())} of {int((owner == child).sum())})"
        for child in np.unique(owner[empty]).tolist()
    ]
    warn(
        f"No row has some configurations of the parents of {', '.join(said[:8])}; without a prior their probabilities "
        "are undefined, and set even.",
        DataWarning,
    )
