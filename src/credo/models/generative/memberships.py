"""How much of each row belongs to each class, and the sums over rows that statistics are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["Memberships"]

# Up to this many classes one dense product with the indicators costs less than a sparse one (measured on 1e6 × 20).
_DENSE = 16
# Nonzeros counted at a time: some 100 MB of temporaries.
_NONZEROS = 4_000_000


@dataclass(frozen=True, eq=False)
class Memberships:
    """R (n, k) ≥ 0, the weight of every row in every class: by one code a row, or by shares.

    codes (n,) with weights (n,) or None; or shares (n, k), weights included.
    """

    n_classes: int
    codes: np.ndarray | None = None
    weights: np.ndarray | None = None
    shares: np.ndarray | None = None

    @cached_property
    def _sparse(self) -> Any:
        """Rᵀ (k, n)."""
        assert self.codes is not None
        n = len(self.codes)
        data = np.ones(n) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        return scipy.sparse.csr_array((data, self.codes, np.arange(n + 1)), shape=(n, self.n_classes)).T

    @cached_property
    def _dense(self) -> np.ndarray:
        if self.shares is not None:
            return np.ascontiguousarray(self.shares.T)
        assert self.codes is not None
        hot = (self.codes == np.arange(self.n_classes)[:, None]).astype(np.float64)
        return hot if self.weights is None else hot * self.weights

    @property
    def is_hard(self) -> bool:
        return self.shares is None

    def class_weight(self) -> np.ndarray:
        """Σ_i R_ic (k,)."""
        if self.shares is not None:
            return self.shares.sum(axis=0)
        assert self.codes is not None
        return np.bincount(self.codes, self.weights, minlength=self.n_classes).astype(np.float64)

    def sums(self, z: Any) -> np.ndarray:
        """Rᵀ z (k, d) of rows z (n, d), dense or sparse. Cost O(n d) for codes, O(n d k) for shares."""
        if scipy.sparse.issparse(z):
            return self._counted(z) if self.is_hard else np.ascontiguousarray((z.T @ self._dense.T).T)
        if self.is_hard and self.n_classes > _DENSE:
            return self._sparse @ z
        return self._dense @ z

    def _counted(self, z: Any) -> np.ndarray:
        """Rᵀ z for sparse rows: every nonzero is counted where its class and column meet, some rows at a time."""
        assert self.codes is not None
        d, total = z.shape[1], np.zeros(self.n_classes * z.shape[1])
        lengths = np.diff(z.indptr)
        start = 0
        while start < z.shape[0]:
            stop = max(start + 1, int(np.searchsorted(z.indptr, z.indptr[start] + _NONZEROS, side="right")) - 1)
            stop = min(stop, z.shape[0])
            cells = slice(z.indptr[start], z.indptr[stop])
            place = np.repeat(self.codes[start:stop].astype(np.int64) * d, lengths[start:stop])
            place += z.indices[cells]
            data = z.data[cells]
            if self.weights is not None:
                data = data * np.repeat(self.weights[start:stop], lengths[start:stop])
            total += np.bincount(place, data, minlength=len(total))
            start = stop
        return total.reshape(self.n_classes, d)

    def centred_squares(self, z: np.ndarray, centres: np.ndarray, seen: np.ndarray | None) -> np.ndarray:
        """Σ_i R_ic (z_ij − centres_cj)² (k, d), over the cells `seen` (n, d); overwrites z."""
        if self.codes is not None:
            z -= centres[self.codes]
            np.multiply(z, z, out=z)
            if seen is not None:
                z *= seen
            return self.sums(z)
        out = np.empty_like(centres)
        for c, share in enumerate(self._dense):
            square = np.square(z - centres[c])
            out[c] = share @ (square if seen is None else square * seen)
        return out
