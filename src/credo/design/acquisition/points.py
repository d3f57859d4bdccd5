"""Evenly spread points, shifted at random: the same evenness for any seed."""

from __future__ import annotations

import numpy as np
import scipy.special
import scipy.stats

__all__ = ["even_normals", "even_points"]


def even_points(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """n points of [0, 1)ᵈ: a Sobol sequence moved by one random vector, modulo 1 (Cranley & Patterson 1976).

    >>> x = even_points(256, 2, np.random.default_rng(0))
    >>> np.bincount((4 * x[:, 0]).astype(int)).tolist()
    [64, 64, 64, 64]
    """
    power = max(int(np.ceil(np.log2(max(n, 1)))), 0)
    points = scipy.stats.qmc.Sobol(d, scramble=False).random_base2(power)[:n]
    return (points + rng.random(d)) % 1.0


def even_normals(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """n draws of d independent standard Normals, evenly spread: (n, d)."""
    return scipy.special.ndtri(np.clip(even_points(n, d, rng), 1e-12, 1.0 - 1e-12))
