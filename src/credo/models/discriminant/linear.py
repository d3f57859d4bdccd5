"""`LinearDiscriminantAnalysis`: Normal classes of one covariance, so that the boundary is linear."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from credo.errors import DataError, ParameterError
from credo.models.discriminant.base import Discriminant, UnsupportedError
from credo.models.discriminant.equations import discriminant_axes, linear_boundary
from credo.models.discriminant.missing import expected_cells
from credo.models.generative.equations import class_probabilities
from credo.saving.registry import register

__all__ = ["LinearDiscriminantAnalysis"]


@register
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):
    """Normal classes with one covariance: p(x | c) = N(x; μ_c, Σ), log-odds w · x + w₀.

    Parameters
    ----------
    solver : "svd" (axes of the whitened means; columns may be more than rows), "lsqr" (w alone), "eigen"
    shrinkage : None; a share in [0, 1] of the sphere; "auto", Ledoit and Wolf's, class by class. Not with "svd"
    priors : probabilities (k,) of the classes; None: frequencies, with a Dirichlet posterior
    n_components : axes that `transform` keeps, at most min(k − 1, d)
    store_covariance : keep `covariance_` with "svd" too
    tol : directions with less than this sd (on columns of sd 1) are left out by "svd"
    covariance_estimator : an object whose `fit` sets `covariance_`, instead of shrinkage
    covariance_type : "full"; "diag": independent columns, Σ = diag σ²: the linear naive Bayes
    prior : `NormalInverseWishart` of (μ_c, Σ), or "auto", one worth d + 2 rows: Σ is then its posterior mean. None: no
        prior for the point estimates, "auto"'s for `predict_distribution`

    Attributes
    ----------
    coef_ (1 or k, d), intercept_ (1 or k,) : w and w₀; of two classes the log-odds of the second. Of more, about the
        mean of all rows with every solver (scikit-learn's "lsqr" and "eigen" add one vector to all w; the
        probabilities are the same)
    means_ (k, d), priors_ (k,), classes_, class_count_ ; covariance_ (d, d), or (d,) when diagonal
    scalings_ (d, rank), explained_variance_ratio_ : axes, not with "lsqr"; xbar_ (d,), subtracted by "svd" alone
    beliefs_, class_belief_, result_ ; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : bad arguments; no more rows than classes.
    SingularCovarianceError : `log_prob` and `sample` where Σ has no inverse.

    Notes
    -----
    One pass over the data, O(n d²), two with shrinkage="auto"; then O(d³). `partial_fit` merges statistics. Cells of
    NaN are integrated out: by EM in `fit`, and when predicting, p(y | some of x).
    `predict_distribution` integrates over μ and Σ
    (multivariate Student-t), with an epistemic part from draws.

    References
    ----------
    Fisher (1936), Annals of Eugenics 7; Hastie, Tibshirani and Friedman (2009), The Elements of Statistical Learning,
    §4.3; Ledoit and Wolf (2004), J. Multivar. Anal. 88.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.2], [0.2, 1.0], [3.0, 3.0], [4.0, 3.1], [3.1, 4.0]])
    >>> model = LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[0.5, 0.5], [3.5, np.nan]]).tolist()
    [0, 1]
    """

    _solvers = ("svd", "lsqr", "eigen")
    _unsupported = "covariance estimator is not supported with svd solver."

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
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
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.covariance_type = covariance_type
        self.prior = prior

    def _check(self) -> None:
        super()._check()
        n = self.n_components
        if n is not None and not (isinstance(n, (int, np.integer)) and n >= 1):
            raise ParameterError("LinearDiscriminantAnalysis", "n_components", "an integer ≥ 1 or None", n)

    def _settle(self) -> None:
        belief: Any = self.beliefs_[0]
        self.priors_ = self.class_belief_.probability
        self._check_rows()
        dtype = self.dtype_
        self.means_ = belief.mean.astype(dtype)
        within = self._within(belief)
        most = self._most_components()
        if self.solver == "lsqr":
            w, w0 = linear_boundary(belief.mean, within, self.priors_)
        else:
            w, w0 = self._solve_axes(belief.mean, within, most)
        if len(self.classes_) == 2:
            w, w0 = (w[1] - w[0])[None], (w0[1] - w0[0])[None]
        self.coef_, self.intercept_ = w.astype(dtype), w0.astype(dtype)
        if self.solver != "svd" or self.store_covariance:
            self.covariance_ = np.diagonal(within).copy() if self.covariance_type == "diag" else within
        self.n_axes_ = most

    def _has_too_few(self, scatter: Any) -> bool:
        return bool(scatter.rows.sum() <= len(self.classes_))

    def _check_rows(self) -> None:
        if (
            getattr(self.parts_[0].family, "prior", None) is None
            and self.class_count_.size
            and self._rows_seen() <= len(self.classes_)
        ):
            raise DataError(
                "LinearDiscriminantAnalysis: The number of samples must be more than the number of classes.",
                value=self._rows_seen(),
                remedy="Give prior='auto', which starts from what all classes share.",
            )

    def _rows_seen(self) -> float:
        statistics = self.statistics_[1]
        return float(np.sum(statistics.rows)) if hasattr(statistics, "rows") else np.inf

    def _within(self, belief: Any) -> np.ndarray:
        """Σ (d, d)."""
        return np.diag(belief.variance[0]) if self.covariance_type == "diag" else belief.covariance[0]

    def _most_components(self) -> int:
        most = min(len(self.classes_) - 1, self.means_.shape[1])
        if self.n_components is None:
            return most
        if self.n_components > most:
            raise ParameterError(
                "LinearDiscriminantAnalysis", "n_components", f"at most {most}", self.n_components,
                "n_components cannot be larger than min(n_features, n_classes - 1).",
            )  # fmt: skip
        return int(self.n_components)

    def _solve_axes(self, mean: np.ndarray, within: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
        # "eigen" keeps every direction that double precision sees
        tol = self.tol if self.solver == "svd" else 1e-10
        axes, share, centre = discriminant_axes(mean, within, self.priors_, float(self.class_count_.sum()), tol)
        self.scalings_, self.explained_variance_ratio_ = axes, share[:most]
        if self.solver == "svd":
            self.xbar_ = centre
        z = (mean - centre) @ axes
        w = z @ axes.T
        with np.errstate(divide="ignore"):
            return w, np.log(self.priors_) - 0.5 * np.sum(np.square(z), axis=1) - w @ centre

    def _read(self, X: Any, *, reset: bool, fitting: bool) -> Any:
        rows = super()._read(X, reset=reset, fitting=fitting)
        if reset:
            self.dtype_ = rows.dtype.name
        return rows

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        cells = self._read(X, reset=False, fitting=False)
        if np.isnan(cells.sum()):
            return self._joint_of(cells)
        scores = cells @ self.coef_.T + self.intercept_
        return np.column_stack([np.zeros(len(scores)), scores]) if len(self.classes_) == 2 else scores

    def transform(self, X: Any) -> np.ndarray:
        """Rows on the axes that part the classes most (n, n_components); within classes their covariance is I.

        A missing cell is put where it is expected given the others.
        """
        if self.solver == "lsqr":
            raise UnsupportedError(
                "LinearDiscriminantAnalysis", "solver", "'svd' or 'eigen' for transform", "lsqr",
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').",
            )  # fmt: skip
        check_is_fitted(self)
        rows = self._read(X, reset=False, fitting=True)
        if np.isnan(rows.sum()):
            covariance = self._within(self.beliefs_[0])[None]
            filled = expected_cells(rows, class_probabilities(self._joint_of(rows)), self.means_, covariance)
            rows = filled.astype(rows.dtype)
        centred = rows - self.xbar_ if self.solver == "svd" else rows
        return (centred @ self.scalings_)[:, : self.n_axes_].astype(rows.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.n_axes_

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        return super().fit(X, y, sample_weight)

    fit.__doc__ = Discriminant.fit.__doc__
