"""`GaussianProcessPoissonRegressor` and `GaussianProcessNegativeBinomialRegressor`: belief about rates that vary
smoothly."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import xlogy
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from credo.distributions.likelihoods import Likelihood, NegativeBinomialLog, PoissonLog
from credo.errors import DataError, NotIdentifiedError, ParameterError
from credo.models.columns import checked_rows, checked_weights, validated
from credo.models.evidence import Outcomes
from credo.models.gaussian_process.latent import LatentFit
from credo.models.gaussian_process.latent_estimator import LatentEstimator
from credo.models.gaussian_process.latent_evidence import LatentTask
from credo.models.gaussian_process.latent_predictive import LARGEST_ETA, LatentPredictive
from credo.models.glm.base import deviance_explained
from credo.models.glm.counts import counts
from credo.numerics.random import as_generator
from credo.prediction.law_draws import LawDraws
from credo.saving.registry import register

__all__ = ["GaussianProcessNegativeBinomialRegressor", "GaussianProcessPoissonRegressor"]

DRAWS = 1000


class LatentCounts(RegressorMixin, LatentEstimator):
    """log E y = offset + f(x); a subclass says how counts scatter."""

    random_state: Any

    def _likelihood(self) -> Likelihood:
        raise NotImplementedError

    def _deviance(self, y: np.ndarray, mean: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Self:
        """Fit to X (n, d) and counts y (n,).

        sample_weight : (n,) counts of each row; offset : a number or (n,), log exposure
        """
        self._options()
        mean, rng = self._constant(), as_generator(self.random_state)
        X, y = validated(self, X, y, dtype=np.float64, y_numeric=True)
        y = counts(self._owner, y)
        weights, shift = checked_weights(self._owner, sample_weight, X), self._offset(offset, len(X), "fit")
        if weights is not None:
            kept = weights > 0
            X, y, weights = X[kept], y[kept], weights[kept]
            shift = None if shift is None else shift[kept]
        if mean is None and not y.any():
            raise NotIdentifiedError(
                f"{self._owner}: y is all zero, so the evidence is highest at a rate of 0 and no mean can be learned.",
                value=0.0,
                remedy="State the mean of the log rate, such as mean=0.0.",
            )
        task = LatentTask(self._start(X, weights), self._likelihood(), X, y, shift, weights, mean)
        with self._threads(len(X)):
            belief = LatentFit.learn(
                task, inference=self.inference, optimize=self.optimizer is not None,
                n_restarts=int(self.n_restarts_optimizer), rng=rng,
            )  # fmt: skip
        self._settle(belief, Outcomes.of_numbers(y, weights))
        return self

    def latent(self, X: Any, offset: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (q,) of log E[y | f] at the rows of X."""
        X = checked_rows(self, X, dtype=np.float64)
        shift = self._offset(offset, len(X), "latent")
        return self.belief_.latent(X, 0.0 if shift is None else shift)

    def predict_distribution(self, X: Any, offset: Any = None) -> LatentPredictive:
        """`LatentPredictive` of the counts at the rows of X, with offset a number or (q,)."""
        mean, variance = self.latent(X, offset)
        belief = self.belief_
        return LatentPredictive(belief.likelihood, mean, variance, belief.psi, belief.inference)

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """The mean of y, E e^(offset + f), averaged over f: (q,)."""
        return self.predict_distribution(X, offset).mean

    def law_draws(self, X: Any, offset: Any = None, draws: int | None = None) -> LawDraws:
        """Laws of y at the rows of X, jointly, at a thousand functions drawn from the posterior, or `draws`."""
        X = checked_rows(self, X, dtype=np.float64)
        self._joint(len(X), "law_draws")
        shift, n, belief = self._offset(offset, len(X), "law_draws"), draws or DRAWS, self.belief_
        paths = np.clip(belief.paths(X, n, 0.0 if shift is None else shift), -LARGEST_ETA, LARGEST_ETA)
        return LawDraws(np.full(n, 1.0 / n), lambda rows: belief.likelihood.law(paths[:, rows], belief.psi), len(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """D², the share of the deviance of a constant mean that the predicted means explain: at most 1."""
        y = np.asarray(y, dtype=np.float64)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, y)
        return deviance_explained(self._deviance, y, self.predict(X, offset), weights)

    def _offset(self, offset: Any, n: int, method: str) -> np.ndarray | None:
        if offset is None:
            return None
        values = np.asarray(offset, dtype=np.float64)
        if values.shape not in ((), (n,)):
            raise ParameterError(f"{self._owner}.{method}", "offset", f"a number, or one for each of {n} rows", offset)
        values = np.broadcast_to(values, (n,)).copy()
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise DataError(
                f"The offset is not finite in row {bad[0]}.", rows=bad[:20].tolist(), remedy="An exposure must be > 0."
            )
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@register
class GaussianProcessPoissonRegressor(LatentCounts):
    """Gaussian-process regression of counts: y ~ Poisson(e^(offset + f(x))), f ~ GP(m, k).

    Parameters
    ----------
    kernel : of f, the log rate; a record of `cr.kernels`, its hyperparameters the start. None: 4 · Matérn 5/2 with a
        lengthscale for each column, under weak priors in the columns' own units.
    mean : of f a priori: "constant", learned; "zero"; or a number
    inference : "laplace" or "ep"; "auto" is Laplace, and EP where its importance weights fail (k̂ ≥ 0.7)
    optimizer : "auto" learns the hyperparameters where the evidence is highest; None keeps them
    n_restarts_optimizer, random_state : further starts of the search

    Attributes
    ----------
    kernel_, mean_ : learned ; log_evidence_ ; result_ : as of `GaussianProcessClassifier` ; belief_ : `LatentFit`

    Raises
    ------
    ParameterError, DataError : a bad argument; bad rows, the first named.
    NotIdentifiedError : all counts are zero and the mean is to be learned.
    NumericalError : covariances that are not finite; more rows than memory holds matrices of.

    Notes
    -----
    With exposure E (time, people, area) offset = log E, and the model is of rates. About 4n³ an evaluation, 10 to 30 of
    them, at a dozen n × n arrays. `score` is D², as of `PoissonRegression`.

    References
    ----------
    Rasmussen and Williams (2006), ch. 3; Diggle, Tawn and Moyeed (1998), Applied Statistics 47.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.gaussian_process.counts import GaussianProcessPoissonRegressor
    >>> x = np.linspace(0, 6, 40)[:, None]; y = np.random.default_rng(0).poisson(np.exp(1 + np.sin(x[:, 0])))
    >>> model = GaussianProcessPoissonRegressor().fit(x, y)
    >>> p = model.predict_distribution([[1.5], [20.0]])
    >>> bool(5 < p.mean[0] < 10), bool(p.epistemic[1] > p.epistemic[0]), p.quantile(0.5)[0].item()
    (True, True, 9.0)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        mean: Any = "constant",
        inference: str = "auto",
        optimizer: Any = "auto",
        n_restarts_optimizer: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.mean = mean
        self.inference = inference
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.random_state = random_state

    def _likelihood(self) -> Likelihood:
        return PoissonLog()

    def _deviance(self, y: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return 2.0 * (xlogy(y, y / mean) - y + mean)


@register
class GaussianProcessNegativeBinomialRegressor(LatentCounts):
    """Gaussian-process regression of overdispersed counts: mean μ = e^(offset + f(x)), variance μ + μ²/φ, f ~ GP(m, k).

    Parameters
    ----------
    kernel, mean, inference, optimizer, n_restarts_optimizer, random_state : as of `GaussianProcessPoissonRegressor`
    dispersion : φ > 0 when known; None learns it, φ^(−½) ~ HalfNormal(1); a family is its prior

    Attributes
    ----------
    dispersion_ : φ ; the others as of `GaussianProcessPoissonRegressor`

    Raises
    ------
    ParameterError, DataError, NumericalError : as `GaussianProcessPoissonRegressor`.

    References
    ----------
    Rasmussen and Williams (2006), ch. 3; Simpson et al. (2017), Statistical Science 32, for the prior of φ.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.gaussian_process.counts import GaussianProcessNegativeBinomialRegressor
    >>> rng = np.random.default_rng(0); x = np.linspace(0, 6, 120)[:, None]
    >>> y = rng.poisson(np.exp(2 + np.sin(x[:, 0])) * rng.gamma(3.0, 1 / 3.0, size=120))
    >>> model = GaussianProcessNegativeBinomialRegressor().fit(x, y)
    >>> bool(1.5 < model.dispersion_ < 6.0)
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        dispersion: Any = None,
        mean: Any = "constant",
        inference: str = "auto",
        optimizer: Any = "auto",
        n_restarts_optimizer: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.dispersion = dispersion
        self.mean = mean
        self.inference = inference
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.random_state = random_state

    def _likelihood(self) -> Likelihood:
        return NegativeBinomialLog(self.dispersion)

    def _deviance(self, y: np.ndarray, mean: np.ndarray) -> np.ndarray:
        phi = self.dispersion_
        return 2.0 * (xlogy(y, y / mean) - (y + phi) * np.log((y + phi) / (mean + phi)))

    @property
    def dispersion_(self) -> float:
        check_is_fitted(self, "belief_")
        belief = self.belief_
        return float(belief.likelihood.natural(belief.psi)[0])
