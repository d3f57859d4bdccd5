"""A state-space process between its rows: means, variances and covariances of f at any places.

Notation
    t (m,) places in order; h (m, S) what is seen there; P, m̂ the state's covariance and mean given the rows up to t,
    and N, r what the rows after say (see `state_space_filters`), all carried to t:

        E f = hᵀ(m̂ + P r),    Cov(f(t), f(t')) = hᵀ P T ᵀ(I − N' P') h',  t ≤ t',

    with T the product of (I − g hᵀ)A over the steps from t to t' (de Jong and Mackinnon 1988, Biometrika 75).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from credo.models.gaussian_process.solvers.state_space_process import Process

__all__ = ["Between", "covariances", "moments"]


@dataclass(frozen=True, eq=False)
class Between:
    """Places and their neighbours.

    t (m,); row (m,) the last at or before t, −1 for none; h (m, S); gaps to the neighbours, 0 where there is none;
    P (m, S, S), m (m, q, S) filtered at the row before; N (m, S, S), r (m, q, S) at the row after
    """

    t: np.ndarray
    row: np.ndarray
    h: np.ndarray
    gap_before: np.ndarray
    gap_after: np.ndarray
    P: np.ndarray
    m: np.ndarray
    N: np.ndarray
    r: np.ndarray


class _Here(NamedTuple):
    """The same at the places themselves."""

    P: np.ndarray
    m: np.ndarray
    N: np.ndarray
    r: np.ndarray


def _here(between: Between, process: Process) -> _Here:
    A, onward = process.transition(between.gap_before), process.transition(between.gap_after)
    P = A @ between.P @ np.swapaxes(A, 1, 2) + process.innovation(between.gap_before)
    m = np.einsum("tab,tqb->tqa", A, between.m)
    N = np.swapaxes(onward, 1, 2) @ between.N @ onward
    return _Here(P, m, N, np.einsum("tab,tqa->tqb", onward, between.r))


def moments(between: Between, process: Process) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prior variances (m,), means (m, q) and variances (m,) of f."""
    here, h = _here(between, process), between.h
    seen = np.einsum("tab,tb->ta", here.P, h)
    mean = np.einsum("tqa,ta->tq", here.m, h) + np.einsum("tqa,ta->tq", here.r, seen)
    variance = np.einsum("ta,ta->t", h, seen) - np.einsum("ta,tab,tb->t", seen, here.N, seen)
    return np.einsum("ta,ta->t", h @ process.P, h), mean, variance


def covariances(between: Between, process: Process, x: np.ndarray, h: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """All covariances (m, m) of f at the places, given rows x (n,) with h and gain (n, S)."""
    here = _here(between, process)
    m = between.t.size
    seen = np.einsum("tab,tb->ta", here.P, between.h)
    smooth = between.h - np.einsum("tab,tb->ta", here.N, seen)
    whole = np.empty((m, m))
    errors = np.empty((m, between.h.shape[1]))  # Cov(f(t_k), state at t_l given the rows before), k ≤ l
    for place in range(m):
        if place:
            T = _passage(between, process, place - 1, x, h, gain)
            errors[:place] = errors[:place] @ T.T
        errors[place] = seen[place]
        whole[: place + 1, place] = whole[place, : place + 1] = errors[: place + 1] @ smooth[place]
    return whole


def _passage(
    between: Between, process: Process, place: int, x: np.ndarray, h: np.ndarray, gain: np.ndarray
) -> np.ndarray:
    """T (S, S) from one place to the next, over the rows between them."""
    from credo.models.gaussian_process.solvers.state_space_filters import propagate

    first, stop = int(between.row[place]) + 1, int(between.row[place + 1]) + 1
    start, end = between.t[place], between.t[place + 1]
    if first == stop:
        return process.transition(np.array([end - start]))[0]
    A = process.transition(np.diff(np.concatenate([[start], x[first:stop], [end]])))
    T, room = np.eye(h.shape[1]), np.empty(h.shape[1])
    propagate(A[:-1], h[first:stop], gain[first:stop], T, room)
    return A[-1] @ T
