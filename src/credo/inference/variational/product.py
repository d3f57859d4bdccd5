"""`ProductPosterior`: independent named members of `credo.distributions`, what mean field believes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.errors import ConvergenceWarning, ParameterError, warn
from credo.inference.result import Result
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["ProductPosterior"]

#: draws behind `posterior["name"]`: an error of the mean of 1/63 sd
KEPT = 4000


@register
@dataclass(frozen=True, eq=False)
class ProductPosterior:
    """q(z) = Π_k q_k(z_k), each q_k of a scalar family. Satisfies `Posterior`; members are dicts by name.

    factors : name → distribution
    elbo : lower bound on the log evidence

    >>> from credo.distributions import Gamma, Normal
    >>> q = ProductPosterior({"mean": Normal(1.0, 0.5), "precision": Gamma(shape=4.0, rate=2.0)},
    ...                      Result("converged", "mean_field"), -3.0)
    >>> q.mean, q.sd
    ({'mean': 1.0, 'precision': 2.0}, {'mean': 0.5, 'precision': 1.0})
    """

    factors: Mapping[str, Any]
    result: Result
    elbo: float

    @property
    def inference(self) -> str:
        return self.result.inference

    def _each(self, ask: Callable[[Any], Any]) -> dict[str, Any]:
        return {name: _plain(ask(factor)) for name, factor in self.factors.items()}

    @property
    def mean(self) -> dict[str, Any]:
        return self._each(lambda q: q.mean)

    @property
    def variance(self) -> dict[str, Any]:
        return self._each(lambda q: q.variance)

    @property
    def sd(self) -> dict[str, Any]:
        return self._each(lambda q: q.sd)

    def quantile(self, q: Any) -> dict[str, Any]:
        """Marginal quantiles by name; a vector q leads the shape."""
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0.0) & (q <= 1.0)):
            raise ParameterError("ProductPosterior", "q", "between 0 and 1", q)
        return self._each(lambda each: each.quantile(q.reshape(q.shape + (1,) * np.ndim(each.mean))))

    def interval(self, mass: float = 0.9) -> Any:
        """Central intervals (lower, upper) that hold `mass`, by name."""
        return self._each(lambda q: q.interval(mass))

    def sample(self, n: int, rng: Any = None) -> dict[str, np.ndarray]:
        """n joint draws by name, (n, *shape)."""
        rng = as_generator(rng)
        return {name: np.asarray(q.sample(n, rng)) for name, q in self.factors.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        """4,000 draws, always the same ones, (4000, *shape)."""
        if name not in self.factors:
            raise ParameterError("ProductPosterior", "name", f"one of {', '.join(self.factors)}", name)
        return self.sample(KEPT, 0)[name]

    def log_prob(self, theta: Mapping[str, Any]) -> Any:
        """log q at values by name, each (..., *shape): normalised."""
        total: Any = 0.0
        for name, q in self.factors.items():
            if name not in theta:
                raise ParameterError("ProductPosterior", "theta", f"with {', '.join(self.factors)}", theta)
            axes = tuple(range(-np.ndim(q.mean), 0))
            total = total + np.sum(q.log_prob(np.asarray(theta[name], dtype=np.float64)), axis=axes)
        return total

    def certified(
        self, log_joint: Callable[[Mapping[str, np.ndarray]], Any], rng: Any = None, draws: int = 50_000
    ) -> ProductPosterior:
        """The same with a certificate: draws of q weighed by p/q, as `stochastic_vi` does.

        log_joint : values by name, each (draws, *shape) → log p(x, z) (draws,)

        `result.certificate` gains `pareto_k`, `divergence` (KL(q ‖ p) in nats, from the weights) and `elbo_error`. With
        k̂ ≥ 0.7 the status is "not_certified", with a `ConvergenceWarning`. Raises `DataError` for values that are NaN.
        """
        if draws < 100:
            raise ParameterError("ProductPosterior.certified", "draws", "≥ 100", draws)
        values = self.sample(draws, rng)
        ratio = np.asarray(log_joint(values), dtype=np.float64) - self.log_prob(values)
        k_hat = float(psis(ratio).k_hat)
        found = {
            "pareto_k": k_hat,
            "divergence": float(np.asarray(logsumexp(ratio))) - math.log(draws) - float(np.mean(ratio)),
            "elbo_error": float(np.std(ratio, ddof=1)) / math.sqrt(draws),
        }
        advice, status = self.result.advice, self.result.status
        if k_hat >= K_RELIABLE:
            said = (
                f"Pareto k̂ is {k_hat:.2f} (≥ {K_RELIABLE}): the factors miss part of the posterior. Put variables that "
                'depend on each other into one factor, or use stochastic_vi(family="full_rank") or NUTS.'
            )
            advice, status = (*advice, said), "not_certified"
            warn(f"{self.inference}: {said}", ConvergenceWarning)
        certificate = {**self.result.certificate, **found}
        return replace(self, result=replace(self.result, status=status, certificate=certificate, advice=advice))

    def summary(self, mass: float = 0.9) -> dict[str, dict[str, Any]]:
        """name → mean, sd, lower, upper, prob_positive."""
        rows = {}
        for name, q in self.factors.items():
            lower, upper = q.interval(mass)
            positive = 1.0 - np.asarray(q.cdf(0.0))
            rows[name] = {
                "mean": _plain(q.mean), "sd": _plain(q.sd), "lower": _plain(lower), "upper": _plain(upper),
                "prob_positive": _plain(positive),
            }  # fmt: skip
        return rows


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    return float(value) if np.ndim(value) == 0 else value
