"""What a linear model's posterior says of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions import noise as noise_models
from credo.distributions.laplace import Laplace
from credo.distributions.normal import Normal
from credo.distributions.scalar import ScalarFamily
from credo.distributions.student_t import StudentT
from credo.errors import ParameterError, UnavailableError
from credo.inference.exact.posterior import LinearPosterior
from credo.models.linear.posterior import LinearDraws, LinearMode
from credo.models.linear.targets import SeparatePosterior, SeparatePredictive
from credo.numerics.random import as_generator
from credo.prediction.draws import DrawsPredictive
from credo.prediction.integrated import IntegratedPredictive
from credo.prediction.law_draws import LawDraws
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.prediction.predictive import Predictive
from credo.prediction.student_t import StudentTPredictive

__all__ = ["law_draws", "predictive"]

# Draws of an exact posterior: Monte Carlo error of a mean is then 1.6 % of the sd.
EXACT_POINTS = 4000
OWNER = "LinearRegression.predict_distribution"
# Posterior draws behind a sampled predictive: quantiles of a row then err by 1 % of an sd.
POINTS = 2000


def predictive(posterior: Any, X: np.ndarray, noise: Any, stated: Any) -> Predictive:
    """The `Predictive` of y at rows X (n, P); `stated`: noise scale at the new rows, or None."""
    if isinstance(posterior, LinearPosterior):
        return _exact(posterior, X, noise, stated)
    if isinstance(posterior, SeparatePosterior):
        return SeparatePredictive(tuple(predictive(part, X, noise, stated) for part in posterior.parts))
    if isinstance(posterior, LinearMode):
        return _plugged_in(posterior, X, noise, stated)
    return _drawn(posterior, X, noise, stated)


def law_draws(posterior: Any, X: np.ndarray, noise: Any, stated: Any, n: int | None) -> LawDraws:
    """Laws of y at rows X (n, P) given n draws of the posterior, for one target."""
    if isinstance(posterior, LinearMode):
        posterior._refuse("draws")
    if not posterior.single_target:
        raise UnavailableError("Laws are drawn for one target.", remedy="Fit one model a target.")
    if isinstance(posterior, LinearDraws):
        drawn: Any = _drawn(posterior, X, noise, stated, n or POINTS)
        return LawDraws(drawn.weights, drawn.law, X.shape[0])
    draws, scale = posterior.sample_all(n or EXACT_POINTS, 0), new_scale(noise.scale, stated, X.shape[0])
    coef, level, sigma = draws["coef"], draws["intercept"][:, None], draws["noise_scale"][:, None]

    def law(rows: np.ndarray) -> ScalarFamily:
        width = sigma if scale is None else np.maximum(np.broadcast_to(scale, X.shape[0])[rows], np.finfo(float).tiny)
        return Normal(coef @ X[rows].T + level, width)

    return LawDraws(np.full(len(sigma), 1.0 / len(sigma)), law, X.shape[0])


def _exact(posterior: LinearPosterior, X: np.ndarray, noise: Any, stated: Any) -> Predictive:
    """Normal, Student-t, or a mixture of them over the integrated hyperparameters."""
    belief = posterior.belief
    mean, spread = belief.evaluate(X)
    learned = belief.noise_variance[:, None, :]
    scale = new_scale(noise.scale, stated, X.shape[0])
    variance = learned if scale is None else np.square(scale).reshape(1, -1, 1)
    spread = spread * learned
    variance = np.broadcast_to(variance, mean.shape)
    if posterior.single_target:
        mean, spread, variance = mean[..., 0], spread[..., 0], variance[..., 0]
    rung = posterior.inference
    parts = [
        NormalPredictive(mean[j], variance[j], spread[j], rung)
        if np.isinf(belief.df)
        else StudentTPredictive(belief.df, mean[j], variance[j], spread[j], rung)
        for j in range(mean.shape[0])
    ]
    if len(parts) == 1:
        return parts[0]
    weights = belief.weights[:, 0] if posterior.single_target else belief.weights
    return MixturePredictive(weights, parts, rung)


def _drawn(posterior: LinearDraws, X: np.ndarray, noise: Any, stated: Any, points: int = POINTS) -> Predictive:
    changing = "noise_coef" in posterior.chains
    scale: Any = None if changing else new_scale(noise.scale, stated, X.shape[0])
    if changing and stated is not None:
        raise ParameterError(OWNER, "noise_scale", "None, because the noise was learned", stated)
    stride = max(1, len(posterior.chains) // points)
    coef, level = posterior["coef"][::stride], posterior["intercept"][::stride]
    sigma = posterior["noise_scale"][::stride] if scale is None and not changing else None
    df: Any = posterior["df"][::stride] if "df" in posterior.chains else getattr(noise, "df", None)

    def line(slopes: np.ndarray, levels: np.ndarray, rows: Any) -> np.ndarray:
        """(S, rows) or (S, rows, targets)."""
        return np.moveaxis(slopes @ X[rows].T, -1, 1) + levels[:, None]

    def law(rows: Any) -> ScalarFamily:
        if changing:
            logs = line(posterior["noise_coef"][::stride], posterior["noise_intercept"][::stride], rows)
            width = np.exp(np.clip(logs, -700.0, 700.0))
        elif sigma is not None:
            width = sigma[:, None]
        else:  # 0 asks for the belief about the line itself
            width = np.maximum(np.broadcast_to(scale, X.shape[0])[rows], np.finfo(float).tiny)  # type: ignore[arg-type]
            width = width if posterior.single_target else width[:, None]
        return _family(noise, line(coef, level, rows), width, df if np.ndim(df) == 0 else df[:, None])

    if posterior.single_target:
        return IntegratedPredictive(np.ones(len(coef)), law, X.shape[0], "real", posterior.inference)
    return DrawsPredictive.from_conditional(law(slice(None)), as_generator(0, "prediction"), posterior.inference)


def _plugged_in(posterior: LinearMode, X: np.ndarray, noise: Any, stated: Any) -> Predictive:
    scale = new_scale(noise.scale, stated, X.shape[0])
    if scale is None:
        raise UnavailableError(
            "A MAP estimate knows nothing of the noise scale, so it has no predictive distribution.",
            remedy="State the noise, or fit with inference='auto'.",
        )
    mean = X @ np.atleast_2d(posterior.coef).T + posterior.level
    width = np.broadcast_to(scale, X.shape[0])
    if posterior.single_target:
        return IntegratedPredictive(
            np.ones(1),
            lambda rows: _family(noise, mean[None, rows, 0], width[rows], getattr(noise, "df", None)),
            X.shape[0],
            "real",
            "map",
        )
    return NormalPredictive(mean, np.broadcast_to(np.square(width)[:, None], mean.shape), np.zeros(mean.shape), "map")


def _family(noise: Any, mean: np.ndarray, scale: Any, df: Any) -> ScalarFamily:
    if isinstance(noise, noise_models.StudentT):
        return StudentT(df, mean, scale)
    return Laplace(mean, scale) if isinstance(noise, noise_models.Laplace) else Normal(mean, scale)


def new_scale(known: Any, stated: Any, n: int) -> Any:
    """The noise scale at n new rows, () or (n,); None where it was learned."""
    if stated is None:
        if known is None:
            return None
        if np.ndim(known) == 1:
            raise ParameterError(
                OWNER,
                "noise_scale",
                "given, because the model was fitted with a noise scale per row",
                None,
                "Pass the noise sd at the new rows; 0 gives the belief about the line itself.",
            )
        stated = known
    elif known is None:
        raise ParameterError(OWNER, "noise_scale", "None, because the noise was learned", stated)
    scale = np.asarray(stated, dtype=np.float64)
    if scale.shape not in ((), (n,)) or not np.all(np.isfinite(scale) & (scale >= 0)):
        raise ParameterError(OWNER, "noise_scale", f"finite, ≥ 0, a scalar or of shape {(n,)}", stated)
    return scale
