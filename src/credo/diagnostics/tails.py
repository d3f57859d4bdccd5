"""Whether draws have a mean: the shape of a generalised Pareto law fitted to the ends of each column.

p(x) ~ |x|^(−1 − 1/k) far out has a mean below k = 1 and a variance below k = ½. Averages of such draws look like any
others, and mean nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.diagnostics.psis import MIN_DRAWS, pareto_fit, tail_size

__all__ = ["tail_shape"]


def tail_shape(x: Any) -> np.ndarray:
    """k̂ (...) of the longer tail of draws (S, ...); −∞ where all are equal at both ends, or there are too few.

    Its error is about (1 + k)/√M with M = 3 √S draws in a tail: 0.1 for 4,000. Laws whose tails fall faster than every
    power, but slowly, such as a log-Normal of large σ, look like powers to so many draws: their means are then as hard
    to estimate.

    >>> rng = np.random.default_rng(0)
    >>> k = tail_shape(np.column_stack([rng.normal(size=4000), rng.standard_cauchy(4000)]))
    >>> bool(k[0] < 0.1), bool(k[1] > 0.8)
    (True, True)

    Reference: Vehtari, Simpson, Gelman, Yao and Gabry, JMLR 25(72) (2024), §6.
    """
    x = np.asarray(x, dtype=np.float64)
    flat = x.reshape(len(x), -1)
    found = np.full(flat.shape[1], -np.inf)
    if len(flat) >= MIN_DRAWS:
        size = tail_size(len(flat))
        ordered = np.sort(flat, axis=0)
        for ends in (ordered[-size - 1 :], -ordered[size::-1]):
            excess = ends[1:] - ends[0]
            # a tail of few values, of counts as a rule, has no shape
            good = np.isfinite(ends).all(axis=0) & (excess[(size - 1) // 4] > 0.0)
            if good.any():
                found[good] = np.maximum(found[good], pareto_fit(excess[:, good])[0])
    return found.reshape(x.shape[1:])
