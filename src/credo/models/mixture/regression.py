"""`RegressionMixture`: lines of which each row follows one, p(y | x) = Σ_k π_k N(y | b_k + β_k·x, σ_k²)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from credo.blocks.array import ArraySource
from credo.blocks.source import Block, Source
from credo.distributions.normal import LOG_2PI
from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.inference.em import EMFit, EMModel
from credo.models.columns import checked_rows, checked_weights, note_columns, require_range, validated
from credo.models.mixture.base import EMEstimator, log_total, threads_for
from credo.models.mixture.expectation import CHUNK, log_weights, normalise
from credo.models.mixture.moments import effective
from credo.models.mixture.overview import Overview, overview
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.saving.registry import register

__all__ = ["RegressionMixture"]

# Smallest σ² in units of y's variance: cross products hold residuals to about 1e-14 of it.
FLOOR = 1e-12
# Singular values of a component's cross products below this share of the largest are collinear columns.
COLLINEAR = 1e-12


@dataclass(frozen=True, eq=False)
class RegressionParams:
    """weights (k,), coefficients (k, p + 1), intercept first, and variance (k,), of standardised columns."""

    weights: np.ndarray
    coefficients: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, eq=False)
class RegressionModel(EMModel):
    """centre, scale : (p + 1,) of the columns and, last, of y, in whose units the work is done.

    Statistics: Σ r v vᵀ (k, p + 2, p + 2) of rows v = [1, x, y], and the log likelihood.
    """

    centre: np.ndarray
    scale: np.ndarray

    def rows(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[1, x, y] (n, p + 2), standardised."""
        rows = np.empty((len(X), len(self.centre) + 1))
        rows[:, 0] = 1.0
        rows[:, 1:-1] = (X - self.centre[:-1]) / self.scale[:-1]
        rows[:, -1] = (y - self.centre[-1]) / self.scale[-1]
        return rows

    def log_joint(self, rows: np.ndarray, params: RegressionParams) -> np.ndarray:
        """log π_k N(y | line k) (k, n), of standardised y."""
        residual = rows[:, -1] - params.coefficients @ rows[:, :-1].T
        constant = log_weights(params.weights) - 0.5 * (LOG_2PI + np.log(params.variance))
        return constant[:, None] - 0.5 * np.square(residual) / params.variance[:, None]

    def accumulate(self, block: Block, params: RegressionParams) -> tuple[np.ndarray, float]:
        assert block.y is not None
        k, width = len(params.weights), len(self.centre) + 1
        products, log_likelihood, step = np.zeros((k, width, width)), 0.0, max(256, CHUNK // (4 * width + 4 * k))
        for i in range(0, block.n_rows, step):
            rows = self.rows(block.X[i : i + step], block.y[i : i + step])
            weights = None if block.weights is None else block.weights[i : i + step]
            r = self.log_joint(rows, params)
            log_likelihood += normalise(r, weights)
            log_likelihood -= float(np.log(self.scale[-1])) * (len(rows) if weights is None else float(weights.sum()))
            for j in range(k):
                products[j] += (rows * r[j][:, None]).T @ rows
        return products, log_likelihood

    def finalize(self, statistics: tuple[np.ndarray, float]) -> RegressionParams:
        """Least squares of each component; of collinear columns the shortest coefficients."""
        products = statistics[0]
        count = effective(products[:, 0, 0])
        square, cross = products[:, :-1, :-1], products[:, :-1, -1]
        inverse = np.linalg.pinv(square, rcond=COLLINEAR, hermitian=True)
        coefficients = np.einsum("kij,kj->ki", inverse, cross)
        fitted = np.einsum("ki,kij,kj->k", coefficients, square, coefficients)
        residual = products[:, -1, -1] - 2.0 * np.sum(coefficients * cross, axis=1) + fitted
        weights = products[:, 0, 0] / products[:, 0, 0].sum()
        return RegressionParams(weights, coefficients, np.maximum(residual / count, FLOOR))

    def bound(self, statistics: tuple[np.ndarray, float], params: RegressionParams) -> float:
        return float(statistics[1])

    def slack(self, statistics: tuple[np.ndarray, float], params: RegressionParams) -> float:
        """Residual sums of squares lose `eps` of Σ r y², and what `pinv` leaves out may count."""
        lost = statistics[0][:, -1, -1] / params.variance
        return 64.0 * (np.finfo(float).eps + COLLINEAR) * float(lost.sum())


@register
class RegressionMixture(RegressorMixin, EMEstimator):
    """Mixture of linear regressions (latent classes of lines), by EM.

    Parameters
    ----------
    n_components, tol, max_iter, random_state, warm_start, verbose, verbose_interval : as `GaussianMixture`
    n_init : starts, of which the best is kept; each splits the rows by their distance from lines through few rows

    Attributes
    ----------
    weights_ (k,), coef_ (k, p), intercept_ (k,), noise_scale_ (k,) : π, β, b and σ
    lower_bound_, lower_bounds_, converged_, n_iter_, result_ : as `GaussianMixture`

    Raises
    ------
    ParameterError, DataError

    Notes
    -----
    `predict` is the mean Σ π_k (b_k + β_k·x): between the lines. `predict_distribution` is the mixture, and
    `responsibilities(X, y)` says which line a row followed. A pass costs n k p² multiplications.

    References
    ----------
    DeSarbo and Cron (1988), A maximum likelihood methodology for clusterwise linear regression, J. Classification 5.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 10, 300); up = rng.random(300) < 0.5
    >>> y = np.where(up, 2 * x, 20 - x) + rng.normal(0, 0.5, 300)
    >>> model = cr.RegressionMixture(2, random_state=0).fit(x[:, None], y)
    >>> np.sort(model.coef_[:, 0]).round(1).tolist()
    [-1.0, 2.0]
    """

    acceleration = None
    weights_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    noise_scale_: np.ndarray

    def __init__(
        self,
        n_components: int = 1,
        *,
        tol: float = 1e-6,
        max_iter: int = 500,
        n_init: int = 10,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, p) and y (n,), or to a `Source` of blocks that carry y; `sample_weight` (n,) counts rows."""
        self._check()
        if isinstance(X, Source):
            first = next(iter(X), None)
            if first is None or first.y is None or np.ndim(first.y) != 1:
                raise DataError("RegressionMixture needs blocks that carry y (rows,).", value=None)
            note_columns(self, X, first.X.shape[1])
            return self._fit_source(X)
        X, y = validated(self, X, y, dtype=[np.float64, np.float32], y_numeric=True, ensure_min_samples=2)
        require_range(X)
        return self._fit_source(ArraySource(X, y, checked_weights("RegressionMixture", sample_weight, X)))

    # -- the model and its start ---------------------------------------------------------------------------------

    def _prepare(self, source: Source, rng: np.random.Generator) -> Overview:
        return overview(_Joined(source), int(rng.integers(2**63)), threads_for(source))

    def _model(self, seen: Overview) -> RegressionModel:
        sd = np.sqrt(seen.variance)
        return RegressionModel(seen.mean, np.where(sd > 0.0, sd, 1.0))

    def _start(self, model: RegressionModel, seen: Overview, rng: np.random.Generator) -> RegressionParams:
        """Lines through few rows at random; then rows to the nearest line, three times over."""
        rows, k = model.rows(seen.rows[:, :-1], seen.rows[:, -1]), int(self.n_components)
        size = min(len(rows), rows.shape[1] + 1)
        chance = seen.weights / seen.weights.sum()
        coefficients = np.stack([
            np.linalg.lstsq(few[:, :-1], few[:, -1], rcond=None)[0]
            for few in (rows[rng.choice(len(rows), size=size, replace=False, p=chance)] for _ in range(k))
        ])  # fmt: skip
        params = RegressionParams(np.full(k, 1.0 / k), coefficients, np.ones(k))
        for _ in range(3):
            residual = np.abs(rows[:, -1] - params.coefficients @ rows[:, :-1].T)
            r = np.where(residual.argmin(axis=0) == np.arange(k)[:, None], seen.weights, 0.0)
            # a hundredth of every row, so that no line is left without any
            r += 0.01 * seen.weights
            params = model.finalize((np.einsum("kn,ni,nj->kij", r, rows, rows), 0.0))
        return params

    def _resume(self, model: RegressionModel, seen: Overview) -> RegressionParams:
        scale_y = model.scale[-1]
        slopes = self.coef_ * model.scale[:-1] / scale_y
        intercept = (self.intercept_ + self.coef_ @ model.centre[:-1] - model.centre[-1]) / scale_y
        variance = np.maximum(np.square(self.noise_scale_ / scale_y), FLOOR)
        return RegressionParams(self.weights_, np.column_stack([intercept, slopes]), variance)

    def _settle(self, model: RegressionModel, fit: EMFit, seen: Overview) -> None:
        params, scale_y = fit.params, model.scale[-1]
        self.weights_ = params.weights
        self.coef_ = params.coefficients[:, 1:] * scale_y / model.scale[:-1]
        self.intercept_ = model.centre[-1] + params.coefficients[:, 0] * scale_y - self.coef_ @ model.centre[:-1]
        self.noise_scale_ = np.sqrt(params.variance) * scale_y
        if np.any(params.variance <= FLOOR) and seen.variance[-1] > 0.0:
            warn(
                "RegressionMixture: a component follows its rows exactly; its noise scale is the smallest allowed. Use "
                "fewer components.",
                DataWarning,
            )

    # -- prediction ----------------------------------------------------------------------------------------------

    def _lines(self, X: Any) -> np.ndarray:
        """b_k + β_k·x (k, n)."""
        return self.intercept_[:, None] + self.coef_ @ checked_rows(self, X, dtype=np.float64).T

    def predict(self, X: Any) -> np.ndarray:
        """E[y | x] (n,)."""
        check_is_fitted(self)
        return self.weights_ @ self._lines(X)

    def predict_distribution(self, X: Any) -> MixturePredictive:
        """p(y | x) as a `Predictive`: a Normal around every line, by its weight."""
        check_is_fitted(self)
        lines = self._lines(X)
        parts = [
            NormalPredictive(line, np.full(line.size, sd**2), None, "map")
            for line, sd in zip(lines, self.noise_scale_, strict=True)
        ]
        return MixturePredictive(self.weights_, parts, "map")

    def _log_joint_of(self, X: Any, y: Any) -> np.ndarray:
        check_is_fitted(self)
        lines = self._lines(X)
        y = np.asarray(y, dtype=np.float64)
        if y.shape != lines.shape[1:] or not np.all(np.isfinite(y)):
            raise ParameterError("RegressionMixture", "y", f"{lines.shape[1]} finite numbers, one per row", y)
        z = (y - lines) / self.noise_scale_[:, None]
        constant = log_weights(self.weights_) - np.log(self.noise_scale_) - 0.5 * LOG_2PI
        return constant[:, None] - 0.5 * z**2

    def responsibilities(self, X: Any, y: Any) -> np.ndarray:
        """p(component | x, y), (n, k)."""
        shares = self._log_joint_of(X, y)
        normalise(shares, None)
        return shares.T

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of every row, (n,), in nats."""
        return log_total(self._log_joint_of(X, y))

    def _n_parameters(self) -> int:
        return self.coef_.size + 3 * len(self.weights_) - 1

    def bic(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """−2 log p(y | X) + p log n; lower is better."""
        log_p = self.log_prob(X, y)
        weights = np.ones(len(log_p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return -2.0 * float(weights @ log_p) + self._n_parameters() * float(np.log(weights.sum()))


class _Joined:
    """A source with y as its last column."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.n_rows, self.column_names = source.n_rows, None

    def __iter__(self) -> Any:
        for block in self.source:
            assert block.y is not None
            yield Block(np.column_stack([block.X, block.y]), None, block.weights, block.start)
