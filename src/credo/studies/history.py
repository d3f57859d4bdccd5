"""What a sampler sees of the state: points, values with lower better, constraints, guesses."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from credo.studies.samplers import History
from credo.studies.state import StudyState

__all__ = ["history_of", "is_noisy"]

# Points tried again with the same value to the last digit, before trials are taken to be exact: one pair may be chance
# where values are few, as accuracies are.
REPEATS = 2


def history_of(state: StudyState, signs: Sequence[float], seed: int, noisy: bool | None) -> History:
    """The history for the next trial's proposal.

    A pruned trial with a last value enters with that, but as no better than half of those told: it was not let to show
    what it is worth. With constraints, or two objectives, it counts as failed.
    """
    trials = [state.trials[i] for i in range(state.next_id)]
    told = [trial for trial in trials if trial.state == "told"]
    values = {trial.id: [s * v for s, v in zip(signs, trial.values or ())] for trial in told}
    if told and len(signs) == 1 and not state.n_constraints:
        middle = median(value for (value,) in values.values())
        for trial in trials:
            if trial.state == "pruned" and trial.values is not None:
                values[trial.id] = [max(signs[0] * trial.values[0], middle)]
    shown = [trial for trial in trials if trial.id in values]
    array = np.array([values[trial.id] for trial in shown], dtype=np.float64).reshape(len(shown), len(signs))
    limits = np.array([trial.constraints for trial in told], dtype=np.float64) if state.n_constraints else None
    return History(
        points=[trial.params for trial in shown],
        values=array[:, 0] if len(signs) == 1 else array,
        failed=[t.params for t in trials if t.state in ("failed", "pruned") and t.id not in values],
        index=state.n_proposed,
        seed=seed,
        noisy=is_noisy(state, noisy),
        memory=state.memory,
        constraints=limits,
        guesses=tuple(state.guesses),
    )


def is_noisy(state: StudyState, stated: bool | None) -> bool | None:
    """Whether the same point may give another value: as stated, else as points that were told more than once show."""
    if stated is not None or not state.repeats:
        return stated
    if not all(state.repeats):
        return True
    return False if len(state.repeats) >= REPEATS else None
