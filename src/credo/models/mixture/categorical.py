"""`CategoricalMixture`: latent class analysis, p(x) = Σ_k π_k Π_j θ_kj[x_j]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.blocks.array import ArraySource
from credo.blocks.mapped import MappedSource
from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.inference.em import EMFit
from credo.models.columns import checked_weights, column_names
from credo.models.mixture.base import threads_for
from credo.models.mixture.linear import LinearMixture, LinearModel
from credo.models.mixture.overview import Overview, overview
from credo.models.mixture.starts import responsibilities
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["CategoricalMixture"]

# Smallest probability of a category, where no prior keeps it above 0.
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class CategoricalModel(LinearModel):
    """φ = one-hot codes, side by side; values are θ (k, Σ_j categories), column by column.

    sizes : categories of every column; concentration : of a symmetric Dirichlet on every θ_kj, ≥ 1
    """

    sizes: tuple[int, ...] = ()
    concentration: float = 1.0

    def features(self, X: np.ndarray) -> np.ndarray:
        hot = np.zeros((len(X), sum(self.sizes)))
        for at, codes in zip(self._starts, X.T, strict=True):
            seen = np.flatnonzero(~np.isnan(codes))
            hot[seen, at + codes[seen].astype(np.intp)] = 1.0
        return hot

    @property
    def _starts(self) -> np.ndarray:
        return np.cumsum((0, *self.sizes[:-1]))

    def natural(self, values: np.ndarray) -> np.ndarray:
        return np.log(values)

    def values(self, weight: np.ndarray, gathered: np.ndarray) -> np.ndarray:
        counts = gathered + (self.concentration - 1.0)
        totals = np.add.reduceat(counts, self._starts, axis=1)
        even = totals <= 0.0  # an empty component believes in all categories alike
        counts += np.repeat(even, self.sizes, axis=1)
        totals = np.add.reduceat(counts, self._starts, axis=1)
        return np.maximum(counts / np.repeat(totals, self.sizes, axis=1), SMALLEST)

    def pack_values(self, values: np.ndarray) -> np.ndarray:
        return np.log(values).ravel()

    def unpack_values(self, vector: np.ndarray) -> np.ndarray:
        """θ from logarithms (k, Σ_j categories), each column's known but for a constant."""
        sizes = np.asarray(self.sizes)
        highest = np.repeat(np.maximum.reduceat(vector, self._starts, axis=1), sizes, axis=1)
        theta = np.exp(vector - highest)
        theta /= np.repeat(np.add.reduceat(theta, self._starts, axis=1), sizes, axis=1)
        return np.maximum(theta, SMALLEST)

    def log_prior(self, values: np.ndarray) -> float:
        """Up to a constant."""
        return (self.concentration - 1.0) * float(np.log(values).sum()) if self.concentration > 1.0 else 0.0


@register
class CategoricalMixture(LinearMixture):
    """Latent classes: columns of categories that are independent given an unseen class, by EM.

    Parameters
    ----------
    n_components, tol, max_iter, n_init, random_state, warm_start, verbose, verbose_interval : as `GaussianMixture`;
        starts are memberships at random near those of the most different rows
    concentration : of a symmetric Dirichlet prior on every distribution over categories; 1 is flat, 2 adds one row of
        each category to each class

    Attributes
    ----------
    weights_ (k,) ; probabilities_ : a list over columns of (k, categories) ; categories_ : what their entries stand for
    lower_bound_, lower_bounds_, converged_, n_iter_, result_ : as `GaussianMixture`

    Raises
    ------
    ParameterError, DataError : a bad argument; infinite cells.

    Notes
    -----
    Cells are numbers or strings; NaN and None are missing. A category that `fit` has not seen says nothing about the
    class: it counts as missing, with a `DataWarning`.

    References
    ----------
    Goodman (1974), Exploratory latent structure analysis, Biometrika 61.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> X = np.array([["yes", "red"]] * 30 + [["no", "blue"]] * 20 + [["yes", "blue"]] * 2, dtype=object)
    >>> model = cr.CategoricalMixture(2, random_state=0).fit(X)
    >>> model.predict_proba(X[[0, 30]]).max(axis=1).round(2).tolist()
    [1.0, 1.0]
    """

    _allow_nan = True

    def __init__(
        self,
        n_components: int = 1,
        *,
        concentration: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        n_init: int = 5,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.concentration = concentration
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _check(self) -> None:
        super()._check()
        if not (isinstance(self.concentration, (int, float, np.number)) and 1.0 <= self.concentration < np.inf):
            raise ParameterError("CategoricalMixture", "concentration", "a number ≥ 1", self.concentration)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, d) of categories, or to a `Source` of blocks; `sample_weight` (n,) counts rows."""
        self._check()
        if isinstance(X, Source):
            source, weights = self._source(X, sample_weight), None
            categories = reduce(source, lambda block: list(map(categories_of, block.X.T)), _both, threads_for(source))
            coded: Source = MappedSource(source, self._coded)
        else:
            rows = self._table(X, reset=True)
            weights = checked_weights("CategoricalMixture", sample_weight, rows)
            categories = [categories_of(column) for column in rows.T]
        empty = [name for name, known in zip(column_names(self), categories, strict=True) if not len(known)]
        if empty:
            raise DataError(
                f"CategoricalMixture: no cell is observed in {', '.join(empty[:8])}.",
                columns=empty,
                remedy="Drop columns without values.",
            )
        self.categories_ = categories
        if not isinstance(X, Source):
            coded = ArraySource(self._codes(rows), sample_weight=weights)
        return self._fit_source(coded)

    def _table(self, X: Any, *, reset: bool) -> np.ndarray:
        least = 2 if reset else 1
        table: Any = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False, ensure_min_samples=least)
        if table.dtype.kind == "c":
            raise DataError(f"{type(self).__name__}: Complex data not supported.", value=table.dtype)
        if table.dtype.kind == "f" and np.isinf(table).any():
            owner = type(self).__name__
            raise DataError(f"{owner}: infinity is no category.", value=np.inf, remedy="Use NaN if missing.")
        return table

    def _coded(self, block: Block) -> Block:
        return replace(block, X=self._codes(np.asarray(block.X)))

    def _codes(self, rows: np.ndarray) -> np.ndarray:
        """Numbers of categories (n, d), NaN where missing."""
        codes, strange = np.full(rows.shape, np.nan), []
        for j, (column, known) in enumerate(zip(rows.T, self.categories_, strict=True)):
            seen = ~_is_missing(column)
            at = np.minimum(np.searchsorted(known, column[seen].astype(known.dtype)), len(known) - 1)
            old = known[at] == column[seen]
            if not old.all():
                strange.append(f"{column_names(self)[j]} ({column[seen][~old][0]!r})")
            codes[np.flatnonzero(seen)[old], j] = at[old]
        if strange:
            warn(
                f"{type(self).__name__}: categories that fit has not seen count as missing, "
                f"in {', '.join(strange[:8])}.",
                DataWarning,
            )
        return codes

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        if reset:  # categories are settled by the fit
            return self._table(X, reset=True)
        check_is_fitted(self)
        return self._codes(self._table(X, reset=False))

    def _prepare(self, source: Source, rng: np.random.Generator) -> Overview:
        return overview(source, int(rng.integers(2**63)), threads_for(source))

    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(known) for known in self.categories_)

    def _model(self, seen: Overview) -> CategoricalModel:
        return CategoricalModel(self._sizes(), float(self.concentration))

    def _start(self, model: CategoricalModel, seen: Overview, rng: np.random.Generator) -> Any:
        """Classes around rows drawn far apart in the number of differing cells, softened so that none is certain."""
        hot = model.features(seen.rows)
        shares = responsibilities("k-means++", hot, seen.weights, int(self.n_components), rng)
        shares = 0.8 * shares + 0.2 * rng.dirichlet(np.ones(len(shares)), len(hot)).T
        r = shares * seen.weights
        weight = r.sum(axis=1)
        overall = seen.weights @ hot / seen.weights.sum()
        return weight / weight.sum(), model.values(weight, r @ hot + overall)

    def _settle(self, model: CategoricalModel, fit: EMFit, seen: Any) -> None:
        values = self._settle_weights(fit)
        self.probabilities_ = np.split(values, np.cumsum(model.sizes)[:-1], axis=1)

    def _fitted(self) -> CategoricalModel:
        return CategoricalModel(self._sizes())

    def _fitted_values(self) -> np.ndarray:
        return np.concatenate(self.probabilities_, axis=1)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """n_samples rows of categories (n, d), grouped by class, and their classes (n,)."""
        check_is_fitted(self)
        if not n_samples >= 1:
            raise ParameterError("CategoricalMixture.sample", "n_samples", "≥ 1", n_samples)
        rng = as_generator(self.random_state)
        labels = np.repeat(np.arange(len(self.weights_)), rng.multinomial(n_samples, self.weights_))
        kinds = {known.dtype.kind for known in self.categories_}
        rows = np.empty((n_samples, len(self.categories_)), dtype=object if "O" in kinds else self.categories_[0].dtype)
        for j, (known, probability) in enumerate(zip(self.categories_, self.probabilities_, strict=True)):
            edges = np.cumsum(probability, axis=1)
            draws = rng.random(n_samples) * edges[labels, -1]
            rows[:, j] = known[(draws[:, None] > edges[labels]).sum(axis=1)]
        return rows, labels

    def _n_parameters(self) -> int:
        k = len(self.weights_)
        return k * sum(len(known) - 1 for known in self.categories_) + k - 1


def _both(first: list[np.ndarray], second: list[np.ndarray]) -> list[np.ndarray]:
    """The categories of both parts, column by column."""
    return [np.union1d(a, b) for a, b in zip(first, second, strict=True)]


def _is_missing(column: np.ndarray) -> np.ndarray:
    if column.dtype == object:
        return np.array([cell is None or cell != cell for cell in column], dtype=bool)
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)


def categories_of(column: np.ndarray) -> np.ndarray:
    """The distinct cells that are not missing, sorted."""
    seen = column[~_is_missing(column)]
    if seen.dtype == object:
        kinds = {isinstance(cell, str) for cell in seen}
        # one kind of cell a column: strings compare as strings, numbers as numbers
        seen = seen.astype(np.str_ if True in kinds else np.float64)
    return np.unique(seen)
