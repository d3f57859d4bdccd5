"""`LinearPosterior`: the exact posterior of a regression's coefficients, as the Posterior record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.errors import ParameterError
from credo.inference.exact.belief import LinearBelief, variance_factor
from credo.inference.exact.noise_scale import NoiseScaleMarginal
from credo.inference.result import Result
from credo.numerics.inversion import invert_cdf
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["LinearPosterior", "Marginals"]

# Draws behind posterior["coef"]: Monte Carlo error of a mean is then 1.6 % of the sd.
N_DRAWS = 4000


@dataclass(frozen=True)
class Marginals:
    """One-dimensional Normal (df = ∞) or Student-t beliefs, or mixtures of them; the leading axis of every array is the
    mixture's.

    weights, mean, scale : (J, ...) broadcastable; the weights sum to 1 over J
    """

    weights: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    df: float

    @property
    def mean(self) -> np.ndarray:
        return (self.weights * self.location).sum(axis=0)

    @property
    def variance(self) -> np.ndarray:
        within = np.square(self.scale) * variance_factor(self.df)
        return (self.weights * (within + np.square(self.location - self.mean))).sum(axis=0)

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(self.variance)

    def cdf(self, x: Any) -> np.ndarray:
        z = (np.asarray(x) - self.location) / self.scale
        parts = scipy.special.ndtr(z) if np.isinf(self.df) else scipy.special.stdtr(self.df, z)
        return (self.weights * parts).sum(axis=0)

    def quantile(self, q: Any) -> np.ndarray:
        """Quantiles, shape (*shape of q, ...)."""
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0) & (q <= 1)):
            raise ParameterError("", "q", "between 0 and 1", q)
        level = q.reshape(q.shape + (1,) * (self.location.ndim - 1))
        z = scipy.special.ndtri(level) if np.isinf(self.df) else scipy.special.stdtrit(self.df, level)
        parts = (
            self.location + self.scale * z[..., None, *([slice(None)] * (self.location.ndim - 1))]
            if q.ndim
            else (self.location + self.scale * z)
        )
        if self.location.shape[0] == 1:
            return parts[..., 0, *([slice(None)] * (self.location.ndim - 1))] if q.ndim else parts[0]
        axis = q.ndim
        low, high = parts.min(axis=axis), parts.max(axis=axis)
        return invert_cdf(lambda x: self._cdf_over(x, axis), np.broadcast_to(level, low.shape), low, high)

    def _cdf_over(self, x: np.ndarray, axis: int) -> np.ndarray:
        z = (np.expand_dims(x, axis) - self.location) / self.scale
        parts = scipy.special.ndtr(z) if np.isinf(self.df) else scipy.special.stdtr(self.df, z)
        return (self.weights * parts).sum(axis=axis)

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        if not 0.0 < mass < 1.0:
            raise ParameterError("", "mass", "between 0 and 1 (exclusive)", mass)
        lower, upper = self.quantile(np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0]))
        return lower, upper


@register
@dataclass(frozen=True)
class LinearPosterior:
    """Belief about the coefficients: array members have the shape of `coef_`, (P,) or (targets, P).

    `intercept` and `noise_scale` hold the same members for the intercept and the noise scale (in units of a known one).
    """

    belief: LinearBelief
    result: Result
    names: tuple[str, ...]
    single_target: bool

    @property
    def inference(self) -> str:
        return self.result.inference

    @property
    def marginals(self) -> Marginals:
        """Marginal beliefs about each coefficient."""
        mean, variance = self.belief.coefficients()
        return self._marginals(np.swapaxes(mean, 1, 2), np.swapaxes(variance, 1, 2))

    @property
    def intercept(self) -> Marginals:
        """Marginal belief about the intercept (the expected outcome at x = 0)."""
        return self._marginals(*self.belief.intercept())

    @property
    def noise_scale(self) -> NoiseScaleMarginal:
        """Marginal belief about the noise scale (a point where it is known or plugged in)."""
        weights, variance = self.belief.weights, self.belief.noise_variance
        if self.single_target:
            weights, variance = weights[:, 0], variance[:, 0]
        return NoiseScaleMarginal(weights, variance, self.belief.df)

    def _marginals(self, mean: np.ndarray, variance: np.ndarray) -> Marginals:
        tail = (1,) * (mean.ndim - 2)
        weights = self.belief.weights.reshape(*self.belief.weights.shape, *tail)
        noise = self.belief.noise_variance.reshape(*self.belief.noise_variance.shape, *tail)
        scale = np.sqrt(variance * noise)
        if self.single_target:
            mean, scale, weights = mean[:, 0], scale[:, 0], weights[:, 0]
        return Marginals(weights, mean, scale, self.belief.df)

    @property
    def mean(self) -> np.ndarray:
        average = np.einsum("jt,jpt->tp", self.belief.weights, self.belief.coefficient_mean())
        return average[0] if self.single_target else average

    @property
    def sd(self) -> np.ndarray:
        return self.marginals.sd

    @property
    def covariance(self) -> np.ndarray:
        """(P, P), or (targets, P, P): covariance of the coefficients."""
        targets = self.belief.weights.shape[1]
        matrices = np.stack([self.belief.covariance(t) for t in range(targets)])
        return matrices[0] if self.single_target else matrices

    def quantile(self, q: Any) -> np.ndarray:
        return self.marginals.quantile(q)

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        return self.marginals.interval(mass)

    def sample(self, n: int, rng: Any = None) -> np.ndarray:
        """Joint draws of the coefficients, (n, *shape of coef_)."""
        return self.sample_all(n, rng)["coef"]

    def sample_all(self, n: int, rng: Any = None) -> dict[str, np.ndarray]:
        """Joint draws of "coef", "intercept" and "noise_scale"."""
        rng = as_generator(rng)
        belief, spectrum = self.belief, self.belief.spectrum
        parts = []
        for t in range(belief.weights.shape[1]):
            j = rng.choice(belief.weights.shape[0], size=n, p=belief.weights[:, t])
            variance = belief.noise_variance[j, t]
            if np.isfinite(belief.df):
                variance = variance * belief.df / rng.chisquare(belief.df, size=n)
            sigma = np.sqrt(variance)
            v = belief.location[j, :, t] + sigma[:, None] * np.sqrt(belief.spread[j, :, t]) * rng.standard_normal(
                (n, spectrum.singular.size)
            )
            u = spectrum.expand(v)
            if spectrum.is_thin:
                free = rng.standard_normal((n, spectrum.n_columns))
                free -= spectrum.expand(spectrum.project(free))
                u += (sigma * np.sqrt(belief.outside[j, t]))[:, None] * free
            theta = spectrum.whitening.offset + spectrum.whitening.map(u.T).T
            if belief.intercept_column:
                intercept, coef = theta[:, 0], theta[:, 1:]
            elif belief.has_flat_intercept:
                coef = theta
                level = belief.base[t] + sigma * np.sqrt(belief.base_spread) * rng.standard_normal(n)
                intercept = level - coef @ belief.centre
            else:
                intercept, coef = np.zeros(n), theta
            parts.append((coef, intercept, sigma))
        coef, intercept, sigma = (np.stack(values, axis=1) for values in zip(*parts, strict=True))
        draws = {"coef": coef, "intercept": intercept, "noise_scale": sigma}
        return {name: value[:, 0] for name, value in draws.items()} if self.single_target else draws

    def __getitem__(self, name: str) -> np.ndarray:
        """4,000 draws of "coef", "intercept" or "noise_scale", always the same ones."""
        draws = self.sample_all(N_DRAWS, 0)
        if name not in draws:
            raise ParameterError("LinearPosterior", "name", f"one of {sorted(draws)}", name)
        return draws[name]

    def log_prob(self, theta: Any) -> np.ndarray:
        """Joint log density of coefficients (..., *shape of coef_), summed over targets."""
        theta = np.asarray(theta, dtype=np.float64)
        targets = self.belief.weights.shape[1]
        theta = theta[..., None, :] if self.single_target else theta
        shape = (targets, self.belief.n_features)
        if theta.shape[-2:] != shape:
            raise ParameterError("LinearPosterior.log_prob", "theta", f"of trailing shape {shape}", theta.shape)
        return sum((self._log_prob_target(theta[..., t, :], t) for t in range(targets)), np.zeros(theta.shape[:-2]))

    def _log_prob_target(self, theta: np.ndarray, target: int) -> np.ndarray:
        belief, whitening = self.belief, self.belief.spectrum.whitening
        if belief.intercept_column:
            return self._log_prob_dense(theta, target)
        u = whitening.solve(np.moveaxis(theta, -1, 0) - whitening.offset.reshape(-1, *([1] * (theta.ndim - 1))))
        v = belief.spectrum.project(u.reshape(len(u), -1).T).reshape(*u.shape[1:], -1)
        beyond = np.maximum(np.square(u).sum(axis=0) - np.square(v).sum(axis=-1), 0.0)
        n_free = self.belief.spectrum.n_columns - v.shape[-1]
        terms = []
        for j in range(belief.weights.shape[0]):
            variance = belief.noise_variance[j, target] * belief.spread[j, :, target]
            squared = (np.square(v - belief.location[j, :, target]) / variance).sum(axis=-1)
            log_det = np.log(variance).sum() + 2.0 * whitening.log_determinant
            if n_free:
                free = belief.noise_variance[j, target] * belief.outside[j, target]
                squared, log_det = squared + beyond / free, log_det + n_free * np.log(free)
            terms.append(
                np.log(belief.weights[j, target] + 1e-300)
                + elliptical_log_prob(squared, log_det, theta.shape[-1], belief.df)
            )
        return np.asarray(scipy.special.logsumexp(np.stack(terms), axis=0))

    def _log_prob_dense(self, theta: np.ndarray, target: int) -> np.ndarray:
        """With an intercept column the marginal over the coefficients goes through their dense covariance."""
        belief = self.belief
        mean = belief.coefficient_mean()
        terms = []
        for j, shape in enumerate(belief.shapes(target)):
            lower = np.linalg.cholesky(belief.noise_variance[j, target] * shape)
            z = np.linalg.solve(lower, (theta - mean[j, :, target]).reshape(-1, theta.shape[-1]).T)
            squared = np.square(z).sum(axis=0).reshape(theta.shape[:-1])
            log_det = 2.0 * np.log(np.diag(lower)).sum()
            terms.append(
                np.log(belief.weights[j, target] + 1e-300)
                + elliptical_log_prob(squared, log_det, theta.shape[-1], belief.df)
            )
        return np.asarray(scipy.special.logsumexp(np.stack(terms), axis=0))

    def summary(self, mass: float = 0.9) -> dict[str, dict[str, Any]]:
        """Coefficient name → mean, sd, lower, upper, probability of being positive (single target)."""
        belief = self.marginals
        lower, upper = belief.interval(mass)
        positive = 1.0 - belief.cdf(np.zeros(belief.location.shape[1:]))
        columns = {
            "mean": belief.mean,
            "sd": belief.sd,
            "lower": lower,
            "upper": upper,
            "prob_positive": positive,
        }
        rows = {
            name: {
                column: values[..., i] if values.ndim > 1 else float(values[i]) for column, values in columns.items()
            }
            for i, name in enumerate(self.names)
        }
        if self.belief.has_flat_intercept or self.belief.intercept_column:
            level = self.intercept
            low, high = level.interval(mass)
            values = (level.mean, level.sd, low, high, 1.0 - level.cdf(np.zeros(level.location.shape[1:])))
            row = dict(zip(columns, (np.asarray(v) if np.ndim(v) else float(v) for v in values), strict=True))
            rows = {"intercept": row, **rows}
        return rows

    def to_arviz(self, draws: int = N_DRAWS, rng: Any = 0) -> Any:
        """Draws as an ArviZ tree (one chain); needs the extra `arviz`."""
        try:
            from arviz_base import from_dict  # type: ignore[import-not-found]
        except ImportError:
            from credo.errors import MissingDependencyError

            raise MissingDependencyError("arviz-base", "arviz", "to_arviz") from None
        return from_dict({"posterior": {name: value[None] for name, value in self.sample_all(draws, rng).items()}})


def elliptical_log_prob(squared: np.ndarray, log_det: float, dimension: int, df: float) -> np.ndarray:
    """Log density of a multivariate Normal (df = ∞) or Student-t from its squared Mahalanobis distance."""
    if np.isinf(df):
        return -0.5 * (squared + log_det + dimension * np.log(2.0 * np.pi))
    half = 0.5 * (df + dimension)
    constant = scipy.special.gammaln(half) - scipy.special.gammaln(0.5 * df) - 0.5 * dimension * np.log(df * np.pi)
    return constant - 0.5 * log_det - half * np.log1p(squared / df)
