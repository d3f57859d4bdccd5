"""The conjugate pairs behind `ConjugateModel`, one class a family of normalisers.

Each states its statistics, its posterior and its evidence; the formulas are in docs/concepts/conjugate.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.special

from credo.distributions.base import Family
from credo.distributions.bernoulli import Bernoulli
from credo.distributions.beta import Beta
from credo.distributions.beta_binomial import BetaBinomial
from credo.distributions.beta_negative_binomial import BetaNegativeBinomial
from credo.distributions.categorical import Categorical
from credo.distributions.dirichlet import Dirichlet, log_multivariate_beta
from credo.distributions.dirichlet_multinomial import DirichletMultinomial
from credo.distributions.gamma import Gamma
from credo.distributions.inverse_gamma import InverseGamma
from credo.distributions.lomax import Lomax
from credo.distributions.mixture import Mixture
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.negative_binomial import NegativeBinomial
from credo.distributions.normal import Normal
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.distributions.normal_inverse_wishart import NormalInverseWishart
from credo.distributions.pareto import Pareto
from credo.distributions.positive_definite import vectors
from credo.distributions.statistics import CategoryCounts, WeightedMoments
from credo.distributions.student_t import StudentT
from credo.distributions.support import BOOLEAN, COUNTS, NON_NEGATIVE, REAL, Support
from credo.distributions.uniform import Uniform
from credo.distributions.wishart import log_multivariate_gamma
from credo.errors import DataError, ParameterError

__all__ = ["PAIRS", "Pair", "Statistics", "REQUIRED"]

LOG_2PI = float(np.log(2.0 * np.pi))
REQUIRED: Any = object()
gammaln = scipy.special.gammaln


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over rows, and where the pair needs them centred moments or a largest value."""

    sums: np.ndarray
    moments: WeightedMoments | None = None
    largest: float = -np.inf

    def merge(self, other: Statistics) -> Statistics:
        moments = self.moments if self.moments is None else self.moments.merge(other.moments)  # type: ignore[arg-type]
        return Statistics(self.sums + other.sums, moments, max(self.largest, other.largest))


class Pair:
    """One conjugate pair.

    known : parameters of the likelihood that `accumulate` takes, with their defaults (REQUIRED where there is none)
    ahead : those that `predictive` takes
    """

    known: dict[str, Any]
    ahead: dict[str, Any]
    owner: str

    def accumulate(self, prior: Any, x: Any, weights: Any, **known: Any) -> Statistics:
        raise NotImplementedError

    def posterior(self, prior: Any, s: Statistics) -> Family:
        raise NotImplementedError

    def log_evidence(self, prior: Any, posterior: Any, s: Statistics) -> Any:
        """log of ∫ likelihood × prior; the sums hold the part of the likelihood that is free of the parameters."""
        raise NotImplementedError

    def predictive(self, posterior: Any, **known: Any) -> Family:
        raise NotImplementedError


Counts = Callable[..., tuple[Any, ...]]


class ScalarPair(Pair):
    """Rows of one number: two counts and a log base measure a row, summed with the weights.

    `counts(x, **known)` → (first, second, log h), what a row adds to the two parameters and to the log evidence.
    """

    def __init__(self, name: str, support: Support, counts: Counts, predictive: Callable[..., Family], **known: Any):
        self.owner, self.support, self.counts, self.known, self.ahead = f"{name}.update", support, counts, known, known
        self._predictive = predictive

    def accumulate(self, prior: Any, x: Any, weights: Any, **known: Any) -> Statistics:
        x, w = _rows(self.owner, x, weights, self.support)
        known = {name: _per_row(self.owner, name, value, x) for name, value in known.items()}
        return Statistics(np.array([w @ (part + np.zeros_like(x)) for part in self.counts(x, **known)]))

    def predictive(self, posterior: Any, **known: Any) -> Family:
        return self._predictive(posterior, **known)


def _rows(owner: str, x: Any, weights: Any, support: Support) -> tuple[np.ndarray, np.ndarray]:
    """Checked observations (n,) and weights (n,)."""
    x, w = vectors(owner, np.reshape(x, (-1, 1)), None if weights is None else np.ravel(weights))
    x = x[:, 0]
    constraint = f"{'an integer' if support.is_discrete else 'a number'} in [{support.low:g}, {support.high:g}]"
    _require(owner, "an observation", x, support.contains(x), constraint)
    return x, w


def _per_row(owner: str, name: str, value: Any, x: np.ndarray) -> np.ndarray:
    """A known parameter as a number or one a row."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), x.shape) or not np.all(np.isfinite(array)):
        raise ParameterError(owner, name, f"finite, a number or one for each of {x.size} rows", value)
    return array


def _require(owner: str, name: str, value: np.ndarray, holds: Any, constraint: str) -> None:
    """A `DataError` naming the first row where `holds` is false."""
    bad = np.flatnonzero(~np.asarray(holds))
    if bad.size:
        at = np.broadcast_to(value, np.shape(holds))[bad[0]]
        raise DataError(f"{owner}: {name} must be {constraint}, got {at} in row {bad[0]}.", rows=bad[:20].tolist())


class BetaPair(ScalarPair):
    """Beta(a + successes, b + failures); evidence B(a′, b′)/B(a, b) × base."""

    def posterior(self, prior: Beta, s: Statistics) -> Beta:
        return Beta(prior.a + s.sums[0], prior.b + s.sums[1])

    def log_evidence(self, prior: Beta, posterior: Beta, s: Statistics) -> Any:
        return s.sums[2] + scipy.special.betaln(posterior.a, posterior.b) - scipy.special.betaln(prior.a, prior.b)


def _binomial_counts(x: np.ndarray, n: np.ndarray) -> tuple[Any, Any, Any]:
    _require("ConjugateModel(Beta, Binomial).update", "n", n, (n >= x) & (np.floor(n) == n), "an integer ≥ x")
    return x, n - x, _log_choose(n, x)


def _negative_binomial_counts(x: np.ndarray, shape: np.ndarray) -> tuple[Any, Any, Any]:
    owner = "ConjugateModel(Beta, NegativeBinomial).update"
    _require(owner, "shape", shape, (shape > 0) & (x >= 0), "> 0")
    return shape, x, gammaln(x + shape) - gammaln(shape) - gammaln(x + 1.0)


def _log_choose(n: Any, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


class GammaPair(ScalarPair):
    """Gamma(shape + events, rate + exposure); evidence Γ(a′)/Γ(a) rᵃ/r′^a′ × base."""

    def posterior(self, prior: Gamma, s: Statistics) -> Gamma:
        return Gamma(shape=prior.shape + s.sums[0], rate=prior.rate + s.sums[1])

    def log_evidence(self, prior: Gamma, posterior: Gamma, s: Statistics) -> Any:
        return s.sums[2] + _log_gamma_norm(posterior.shape, posterior.rate) - _log_gamma_norm(prior.shape, prior.rate)


def _log_gamma_norm(shape: Any, rate: Any) -> Any:
    """log ∫ x^(a − 1) e^(−r x) dx = log Γ(a) − a log r."""
    return gammaln(shape) - shape * np.log(rate)


def _poisson_counts(x: np.ndarray, exposure: np.ndarray) -> tuple[Any, Any, Any]:
    _require("ConjugateModel(Gamma, Poisson).update", "exposure", exposure, (exposure > 0) & (x >= 0), "> 0")
    return x, exposure, x * np.log(exposure) - gammaln(x + 1.0)


class VariancePair(ScalarPair):
    """InverseGamma(a + n/2, b + ½ Σ w (x − μ)²) for a Normal of known mean."""

    def posterior(self, prior: InverseGamma, s: Statistics) -> InverseGamma:
        return InverseGamma(shape=prior.shape + s.sums[0], scale=prior.scale + s.sums[1])

    def log_evidence(self, prior: InverseGamma, posterior: InverseGamma, s: Statistics) -> Any:
        return s.sums[2] + _log_gamma_norm(posterior.shape, posterior.scale) - _log_gamma_norm(prior.shape, prior.scale)


class CategoryPair(Pair):
    """Dirichlet(α + counts); evidence B(α′)/B(α) × base."""

    known: ClassVar[dict[str, Any]] = {}

    def __init__(self, ahead: dict[str, Any], counts: Counts, predictive: Callable[..., Family]) -> None:
        self.ahead, self.counts, self._predictive = ahead, counts, predictive

    def accumulate(self, prior: Dirichlet, x: Any, weights: Any, **known: Any) -> Statistics:
        return Statistics(np.append(*self.counts(x, weights, prior.concentration.size)))

    def posterior(self, prior: Dirichlet, s: Statistics) -> Dirichlet:
        return Dirichlet(prior.concentration + s.sums[:-1])

    def log_evidence(self, prior: Dirichlet, posterior: Dirichlet, s: Statistics) -> Any:
        gain = log_multivariate_beta(posterior.concentration) - log_multivariate_beta(prior.concentration)
        return s.sums[-1] + gain

    def predictive(self, posterior: Dirichlet, **known: Any) -> Family:
        return self._predictive(posterior, **known)


def _category_counts(x: Any, weights: Any, k: int) -> tuple[Any, Any]:
    weights = None if weights is None else np.ravel(weights)
    return CategoryCounts.accumulate(np.ravel(x), weights, n_categories=k).counts, 0.0


def _multinomial_counts(x: Any, weights: Any, k: int) -> tuple[Any, Any]:
    owner = "ConjugateModel(Dirichlet, Multinomial).update"
    x, w = vectors(owner, np.atleast_2d(x), weights)
    if x.shape[1] != k:
        raise DataError(f"{owner}: rows have {x.shape[1]} counts for {k} categories.", value=x.shape)
    _require(owner, "counts", x.min(axis=1), np.all((x >= 0) & (np.floor(x) == x), axis=1), "integers ≥ 0")
    return w @ x, w @ (gammaln(x.sum(axis=1) + 1.0) - gammaln(x + 1.0).sum(axis=1))


class MeanPair(Pair):
    """Normal mean, known sd: precisions add; the moments are weighted by 1/sd², so that sd may differ by row."""

    known: ClassVar[dict[str, Any]] = {"sd": REQUIRED}
    ahead = known
    owner = "ConjugateModel(Normal, Normal).update"

    def accumulate(self, prior: Normal, x: Any, weights: Any, **known: Any) -> Statistics:
        x, w = _rows(self.owner, x, weights, REAL)
        sd = _per_row(self.owner, "sd", known["sd"], x)
        _require(self.owner, "sd", sd, (sd > 0) & np.isfinite(x), "> 0")
        moments = WeightedMoments.accumulate(x, w / np.square(sd))
        return Statistics(np.array([w @ (LOG_2PI + 2.0 * np.log(sd) + np.zeros_like(x))]), moments)

    def posterior(self, prior: Normal, s: Statistics) -> Normal:
        gain = prior.sd**2 * s.moments.total  # type: ignore[union-attr]
        shift = (s.moments.mean - prior.mean) * (gain / (1.0 + gain))  # type: ignore[union-attr]
        return Normal((prior.mean + shift)[()], prior.sd / np.sqrt(1.0 + gain))

    def log_evidence(self, prior: Normal, posterior: Normal, s: Statistics) -> Any:
        """x̄ ~ N(m, s² + 1/precision), and the scatter about it."""
        moments: Any = s.moments
        spread = 1.0 + prior.sd**2 * moments.total
        distance = moments.total * np.square(moments.mean - prior.mean) / spread
        return -0.5 * (s.sums[0] + moments.scatter + np.log(spread) + distance)

    def predictive(self, posterior: Normal, **known: Any) -> Normal:
        return Normal(posterior.mean, np.hypot(posterior.sd, known["sd"]))


class MeanVariancePair(Pair):
    """`NormalInverseGamma` on the mean and variance of a Normal."""

    known: ClassVar[dict[str, Any]] = {}
    ahead = known
    owner = "ConjugateModel(NormalInverseGamma, Normal).update"

    def accumulate(self, prior: NormalInverseGamma, x: Any, weights: Any, **known: Any) -> Statistics:
        x, w = _rows(self.owner, x, weights, REAL)
        return Statistics(np.zeros(0), WeightedMoments.accumulate(x, w))

    def posterior(self, prior: NormalInverseGamma, s: Statistics) -> NormalInverseGamma:
        moments: Any = s.moments
        return prior.update(moments.total, moments.mean, moments.scatter)

    def log_evidence(self, prior: NormalInverseGamma, posterior: NormalInverseGamma, s: Statistics) -> Any:
        """(2π)^(−n/2) √(V′/V) Γ(a′)/Γ(a) bᵃ/b′^a′."""
        gain = _log_gamma_norm(posterior.shape, posterior.scale) - _log_gamma_norm(prior.shape, prior.scale)
        return gain + 0.5 * (np.log(posterior.covariance / prior.covariance) - s.moments.total * LOG_2PI)  # type: ignore[union-attr]

    def predictive(self, posterior: NormalInverseGamma, **known: Any) -> StudentT:
        square = posterior.scale / posterior.shape * (1.0 + posterior.covariance)
        return StudentT(2.0 * posterior.shape, posterior.mean, np.sqrt(square))


class MeanCovariancePair(Pair):
    """`NormalInverseWishart` on the mean and covariance of a MultivariateNormal."""

    known: ClassVar[dict[str, Any]] = {}
    ahead = known
    owner = "ConjugateModel(NormalInverseWishart, MultivariateNormal).update"

    def accumulate(self, prior: NormalInverseWishart, x: Any, weights: Any, **known: Any) -> Statistics:
        x, w = vectors(self.owner, np.atleast_2d(x), weights)
        if x.shape[1] != prior.dimension:
            raise DataError(
                f"{self.owner}: rows have {x.shape[1]} columns, the prior {prior.dimension}.", value=x.shape
            )
        return Statistics(np.zeros(0), WeightedMoments.accumulate(x, w, full=True))

    def posterior(self, prior: NormalInverseWishart, s: Statistics) -> NormalInverseWishart:
        moments: Any = s.moments
        return prior.update(moments.total, moments.mean, moments.scatter)

    def log_evidence(self, prior: NormalInverseWishart, posterior: NormalInverseWishart, s: Statistics) -> Any:
        """π^(−nd/2) (κ/κ′)^(d/2) Γ_d(ν′/2)/Γ_d(ν/2) |Ψ|^(ν/2)/|Ψ′|^(ν′/2)."""
        d, total = prior.dimension, s.moments.total  # type: ignore[union-attr]

        def log_norm(law: NormalInverseWishart) -> Any:
            log_det = law.marginal_covariance.scale_log_determinant
            return log_multivariate_gamma(0.5 * law.df, d) - 0.5 * (law.df * log_det + d * np.log(law.kappa))

        return log_norm(posterior) - log_norm(prior) - 0.5 * total * d * np.log(np.pi)

    def predictive(self, posterior: NormalInverseWishart, **known: Any) -> MultivariateStudentT:
        df = posterior.df - posterior.dimension + 1.0
        stretch = (posterior.kappa + 1.0) / (posterior.kappa * df)
        return MultivariateStudentT(df, posterior.mean, stretch * posterior.scale_matrix)


class BoundPair(Pair):
    """Pareto(k + n, max(m, largest)) on the upper end θ of Uniform(0, θ)."""

    known: ClassVar[dict[str, Any]] = {}
    ahead = known
    owner = "ConjugateModel(Pareto, Uniform).update"

    def accumulate(self, prior: Pareto, x: Any, weights: Any, **known: Any) -> Statistics:
        x, w = _rows(self.owner, x, weights, NON_NEGATIVE)
        return Statistics(np.array([w.sum()]), None, float(x[w > 0].max()))

    def posterior(self, prior: Pareto, s: Statistics) -> Pareto:
        return Pareto(prior.shape + s.sums[0], max(prior.scale, s.largest))

    def log_evidence(self, prior: Pareto, posterior: Pareto, s: Statistics) -> Any:
        """k mᵏ/(k′ m′^k′)."""
        k, m, n = prior.shape, prior.scale, posterior.shape
        return np.log(k / n) + k * np.log(m / posterior.scale) - s.sums[0] * np.log(posterior.scale)

    def predictive(self, posterior: Pareto, **known: Any) -> Mixture:
        """Uniform(0, m) with probability k/(k + 1), and beyond m the same Pareto."""
        share = posterior.shape / (posterior.shape + 1.0)
        # Both components include their ends: one step below m, so that m itself is not counted twice.
        below = Uniform(0.0, np.nextafter(posterior.scale, 0.0))
        return Mixture([share, 1.0 - share], (below, posterior))


#: by the names of the prior and the likelihood
PAIRS: dict[tuple[str, str], Pair] = {
    ("Beta", "Bernoulli"): BetaPair(
        "ConjugateModel(Beta, Bernoulli)",
        BOOLEAN,
        lambda x: (x, 1.0 - x, 0.0),
        lambda post: Bernoulli(post.mean),
    ),
    ("Beta", "Binomial"): BetaPair(
        "ConjugateModel(Beta, Binomial)",
        COUNTS,
        _binomial_counts,
        lambda post, n: BetaBinomial(n, post.a, post.b),
        n=REQUIRED,
    ),
    ("Beta", "Geometric"): BetaPair(
        "ConjugateModel(Beta, Geometric)",
        COUNTS,
        lambda x: (1.0, x, 0.0),
        lambda post: BetaNegativeBinomial(1.0, post.a, post.b),
    ),
    ("Beta", "NegativeBinomial"): BetaPair(
        "ConjugateModel(Beta, NegativeBinomial)",
        COUNTS,
        _negative_binomial_counts,
        lambda post, shape: BetaNegativeBinomial(shape, post.a, post.b),
        shape=REQUIRED,
    ),
    ("Dirichlet", "Categorical"): CategoryPair({}, _category_counts, lambda post: Categorical(post.mean)),
    ("Dirichlet", "Multinomial"): CategoryPair(
        {"n": REQUIRED}, _multinomial_counts, lambda post, n: DirichletMultinomial(n, post.concentration)
    ),
    ("Gamma", "Poisson"): GammaPair(
        "ConjugateModel(Gamma, Poisson)",
        COUNTS,
        _poisson_counts,
        lambda post, exposure: NegativeBinomial(post.mean * exposure, post.shape),
        exposure=1.0,
    ),
    ("Gamma", "Exponential"): GammaPair(
        "ConjugateModel(Gamma, Exponential)",
        NON_NEGATIVE,
        lambda x: (1.0, x, 0.0),
        lambda post: Lomax(post.shape, post.rate),
    ),
    ("Normal", "Normal"): MeanPair(),
    ("InverseGamma", "Normal"): VariancePair(
        "ConjugateModel(InverseGamma, Normal)",
        REAL,
        lambda x, mean: (0.5, 0.5 * np.square(x - mean), -0.5 * LOG_2PI),
        lambda post, mean: StudentT(2.0 * post.shape, mean, np.sqrt(post.scale / post.shape)),
        mean=REQUIRED,
    ),
    ("NormalInverseGamma", "Normal"): MeanVariancePair(),
    ("NormalInverseWishart", "MultivariateNormal"): MeanCovariancePair(),
    ("Pareto", "Uniform"): BoundPair(),
}
