"""`propose_in_region`: `propose` within a trust region. Values are minimised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.acquisition import Proposal, State, propose
from credo.design.acquisition.checks import checked_constraints, checked_history
from credo.design.surrogates.cube import Grid, OneHot, cube_of
from credo.design.trust.region import Region
from credo.numerics.random import as_generator

__all__ = ["TrustProposal", "propose_in_region"]


@dataclass(frozen=True, eq=False)
class TrustProposal:
    """A `Proposal`, with the region it was made in, to be handed to the next call; box : None where the whole cube was
    searched."""

    proposal: Proposal
    region: Region
    box: tuple[np.ndarray, np.ndarray] | None


def propose_in_region(
    X: Any,
    y: Any,
    *,
    region: Region | None = None,
    state: State | None = None,
    kinds: Sequence[Grid | OneHot] | None = None,
    noisy: bool | None = None,
    constraints: Any = None,
    rng: np.random.Generator,
    **options: Any,
) -> TrustProposal:
    """The next points, sought in a box around the best trial, which follows what succeeds.

    region : of the last proposal, None to begin; X, y are all trials so far, in order. Other arguments as in `propose`.
    The belief is about the whole cube and all trials; the box is longer where lengthscales are. When a box has shrunk
    to nothing, the whole cube is searched once, for where the next begins.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((10, 25))
    >>> found = propose_in_region(X, np.sum((X - 0.3) ** 2, axis=1), rng=rng)
    >>> found.proposal.points.shape, found.region.length
    ((1, 25), 0.8)
    """
    rng = as_generator(rng)
    X, y = checked_history(X, y)
    met = np.all(checked_constraints(constraints, len(X)) <= 0.0, axis=1)
    region = (region or Region()).updated(y, X.shape[1], met)
    box = None
    own = np.arange(region.start, len(y))
    if own.size:
        best = own[np.lexsort((y[own], ~met[own]))[0]]
        box = region.box(X[best], _lengthscales(state, kinds, X.shape[1]))
    found = propose(
        X, y, kinds=kinds, noisy=noisy, constraints=constraints, rng=rng, state=state, box=box, **options
    )  # fmt: skip
    return TrustProposal(found, region, box)


def _lengthscales(state: State | None, kinds: Sequence[Grid | OneHot] | None, d: int) -> np.ndarray | None:
    """(d,) of the belief's kernel; categories, whose levels all boxes allow, at the mean of the others' logs."""
    ordered = cube_of(kinds, d).ordered
    if state is None or len(state.theta) <= ordered.size or not ordered.size:
        return None
    logs = np.asarray(state.theta[: ordered.size])
    full = np.full(d, logs.mean())
    full[ordered] = logs
    return np.exp(full)
