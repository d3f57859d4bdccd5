"""Processes of single kernels: `MaternProcess`, and constant states that see features of x (notation: see
`state_space_process`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.special

from credo.errors import NumericalError
from credo.kernels import Constant, Linear, Matern, Periodic, Polynomial, White
from credo.models.gaussian_process.solvers.state_space_process import Weights

__all__ = ["LEAVES"]

# e^−u is 0 in double precision from 746 on: larger gaps are this one, and no ∞ · 0 can arise.
LONGEST = 750.0


@dataclass(frozen=True)
class MaternProcess:
    """(f, f'/λ, f''/λ², …), λ = √(2ν)/ℓ: the equation (1 + d/du)^(p+1) f = white noise, ν = p + ½.

    F is its companion matrix and N = F + I is nilpotent, so that with Iₘ(u) = ∫₀ᵘ tᵐ e^−2t dt

        A = e^−u Σₖ uᵏ Nᵏ/k!,    Q = Σₘ Iₘ(u) Mₘ,    dA/du = F A,    dQ/du = e^−2u Σₘ uᵐ Mₘ

    in which no term of leading order in u cancels: a gap of 1e-12 lengthscales keeps its digits.
    """

    kernel: Matern
    error = 0.0

    @property
    def order(self) -> int:
        return int(self.kernel.nu - 0.5)

    @cached_property
    def rate(self) -> float:
        """λ."""
        return float(np.sqrt(2.0 * self.kernel.nu)) / float(np.ravel(self.kernel.lengthscale)[0])

    @cached_property
    def drift(self) -> np.ndarray:
        """F (S, S)."""
        size = self.order + 1
        F = np.eye(size, k=1)
        F[-1] = [-comb(size, j) for j in range(size)]
        return F

    @cached_property
    def powers(self) -> np.ndarray:
        """Nᵏ/k! (p + 1, S, S)."""
        N = self.drift + np.eye(self.order + 1)
        return np.stack([np.linalg.matrix_power(N, k) / factorial(k) for k in range(self.order + 1)])

    @cached_property
    def noise_powers(self) -> np.ndarray:
        """Mₘ (2p + 1, S, S), scaled so that Var f = 1."""
        impulse = self.powers[:, :, -1]  # the state after a unit shock, as a polynomial in u times e^−u
        M = np.zeros((2 * self.order + 1, self.order + 1, self.order + 1))
        for j, left in enumerate(impulse):
            for k, right in enumerate(impulse):
                M[j + k] += np.outer(left, right)
        whole = np.array([factorial(m) / 2.0 ** (m + 1) for m in range(len(M))])
        return M / np.tensordot(whole, M, 1)[0, 0]

    @cached_property
    def P(self) -> np.ndarray:
        whole = np.array([factorial(m) / 2.0 ** (m + 1) for m in range(2 * self.order + 1)])
        return np.tensordot(whole, self.noise_powers, 1)

    @property
    def pattern(self) -> np.ndarray:
        return np.ones((self.order + 1, self.order + 1), dtype=bool)

    def transition(self, gaps: np.ndarray) -> np.ndarray:
        u = self._units(gaps)
        return np.tensordot(np.exp(-u)[:, None] * _monomials(u, self.order), self.powers, 1)

    def innovation(self, gaps: np.ndarray) -> np.ndarray:
        return np.tensordot(self._integrals(self._units(gaps)), self.noise_powers, 1)

    def emission(self, x: np.ndarray) -> np.ndarray:
        return np.tile(np.eye(1, self.order + 1), (x.size, 1))

    def gradient(self, gaps: np.ndarray, x: np.ndarray, weights: Weights) -> np.ndarray:
        u = self._units(gaps)
        by_A = weights.A.reshape(u.size, -1) @ (self.drift @ self.powers).reshape(len(self.powers), -1).T
        by_Q = weights.Q.reshape(u.size, -1) @ self.noise_powers.reshape(len(self.noise_powers), -1).T
        slope = np.exp(-u) * np.einsum("nk,nk->n", by_A, _monomials(u, self.order))
        slope += np.exp(-2.0 * u) * np.einsum("nk,nk->n", by_Q, _monomials(u, 2 * self.order))
        return _kept(self.kernel, {"lengthscale": -float(np.einsum("n,n->", u, slope))})

    def _units(self, gaps: np.ndarray) -> np.ndarray:
        return np.minimum(gaps * self.rate, LONGEST)

    def _integrals(self, u: np.ndarray) -> np.ndarray:
        """Iₘ (n, 2p + 1): the last by the incomplete Γ function, the others by parts, where all terms are ≥ 0."""
        top = 2 * self.order
        values = np.empty((u.size, top + 1))
        values[:, top] = scipy.special.gammainc(top + 1, 2.0 * u) * (factorial(top) / 2.0 ** (top + 1))
        tail = np.exp(-2.0 * u)[:, None] * _monomials(u, top)
        for m in range(top, 0, -1):
            values[:, m - 1] = (2.0 * values[:, m] + tail[:, m]) / m
        return values


@dataclass(frozen=True)
class Features:
    """A kernel Σ_s h_s(x) h_s(z): a constant state with P = I. A subclass gives h and its slopes in θ."""

    kernel: Any
    origin: float
    tolerance: float

    @property
    def size(self) -> int:
        return 1

    @property
    def P(self) -> np.ndarray:
        return np.eye(self.size)

    @property
    def pattern(self) -> np.ndarray:
        return np.eye(self.size, dtype=bool)

    @property
    def error(self) -> float:
        return 0.0

    def transition(self, gaps: np.ndarray) -> np.ndarray:
        return np.tile(np.eye(self.size), (gaps.size, 1, 1))

    def innovation(self, gaps: np.ndarray) -> np.ndarray:
        return np.zeros((gaps.size, self.size, self.size))

    def gradient(self, gaps: np.ndarray, x: np.ndarray, weights: Weights) -> np.ndarray:
        return _kept(
            self.kernel, {name: float(np.einsum("na,na->", weights.h, slope)) for name, slope in self.slopes(x).items()}
        )

    def emission(self, x: np.ndarray) -> np.ndarray:
        return np.empty((x.size, 0))

    def slopes(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """name → ∂h/∂log(parameter) (n, S)."""
        return {}


class ConstantProcess(Features):
    """h = √variance."""

    def emission(self, x: np.ndarray) -> np.ndarray:
        return np.full((x.size, 1), np.sqrt(self.kernel.variance))

    def slopes(self, x: np.ndarray) -> dict[str, np.ndarray]:
        return {"variance": 0.5 * self.emission(x)}


class NothingProcess(Features):
    """`White`: no state, since rows share nothing. The solver puts its variance on the diagonal."""

    @property
    def size(self) -> int:
        return 0

    def slopes(self, x: np.ndarray) -> dict[str, np.ndarray]:
        return {"variance": np.empty((x.size, 0))}


class LinearProcess(Features):
    """h = x/ℓ."""

    def emission(self, x: np.ndarray) -> np.ndarray:
        return (x / self.kernel.lengthscale)[:, None]

    def slopes(self, x: np.ndarray) -> dict[str, np.ndarray]:
        return {"lengthscale": -self.emission(x)}


class PolynomialProcess(Features):
    """h_k = √(C(degree, k) offset^(degree − k)) (x/ℓ)ᵏ, k = 0 … degree."""

    @property
    def size(self) -> int:
        return int(self.kernel.degree) + 1

    def emission(self, x: np.ndarray) -> np.ndarray:
        degree, k = self.kernel.degree, np.arange(self.size)
        weight = scipy.special.binom(degree, k) * float(self.kernel.offset) ** (degree - k)
        return np.sqrt(weight) * _monomials(x / self.kernel.lengthscale, degree)

    def slopes(self, x: np.ndarray) -> dict[str, np.ndarray]:
        h, k = self.emission(x), np.arange(self.size)
        return {"lengthscale": -k * h, "offset": 0.5 * (self.kernel.degree - k) * h}


# Harmonics beyond these carry less than the tolerance for every ℓ ≥ 0.05 or so; a rougher function of the phase would
# need a state as large as the data are.
MOST_HARMONICS = 64


class PeriodicProcess(Features):
    """exp(−2 sin²(φ/2)/ℓ²) = Σ_j q_j cos jφ, q_j = 2 e^−c I_j(c), c = 1/ℓ² (q₀ half that), up to a `tolerance`.

    With c_j = e^−c I_j(c): dq_j/dc = c_{j−1} + c_{j+1} − 2 c_j for j ≥ 1, dq_0/dc = c_1 − c_0.
    """

    @cached_property
    def bessel(self) -> np.ndarray:
        """c_j (MOST_HARMONICS + 2,)."""
        c = 1.0 / float(self.kernel.lengthscale) ** 2
        return scipy.special.ive(np.arange(MOST_HARMONICS + 2), c)

    @cached_property
    def weights(self) -> np.ndarray:
        """q_j (J + 1,)."""
        q = 2.0 * self.bessel[:-1]
        q[0] *= 0.5
        left = 1.0 - np.cumsum(q)
        enough = np.flatnonzero(left <= self.tolerance)
        if not enough.size:
            raise NumericalError(  # what a search over the lengthscale turns back from
                f"StateSpace: {MOST_HARMONICS} harmonics do not follow {self.kernel!r}.",
                value=self.kernel.lengthscale,
                remedy="State a longer lengthscale, or use solvers.Exact or solvers.Vecchia.",
            )
        return q[: enough[0] + 1]

    @property
    def size(self) -> int:
        return 2 * self.weights.size - 1

    @property
    def error(self) -> float:
        return max(0.0, 1.0 - float(self.weights.sum()))

    def _waves(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Phase φ (n,) of x − origin, not reduced; cos jφ and sin jφ (n, J + 1)."""
        turns = (x - self.origin) / float(np.ravel(self.kernel.period)[0])
        angles = 2.0 * np.pi * np.outer(turns - np.round(turns), np.arange(self.weights.size))
        return 2.0 * np.pi * turns, np.cos(angles), np.sin(angles)

    def emission(self, x: np.ndarray) -> np.ndarray:
        _, cosine, sine = self._waves(x)
        return np.hstack([cosine, sine[:, 1:]]) * self._spread(np.sqrt(self.weights))

    def slopes(self, x: np.ndarray) -> dict[str, np.ndarray]:
        phase, cosine, sine = self._waves(x)
        j, c = np.arange(self.weights.size), self.bessel
        by_c = c[np.abs(j - 1)] + c[j + 1] - 2.0 * c[j]
        by_c[0] *= 0.5
        root = np.sqrt(self.weights)
        lengthscale = -by_c / float(self.kernel.lengthscale) ** 2 / np.maximum(root, np.finfo(float).tiny)
        turned = np.hstack([sine, -cosine[:, 1:]]) * self._spread(j * root) * phase[:, None]
        return {"lengthscale": np.hstack([cosine, sine[:, 1:]]) * self._spread(lengthscale), "period": turned}

    @staticmethod
    def _spread(values: np.ndarray) -> np.ndarray:
        """One value a harmonic (J + 1,) as one a state (2J + 1,)."""
        return np.concatenate([values, values[1:]])


#: leaves with a finite state
LEAVES: dict[type, Callable[..., Any]] = {
    Matern: lambda kernel, origin, tolerance: MaternProcess(kernel),
    Constant: ConstantProcess,
    White: NothingProcess,
    Linear: LinearProcess,
    Polynomial: PolynomialProcess,
    Periodic: PeriodicProcess,
}


def _monomials(u: np.ndarray, order: int) -> np.ndarray:
    """uᵏ (n, order + 1)."""
    powers = np.ones((u.size, order + 1))
    for k in range(order):  # np.power would take a logarithm an entry
        np.multiply(powers[:, k], u, out=powers[:, k + 1])
    return powers


def _kept(kernel: Any, gradients: dict[str, float]) -> np.ndarray:
    """(h,) the entries that are learned."""
    return np.array([gradients[name] for name in kernel.positive if name not in kernel.fixed], dtype=np.float64)
