"""`Profile`: the kernels that are one function f of one scaled number of a pair, a(x, z): its distance or dot product.

Everything follows from f and its derivatives f⁽ᵒ⁾ (o = 0 … 3) and from a. Slopes in x_i and z_j are sums of terms
A f⁽ᵒ⁾(a), where A is a monomial of scaled columns that goes with ℓ_i⁻² for each index i it has. So for weights W

    ∂/∂log ℓ_m   of Σ W A f⁽ᵒ⁾   =   Σ W A f⁽ᵒ⁺¹⁾ ∂a/∂log ℓ_m   −   2 (how often m is an index of A) Σ W A f⁽ᵒ⁾

All is done in blocks of rows that fit the cache; the only arrays of all pairs are a and the result.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from credo.errors import ParameterError
from credo.kernels.base import KEPT, HalfPullback, Leaf, Pullback
from credo.kernels.distance import STAIR, blocks, stairs

__all__ = ["Profile", "Term"]

# Of the corner on the diagonal that a block of rows has, each pair counts once and a row with itself half: times two.
_ONCE = np.triu(np.ones((STAIR, STAIR)), 1) + 0.5 * np.eye(STAIR)


class Term(NamedTuple):
    """A f⁽ᵒʳᵈᵉʳ⁾(a): `factor` A (n, m) or a number, and its indices."""

    order: int
    factor: Any
    indices: tuple[int, ...]


class Profile(Leaf):
    """Base of `Radial` and `DotProduct`; `lengthscale` is a number or one for each active column (ARD)."""

    positive: ClassVar[tuple[str, ...]] = ("lengthscale",)

    lengthscale: Any  # a field of each kernel, which settles its place

    def _has_slopes(self) -> bool:
        return True

    @abstractmethod
    def _profile(self, a: np.ndarray, order: int) -> np.ndarray:
        """f⁽ᵒʳᵈᵉʳ⁾(a), with 0 where it has no finite value: what multiplies it is 0 there."""

    def _shape_gradients(self, a: np.ndarray, order: int, weight: np.ndarray) -> dict[str, float]:
        """Σ W ∂f⁽ᵒʳᵈᵉʳ⁾/∂log(parameter) for parameters besides the lengthscale."""
        return {}

    @abstractmethod
    def _argument(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """a (n, m) of scaled rows."""

    @abstractmethod
    def _pair(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Scaled rows (n, active) and (m, active)."""

    @abstractmethod
    def _by_column(self, B: np.ndarray, x: np.ndarray, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        """−½ Σ B ∂a/∂log ℓ_m (active,) for a block of rows; B is overwritten."""

    @abstractmethod
    def _total(self, B: np.ndarray, a: np.ndarray) -> float:
        """Σ_m of `_by_column`, what one lengthscale for all takes."""

    @abstractmethod
    def _terms(self, x: np.ndarray, z: np.ndarray, i: int | None, j: int | None) -> list[Term]:
        """∂/∂x_i ∂/∂z_j of k, not both None, i and j counted among the active columns."""

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        a = self._argument(*self._pair(X, Z))
        return self._values(a, a)

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        x, z = self._pair(X, Z)
        return self._pull(x, z, self._argument(x, z), weight)

    def _value_and_pullback(self, X: np.ndarray) -> tuple[np.ndarray, Pullback]:
        x, z = self._pair(X, None)
        a = self._argument(x, z)
        return self._values(a, np.empty_like(a)), lambda weight: self._pull(x, z, a, weight)

    def half_and_pullback(self, X: np.ndarray, factor: float = 1.0) -> tuple[np.ndarray, HalfPullback]:
        x, _ = self._pair(X, None)
        n = len(x)
        K, kept = np.zeros((n, n), order="F"), {}
        for rows, rest in stairs(n):
            a = self._argument(x[rows], x[rest])
            np.multiply(self._profile(a, 0), factor, out=K.T[rows, rest])
            if n <= KEPT:
                kept[rows.start] = a

        def pullback(weight: np.ndarray) -> tuple[float, np.ndarray]:
            value, total = 0.0, self._nothing()
            for rows, rest in stairs(n):
                a = kept[rows.start] if kept else self._argument(x[rows], x[rest])
                W = (2.0 * factor) * weight.T[rows, rest]
                corner = W[:, : len(W)]
                corner *= _ONCE[: len(W), : len(W)]
                f, slope = self._profiles(a)
                value += float(np.vdot(W, f))
                total += self._of_term(Term(0, 1.0, ()), x[rows], x[rest], a, W, slope)
            return value, total

        return K, pullback

    def _profiles(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f(a) and f′(a), for less than each alone where they share a function."""
        return self._profile(a, 0), self._profile(a, 1)

    def _nothing(self) -> np.ndarray:
        """A gradient of zeros (h,)."""
        return self._free({name: 0.0 * np.asarray(getattr(self, name)) for name in self.positive})

    def _values(self, a: np.ndarray, out: np.ndarray) -> np.ndarray:
        for rows in blocks(*a.shape):
            out[rows] = self._profile(a[rows], 0)
        return out

    def _pull(self, x: np.ndarray, z: np.ndarray, a: np.ndarray, weight: np.ndarray) -> np.ndarray:
        total = self._nothing()
        for rows in blocks(*a.shape):
            total += self._of_term(Term(0, 1.0, ()), x[rows], z, a[rows], weight[rows])
        return total

    def _of_term(
        self,
        term: Term,
        x: np.ndarray,
        z: np.ndarray,
        a: np.ndarray,
        weight: np.ndarray,
        slope: np.ndarray | None = None,
    ) -> np.ndarray:
        """∂/∂θ (h,) of Σ W A f⁽ᵒ⁾ over a block of rows; `slope`: f⁽ᵒ⁺¹⁾(a), if at hand, is overwritten."""
        weighted = weight if isinstance(term.factor, float) and term.factor == 1.0 else weight * term.factor
        gradients: dict[str, Any] = dict(self._shape_gradients(a, term.order, weighted))
        if "lengthscale" not in self.fixed:
            slope = self._profile(a, term.order + 1) if slope is None else slope
            B = np.multiply(weighted, slope, out=slope)
            own = float(np.vdot(weighted, self._profile(a, term.order))) if term.indices else 0.0
            if np.ndim(self.lengthscale):
                counts = np.bincount(term.indices, minlength=x.shape[1]) if term.indices else 0
                gradients["lengthscale"] = -2.0 * (self._by_column(B, x, z, a) + own * counts)
            else:
                gradients["lengthscale"] = -2.0 * (self._total(B, a) + own * len(term.indices))
        return self._free(gradients)

    def _derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        x, z = self._pair(X, Z)
        a = self._argument(x, z)
        for rows in blocks(*a.shape):
            part = a[rows]
            part[...] = sum(t.factor * self._profile(part, t.order) for t in self._terms(x[rows], z, i, j))
        return a

    def _derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        x, z = self._pair(X, Z)
        a = self._argument(x, z)
        total = self._nothing()
        for rows in blocks(*a.shape):
            for term in self._terms(x[rows], z, i, j):
                total += self._of_term(term, x[rows], z, a[rows], weight[rows])
        return total

    def _each(self, columns: int) -> np.ndarray:
        """Lengthscales (active,)."""
        return np.broadcast_to(np.asarray(self.lengthscale, dtype=np.float64), (columns,))

    def _checked_scale(self, columns: np.ndarray) -> np.ndarray:
        """The columns over their lengthscales; ones that overflow are refused."""
        size = np.size(self.lengthscale)
        owner = type(self).__name__
        if np.ndim(self.lengthscale) and size != columns.shape[1]:
            raise ParameterError(
                owner, "lengthscale", f"a number or one for each of {columns.shape[1]} columns", self.lengthscale
            )
        with np.errstate(over="ignore"):
            scaled = columns / self.lengthscale
        if not np.all(np.isfinite(scaled)):
            raise ParameterError(owner, "lengthscale", "so long that X/lengthscale is finite", self.lengthscale)
        return scaled
