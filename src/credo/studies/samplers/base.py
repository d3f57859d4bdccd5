"""`Sampler`, the protocol of what proposes; `History`, what it sees; `Suggestion`, what it returns."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from credo.design.spaces import Space
from credo.errors import ParameterError

__all__ = ["NAMES", "Guess", "History", "Sampler", "Suggestion", "sampler_of"]


@dataclass(frozen=True)
class Guess:
    """Someone thinks the best is near params: some parameters' values, each with an sd, as a share of its range."""

    params: Mapping[str, Any]
    sd: Mapping[str, float]


@dataclass(frozen=True)
class History:
    """What a sampler may know, in the order of the trials' numbers.

    points, values : told trials; values (n,) with lower better, whatever the study's direction; (n, 2) of a study with
        two objectives
    constraints : (n, k) of told trials, met where ≤ 0; None without any
    guesses : where someone thinks the best is
    failed : points whose trial failed or was pruned
    index : how many points were asked before, those of lost workers once; seed : the study's
    noisy : whether the same point may give another value: True, False or None (unknown)
    memory : what the sampler returned with its last suggestion
    """

    points: Sequence[Mapping[str, Any]] = ()
    values: np.ndarray = field(default_factory=lambda: np.empty(0))
    failed: Sequence[Mapping[str, Any]] = ()
    index: int = 0
    seed: int = 0
    noisy: bool | None = None
    memory: Any = None
    constraints: np.ndarray | None = None
    guesses: Sequence[Guess] = ()


@dataclass(frozen=True)
class Suggestion:
    """A point to try; `why` and `memory` are JSON data, kept with the trial and handed back in the next `History`."""

    params: Mapping[str, Any]
    why: Mapping[str, Any] = field(default_factory=dict)
    memory: Any = None


@runtime_checkable
class Sampler(Protocol):
    """Anything with this method; it must not depend on anything but its arguments, so that a study replays."""

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion | Mapping[str, Any]:
        """The next point to try; `pending` are being tried."""
        ...


# Imported when chosen: the model's Gaussian process takes a second, which a worker with a plain design need not pay.
_NAMED = {
    "auto": ("credo.studies.samplers.auto", "AutoSampler"),
    "gp": ("credo.studies.samplers.gp", "GPSampler"),
    "forest": ("credo.studies.samplers.forest", "ForestSampler"),
    "trust": ("credo.studies.samplers.trust", "TrustSampler"),
    "sobol": ("credo.studies.samplers.designs", "SobolSampler"),
    "random": ("credo.studies.samplers.designs", "RandomSampler"),
}


#: what `Study(sampler=…)` takes by name
NAMES = tuple(_NAMED)


def sampler_of(given: Any) -> tuple[str, Sampler]:
    """Name and sampler from a name of `NAMES` or a `Sampler`."""
    if isinstance(given, str) and given in _NAMED:
        module, name = _NAMED[given]
        return given, getattr(importlib.import_module(module), name)()
    if not isinstance(given, (str, type)) and isinstance(given, Sampler):
        return type(given).__name__, given
    raise ParameterError("Study", "sampler", f"one of {sorted(_NAMED)} or an object with a method propose", given)
