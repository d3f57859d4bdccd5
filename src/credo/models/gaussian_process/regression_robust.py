"""`GaussianProcessRegressor` under noise that is not Normal: what `robust_fit` finds, as the estimator's attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.diagnostics.information import LeaveOneOut
from credo.errors import DataError, ParameterError, UnavailableError
from credo.models.gaussian_process.defaults import default_kernel
from credo.models.gaussian_process.fitting import Units, in_users_units
from credo.models.gaussian_process.robust import robust_fit

__all__ = ["fit_robust", "leave_one_out_robust", "require_normal"]

OWNER = "GaussianProcessRegressor"


def fit_robust(model: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, rng: np.random.Generator) -> None:
    """Set the fitted attributes of a model with noise=cr.noise.StudentT(…) or cr.noise.Laplace(…)."""
    if y.ndim != 1:
        raise ParameterError(OWNER, "y", "one target under this noise", y.shape)
    for name, allowed in (("mean", (None, "zero", "constant")), ("mean_prior", (None,)), ("learn", ("map",)),
                          ("solver", ("auto",)), ("inference", ("auto", "laplace"))):  # fmt: skip
        if getattr(model, name) not in allowed:
            raise ParameterError(OWNER, name, f"one of {allowed} under {type(model.noise).__name__} noise",
                                 getattr(model, name))  # fmt: skip
    w = np.ones(len(X)) if weights is None else weights
    keep = w > 0.0
    X, y, w = X[keep], y[keep].astype(np.float64), w[keep]
    # Half of an outlier-ridden spread is no guide to the function's: the median deviation is.
    spread = float(np.median(np.abs(y - np.median(y)))) * 1.4826 or float(np.std(y)) or 1.0
    kernel = in_users_units(default_kernel(X, w), spread) if model.kernel is None else model.kernel
    latent = robust_fit(
        OWNER, kernel, X, y, model.noise, mean=None if model.mean == "constant" else 0.0, weights=w,
        inference=model.inference, optimize=model.optimizer is not None, n_restarts=model.n_restarts_optimizer,
        rng=rng,
    )  # fmt: skip
    model.latent_, model.result_, model.kernel_ = latent, latent.result, latent.kernel
    model.units_, model.single_, model.theta_draws_ = Units.trivial(), True, np.empty((0, 0))
    auxiliary: Any = latent.likelihood
    learned = {} if latent.psi is None else auxiliary.auxiliary_values(latent.psi)
    model.noise_scale_ = float(learned.get("scale", model.noise.scale))
    model.alpha_, model.centres_, model.intercept_ = latent.dual_weights, X, float(latent.mean)
    model.mean_coef_, model.target_scale_ = np.zeros(X.shape[1]), 1.0
    model.log_evidence_ = latent.log_evidence


def leave_one_out_robust(model: Any, X: np.ndarray, sample_weight: Any) -> LeaveOneOut:
    """Each row's own site taken away, in closed form; rows of weight 0 count nothing."""
    kept = np.ones(len(X), dtype=bool) if sample_weight is None else np.asarray(sample_weight) > 0
    if not np.array_equal(X[kept], model.latent_.X):
        raise DataError(f"{OWNER}.leave_one_out takes the rows of fit, in their order.", value=X.shape)
    pointwise = np.zeros(len(X))
    pointwise[kept] = model.latent_.leave_one_out()
    return LeaveOneOut(pointwise, "normal")


def require_normal(model: Any, method: str) -> None:
    """Refuse what only the algebra of Normal noise gives."""
    if hasattr(model, "latent_"):
        raise UnavailableError(
            f"{method} is of Normal noise.",
            value=model.noise,
            remedy="Use predict, predict_distribution and leave_one_out, or noise=None.",
        )
