"""`GaussianHMM`: states that give Normal rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions.normal_inverse_wishart import NormalInverseWishart
from credo.errors import ParameterError
from credo.models.hidden_markov.emissions import GaussianEmission
from credo.models.hidden_markov.estimator import HiddenMarkovEstimator
from credo.models.hidden_markov.forecast import numbers_ahead
from credo.models.mixture.components import Components
from credo.models.mixture.estimator import GaussianMixture
from credo.models.mixture.factors import stacked_cholesky
from credo.models.mixture.gaussian import GaussianParams, kind_of
from credo.models.mixture.gaussian_base import COVARIANCE_TYPES, GaussianBase
from credo.models.mixture.overview import Overview
from credo.models.mixture.starts import INIT_PARAMS
from credo.saving.registry import register

__all__ = ["GaussianHMM"]


@register
class GaussianHMM(HiddenMarkovEstimator):
    """Hidden Markov model of Normal rows: z_{t+1} ~ P[z_t], x_t ~ N(μ_{z_t}, Σ_{z_t}), fitted by EM (Baum–Welch).

    Parameters
    ----------
    n_components : number of states K
    covariance_type : "full", "tied", "diag" or "spherical", as `GaussianMixture`
    startprob_prior, transmat_prior : concentrations ≥ 1 of the Dirichlet priors on the start and on each row of the
        transitions, a number or one each; the fit is the posterior mode. 1 is maximum likelihood; the default adds a
        tenth of a count to each, so that a transition not seen is unlikely rather than impossible for ever
    component_prior : None (flat), "auto" or a `NormalInverseWishart` of (μ_k, Σ_k), as `GaussianMixture`
    startprob_init, transmat_init, means_init, covariances_init : parts of the start that are given, in the shapes of
        the attributes. Probabilities of 0 stay 0, as a left-to-right chain needs. With all given, max_iter=0 keeps them
    reg_covar, init_params : as `GaussianMixture`
    tol : stop when a step raises the log posterior by less than this a row
    max_iter, n_init : steps; starts, of which the best after 20 steps goes on
    acceleration : None or "squarem", several times fewer passes where states are hard to tell apart
    random_state, verbose, verbose_interval : as `GaussianMixture`

    Attributes
    ----------
    startprob_ (K,), transmat_ (K, K), means_ (K, d), covariances_ (shapes of scikit-learn's mixture)
    covars_ (K, d, d) : the same, written out, as hmmlearn; chain : the transitions as a `MarkovChain`
    last_state_ (K,) : p(state | the last sequence) at its last row, from which `forecast` goes on
    lower_bound_, lower_bounds_, converged_, n_iter_, result_ : as `GaussianMixture`; the priors on the chain up to a
        constant
    n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError ; ZeroProbabilityError : rows that no path of states can give (structural zeros), by step

    Notes
    -----
    NaN is missing at random: missing cells are integrated out, a row of NaN has likelihood 1. A pass costs n K (K + d²)
    multiplications; the likelihoods of the longest sequence (n K numbers) are in memory. The states are numbered as EM
    found them.

    References
    ----------
    Baum, Petrie, Soules and Weiss (1970), Annals of Mathematical Statistics 41; Rabiner (1989), Proc. IEEE 77.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = np.repeat([0, 1, 0, 1], 50)
    >>> X = rng.normal(np.array([0.0, 3.0])[z], 1.0)[:, None]
    >>> model = GaussianHMM(2, random_state=0).fit(X)
    >>> np.sort(model.means_.ravel()).round().tolist(), bool(model.transmat_.diagonal().min() > 0.95)
    ([0.0, 3.0], True)
    """

    means_: np.ndarray
    covariances_: np.ndarray
    precisions_cholesky_: np.ndarray

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        startprob_prior: Any = 1.1,
        transmat_prior: Any = 1.1,
        component_prior: Any = None,
        startprob_init: Any = None,
        transmat_init: Any = None,
        means_init: Any = None,
        covariances_init: Any = None,
        reg_covar: Any = 1e-6,
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
        self.covariance_type = covariance_type
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.component_prior = component_prior
        self.startprob_init = startprob_init
        self.transmat_init = transmat_init
        self.means_init = means_init
        self.covariances_init = covariances_init
        self.reg_covar = reg_covar
        self.init_params = init_params
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.acceleration = acceleration
        self.random_state = random_state
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    # -- the emission --------------------------------------------------------------------------------------------

    def _check(self) -> None:
        super()._check()
        if self.covariance_type not in COVARIANCE_TYPES:
            raise ParameterError("GaussianHMM", "covariance_type", f"one of {COVARIANCE_TYPES}", self.covariance_type)
        if self.init_params not in INIT_PARAMS:
            raise ParameterError("GaussianHMM", "init_params", f"one of {INIT_PARAMS}", self.init_params)
        reg = np.asarray(self.reg_covar)
        if reg.dtype.kind not in "iuf" or reg.ndim > 1 or not np.all((reg >= 0.0) & (reg < np.inf)):
            raise ParameterError("GaussianHMM", "reg_covar", "a number ≥ 0, or one a column", self.reg_covar)

    @property
    def _kind(self) -> str:
        return kind_of(self.covariance_type)

    def _mixture(self) -> GaussianMixture:
        """The mixture whose components are the states: it has their priors, units and starts."""
        return GaussianMixture(
            int(self.n_components), covariance_type=self.covariance_type, reg_covar=self.reg_covar,
            init_params=self.init_params, component_prior=self.component_prior,
        )  # fmt: skip

    def _emission(self, seen: Overview) -> GaussianEmission:
        d, belief = self.n_features_in_, self.component_prior
        named = belief is None or (isinstance(belief, str) and belief == "auto")
        if not named and not (isinstance(belief, NormalInverseWishart) and belief.dimension == d):
            constraint = f"None, 'auto' or a NormalInverseWishart of dimension {d}"
            raise ParameterError("GaussianHMM", "component_prior", constraint, belief)
        return GaussianEmission(self._mixture()._model(seen))

    def _emission_start(self, emission: GaussianEmission, seen: Overview, rng: np.random.Generator) -> GaussianParams:
        model, k = emission.model, int(self.n_components)
        means, covariances = self._given_means(), self._given_covariances()
        if means is None or covariances is None:
            found = self._mixture()._best_start(model, seen, rng, k)
            mean, covariance = found.mean, found.covariance
        else:
            mean = covariance = np.empty(0)
        if means is not None:
            mean = model.coordinates.points(means)
        if covariances is not None:
            covariance = model.coordinates.spread(covariances, diagonal=model.kind == "diag")
        return GaussianParams.of(model.kind, np.ones(k), mean, covariance)

    def _given_means(self) -> np.ndarray | None:
        return self._numbers("means_init", (int(self.n_components), self.n_features_in_))

    def _given_covariances(self) -> np.ndarray | None:
        """(K, d, d), (d, d), or variances (K, d)."""
        k, d = int(self.n_components), self.n_features_in_
        shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[self.covariance_type]
        c = self._numbers("covariances_init", shape)
        if c is None:
            return None
        if self._kind == "diag":
            good = np.all(c > 0.0)
        else:
            good = np.allclose(c, c.swapaxes(-1, -2)) and np.all(np.linalg.eigvalsh(c) > 0.0)
        if not good:
            raise ParameterError("GaussianHMM", "covariances_init", "symmetric, positive-definite", c)
        return np.repeat(c[:, None], d, axis=1) if c.ndim == 1 else c

    def _numbers(self, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
        value = getattr(self, name)
        if value is None:
            return None
        array = np.asarray(value, dtype=np.float64)
        if array.shape != shape or not np.all(np.isfinite(array)):
            raise ParameterError("GaussianHMM", name, f"finite numbers of shape {shape}", value)
        return array

    def _settle_emission(self, emission: GaussianEmission, params: GaussianParams, shares: np.ndarray) -> None:
        coordinates = emission.model.coordinates
        spread = self._mixture()._spread(coordinates, params.covariance, params.factor)
        self.means_ = coordinates.points_back(params.mean)
        self.covariances_ = spread.covariances
        self.precisions_cholesky_ = spread.precisions_cholesky
        own = coordinates.spread_back(params.covariance, diagonal=self._kind == "diag")
        warn_of_collapse: Any = GaussianBase._warn_of_collapse  # of a state, as of a component
        warn_of_collapse(self, shares, params.covariance, own)

    # -- rows ----------------------------------------------------------------------------------------------------

    def _components(self) -> Components:
        return Components(self._kind, np.ones(len(self.means_)), self.means_, self.precisions_cholesky_)

    @property
    def covars_(self) -> np.ndarray:
        """Σ_k written out, (K, d, d)."""
        return np.array(self._components().scale_matrices)

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self._components().log_joint(X).T)

    def _draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        lower = stacked_cholesky(self._components().scale_matrices, "covariance of a state")
        z = rng.standard_normal((len(states), self.means_.shape[1], 1))
        return self.means_[states] + (lower[states] @ z)[:, :, 0]

    def _observation(self, states: np.ndarray) -> Any:
        return numbers_ahead(states, self._components())

    def _n_emission_parameters(self) -> int:
        k, d = self.means_.shape
        spread = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return spread[self.covariance_type] + k * d
