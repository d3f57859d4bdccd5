"""Ordered classes: P(y ≤ k | η) = F(c_{k+1} − η) with cut-points c_1 < … < c_{K−1}; F logistic or Normal.

Notation: a = c_k − η and b = c_{k+1} − η, the edges of the class on the latent scale (c_0 = −∞, c_K = ∞), Δ = b − a.
ψ = (c_1, log gaps), so that c_{j+1} = ψ_0 + Σ_{i ≤ j} e^ψ_i. Everything follows from four derivatives of
ℓ = log [F(b) − F(a)]: D1, D2, D3 in a common shift of a and b (ℓ′ = −D1, ℓ″ = D2, ℓ‴ = −D3) and its mix with b alone.
Cut-points below the class shift both edges, the gap of the class moves b alone, those above do nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from credo.distributions.categorical import Categorical
from credo.distributions.likelihoods.base import Likelihood, bad_rows, column, gaussian
from credo.distributions.likelihoods.bernoulli import BernoulliLogit, Binary
from credo.distributions.likelihoods.cloglog import BernoulliCloglog
from credo.distributions.likelihoods.integrals import expected_smooth, log_gaussian_integral
from credo.distributions.likelihoods.interval import log_normal_interval, normal_interval_slopes
from credo.distributions.likelihoods.probit import BernoulliProbit
from credo.errors import ParameterError
from credo.numerics.namespace import namespace

__all__ = ["OrdinalLogit", "OrdinalProbit"]


class Edges(NamedTuple):
    """D1, D2, D3 (see the module); `upper`, `upper2`: two derivatives in log Δ (in b where a = −∞); `mix` = ∂_b D1."""

    shift: Any
    shift2: Any
    shift3: Any
    upper: Any
    upper2: Any
    mix: Any


@dataclass(frozen=True)
class _Ordinal(Likelihood):
    n_classes: int

    kind = "class"
    #: the binary likelihood of the same F
    _binary = Binary()

    def __post_init__(self) -> None:
        if isinstance(self.n_classes, bool) or not isinstance(self.n_classes, (int, np.integer)) or self.n_classes < 2:
            raise ParameterError(type(self).__name__, "n_classes", "an integer ≥ 2", self.n_classes)

    # -- cut-points --------------------------------------------------------------------------------------------

    @property
    def auxiliary(self) -> tuple[str, ...]:
        """The first cut-point and the logarithms of the gaps."""
        return ("cutpoint_1", *(f"log_gap_{j}" for j in range(1, self.n_classes - 1)))

    def cutpoints(self, psi: Any) -> Any:
        """c (..., K − 1) of ψ (..., K − 1)."""
        psi = self._checked(psi)
        xp = namespace(psi)
        return xp.cumsum(xp.concatenate([psi[..., :1], xp.exp(psi[..., 1:])], -1), -1)

    def natural(self, psi: Any = None) -> tuple[Any, ...]:
        return (self.cutpoints(psi),)

    def initial_auxiliary(self, y: Any) -> np.ndarray:
        """Cut-points at the observed shares, half an observation added to each class."""
        counts = np.bincount(np.asarray(y, dtype=np.intp), minlength=self.n_classes) + 0.5
        cuts = self._binary.link(np.cumsum(counts)[:-1] / counts.sum())
        return np.concatenate([cuts[:1], np.log(np.diff(cuts))])

    def auxiliary_values(self, psi: Any) -> dict[str, np.ndarray]:
        """{"cutpoints": (..., K − 1)}."""
        return {"cutpoints": np.asarray(self.cutpoints(psi))}

    def auxiliary_log_prior(self, psi: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """The class probabilities of a row with η = 0 are uniform on the simplex: log Γ(K) + Σ log f(c_j) + Σ log gaps.

        Proper, log-concave in the cut-points, and the same whichever end is counted from. Betancourt (2019), Ordinal
        regression.
        """
        psi = np.asarray(self._checked(psi), dtype=np.float64)
        cuts = self.cutpoints(psi)
        log_f, slope, bend = self._log_density(cuts)
        # Σ over j ≥ i: what each ψ_i moves
        below, bends = (np.cumsum(part[..., ::-1], axis=-1)[..., ::-1] for part in (slope, bend))
        jacobian = np.exp(psi)
        jacobian[..., 0] = 1.0
        gap = np.ones(self.n_classes - 1)
        gap[0] = 0.0
        index = np.arange(self.n_classes - 1)
        hessian = jacobian[..., :, None] * jacobian[..., None, :] * bends[..., np.maximum.outer(index, index)]
        hessian[..., index, index] += gap * jacobian * below
        value = scipy.special.gammaln(self.n_classes) + log_f.sum(axis=-1) + (gap * psi).sum(axis=-1)
        return value, jacobian * below + gap, hessian

    def _log_density(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log F′(c) and its first two derivatives."""
        raise NotImplementedError

    # -- the likelihood ----------------------------------------------------------------------------------------

    def check(self, y: Any) -> np.ndarray:
        owner = type(self).__name__
        y = column(owner, y)
        bad = (y < 0) | (y >= self.n_classes) | (np.floor(y) != y)
        bad_rows(owner, y, bad, f"ordered class codes 0..{self.n_classes - 1}")
        return y

    def initial_eta(self, y: Any) -> np.ndarray:
        """0: where the middle is, the cut-points say."""
        return np.zeros(np.shape(y))

    def _natural_at(self, natural: tuple[Any, ...], rows: np.ndarray) -> list[Any]:
        """The cut-points are every row's."""
        return list(natural)

    def _best_eta(self, y: np.ndarray, psi: Any) -> np.ndarray:
        """The middle of the class, or one beyond the outer cut-point."""
        cuts = self.cutpoints(psi)
        return np.concatenate([cuts[:1] - 1.0, 0.5 * (cuts[1:] + cuts[:-1]), cuts[-1:] + 1.0])[y.astype(int)]

    def _edges(self, y: Any, eta: Any, cuts: Any) -> tuple[Any, Any]:
        """a and b."""
        xp = namespace(y, eta, cuts)
        infinite = xp.full((*cuts.shape[:-1], 1), np.inf)
        padded = xp.concatenate([-infinite, cuts, infinite], -1)
        code = xp.asarray(y).astype(int)
        if padded.ndim == 1:
            return padded[code] - eta, padded[code + 1] - eta
        code = xp.broadcast_to(code, (*padded.shape[:-1], code.shape[-1]))
        return tuple(xp.take_along_axis(padded, code + step, -1) - eta for step in (0, 1))

    def _log_prob(self, y: Any, eta: Any, cuts: Any) -> Any:
        return self._log_between(*self._edges(y, eta, cuts))

    def _log_between(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def _slopes(self, a: np.ndarray, b: np.ndarray) -> Edges:
        raise NotImplementedError

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, cuts: Any) -> tuple[Any, ...]:
        slopes = self._slopes(*self._edges(y, eta, cuts))
        return -slopes.shift, slopes.shift2, -slopes.shift3

    def joint_derivatives(self, y: Any, eta: Any, psi: Any = None, order: int = 2) -> tuple[np.ndarray, ...]:
        """See `Likelihood.joint_derivatives`. Memory (n, K, K); ψ_j of cut-points above a row's class gets 0."""
        psi, eta, cuts = np.asarray(self._checked(psi)), np.asarray(eta, dtype=np.float64), self.cutpoints(psi)
        a, b = self._edges(y, eta, cuts)
        slopes, value = self._slopes(a, b), self._log_between(a, b)
        k, index = np.asarray(y).astype(int)[..., None], np.arange(self.n_classes - 1)
        scale = np.exp(psi)
        scale[..., 0] = 1.0
        scale = scale[..., None, :]
        below, own = (index < k) * scale, (index == k) * 1.0  # what moves both edges, and what moves b alone
        d1, d2 = (np.asarray(part)[..., None] for part in (slopes.shift, slopes.shift2))
        upper, mix = (np.asarray(part)[..., None] for part in (slopes.upper, slopes.mix))
        first = np.empty((*value.shape, self.n_classes))
        first[..., :1], first[..., 1:] = -d1, below * d1 + own * upper
        if order < 2:
            return (value, first)[: order + 1]
        second = np.empty((*value.shape, self.n_classes, self.n_classes))
        second[..., 0, 0] = slopes.shift2
        own_scaled = own * np.where(index == 0, 1.0, scale)
        second[..., 0, 1:] = second[..., 1:, 0] = -(below * d2 + own_scaled * mix)
        cross = below[..., :, None] * own_scaled[..., None, :] * mix[..., None]
        block = below[..., :, None] * below[..., None, :] * d2[..., None] + cross + np.swapaxes(cross, -1, -2)
        block[..., index, index] += (index > 0) * below * d1 + own * np.asarray(slopes.upper2)[..., None]
        second[..., 1:, 1:] = block
        return value, first, second

    # -- what is predicted -------------------------------------------------------------------------------------

    def _cumulative(self, eta: Any, psi: Any) -> np.ndarray:
        """P(y ≤ k | η), (..., n, K − 1)."""
        cuts = np.asarray(self.cutpoints(psi))
        cuts = cuts[..., None, :] if cuts.ndim > 1 else cuts
        return self._binary.mean(cuts - np.asarray(eta, dtype=np.float64)[..., None])

    def probabilities(self, eta: Any, psi: Any = None) -> np.ndarray:
        """(..., n, K), each with its relative accuracy."""
        codes = np.arange(self.n_classes, dtype=np.float64)
        eta, cuts = np.asarray(eta, dtype=np.float64), np.asarray(self.cutpoints(psi))
        return np.stack([np.exp(self._log_prob(np.full(eta.shape, k), eta, cuts)) for k in codes], axis=-1)

    def mean(self, eta: Any, psi: Any = None) -> Any:
        """Expected code Σ k p_k; `probabilities` has the classes."""
        return (1.0 - self._cumulative(eta, psi)).sum(axis=-1)

    def link(self, mean: Any) -> Any:
        """Two classes only: F⁻¹ with a cut-point at 0; a mean of more does not determine η."""
        if self.n_classes > 2:
            raise ParameterError(type(self).__name__, "mean", "that of two classes to be inverted", mean)
        return self._binary.link(mean)

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """Variance of the code."""
        p, codes = self.probabilities(eta, psi), np.arange(self.n_classes)
        return (p * (codes - (p @ codes)[..., None]) ** 2).sum(axis=-1)

    def law(self, eta: Any, psi: Any = None) -> Categorical:
        """`Categorical` of the codes."""
        p = self.probabilities(eta, psi)
        return Categorical(p / p.sum(axis=-1, keepdims=True))

    def predictive_log_prob(self, y: Any, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """log P(y), η ~ N(m, v); absolute error below 1e-10."""
        m, v = gaussian(type(self).__name__, m, v)
        y, m, v = np.broadcast_arrays(np.asarray(y, dtype=np.float64), m, v)
        cuts, code = self.cutpoints(psi), y.ravel()
        return log_gaussian_integral(
            lambda rows, eta: self._log_prob(code[rows], eta, cuts),
            lambda rows, eta: self._derivatives(code[rows], eta, 2, cuts)[:2],
            self._best_eta(y, psi),
            m,
            v,
        )

    def predictive_probabilities(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """(..., K)."""
        m, v = gaussian(type(self).__name__, m, v)
        p = np.stack([np.exp(self.predictive_log_prob(k, m, v, psi)) for k in range(self.n_classes)], axis=-1)
        return p / p.sum(axis=-1, keepdims=True)

    def predictive_mean(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """Expected code."""
        return self.predictive_probabilities(m, v, psi) @ np.arange(self.n_classes)

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E Var(code | η)."""
        return self._expected(lambda eta, rows: self.variance(eta, psi), m, v)

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """Var E(code | η), as the mean of squares about its centre."""
        centre = np.atleast_1d(self.predictive_mean(m, v, psi)).ravel()
        ends = centre**2, (self.n_classes - 1.0 - centre) ** 2
        return self._expected(lambda eta, rows: (self.mean(eta, psi) - centre[rows]) ** 2, m, v, *ends)

    def expected_entropy(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E H(y | η) in nats."""
        return self._expected(lambda eta, rows: scipy.special.entr(self.probabilities(eta, psi)).sum(axis=-1), m, v)

    def _expected(self, f: Any, m: Any, v: Any, low: Any = 0.0, high: Any = 0.0) -> np.ndarray:
        m, v = gaussian(type(self).__name__, m, v)
        return expected_smooth(lambda rows, eta: f(eta, rows), m.ravel(), v.ravel(), low, high).reshape(m.shape)[()]


@dataclass(frozen=True)
class OrdinalLogit(_Ordinal):
    """Ordered classes 0..K−1 with logistic errors: proportional odds.

    Parameters
    ----------
    n_classes : K ≥ 2. ψ = (c_1, log gaps), K − 1 numbers, learned: their prior makes the class probabilities at η = 0
        uniform on the simplex. η needs no intercept: the cut-points are one.

    Log-concave in η, and jointly in η and the cut-points.

    Examples
    --------
    >>> import numpy as np
    >>> likelihood, psi = OrdinalLogit(3), np.array([-1.0, np.log(2.0)])
    >>> likelihood.cutpoints(psi).tolist()
    [-1.0, 1.0]
    >>> likelihood.probabilities(np.array([0.0]), psi).round(4).tolist()
    [[0.2689, 0.4621, 0.2689]]

    Reference: McCullagh (1980), Regression models for ordinal data, JRSS B 42.
    """

    _binary = BernoulliLogit()

    def _log_density(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        f, g = scipy.special.expit(c), scipy.special.expit(-c)
        return -np.logaddexp(0.0, c) - np.logaddexp(0.0, -c), g - f, -2.0 * f * g

    def _log_between(self, a: Any, b: Any) -> Any:
        """−log(1 + e^−b) − log(1 + e^a) + log(1 − e^−Δ)."""
        xp = namespace(a, b)
        return -xp.logaddexp(0.0, -b) - xp.logaddexp(0.0, a) + xp.log(-xp.expm1(a - b))

    def _slopes(self, a: np.ndarray, b: np.ndarray) -> Edges:
        fa, ga, fb, gb = (scipy.special.expit(x) for x in (a, -a, b, -b))
        pa, pb, gap = fa * ga, fb * gb, b - a
        inner = np.isfinite(a) & np.isfinite(b)
        # log(1 − e^−Δ) in log Δ is the complementary log-log
        width = np.where(inner, gap, 1.0)
        own = BernoulliCloglog()._derivatives(1.0, np.log(width), 2)
        upper = np.where(inner, own[0] + width * gb, gb)
        upper2 = np.where(inner, own[1] + width * gb - width * width * pb, -pb)
        return Edges(gb - fa, -pb - pa, -pb * (gb - fb) - pa * (ga - fa), upper, upper2, -pb)


@dataclass(frozen=True)
class OrdinalProbit(_Ordinal):
    """Ordered classes 0..K−1 with standard Normal errors.

    Parameters
    ----------
    n_classes : K ≥ 2; ψ as in `OrdinalLogit`.

    Examples
    --------
    >>> import numpy as np
    >>> likelihood, psi = OrdinalProbit(3), np.array([-1.0, np.log(2.0)])
    >>> likelihood.probabilities(np.array([0.0]), psi).round(4).tolist()
    [[0.1587, 0.6827, 0.1587]]
    """

    _binary = BernoulliProbit()

    def _log_density(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return -0.5 * c * c - 0.5 * np.log(2.0 * np.pi), -c, np.full_like(c, -1.0)

    def _log_between(self, a: Any, b: Any) -> Any:
        return log_normal_interval(a, b)

    def _slopes(self, a: np.ndarray, b: np.ndarray) -> Edges:
        shift, shift2, shift3, upper = normal_interval_slopes(a, b)
        inner = np.isfinite(a) & np.isfinite(b)
        finite_b = np.where(np.isfinite(b), b, 0.0)
        width = np.where(inner, b - a, 1.0)
        mix = -upper * (finite_b + shift)
        # ∂²ℓ/∂b² = −b r − r², r = φ(b)/P, scaled to log Δ
        r = width * upper
        return Edges(shift, shift2, shift3, r, np.where(inner, r, 0.0) - r * (width * finite_b + r), mix)

    def predictive_log_prob(self, y: Any, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """log P(y), η ~ N(m, v): the cut-points less m over √(1 + v)."""
        m, v = gaussian("OrdinalProbit", m, v)
        a, b = self._edges(np.asarray(y), m, self.cutpoints(psi))
        sd = np.sqrt(1.0 + v)
        return log_normal_interval(a / sd, b / sd)
