"""Precisions small enough to be one dense matrix, one at a time or many side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

__all__ = ["DensePrecision", "DenseFactor"]

_LAPACK: Any = scipy.linalg.lapack
# Columns up to which a dense inverse takes less time than Python needs to think of anything else.
LARGEST = 128
# A pivot that has lost more than this to the columns before it: log |H| then errs by more than 1e-9, and QR takes over.
SMALLEST_PIVOT = 1e-7
# Where QR cannot: sums over many rows err by some 1e-14, and log |H| by 2e-4 at most.
HARDLY_A_PIVOT = 1e-12


class DensePrecision:
    """Symmetric matrices (p, p), kept whole: `G` (P, p²) of all pairs."""

    rounds: tuple[int, ...] = ()
    #: whether compiled loops are loaded anyway
    compiles = False

    def __init__(self, grams: list[Any], size: int) -> None:
        self.size = size
        #: the least pivot taken, as a share of its diagonal entry
        self.least = SMALLEST_PIVOT
        self.G = np.array([each.toarray().ravel() for each in grams]).reshape(len(grams), size * size)

    def __str__(self) -> str:
        return f"{self.size} dense"

    def assemble(self, pairs: np.ndarray) -> np.ndarray:
        """Σ pairs · gram (..., p²) for pairs (..., P)."""
        return pairs @ self.G

    def inner(self, factor: Any, mean: np.ndarray) -> np.ndarray:
        """⟨gram, H⁻¹ + mean meanᵀ⟩ of each pair, (P,)."""
        if factor.accurate:
            return factor.inner(mean)
        return self.G @ self.second(factor, mean)

    def second(self, factor: Any, mean: np.ndarray) -> np.ndarray:
        """H⁻¹ + mean meanᵀ, flat."""
        return (factor.inverse + mean[:, None] * mean).ravel()

    def contract(self, second: np.ndarray) -> np.ndarray:
        """⟨gram, E⟩ of each pair, for E kept as `second` is, (P,)."""
        return self.G @ second

    def outer(self, mean: np.ndarray, other: np.ndarray) -> np.ndarray:
        """mean otherᵀ + other meanᵀ, kept as `second` is."""
        product = mean[:, None] * other
        return (product + product.T).ravel()

    def times(self, h: np.ndarray, y: np.ndarray) -> np.ndarray:
        """H y, for an assembled H and y (p,) or (p, m)."""
        return h.reshape(self.size, self.size) @ y

    def locate(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Where the entries (i, j) stand in an assembled H."""
        return i * self.size + j

    def once(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Where (i, j) or (j, i) stands in an assembled H: the one that `factor` reads."""
        return np.minimum(i, j) * self.size + np.maximum(i, j)

    def whole(self, h: np.ndarray) -> np.ndarray:
        """h with what `factor` does not read made symmetric, for `times`."""
        upper = np.triu(h.reshape(self.size, self.size))
        return (upper + np.triu(upper, 1).T).ravel()

    def kept(self, factor: DenseFactor) -> np.ndarray:
        """Entries of H⁻¹ where those of H stand."""
        return factor.inverse.ravel()

    def matrix(self, h: np.ndarray) -> Any:
        """H (p, p), sparse, from the entries that `factor` reads."""
        return scipy.sparse.csr_array(self.whole(h).reshape(self.size, self.size))

    def factor(self, h: np.ndarray) -> DenseFactor | None:
        """None where pivots show that the digits do not suffice, or that H is singular. Overwrites h (p²,)."""
        matrix = h.reshape(self.size, self.size)
        diagonal = matrix.diagonal().copy()
        lower, info = _LAPACK.dpotrf(matrix.T, lower=1, clean=1, overwrite_a=1)
        if info:
            return None
        pivots = lower.diagonal()
        if not (pivots * pivots > self.least * diagonal).all():
            return None
        return DenseFactor(lower)


class DenseFactor:
    """L (p, p) with L Lᵀ = H."""

    accurate = False

    def __init__(self, lower: np.ndarray) -> None:
        self.lower = lower
        self.log_det = 2.0 * float(np.log(lower.diagonal()).sum())
        self._half: np.ndarray | None = None
        self._inverse: np.ndarray | None = None

    @property
    def half(self) -> np.ndarray:
        """L⁻¹."""
        half = self._half
        if half is None:
            half = self._half = _LAPACK.dtrtri(self.lower, lower=1)[0]
        return half

    @property
    def inverse(self) -> np.ndarray:
        """H⁻¹ (p, p)."""
        if self._inverse is None:
            half = self.half
            self._inverse = half.T @ half
        return self._inverse

    def solve(self, right: np.ndarray) -> np.ndarray:
        """H⁻¹ right, (p,) or (p, m)."""
        return _LAPACK.dpotrs(self.lower, right, lower=1)[0]

    def unwhiten(self, white: np.ndarray) -> np.ndarray:
        """L⁻ᵀ white (p, m): of covariance H⁻¹ where white has I."""
        return _LAPACK.dtrtrs(self.lower, white, lower=1, trans=1)[0]

    def diagonal(self) -> np.ndarray:
        return self.inverse.diagonal()

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """H⁻¹ at columns (i, j)."""
        return self.inverse[i, j]
