"""The next trial as a function of the events so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.errors import ParameterError, SpaceExhaustedError
from credo.studies.history import history_of
from credo.studies.samplers import Sampler, Suggestion, distinct
from credo.studies.samplers.distinct import untried
from credo.studies.state import StudyState

__all__ = ["next_proposal"]


def next_proposal(
    state: StudyState, sampler: Sampler, signs: Sequence[float], seed: int, noisy: bool | None
) -> tuple[int, dict[str, Any]]:
    """Number of the next trial and the data of its event "asked": first from the queue, then by the sampler."""
    index = state.next_id
    for key, (params, _, _) in sorted(state.queue.items()):
        if state.space.contains(params):  # a range may have been narrowed since
            return index, {"params": params, "why": {"method": "queued"}, "queued": key}
    tried = state.tried
    if noisy is not True and len(tried) >= state.space.size and not untried(state.space, tried):
        raise _exhausted(index)
    # The seed and the count of points alone start the generator: who asks, and in which process, does not matter, nor
    # whether a worker was lost, whose point then came from the queue.
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(state.n_proposed,)))
    pending = [trial.params for trial in state.trials.values() if trial.state == "pending"]
    proposed = sampler.propose(state.space, history_of(state, signs, seed, noisy), pending, rng)
    if not isinstance(proposed, Suggestion):
        proposed = Suggestion(proposed)
    if noisy is not True:
        new = distinct(state.space, tried, proposed, rng)
        if new is None:
            raise _exhausted(index)
        proposed = new
    data = {"params": state.space.check(proposed.params), "why": dict(proposed.why)}
    if proposed.memory is not None:
        data["memory"] = proposed.memory
    try:
        json.dumps(data)
    except (TypeError, ValueError) as error:
        raise ParameterError("Sampler", "propose", f"of JSON data in why and memory ({error})", proposed) from None
    return index, data


def _exhausted(n: int) -> SpaceExhaustedError:
    return SpaceExhaustedError(
        f"All points of the space were tried ({n} trials).",
        remedy="Take study.best; or state noisy=True to try points again.",
    )
