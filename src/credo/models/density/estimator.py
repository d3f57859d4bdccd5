"""`KernelDensity`: f(x) = Σ_i w_i K((x − x_i)/h) / h^d."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from credo.errors import ConvergenceWarning, ParameterError, UnavailableError, warn
from credo.models.columns import column_names
from credo.models.density.bandwidths import (
    columns_sd,
    cross_validated,
    effective_rows,
    improved_sheather_jones,
    reference_factor,
)
from credo.models.density.base import Density
from credo.models.density.boundary import check_inside, checked_support, folded, mirrored, outside
from credo.models.density.evaluation import Trees, log_density
from credo.models.density.kernels import canonical_ratio, draw, reach
from credo.models.density.line import Line
from credo.models.density.modes import Modes, find_modes
from credo.models.density.parameters import check_parameters, checked_bandwidth, minkowski_p
from credo.models.density.region import Region, highest_density
from credo.models.density.rows import fitted_rows, kept_rows
from credo.models.density.smoothing import Smoothing
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["KernelDensity"]


@register
class KernelDensity(Density):
    """Kernel density: f(x) = Σ_i w_i K((x − x_i)/h) / h^d, a bump of width h on every row.

    Parameters
    ----------
    bandwidth : h, one of

        - "auto": "isj" in one column (Silverman's where it has no solution), else "scott"
        - "scott", "silverman": n^(−1/(d+4)) and (n (d + 2)/4)^(−1/(d+4)) standard deviations of each column.
          scikit-learn's rules of the same names leave the standard deviations out
        - "isj": improved Sheather–Jones, for one column; right for several modes and skewness too
        - "cv": maximises the likelihood of each row under the others
        - a number > 0; one (d,) for each column; or a matrix (d, d), the covariance of a Gaussian kernel
    kernel : "gaussian", "tophat", "epanechnikov", "exponential", "linear" or "cosine", functions of |x − x_i|/h
    rtol, atol : what is asked of f(x): rtol f(x) + atol. Both 0: as exact as float64
    algorithm : "auto"; "kd_tree" or "ball_tree", scikit-learn's trees, which kernels that are not Gaussian use anyway
    metric : "euclidean" ("l2"), "manhattan" ("l1", "cityblock"), "chebyshev" ("infinity"), "minkowski" ("p", with
        `metric_params={"p": …}`), all normalised; "haversine" (rows in radians; normalised where h is far below 1)
    leaf_size, breadth_first, metric_params : of the trees
    support : None, or for every column a pair (low, high), None where open, such as (0, None): mass that would lie
        outside is mirrored back in
    reference_sd : sds that "scott" and "silverman" multiply, a number or (d,); None: the data's. 1 is scikit-learn's

    Attributes
    ----------
    bandwidth_ : the number, array or matrix used; bandwidth_rule_ : how it was chosen
    points_ (n, d), weights_ (n,) or None : the rows of weight > 0; weights sum to 1
    n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError

    Notes
    -----
    Gaussian sums are taken on a grid by FFT in up to three columns where that is cheaper (the error bound follows from
    `rtol`), otherwise in blocks of rows, far ones left out within `rtol`. 100,000 rows at 1,024 points take about 2 ms
    in one column. Which way is taken depends on how many rows are asked for at once; all are within `rtol`.
    Weights count relative to each other: the rules take Kish's effective number of rows.

    References
    ----------
    Silverman (1986), Density estimation; Scott (1992), Multivariate density estimation; Botev, Grotowski and Kroese
    (2010), Kernel density estimation via diffusion, Annals of Statistics 38.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.density import KernelDensity
    >>> x = np.concatenate([np.linspace(-1, 1, 50), np.linspace(4, 8, 50)])[:, None]
    >>> density = KernelDensity(kernel="epanechnikov").fit(x)
    >>> density.score_samples([[0.0], [20.0]]).round(1).tolist()
    [-1.4, -inf]
    >>> [round(v, 1) for v in density.interval(0.5).tolist()]
    [0.0, 6.0]
    """

    def __init__(
        self,
        *,
        bandwidth: Any = "auto",
        algorithm: str = "auto",
        kernel: str = "gaussian",
        metric: str = "euclidean",
        atol: float = 0,
        rtol: float = 1e-4,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: dict[str, Any] | None = None,
        support: Any = None,
        reference_sd: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params
        self.support = support
        self.reference_sd = reference_sd

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep rows X (n, d) and choose the bandwidth; `sample_weight` (n,) ≥ 0, y is ignored."""
        check_parameters(self)
        rows = fitted_rows(self, X, reset=True)
        points, w = kept_rows(type(self).__name__, rows, sample_weight)
        bounds = checked_support(self.support, points.shape[1])
        if bounds is not None:
            check_inside(points, bounds, column_names(self))
        bandwidth, rule = self._choose(points, w, bounds)
        self.points_ = points.copy() if np.may_share_memory(points, X) else points
        self.weights_ = None if w is None else w / w.sum()
        self.bandwidth_, self.bandwidth_rule_ = bandwidth, rule
        return self

    def _choose(self, X: np.ndarray, w: np.ndarray | None, bounds: np.ndarray | None) -> tuple[Any, str]:
        """(bandwidth, how it was chosen)."""
        n, d = X.shape
        if not isinstance(self.bandwidth, str):
            return checked_bandwidth(self.bandwidth, d, bounds), "given"
        rule = self.bandwidth if self.bandwidth != "auto" else ("isj" if d == 1 else "scott")
        if rule == "isj" and d > 1:
            raise ParameterError(
                "KernelDensity", "bandwidth", "a rule for several columns", rule, "Try 'scott' or 'cv'."
            )
        # Rules are derived for Gaussian kernels; Scott's and Silverman's names stand for their formulas as they are.
        equal = 1.0 if self.bandwidth in ("scott", "silverman") else canonical_ratio(self.kernel, d)
        reference = self._reference(X, w)
        if rule == "isj":
            ends = (-np.inf, np.inf) if bounds is None else (float(bounds[0, 0]), float(bounds[0, 1]))
            h = improved_sheather_jones(X[:, 0], w, ends) if n > 2 else None
            if h is not None:
                return equal * h, rule
            rule = "silverman"
            if self.bandwidth == "isj":
                warn(
                    "KernelDensity: Sheather–Jones has no solution (few rows, ties or rounded values); Silverman's "
                    "bandwidth is taken. Give a number to choose it yourself.",
                    ConvergenceWarning,
                )
        h = reference_factor("scott" if rule == "cv" else rule, effective_rows(w, n), d) * reference * equal
        if rule == "cv":
            # rows drawn the same way each time: the same data give the same bandwidth
            h = h * cross_validated(Smoothing.of(h, X).to_unit(X), w, self.kernel, as_generator(0))
        return np.asarray(h).item() if np.size(h) == 1 else h, rule

    def _reference(self, X: np.ndarray, w: np.ndarray | None) -> Any:
        """Standard deviations: a number for one column or a distance on the sphere, else (d,)."""
        if self.reference_sd is not None:
            return checked_bandwidth(self.reference_sd, X.shape[1], None, "reference_sd")
        sd = columns_sd(X, w, column_names(self))
        return np.sqrt(np.mean(np.square(sd))) if self.metric == "haversine" else sd

    # -- the density ---------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """log f(x) of rows X (q, d)."""
        check_is_fitted(self)
        return self._log_density(fitted_rows(self, X, reset=False), float(self.rtol), float(self.atol))

    def _log_density(self, Y: np.ndarray, rtol: float, atol: float = 0.0) -> np.ndarray:
        smoothing, Z, w = self._mirrored()
        scale = smoothing.log_determinant
        # atol is of the density in the columns' units
        inner = atol * np.exp(min(scale, 700.0)) if atol else 0.0
        found = log_density(Z, w, smoothing.to_unit(Y), self.kernel, rtol, inner, self._trees()) - scale
        bounds = self._bounds()
        if bounds is not None:
            found[outside(Y, bounds)] = -np.inf
        return found

    def _mirrored(self) -> tuple[Smoothing, np.ndarray, np.ndarray | None]:
        """Points in units of the bandwidth, mirror images among them, and weights; None: 1/n each."""
        X, w, d = self.points_, self.weights_, self.points_.shape[1]
        smoothing = self._smoothing()
        bounds = self._bounds()
        if bounds is not None:
            w = np.full(X.shape[0], 1.0 / X.shape[0]) if w is None else w
            X, w = mirrored(X, w, bounds, reach(self.kernel, d) * smoothing.scale)
        return smoothing, smoothing.to_unit(X), w

    def _bounds(self) -> np.ndarray | None:
        return checked_support(self.support, self.n_features_in_)

    def _smoothing(self) -> Smoothing:
        if self.metric == "haversine":  # angles are what they are
            return Smoothing(np.zeros(2), np.ones(2))
        return Smoothing.of(self.bandwidth_, self.points_)

    def _trees(self) -> Trees:
        options = dict(self.metric_params or {})
        h = float(self.bandwidth_) if self.metric == "haversine" else 1.0
        p = minkowski_p(self.metric, options)
        return Trees(self.algorithm, self.metric, int(self.leaf_size), bool(self.breadth_first), p, options, h)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws (n_samples, d): a row by its weight, and a step by the kernel.

        Raises
        ------
        ParameterError : n_samples below 1.
        UnavailableError : the metric is "haversine".
        """
        check_is_fitted(self)
        if self.metric == "haversine":
            raise UnavailableError("KernelDensity draws no steps on a sphere.", value=self.metric)
        n_samples = self._checked_number(n_samples)
        rng = as_generator(random_state)
        n, d = self.points_.shape
        u = rng.random(n_samples)
        if self.weights_ is None:
            rows = (u * n).astype(np.int64)
        else:
            total = np.cumsum(self.weights_)
            rows = np.searchsorted(total, u * total[-1], side="right")
        steps = draw(self.kernel, n_samples, d, rng, self._trees().p)
        draws = self.points_[rows] + self._smoothing().spread(steps)
        bounds = self._bounds()
        return draws if bounds is None else folded(draws, bounds)

    # -- what it looks like --------------------------------------------------------------------------------------

    def modes(self) -> Modes:
        """Local maxima of the density, highest first; see `Modes`."""
        check_is_fitted(self)
        return find_modes(self)

    def highest_density(self, mass: float = 0.9) -> Region:
        """The smallest region that holds `mass`; see `Region`."""
        check_is_fitted(self)
        self._check_mass("highest_density", mass)
        return highest_density(self, mass)

    def cdf(self, x: Any) -> np.ndarray:
        """P(X ≤ x) in one column; any shape. O(n) a point."""
        values = np.asarray(x, dtype=np.float64)
        if np.isnan(values).any():
            raise ParameterError("KernelDensity.cdf", "x", "numbers", x)
        return self._line("cdf").cdf(values)

    def quantile(self, q: Any) -> np.ndarray:
        """The x with P(X ≤ x) = q in one column; any shape. O(n) a point and step."""
        return self._line("quantile").quantile(self._checked_levels(q))

    def _line(self, method: str) -> Line:
        self._check_one_column(method)
        smoothing, Z, w = self._mirrored()
        bounds = self._bounds()
        ends = np.array([-np.inf, np.inf]) if bounds is None else bounds[0]
        return Line.of(self.kernel, smoothing, Z[:, 0], w, ends)
