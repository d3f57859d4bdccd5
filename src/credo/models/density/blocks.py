"""Bayesian blocks: the piecewise constant density of highest posterior (Scargle et al. 2013)."""

from __future__ import annotations

import numpy as np

from credo.errors import ParameterError

__all__ = ["bayesian_blocks"]


def bayesian_blocks(
    x: np.ndarray, w: np.ndarray | None = None, p0: float = 0.05, gamma: float | None = None
) -> np.ndarray:
    """Edges (k + 1,) of the blocks that maximise Σ_k N_k log(N_k / T_k) − k c, T_k a block's width, N_k its rows.

    Parameters
    ----------
    x : (n,) ; w : (n,) counts, which add up where x is tied
    p0 : rate of blocks too many; c = 4 − log(73.53 p0 m^(−0.478)) for m different values (eq. 21, calibrated by
        simulation for moderate m)
    gamma : the prior ∝ γ^k itself, in (0, 1); c = −log γ, and p0 is not used

    Returns
    -------
    Edges halfway between values, the first and last at the extremes; one value has no width and no blocks: both edges
    equal it.

    Notes
    -----
    Dynamic programming over the last block's start. A start that is behind, without the price c of a block, stays
    behind, since splitting never lowers Σ N log(N/T); it is dropped (Killick, Fearnhead and Eckley 2012). About
    O(n × rows of a block); exact.

    Reference: Scargle, Norris, Jackson and Chiang (2013), Astrophysical Journal 764:167.

    >>> import numpy as np
    >>> x = np.concatenate([np.linspace(0, 1, 101), np.linspace(1.1, 11, 100)])
    >>> bayesian_blocks(x).round(2).tolist()
    [0.0, 1.0, 11.0]
    """
    if gamma is None and not 0.0 < p0 < 1.0:
        raise ParameterError("", "p0", "between 0 and 1 (exclusive)", p0)
    if gamma is not None and not 0.0 < gamma < 1.0:
        raise ParameterError("", "gamma", "None, or between 0 and 1 (exclusive)", gamma)
    values, place = np.unique(np.asarray(x, dtype=np.float64), return_inverse=True)
    counts = np.bincount(place, w, values.size).astype(np.float64)
    if values.size == 1:
        return np.repeat(values, 2)
    price = 4.0 - np.log(73.53 * p0 * values.size**-0.478) if gamma is None else -np.log(gamma)
    from credo.models.density.blocks_kernel import last_starts

    # From the last value, as the widths are: near-equal sums then round alike wherever the data lie.
    edges = np.concatenate([values[:1], 0.5 * (values[1:] + values[:-1]), values[-1:]])
    m = values.size
    starts, total = np.empty(m, dtype=np.int64), np.concatenate([[0.0], np.cumsum(counts)])
    room = np.empty(m + 1), np.empty(m), np.empty(m, dtype=np.int64)
    last_starts(values[-1] - edges, total, float(price), *room, starts)
    chosen = [m]
    while chosen[-1] > 0:
        chosen.append(int(starts[chosen[-1] - 1]))
    return edges[chosen[::-1]]
