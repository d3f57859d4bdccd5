"""`GlmPosterior`: the posterior of a generalised linear model's coefficients, as the Posterior record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from credo.distributions.likelihoods import Likelihood
from credo.errors import MissingDependencyError, ParameterError, UnavailableError
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["GlmPosterior"]

N_DRAWS = 4000


@register
@dataclass(frozen=True, eq=False)
class GlmPosterior:
    """Belief about the coefficients: array members have the shape of `coef_`, (k, P).

    draws : weighted points of (intercept, coefficients) a predictor, then of the rest, in raw units; None for a point
        estimate
    mode : (k, P + intercept)
    intercept_mean, intercept_sd : of the k intercepts
    log_evidence : log p(y | X), None where a prior is improper or nothing was integrated
    likelihood : names what else is unknown (dispersion, shape, cut-points), by `auxiliary_values`
    rest : mode of what follows the first predictor's weights: those of a further one, and auxiliary parameters on the
        real line
    """

    draws: WeightedDraws | None
    mode: np.ndarray
    has_intercept: bool
    names: tuple[str, ...]
    result: Result
    log_evidence: float | None = None
    likelihood: Likelihood | None = None
    rest: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def inference(self) -> str:
        return self.result.inference

    @property
    def at_mode(self) -> np.ndarray:
        """(k, P + intercept) levels and coefficients at the mode."""
        return self.mode

    def _require(self, what: str) -> WeightedDraws:
        if self.draws is None:
            raise UnavailableError(
                f"A MAP estimate is a point: it has no {what}.", remedy="Fit with inference='laplace'."
            )
        return self.draws

    def _coefficients(self, flat: np.ndarray) -> np.ndarray:
        """(..., K) → (..., k, P), the shape of coef_ for k ≥ 2 and (..., 1, P) for one predictor."""
        shaped = flat[..., : self.mode.size].reshape(*flat.shape[:-1], *self.mode.shape)
        return shaped[..., int(self.has_intercept) :]

    def _intercepts(self, flat: np.ndarray) -> np.ndarray:
        shaped = flat[..., : self.mode.size].reshape(*flat.shape[:-1], *self.mode.shape)
        return shaped[..., 0] if self.has_intercept else np.zeros(shaped.shape[:-1])

    def support(self, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Points (S, K) that stand for the posterior (about n, if given), and their weights; or the mode alone."""
        if self.draws is None:
            return self.flat_mode[None], np.ones(1)
        return (self.draws.points, self.draws.weights) if n is None else self.draws.thinned(n)

    def auxiliary(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        """Natural name → value of the likelihood's unknowns in flat vectors (..., K)."""
        if self.likelihood is None or not self.likelihood.auxiliary:
            return {}
        return self.likelihood.auxiliary_values(flat[..., -len(self.likelihood.auxiliary) :])

    @property
    def flat_mode(self) -> np.ndarray:
        """(K,) everything at the mode."""
        return np.concatenate([self.mode.ravel(), self.rest])

    def auxiliary_mean(self) -> dict[str, np.ndarray]:
        """Natural name → posterior mean, or the value at the mode of a point estimate."""
        if self.draws is None:
            return self.auxiliary(self.flat_mode)
        return {
            name: np.tensordot(self.draws.weights, value, axes=1)
            for name, value in self.auxiliary(self.draws.points).items()
        }

    def auxiliary_median(self) -> dict[str, np.ndarray]:
        """Natural name → posterior median, or the value at the mode of a point estimate."""
        if self.draws is None:
            return self.auxiliary(self.flat_mode)
        values = self.auxiliary(self.draws.points)
        return {name: replace(self.draws, points=value[:, None]).quantile(0.5)[0] for name, value in values.items()}

    @property
    def mean(self) -> np.ndarray:
        return self._coefficients(self.flat_mode if self.draws is None else self.draws.mean)

    @property
    def sd(self) -> np.ndarray:
        return self._coefficients(np.sqrt(np.diag(self._require("sd").covariance)))

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the flat (intercept, coefficients) of every predictor."""
        return self._require("covariance").covariance

    @property
    def intercept_mean(self) -> np.ndarray:
        return self._intercepts(self.flat_mode if self.draws is None else self.draws.mean)

    @property
    def intercept_sd(self) -> np.ndarray:
        return self._intercepts(np.sqrt(np.diag(self._require("sd").covariance)))

    def quantile(self, q: Any) -> np.ndarray:
        return self._coefficients(self._require("quantiles").quantile(q))

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        if not 0.0 < mass < 1.0:
            raise ParameterError("GlmPosterior", "mass", "between 0 and 1 (exclusive)", mass)
        lower, upper = self.quantile(np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0]))
        return lower, upper

    def sample(self, n: int, rng: Any = None) -> np.ndarray:
        """Draws of the coefficients, (n, *shape of coef_)."""
        return self._coefficients(self._require("draws").sample(n, as_generator(rng)))

    def __getitem__(self, name: str) -> np.ndarray:
        """4,000 draws of "coef", "intercept" or an auxiliary parameter, always the same ones."""
        draws = self._named(self._require("draws").sample(N_DRAWS, 0))
        if name not in draws:
            raise ParameterError("GlmPosterior", "name", f"one of {', '.join(map(repr, draws))}", name)
        return draws[name]

    def _named(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        return {"coef": self._coefficients(flat), "intercept": self._intercepts(flat), **self.auxiliary(flat)}

    def log_prob(self, theta: Any) -> np.ndarray:
        """Log density at coefficients (..., *shape of coef_), of the Normal with the posterior's moments."""
        draws = self._require("density")
        keep = self._coefficients(np.arange(self.mode.size)).ravel().astype(int)
        from credo.distributions.multivariate_normal import MultivariateNormal

        family = MultivariateNormal(draws.mean[keep], draws.covariance[np.ix_(keep, keep)])
        theta = np.asarray(theta, dtype=np.float64)
        return family.log_prob(
            theta.reshape(*theta.shape[: theta.ndim - 2 if theta.shape[-2:] == self.mean.shape else -1], -1)
        )

    def summary(self, mass: float = 0.9) -> dict[str, dict[str, Any]]:
        """Name → mean, sd, lower, upper, probability of being positive; arrays over predictors or cut-points."""
        draws = self._require("summary")
        names = (["intercept"] if self.has_intercept else []) + list(self.names)
        columns = draws.points[:, : self.mode.size].reshape(-1, *self.mode.shape)
        parts = {name: columns[..., i] for i, name in enumerate(names)}
        parts |= {name: value.reshape(len(value), -1) for name, value in self.auxiliary(draws.points).items()}
        table = {name: _marginals(draws, value, mass) for name, value in parts.items()}
        for name in () if self.likelihood is None else self.likelihood.without_mean:
            table[name] |= {"mean": np.inf, "sd": np.inf}
        return table

    def to_arviz(self, draws: int = N_DRAWS, rng: Any = 0) -> Any:
        """Draws as an ArviZ tree (one chain); needs the extra `arviz`."""
        try:
            from arviz_base import from_dict  # type: ignore[import-not-found]
        except ImportError:
            raise MissingDependencyError("arviz-base", "arviz", "to_arviz") from None
        flat = self._require("draws").sample(draws, as_generator(rng))
        return from_dict({"posterior": {name: value[None] for name, value in self._named(flat).items()}})


def _marginals(draws: WeightedDraws, points: np.ndarray, mass: float) -> dict[str, Any]:
    """The columns of a summary for points (S, d), arrays (d,) or numbers where d = 1."""
    ends = np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0])
    lower, upper = replace(draws, points=points).quantile(ends)
    mean = draws.weights @ points
    found = {
        "mean": mean,
        "sd": np.sqrt(draws.weights @ np.square(points - mean)),
        "lower": lower,
        "upper": upper,
        "prob_positive": draws.weights @ (points > 0.0),
    }
    return {key: float(value[0]) if value.size == 1 else value for key, value in found.items()}
