"""Dirichlet: log p(x) = Σ (α_j − 1) log x_j − log B(α), on the simplex; log B(α) = Σ log Γ(α_j) − log Γ(Σ α_j)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from credo.distributions.base import POSITIVE_VALUE, Constraint, Family, is_concrete
from credo.distributions.beta import Beta
from credo.distributions.fitting import is_flat
from credo.distributions.gamma import Gamma
from credo.distributions.positive_definite import values, vectors
from credo.distributions.stirling import log_poisson, log_poisson_mode
from credo.distributions.support import SIMPLEX, Support
from credo.errors import DataError, NumericalError, ParameterError, UnavailableError
from credo.numerics.namespace import namespace

__all__ = ["Dirichlet", "log_multivariate_beta"]

# Rows of float32 probabilities sum to 1 within a few 1e-7.
SIMPLEX_TOLERANCE = 1e-6
# Relative steps below this shrink quadratically, and the objective may no longer resolve their gain.
QUADRATIC = 1e-3


def log_multivariate_beta(concentration: Any) -> Any:
    """log B(α) = Σ log Γ(α_j) − log Γ(Σ α_j) over the last axis."""
    xp = namespace(concentration)
    gammaln = xp.special.gammaln
    return xp.sum(gammaln(concentration), -1) - gammaln(xp.sum(concentration, -1))


@dataclass(frozen=True, eq=False)
class Dirichlet(Family):
    """Dirichlet distribution of a probability vector, with `concentration` α (..., k), all > 0.

    α / Σα is the mean, Σα the equivalent sample size; leading axes are a batch.

    Examples
    --------
    >>> p = Dirichlet([2.0, 3.0, 5.0])
    >>> p.mean.tolist(), p.mode.round(4).tolist()
    ([0.2, 0.3, 0.5], [0.1429, 0.2857, 0.5714])
    >>> p.marginal(0).b.item()
    8.0

    References
    ----------
    Kotz, Balakrishnan and Johnson (2000), Continuous Multivariate Distributions, vol. 1, ch. 49.
    """

    concentration: Any

    domain: ClassVar[dict[str, Constraint]] = {"concentration": POSITIVE_VALUE}
    event_ndim: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_concrete(self.concentration):
            if np.ndim(self.concentration) == 0 or np.shape(self.concentration)[-1] < 2:
                constraint = "a vector of at least two numbers"
                raise ParameterError("Dirichlet", "concentration", constraint, self.concentration)
            object.__setattr__(self, "concentration", np.asarray(self.concentration, dtype=np.float64))

    @property
    def support(self) -> Support:
        return SIMPLEX

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.shape(self.concentration)[:-1]

    @property
    def total(self) -> Any:
        """Σ α, the equivalent sample size, shape (..., 1)."""
        return self.concentration.sum(-1, keepdims=True)

    @property
    def mean(self) -> Any:
        return self.concentration / self.total

    @property
    def variance(self) -> Any:
        """m (1 − m)/(Σα + 1)."""
        return self.mean * (1.0 - self.mean) / (self.total + 1.0)

    @property
    def covariance(self) -> Any:
        """(diag m − m mᵀ)/(Σα + 1), shape (..., k, k)."""
        m = self.mean
        return (m[..., None] * np.eye(m.shape[-1]) - m[..., None] * m[..., None, :]) / (self.total[..., None] + 1.0)

    @property
    def mode(self) -> Any:
        """(α − 1)/(Σα − k); `UnavailableError` unless every α ≥ 1 and one is above."""
        excess = self.concentration - 1.0
        if np.any(excess < 0) or np.any(excess.sum(-1) <= 0):
            raise UnavailableError(
                "Dirichlet has no single mode unless every concentration is ≥ 1 and one of them is > 1."
            )
        return excess / excess.sum(-1, keepdims=True)

    @property
    def entropy(self) -> Any:
        """log B(α) + (Σα − k) ψ(Σα) − Σ (α_j − 1) ψ(α_j), in nats."""
        psi, a = scipy.special.digamma, self.concentration
        return log_multivariate_beta(a) - np.sum((a - 1.0) * (psi(a) - psi(self.total)), axis=-1)

    def log_prob(self, x: Any) -> Any:
        """Log density with respect to k − 1 of the coordinates: x (..., k) → (...); −inf off the simplex.

        Where one coordinate is 0 with α < 1 and another 0 with α > 1 the density has no limit, and the answer is −inf.
        """
        a = self.concentration
        xp, x = values("Dirichlet.log_prob", x, a.shape[-1], a)
        total = xp.sum(a, -1, keepdims=True)
        # A multinomial mass at the real counts α (`stirling`): no cancellation between large log Γ.
        inner = xp.where(x > 0, x, 1.0)
        terms = log_poisson(xp, a, total * inner) + xp.log(a) - xp.log(inner)
        edge = xp.where(a == 1.0, xp.log(total), xp.where(a > 1.0, -xp.inf, xp.inf))
        terms = xp.where(x == 0.0, edge, terms)
        vanishes = xp.any(terms == -xp.inf, -1)
        value = xp.sum(xp.where(terms == -xp.inf, 0.0, terms), -1)
        value = value - (log_poisson_mode(xp, total) + xp.log(total))[..., 0]
        outside = xp.any(x < 0, -1) | (xp.abs(xp.sum(x, -1) - 1.0) > SIMPLEX_TOLERANCE)
        unknown = xp.any(xp.isnan(x), -1)
        return xp.where(unknown, xp.nan, xp.where(outside | vanishes, -xp.inf, value))[()]

    def quantile(self, q: Any) -> Any:
        """Quantiles of each coordinate, a Beta: q of any shape → (*q, ..., k)."""
        q = np.asarray(q, dtype=np.float64)
        a = self.concentration
        return Beta(a, self.total - a).quantile(q.reshape(q.shape + (1,) * a.ndim))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        # G(α) = G(α + 1) U^(1/α), in logs: gammas of tiny α underflow together, their ratios need not.
        shape = size + self.concentration.shape
        log_gamma = np.log(rng.standard_gamma(self.concentration + 1.0, shape))
        log_gamma -= rng.standard_exponential(shape) / self.concentration
        return scipy.special.softmax(log_gamma, axis=-1)

    def marginal(self, index: int) -> Beta:
        """Of one coordinate: Beta(α_j, Σα − α_j)."""
        k = self.concentration.shape[-1]
        if not -k <= index < k:
            raise ParameterError("Dirichlet.marginal", "index", f"an integer in 0..{k - 1}", index)
        a = self.concentration[..., index]
        return Beta(a[()], (self.total[..., 0] - a)[()])

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE from probability rows (n, k), by Newton's method at O(k) a step; `prior` a `Gamma` on each α_j: MAP.

        References
        ----------
        Minka (2000, revised 2012), Estimating a Dirichlet Distribution.
        """
        x, w = vectors("Dirichlet.fit", x, weights)
        bad = np.flatnonzero(np.any(x <= 0, axis=1) | (np.abs(x.sum(axis=1) - 1.0) > SIMPLEX_TOLERANCE))
        if bad.size:
            raise DataError(
                f"Dirichlet.fit: row {bad[0]} is not a probability vector with every entry > 0 ({bad.size} such rows).",
                rows=bad[:20].tolist(),
                value=x[bad[0]],
            )
        total = w.sum()
        mean, second = w @ x / total, w @ (x * x) / total
        spread = second[0] - mean[0] ** 2
        # The first coordinate's moments give the size (Minka, eq. 21); a start only.
        size = (mean[0] - second[0]) / spread if spread > 0 else 1.0
        mean_log = w @ np.log(x) / total
        start = mean * min(max(size, 1e-3), 1e6)
        return cls(concentration_at("Dirichlet.fit", mean_log, start, prior, total))

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """From the mean and sd of the coordinates, which must agree on one Σα = m (1 − m)/sd² − 1 (to 1e-6)."""
        mean, sd = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
        if np.any(mean <= 0) or np.any(np.abs(mean.sum(-1) - 1.0) > SIMPLEX_TOLERANCE):
            raise ParameterError("Dirichlet.from_moments", "mean", "positive with sum 1", mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = mean * (1.0 - mean) / np.square(sd) - 1.0
        size = sizes.mean(-1, keepdims=True)
        if not np.all(np.isfinite(sizes) & (sizes > 0)) or np.any(np.abs(sizes - size) > 1e-6 * (size + 1.0)):
            constraint = "such that mean (1 − mean)/sd² is one number > 1 for every coordinate"
            raise ParameterError("Dirichlet.from_moments", "sd", constraint, sd)
        return cls(mean * size)


def concentration_at(
    owner: str, mean_log: np.ndarray, start: np.ndarray, prior: Any = None, total: float = 1.0
) -> np.ndarray:
    """The α that maximises mean_log · (α − 1) − log B(α): of the MLE, or of expectations of log x under any law."""
    log_sum = scipy.special.logsumexp(mean_log)
    center = np.exp(mean_log - log_sum)

    def value(a: np.ndarray) -> float:
        # Σ (α − 1) mean log x − log B(α) as a density at the geometric mean: large terms cancel inside it.
        return float(Dirichlet(a).log_prob(center) + (a.sum() - a.size) * log_sum)

    def derivatives(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        psi, trigamma = scipy.special.digamma, partial(scipy.special.polygamma, 1)
        return psi(a.sum()) - psi(a) + mean_log, trigamma(a), float(trigamma(a.sum()))

    return ascend(owner, start, value, derivatives, prior, total)


def ascend(
    owner: str, start: np.ndarray, value: Any, derivatives: Any, prior: Any, total: float, bound: float = 1e12
) -> np.ndarray:
    """Maximise an average log likelihood over concentrations α > 0 whose Hessian is c 11ᵀ − diag(q): O(k) a step.

    `value(α)`, `derivatives(α)` → gradient (k,), q (k,), c; `prior` None or a Gamma on each α_j, spread over `total`
    units of weight. Newton, or α ∘ gradient where Newton does not point uphill, halved until the value gains; close
    to the maximum full steps, until rounding keeps them from shrinking. `NumericalError` when α passes `bound`.
    """
    flat = is_flat(prior, {})
    if not flat and not isinstance(prior, Gamma):
        raise ParameterError(owner, "prior", "None, Flat or a Gamma on each concentration", prior)
    shape, rate = (1.0, 0.0) if flat else (prior.shape, prior.rate)

    def objective(a: np.ndarray) -> float:
        return value(a) + float(np.sum((shape - 1.0) * np.log(a) - rate * a)) / total

    a, last = start, np.inf
    for _ in range(1000):
        gradient, q, c = derivatives(a)
        gradient = gradient + ((shape - 1.0) / a - rate) / total
        q = q + (shape - 1.0) / (a * a) / total
        step = (gradient + c * np.sum(gradient / q) / (1.0 - c * np.sum(1.0 / q))) / q
        if not gradient @ step > 0:
            step = a * gradient
        relative = float(np.max(np.abs(step / a)))
        if relative < QUADRATIC:
            if relative >= 0.5 * last:
                return a
            a, last = a + step, relative
            continue
        current, size = objective(a), 1.0
        while np.any(a + size * step <= 0.1 * a) or (size > 1e-10 and not objective(a + size * step) > current):
            size *= 0.5
        if size <= 1e-10:
            return a
        a, last = a + size * step, np.inf
        if a.max() > bound:
            break
    raise NumericalError(
        f"{owner}: the concentration grows without bound: the rows vary no more than fixed probabilities would.",
        value=a,
        remedy="Give a prior, or use the family with fixed probabilities.",
    )
