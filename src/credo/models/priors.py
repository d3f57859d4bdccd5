"""What a prior on regression coefficients means for the engines: a whitening and a kind. Shared by every regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.normal import Normal
from credo.errors import ParameterError
from credo.inference.exact.linear_gaussian import NoisePrior
from credo.inference.exact.spectrum import Whitening
from credo.numerics.cholesky import cholesky

__all__ = ["CoefficientPrior", "resolve_prior", "resolve_intercept_prior"]


@dataclass(frozen=True)
class CoefficientPrior:
    """kind: "flat", "learned" (scale from the evidence), "stated" (in the coefficients' own units) or "conjugate"
    (relative to the noise, σ² ~ `noise`)."""

    kind: str
    whitening: Whitening
    noise: NoisePrior | None = None


def resolve_prior(owner: str, prior: Any, column_scale: np.ndarray) -> CoefficientPrior:
    """Read the `prior` of `owner` for P columns with root mean squares `column_scale` (P,), 0 where constant."""
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
    raise ParameterError(
        owner,
        "prior",
        "None, Flat, Normal, MultivariateNormal or NormalInverseGamma",
        prior,
    )


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
