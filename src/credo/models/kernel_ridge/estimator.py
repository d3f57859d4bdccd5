"""`KernelRidge`: belief about a curve, exactly."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from credo.diagnostics.information import LeaveOneOut
from credo.distributions import noise as noise_models
from credo.errors import NotIdentifiedError, ParameterError
from credo.inference.exact.leave_one_out import linear_leave_one_out
from credo.inference.exact.linear_gaussian import NoisePrior
from credo.inference.result import Result
from credo.models.columns import checked_rows, checked_weights, require_range, validated
from credo.models.copies import merged
from credo.models.evidence import Evidence, Outcomes
from credo.models.kernel_ridge.equations import solve
from credo.models.kernel_ridge.kernels import kernel_of
from credo.models.reading import Readable
from credo.numerics.threads import single_blas_thread
from credo.prediction.predictive import Predictive
from credo.saving.registry import register

__all__ = ["KernelRidge"]

INFERENCES = ("auto", "exact", "evidence")
# Rows up to which one BLAS thread is kept: an eigendecomposition of 500 takes 50 ms, too short to share.
SMALL = 500


@register
class KernelRidge(Readable, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Bayesian kernel ridge: y = b + f(x) + ε, f a Gaussian process with covariance σ² k/α, ε ~ N(0, σ²), b flat.

    The mean is kernel ridge regression, f̂(x) = k(x)ᵀ(K + αI)⁻¹ y with an intercept; what that leaves out is here too:
    the intercept is integrated exactly, the ratio α of noise to prior is weighed by the evidence, σ² is integrated
    (Student-t), and every prediction has its variance.

    Parameters
    ----------
    kernel : a record of `cr.kernels`, whose hyperparameters are kept as they are; or "rbf", "linear", "polynomial"
    alpha : noise variance over prior variance, > 0; None weighs all of them (a priori R² ~ Beta(½, ½))
    gamma, degree, coef0 : of a kernel given by name, as in scikit-learn; gamma=None is one over
        the summed variances of the columns
    fit_intercept : whether to add a constant with a flat prior
    noise : `cr.noise.Normal(scale)`; None is `cr.noise.Normal()`, the scale learned
    inference : "auto" and "exact" integrate; "evidence" plugs in α and σ where the evidence is highest

    Attributes
    ----------
    dual_coef_ : (n,) or (n, targets); the posterior mean is intercept_ + k(x, X_fit_) · dual_coef_
    intercept_ : float or (targets,); X_fit_ : (n, d); kernel_ : the covariance record used
    alpha_ : the ratio: stated, or one over its mean inverse; a number or (targets,)
    noise_scale_ : sd of the noise, the known one or 1/√E[1/σ²]
    belief_ : `KernelBelief`; log_evidence_ : log p(y | X), comparable between kernels; result_ : `Result`

    Raises
    ------
    ParameterError, DataError, NotIdentifiedError : a bad argument; bad rows; one row and everything to learn.
    DataWarning : the noise is learned, but the kernel fits every row that differs and only copies (or weights) of them
        tell of it: σ is 0 up to rounding, and `result_.status` is "not_identified". Also for a constant target.

    Notes
    -----
    One eigendecomposition, about 9 n³ flops and three n × n arrays, serves every ratio and all targets: n up to a few
    thousand. `sample_weight` counts rows. Columns should have like scales, or the kernel a lengthscale for each. With
    kernels that look at products (linear, polynomial) centre columns whose mean is far from zero: k loses those digits.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, ch. 2, 6.2; Saunders et al. (1998), ICML.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> x = np.linspace(0, 1, 30)[:, None]; y = np.sin(6 * x[:, 0]) + 5.0
    >>> from credo.models.kernel_ridge import KernelRidge
    >>> from credo.kernels import RBF
    >>> model = KernelRidge(RBF(0.3), noise=cr.noise.Normal(0.1)).fit(x, y)
    >>> p = model.predict_distribution([[0.5], [3.0]])
    >>> np.allclose(p.mean[0], np.sin(3) + 5, atol=0.05), bool(p.epistemic[1] > 10 * p.epistemic[0])
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        alpha: float | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        fit_intercept: bool = True,
        noise: Any = None,
        inference: str = "auto",
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.noise = noise
        self.inference = inference

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X (n, d) and y (n,) or (n, targets)."""
        X, y = validated(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        require_range(X)
        weights = checked_weights("KernelRidge", sample_weight, X)
        scale, noise_prior = self._noise()
        if self.inference not in INFERENCES:
            raise ParameterError("KernelRidge", "inference", f"one of {INFERENCES}", self.inference)
        alpha = None if self.alpha is None else float(self.alpha)
        if alpha is not None and not (np.isfinite(alpha) and alpha > 0.0):
            raise ParameterError("KernelRidge", "alpha", "finite and > 0, or None to learn it", self.alpha)
        single = y.ndim == 1
        counted = np.ones(X.shape[0]) if weights is None else weights
        kernel = kernel_of(self.kernel, self.gamma, self.degree, self.coef0, X, counted)
        kept = counted > 0.0
        targets = np.asarray(y, dtype=np.float64).reshape(y.shape[0], -1)[kept]
        if scale is None and noise_prior.shape == 0.0 and counted.sum() <= self.fit_intercept:
            raise NotIdentifiedError(
                "The noise scale cannot be learned from n_samples=1 with a flat intercept.",
                value=float(counted.sum()),
                remedy="State noise=cr.noise.Normal(scale), or add rows.",
            )
        options = {
            "fit_intercept": bool(self.fit_intercept), "alpha": alpha, "noise_scale": scale,
            "noise_prior": noise_prior, "maximise": self.inference == "evidence",
        }  # fmt: skip
        distinct = merged(counted[kept], X[kept], targets)
        with single_blas_thread() if X.shape[0] <= SMALL else nullcontext():
            belief, rung, identified = solve(
                kernel, X[kept][distinct.rows], targets[distinct.rows], distinct.counts, **options
            )
        dual, intercept = belief.dual()
        ratio = (belief.belief.weights * belief.belief.outside).sum(axis=0)
        sigma = 1.0 / np.sqrt((belief.belief.weights / belief.belief.noise_variance).sum(axis=0))
        dual = dual if alpha is None else dual / alpha
        full = np.zeros((X.shape[0], dual.shape[1]))  # copies and rows of weight zero keep their place
        full[kept] = dual[distinct.group] * (counted[kept] / distinct.counts[distinct.group])[:, None]
        dual = full
        learned = belief.belief.quadrature_error if rung == "collapsed" else 0.0
        certificate = {"quadrature_error": learned} if rung == "collapsed" else {}
        status = ("exact" if rung == "exact" else "converged") if identified else "not_identified"
        self.result_ = Result(status, rung, certificate=certificate)
        self.X_fit_ = X
        self.kernel_ = kernel
        self.belief_ = belief
        self.dual_coef_ = dual[:, 0] if single else dual
        self.intercept_ = float(intercept[0]) if single else intercept
        self.alpha_ = alpha if alpha is not None else float(1.0 / ratio[0]) if single else 1.0 / ratio
        self.noise_scale_ = scale if scale is not None else float(sigma[0]) if single else sigma
        self.outcomes_ = Outcomes.of_numbers(targets, counted[kept])
        self.log_evidence_ = belief.belief.log_evidence
        return self

    @property
    def evidence_(self) -> Evidence:
        """log p(y | X), relative to a flat intercept and, unless it has a prior, the scale-free noise."""
        check_is_fitted(self, "belief_")
        scale, noise_prior = self._noise()
        improper = {"intercept"} if self.fit_intercept else set()
        if scale is None and noise_prior.shape == 0.0:
            improper.add("noise")
        return Evidence(
            self.log_evidence_, self.outcomes_, float(np.size(self.dual_coef_) + np.size(self.intercept_)),
            frozenset(improper), maximised=self.result_.inference == "evidence",
        )  # fmt: skip

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """log p(y_i | x_i, the other rows) of the rows of `fit`, in closed form (given the kernel); targets are
        summed."""
        check_is_fitted(self, "belief_")
        X = checked_rows(self, X, dtype=np.float64)
        belief = self.belief_
        return LeaveOneOut(linear_leave_one_out(belief.belief, X, y, sample_weight, evaluate=belief.evaluate))

    def predict(self, X: Any) -> np.ndarray:
        """Posterior mean, (n,) or (n, targets)."""
        X = checked_rows(self, X, dtype=np.float64)
        return self.kernel_(X, self.X_fit_) @ self.dual_coef_ + self.intercept_

    def predict_distribution(self, X: Any, noise_scale: float | None = None) -> Predictive:
        """`Predictive` of y at the rows of X: Normal, Student-t, or a mixture of them over the ratio.

        noise_scale : ≥ 0, replaces a known noise scale; 0 gives the belief about the curve itself.
        """
        check_is_fitted(self, "belief_")
        X = checked_rows(self, X, dtype=np.float64)
        if noise_scale is not None:
            if self._noise()[0] is None:
                raise ParameterError(
                    "KernelRidge.predict_distribution",
                    "noise_scale",
                    "None, because the noise was learned",
                    noise_scale,
                )
            if not (np.ndim(noise_scale) == 0 and np.isfinite(noise_scale) and noise_scale >= 0.0):
                raise ParameterError("KernelRidge.predict_distribution", "noise_scale", "a number ≥ 0", noise_scale)
        return self.belief_.predictive(X, noise_scale, np.ndim(self.intercept_) == 0, self.result_.inference)

    def _noise(self) -> tuple[float | None, NoisePrior]:
        noise = noise_models.Normal() if self.noise is None else self.noise
        if not isinstance(noise, noise_models.Normal) or np.ndim(noise.scale) != 0:
            raise ParameterError("KernelRidge", "noise", "cr.noise.Normal(scale), one scale for all rows", self.noise)
        prior = getattr(noise, "variance_prior", None)
        if prior is not None and type(prior).__name__ != "InverseGamma":
            raise ParameterError("KernelRidge", "noise.variance_prior", "an InverseGamma or None", prior)
        scale = None if noise.scale is None else float(noise.scale)
        return scale, NoisePrior() if prior is None else NoisePrior(float(prior.shape), float(prior.scale))
