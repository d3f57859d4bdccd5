"""Exponential families for mean field: log q(z) = ⟨η, t(z)⟩ − A(η), in natural parameters.

    family               t(z)                          η
    Normal               z, z²                         m/v, −1/(2v)
    MultivariateNormal   z, z zᵀ                       Λ m, −Λ/2
    Gamma                log z, z                      a − 1, −b
    Dirichlet            log z                         c − 1
    Categorical          w × indicator of z            log p + const
    NormalWishart        log|Λ|, Λ, Λμ, μᵀΛμ           (ν − d)/2, −(Ψ + β m mᵀ)/2, β m, −β/2

Parameters and moments are tuples of arrays, one for each entry of t, over any leading axes of independent variables.
The moments E t(z) are ∂A/∂η, and the entropy is A(η) − ⟨η, E t(z)⟩: all that coordinate ascent needs of a family.

Reference: Wainwright and Jordan (2008), Graphical models, exponential families, and variational inference, FnT ML 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, softmax

from credo import distributions
from credo.errors import UnavailableError

__all__ = [
    "ExponentialFamily", "Normal", "MultivariateNormal", "Gamma", "Dirichlet", "Categorical", "NormalWishart", "inner",
]  # fmt: skip

LOG_2PI = math.log(2.0 * math.pi)
#: natural parameters, or moments
Tuple = tuple[np.ndarray, ...]


def inner(natural: Tuple, moments: Tuple) -> float:
    """⟨η, m⟩, summed over all variables; a moment of −∞ that is multiplied by 0 counts 0.

    >>> inner((np.array([1.0, 2.0]),), (np.array([3.0, 4.0]),))
    11.0
    """
    return float(sum(np.sum(np.where(eta == 0.0, 0.0, eta * m)) for eta, m in zip(natural, moments, strict=True)))


class ExponentialFamily:
    """What coordinate ascent asks of a family. Subclass and supply the first two."""

    def moments(self, natural: Tuple) -> Tuple:
        """E t(z) = ∂A/∂η, shaped as η."""
        raise NotImplementedError

    def log_normaliser(self, natural: Tuple) -> float:
        """A(η), summed over independent variables."""
        raise NotImplementedError

    def entropy(self, natural: Tuple, moments: Tuple) -> float:
        """H(q) in nats, summed over independent variables: A(η) − ⟨η, m⟩ (t holds what the base measure needs)."""
        return self.log_normaliser(natural) - inner(natural, moments)

    def distribution(self, natural: Tuple) -> Any:
        """The member of `credo.distributions`, where there is one."""
        raise UnavailableError(f"{type(self).__name__} has no counterpart in credo.distributions.")


@dataclass(frozen=True)
class Normal(ExponentialFamily):
    """Numbers z ~ N(m, v): η = (m/v, −1/(2v)).

    >>> [m.item() for m in Normal().moments((np.array(4.0), np.array(-1.0)))]
    [2.0, 4.5]
    """

    def moments(self, natural: Tuple) -> Tuple:
        mean, variance = self._mean_variance(natural)
        return mean, mean**2 + variance

    def log_normaliser(self, natural: Tuple) -> float:
        mean, variance = self._mean_variance(natural)
        return 0.5 * float(np.sum(mean**2 / variance + np.log(variance) + LOG_2PI))

    def distribution(self, natural: Tuple) -> Any:
        mean, variance = self._mean_variance(natural)
        return distributions.Normal(mean[()], np.sqrt(variance)[()])

    def _mean_variance(self, natural: Tuple) -> tuple[np.ndarray, np.ndarray]:
        variance = -0.5 / natural[1]
        return natural[0] * variance, variance


@dataclass(frozen=True)
class MultivariateNormal(ExponentialFamily):
    """Vectors z ~ N(m, Λ⁻¹) along the last axis: η = (Λ m, −Λ/2)."""

    def moments(self, natural: Tuple) -> Tuple:
        mean, covariance = self._mean_covariance(natural)
        return mean, mean[..., :, None] * mean[..., None, :] + covariance

    def log_normaliser(self, natural: Tuple) -> float:
        mean, _ = self._mean_covariance(natural)
        log_det = _inverse(-2.0 * natural[1])[1]
        return 0.5 * float(np.sum(mean * natural[0]) + np.sum(mean.shape[-1] * LOG_2PI - log_det))

    def distribution(self, natural: Tuple) -> Any:
        return distributions.MultivariateNormal(*self._mean_covariance(natural))

    def _mean_covariance(self, natural: Tuple) -> tuple[np.ndarray, np.ndarray]:
        covariance = _inverse(-2.0 * natural[1])[0]
        return (covariance @ natural[0][..., None])[..., 0], covariance


@dataclass(frozen=True)
class Gamma(ExponentialFamily):
    """Numbers z ~ Gamma(shape a, rate b): η = (a − 1, −b).

    >>> Gamma().moments((np.array(2.0), np.array(-4.0)))[1].item()
    0.75
    """

    def moments(self, natural: Tuple) -> Tuple:
        shape, rate = natural[0] + 1.0, -natural[1]
        return digamma(shape) - np.log(rate), shape / rate

    def log_normaliser(self, natural: Tuple) -> float:
        shape, rate = natural[0] + 1.0, -natural[1]
        return float(np.sum(gammaln(shape) - shape * np.log(rate)))

    def distribution(self, natural: Tuple) -> Any:
        return distributions.Gamma(shape=(natural[0] + 1.0)[()], rate=(-natural[1])[()])


@dataclass(frozen=True)
class Dirichlet(ExponentialFamily):
    """Shares z ~ Dirichlet(c) along the last axis: η = (c − 1,). Of two shares, the first is Beta."""

    def moments(self, natural: Tuple) -> Tuple:
        concentration = natural[0] + 1.0
        return (digamma(concentration) - digamma(concentration.sum(axis=-1, keepdims=True)),)

    def log_normaliser(self, natural: Tuple) -> float:
        concentration = natural[0] + 1.0
        return float(np.sum(gammaln(concentration)) - np.sum(gammaln(concentration.sum(axis=-1))))

    def distribution(self, natural: Tuple) -> Any:
        return distributions.Dirichlet(natural[0] + 1.0)


@dataclass(frozen=True)
class Categorical(ExponentialFamily):
    """One of K values along the last axis: η = log p up to a constant, moments the probabilities.

    weights : of each variable, (...): equal ones that share a q, such as the tokens of one word in one document.

    >>> Categorical().moments((np.log([[1.0, 3.0]]),))
    (array([[0.25, 0.75]]),)
    """

    weights: Any = 1.0

    def moments(self, natural: Tuple) -> Tuple:
        return (softmax(natural[0], axis=-1) * np.asarray(self.weights, dtype=np.float64)[..., None],)

    def log_normaliser(self, natural: Tuple) -> float:
        return float(np.sum(self.weights * np.asarray(logsumexp(natural[0], axis=-1))))

    def distribution(self, natural: Tuple) -> Any:
        return distributions.Categorical(softmax(natural[0], axis=-1))


@dataclass(frozen=True)
class NormalWishart(ExponentialFamily):
    """Means and precisions: μ | Λ ~ N(m, (β Λ)⁻¹), Λ ~ Wishart(ν, Ψ⁻¹), in d dimensions.

    `natural(m, β, ν, Ψ)` and `parameters(η)` convert.
    """

    @staticmethod
    def natural(mean: Any, beta: Any, df: Any, psi: Any) -> Tuple:
        """η of m (..., d), β (...), ν (...), Ψ (..., d, d)."""
        mean, psi = np.asarray(mean, dtype=np.float64), np.asarray(psi, dtype=np.float64)
        beta, df = np.asarray(beta, dtype=np.float64), np.asarray(df, dtype=np.float64)
        outer = mean[..., :, None] * mean[..., None, :]
        d = mean.shape[-1]
        return 0.5 * (df - d), -0.5 * (psi + beta[..., None, None] * outer), beta[..., None] * mean, -0.5 * beta

    @staticmethod
    def parameters(natural: Tuple) -> Tuple:
        """m, β, ν, Ψ."""
        beta = -2.0 * natural[3]
        mean = natural[2] / beta[..., None]
        psi = -2.0 * natural[1] - beta[..., None, None] * mean[..., :, None] * mean[..., None, :]
        return mean, beta, 2.0 * natural[0] + mean.shape[-1], psi

    def moments(self, natural: Tuple) -> Tuple:
        mean, beta, df, psi = self.parameters(natural)
        d = mean.shape[-1]
        log_det = digamma(0.5 * (df[..., None] - np.arange(d))).sum(axis=-1) + d * math.log(2.0)
        inverse, log_psi = _inverse(psi)
        precision = df[..., None, None] * inverse
        shift = (precision @ mean[..., None])[..., 0]
        return log_det - log_psi, precision, shift, d / beta + np.sum(mean * shift, axis=-1)

    def log_normaliser(self, natural: Tuple) -> float:
        mean, beta, df, psi = self.parameters(natural)
        d = mean.shape[-1]
        halves = 0.5 * (df[..., None] - np.arange(d))
        log_multigamma = 0.25 * d * (d - 1) * math.log(math.pi) + gammaln(halves).sum(axis=-1)
        wishart = 0.5 * df * (d * math.log(2.0) - _inverse(psi)[1]) + log_multigamma
        return float(np.sum(wishart + 0.5 * d * (LOG_2PI - np.log(beta))))


def _inverse(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverses and log determinants of positive-definite matrices (..., d, d); NaN where one is not, which the engine
    reports under the factor's name."""
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan), np.full(matrix.shape[:-2], np.nan)
    half = np.linalg.inv(lower)
    log_det = 2.0 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    return np.swapaxes(half, -1, -2) @ half, log_det
