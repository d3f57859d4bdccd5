"""Modes: local maxima of a kernel density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, UnavailableError, warn
from credo.models.density.line import nodes
from credo.models.density.sums import kd_order

__all__ = ["Modes", "find_modes"]

# Nodes a bandwidth among which peaks are looked for: a Gaussian mixture with equal components is flat on that scale.
_NODES = 8
# In several columns: starts, one in each box of rows; steps; a step (in bandwidths) that is none any more.
_STARTS, _STEPS, _SETTLED = 128, 1000, 1e-8
# Modes nearer than this many bandwidths are one.
_SAME = 1e-2


@dataclass(frozen=True)
class Modes:
    """points (m, d), highest first; density (m,) there."""

    points: np.ndarray
    density: np.ndarray

    def __len__(self) -> int:
        return self.density.size


def find_modes(model: Any) -> Modes:
    """The modes of a fitted `KernelDensity`.

    One column: peaks among nodes an eighth of the bandwidth apart, refined by parabolas to about 1e-6 bandwidths.
    Several: mean shift (Fukunaga and Hostetler 1975) from the densest row of each of up to 128 boxes of rows, for
    Gaussian kernels; O(n) a step and start.

    Raises
    ------
    UnavailableError : several columns and a kernel other than Gaussian, or a metric other than Euclidean.
    """
    smoothing, Z, w = model._mirrored()
    if Z.shape[1] == 1:
        found = smoothing.from_unit(_peaks(model, smoothing, Z[:, 0])[:, None])
    elif model.kernel != "gaussian" or model.metric not in ("euclidean", "l2"):
        raise UnavailableError(
            "KernelDensity.modes in several columns needs a Gaussian kernel and the Euclidean metric.",
            value=(model.kernel, model.metric),
        )
    else:
        found = smoothing.from_unit(_mean_shift(model, smoothing, Z, w))
    log_f = model._log_density(found, 0.0)
    found, log_f = found[np.isfinite(log_f)], log_f[np.isfinite(log_f)]
    order = np.argsort(-log_f, kind="stable")
    return Modes(found[order], np.exp(log_f[order]))


def _peaks(model: Any, smoothing: Any, z: np.ndarray) -> np.ndarray:
    def log_f(u: np.ndarray, rtol: float) -> np.ndarray:
        return model._log_density(smoothing.from_unit(u.reshape(-1, 1)), rtol).reshape(u.shape)

    u = nodes(z, _NODES)
    values = log_f(u, 1e-8)  # what a grid can do; peaks lower than that are none
    # A plateau counts once, by its middle; where nodes are apart the density is next to nothing.
    first = np.append(0, 1 + np.flatnonzero(values[1:] != values[:-1]))
    last = np.append(first[1:] - 1, u.size - 1)
    height = np.concatenate([[-np.inf], values[first], [-np.inf]])
    top = np.flatnonzero((height[1:-1] > height[:-2]) & (height[1:-1] > height[2:]))
    best, step = 0.5 * (u[first[top]] + u[last[top]]), 1.0 / _NODES
    for _ in range(6):
        left, middle, right = log_f(np.array([best - step, best, best + step]), 1e-12)
        with np.errstate(divide="ignore", invalid="ignore"):
            move = 0.5 * (left - right) / (left - 2.0 * middle + right)
        best = best + step * np.clip(np.where(np.isfinite(move), move, 0.0), -1.0, 1.0)
        step /= 6.0
    return best


def _mean_shift(model: Any, smoothing: Any, Z: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    weights = np.full(Z.shape[0], 1.0 / Z.shape[0]) if w is None else w
    log_f = model._log_density(smoothing.from_unit(Z), 1e-3)
    boxes = kd_order(Z, max(1, -(-Z.shape[0] // _STARTS)))
    at = Z[[rows[np.argmax(log_f[rows])] for rows in boxes]]
    for step in range(_STEPS):
        moved = _shifted(Z, weights, at)
        settled = np.abs(moved - at).max() < _SETTLED
        at = _distinct(moved) if settled or step % 10 == 9 else moved
        if settled:
            return at
    warn("KernelDensity.modes: mean shift has not settled everywhere; some modes may be doubled.", ConvergenceWarning)
    return at


def _shifted(Z: np.ndarray, w: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Each point moved to the mean of the rows, weighted by the kernel about it."""
    square = np.square(at[:, None, :] - Z).sum(axis=2) if Z.size < 2**14 else (
        np.square(at).sum(axis=1)[:, None] + np.square(Z).sum(axis=1) - 2.0 * at @ Z.T
    )  # fmt: skip
    share = w * np.exp(-0.5 * (square - square.min(axis=1, keepdims=True)))
    return share @ Z / share.sum(axis=1, keepdims=True)


def _distinct(points: np.ndarray) -> np.ndarray:
    kept: list[np.ndarray] = []
    for point in points:
        if all(np.square(point - other).sum() > _SAME**2 for other in kept):
            kept.append(point)
    return np.array(kept)
