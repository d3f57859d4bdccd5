"""Bounded columns: rows near a bound are mirrored at it, so that no mass leaks out and the density is level there."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError

__all__ = ["checked_support", "folded", "mirrored", "outside"]


def checked_support(support: Any, d: int) -> np.ndarray | None:
    """Bounds (d, 2), ±∞ where open; None if every column is open.

    support : None; for every column None or (low, high), either of them None; for one column the pair itself
    """
    if support is None:
        return None
    constraint = f"None or a pair (low, high) for each of {d} columns, None where open"
    try:
        pairs = list(support)
        if d == 1 and len(pairs) == 2 and all(end is None or np.ndim(end) == 0 for end in pairs):
            pairs = [pairs]
        pairs = [(None, None) if pair is None else tuple(pair) for pair in pairs]
        bounds = np.array(
            [[-np.inf if low is None else low, np.inf if high is None else high] for low, high in pairs],
            dtype=np.float64,
        )
    except (TypeError, ValueError):
        raise ParameterError("KernelDensity", "support", constraint, support) from None
    if bounds.shape != (d, 2) or not np.all(bounds[:, 0] < bounds[:, 1]):
        raise ParameterError("KernelDensity", "support", constraint, support)
    return bounds if np.isfinite(bounds).any() else None


def outside(X: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Which rows lie outside the bounds."""
    return np.any((bounds[:, 0] > X) | (bounds[:, 1] < X), axis=1)


def check_inside(X: np.ndarray, bounds: np.ndarray, names: tuple[str, ...]) -> None:
    """Raises DataError naming rows outside."""
    rows = np.flatnonzero(outside(X, bounds))
    if rows.size:
        columns = [name for j, name in enumerate(names) if outside(X[:, [j]], bounds[[j]]).any()]
        raise DataError(
            f"KernelDensity: rows {rows[:5].tolist()}{' and more' if rows.size > 5 else ''} lie outside the support "
            f"of {', '.join(map(repr, columns))}.",
            rows=rows.tolist(), columns=columns, remedy="Widen `support`, or remove the rows.",
        )  # fmt: skip


def mirrored(
    X: np.ndarray, w: np.ndarray | None, bounds: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """The rows and their mirror images within `reach` (d,) of the bounds, each with its row's weight.

    Between two bounds images are mirrored again, as between two mirrors, until they are out of reach.
    """
    for j, (low, high) in enumerate(bounds):
        if not np.isfinite([low, high]).any():
            continue
        images = []
        for values in _images(X[:, j], low, high, reach[j]):
            near = np.flatnonzero((values >= low - reach[j]) & (values <= high + reach[j]))
            image = X[near].copy()
            image[:, j] = values[near]
            images.append((image, near))
        X = np.concatenate([X, *(image for image, _ in images)])
        w = None if w is None else np.concatenate([w, *(w[near] for _, near in images)])
    return X, w


def _images(x: np.ndarray, low: float, high: float, reach: float) -> list[np.ndarray]:
    if not np.isfinite(high):
        return [2.0 * low - x]
    if not np.isfinite(low):
        return [2.0 * high - x]
    period = 2.0 * (high - low)
    k = int(np.ceil(reach / period))
    shifts = period * np.arange(-k, k + 1)
    return [x + s for s in shifts if s != 0.0] + [2.0 * low - x + s for s in (*shifts, period * (k + 1))]


def folded(X: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Draws from the unbounded density as draws from the mirrored one."""
    X = X.copy()
    for j, (low, high) in enumerate(bounds):
        if np.isfinite(low) and np.isfinite(high):
            t = np.mod(X[:, j] - low, 2.0 * (high - low))
            X[:, j] = low + np.minimum(t, 2.0 * (high - low) - t)
        elif np.isfinite(low):
            X[:, j] = low + np.abs(X[:, j] - low)
        elif np.isfinite(high):
            X[:, j] = high - np.abs(X[:, j] - high)
    return np.clip(X, bounds[:, 0], bounds[:, 1])  # rounding may step over
