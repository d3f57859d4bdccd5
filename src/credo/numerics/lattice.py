"""Evenly spread points in the unit cube, for integrals that must not depend on a seed."""

from __future__ import annotations

import numpy as np

__all__ = ["kronecker_points"]


def kronecker_points(n: int, d: int) -> np.ndarray:
    """2⌈n/2⌉ points of (0, 1)ᵈ: the additive recurrence x_i = ½ + i α mod 1, and the mirror image 1 − x_i of each.

    α_j = φ⁻ʲ with φ the root of φ^{d+1} = φ + 1, which generalises the golden ratio: every prefix is even, no search
    for a generator, and no point sits in a corner of the cube, where importance weights would explode.

    Reference: Roberts (2018), The unreasonable effectiveness of quasirandom sequences; Niederreiter (1992), §3.1 on
    Kronecker sequences.

    >>> x = kronecker_points(1000, 3)
    >>> x.mean(axis=0).round(12).tolist(), (12 * x.var(axis=0)).round(2).tolist()
    ([0.5, 0.5, 0.5], [1.0, 1.0, 1.0])
    """
    phi = 2.0
    for _ in range(64):  # contraction with factor < ½: 64 steps exhaust a float64
        phi = (1.0 + phi) ** (1.0 / (d + 1.0))
    alpha = phi ** -np.arange(1.0, d + 1.0)
    x = (0.5 + np.arange(1.0, (n + 1) // 2 + 1)[:, None] * alpha) % 1.0
    x = np.maximum(x, np.finfo(float).tiny)
    return np.vstack([x, 1.0 - x])
