"""Exponential families of mean field that a model makes: log q(z) = ⟨η, t(z)⟩ + log h(z) − A(η).

family        t(z)                       h
RowsNormal    a_iᵀz, (a_iᵀz)²            1                  i over the rows that the block stands in
Powers        log θ, θ^γ₁, θ^γ₂ …        what of the prior is no power
PolyaGamma    ω                          PG(n, 0)
Utility       u                          exp(−u²/2) on the side of 0 that was observed
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import special

from credo.errors import NotIdentifiedError
from credo.inference.gaussian_block import GaussianBlock, LinearFactor
from credo.inference.variational.exponential import ExponentialFamily, Tuple

__all__ = ["PolyaGammaWeights", "Powers", "RowsNormal", "Utility"]

LOG_2PI = math.log(2.0 * math.pi)
#: entries of the maps of a block that are kept dense
DENSE = 8_000_000
LARGEST = 400


class RowsNormal(ExponentialFamily):
    """A Normal vector z (p,) known by rows: η = (h, −w/2), log q = Σ h_i a_iᵀz − ½ w_i (a_iᵀz)² − A.

    rows : (R, p) sparse, of full column rank
    """

    def __init__(self, rows: Any, name: str) -> None:
        self.rows: Any = sp.csr_array(rows)
        self.name = name
        n = self.rows.shape[0]
        self.size = int(self.rows.shape[1])
        self.is_dense = self.size <= LARGEST and n * self.size <= DENSE
        if self.is_dense:
            self._whole = np.ascontiguousarray(self.rows.toarray())
        else:
            ones = np.ones(n)
            self._block = GaussianBlock([LinearFactor([self.rows], [ones], rowwise=True, name=name)], self.size)
        self._last: Any = (None, None)

    def belief(self, natural: Tuple) -> Any:
        """Mean (p,), log |H|, and what else draws and row moments need; kept for the last η asked for."""
        key = b"".join(np.ascontiguousarray(each).tobytes() for each in natural)
        if self._last[0] != key:
            self._last = (key, self._solved(natural))
        return self._last[1]

    def _solved(self, natural: Tuple) -> Any:
        h, w = natural[0], -2.0 * natural[1]
        if not self.is_dense:
            x = np.concatenate([np.ones(len(h)), -h / w, w**-0.5])
            belief = self._block.condition(x)
            return belief.mean, belief.log_det, belief
        A = self._whole
        try:
            lower = np.linalg.cholesky(A.T @ (w[:, None] * A))
        except np.linalg.LinAlgError:
            raise NotIdentifiedError(
                f"Model: the data and the priors do not determine {self.name}: the posterior is improper.",
                value=self.name, remedy="Give proper priors, such as Normal(0, 10).",
            ) from None  # fmt: skip
        half = np.linalg.inv(lower)
        mean = half.T @ (half @ (A.T @ h))
        return mean, 2.0 * float(np.log(np.diag(lower)).sum()), half

    def moments(self, natural: Tuple) -> Tuple:
        mean, _, rest = self.belief(natural)
        if self.is_dense:
            fitted, variance = self._whole @ mean, np.square(self._whole @ rest.T).sum(axis=1)
        else:
            fitted, sd = rest.project(self.rows)
            variance = np.square(sd)
        return fitted, np.square(fitted) + variance

    def log_normaliser(self, natural: Tuple) -> float:
        mean, log_det, _ = self.belief(natural)
        return 0.5 * float((self.rows @ mean) @ natural[0] + self.size * LOG_2PI - log_det)

    def mean_sd(self, natural: Tuple) -> tuple[np.ndarray, np.ndarray]:
        """Of z, (p,) each."""
        mean, _, rest = self.belief(natural)
        return mean, np.sqrt(np.square(rest).sum(axis=0)) if self.is_dense else rest.sd

    def draws(self, natural: Tuple, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """z (n, p) and log q (n,)."""
        mean, log_det, rest = self.belief(natural)
        noise = rng.standard_normal((n, self.size))
        z = mean + (noise @ rest if self.is_dense else rest._factor.unwhiten(noise.T).T)
        return z, -0.5 * (np.square(noise).sum(axis=1) + self.size * LOG_2PI - log_det)


#: nodes of the quadrature of one number, and points of the grid that draws come from
NODES, POINTS = 200, 2000
#: the density is followed down to e^−DEPTH of its top
DEPTH = 45.0
#: logarithms looked at
FARTHEST = 300.0


class Powers(ExponentialFamily):
    """Positive numbers θ: η = (α, −β_γ …), log q = α log θ − Σ_γ β_γ θ^γ + log h(θ) − A, entry by entry.

    gammas : the exponents; base : log h of arrays, None for 1; low, high : bounds of θ

    One power and no base: θ^γ is Gamma, in closed form. Else by Gauss–Legendre in log θ over all of the mass.
    """

    def __init__(
        self, gammas: Sequence[float], base: Callable[[np.ndarray], np.ndarray] | None, low: float, high: float
    ) -> None:
        self.gammas, self.base = tuple(gammas), base
        self.low = math.log(low) if low > 0.0 else -FARTHEST
        self.high = math.log(high) if math.isfinite(high) else FARTHEST
        self.is_gamma = base is None and len(self.gammas) == 1 and not (low > 0.0 or math.isfinite(high))
        self._nodes, weights = np.polynomial.legendre.leggauss(NODES)
        self._log_weights = np.log(weights)
        self._last: Any = (None, None)

    def start(self, typical: np.ndarray) -> Tuple:
        """Natural parameters of a wide q about a value."""
        alpha = np.full(typical.shape, sum(self.gammas) - 1.0)
        return (alpha, *(-(typical**-gamma) for gamma in self.gammas))

    def _gamma(self, natural: Tuple) -> tuple[np.ndarray, np.ndarray, float]:
        gamma = self.gammas[0]
        return (natural[0] + 1.0) / gamma, -natural[1], gamma

    def moments(self, natural: Tuple) -> Tuple:
        if self.is_gamma:
            shape, rate, gamma = self._gamma(natural)
            return (special.digamma(shape) - np.log(rate)) / gamma, shape / rate
        t, weights, _ = self._quadrature(natural)
        return tuple((weights * f).sum(axis=-1) for f in (t, *(np.exp(gamma * t) for gamma in self.gammas)))

    def log_normalisers(self, natural: Tuple) -> np.ndarray:
        """A of every entry."""
        if self.is_gamma:
            shape, rate, gamma = self._gamma(natural)
            with np.errstate(invalid="ignore"):
                return special.gammaln(shape) - shape * np.log(rate) - math.log(abs(gamma))
        return self._quadrature(natural)[2]

    def log_normaliser(self, natural: Tuple) -> float:
        return float(np.sum(self.log_normalisers(natural)))

    def _density(self, natural: Tuple, t: np.ndarray) -> np.ndarray:
        """Of t = log θ, (*shape, points) at natural parameters (*shape), unnormalised."""
        with np.errstate(all="ignore"):
            value = (natural[0][..., None] + 1.0) * t
            for gamma, eta in zip(self.gammas, natural[1:], strict=True):
                value = value + np.where(eta[..., None] == 0.0, 0.0, eta[..., None] * np.exp(gamma * t))
            value = value + (0.0 if self.base is None else self.base(np.exp(t)))
        return np.where(np.isnan(value), -np.inf, value)

    def _range(self, natural: Tuple) -> tuple[np.ndarray, np.ndarray]:
        """Where the density of t is above e^−DEPTH of its top: the ends, each (*shape, 1)."""
        shape = natural[0].shape
        low, high = np.full((*shape, 1), self.low), np.full((*shape, 1), self.high)
        steps = np.linspace(0.0, 1.0, 61)
        for _ in range(6):  # the top, closed in on
            t = low + (high - low) * steps
            at = self._density(natural, t).argmax(axis=-1)[..., None]
            low, high = (np.take_along_axis(t, np.clip(at + k, 0, 60), -1) for k in (-1, 1))
        top = 0.5 * (low + high)
        level = self._density(natural, top) - DEPTH
        ends = []
        for end in (self.low, self.high):
            inside, outside = top, np.full_like(top, end)
            above = self._density(natural, outside) > level
            for _ in range(40):
                middle = 0.5 * (inside + outside)
                is_in = self._density(natural, middle) > level
                inside, outside = np.where(is_in, middle, inside), np.where(is_in, outside, middle)
            ends.append(np.where(above, end, outside))
        return ends[0], ends[1]

    def _quadrature(self, natural: Tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes t, probabilities (*shape, NODES), and A (*shape)."""
        key = b"".join(np.ascontiguousarray(each).tobytes() for each in natural)
        if self._last[0] != key:
            low, high = self._range(natural)
            half = 0.5 * (high - low)
            t = 0.5 * (low + high) + half * self._nodes
            logs = self._density(natural, t) + self._log_weights + np.log(half)
            total = np.asarray(special.logsumexp(logs, axis=-1))
            self._last = (key, (t, np.exp(logs - total[..., None]), total))
        return self._last[1]

    def draws(self, natural: Tuple, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """θ (n, *shape) and log q (n,)."""
        shape = natural[0].shape
        if self.is_gamma:
            a, rate, gamma = self._gamma(natural)
            x = (np.maximum(rng.standard_gamma(a, (n, *shape)), 1e-300) / rate) ** (1.0 / gamma)
        else:
            low, high = self._range(natural)
            t = low + (high - low) * np.linspace(0.0, 1.0, POINTS)
            logs = self._density(natural, t)
            cells = np.exp(logs - logs.max(axis=-1, keepdims=True))
            below = np.cumsum(0.5 * (cells[..., 1:] + cells[..., :-1]), axis=-1)
            u = rng.random((n, *shape))
            flat_t, flat_below = t.reshape(-1, POINTS), below.reshape(-1, POINTS - 1)
            drawn = np.empty((n, len(flat_t)))
            for k, (points, total) in enumerate(zip(flat_t, flat_below, strict=True)):
                drawn[:, k] = np.interp(u.reshape(n, -1)[:, k] * total[-1], np.concatenate([[0.0], total]), points)
            x = np.exp(drawn).reshape(n, *shape)
        log_q = natural[0] * np.log(x) - self.log_normalisers(natural)
        for gamma, eta in zip(self.gammas, natural[1:], strict=True):
            log_q = log_q + eta * x**gamma
        log_q = log_q + (0.0 if self.base is None else self.base(x))
        return x, log_q.reshape(n, -1).sum(axis=1)


class PolyaGammaWeights(ExponentialFamily):
    """ω ~ PG(n, c): η = (−c²/2,), h the law PG(n, 0). counts : n (cells)."""

    def __init__(self, counts: np.ndarray) -> None:
        self.counts = counts

    def moments(self, natural: Tuple) -> Tuple:
        from credo.distributions.polya_gamma import PolyaGamma

        return (np.asarray(self.counts * PolyaGamma(1.0, np.sqrt(-2.0 * natural[0])).mean),)

    def log_normaliser(self, natural: Tuple) -> float:
        half = 0.5 * np.sqrt(-2.0 * natural[0])
        return -float(np.sum(self.counts * (half + np.log1p(np.exp(-2.0 * half)) - math.log(2.0))))


class Utility(ExponentialFamily):
    """u ~ Normal(m, 1) on one side of 0: η = (m,), h = exp(−u²/2) there. sign (cells) of the side."""

    def __init__(self, sign: np.ndarray) -> None:
        self.sign = sign

    def moments(self, natural: Tuple) -> Tuple:
        m = natural[0]
        side = self.sign * m
        return (m + self.sign * np.exp(-0.5 * np.square(side) - 0.5 * LOG_2PI - special.log_ndtr(side)),)

    def log_normaliser(self, natural: Tuple) -> float:
        m = natural[0]
        return float(np.sum(special.log_ndtr(self.sign * m) + 0.5 * np.square(m) + 0.5 * LOG_2PI))
