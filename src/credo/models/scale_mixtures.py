"""Priors that are Normal given a variance for each coefficient: w_j | s_j² ~ N(m_j, s_j²).

Given the variances a linear model is Gaussian and exact; given the coefficients the variances have simple conditionals.
Gibbs sampling alternates the two (`inference/scale_mixture_gibbs`). Where the marginal of w has a closed form, the
record also gives its log density and gradient, for modes, Laplace's method and NUTS.

Notation: d = w − m (c, P) deviations in c chains; τ a scale shared by all coefficients, with log τ kept in `state`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from credo.errors import UnavailableError
from credo.inference.slice_update import slice_update

__all__ = [
    "Box",
    "ElasticNetMixture",
    "HorseshoeMixture",
    "LaplaceMixture",
    "NormalMixture",
    "ScaleMixture",
    "StudentTMixture",
    "exponential_variances",
    "horseshoe_precisions",
    "scaled_exp1",
    "student_t_variances",
]

# The prior variance of a coefficient stays within these multiples of the squares of its units: beyond, products leave
# the range of floating point, and no data tell the difference.
SMALLEST, LARGEST = 1e-200, 1e200
State = dict[str, np.ndarray]


@dataclass(frozen=True)
class ScaleMixture:
    """What all have in common.

    mean : (P,) m
    scale : (P,) unit of each coefficient; where `learned`, that of τ = 1
    learned : whether a common factor τ of the scales is learned, τ ~ half-Cauchy(`reach`)
    relative : whether the scales are in units of the noise sd
    """

    mean: np.ndarray
    scale: np.ndarray
    learned: bool = False
    relative: bool = False
    reach: float = 1.0

    penalty = None  # ("l1", (P,) 1/b), ("elastic_net", 1/b, 1/sd²) for coordinate descent
    tail = np.inf  # t of a density given τ that falls as |w|^−(t + 1); ∞ where it falls faster than any power
    has_corner = False  # whether the density has a kink or a spike that makes latent variances mix slowly

    def initial(self, chains: int) -> State:
        """The state of c chains before the first draw."""
        return {"log_scale": np.full((chains, 1), np.log(self.reach) if self.learned else 0.0)}

    def draw_variances(
        self, w: np.ndarray, state: State, rng: np.random.Generator, noise_sd: Any = 1.0, *, keep_scale: bool = False
    ) -> tuple[np.ndarray, State]:
        """One Gibbs step: s² (c, P) given w (c, P), in units of noise_sd² (c, 1) where `relative`, and the state.

        keep_scale : τ stays as it is, being drawn elsewhere
        """
        d = (w - self.mean) / (noise_sd if self.relative else 1.0)
        log_scale = state["log_scale"]
        if self.learned and not keep_scale:
            log_scale = slice_update(lambda t: self._log_scale_density(d, t), log_scale, rng)
        variances = self._variances(d, self.scale * np.exp(log_scale), rng)
        return np.clip(variances, SMALLEST, LARGEST), {"log_scale": log_scale}

    def learned_scale(self, state: State, noise_sd: Any = 1.0) -> np.ndarray | None:
        """(c,) the shared scale in the coefficients' units, τ times noise_sd (c,) where `relative`; None where nothing
        is learned."""
        if not self.learned:
            return None
        return np.exp(state["log_scale"][:, 0]) * (noise_sd if self.relative else 1.0)

    def at(self, scale: float) -> ScaleMixture:
        """The record with τ stated."""
        return replace(self, scale=self.scale * scale, learned=False)

    def log_prob(self, w: Any, log_scale: Any = 0.0) -> np.ndarray:
        """log p(w | τ), summed over the last axis; where τ is learned plus the log density of `log_scale` = log τ."""
        t = np.asarray(log_scale, dtype=np.float64)
        value = self._log_density(np.asarray(w) - self.mean, self.scale * np.exp(t)[..., None]).sum(axis=-1)
        return value + log_half_cauchy(t, self.reach) if self.learned else value

    def gradient(self, w: Any, log_scale: Any = 0.0) -> np.ndarray:
        """Gradient of `log_prob` in w, (…, P)."""
        scale = self.scale * np.exp(np.asarray(log_scale, dtype=np.float64))[..., None]
        return self._slope(np.asarray(w) - self.mean, scale)

    def scale_gradient(self, w: Any, log_scale: Any) -> np.ndarray:
        """Gradient of `log_prob` in log τ, (…,): scale families have −P − d·∇."""
        d, t = np.asarray(w) - self.mean, np.asarray(log_scale, dtype=np.float64)
        value = -d.shape[-1] - (d * self.gradient(w, t)).sum(axis=-1)
        return value + (-np.tanh(t - np.log(self.reach)) if self.learned else 0.0)

    def _log_scale_density(self, d: np.ndarray, log_scale: np.ndarray) -> np.ndarray:
        value = self._log_density(d, self.scale * np.exp(log_scale)).sum(axis=-1, keepdims=True)
        return value + log_half_cauchy(log_scale, self.reach)

    def _log_density(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        raise UnavailableError(f"{type(self).__name__}: no closed density.", remedy="Use inference='gibbs'.")

    def _slope(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        raise UnavailableError(f"{type(self).__name__}: no closed density.", remedy="Use inference='gibbs'.")

    def _variances(self, d: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class NormalMixture(ScaleMixture):
    """N(m, τ² scale²): nothing is mixed but the scale where it is learned; an infinite scale is flat."""

    def _log_density(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return -0.5 * np.square(d / scale) - np.log(scale) - 0.5 * np.log(2.0 * np.pi)

    def _slope(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return -d / np.square(scale)

    def _variances(self, d: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.broadcast_to(np.square(scale), d.shape)


@dataclass(frozen=True)
class LaplaceMixture(ScaleMixture):
    """Laplace(m, b): s² ~ Exponential(mean 2b²) (Park and Casella 2008, but in the coefficients' own units)."""

    has_corner = True

    @property
    def penalty(self) -> tuple[str, np.ndarray]:  # type: ignore[override]
        return "l1", 1.0 / self.scale

    def _log_density(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return -np.abs(d) / scale - np.log(2.0 * scale)

    def _slope(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return -np.sign(d) / scale

    def _variances(self, d: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return exponential_variances(d, scale, rng)


@dataclass(frozen=True)
class StudentTMixture(ScaleMixture):
    """Student-t with df degrees of freedom: s² ~ InverseGamma(df/2, df scale²/2)."""

    df: Any = 4.0
    has_corner = True

    @property
    def tail(self) -> Any:  # type: ignore[override]
        return self.df

    def _log_density(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        half = 0.5 * (np.asarray(self.df) + 1.0)
        constant = special.gammaln(half) - special.gammaln(half - 0.5) - 0.5 * np.log(self.df * np.pi)
        return constant - np.log(scale) - half * np.log1p(np.square(d / scale) / self.df)

    def _slope(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return -(np.asarray(self.df) + 1.0) * d / (self.df * np.square(scale) + np.square(d))

    def _variances(self, d: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return student_t_variances(d, scale, self.df, rng)


@dataclass(frozen=True)
class ElasticNetMixture(ScaleMixture):
    """∝ exp(−|d|/b − d²/(2 sd²)): the Laplace's variance v, with precision 1/v + 1/sd² (Li and Lin 2010)."""

    normal_sd: Any = 1.0
    has_corner = True

    @property
    def penalty(self) -> tuple[str, np.ndarray, np.ndarray]:  # type: ignore[override]
        return "elastic_net", 1.0 / self.scale, np.broadcast_to(1.0 / np.square(self.normal_sd), self.scale.shape)

    def _log_density(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        from credo.distributions.elastic_net import ElasticNet

        return ElasticNet(scale, self.normal_sd).log_prob(d)

    def _slope(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return -np.sign(d) / scale - d / np.square(self.normal_sd)

    def _variances(self, d: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return 1.0 / (1.0 / exponential_variances(d, scale, rng) + 1.0 / np.square(self.normal_sd))


@dataclass(frozen=True)
class HorseshoeMixture(ScaleMixture):
    """s_j = λ_j τ scale_j, λ_j ~ half-Cauchy(1), τ ~ half-Cauchy(reach).

    With λ integrated out and z = d²/(2τ²), p(d | τ) = e^z E₁(z) / (τ √(2π³)): infinite at 0, yet a density (Carvalho,
    Polson and Scott 2010, Biometrika 97). So τ is drawn without the λ, which are then drawn by themselves, exactly.
    """

    tail = 1.0

    def _log_density(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        z = np.maximum(0.5 * np.square(d / scale), SMALLEST)
        return np.log(scaled_exp1(z)) - np.log(scale) - 0.5 * np.log(2.0 * np.pi**3)

    def _slope(self, d: np.ndarray, scale: np.ndarray) -> np.ndarray:
        z = np.maximum(0.5 * np.square(d / scale), SMALLEST)
        return d / np.square(scale) * (1.0 - 1.0 / (z * scaled_exp1(z)))

    def _variances(self, d: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        z = np.clip(0.5 * np.square(d / scale), SMALLEST, LARGEST)
        return np.square(scale) / np.maximum(horseshoe_precisions(z, rng), SMALLEST)


@dataclass(frozen=True)
class Box:
    """Uniform on [low, high], (P,) each: not a mixture of Normals, but bounds on a Normal."""

    low: np.ndarray
    high: np.ndarray
    penalty = None

    def log_prob(self, w: Any) -> np.ndarray:
        """−Σ log(high − low) inside, −∞ outside: (…,)."""
        inside = np.all((w >= self.low) & (w <= self.high), axis=-1)
        return np.where(inside, -np.log(self.high - self.low).sum(), -np.inf)

    def gradient(self, w: Any) -> np.ndarray:
        """0, (…, P)."""
        return np.zeros_like(np.asarray(w, dtype=np.float64))


def exponential_variances(d: np.ndarray, scale: Any, rng: np.random.Generator) -> np.ndarray:
    """s² given d for s² ~ Exponential(mean 2 scale²) and d | s² ~ N(0, s²); elementwise.

    1/s² is inverse Gaussian with mean 1/(scale |d|) and shape 1/scale². By Michael, Schucany and Haas (1976), with both
    roots of their quadratic written for s² itself: no division by d, so that d = 0 (1/s² has no mean) is ordinary.
    """
    a = np.abs(d) * scale
    c = 0.5 * np.square(scale * rng.standard_normal(d.shape))
    large = a + c + np.sqrt(c * (2.0 * a + c))
    # P(large) = 1/(1 + a/large)
    return np.where(rng.random(d.shape) * (large + a) <= large, large, np.square(a) / large)


def student_t_variances(d: np.ndarray, scale: Any, df: Any, rng: np.random.Generator) -> np.ndarray:
    """s² given d for s² ~ InverseGamma(df/2, df scale²/2) and d | s² ~ N(0, s²); elementwise."""
    shape = np.broadcast_to(0.5 * (np.asarray(df) + 1.0), d.shape)
    return 0.5 * (df * np.square(scale) + np.square(d)) / rng.standard_gamma(shape)


# From here the continued fraction's four terms are E₁ to the last digit, and e^z is far from overflow.
FRACTION = 500.0


def scaled_exp1(z: np.ndarray) -> np.ndarray:
    """e^z E₁(z) for z > 0; elementwise."""
    with np.errstate(over="ignore", invalid="ignore"):
        far = 1.0 / (z + 1.0 - 1.0 / (z + 3.0 - 4.0 / (z + 5.0 - 9.0 / (z + 7.0))))
    near = np.minimum(z, FRACTION)
    return np.where(z < FRACTION, np.exp(near) * special.exp1(near), far)


def horseshoe_precisions(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """η = 1/λ² with density ∝ e^(−zη)/(1 + η) on η > 0: that of λ ~ half-Cauchy(1) given d²/(2τ²) = z; elementwise.

    t = z(1 + η) has density ∝ e^(−t)/t on t > z, bounded by 1/t below 1 and by e^(−t) above: by rejection, three in
    five are accepted at worst (z = 1). In log(t/z), so that η near 0 keeps its digits.
    """
    log_z = np.log(z)
    below = np.maximum(-log_z, 0.0)  # the bound's mass below 1; above, it is e^(−max(z, 1))
    share, start = below / (below + np.exp(-1.0)), np.maximum(z, 1.0)
    share, start, below, log_z = (a.ravel() for a in (share, start, below, log_z))
    found, left = np.empty(z.size), np.arange(z.size)
    while left.size:
        u, e = rng.random((2, left.size)), rng.standard_exponential(left.size)
        near = u[0] < share[left]
        log_ratio = np.where(
            near, below[left] * (u[0] / np.where(near, share[left], 1.0)), below[left] + np.log1p(e / start[left])
        )
        t = np.exp(np.minimum(log_z[left] + log_ratio, 0.0))
        kept = u[1] < np.where(near, np.exp(-t), start[left] / (start[left] + e))
        found[left[kept]] = np.expm1(log_ratio[kept])
        left = left[~kept]
    return found.reshape(z.shape)


def log_half_cauchy(log_x: np.ndarray, scale: float) -> np.ndarray:
    """Log density of log x for x ~ half-Cauchy(scale)."""
    t = log_x - np.log(scale)
    return np.log(2.0 / np.pi) - np.logaddexp(t, -t)
