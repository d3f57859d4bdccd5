"""`PoissonHMM`: states that give counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.distributions.gamma import Gamma
from credo.errors import DataError, ParameterError
from credo.models.hidden_markov.emissions import LinearEmission
from credo.models.hidden_markov.estimator import HiddenMarkovEstimator
from credo.models.hidden_markov.forecast import CountsAhead
from credo.models.mixture.base import threads_for
from credo.models.mixture.overview import Overview
from credo.models.mixture.poisson import PoissonMixture, PoissonModel
from credo.models.mixture.starts import INIT_PARAMS
from credo.saving.registry import register

__all__ = ["PoissonHMM"]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Counts(Overview):
    """factorials : Σ w log x! of all rows."""

    factorials: float


@register
class PoissonHMM(HiddenMarkovEstimator):
    """Hidden Markov model of counts: z_{t+1} ~ P[z_t], x_tj ~ Poisson(λ_{z_t j}) independently, by EM.

    Parameters
    ----------
    n_components, startprob_prior, transmat_prior, startprob_init, transmat_init, init_params, tol, max_iter, n_init,
        acceleration, random_state, verbose, verbose_interval : as `GaussianHMM`; clusters to start from are found in
        square roots, whose variance is even
    rate_prior : None (flat) or a `Gamma(shape=, rate=)` with shape ≥ 1 on every rate
    rates_init (K, d) : rates to start from

    Attributes
    ----------
    startprob_ (K,), transmat_ (K, K), rates_ (K, d) : the chain, and λ; chain, last_state_ : as `GaussianHMM`
    lower_bound_, lower_bounds_, converged_, n_iter_, result_ : as `GaussianHMM`

    Raises
    ------
    ParameterError, DataError : a bad argument; cells below 0 (NaN is missing). Fractions count as such.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(np.repeat([1.0, 8.0, 1.0], 60))[:, None]
    >>> model = PoissonHMM(2, random_state=0).fit(X)
    >>> np.sort(model.rates_.ravel()).round().tolist()
    [1.0, 8.0]
    """

    rates_: np.ndarray

    def __init__(
        self,
        n_components: int = 1,
        *,
        startprob_prior: Any = 1.1,
        transmat_prior: Any = 1.1,
        rate_prior: Any = None,
        startprob_init: Any = None,
        transmat_init: Any = None,
        rates_init: Any = None,
        init_params: str = "kmeans",
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        acceleration: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.rate_prior = rate_prior
        self.startprob_init = startprob_init
        self.transmat_init = transmat_init
        self.rates_init = rates_init
        self.init_params = init_params
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.acceleration = acceleration
        self.random_state = random_state
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _check(self) -> None:
        super()._check()
        if self.init_params not in INIT_PARAMS:
            raise ParameterError("PoissonHMM", "init_params", f"one of {INIT_PARAMS}", self.init_params)
        belief = self.rate_prior
        if belief is not None and not (isinstance(belief, Gamma) and np.ndim(belief.shape) == 0 and belief.shape >= 1):
            raise ParameterError("PoissonHMM", "rate_prior", "None or a Gamma of shape ≥ 1", belief)

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        rows = super()._validated(X, reset=reset)
        with np.errstate(invalid="ignore"):
            bad = np.flatnonzero((rows < 0.0).any(axis=1))
        if bad.size:
            raise DataError(
                f"Negative values in data passed to PoissonHMM: row {bad[0]}.",
                rows=bad[:20].tolist(),
                value=rows[bad[0]],
                remedy="Counts are ≥ 0.",
            )
        return rows

    # -- the emission --------------------------------------------------------------------------------------------

    def _prepare(self, source: Source, rng: np.random.Generator) -> Overview:
        seen = super()._prepare(source, rng)
        total = reduce(source, _factorials_of, np.add, threads_for(source))
        return _Counts(**vars(seen), factorials=float(total))

    def _emission(self, seen: _Counts) -> LinearEmission:
        belief = self.rate_prior
        shape, rate = (1.0, 0.0) if belief is None else (float(belief.shape), float(belief.rate))
        return LinearEmission(PoissonModel(seen.factorials, shape, rate))

    def _emission_start(self, emission: LinearEmission, seen: Overview, rng: np.random.Generator) -> np.ndarray:
        if self.rates_init is None:
            mixture: Any = PoissonMixture(int(self.n_components), init_params=self.init_params)
            return mixture._start(emission.model, seen, rng)[1]
        shape = (int(self.n_components), self.n_features_in_)
        rates = np.asarray(self.rates_init, dtype=np.float64)
        if rates.shape != shape or not np.all((rates > 0.0) & (rates < np.inf)):
            raise ParameterError("PoissonHMM", "rates_init", f"numbers > 0 of shape {shape}", self.rates_init)
        return rates

    def _settle_emission(self, emission: LinearEmission, params: np.ndarray, shares: np.ndarray) -> None:
        self.rates_ = params

    # -- rows ----------------------------------------------------------------------------------------------------

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        return LinearEmission(PoissonModel()).log_density(X, self.rates_) - log_factorials(X)[:, None]

    def _draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(self.rates_[states])

    def _observation(self, states: np.ndarray) -> Any:
        return CountsAhead(states, self.rates_)

    def _n_emission_parameters(self) -> int:
        return self.rates_.size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def log_factorials(X: np.ndarray) -> np.ndarray:
    """Σ_j log x_j! of each row, over its observed cells."""
    return np.where(np.isnan(X), 0.0, gammaln(X.astype(np.float64) + 1.0)).sum(axis=1)


def _factorials_of(block: Block) -> float:
    rows = log_factorials(block.X)
    return float(rows.sum() if block.weights is None else rows @ block.weights)
