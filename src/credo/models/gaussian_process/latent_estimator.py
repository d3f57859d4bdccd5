"""What the estimators of latent Gaussian processes share: options read, a kernel to start from, evidence, memory."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from credo.diagnostics.information import LeaveOneOut
from credo.distributions.gamma import Gamma
from credo.errors import DataError, ParameterError, warn
from credo.kernels import Kernel
from credo.kernels.compose import Scaled
from credo.models.columns import checked_rows
from credo.models.convergence import FitConvergenceWarning
from credo.models.evidence import Evidence
from credo.models.gaussian_process.defaults import default_kernel
from credo.models.gaussian_process.latent_ladder import INFERENCES
from credo.models.reading import Readable
from credo.numerics.threads import single_blas_thread

__all__ = ["LatentEstimator"]

# Rows up to which one BLAS thread is kept: a factor of 500 takes 5 ms, too short to share.
SMALL = 500
# Of a function on the scale of log-odds or log-rates: an sd of 2 to start from, half-Normal(3) a priori, as the linear
# predictors of the generalised linear models are.
START, PRIOR_SD = 4.0, 3.0
# Rows at once, times classes, of which the joint law of f is drawn: its factor then takes seconds.
JOINT = 5000


class LatentEstimator(Readable, BaseEstimator):
    """Rows and outcomes in, `belief_` out; a subclass says its likelihood and how it predicts."""

    belief_: Any
    outcomes_: Any
    kernel: Any
    mean: Any
    inference: Any
    optimizer: Any
    n_restarts_optimizer: Any

    @property
    def _owner(self) -> str:
        return type(self).__name__

    # -- reading the options -------------------------------------------------------------------------------------

    def _options(self) -> None:
        """Checked, before anything is computed."""
        for name, allowed in (("inference", INFERENCES), ("optimizer", ("auto", None))):
            value = getattr(self, name)
            if not any(value is each or (isinstance(value, str) and value == each) for each in allowed):
                raise ParameterError(self._owner, name, f"one of {allowed}", value)
        restarts = self.n_restarts_optimizer
        if isinstance(restarts, bool) or not isinstance(restarts, (int, np.integer)) or restarts < 0:
            raise ParameterError(self._owner, "n_restarts_optimizer", "an integer ≥ 0", restarts)
        self._check_kernel()

    def _check_kernel(self) -> None:
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ParameterError(
                self._owner, "kernel", "None or a kernel, such as 4.0 * cr.kernels.RBF(1.0)", self.kernel
            )

    def _constant(self) -> float | None:
        """The constant of the prior mean; None where it is learned."""
        if isinstance(self.mean, str) and self.mean in ("zero", "constant"):
            return 0.0 if self.mean == "zero" else None
        if (
            isinstance(self.mean, (int, float, np.number))
            and not isinstance(self.mean, bool)
            and np.isfinite(self.mean)
        ):
            return float(self.mean)
        raise ParameterError(self._owner, "mean", '"zero", "constant" (learned) or a number', self.mean)

    def _start(self, X: np.ndarray, weights: np.ndarray | None) -> Kernel:
        """The stated kernel, or the default."""
        return self._default(X, weights) if self.kernel is None else self.kernel

    def _default(self, X: np.ndarray, weights: np.ndarray | None) -> Kernel:
        """4 · Matérn 5/2, a lengthscale a column, with weak priors in the columns' units."""
        inner: Any = default_kernel(X, np.ones(len(X)) if weights is None else weights)
        # √variance ~ half-Normal(3) is variance ~ Gamma(½)
        prior = Gamma(shape=0.5, rate=0.5 / PRIOR_SD**2)
        return Scaled(inner.kernel, START, priors={"variance": prior})

    def _threads(self, n: int) -> Any:
        return single_blas_thread() if n <= SMALL else contextlib.nullcontext()

    def _settle(self, belief: Any, outcomes: Any) -> None:
        self.belief_ = belief
        self.outcomes_ = outcomes
        self.kernel_ = belief.kernel
        self.mean_ = belief.mean
        self.log_evidence_ = belief.log_evidence
        self.result_ = belief.result
        if not self.result_.ok:
            warn(f"{self._owner}: {self.result_.message}", FitConvergenceWarning)

    # -- what selection asks -------------------------------------------------------------------------------------

    @property
    def evidence_(self) -> Evidence:
        """log p(y | X) at the hyperparameters learned, by the rung in `result_.inference`."""
        check_is_fitted(self, "belief_")
        learned = self.belief_.n_learned
        return Evidence(self.log_evidence_, self.outcomes_, float(learned), measure="mass", maximised=learned > 0)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """log p(y_i | x_i, the other rows) of the rows of `fit`, by taking each row's own site away, in closed form;
        hyperparameters stay where all rows put them. A row of weight w is left out whole."""
        check_is_fitted(self, "belief_")
        X = checked_rows(self, X, dtype=np.float64)
        kept = np.ones(len(X), dtype=bool) if sample_weight is None else np.asarray(sample_weight) > 0
        if not np.array_equal(X[kept], self.belief_.X):
            raise DataError(
                f"{self._owner}.leave_one_out takes the rows of fit, in their order.", value=X.shape,
                remedy="Use cr.compare(models, X, y, cv=5) for other rows.",
            )  # fmt: skip
        pointwise = np.empty(len(X))
        pointwise[kept] = self.belief_.leave_one_out()
        if not kept.all():
            rest: Any = self
            pointwise[~kept] = rest.predict_distribution(X[~kept]).log_prob(np.asarray(y)[~kept])
        return LeaveOneOut(pointwise, "normal")

    def _joint(self, size: int, method: str) -> None:
        if size > JOINT:
            raise DataError(
                f"{self._owner}.{method} draws the function jointly at all rows, at most {JOINT} of them (times "
                f"classes), got {size}.",
                value=size,
                remedy="Call it with fewer rows, or use predict_distribution, which takes any number.",
            )
