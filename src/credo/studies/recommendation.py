"""Which trial to take: the best value told, or where values are noisy the best mean of a belief about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.errors import NumericalError, UnavailableError
from credo.studies.history import is_noisy
from credo.studies.state import StudyState
from credo.studies.trial import Trial

__all__ = ["Recommendation", "best_told", "recommended"]

# With fewer trials a belief is mostly prior, and the lowest value as good a guess.
FEWEST = 4


@dataclass(frozen=True)
class Recommendation:
    """The trial to take, and why.

    trial : one of those told, and feasible
    mean, sd : of the belief about the objective at its point, noise left out; where values are exact, or not known to
        be noisy, the value told, and 0 or None
    reason : how it was chosen
    """

    trial: Trial
    mean: float
    sd: float | None
    reason: str


def best_told(trials: Sequence[Trial], sign: float) -> Trial:
    """The earliest of the best values told, of trials that meet the constraints."""
    told = [trial for trial in trials if trial.state == "told"]
    if not told:
        raise UnavailableError(f"Study.best: none of {len(trials)} trials has a value yet.")
    feasible = [trial for trial in told if trial.is_feasible]
    if not feasible:
        nearest = min(told, key=lambda trial: max(trial.constraints or (0.0,)))
        raise UnavailableError(
            f"Study.best: none of {len(told)} trials told meets the constraints; trial {nearest.id} comes nearest, "
            f"with {list(nearest.constraints or ())}.",
            value=nearest.id,
            remedy="They are met where ≤ 0.",
        )
    return min(feasible, key=lambda trial: sign * trial.value)  # type: ignore[operator]


def recommended(state: StudyState, sign: float, seed: int, noisy: bool | None) -> Recommendation:
    """The trial to take of a study with one objective."""
    trials = [state.trials[i] for i in range(state.next_id)]
    best = best_told(trials, sign)
    assert best.value is not None
    told = [trial for trial in trials if trial.state == "told"]
    known = is_noisy(state, noisy)
    if known is None and _noise_was_learned(trials):
        known = True
    if not known:
        reason = "values are exact" if known is False else "no noise is known of: state noisy=True if there is some"
        return Recommendation(best, best.value, 0.0 if known is False else None, f"the best value told ({reason})")
    if len(told) < FEWEST or not state.created.width:
        return Recommendation(best, best.value, None, f"the best value told ({len(told)} trials are too few to smooth)")
    try:
        return _by_model(told, state.created, sign, seed)
    except NumericalError as error:
        return Recommendation(best, best.value, None, f"the best value told (the model failed: {error})")


def _noise_was_learned(trials: Sequence[Trial]) -> bool:
    """Whether the sampler, when it last used a model, found noise in the values."""
    used = [trial.why.get("acquisition", trial.why.get("method")) for trial in trials if "sd" in trial.why]
    return bool(used) and "noisy" in str(used[-1])


def _by_model(told: Sequence[Trial], space: Space, sign: float, seed: int) -> Recommendation:
    # Gaussian processes take a second to import, which studies without noise need not pay.
    from credo.design.acquisition import recommend
    from credo.studies.samplers.gp import kinds_of

    values = sign * np.array([trial.value for trial in told], dtype=np.float64)
    constraints = np.array([trial.constraints for trial in told]) if told[0].constraints else None
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(told), 1)))
    X = space.encode([trial.params for trial in told]).X
    kinds: Any = kinds_of(space)
    found = recommend(X, values, kinds=kinds, noisy=True, constraints=constraints, rng=rng)
    reason = f"the best mean of a Gaussian process given {len(told)} noisy trials"
    return Recommendation(told[found.index], sign * found.mean, found.sd, reason)
