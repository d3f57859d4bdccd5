"""Covariance matrices that depend on θ: residuals x − μ ~ Normal(0, K) as independent rows.

With K = L Lᵀ and W = L⁻¹, row i is Σ_j (W_ij/W_ii) (x − μ)_j ~ Normal(0, 1/W_ii), for Π_i 1/W_ii = |L|.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.program.nodes import Node, apply, as_node
from credo.program.op import Op
from credo.program.ops import OPS

__all__ = ["MOST_ROWS", "whitened"]

#: each row of K becomes a map of the block
MOST_ROWS = 100


def whitened(covariance: Node) -> tuple[list[Node], Node]:
    """(columns W_·j/W_ii, each (d,); sds 1/W_ii (d,)) as expressions of θ."""
    d = covariance.shape[-1]
    W = Node("whitening", [covariance], shape=(d, d), dims=(None, None))
    sds = apply("divide", 1.0, W.reshape(d * d)[as_node(np.arange(d) * (d + 1))])
    return [W[:, j] * sds for j in range(d)], sds


def _forward(values: Sequence[np.ndarray], lead: Sequence[bool], static: dict[str, Any]) -> np.ndarray:
    """L⁻¹, NaN where K is not positive definite."""
    covariances = values[0].reshape(-1, *values[0].shape[-2:])
    out = np.full(covariances.shape, np.nan)
    eye = np.eye(covariances.shape[-1])
    for k, each in enumerate(covariances):
        try:
            out[k] = np.linalg.solve(np.linalg.cholesky(each), eye)
        except np.linalg.LinAlgError:
            continue
    return np.tril(out).reshape(values[0].shape)


def _pull(g: np.ndarray, out: np.ndarray, values: Sequence[np.ndarray], static: dict[str, Any]) -> list[np.ndarray]:
    """dW = −Φ(W dK Wᵀ) W, Φ the lower triangle with half the diagonal."""
    P = np.tril(g @ out.T)
    np.fill_diagonal(P, 0.5 * P.diagonal())
    slope = -out.T @ P @ out
    return [0.5 * (slope + slope.T)]


OPS.setdefault("whitening", Op("whitening", _forward, _pull, written="chol({0})⁻¹"))
