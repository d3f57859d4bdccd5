"""Multinomial: log p(x) = log n! + Σ (x_j log p_j − log x_j!), for counts x that sum to n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.special

from credo.distributions.base import Constraint, Family, is_concrete
from credo.distributions.fitting import is_flat
from credo.distributions.positive_definite import values, vectors
from credo.distributions.scalar import COUNT, PROBABILITY_VECTOR
from credo.distributions.stirling import log_binomial, log_poisson, log_poisson_mode
from credo.distributions.support import COUNTS, Support
from credo.errors import DataError, ParameterError
from credo.numerics.namespace import namespace

__all__ = ["Multinomial", "count_rows", "on_lattice"]


def on_lattice(xp: Any, x: Any, n: Any) -> Any:
    """Whether rows x (..., k) are counts ≥ 0 that sum to n."""
    whole = xp.all((x >= 0) & (xp.floor(x) == x), -1)
    return whole & (xp.sum(x, -1) == n)


def count_rows(owner: str, x: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Checked rows of counts (rows, k), weights (rows,), and their common total n (DataError if they differ)."""
    x, w = vectors(owner, x, weights)
    totals = x.sum(axis=1)
    bad = np.flatnonzero(np.any((x < 0) | (np.floor(x) != x), axis=1))
    if bad.size:
        raise DataError(f"{owner}: row {bad[0]} is not made of counts ({bad.size} such rows).",
                        rows=bad[:20].tolist(), value=x[bad[0]])  # fmt: skip
    bad = np.flatnonzero(totals != totals[0])
    if bad.size:
        raise DataError(
            f"{owner}: row {bad[0]} sums to {totals[bad[0]]:g}, row 0 to {totals[0]:g}; one n serves every row.",
            rows=bad[:20].tolist(),
            value=totals[bad[0]],
            remedy="ConjugateModel(Dirichlet(...), Multinomial) takes rows of different totals.",
        )
    return x, w, totals[0]


@dataclass(frozen=True, eq=False)
class Multinomial(Family):
    """Counts of k categories in `n` independent trials with probabilities `p` (..., k).

    `mean`, `variance` are those of the coordinates; leading axes of p (and n) are a batch.

    Examples
    --------
    >>> p = Multinomial(10, [0.2, 0.3, 0.5])
    >>> p.mean.tolist(), p.mode.tolist()
    ([2.0, 3.0, 5.0], [2.0, 3.0, 5.0])
    >>> p.prob([2, 3, 5]).round(5).item()
    0.08505

    References
    ----------
    Johnson, Kotz and Balakrishnan (1997), Discrete Multivariate Distributions, ch. 35.
    """

    n: Any
    p: Any

    domain: ClassVar[dict[str, Constraint]] = {"n": COUNT, "p": PROBABILITY_VECTOR}
    event_ndim: ClassVar[int] = 1

    @property
    def support(self) -> Support:
        return COUNTS

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(np.shape(self.n), np.shape(self.p)[:-1])

    def _trials(self) -> Any:
        """n with an axis for the categories."""
        return np.asarray(self.n)[..., None] if is_concrete(self.n) else self.n[..., None]

    @property
    def mean(self) -> Any:
        return self._trials() * self.p

    @property
    def variance(self) -> Any:
        """n p (1 − p)."""
        return self.mean * (1.0 - np.asarray(self.p))

    @property
    def covariance(self) -> Any:
        """n (diag p − p pᵀ), shape (..., k, k)."""
        p = np.asarray(self.p)
        return self._trials()[..., None] * (p[..., None] * np.eye(p.shape[-1]) - p[..., None] * p[..., None, :])

    @property
    def mode(self) -> Any:
        """The most probable counts, of one member: ⌊n p⌋, then one at a time to the category of largest p/(x + 1)."""
        if self.batch_shape:
            raise ParameterError("Multinomial", "mode", "asked of one member, not of a batch", self.batch_shape)
        p = np.asarray(self.p, dtype=np.float64)
        x = np.floor(self.n * p)
        for _ in range(int(self.n - x.sum())):
            x[np.argmax(p / (x + 1.0))] += 1.0
        return x

    @property
    def entropy(self) -> Any:
        """−log n! − n Σ p log p + Σ_j E log x_j! with x_j ~ Binomial(n, p_j), in nats; exact, O(n k)."""
        n, p = np.asarray(self.n, dtype=np.float64), np.asarray(self.p)
        x = np.arange(n.max() + 1.0)
        trials = self._trials()[..., None]
        weights = np.where(
            x <= trials,
            np.exp(log_binomial(namespace(), x, np.maximum(trials - x, 0.0), p[..., None], 1.0 - p[..., None])),
            0.0,
        )
        factorials = np.sum(weights * scipy.special.gammaln(x + 1.0), axis=(-2, -1))
        return factorials - scipy.special.gammaln(n + 1.0) + n * np.sum(scipy.special.entr(p), axis=-1)

    def log_prob(self, x: Any) -> Any:
        """Log mass of count vectors x (..., k) → (...); −inf unless they sum to n."""
        xp, x = values("Multinomial.log_prob", x, np.shape(self.p)[-1], self.n, self.p)
        inside = on_lattice(xp, x, self.n)
        counts = xp.where(inside[..., None], x, 0.0)
        terms = log_poisson(xp, counts, xp.asarray(self._trials() * self.p))
        value = xp.sum(terms, -1) - log_poisson_mode(xp, xp.asarray(self.n))
        unknown = xp.any(xp.isnan(x), -1)
        return xp.where(inside, value, xp.where(unknown, xp.nan, -xp.inf))[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        p = np.asarray(self.p, dtype=np.float64)
        return rng.multinomial(np.asarray(self.n, dtype=np.int64), p / p.sum(-1, keepdims=True),
                               size=size + self.batch_shape)  # fmt: skip

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE from count rows (rows, k) of one total n: p = Σ w x / (n Σ w); with a `Dirichlet` prior, its mode."""
        x, w, n = count_rows("Multinomial.fit", x, weights)
        counts = w @ x
        if not is_flat(prior, {}):
            return cls(n, type(prior)(prior.concentration + counts).mode)
        if n == 0:
            raise DataError("Multinomial.fit: every row is empty, so p is not determined.", remedy="Give a prior.")
        return cls(n, counts / counts.sum())
