"""Columns of categories, of yes and no, and of words counted: weights of cells, and Dirichlet beliefs.

c, v: class and cell of a table of probabilities; n_cv: its weight; α_v: the prior's, so that the point estimate

    (n_cv + α_v) / (Σ_v n_cv + Σ_v α_v)

is the mean of the Dirichlet posterior: the m-estimate with m = Σ α and p = α/m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse
from scipy.special import digamma, gammaln, polygamma, xlogy

from credo.errors import DataError
from credo.models.generative.family import Belief, Family, Moments
from credo.models.generative.memberships import Memberships
from credo.saving.registry import register

__all__ = ["CategoryTable", "CategoricalFamily", "CategoricalBelief", "indicators"]


@register
@dataclass(frozen=True, eq=False)
class CategoryTable:
    """Weight of every category in every class, a list over columns of (categories, k).

    Codes may exceed what earlier blocks held: tables grow on merging.
    """

    tables: tuple[np.ndarray, ...]

    @classmethod
    def accumulate(cls, codes: np.ndarray, rows: Memberships, sizes: tuple[int, ...]) -> Self:
        """Of codes (n, d), NaN where missing; `sizes` are the least numbers of categories."""
        missing = None
        if codes.dtype.kind == "f":
            missing = np.isnan(codes) if np.isnan(codes.sum()) else None
            filled = codes if missing is None else np.where(missing, 0.0, codes)
            whole = filled.astype(np.intp)
            if np.any(whole != filled):
                raise DataError("Categories must be coded by whole numbers ≥ 0.", value=filled[whole != filled][0])
        else:
            whole = codes.astype(np.intp)
        if whole.min(initial=0) < 0:
            raise DataError("Categories must be coded by whole numbers ≥ 0.", value=int(whole.min()))
        sizes = tuple(np.maximum(sizes, whole.max(axis=0) + 1).tolist())
        at = np.concatenate([[0], np.cumsum(sizes)])
        whole += at[:-1]
        if rows.codes is not None:
            counts = _counted(whole, missing, rows, int(at[-1]))
        else:
            hot = _hot(whole if missing is None else np.where(missing, at[-1], whole), int(at[-1]) + 1)
            counts = (hot.T @ rows.shares)[:-1]
        return cls(tuple(counts[a:b] for a, b in pairwise(at)))

    def merge(self, other: Self) -> Self:
        return type(self)(tuple(_added(a, b) for a, b in zip(self.tables, other.tables, strict=True)))

    def recoded(self, maps: list[np.ndarray], sizes: list[int]) -> Self:
        """With category v of column j moved to maps[j][v]."""
        tables = []
        for table, place, size in zip(self.tables, maps, sizes, strict=True):
            moved = np.zeros((size, table.shape[1]))
            moved[place[: len(table)]] = table
            tables.append(moved)
        return type(self)(tuple(tables))


def _counted(whole: np.ndarray, missing: np.ndarray | None, rows: Memberships, n_cells: int) -> np.ndarray:
    """Weight (cells, k) of every cell number in every class: one count over all cells of the block."""
    k = rows.n_classes
    assert rows.codes is not None
    number = whole * k
    number += rows.codes[:, None]
    weights = None if rows.weights is None else np.broadcast_to(rows.weights[:, None], number.shape)
    if missing is not None:
        weights = None if weights is None else weights[~missing]
        number = number[~missing]
    weights = None if weights is None else weights.ravel()
    return np.bincount(number.ravel(), weights, minlength=n_cells * k).reshape(n_cells, k).astype(np.float64)


def _added(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if len(a) < len(b):
        a, b = b, a
    total = a.copy()
    total[: len(b)] += b
    return total


def _hot(cells: np.ndarray, width: int) -> Any:
    """Indicators (n, width) of the cell numbers (n, d) of every row."""
    n, d = cells.shape
    index = np.int32 if max(n * d, width) < 2**31 else np.int64
    pointer = np.arange(0, n * d + 1, d, dtype=index)
    hot = scipy.sparse.csr_array((n, width))
    # set rather than constructed: the constructor's checks read the indices once more
    hot.data, hot.indices, hot.indptr = np.ones(n * d), cells.ravel().astype(index), pointer
    return hot


def indicators(codes: np.ndarray, sizes: np.ndarray) -> Any:
    """φ (n, Σ (sizes + 1) + 1): every column has a cell for each category and one for those unseen; the last cell is
    for missing ones."""
    start = np.concatenate([[0], np.cumsum(sizes + 1)])
    cells = np.minimum(codes, sizes)
    cells += start[:-1]
    if cells.dtype.kind == "f" and np.isnan(cells.sum()):
        cells = np.where(np.isnan(cells), start[-1], cells)
    return _hot(cells, int(start[-1]) + 1)


@register
@dataclass(frozen=True, eq=False)
class CategoricalFamily(Family):
    """Categories given the class.

    sizes : the least number of categories of each column
    strength : m (d,) of each column, or None for `alpha` on every category; prior : p, a tuple over columns of
        (categories,), or None for 1/k
    alpha : (d,) on every category
    """

    sizes: tuple[int, ...]
    alpha: np.ndarray
    strength: Any = None
    prior: Any = None

    name = "categorical"

    def accumulate(self, cells: np.ndarray, rows: Memberships) -> CategoryTable:
        return CategoryTable.accumulate(cells, rows, self.sizes)

    def finalize(self, statistics: CategoryTable, class_weight: np.ndarray) -> CategoricalBelief:
        sizes = np.array([len(table) for table in statistics.tables])
        alphas = [self._concentration(j, size) for j, size in enumerate(sizes)]
        k = len(class_weight)
        rows, totals = [], []
        for j, (table, alpha) in enumerate(zip(statistics.tables, alphas)):
            # a category never seen anywhere has the prior estimate of one more level
            unseen = self.alpha[j] if self.strength is None else self.strength[j] / sizes[j]
            rows.append(np.concatenate([table + alpha[:, None], np.full((1, k), unseen)]))
            totals.append(np.repeat((table.sum(axis=0) + alpha.sum())[None], sizes[j] + 1, axis=0))
        return CategoricalBelief(sizes, np.concatenate(rows), np.concatenate(totals), np.concatenate(alphas))

    def _concentration(self, j: int, size: int) -> np.ndarray:
        if self.prior is None:
            return np.full(size, self.alpha[j] if self.strength is None else self.strength[j] / size)
        p = np.asarray(self.prior[j])
        if len(p) != size:
            raise DataError(
                f"prior_estimate of column {j} has {len(p)} probabilities for {size} categories.",
                value=p,
                remedy="Give one probability for each category, in the order of categories_.",
            )
        return p * (size * self.alpha[j] if self.strength is None else self.strength[j])


@register
@dataclass(frozen=True, eq=False)
class CategoricalBelief(Belief):
    """Dirichlet posteriors: concentration (Σ (sizes + 1), k) of every cell, and the total of its column."""

    sizes: np.ndarray
    concentration: np.ndarray
    total: np.ndarray
    alpha: np.ndarray

    def _product(self, cells: np.ndarray, table: np.ndarray) -> np.ndarray:
        # a missing cell says nothing
        table = np.concatenate([table, np.zeros((1, table.shape[1]))])
        hot = indicators(cells, self.sizes)
        if np.isfinite(table).all():
            return hot @ table
        # −∞ times an indicator of 0 never happens in a sparse product, but ∞ may not be summed with itself reversed
        return hot @ np.maximum(table, -1e300)

    @cached_property
    def log_table(self) -> np.ndarray:
        """log of the point estimates, by cell (cells, k); 0 for an unseen category where nothing smooths."""
        with np.errstate(divide="ignore", invalid="ignore"):
            table = np.log(self.concentration) - np.log(self.total)
        table[self.total == 0.0] = 0.0  # a class without any cell of this column, and no prior: it says nothing
        unseen = np.cumsum(self.sizes + 1) - 1
        nothing = unseen[np.all(self.concentration[unseen] == 0.0, axis=1)]
        table[nothing] = 0.0
        return table

    def log_plug(self, cells: np.ndarray) -> np.ndarray:
        value = self._product(cells, self.log_table)
        value[value < -1e299] = -np.inf
        return value

    def log_penalty(self) -> float:
        known = np.ones(len(self.total), dtype=bool)
        known[np.cumsum(self.sizes + 1) - 1] = False
        return float(xlogy(self.alpha[:, None], np.exp(self.log_table[known])).sum())

    def moments(self, cells: np.ndarray) -> Moments:
        hot = indicators(cells, self.sizes)
        # polygammas cost more than all else: of the categories that are there
        used = np.zeros(hot.shape[1], dtype=bool)
        used[hot.indices] = True
        at = np.flatnonzero(used[:-1])
        each = _beta_moments(self.concentration[at], self.total[at])
        hot = hot[:, at]
        return Moments(*(np.asarray(hot @ table) for table in each))

    def draw(self, rng: np.random.Generator) -> CategoricalBelief:
        unseen = np.cumsum(self.sizes + 1) - 1
        start = unseen - self.sizes
        known = np.ones(len(self.total), dtype=bool)
        known[unseen] = False
        drawn = self.concentration.copy()
        drawn[known] = np.exp(log_gamma_draws(self.concentration[known], rng))
        sums = np.add.reduceat(drawn * known[:, None], start, axis=0)
        total = np.repeat(sums, self.sizes + 1, axis=0)
        # an unseen category keeps its mean: it is outside of the Dirichlet
        drawn[unseen] = self.concentration[unseen] / np.where(self.total[unseen] > 0, self.total[unseen], 1.0) * sums
        return CategoricalBelief(self.sizes, drawn, total, self.alpha)

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        out = np.empty((len(codes), len(self.sizes)))
        start = np.concatenate([[0], np.cumsum(self.sizes + 1)])
        for j, size in enumerate(self.sizes):
            edges = np.cumsum(self.concentration[start[j] : start[j] + size], axis=0)
            u = rng.random(len(codes)) * edges[-1][codes]
            out[:, j] = np.minimum((u[:, None] > edges.T[codes]).sum(axis=1), size - 1)
        return out


def _beta_moments(a: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean and variance of log θ, θ ~ Beta(a, total − a): now, and after one more of the same. −1e300 for a = 0."""
    positive = a > 0.0
    safe, rest = np.where(positive, a, 1.0), np.where(total > 0.0, total, 1.0)
    floor = np.where(positive | (total == 0.0), 0.0, -1e300)
    return (
        np.where(positive, digamma(safe) - digamma(rest), floor),
        np.where(positive, np.maximum(polygamma(1, safe) - polygamma(1, rest), 0.0), 0.0),
        np.where(positive, digamma(safe + 1.0) - digamma(rest + 1.0), floor),
        np.where(positive, np.maximum(polygamma(1, safe + 1.0) - polygamma(1, rest + 1.0), 0.0), 0.0),
    )


def log_gamma_draws(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """log of Gamma(shape, 1) draws, also where they underflow: log G(a) = log G(a + 1) + log U / a."""
    with np.errstate(divide="ignore"):
        boost = np.log(rng.random(shape.shape)) / shape
    return np.where(shape > 0.0, np.log(rng.gamma(shape + 1.0)) + boost, -np.inf)


def log_rising(x: Any, a: Any) -> Any:
    """log Γ(x + a)/Γ(a)."""
    return gammaln(x + a) - gammaln(a)
