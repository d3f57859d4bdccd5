"""`Histogram`: a density that is constant in bins, with a posterior on what they hold."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv
from sklearn.utils.validation import check_is_fitted

from credo.distributions.dirichlet import Dirichlet
from credo.errors import DataError, ParameterError
from credo.models.columns import column_names
from credo.models.density.base import Density
from credo.models.density.bins import RULES, edges_by_rule, one_bin
from credo.models.density.blocks import bayesian_blocks
from credo.models.density.rows import fitted_rows, kept_rows
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["Bars", "Histogram"]


@dataclass(frozen=True)
class Bars:
    """A histogram of one column.

    edges (k + 1,), counts (k,) ; density (k,) : posterior mean
    lower, upper (k,) : the central interval of the density that holds `mass`
    """

    edges: np.ndarray
    counts: np.ndarray
    density: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    mass: float


@register
class Histogram(Density):
    """Histogram: f(x) = m_c / v_c in cell c of volume v_c, with the masses m ~ Dirichlet(counts + concentration).

    Parameters
    ----------
    bins : for all columns, or a list with one of these for each of several columns

        - "knuth": equal bins, as many as have the highest posterior (Knuth 2006)
        - "blocks": Bayesian blocks, of different widths (Scargle et al. 2013); with `p0`, `gamma` of `bayesian_blocks`
        - "fd", "scott": Freedman and Diaconis' and Scott's widths
        - an integer ≥ 1, or edges (k + 1,), increasing
    concentration : pseudo-count of a cell; None: ½ (Jeffreys), or less where there are more cells than rows, so that
        the prior never weighs more than half the rows
    p0, gamma : of Bayesian blocks

    Attributes
    ----------
    edges_ : list of arrays, one a column
    cells_ (c, d), counts_ (c,) : the cells that hold rows, by bin number in each column, and their weights
    concentration_ ; n_cells_ : pseudo-count and number of all cells (a float: it may be huge)
    posterior_ : `Dirichlet` of the masses of all bins, for one column with two bins or more, else None
    n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : rows outside edges that were given, among others.

    Notes
    -----
    The density is the posterior's mean, (count + concentration)/(n + all concentration) a volume; it is 0 outside the
    edges. `sample_weight` counts rows. O(n log n), and for "knuth" O(n) bins tried.

    References
    ----------
    Knuth (2006), Optimal data-based binning for histograms, arXiv physics/0605197; Scargle, Norris, Jackson and Chiang
    (2013), Astrophysical Journal 764:167; Freedman and Diaconis (1981); Scott (1979).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.density import Histogram
    >>> x = np.concatenate([np.linspace(0, 1, 101), np.linspace(1.1, 11, 100)])[:, None]
    >>> model = Histogram(bins="blocks").fit(x)
    >>> bars = model.bars(0.9)
    >>> bars.edges.round(2).tolist(), bars.density.round(3).tolist()
    ([0.0, 1.0, 11.0], [0.5, 0.05])
    >>> bars.lower.round(3).tolist(), bars.upper.round(3).tolist()
    ([0.442, 0.044], [0.558, 0.056])
    """

    def __init__(
        self, bins: Any = "knuth", *, concentration: float | None = None, p0: float = 0.05, gamma: float | None = None
    ) -> None:
        self.bins = bins
        self.concentration = concentration
        self.p0 = p0
        self.gamma = gamma

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Bins of the columns and counts of the rows X (n, d); `sample_weight` (n,) ≥ 0, y is ignored."""
        a = self.concentration
        if a is not None and not (isinstance(a, numbers.Real) and 0.0 < a < math.inf):
            raise ParameterError("Histogram", "concentration", "None or a number > 0", a)
        rows, weights = kept_rows("Histogram", fitted_rows(self, X, reset=True), sample_weight)
        w = np.ones(rows.shape[0]) if weights is None else weights
        names, wishes = column_names(self), self._wishes(rows.shape[1])
        edges = [self._edges(wish, rows[:, j], w, names[j]) for j, wish in enumerate(wishes)]
        places = _places(rows, edges)
        lost = np.flatnonzero((places < 0).any(axis=1))
        if lost.size:
            raise DataError(
                f"Histogram: rows {lost[:5].tolist()}{' and more' if lost.size > 5 else ''} lie outside the edges.",
                rows=lost.tolist(), remedy="Widen the edges, or remove the rows.",
            )  # fmt: skip
        cells, which = np.unique(places, axis=0, return_inverse=True)
        self.edges_, self.cells_ = edges, cells
        self.counts_ = np.bincount(which.ravel(), w, cells.shape[0])
        self.n_cells_ = math.prod(float(e.size - 1) for e in edges)
        n = float(w.sum())
        self.concentration_ = 0.5 * min(1.0, n / self.n_cells_) if a is None else float(a)
        single = len(edges) == 1 and edges[0].size > 2
        self.posterior_ = Dirichlet(self._dense_counts() + self.concentration_) if single else None
        return self

    def _wishes(self, d: int) -> Sequence[Any]:
        """What is asked for each column."""
        several = isinstance(self.bins, (list, tuple)) and d > 1
        if several and len(self.bins) != d:
            raise ParameterError("Histogram", "bins", f"one for all or a list of {d}", self.bins)
        return list(self.bins) if several else [self.bins] * d

    def _edges(self, wish: Any, x: np.ndarray, w: np.ndarray, column: str) -> np.ndarray:
        if isinstance(wish, str) and wish in RULES:
            if wish != "blocks":
                return edges_by_rule(wish, x, w, column)
            edges = bayesian_blocks(x, w, self.p0, self.gamma)
            return edges if edges[0] < edges[-1] else one_bin(float(x[0]))
        if isinstance(wish, numbers.Integral) and not isinstance(wish, bool) and int(wish) >= 1:
            low, high = float(x.min()), float(x.max())
            if low == high:
                low, high = one_bin(low)
            return np.linspace(low, high, int(wish) + 1)
        constraint = f"one of {', '.join(map(repr, RULES))}, an integer ≥ 1, or increasing edges"
        try:
            edges = np.array(wish, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("Histogram", "bins", constraint, wish) from None
        if edges.ndim != 1 or edges.size < 2 or not np.isfinite(edges).all() or not np.all(np.diff(edges) > 0.0):
            raise ParameterError("Histogram", "bins", constraint, wish)
        return edges

    # -- the density ---------------------------------------------------------------------------------------------

    @property
    def _total(self) -> float:
        return float(self.counts_.sum()) + self.n_cells_ * self.concentration_

    def score_samples(self, X: Any) -> np.ndarray:
        """log f(x) of rows X (q, d); −∞ outside the edges."""
        check_is_fitted(self)
        counts, log_volume, inside = self._at(fitted_rows(self, X, reset=False))
        log_f = np.log((counts + self.concentration_) / self._total) - log_volume
        return np.where(inside, log_f, -np.inf)

    def density_interval(self, X: Any, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper), each (q,): the central interval of the density at rows X, given the bins."""
        check_is_fitted(self)
        self._check_mass("density_interval", mass)
        counts, log_volume, inside = self._at(fitted_rows(self, X, reset=False))
        low, high = (np.where(inside, end * np.exp(-log_volume), 0.0) for end in self._masses(counts, mass))
        return low, high

    def _masses(self, counts: np.ndarray, mass: float) -> tuple[np.ndarray, np.ndarray]:
        """A cell's mass is Beta(count + concentration, the rest)."""
        a = counts + self.concentration_
        b = np.maximum(self._total - a, 0.0)
        if self.n_cells_ == 1.0:
            return np.ones(a.shape), np.ones(a.shape)
        return betaincinv(a, b, 0.5 * (1.0 - mass)), betaincinv(a, b, 0.5 * (1.0 + mass))

    def _at(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """(count of the cell of each row, log of its volume, whether it is within the edges)."""
        places = _places(X, self.edges_)
        inside = np.all(places >= 0, axis=1)
        found, which = np.unique(np.concatenate([self.cells_, places]), axis=0, return_inverse=True)
        counts = np.zeros(found.shape[0])
        c = self.cells_.shape[0]
        counts[which.ravel()[:c]] = self.counts_
        log_volume = sum(np.log(np.diff(e))[np.maximum(places[:, j], 0)] for j, e in enumerate(self.edges_))
        return counts[which.ravel()[c:]], np.asarray(log_volume), inside

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws (n_samples, d) from the density: a cell, then a point of it."""
        check_is_fitted(self)
        n_samples = self._checked_number(n_samples)
        rng = as_generator(random_state)
        # The mean of the posterior mixes the counted cells with the prior's, which are all equally likely.
        seen = self.cells_[rng.choice(self.counts_.size, n_samples, p=self.counts_ / self.counts_.sum())]
        prior = np.column_stack([rng.integers(e.size - 1, size=n_samples) for e in self.edges_])
        from_prior = rng.random(n_samples) < self.n_cells_ * self.concentration_ / self._total
        cells = np.where(from_prior[:, None], prior, seen)
        low = np.column_stack([e[cells[:, j]] for j, e in enumerate(self.edges_)])
        high = np.column_stack([e[cells[:, j] + 1] for j, e in enumerate(self.edges_)])
        return low + (high - low) * rng.random(low.shape)

    # -- one column ----------------------------------------------------------------------------------------------

    def _dense_counts(self) -> np.ndarray:
        counts = np.zeros(self.edges_[0].size - 1)
        counts[self.cells_[:, 0]] = self.counts_
        return counts

    def bars(self, mass: float = 0.9) -> Bars:
        """The bins of one column with the interval of their density."""
        self._check_one_column("bars")
        self._check_mass("bars", mass)
        counts, edges = self._dense_counts(), self.edges_[0]
        lower, upper = self._masses(counts, mass)
        width = np.diff(edges)
        density = (counts + self.concentration_) / self._total / width
        return Bars(edges, counts, density, lower / width, upper / width, mass)

    def _knots(self, what: str) -> np.ndarray:
        """P(X ≤ edge), (k + 1,)."""
        self._check_one_column(what)
        return np.concatenate([[0.0], np.cumsum((self._dense_counts() + self.concentration_) / self._total)])

    def cdf(self, x: Any) -> np.ndarray:
        """P(X ≤ x) in one column; any shape."""
        return np.interp(np.asarray(x, dtype=np.float64), self.edges_[0], np.minimum(self._knots("cdf"), 1.0))

    def quantile(self, q: Any) -> np.ndarray:
        """The x with P(X ≤ x) = q in one column; any shape."""
        return np.interp(self._checked_levels(q), self._knots("quantile"), self.edges_[0])


def _places(X: np.ndarray, edges: list[np.ndarray]) -> np.ndarray:
    """Bin numbers (n, d), −1 outside; a bin holds its lower edge, the last its upper too."""
    places = np.empty(X.shape, dtype=np.int64)
    for j, e in enumerate(edges):
        place = np.searchsorted(e, X[:, j], side="right") - 1
        place[X[:, j] == e[-1]] = e.size - 2
        place[(X[:, j] < e[0]) | (X[:, j] > e[-1])] = -1
        places[:, j] = place
    return places
