"""`CategoricalHMM`: states that give categories."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from credo.errors import DataError, ParameterError
from credo.models.columns import column_names
from credo.models.hidden_markov.emissions import CategoricalEmission
from credo.models.hidden_markov.estimator import HiddenMarkovEstimator
from credo.models.hidden_markov.forecast import categories_ahead
from credo.models.mixture.categorical import SMALLEST, CategoricalMixture, CategoricalModel, categories_of
from credo.models.mixture.overview import Overview
from credo.saving.registry import register

__all__ = ["CategoricalHMM"]


@register
class CategoricalHMM(HiddenMarkovEstimator):
    """Hidden Markov model of categories: z_{t+1} ~ P[z_t], x_tj ~ θ_{z_t j} independently, by EM.

    Parameters
    ----------
    n_components, startprob_prior, transmat_prior, startprob_init, transmat_init, tol, max_iter, n_init, acceleration,
        random_state, verbose, verbose_interval : as `GaussianHMM`; starts are memberships at random near those of the
        most different rows, so that several are worth their while
    concentration : ≥ 1, of a symmetric Dirichlet prior on every distribution over categories; 1 is flat
    emissionprob_init : probabilities to start from, in the shape of the attribute

    Attributes
    ----------
    startprob_ (K,), transmat_ (K, K) ; chain, last_state_ : as `GaussianHMM`
    emissionprob_ : θ (K, Σ_j categories of column j), the columns' side by side; (K, categories) of one column
    categories_ : a list over columns of what their entries stand for
    lower_bound_, lower_bounds_, converged_, n_iter_, result_ : as `GaussianHMM`

    Raises
    ------
    ParameterError, DataError : a bad argument; infinite cells.

    Notes
    -----
    Cells are numbers or strings; NaN and None are missing. A category that `fit` has not seen says nothing about the
    state: it counts as missing, with a `DataWarning`. No category has a probability below 1e-12.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fair, loaded = rng.integers(1, 7, 300), rng.choice([6, 6, 6, 1, 2, 3], 300)
    >>> X = np.concatenate([fair[:150], loaded, fair[150:]])[:, None]
    >>> model = CategoricalHMM(2, random_state=0).fit(X)
    >>> model.emissionprob_[:, 5].round(1).max().item()  # of a six
    0.5
    """

    categories_: list[np.ndarray]
    emissionprob_: np.ndarray

    def __init__(
        self,
        n_components: int = 1,
        *,
        startprob_prior: Any = 1.1,
        transmat_prior: Any = 1.1,
        concentration: float = 1.0,
        startprob_init: Any = None,
        transmat_init: Any = None,
        emissionprob_init: Any = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        n_init: int = 5,
        acceleration: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.concentration = concentration
        self.startprob_init = startprob_init
        self.transmat_init = transmat_init
        self.emissionprob_init = emissionprob_init
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.acceleration = acceleration
        self.random_state = random_state
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _check(self) -> None:
        super()._check()
        if not (isinstance(self.concentration, (int, float, np.number)) and 1.0 <= self.concentration < np.inf):
            raise ParameterError("CategoricalHMM", "concentration", "a number ≥ 1", self.concentration)

    # Cells as in the mixture of categories: what is missing, what was not seen, codes.
    _table: Any = CategoricalMixture._table
    _codes: Any = CategoricalMixture._codes

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        if not reset:
            check_is_fitted(self)
            return self._codes(self._table(X, reset=False))
        table = self._table(X, reset=True)
        categories = [categories_of(column) for column in table.T]
        empty = [name for name, known in zip(column_names(self), categories, strict=True) if not len(known)]
        if empty:
            raise DataError(
                f"CategoricalHMM: no cell is observed in {', '.join(empty[:8])}.",
                columns=empty,
                remedy="Drop columns without values.",
            )
        self.categories_ = categories
        return self._codes(table)

    def fit(self, X: Any, y: Any = None, lengths: Any = None, sequence_weight: Any = None) -> Self:
        """Fit to rows X (n, d) of categories, NaN or None where missing; other arguments as `GaussianHMM.fit`."""
        return super().fit(X, y, lengths, sequence_weight)

    # -- the emission --------------------------------------------------------------------------------------------

    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(known) for known in self.categories_)

    def _emission(self, seen: Overview) -> CategoricalEmission:
        return CategoricalEmission(CategoricalModel(self._sizes(), float(self.concentration)))

    def _emission_start(self, emission: CategoricalEmission, seen: Overview, rng: np.random.Generator) -> np.ndarray:
        if self.emissionprob_init is None:
            mixture: Any = CategoricalMixture(int(self.n_components))
            return mixture._start(emission.model, seen, rng)[1]
        sizes, k = self._sizes(), int(self.n_components)
        theta = np.asarray(self.emissionprob_init, dtype=np.float64)
        good = theta.shape == (k, sum(sizes)) and np.all(theta >= 0.0)
        if not good or not np.all(np.abs(np.add.reduceat(theta, np.cumsum((0, *sizes[:-1])), axis=1) - 1.0) <= 1e-6):
            constraint = f"probabilities of shape {(k, sum(sizes))}, of sum 1 over the categories of each column"
            raise ParameterError("CategoricalHMM", "emissionprob_init", constraint, self.emissionprob_init)
        return np.maximum(theta, SMALLEST)

    def _settle_emission(self, emission: CategoricalEmission, params: np.ndarray, shares: np.ndarray) -> None:
        self.emissionprob_ = params

    # -- rows ----------------------------------------------------------------------------------------------------

    def _by_column(self) -> list[np.ndarray]:
        return np.split(self.emissionprob_, np.cumsum(self._sizes())[:-1], axis=1)

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        emission = CategoricalEmission(CategoricalModel(self._sizes()))
        return emission.log_density(emission.working(X), self.emissionprob_)

    def _draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        kinds = {known.dtype.kind for known in self.categories_}
        dtype = self.categories_[0].dtype if len(kinds) == 1 and "U" not in kinds else object
        rows = np.empty((len(states), len(self.categories_)), dtype=dtype)
        for j, (known, theta) in enumerate(zip(self.categories_, self._by_column(), strict=True)):
            edges = np.cumsum(theta, axis=1)
            draws = rng.random(len(states)) * edges[states, -1]
            rows[:, j] = known[(draws[:, None] > edges[states]).sum(axis=1)]
        return rows

    def _observation(self, states: np.ndarray) -> Any:
        return categories_ahead(states, self._by_column(), self.categories_)

    def _n_emission_parameters(self) -> int:
        return len(self.startprob_) * (self.emissionprob_.shape[1] - len(self.categories_))
