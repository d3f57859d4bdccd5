"""The compiled loop over the grids of groups, called with arrays as `tables` has them."""

from __future__ import annotations

import numpy as np

from credo.distributions.sites.base import ExponentialForm
from credo.inference.laplace_block.grid_kernel import grids
from credo.inference.laplace_block.tables import Summary
from credo.inference.laplace_block.targets import GroupTarget

__all__ = ["summarise"]

# Nodes of one group, at most.
MOST_NODES = 4096


def summarise(
    target: GroupTarget,
    form: ExponentialForm,
    centre: np.ndarray,
    half: np.ndarray,
    shift: np.ndarray,
    uniforms: np.ndarray,
    slopes: bool,
) -> tuple[Summary, np.ndarray]:
    """As `tables.summarise`, without edges: a walk ends where nothing is left. And the groups where it did not work."""
    (G, w), r = centre.shape, len(uniforms)
    site = max(range(len(target.parts)), key=lambda k: len(target.parts[k][3]))
    _, offset, a, of = target.parts[site]
    starts = np.searchsorted(of, np.arange(G + 1)).astype(np.int64)
    most = int(np.diff(starts).max(initial=1))
    out, draws, status = np.zeros((G, 7)), np.zeros((G, r, 2)), np.zeros(G, dtype=np.int64)
    slope = np.zeros(len(of) if slopes else 0)
    lower = np.zeros((G, 3))
    prior = np.zeros((G, 3))
    if w == 2:
        lower[:, 0], lower[:, 1] = half[:, 0, 0], half[:, 1, 0]
        prior[:, 0], prior[:, 1] = target.P[:, 0, 0], target.P[:, 0, 1]
    lower[:, 2], prior[:, 2] = half[:, -1, -1], target.P[:, -1, -1]
    grids(
        form.kind, w == 2, starts, form.linear, form.weight, form.sign * offset + form.shift,
        form.sign * _two(a.T).T.copy(), prior, _two(target.t), _two(centre), lower, _two(shift),
        np.ascontiguousarray(uniforms.T), slopes, out, draws, slope, np.empty((5, max(most, 1))),
        np.empty((2, max(most, 1))), np.empty((2, max(most, 1))), np.empty((3, MOST_NODES)),
        np.zeros(max(r, 1), dtype=np.int64), status,
    )  # fmt: skip
    spread = np.stack([out[:, [3, 4]], out[:, [4, 5]]], axis=1)[:, 2 - w :, 2 - w :]
    mean = np.ascontiguousarray(out[:, 3 - w : 3])
    log_sum = out[:, 0] + np.bincount(of, form.constant, G) if len(of) else out[:, 0].copy()
    picked = np.ascontiguousarray(draws.swapaxes(0, 1)[:, :, 2 - w :])
    every = [np.zeros(len(part[3]) if slopes else 0) for part in target.parts]
    every[site] = form.sign * (form.linear - form.weight * slope) if slopes else slope
    lost = np.flatnonzero(status)
    return Summary(log_sum, mean, spread, out[:, 6].copy(), np.full(G, np.inf), mean, picked, every), lost


def _two(x: np.ndarray) -> np.ndarray:
    """(G, 2) of (G, w): of one number, the second."""
    if x.shape[1] == 2:
        return np.ascontiguousarray(x)
    both = np.zeros((len(x), 2))
    both[:, 1] = x[:, 0]
    return both
