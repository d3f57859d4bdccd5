"""`VariationalPosterior`: q as a posterior, through its draws, and exactly where it is Normal in the user's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from credo.inference.draws import ImportanceDraws
from credo.inference.result import Result
from credo.inference.target import Target
from credo.inference.transforms import Bijection
from credo.inference.variational.certificate import Certificate
from credo.inference.variational.gaussian import NormalMap
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["VariationalPosterior"]


@register
@dataclass(frozen=True, eq=False)
class VariationalPosterior(ImportanceDraws):
    """Equally weighted draws of q, with what is known of it in closed form; `corrected()` weighs them.

    free_mean, free_covariance : (k,), (k, k) of the Normal on the transformed line
    elbo, elbo_error : lower bound on the log evidence (of a normalised target), and its standard error
    log_weights : (draws,) Pareto-smoothed log p/q, normalised
    log_evidence : by importance sampling; ≥ elbo up to sampling error
    normal : name → (mean, variance) of variables on the whole real line, where q's own are exact
    """

    family: str = ""
    elbo: float = float("nan")
    elbo_error: float = float("nan")
    free_mean: np.ndarray = field(default_factory=lambda: np.empty(0))
    free_covariance: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    log_weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    normal: Mapping[str, np.ndarray] = field(default_factory=dict)
    draw: Callable[[int, np.random.Generator], Mapping[str, np.ndarray]] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, target: Target, bijection: Bijection, family: NormalMap, parameters: np.ndarray,
        certificate: Certificate, result: Result, name: str,
    ) -> VariationalPosterior:  # fmt: skip
        """From a finished ascent."""
        mean, covariance = family.moments(parameters)
        variance = np.diag(covariance)
        normal, at = {}, 0
        for each, part in zip(target.shapes, bijection.parts):
            mine = slice(at, at := at + part.free)
            if part.free == part.size and not np.any(np.isfinite(_bounds(target, each))):
                shape = tuple(target.shapes[each])
                normal[each] = np.stack([mean[mine].reshape(shape), variance[mine].reshape(shape)])
        n = len(certificate.draws)

        def draw(n: int, rng: np.random.Generator) -> Mapping[str, np.ndarray]:
            return target.split(bijection.forward(family.draw(parameters, rng.standard_normal((n, family.n_noise)))))

        return cls(
            values=target.split(bijection.forward(certificate.draws)),
            weights=np.full(n, 1.0 / n),
            result=result,
            log_evidence=certificate.log_evidence,
            dims=target.dims,
            density=lambda x: target.evaluate_rows(x.reshape(-1, target.dim))[0].reshape(x.shape[:-1]),
            family=name,
            elbo=certificate.elbo,
            elbo_error=certificate.elbo_error,
            free_mean=mean,
            free_covariance=covariance,
            log_weights=certificate.log_weights,
            normal=normal,
            draw=draw,
        )

    def corrected(self) -> ImportanceDraws:
        """The same draws weighted by p/q: nearer to the posterior while k̂ < 0.7, and no use beyond."""
        return ImportanceDraws(
            self.values, np.exp(self.log_weights), self.result, self.log_evidence, self.dims, self.density
        )

    def __getitem__(self, name: str) -> np.ndarray:
        """The kept draws (draws, *shape), all of equal weight."""
        super().__getitem__(name)
        return self.values[name]

    def _moment(self, which: int, of_draws: Any) -> Any:
        found = {
            name: self.normal[name][which][()] if name in self.normal else of_draws(value)
            for name, value in self.values.items()
        }
        return found if len(found) > 1 else next(iter(found.values()))

    @property
    def mean(self) -> Any:
        return self._moment(0, lambda x: x.mean(axis=0))

    @property
    def variance(self) -> Any:
        return self._moment(1, lambda x: x.var(axis=0))

    @property
    def sd(self) -> Any:
        variance = self.variance
        return {n: np.sqrt(v) for n, v in variance.items()} if isinstance(variance, dict) else np.sqrt(variance)

    def sample(self, n: int, rng: Any = None) -> Any:
        """n fresh draws of q (n, *shape); after loading from a file, of the kept ones."""
        if self.draw is None:
            return super().sample(n, rng)
        found = self.draw(int(n), as_generator(rng))
        return dict(found) if len(found) > 1 else next(iter(found.values()))

    def state(self) -> dict[str, Any]:
        state = super().state()
        state.pop("draw")
        return {**state, "normal": dict(self.normal)}

    @classmethod
    def from_state(cls, state: dict[str, Any], version: int) -> Self:
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in state.items() if k in known and k != "result"}, result=Result(**state["result"]))


def _bounds(target: Target, name: str) -> np.ndarray:
    support = target.support(name)
    return np.array([np.min(support.low), np.max(support.high)]) if support.kind == "real" else np.zeros(2)
