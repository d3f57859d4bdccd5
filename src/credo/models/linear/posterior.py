"""The posteriors of a linear model that is not exact: draws, and a mode. Same members as `LinearPosterior`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.inference.draws import Draws
from credo.inference.exact.posterior import LinearPosterior
from credo.inference.result import Result
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["DrawnMarginals", "LinearDraws", "LinearFit", "LinearMode"]


@dataclass(frozen=True)
class DrawnMarginals:
    """Beliefs about numbers seen through draws (S, …): `mean`, `sd`, `quantile`, `interval`, `cdf`, elementwise."""

    draws: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return self.draws.mean(axis=0)

    @property
    def variance(self) -> np.ndarray:
        return self.draws.var(axis=0, ddof=1)

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(self.variance)

    def cdf(self, x: Any) -> np.ndarray:
        return np.mean(self.draws <= np.asarray(x), axis=0)

    def quantile(self, q: Any) -> np.ndarray:
        if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
            raise ParameterError("LinearDraws", "q", "between 0 and 1", q)
        return np.quantile(self.draws, q, axis=0)

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        if not 0.0 < mass < 1.0:
            raise ParameterError("LinearDraws", "mass", "between 0 and 1 (exclusive)", mass)
        lower, upper = self.quantile([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0])
        return lower, upper


@register
@dataclass(frozen=True, eq=False)
class LinearDraws:
    """Belief about a linear model through chains: array members have the shape of `coef_`, (P,) or (targets, P).

    chains : `Draws` of "coef", and "intercept", "noise_scale", "prior_scale", "df" where they are unknown; for a
        log-linear scale "noise_coef" and "noise_intercept", log scale = noise_intercept + noise_coef·x
    known : name → value (per target) of what is known instead: a stated noise scale, no intercept
    """

    chains: Draws
    names: tuple[str, ...]
    single_target: bool
    known: Mapping[str, Any]

    @property
    def result(self) -> Result:
        return self.chains.result

    @property
    def inference(self) -> str:
        return self.chains.inference

    @property
    def marginals(self) -> DrawnMarginals:
        """Marginal beliefs about each coefficient."""
        return DrawnMarginals(self["coef"])

    @property
    def intercept(self) -> DrawnMarginals:
        """Marginal belief about the intercept (the expected outcome at x = 0)."""
        return DrawnMarginals(self["intercept"])

    @property
    def noise_scale(self) -> DrawnMarginals:
        """Belief about the noise scale."""
        return DrawnMarginals(self["noise_scale"])

    @property
    def mean(self) -> np.ndarray:
        return self.marginals.mean

    @property
    def sd(self) -> np.ndarray:
        return self.marginals.sd

    @property
    def covariance(self) -> np.ndarray:
        """(P, P), or (targets, P, P): covariance of the coefficients."""
        draws = self["coef"] - self.mean
        return np.einsum("s...i,s...j->...ij", draws, draws) / (len(draws) - 1)

    def quantile(self, q: Any) -> np.ndarray:
        return self.marginals.quantile(q)

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        return self.marginals.interval(mass)

    def __getitem__(self, name: str) -> np.ndarray:
        """Draws of "coef", "intercept", "noise_scale", … with chains merged."""
        if name in self.known and name not in self.chains:
            value = np.asarray(self.known[name], dtype=np.float64)
            return np.broadcast_to(value, (len(self.chains), *value.shape))
        if name not in self.chains:
            raise ParameterError("LinearDraws", "name", f"one of {sorted({*self.chains, *self.known})}", name)
        return self.chains[name]

    def sample(self, n: int, rng: Any = None) -> np.ndarray:
        """Joint draws of the coefficients, (n, *shape of coef_)."""
        return self.sample_all(n, rng)["coef"]

    def sample_all(self, n: int, rng: Any = None) -> dict[str, np.ndarray]:
        """The same n draws of everything: without replacement while there are enough."""
        total = len(self.chains)
        at = as_generator(rng).choice(total, size=n, replace=n > total)
        return {name: self[name][at] for name in dict.fromkeys((*self.chains, *self.known))}

    def log_prob(self, theta: Any) -> NoReturn:
        """Raises `UnavailableError`: latent variances have been averaged over by sampling."""
        raise UnavailableError(
            "The density of the coefficients is known through draws only.",
            remedy="Use posterior_['coef'], or an inference that integrates exactly.",
        )

    def summary(self, mass: float = 0.9) -> dict[str, dict[str, Any]]:
        """Coefficient name → mean, sd, lower, upper, probability of being positive."""
        coefficients = self["coef"]
        rows = {"intercept": self["intercept"]} if "intercept" in self.chains else {}
        rows |= {name: coefficients[..., i] for i, name in enumerate(self.names)}
        return {name: _row(DrawnMarginals(draws), mass) for name, draws in rows.items()}

    def to_arviz(self) -> Any:
        """The chains as an ArviZ tree; needs the extra `arviz`."""
        return self.chains.to_arviz()


def _row(belief: DrawnMarginals, mass: float) -> dict[str, Any]:
    lower, upper = belief.interval(mass)
    values = (belief.mean, belief.sd, lower, upper, 1.0 - belief.cdf(0.0))
    names = ("mean", "sd", "lower", "upper", "prob_positive")
    return {name: value if np.ndim(value) else float(value) for name, value in zip(names, values, strict=True)}


@register
@dataclass(frozen=True, eq=False)
class LinearMode:
    """The most probable coefficients: a point, so everything but `mean` raises `UnavailableError`.

    coef (P,) or (targets, P) and `level`, the intercept, at the mode
    """

    coef: np.ndarray
    level: Any
    result: Result
    names: tuple[str, ...]
    single_target: bool

    @property
    def inference(self) -> str:
        return self.result.inference

    @property
    def mean(self) -> np.ndarray:
        """The mode."""
        return self.coef

    def __getitem__(self, name: str) -> NoReturn:
        self._refuse("draws")

    @property
    def sd(self) -> NoReturn:
        self._refuse("sd")

    @property
    def covariance(self) -> NoReturn:
        self._refuse("covariance")

    @property
    def intercept(self) -> NoReturn:
        self._refuse("belief about the intercept")

    def quantile(self, q: Any) -> NoReturn:
        self._refuse("quantiles")

    def interval(self, mass: float = 0.9) -> NoReturn:
        self._refuse("interval")

    def sample(self, n: int, rng: Any = None) -> NoReturn:
        self._refuse("draws")

    def log_prob(self, theta: Any) -> NoReturn:
        self._refuse("density")

    def summary(self, mass: float = 0.9) -> NoReturn:
        self._refuse("summary")

    def to_arviz(self) -> NoReturn:
        self._refuse("draws")

    def _refuse(self, what: str) -> NoReturn:
        raise UnavailableError(
            f"A MAP estimate is a point: it has no {what}.",
            remedy="Fit with inference='auto', which integrates over the coefficients.",
        )


@dataclass(frozen=True)
class LinearFit:
    """A posterior, and the learned prior scales (or ARD's sds) where there are any, (targets,) or (targets, P)."""

    posterior: LinearPosterior | LinearDraws | LinearMode
    prior_scale: np.ndarray | None = None
