"""What is read off a fitted Gaussian process, in the user's units.

Functions take the fitted estimator: its `belief_`, or the beliefs at several θ where hyperparameters were integrated
over, with equal weights; `units_`; and whether it has a `single_` target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.diagnostics.sensitivity import Sensitivity, power_scaling_sensitivity
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.errors import ParameterError, UnavailableError
from credo.models.gaussian_process.belief import Belief, as_values
from credo.models.gaussian_process.fitting import Units
from credo.models.gaussian_process.noise import Learned, Stated, WithSlopes
from credo.models.gaussian_process.observations import Observations
from credo.numerics.cholesky import cholesky
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.prediction.predictive import Predictive

__all__ = [
    "HyperparameterSensitivity", "function_draws", "joint", "leave_one_out", "noise_scale", "noise_variance", "parts",
    "predictive", "ratio", "rows_of", "sensitivity", "slope_predictive",
]  # fmt: skip

OWNER = "GaussianProcessRegressor"
# Factors of several θ are kept between calls up to this many bytes, and made again beyond.
KEPT = 2**30


def parts(model: Any) -> list[Belief]:
    """The beliefs to average: one, or one at each θ that was kept."""
    belief: Belief = model.belief_
    if not len(model.theta_draws_):
        return [belief]
    known = getattr(model, "_parts", None)
    if known is not None and known[0] is belief:
        return known[1]
    made = [belief.at(theta) for theta in model.theta_draws_]
    if 8.0 * len(made) * len(belief.observations.X) ** 2 <= KEPT:
        model._parts = (belief, made)
    return made


def rows_of(belief: Belief, X: np.ndarray) -> np.ndarray:
    """X as the belief has its rows: with "which" = −1 where it holds slopes too."""
    return as_values(X) if belief.mean.sloped else X


def noise_scale(belief: Belief, units: Units, given: Stated, single: bool) -> Any:
    """sd of the noise: known, learned, or None where it varies with x."""
    if given.scale is not None:
        return given.scale
    model = belief.noise.values if isinstance(belief.noise, WithSlopes) else belief.noise
    if not isinstance(model, Learned):
        return None
    scale = model.sd * units.unit
    return float(scale[0]) if single else scale


def noise_variance(model: Any, belief: Belief, X: np.ndarray, scale: Any) -> np.ndarray:
    """Variance (m, T) of the noise at rows X; `scale`, an sd, replaces the model's."""
    shape, units = (len(X), model.units_.unit.size), model.units_
    stated = model.noise_stated_
    if scale is not None:
        sd = np.asarray(scale, dtype=np.float64)
        if sd.ndim > 1 or (sd.ndim == 1 and sd.shape != (len(X),)) or not np.all(np.isfinite(sd) & (sd >= 0)):
            raise ParameterError(f"{OWNER}.predict", "noise_scale", f"≥ 0, one or {len(X)} numbers", scale)
        return np.broadcast_to(np.square(sd).reshape(-1, 1), shape)
    if np.ndim(stated):
        raise ParameterError(
            f"{OWNER}.predict", "noise_scale", "given, since fit was given one noise for each row", None,
            "State that of the new rows; 0 gives the belief about the function.",
        )  # fmt: skip
    if stated is not None:
        return np.full(shape, stated**2)
    variance = belief.noise.variance(rows_of(belief, X))
    return variance[:, None] * np.square(units.unit)


def predictive(model: Any, X: np.ndarray, scale: Any) -> Predictive:
    """Normal, or a mixture over θ."""
    several = [
        _normal(model, *belief.latent(rows_of(belief, X)), noise_variance(model, belief, X, scale))
        for belief in parts(model)
    ]
    if len(several) == 1:
        return several[0]
    return MixturePredictive(np.full(len(several), 1.0 / len(several)), several, model.result_.inference)


def slope_predictive(model: Any, rows: np.ndarray) -> Predictive:
    """Of slopes at rows [x, column]; they are not seen with noise."""
    several = []
    for belief in parts(model):
        mean, variance = belief.sloped().latent(rows)
        mean = mean * model.units_.unit + model.units_.location * 0.0
        spread = variance[:, None] * np.square(model.units_.unit)
        shown = (
            (mean[:, 0], np.zeros(len(rows)), spread[:, 0]) if model.single_ else (mean, np.zeros(mean.shape), spread)
        )
        several.append(NormalPredictive(*shown, model.result_.inference))
    if len(several) == 1:
        return several[0]
    return MixturePredictive(np.full(len(several), 1.0 / len(several)), several, model.result_.inference)


def _normal(model: Any, mean: np.ndarray, variance: np.ndarray, noise: np.ndarray) -> NormalPredictive:
    mean = model.units_.outside(mean)
    spread = variance[:, None] * np.square(model.units_.unit)
    shown = (mean[:, 0], noise[:, 0], spread[:, 0]) if model.single_ else (mean, noise, spread)
    return NormalPredictive(*shown, model.result_.inference)


def joint(model: Any, X: np.ndarray, scale: Any) -> MultivariateNormal:
    """The joint law of one target at rows X, at one θ."""
    if not model.single_ or len(model.theta_draws_):
        what = "several targets" if not model.single_ else "hyperparameters that were integrated over"
        raise UnavailableError(f"With {what} there is no one joint Normal.", remedy="Use sample_paths.")
    belief: Belief = model.belief_
    mean, covariance = belief.latent(rows_of(belief, X), joint=True)
    covariance = covariance * model.units_.common**2
    covariance = 0.5 * (covariance + covariance.T) + np.diag(noise_variance(model, belief, X, scale)[:, 0])
    # What the rows determine wholly is known to rounding of what was not known before.
    prior = float(np.mean(belief.kernel.diagonal(rows_of(belief, X)))) * model.units_.common**2
    covariance[np.diag_indices(len(X))] += 1e-12 * prior
    return MultivariateNormal(model.units_.outside(mean)[:, 0], covariance)


def function_draws(model: Any, X: np.ndarray, scale: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, m) joint draws of one target's function at rows X, always the same, and sds (n, m) of the noise there."""
    if not model.single_:
        raise UnavailableError("Draws of the law of y are of one target.", remedy="Fit each target by itself.")
    rng, several = np.random.default_rng(0), parts(model)
    counts = np.diff(np.linspace(0, n, len(several) + 1).astype(int))
    values, sds = [], []
    for belief, count in zip(several, counts, strict=True):
        mean, covariance = belief.latent(rows_of(belief, X), joint=True)
        values_here = np.sqrt(noise_variance(model, belief, X, scale)[:, 0])
        scaled = covariance + 1e-10 * max(float(np.mean(np.diag(covariance))), 1e-300) * np.eye(len(X))
        root = cholesky(0.5 * (scaled + scaled.T), "Covariance of the function").lower
        f = mean[:, 0] + rng.standard_normal((count, len(X))) @ root.T
        values.append(model.units_.location + model.units_.common * f)
        sds.append(np.broadcast_to(np.maximum(values_here, np.finfo(float).tiny), f.shape))
    return np.concatenate(values), np.concatenate(sds)


def ratio(stated: Any, noise: Any, n: int, units: Units, owner: str) -> np.ndarray:
    """r (n,) of rows added to a fit whose noise was `stated`."""
    if np.ndim(stated) == 0:
        if noise is not None:
            raise ParameterError(owner, "noise", "None, since fit was not given one for each row", noise)
        return np.full(n, 1.0 if stated is None else (stated / units.common) ** 2)
    sd = np.asarray(np.nan if noise is None else noise, dtype=np.float64)
    if sd.ndim > 1 or not np.all(np.isfinite(sd) & (sd >= 0)) or (sd.ndim == 1 and sd.size != n):
        raise ParameterError(owner, "noise", f"a number ≥ 0 or one for each of {n} rows, as in fit", noise)
    return np.broadcast_to(np.square(sd / units.common), (n,)).astype(np.float64)


def leave_one_out(model: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """log p(y_i | the other rows) (N,), summed over targets."""
    w = np.ones(len(X)) if weights is None else weights
    keep = w > 0.0
    scale = model.noise_stated_
    if np.ndim(scale) and len(scale) != keep.sum():
        raise ParameterError(f"{OWNER}.leave_one_out", "X", f"the {len(scale)} rows of fit", X.shape)
    z, units = model.units_.inside(y.astype(np.float64)), model.units_
    r = np.ones(len(X)) if scale is None else np.empty(len(X))
    if scale is not None:
        r[keep] = np.square(np.asarray(scale) / units.common)
    if model.belief_.mean.sloped:
        raise UnavailableError("Leaving rows out is of values alone.", remedy="Fit without slopes.")
    each = []
    for belief in parts(model):
        # The rows as given, so that copies are told apart; the solver's factor is made again, n³/3.
        rows = Observations.of(X[keep], z[keep], r[keep], w[keep], merge=_merged(belief))
        here = Belief(belief.kernel, belief.noise, belief.mean, rows, belief.solver)
        mean, variance = here.left_out(z[keep], r[keep], w[keep], rows.row)
        density = -0.5 * (np.square(z[keep] - mean) / variance[:, None] + np.log(2.0 * np.pi * variance)[:, None])
        each.append((density - np.log(units.unit)).sum(axis=1))
    out = np.full(len(X), np.nan)
    # 1/p(y_i | y₋ᵢ) = E[1/p(y_i | y₋ᵢ, θ)] over the posterior of θ.
    out[keep] = np.log(len(each)) - scipy.special.logsumexp(-np.array(each), axis=0)
    return out if keep.all() else np.where(keep, out, 0.0)


def _merged(belief: Belief) -> bool:
    return len(belief.observations.row) > len(belief.observations.X)


@dataclass(frozen=True, eq=False)
class HyperparameterSensitivity:
    """How predictions move per unit of the log of each hyperparameter, at the ones that were learned.

    names (h,); mean, sd : (h, m), ∂E[f(x)]/∂θ and ∂sd[f(x)]/∂θ, in units of the outcome
    """

    names: tuple[str, ...]
    mean: np.ndarray
    sd: np.ndarray


def sensitivity(model: Any, X: np.ndarray) -> HyperparameterSensitivity | dict[str, Sensitivity]:
    """Of the hyperparameters to the prior by power scaling, where those were integrated over; else of
    predictions to the hyperparameters, by central differences: 2h factorisations."""
    if len(model.theta_draws_):
        powers = model.scaled_powers_
        return power_scaling_sensitivity(powers["values"], powers["log_prior"], powers["log_evidence"])
    belief: Belief = model.belief_
    rows, step, means, sds = rows_of(belief, X), 1e-4, [], []
    for shift in step * np.eye(belief.theta.size):
        ends = [belief.at(belief.theta + sign * shift).latent(rows) for sign in (1.0, -1.0)]
        means.append((ends[0][0] - ends[1][0])[:, 0] / (2.0 * step))
        sds.append((np.sqrt(ends[0][1]) - np.sqrt(ends[1][1])) / (2.0 * step))
    unit, shape = model.units_.unit[0], (belief.theta.size, len(X))
    return HyperparameterSensitivity(
        belief.names, unit * np.reshape(means, shape), unit * np.reshape(sds, shape)
    )  # fmt: skip
