"""`PoissonMixture`: rows of counts, p(x) = Σ_k π_k Π_j Poisson(x_j | λ_kj)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.distributions.gamma import Gamma
from credo.errors import DataError, ParameterError
from credo.inference.em import EMFit
from credo.models.mixture.base import threads_for
from credo.models.mixture.linear import LinearMixture, LinearModel
from credo.models.mixture.overview import Overview, overview
from credo.models.mixture.starts import INIT_PARAMS, responsibilities
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["PoissonMixture"]

# Smallest rate: a count of 1 where none was expected costs 23 nats rather than all of them.
SMALLEST = 1e-10


@dataclass(frozen=True, eq=False)
class PoissonModel(LinearModel):
    """φ = [x, observed], Θ = [log λ, −λ]; `factorials` is Σ w log x! of all rows, left out of ℓ.

    shape, rate : of a Gamma prior on every λ; 1 and 0 are flat
    """

    factorials: float = 0.0
    shape: float = 1.0
    rate: float = 0.0

    def features(self, X: np.ndarray) -> np.ndarray:
        missing = np.isnan(X)
        return np.concatenate([np.where(missing, 0.0, X), ~missing], axis=1, dtype=np.float64)

    def natural(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.log(values), -values], axis=1)

    def values(self, weight: np.ndarray, gathered: np.ndarray) -> np.ndarray:
        """λ = (Σ r x + shape − 1)/(Σ r + rate), the mode."""
        totals, exposure = np.split(gathered, 2, axis=1)
        below = exposure + self.rate
        return np.maximum((totals + self.shape - 1.0) / np.where(below > 0.0, below, 1.0), SMALLEST)

    def log_prior(self, values: np.ndarray) -> float:
        if self.shape == 1.0 and self.rate == 0.0:
            return 0.0
        each = (self.shape - 1.0) * np.log(values) - self.rate * values
        return float(each.sum() + values.size * (self.shape * np.log(self.rate) - gammaln(self.shape)))

    def bound(self, statistics: Any, params: Any) -> float:
        return super().bound(statistics, params) - self.factorials


@dataclass(frozen=True, eq=False, kw_only=True)
class _Counts(Overview):
    """factorials : Σ w log x! of all rows."""

    factorials: float


@register
class PoissonMixture(LinearMixture):
    """Mixture of independent Poisson counts, by EM.

    Parameters
    ----------
    n_components, tol, max_iter, n_init, init_params, random_state, warm_start, verbose, verbose_interval : as
        `GaussianMixture`; clusters to start from are found in square roots, whose variance is even
    rate_prior : None (flat) or a `Gamma(shape=, rate=)` with shape ≥ 1 on every rate; the fit is then the mode

    Attributes
    ----------
    weights_ (k,), rates_ (k, d) : π and λ
    lower_bound_, lower_bounds_, converged_, n_iter_, result_ : as `GaussianMixture`

    Raises
    ------
    ParameterError, DataError : a bad argument; cells below 0 (NaN is missing). Fractions count as such.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.poisson([1, 9], (200, 2)), rng.poisson([8, 2], (100, 2))])
    >>> model = cr.PoissonMixture(2, random_state=0).fit(X)
    >>> model.rates_[model.weights_.argmax()].round().tolist()
    [1.0, 9.0]
    """

    rates_: np.ndarray
    _allow_nan = True

    def __init__(
        self,
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        rate_prior: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.rate_prior = rate_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _check(self) -> None:
        super()._check()
        if self.init_params not in INIT_PARAMS:
            raise ParameterError("PoissonMixture", "init_params", f"one of {INIT_PARAMS}", self.init_params)
        belief = self.rate_prior
        if belief is not None and not (isinstance(belief, Gamma) and np.ndim(belief.shape) == 0 and belief.shape >= 1):
            raise ParameterError("PoissonMixture", "rate_prior", "None or a Gamma of shape ≥ 1", belief)

    def _prepare(self, source: Source, rng: np.random.Generator) -> Overview:
        seen = overview(source, int(rng.integers(2**63)), threads_for(source))
        return _Counts(**vars(seen), factorials=float(reduce(source, _factorials, np.add, threads_for(source))))

    def _model(self, seen: _Counts) -> PoissonModel:
        belief = self.rate_prior
        shape, rate = (1.0, 0.0) if belief is None else (float(belief.shape), float(belief.rate))
        return PoissonModel(seen.factorials, shape, rate)

    def _start(self, model: PoissonModel, seen: Overview, rng: np.random.Generator) -> Any:
        filled = np.where(np.isnan(seen.rows), seen.mean, seen.rows)
        shares = responsibilities(self.init_params, np.sqrt(filled), seen.weights, int(self.n_components), rng)
        r = shares * seen.weights
        weight, gathered = r.sum(axis=1), r @ model.features(filled)
        # half a row of the overall mean, so that no rate starts at zero
        overall = np.concatenate([seen.mean, np.ones_like(seen.mean)])
        return weight / weight.sum(), model.values(weight, gathered + 0.5 * overall)

    def _settle(self, model: Any, fit: EMFit, seen: Any) -> None:
        self.rates_ = self._settle_weights(fit)

    def _fitted(self) -> PoissonModel:
        return PoissonModel()

    def _fitted_values(self) -> np.ndarray:
        return self.rates_

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        _refuse_negative(X, 0)
        return super()._log_joint(X) - np.where(np.isnan(X), 0.0, gammaln(X.astype(np.float64) + 1.0)).sum(axis=1)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """n_samples rows of counts (n, d), grouped by component, and their components (n,)."""
        check_is_fitted(self)
        if not n_samples >= 1:
            raise ParameterError("PoissonMixture.sample", "n_samples", "≥ 1", n_samples)
        rng = as_generator(self.random_state)
        labels = np.repeat(np.arange(len(self.weights_)), rng.multinomial(n_samples, self.weights_))
        return rng.poisson(self.rates_[labels]), labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _n_parameters(self) -> int:
        return self.rates_.size + len(self.weights_) - 1


def _factorials(block: Block) -> float:
    """Σ w log x! of a block."""
    X = np.asarray(block.X, dtype=np.float64)
    _refuse_negative(X, block.start)
    rows = np.where(np.isnan(X), 0.0, gammaln(X + 1.0)).sum(axis=1)
    return float(rows.sum() if block.weights is None else rows @ block.weights)


def _refuse_negative(X: np.ndarray, start: int) -> None:
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero((X < 0.0).any(axis=1))
    if bad.size:
        row = int(bad[0])
        raise DataError(
            f"Negative values in data passed to PoissonMixture: row {start + row}.",
            rows=(start + bad[:20]).tolist(),
            value=X[row],
            remedy="Counts are ≥ 0.",
        )
