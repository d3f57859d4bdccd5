"""`GlmPosterior`: the posterior of a generalised linear model's coefficients, as the Posterior record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["GlmPosterior"]

N_DRAWS = 4000


@register
@dataclass(frozen=True, eq=False)
class GlmPosterior:
    """Belief about the coefficients: array members have the shape of `coef_`, (P,) or (k, P).

    draws : weighted points of (intercept, coefficients) a predictor, in raw units; None for a point estimate
    mode : (k, P + intercept)
    intercept_mean, intercept_sd : of the k intercepts
    log_evidence : log p(y | X), None where a prior is improper or nothing was integrated
    """

    draws: WeightedDraws | None
    mode: np.ndarray
    has_intercept: bool
    names: tuple[str, ...]
    result: Result
    log_evidence: float | None = None

    @property
    def inference(self) -> str:
        return self.result.inference

    def _require(self, what: str) -> WeightedDraws:
        if self.draws is None:
            raise UnavailableError(
                f"A MAP estimate is a point: it has no {what}.", remedy="Fit with inference='laplace'."
            )
        return self.draws

    def _coefficients(self, flat: np.ndarray) -> np.ndarray:
        """(..., k(P + 1)) → (..., k, P), the shape of coef_ for k ≥ 2 and (..., 1, P) for one predictor."""
        shaped = flat.reshape(*flat.shape[:-1], *self.mode.shape)
        return shaped[..., int(self.has_intercept) :]

    def _intercepts(self, flat: np.ndarray) -> np.ndarray:
        shaped = flat.reshape(*flat.shape[:-1], *self.mode.shape)
        return shaped[..., 0] if self.has_intercept else np.zeros(shaped.shape[:-1])

    @property
    def mean(self) -> np.ndarray:
        return self._coefficients(self.mode.ravel() if self.draws is None else self.draws.mean)

    @property
    def sd(self) -> np.ndarray:
        return self._coefficients(np.sqrt(np.diag(self._require("sd").covariance)))

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the flat (intercept, coefficients) of every predictor."""
        return self._require("covariance").covariance

    @property
    def intercept_mean(self) -> np.ndarray:
        return self._intercepts(self.mode.ravel() if self.draws is None else self.draws.mean)

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
        """4,000 draws of "coef" or "intercept", always the same ones."""
        flat = self._require("draws").sample(N_DRAWS, 0)
        if name == "coef":
            return self._coefficients(flat)
        if name == "intercept":
            return self._intercepts(flat)
        raise ParameterError("GlmPosterior", "name", "'coef' or 'intercept'", name)

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
        """Coefficient name → mean, sd, lower, upper, probability of being positive; arrays over k predictors."""
        draws = self._require("summary")
        lower, upper = draws.quantile(np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0]))
        flat = {
            "mean": draws.mean,
            "sd": np.sqrt(np.diag(draws.covariance)),
            "lower": lower,
            "upper": upper,
            "prob_positive": draws.probability_positive(),
        }
        names = (["intercept"] if self.has_intercept else []) + list(self.names)
        table: dict[str, dict[str, Any]] = {}
        for i, name in enumerate(names):
            columns = {key: value.reshape(self.mode.shape)[:, i] for key, value in flat.items()}
            table[name] = {k: float(v[0]) if v.size == 1 else v for k, v in columns.items()}
        return table

    def to_arviz(self, draws: int = N_DRAWS, rng: Any = 0) -> Any:
        """Draws as an ArviZ tree (one chain); needs the extra `arviz`."""
        try:
            from arviz_base import from_dict  # type: ignore[import-not-found]
        except ImportError:
            from credo.errors import MissingDependencyError

            raise MissingDependencyError("arviz-base", "arviz", "to_arviz") from None
        flat = self._require("draws").sample(draws, as_generator(rng))
        return from_dict(
            {"posterior": {"coef": self._coefficients(flat)[None], "intercept": self._intercepts(flat)[None]}}
        )
