"""`TrustSampler`, "trust": a design to begin with, then a trust region of a Gaussian process."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.design.trust import Region, propose_in_region
from credo.studies.samplers.base import History, Suggestion
from credo.studies.samplers.gp import GPSampler, arguments, settled
from credo.studies.samplers.seen import design_size, free_parameters, seen, shown
from credo.studies.samplers.start import Start

__all__ = ["TrustSampler"]


class TrustSampler:
    """For many parameters: `propose_in_region`. Two objectives, which have no one best point, are left to "gp"."""

    def __init__(self) -> None:
        self._start = Start()

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion:
        """The point of the region whose trial is worth most, pending ones considered."""
        data = seen(space, history, pending)
        if data.values.ndim == 2:
            return GPSampler().propose(space, history, pending, rng)
        if not free_parameters(space) or data.told < design_size(space):
            return self._start.propose(space, history, pending, rng)
        X = space.encode(data.points).X
        options = arguments(space, history, data, rng)
        found = propose_in_region(X, data.values, region=_region(history.memory), **options)
        why = {"method": "trust", "acquisition": found.proposal.method, "reason": _reason(found.region, found.box)}
        memory = dataclasses.asdict(found.proposal.state) | {"region": found.region.state()}
        return settled(space, found.proposal.points[0], why | shown(found.proposal), memory, rng)


def _reason(region: Region, box: Any) -> str:
    if box is None:
        return f"region {region.restarts} collapsed: the next begins where most is expected"
    return f"a box of side {region.length:.3g} around the best"


def _region(memory: Any) -> Region | None:
    try:
        return Region.of(memory["region"])
    except (TypeError, KeyError):
        return None
