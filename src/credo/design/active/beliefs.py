"""What a fitted model believes of a pool: its predictive, its joint covariance, its laws over the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.inference.exact import LinearBelief
from credo.prediction.law_draws import LawDraws
from credo.prediction.predictive import Predictive

__all__ = ["class_draws", "is_class", "joint_covariance", "laws", "predictive_of"]

# Rows whose covariance with each other is held: 128 MiB.
LARGEST_JOINT = 4096


def predictive_of(model: Any, X: Any) -> Predictive:
    """The model's predictive of the rows, one target."""
    if not hasattr(model, "predict_distribution"):
        raise ParameterError("select", "model", "fitted, with predict_distribution", type(model).__name__)
    predictive = model.predict_distribution(X)
    if len(predictive.shape) != 1:
        raise ParameterError("select", "model", "of one target", predictive.shape, "Fit one model a target.")
    return predictive


def is_class(predictive: Predictive) -> bool:
    return hasattr(predictive, "probabilities")


def laws(model: Any, X: Any) -> LawDraws:
    if not hasattr(model, "law_draws"):
        raise UnavailableError(
            f"{type(model).__name__} has no law_draws, the laws over its posterior that this needs.",
            remedy="Use diversity=None, or a model that has them (LogisticRegression, a Gaussian process).",
        )
    return model.law_draws(X)


def class_draws(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class probabilities (S, n, k) and weights (S,)."""
    found = laws(model, X)
    return np.asarray(found.means()), found.weights


def joint_covariance(model: Any, X: Any) -> np.ndarray:
    """Posterior covariance of f at the rows, (n, n): closed for Gaussian processes and linear models, else of draws."""
    n = len(X)
    if n > LARGEST_JOINT:
        raise ParameterError(
            "select", "pool", f"at most {LARGEST_JOINT} rows, whose joint covariance is needed", n,
            "Take a random part of the pool, or by='variance' with diversity=None.",
        )  # fmt: skip
    if hasattr(model, "predict_joint"):
        try:
            return np.asarray(model.predict_joint(X, noise_scale=0.0).covariance)
        except UnavailableError:  # hyperparameters integrated over: no one joint Normal
            pass
    belief = getattr(getattr(model, "posterior_", None), "belief", None)
    if isinstance(belief, LinearBelief) and not belief.intercept_column:
        return _linear(belief, np.asarray(X, dtype=np.float64))
    found = laws(model, X)
    f = found.means()
    root = np.sqrt(found.weights)[:, None] * (f - found.weights @ f)
    return root.T @ root


def _linear(belief: LinearBelief, X: np.ndarray) -> np.ndarray:
    """(x − centre) Cov(coef) (x − centre)ᵀ + E σ²/W, the last where a flat intercept was integrated out."""
    rows = X - belief.centre
    level = belief.weights[:, 0] @ belief.expected_noise_variance()[:, 0] * belief.base_spread
    return rows @ belief.covariance() @ rows.T + level
