"""log of a kernel density at many rows: by grid, by blocks or by tree, whichever is cheapest within the tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.density.grid import grid_sums, plan
from credo.models.density.kernels import log_norm
from credo.models.density.sums import log_sums

__all__ = ["Trees", "log_density"]

# "Exact" still leaves out far blocks, whose share is below rounding.
ROUNDING = 1e-15


@dataclass(frozen=True)
class Trees:
    """How scikit-learn's trees are to work; `p` of the metric |x|_p; `h`, the bandwidth that is left to them."""

    algorithm: str
    metric: str
    leaf_size: int
    breadth_first: bool
    p: float
    options: dict[str, Any]
    h: float = 1.0


def log_density(
    Z: np.ndarray, w: np.ndarray | None, Y: np.ndarray, kernel: str, rtol: float, atol: float, trees: Trees
) -> np.ndarray:
    """log Σ_i w_i K(y − z_i) for rows of Y (q, d), in units of the bandwidth; within rtol f + atol of f.

    Z (n, d) ; w (n,) > 0, summing to 1, or more when mirror images are among the points; None: 1/n each
    """
    constant = log_norm(kernel, Z.shape[1], trees.p)
    if kernel == "gaussian" and trees.algorithm == "auto" and trees.metric in ("euclidean", "l2"):
        return _gaussian(Z, w, Y, max(rtol, ROUNDING), atol * np.exp(min(constant, 700.0))) - constant
    return _by_tree(Z, w, Y, kernel, rtol, atol, trees, constant)


def _gaussian(Z: np.ndarray, w: np.ndarray | None, Y: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    found = plan(Z, Y.shape[0], rtol)
    if found is None:
        return log_sums(Z, _weights(Z, w), Y, rtol)
    sums = grid_sums(found, Z, w, Y)
    least = found.least * (1.0 if w is None else w.sum())
    small = np.flatnonzero(~(sums >= least)) if atol < least else np.flatnonzero(~(sums > 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.log(sums)
    if small.size:
        result[small] = log_sums(Z, _weights(Z, w), Y[small], rtol)
    return result


def _weights(Z: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    return np.full(Z.shape[0], 1.0 / Z.shape[0]) if w is None else w


def _by_tree(
    Z: np.ndarray,
    w: np.ndarray | None,
    Y: np.ndarray,
    kernel: str,
    rtol: float,
    atol: float,
    trees: Trees,
    constant: float,
) -> np.ndarray:
    from sklearn.neighbors import BallTree, KDTree

    ball = trees.algorithm == "ball_tree" or trees.metric == "haversine"
    kind: Any = BallTree if ball else KDTree
    tree = kind(Z, leaf_size=trees.leaf_size, metric=trees.metric, sample_weight=_weights(Z, w), **trees.options)
    # scikit-learn divides by the Euclidean constant whatever the metric, and by a wrong one for the cosine kernel in an
    # even number of columns (1.9: its integral lacks the term at r = 0): what it divides by shows at a lone point.
    lone = kind(np.zeros((1, Z.shape[1])))
    own = -float(lone.kernel_density(np.zeros((1, Z.shape[1])), h=1.0, kernel=kernel, return_log=True)[0])
    excess = own - constant
    log_f = tree.kernel_density(
        Y, h=trees.h, kernel=kernel, atol=atol * np.exp(-excess), rtol=rtol, breadth_first=trees.breadth_first,
        return_log=True,
    )  # fmt: skip
    return np.asarray(log_f) + excess
