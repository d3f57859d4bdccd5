"""`DrawsPredictive`: draws of outcomes from the posterior predictive, and their laws given the parameters."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from credo.distributions.scalar import ScalarFamily
from credo.errors import ParameterError, UnavailableError
from credo.numerics.random import as_generator
from credo.prediction.predictive import Predictive

__all__ = ["DrawsPredictive"]


@dataclass(frozen=True, eq=False, repr=False)
class DrawsPredictive(Predictive):
    """Posterior predictive draws, equally weighted (resample weighted ones first).

    With `conditional`, the law of y given each posterior draw, moments, cdf and log_prob average the
    conditional ones exactly (Rao-Blackwell) and the variance splits; without it they come from the draws
    alone, and `log_prob`, `aleatoric` and `epistemic` raise `UnavailableError`. Quantiles always interpolate
    the draws.

    Parameters
    ----------
    draws : (S, *shape), one outcome per posterior draw and row
    conditional : a scalar `Family` whose parameters broadcast to (S, *shape), p(y | θ_s, x_i); or None
    kind : "real" or "count"
    inference : the rung that made the draws

    Examples
    --------
    >>> import credo as cr
    >>> slopes = np.array([[1.0], [3.0]])
    >>> p = DrawsPredictive.from_conditional(cr.Normal(slopes * np.array([1.0, 2.0]), 1.0), rng=0)
    >>> p.mean.tolist(), p.aleatoric.tolist(), p.epistemic.tolist()
    ([2.0, 4.0], [1.0, 1.0], [1.0, 4.0])
    """

    draws: np.ndarray
    conditional: ScalarFamily | None = None
    kind: str = "real"
    inference: str = "draws"

    def __post_init__(self) -> None:
        draws = np.asarray(self.draws, dtype=np.float64)
        if draws.ndim < 2 or draws.shape[0] == 0 or not np.all(np.isfinite(draws)):
            raise ParameterError("DrawsPredictive", "draws", "finite, (draws, rows), at least one draw", self.draws)
        if self.conditional is not None:
            batch = self.conditional.batch_shape
            if len(batch) > draws.ndim or any(b not in (1, d) for b, d in zip(batch[::-1], draws.shape[::-1])):
                raise ParameterError("DrawsPredictive", "conditional", f"a family of batch shape {draws.shape}", batch)
        if self.kind not in ("real", "count"):
            raise ParameterError("DrawsPredictive", "kind", "'real' or 'count'", self.kind)
        object.__setattr__(self, "draws", draws)

    @classmethod
    def from_conditional(cls, conditional: ScalarFamily, rng: Any = None, inference: str = "draws") -> Self:
        """Draw one outcome from each member of a family of batch shape (S, *shape)."""
        kind = "count" if conditional.support.is_discrete else "real"
        return cls(conditional.sample(None, as_generator(rng)), conditional, kind, inference)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.draws.shape[1:]

    @property
    def mean(self) -> np.ndarray:
        return (
            self.draws.mean(axis=0) if self.conditional is None else self._each(self._known("mean").mean).mean(axis=0)
        )

    @property
    def variance(self) -> np.ndarray:
        return self.draws.var(axis=0) if self.conditional is None else self.aleatoric + self.epistemic

    @property
    def aleatoric(self) -> np.ndarray:
        """E[Var(y | θ)], the mean of the conditional variances."""
        return self._each(self._known("aleatoric").variance).mean(axis=0)

    @property
    def epistemic(self) -> np.ndarray:
        """Var(E[y | θ]), the variance of the conditional means."""
        return self._each(self._known("epistemic").mean).var(axis=0)

    def cdf(self, y: Any) -> np.ndarray:
        y = self._against_draws(y)
        each = self.draws <= y if self.conditional is None else self._known("cdf").cdf(y)
        return np.mean(each, axis=-self.draws.ndim)

    def quantile(self, q: Any) -> np.ndarray:
        """Interpolated order statistics of the draws; Monte Carlo error √(q(1 − q)/S) in probability."""
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0) & (q <= 1)):
            raise ParameterError("DrawsPredictive", "q", "between 0 and 1", q)
        return np.quantile(self.draws, q, axis=0, method="inverted_cdf" if self.kind == "count" else "linear")

    def log_prob(self, y: Any) -> np.ndarray:
        """log (1/S) Σ_s p(y | θ_s)."""
        each = self._known("log_prob").log_prob(self._against_draws(y))
        return logsumexp(each, axis=-self.draws.ndim) - np.log(len(self.draws))

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        picked = rng.integers(len(self.draws), size=n)
        if self.conditional is None:
            return self.draws[picked]
        return self._take(picked)._draw((), rng)

    def __getitem__(self, rows: Any) -> DrawsPredictive:
        rows = np.atleast_1d(rows) if isinstance(rows, (int, np.integer)) else rows
        conditional = None if self.conditional is None else self._take((slice(None), rows))
        return DrawsPredictive(self.draws[:, rows], conditional, self.kind, self.inference)

    def _each(self, value: Any) -> np.ndarray:
        return np.broadcast_to(value, self.draws.shape)

    def _against_draws(self, y: Any) -> np.ndarray:
        """y broadcast to (..., *shape), with an axis of length 1 where the draws are."""
        y = np.asarray(y, dtype=np.float64)
        y = np.broadcast_to(y, np.broadcast_shapes(y.shape, self.shape))
        return np.expand_dims(y, y.ndim - len(self.shape))

    def _take(self, index: Any) -> Any:
        family = self._known("conditional")
        taken = {name: self._each(v)[index] for name, v in family.parameters.items() if v is not None}
        return dataclasses.replace(family, **taken)

    def _known(self, what: str) -> Any:
        if self.conditional is None:
            raise UnavailableError(
                f"Draws of outcomes alone do not determine {what}.",
                remedy="Give `conditional`, the family of y given each posterior draw; or score with "
                "cr.diagnostics.crps, which needs draws only.",
            )
        return self.conditional
