"""What a fitted model believes of a pool: its predictive, its joint covariance, its laws over the posterior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.inference.exact import LinearBelief
from credo.prediction.law_draws import LawDraws
from credo.prediction.predictive import Predictive

__all__ = [
    "class_draws",
    "has_draws",
    "has_joint",
    "is_class",
    "joint_covariance",
    "laws",
    "n_rows",
    "predictive_of",
    "some_rows",
]

# Rows whose covariance with each other is held: 128 MiB.
LARGEST_JOINT = 4096


def predictive_of(model: Any, X: Any) -> Predictive:
    """The model's predictive of the rows, one target."""
    if hasattr(model, "predict_distribution"):
        predictive = model.predict_distribution(X)
    elif _is_posterior(model):
        predictive = model.predict(**_data(X))
    else:
        raise ParameterError("select", "model", "fitted, with predict_distribution", type(model).__name__)
    if len(predictive.shape) != 1:
        raise ParameterError("select", "model", "of one target", predictive.shape, "Fit one model a target.")
    return predictive


def is_class(predictive: Predictive) -> bool:
    return hasattr(predictive, "probabilities")


def laws(model: Any, X: Any) -> LawDraws:
    if not hasattr(model, "law_draws"):
        raise UnavailableError(
            f"{type(model).__name__} has no law_draws, the laws over its posterior that this needs.",
            remedy="Use by='bald', 'entropy' or 'margin' and diversity=None, or a model that has them "
            "(LogisticRegression, a Gaussian process).",
        )
    return model.law_draws(**_data(X)) if _is_posterior(model) else model.law_draws(X)


def _is_posterior(model: Any) -> bool:
    """Whether it is what `Model.fit` returns, whose rows are new values of data nodes."""
    return not hasattr(model, "predict_distribution") and hasattr(model, "predict") and hasattr(model, "law_draws")


def _data(X: Any) -> dict[str, Any]:
    if not isinstance(X, Mapping):
        remedy = "As in select(posterior, {'x': values}, n=3)."
        raise ParameterError("select", "pool", "a mapping of names of data nodes to values", type(X).__name__, remedy)
    return dict(X)


def n_rows(X: Any) -> int:
    """Rows of a table, an array, or a mapping of columns."""
    if isinstance(X, Mapping):
        return len(next(iter(X.values()))) if X else 0
    return X.shape[0] if hasattr(X, "shape") else len(X)


def some_rows(X: Any, n: int) -> Any:
    """The first n rows."""
    return {name: column[:n] for name, column in X.items()} if isinstance(X, Mapping) else X[:n]


def has_draws(model: Any, X: Any) -> bool:
    """Whether `laws` can be told: some models have the method only to say that they have no draws."""
    try:
        laws(model, some_rows(X, 1))
    except UnavailableError:
        return False
    return True


def has_joint(model: Any, X: Any) -> bool:
    """Whether `joint_covariance` can be told."""
    return hasattr(model, "predict_joint") or _linear_belief(model) is not None or has_draws(model, X)


def _linear_belief(model: Any) -> LinearBelief | None:
    belief = getattr(getattr(model, "posterior_", None), "belief", None)
    return belief if isinstance(belief, LinearBelief) and not belief.intercept_column else None


def class_draws(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class probabilities (S, n, k) and weights (S,)."""
    found = laws(model, X)
    return np.asarray(found.means()), found.weights


def joint_covariance(model: Any, X: Any) -> np.ndarray:
    """Posterior covariance of f at the rows, (n, n): closed for Gaussian processes and linear models, else of draws."""
    n = n_rows(X)
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
    belief = _linear_belief(model)
    if belief is not None:
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
