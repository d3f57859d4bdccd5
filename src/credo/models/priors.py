"""What a prior on regression coefficients means for the engines: a kind, a whitening, and a mixture of Normals where it
is not Normal itself. Shared by every regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.normal import Normal
from credo.errors import ParameterError
from credo.inference.exact.linear_gaussian import NoisePrior
from credo.inference.exact.spectrum import Whitening
from credo.models.scale_mixtures import (
    Box,
    ElasticNetMixture,
    HorseshoeMixture,
    LaplaceMixture,
    ScaleMixture,
    StudentTMixture,
)
from credo.numerics.cholesky import cholesky

__all__ = ["CoefficientPrior", "resolve_prior", "resolve_intercept_prior"]


@dataclass(frozen=True)
class CoefficientPrior:
    """kind : what the engines tell apart
        "flat"; "learned", Normal with a scale from the evidence; "stated", Normal in the coefficients' own units;
        "conjugate", Normal relative to the noise, σ² ~ `noise`; "ard", a variance a coefficient from the evidence;
        "mixture", Normal given latent variances: Laplace, Student-t, horseshoe, elastic net; "box", uniform
    whitening : w = offset + scale u with u of order one
    mixture : `ScaleMixture` of kind "mixture", `Box` of kind "box", else None
    """

    kind: str
    whitening: Whitening
    noise: NoisePrior | None = None
    mixture: ScaleMixture | Box | None = None


def resolve_prior(owner: str, prior: Any, column_scale: np.ndarray, noise_scale: float = 1.0) -> CoefficientPrior:
    """Read the `prior` of `owner` for P columns with root mean squares `column_scale` (P,), 0 where constant.

    `noise_scale`: what is known of the noise, which learned scales are relative to; 1 where they are in its units.
    """
    p = column_scale.size
    unit = 1.0 / np.where(column_scale > 0.0, column_scale, 1.0)
    zero = np.zeros(p)
    if prior is None:
        return CoefficientPrior("learned", Whitening(zero, unit))
    kind = type(prior).__name__
    if kind == "Flat":
        return CoefficientPrior("flat", Whitening(zero, unit))
    if isinstance(prior, Normal):
        offset = vector(owner, prior.mean, p, "prior.mean")
        if prior.sd is None:
            return CoefficientPrior("learned", Whitening(offset, np.ones(p)))
        return CoefficientPrior("stated", Whitening(offset, vector(owner, prior.sd, p, "prior.sd")))
    if kind == "MultivariateNormal":
        return CoefficientPrior(
            "stated", Whitening(vector(owner, prior.mean, p, "prior.mean"), root(owner, prior.covariance, p))
        )
    if kind == "NormalInverseGamma":
        scale = np.asarray(prior.covariance, dtype=np.float64)
        whitening = Whitening(
            vector(owner, prior.mean, p, "prior.mean"),
            root(owner, scale, p) if scale.ndim == 2 else np.sqrt(vector(owner, scale, p, "prior.covariance")),
        )
        return CoefficientPrior("conjugate", whitening, NoisePrior(float(prior.shape), float(prior.scale)))
    if kind == "ARD":
        return CoefficientPrior("ard", Whitening(zero, unit))
    if kind == "Uniform":
        low, high = (vector(owner, getattr(prior, end), p, f"prior.{end}") for end in ("low", "high"))
        whitening = Whitening(0.5 * (low + high), 0.5 * (high - low))
        return CoefficientPrior("box", whitening, mixture=Box(low, high))
    if kind in ("Laplace", "StudentT", "Horseshoe", "ElasticNet"):
        mixture = scale_mixture(owner, prior, column_scale, noise_scale)
        return CoefficientPrior("mixture", Whitening(mixture.mean, mixture.scale * mixture.reach), mixture=mixture)
    raise ParameterError(
        owner,
        "prior",
        "None, Flat, Uniform, Normal, MultivariateNormal, NormalInverseGamma, Laplace, StudentT, ElasticNet, "
        "Horseshoe or ARD",
        prior,
    )


def scale_mixture(owner: str, prior: Any, column_scale: np.ndarray, noise_scale: float = 1.0) -> ScaleMixture:
    """The mixture of a Laplace, Student-t, elastic-net or horseshoe prior on P columns.

    A learned scale τ is relative to the noise σ, and so is the horseshoe's default: τ √(Σ_j sd_j²)/σ, a signal-to-noise
    ratio, is half-Cauchy(1), as for the learned Normal. The horseshoe's default is on standardised columns, τ/σ ~
    half-Cauchy(1/P): a priori about one coefficient is as large as the noise (van der Pas, Kleijn and van der Vaart
    2014, EJS 8: τ of the order of the share that matters), and the heavy tail lets the data say more.
    """
    p, kind = column_scale.size, type(prior).__name__
    zero, one = np.zeros(p), np.ones(p)
    if kind == "ElasticNet":
        scales = (vector(owner, prior.laplace_scale, p, "prior.laplace_scale"),)
        return ElasticNetMixture(zero, *scales, normal_sd=vector(owner, prior.normal_sd, p, "prior.normal_sd"))
    if kind == "Horseshoe":
        if prior.scale is None:
            unit = 1.0 / np.where(column_scale > 0.0, column_scale, 1.0)
            return HorseshoeMixture(zero, unit, learned=True, relative=True, reach=noise_scale / p)
        if np.ndim(prior.scale):
            raise ParameterError(owner, "prior.scale", "None or one number, shared by all columns", prior.scale)
        return HorseshoeMixture(zero, one, learned=True, reach=float(prior.scale))
    mean = vector(owner, prior.mean, p, "prior.mean")
    family: Any = LaplaceMixture
    how: dict[str, Any] = {}
    if kind == "StudentT":
        family, how = StudentTMixture, {"df": vector(owner, prior.df, p, "prior.df")}
    if prior.scale is not None:
        return family(mean, vector(owner, prior.scale, p, "prior.scale"), **how)
    gain = float(np.square(column_scale).sum())
    reach = noise_scale / np.sqrt(gain) if gain > 0.0 else noise_scale
    return family(mean, one, learned=True, relative=True, reach=reach, **how)


def vector(owner: str, value: Any, p: int, name: str) -> np.ndarray:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (1,), (p,)):
        raise ParameterError(owner, name, f"a scalar or one number for each of {p} columns", value)
    return np.broadcast_to(array, (p,)).copy()


def root(owner: str, covariance: Any, p: int) -> np.ndarray:
    matrix = np.asarray(covariance, dtype=np.float64)
    if matrix.shape != (p, p):
        raise ParameterError(owner, "prior", f"a covariance of shape {(p, p)}", matrix.shape)
    return cholesky(matrix, "the prior covariance").lower


def resolve_intercept_prior(owner: str, prior: Any) -> tuple[float, float] | None:
    """(mean, sd) of a Normal intercept prior, None for a flat one."""
    if prior is None or type(prior).__name__ == "Flat":
        return None
    if isinstance(prior, Normal) and prior.sd is not None and np.ndim(prior.mean) == 0 and np.ndim(prior.sd) == 0:
        return float(prior.mean), float(prior.sd)
    raise ParameterError(owner, "prior_intercept", "None, Flat() or a Normal with known sd", prior)
