"""DirichletMultinomial: a Multinomial whose p is drawn from a Dirichlet(α), integrated out.

log p(x) = log n! Γ(Σα)/Γ(n + Σα) + Σ log Γ(x_j + α_j)/(Γ(α_j) x_j!)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.special

from credo.distributions.base import POSITIVE_VALUE, Constraint, Family, is_concrete
from credo.distributions.dirichlet import Dirichlet, ascend
from credo.distributions.fitting import is_flat
from credo.distributions.multinomial import count_rows, on_lattice
from credo.distributions.positive_definite import values
from credo.distributions.scalar import COUNT
from credo.distributions.stirling import log_binomial
from credo.distributions.support import COUNTS, Support
from credo.errors import NotIdentifiedError
from credo.numerics.namespace import namespace

__all__ = ["DirichletMultinomial"]


@dataclass(frozen=True, eq=False)
class DirichletMultinomial(Family):
    """Counts of k categories in `n` trials when p ~ Dirichlet(`concentration` (..., k)).

    More spread than a Multinomial by the factor (n + Σα)/(1 + Σα). Leading axes are a batch.

    Examples
    --------
    >>> p = DirichletMultinomial(10, [2.0, 3.0, 5.0])
    >>> p.mean.tolist(), p.variance.round(4).tolist()
    ([2.0, 3.0, 5.0], [2.9091, 3.8182, 4.5455])
    >>> p.prob([2, 3, 5]).round(5).item()
    0.04092

    References
    ----------
    Johnson, Kotz and Balakrishnan (1997), Discrete Multivariate Distributions, ch. 35, §13.
    """

    n: Any
    concentration: Any

    domain: ClassVar[dict[str, Constraint]] = {"n": COUNT, "concentration": POSITIVE_VALUE}
    event_ndim: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_concrete(self.concentration):
            object.__setattr__(self, "concentration", Dirichlet(self.concentration).concentration)

    @property
    def support(self) -> Support:
        return COUNTS

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(np.shape(self.n), np.shape(self.concentration)[:-1])

    def _sizes(self) -> tuple[Any, Any]:
        """n and Σα, each with an axis for the categories."""
        n = np.asarray(self.n, dtype=np.float64)[..., None] if is_concrete(self.n) else self.n[..., None]
        return n, self.concentration.sum(-1, keepdims=True)

    @property
    def mean(self) -> Any:
        n, total = self._sizes()
        return n * (self.concentration / total)

    @property
    def variance(self) -> Any:
        """n m (1 − m) (n + Σα)/(1 + Σα), m = α/Σα."""
        n, total = self._sizes()
        return self.mean * (1.0 - self.concentration / total) * (n + total) / (1.0 + total)

    @property
    def covariance(self) -> Any:
        """n (diag m − m mᵀ) (n + Σα)/(1 + Σα), shape (..., k, k)."""
        n, total = self._sizes()
        m = self.concentration / total
        spread = (n * (n + total) / (1.0 + total))[..., None]
        return spread * (m[..., None] * np.eye(m.shape[-1]) - m[..., None] * m[..., None, :])

    @property
    def entropy(self) -> Any:
        """−E log p(x), a sum over the Beta-Binomial law of each coordinate, in nats; exact, O(n k)."""
        xp = namespace()
        n, total = self._sizes()
        a, rest = self.concentration[..., None], (total - self.concentration)[..., None]
        x = np.arange(float(np.max(self.n)) + 1.0)
        left = np.maximum(n[..., None] - x, 0.0)
        share = n[..., None] / (n + total)[..., None]
        scale = (total / (n + total))[..., None]
        term = _log_rising(xp, x, a, share, scale)
        whole = _log_rising(xp, n[..., None], total[..., None], share, scale)
        mass = np.where(x <= n[..., None], np.exp(term + _log_rising(xp, left, rest, share, scale) - whole), 0.0)
        return whole[..., 0, 0] - np.sum(mass * term, axis=(-2, -1))

    def log_prob(self, x: Any) -> Any:
        """Log mass of count vectors x (..., k) → (...); −inf unless they sum to n."""
        a = self.concentration
        xp, x = values("DirichletMultinomial.log_prob", x, a.shape[-1], self.n, a)
        n, total = self._sizes()
        inside = on_lattice(xp, x, self.n)
        counts = xp.where(inside[..., None], x, 0.0)
        share, scale = n / (n + total), total / (n + total)
        terms = _log_rising(xp, counts, a, share, scale)
        value = xp.sum(terms, -1) - _log_rising(xp, n, total, share, scale)[..., 0]
        unknown = xp.any(xp.isnan(x), -1)
        return xp.where(inside, value, xp.where(unknown, xp.nan, -xp.inf))[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        shape = size + self.batch_shape
        p = Dirichlet(np.broadcast_to(self.concentration, shape + self.concentration.shape[-1:]))._draw((), rng)
        return rng.multinomial(np.asarray(self.n, dtype=np.int64), p, size=shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE of the concentration from count rows (rows, k) of one total n; `prior` a `Gamma` on each α_j: MAP.

        Rows no more spread than a Multinomial have no finite MLE: `NotIdentifiedError`.

        References
        ----------
        Minka (2000, revised 2012), Estimating a Dirichlet Distribution, §3; Levin and Reeds (1977), Annals of
        Statistics 5, for the condition.
        """
        x, w, n = count_rows("DirichletMultinomial.fit", x, weights)
        seen = w @ x
        if is_flat(prior, {}):
            _check_spread(x, w, n, seen)
        psi, trigamma = scipy.special.digamma, lambda a: scipy.special.polygamma(1, a)
        share = w / w.sum()

        def value(a: np.ndarray) -> float:
            return float(share @ cls(n, a).log_prob(x))

        def derivatives(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
            size = a.sum()
            gradient = share @ (psi(x + a) - psi(a)) - (psi(n + size) - psi(size))
            return gradient, share @ (trigamma(a) - trigamma(x + a)), float(trigamma(size) - trigamma(n + size))

        start = np.maximum(seen / seen.sum(), 1e-3) * x.shape[1]
        return cls(n, ascend("DirichletMultinomial.fit", start, value, derivatives, prior, w.sum(), bound=1e8))


def _log_rising(xp: Any, x: Any, a: Any, p: Any, q: Any) -> Any:
    """log [Γ(x + a)/(Γ(a) x!) pˣ qᵃ], p + q = 1: the powers cancel between terms and keep each of them small."""
    return log_binomial(xp, x, a, p, q) + xp.log(a / (x + a))


def _check_spread(x: np.ndarray, w: np.ndarray, n: float, seen: np.ndarray) -> None:
    """Σ w Σ_j x (x − 1)/p_j must exceed Σ w n (n − 1), else the likelihood rises towards infinite concentration.

    A category never seen drives its own concentration to 0: also refused.
    """
    remedy = "Give a Gamma prior on the concentration, or fit a Multinomial."
    if np.any(seen == 0):
        empty = int(np.flatnonzero(seen == 0)[0])
        raise NotIdentifiedError(
            f"DirichletMultinomial.fit: category {empty} never occurs.", value=empty, remedy=remedy
        )
    pairs = float(w @ (x * (x - 1.0)) @ (seen.sum() / seen))
    if pairs <= float(w.sum() * n * (n - 1.0)):
        raise NotIdentifiedError(
            "DirichletMultinomial.fit: the rows are no more spread than a Multinomial, so no concentration is finite.",
            value=pairs,
            remedy=remedy,
        )
