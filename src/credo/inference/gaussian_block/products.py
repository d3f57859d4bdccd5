"""What the rows of factors with scalar coefficients amount to: products of their maps and constants, made once.

Notation, for one factor with rows already divided by w: r = Σ_k a_k M_k z + Σ_l b_l c_l, and z = z₀ + y about a centre
z₀. The columns C = [c_l, M_k z₀] have coefficients β = (b, a); C = Q R with orthonormal Q, and ρ = R β. Then

    rᵀr = ‖ρ‖² + 2 Σ_k a_k ρᵀ(QᵀM_k) y + Σ_{k,l} a_k a_l yᵀ(M_kᵀM_l) y

With z₀ near the mean, ρ is small however far the data lie from 0: ρ, not ρᵀρ, is what rounding touches, so that offsets
of 10⁸ sds cost 8 digits and not all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse

from credo.inference.gaussian_block.factors import LinearFactor
from credo.inference.gaussian_block.grams import Columns, gram

__all__ = ["Products", "Slots", "Weights"]


class Slots(NamedTuple):
    """Where the coefficients of one factor stand in the flat vector: slices of a (K), b (L) and s; one number each, or
    n each for a rowwise factor."""

    a: list[slice]
    b: list[slice]
    s: slice

    @classmethod
    def all_of(cls, factors: list[LinearFactor]) -> tuple[list[Slots], int]:
        """The slots of all factors in turn, and the length of the flat vector."""
        at, every = 0, []
        for factor in factors:
            width = factor.n if factor.rowwise else 1
            counts = len(factor.maps), len(factor.constants), 1
            places = [slice(at + width * k, at + width * (k + 1)) for k in range(sum(counts))]
            every.append(cls(places[: counts[0]], places[counts[0] : -1], places[-1]))
            at += width * sum(counts)
        return every, at


class Weights(NamedTuple):
    """Numbers that multiply the products at given coefficients, each (..., ·): inv2 = 1/s² of each factor, pairs
    a_k a_l/s², rho, cross a_k ρ_q/s²."""

    inv2: np.ndarray
    pairs: np.ndarray
    rho: np.ndarray
    cross: np.ndarray


class Products:
    """The products of all scalar factors, in the order of pairs (k ≤ l) within each factor.

    pair_i, pair_j, pair_f : slots of a_k, a_l and number of the factor, (P,)
    rows : (F,) numbers of rows; scale_slots : (F,) slots of s; scalar_slots : of every a and b, ascending
    cross : (Z, p) the rows qᵀM_k, cross_k, cross_q, cross_f : slot of a_k, index of ρ_q, factor
    R : (Q, C) block diagonal; beta : (C,) slots of the coefficients; rho_f : (Q,) factor of each ρ
    """

    def __init__(self, factors: list[LinearFactor], slots: list[Slots], size: int) -> None:
        self.factors, self.size = factors, size
        self.coefficient_slots = [
            ([each.start for each in s.a], [each.start for each in s.b], s.s.start) for s in slots
        ]
        pairs = [
            (a[k], a[m], f)
            for f, (a, _, _) in enumerate(self.coefficient_slots)
            for k in range(len(a))
            for m in range(k, len(a))
        ]
        self.pair_i, self.pair_j, self.pair_f = np.array(pairs, dtype=np.intp).reshape(-1, 3).T.copy()
        self.rows = np.array([each.n for each in factors], dtype=np.float64)
        self.scale_slots = np.array([s for _, _, s in self.coefficient_slots], dtype=np.intp)
        self.scalar_slots = np.array([k for a, b, _ in self.coefficient_slots for k in (*a, *b)], dtype=np.intp)
        self._to_i, self._to_j = self._to_scalar(self.pair_i), self._to_scalar(self.pair_j)
        self._pair_to_f = one_hot(self.pair_f, len(factors))
        self.centre_at(np.zeros(size))

    def _to_scalar(self, slots: np.ndarray) -> np.ndarray:
        """Sums what belongs to these slots into the order of `scalar_slots`."""
        return one_hot(np.searchsorted(self.scalar_slots, slots), len(self.scalar_slots))

    def centre_at(self, centre: np.ndarray) -> None:
        """Products about another centre z₀ (p,). Goes through the rows."""
        self.centre = centre
        moved = bool(np.any(centre))
        triangles, beta, rho_f, cross, index = [], [], [], [], []
        for f, (factor, (a, b, _)) in enumerate(zip(self.factors, self.coefficient_slots, strict=True)):
            columns = [*factor.constants, *(each @ centre for each in (factor.maps if moved else ()))]
            if not columns:
                continue
            Q, R = np.linalg.qr(np.column_stack(columns))
            first = len(rho_f)
            triangles.append(R)
            beta += [*b, *(a if moved else ())]
            rho_f += [f] * len(R)
            for slot, matrix in zip(a, factor.maps, strict=True):
                cross.append(matrix.T @ Q)
                index += [(slot, first + q, f) for q in range(len(R))]
        self.R: Any = scipy.linalg.block_diag(*triangles) if triangles else np.zeros((0, 0))
        self.beta, self.rho_f = np.array(beta, dtype=np.intp), np.array(rho_f, dtype=np.intp)
        self.cross = np.ascontiguousarray(np.hstack(cross).T) if cross else np.zeros((0, self.size))
        self.cross_k, self.cross_q, self.cross_f = np.array(index, dtype=np.intp).reshape(-1, 3).T.copy()
        self._to_rho = one_hot(self.cross_q, len(rho_f))
        self._to_k, self._to_beta = self._to_scalar(self.cross_k), self._to_scalar(self.beta)
        self._rho_to_f = one_hot(self.rho_f, len(self.rows))

    def grams(self) -> list[Any]:
        """The symmetric matrix (p, p) of each pair: M_kᵀM_k, or M_kᵀM_l + M_lᵀM_k."""
        every = []
        for factor in self.factors:
            maps = [Columns.of(each) for each in factor.maps]
            for k, left in enumerate(maps):
                every.append(gram(left, left))
                for right in maps[k + 1 :]:
                    product = gram(left, right)
                    every.append((product + product.T).tocsr())
        return every

    def weights(self, x: np.ndarray) -> Weights:
        """At coefficients x (..., D)."""
        inv2 = x[..., self.scale_slots] ** -2.0
        rho = x[..., self.beta] @ self.R.T
        return Weights(
            inv2,
            x[..., self.pair_i] * x[..., self.pair_j] * inv2[..., self.pair_f],
            rho,
            x[..., self.cross_k] * rho[..., self.cross_q] * inv2[..., self.cross_f],
        )

    def constant(self, w: Weights) -> Any:
        """Σ_f ‖ρ_f‖²/s_f²."""
        return (w.rho * w.rho * w.inv2[..., self.rho_f]).sum(axis=-1)

    def add_gradient(
        self, gradient: np.ndarray, x: np.ndarray, w: Weights, second: np.ndarray, projected: np.ndarray
    ) -> None:
        """Adds ∂ log ∫/∂ coefficients at x (..., D) to gradient (..., D), given second (..., P) = ⟨gram, E y yᵀ⟩ of
        each pair and projected (..., Z) = cross E y.

        By Fisher's identity it is E ∂ log Π N(r) under the belief about z: −E rᵀ∂r/s², and −n/s + E rᵀr/s³ for s.
        """
        half = 0.5 * second * w.inv2[..., self.pair_f]
        along = projected * w.inv2[..., self.cross_f]
        of_rho = w.rho * w.inv2[..., self.rho_f]
        squares = of_rho * w.rho + 2.0 * (w.cross * projected) @ self._to_rho
        of_rho = of_rho + (x[..., self.cross_k] * along) @ self._to_rho
        slopes = (half * x[..., self.pair_j]) @ self._to_i + (half * x[..., self.pair_i]) @ self._to_j
        slopes += (w.rho[..., self.cross_q] * along) @ self._to_k + (of_rho @ self.R) @ self._to_beta
        gradient[..., self.scalar_slots] -= slopes
        total = (w.pairs * second) @ self._pair_to_f + squares @ self._rho_to_f
        gradient[..., self.scale_slots] += (total - self.rows) / x[..., self.scale_slots]


def one_hot(index: np.ndarray, width: int) -> np.ndarray:
    """(N, width) with a 1 at (k, index_k): sums by index are products with it, for one evaluation or many."""
    matrix = np.zeros((len(index), width))
    matrix[np.arange(len(index)), index] = 1.0
    return matrix
