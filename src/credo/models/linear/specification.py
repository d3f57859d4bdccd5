"""What the user of `LinearRegression` stated, checked and resolved before any row is read twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions import noise as noise_models
from credo.errors import ParameterError
from credo.inference.exact.noise_prior import NoisePrior
from credo.models.linear.robust import LatentNoise
from credo.models.priors import resolve_intercept_prior

__all__ = ["INFERENCES", "LinearSpecification", "OWNER", "needs_rows", "noise_of", "rows_noise", "specify"]

OWNER = "LinearRegression"
INFERENCES = ("auto", "exact", "evidence", "map", "gibbs", "laplace", "nuts")


@dataclass(frozen=True)
class LinearSpecification:
    """What the user stated.

    prior : as given to `LinearRegression`
    fit_intercept, intercept_prior : (mean, sd) or None for flat
    noise : the record `cr.noise.*`
    noise_scale : known scalar sd; None when learned, or known per row (then already in the statistics)
    noise_known : whether the noise is known
    noise_prior : of σ where it is learned
    inference : the rung asked for
    names : of the columns
    seed : of what samples; a fit is a function of its data
    distinct : counts the rows that differ, where they are at hand
    """

    prior: Any
    fit_intercept: bool
    intercept_prior: tuple[float, float] | None
    noise: Any
    noise_scale: float | None
    noise_known: bool
    noise_prior: NoisePrior
    inference: str
    names: tuple[str, ...]
    seed: Any = 0
    distinct: Callable[[], int] | None = None

    @property
    def maximise(self) -> bool:
        return self.inference == "evidence"

    @property
    def latent_noise(self) -> LatentNoise:
        """Student-t or Laplace noise for the Gibbs sampler."""
        noise, laplace = self.noise, isinstance(self.noise, noise_models.Laplace)
        df, df_prior = (1.0, None) if laplace else (noise.df, noise.df_prior)
        return LatentNoise(laplace, df, noise.scale, noise.scale_prior, df_prior)


def noise_of(noise: Any) -> Any:
    """The noise record; None is Normal with a learned scale."""
    noise = noise_models.Normal() if noise is None else noise
    if not isinstance(noise, noise_models.Normal | noise_models.Laplace | noise_models.StudentT):
        raise ParameterError(OWNER, "noise", "None, cr.noise.Normal, cr.noise.Laplace or cr.noise.StudentT", noise)
    return noise


def rows_noise(noise: Any) -> np.ndarray | None:
    """(n,) the known scale of each row, None for another kind."""
    scale = noise_of(noise).scale
    return np.asarray(scale, dtype=np.float64) if scale is not None and np.ndim(scale) == 1 else None


def needs_rows(noise: Any) -> bool:
    """Whether the noise cannot be summarised by second moments."""
    noise = noise_of(noise)
    return not isinstance(noise, noise_models.Normal) or isinstance(noise.scale, noise_models.LogLinear)


def specify(model: Any, names: tuple[str, ...]) -> LinearSpecification:
    """The checked specification of an estimator's parameters."""
    if model.inference not in INFERENCES:
        raise ParameterError(OWNER, "inference", f"one of {INFERENCES}", model.inference)
    noise: Any = noise_of(model.noise)
    scale: Any = noise.scale if isinstance(noise, noise_models.Normal) else None
    known = scale is not None and not isinstance(scale, noise_models.LogLinear)
    return LinearSpecification(
        prior=model.prior,
        fit_intercept=bool(model.fit_intercept),
        intercept_prior=resolve_intercept_prior(OWNER, model.prior_intercept) if model.fit_intercept else None,
        noise=noise,
        noise_scale=float(scale) if known and np.ndim(scale) == 0 else None,  # type: ignore[arg-type]
        noise_known=known,
        noise_prior=scale_prior_of(noise),
        inference=model.inference,
        names=names,
        seed=0 if model.random_state is None else model.random_state,
    )


def scale_prior_of(noise: Any) -> NoisePrior:
    """The prior of the noise scale: conjugate where it can be, 1/σ² where nothing is stated."""
    variance_prior = getattr(noise, "variance_prior", None)
    if variance_prior is not None:
        return NoisePrior(float(variance_prior.shape), float(variance_prior.scale))
    if noise.scale_prior is None:
        return NoisePrior()
    if type(noise.scale_prior).__name__ == "Flat":
        return NoisePrior(-0.5, 0.0)
    return NoisePrior(family=noise.scale_prior)
