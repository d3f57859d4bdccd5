"""`QuadraticDiscriminantAnalysis`: Normal classes, each with its own covariance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.inference.result import Result
from credo.models.discriminant.base import Discriminant, require_rows
from credo.models.discriminant.equations import SingularCovarianceError, principal_axes
from credo.models.discriminant.family import DiscriminantFamily
from credo.models.discriminant.statistics import ClassScatter
from credo.models.generative.family import Part
from credo.saving.registry import register

__all__ = ["QuadraticDiscriminantAnalysis"]

EPS = float(np.finfo(np.float64).eps)


@register
class QuadraticDiscriminantAnalysis(Discriminant):
    """Normal classes: p(x | c) = N(x; μ_c, Σ_c), with quadratic boundaries.

    Parameters
    ----------
    solver : "svd" with `reg_param`, or "eigen" with `shrinkage`
    shrinkage : None; a share in [0, 1] of the sphere; "auto", Ledoit and Wolf's, class by class. Not with "svd"
    priors : probabilities (k,) of the classes; None: frequencies, with a Dirichlet posterior
    reg_param : (1 − reg_param) Σ_c + reg_param I, with "svd"
    store_covariance : keep `covariance_`
    tol : a class whose covariance, on columns of sd 1 in it, has an eigenvalue at or below this is not of full rank
    covariance_estimator : an object whose `fit` sets `covariance_`, instead of shrinkage
    covariance_type : "full"; "diag": independent columns in every class
    prior : `NormalInverseWishart` of every (μ_c, Σ_c), or "auto": the covariance within all classes, worth as many
        rows as the classes are alike, by the evidence of their covariances, unless another number tells the classes of
        rows left out of the fit better by more than chance (as where tails are heavy). 2,048 rows spread evenly are
        kept for that. Σ_c is then its posterior mean, and a class may have a single row. None: no prior for the point
        estimates, "auto"'s for `predict_distribution`; where a class's covariance is not of full rank and nothing else
        is asked to mend it, "auto"'s for both, with a `DataWarning`

    Attributes
    ----------
    means_ (k, d), priors_ (k,), classes_, class_count_
    rotations_, scalings_ : lists over classes of axes (d, d) and variances along them (d,)
    covariance_ : list over classes, where stored
    beliefs_, class_belief_, result_, kept_rows_ ; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : bad arguments; a single class, or one with a single row and no prior.
    SingularCovarianceError : a class's covariance is not of full rank in spite of shrinkage, reg_param or
        covariance_estimator, or of independent columns (NumPy's LinAlgError too).

    Notes
    -----
    O(n d²) in one pass over the rows, and another that picks those kept or finds shrinkage="auto"; then O(k d³).
    `partial_fit` merges statistics; cells of NaN are integrated out: by EM in `fit`, and when predicting.
    `predict_distribution` integrates over μ_c and Σ_c (multivariate Student-t).

    References
    ----------
    Hastie, Tibshirani and Friedman (2009), The Elements of Statistical Learning, §4.3; Geisser (1964), Posterior odds
    for multivariate normal classifications, JRSS B 26.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.2], [0.2, 1.0], [9.0, 3.0], [4.0, 8.1], [3.1, 5.0], [7.0, 7.7]])
    >>> model = QuadraticDiscriminantAnalysis(prior="auto").fit(X, [0, 0, 0, 1, 1, 1, 2])
    >>> model.predict([[0.5, 0.5], [5.0, np.nan]]).tolist()
    [0, 1]
    """

    _solvers = ("svd", "eigen")
    _shared = False
    _needs_two = 1
    _unsupported = "covariance_estimator is not supported with solver='svd'."

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        *,
        covariance_type: str = "full",
        prior: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.covariance_type = covariance_type
        self.prior = prior

    def _check(self) -> None:
        super()._check()
        value = self.reg_param
        if not (isinstance(value, (int, float, np.number)) and 0.0 <= value <= 1.0):
            raise ParameterError("QuadraticDiscriminantAnalysis", "reg_param", "a number in [0, 1]", value)

    def _added(self) -> float:
        return float(self.reg_param) if self.solver == "svd" and self.prior is None else 0.0

    def _conclude(self, parts: tuple[Part, ...], statistics: Any, result: Result) -> Any:
        """As the base's; covariances that have no inverse, and nothing that mends them, are given the default prior."""
        family = parts[0].family
        if isinstance(family, DiscriminantFamily) and family.has_soft_fit and len(self.classes_) > 1:
            require_rows("QuadraticDiscriminantAnalysis", _rows(statistics[1]), self.classes_)
            point = family.finalize(statistics[1], statistics[0])
            deficient = np.flatnonzero(_least(point.covariance, point.mean) <= self.tol)
            if deficient.size:
                warn(
                    f"QuadraticDiscriminantAnalysis: the covariance of class {self.classes_[deficient[0]]} is not of "
                    f"full rank ({deficient.size} of {len(self.classes_)} classes); all are given prior='auto'. "
                    "State prior='auto', shrinkage or reg_param, or drop columns that repeat others.",
                    DataWarning,
                )
                parts = (Part(replace(family, prior="auto")),)
        return super()._conclude(parts, statistics, result)

    def _has_too_few(self, scatter: Any) -> bool:
        return bool(np.any(_rows(scatter) < 2))

    def _settle(self) -> None:
        belief: Any = self.beliefs_[0]
        if len(self.classes_) < 2:
            raise DataError(
                f"The number of classes has to be greater than one. Got {len(self.classes_)} class.",
                value=self.classes_.tolist(),
            )
        self.priors_, self.means_ = self.class_belief_.probability, belief.mean
        diagonal = self.covariance_type == "diag"
        covariances = [np.diag(v) for v in belief.variance] if diagonal else belief.covariance
        if diagonal or self.parts_[0].family.prior is None:
            self._check_rank(covariances)
        axes = [principal_axes(own) for own in covariances]
        self.scalings_, self.rotations_ = [s for s, _ in axes], [r for _, r in axes]
        if self.store_covariance:
            self.covariance_ = list(covariances)

    def _check_rank(self, covariances: Any) -> None:
        owner, statistics = type(self).__name__, self.statistics_[1]
        if self.covariance_type == "diag":  # one row and a column without spread fail alike
            remedy = "Drop columns without spread, or use GaussianNB, which has a prior."
            rows = np.full(len(self.classes_), np.inf)
        else:
            parameter = "shrinkage" if self.solver == "eigen" else "reg_param"
            rows, remedy = _rows(statistics), f"Increase {parameter}, or give prior='auto'."
            require_rows(owner, rows, self.classes_)
        d = self.means_.shape[1]
        for label, n, least in zip(self.classes_, rows, _least(covariances, self.means_), strict=True):
            few = self.solver == "svd" and n <= d
            if few or least <= self.tol:
                why = (
                    f"When using `solver='svd'` a class needs more rows than the {d} columns; it has {int(n)}."
                    if few
                    else f"An eigenvalue is at or below tol = {self.tol:g}."
                )
                raise SingularCovarianceError(
                    f"The covariance matrix of class {label} is not full rank. {why}", value=label, remedy=remedy
                )


def _rows(scatter: ClassScatter) -> np.ndarray:
    """Rows of every class; one of weight 3 is three."""
    return np.maximum(scatter.rows, scatter.weight)


def _least(covariances: Any, means: np.ndarray) -> np.ndarray:
    """The least eigenvalue of every class (k,) on columns of sd 1 in it, so that units do not matter; 0 where it is
    rounding, or a column is: of its mean, or of its variance in the other classes."""
    variances = np.stack([np.diagonal(own) for own in covariances])
    rounding = np.maximum(np.square(8.0 * EPS * means), 1e-24 * variances.max(axis=0))
    least = np.zeros(len(variances))
    for c, (own, variance) in enumerate(zip(covariances, variances, strict=True)):
        if np.all(variance > rounding[c]):
            sd = np.sqrt(variance)
            values = np.linalg.eigvalsh(own / sd / sd[:, None])
            least[c] = values[0] if values[0] > len(values) * EPS * values[-1] else 0.0
    return least
