"""`StudyView`: what a study knows. It reads, and writes nothing."""

from __future__ import annotations

import threading
from typing import Any, Self

import numpy as np

from credo.design.spaces import Space
from credo.errors import UnavailableError
from credo.studies.events import Event
from credo.studies.frame import proposals_frame, trials_frame
from credo.studies.recommendation import Recommendation, best_told, recommended
from credo.studies.samplers.base import Guess
from credo.studies.state import StudyState
from credo.studies.storage import Storage
from credo.studies.trial import Trial

__all__ = ["StudyView"]


class StudyView:
    """The part of a `Study` that reads."""

    name: str
    storage: Storage
    direction: str | tuple[str, str]
    seed: int
    noisy: bool | None
    _state: StudyState
    _signs: tuple[float, ...]
    _lock: threading.RLock  # type: ignore[valid-type]
    _recommended: tuple[int, Recommendation] | None = None

    def refresh(self) -> Self:
        """Read what other workers have written since; `ask`, `tell` and the rest do so themselves."""
        with self._lock:
            self._state.apply(self.storage.events(self.name, self._state.sequence))
        return self

    @property
    def space(self) -> Space:
        """The space as narrowed so far."""
        return self._state.space

    @property
    def records(self) -> list[Trial]:
        """All trials, by number."""
        return [self._state.trials[i] for i in range(self._state.next_id)]

    @property
    def pending(self) -> list[Trial]:
        """Trials that await an answer."""
        return [trial for trial in self.records if trial.state == "pending"]

    @property
    def notes(self) -> list[str]:
        """Remarks, in order."""
        return list(self._state.notes)

    @property
    def description(self) -> dict[str, Any]:
        """What `credo tune` last kept of its answers: keys of the objectives, constraints as text, the command's words;
        empty of a study that was made otherwise."""
        return dict(self._state.description)

    @property
    def guesses(self) -> list[Guess]:
        """Where someone thinks the best is, as told by `near`; sds are shares of the ranges as narrowed so far."""
        return list(self._state.guesses)

    @property
    def trials(self) -> Any:
        """All trials as a polars frame: id, state, value (or value_1, value_2), constraints, parameters, reason."""
        return trials_frame(self.records, self.space.names, len(self._signs), self._state.n_constraints or 0)

    @property
    def proposals(self) -> Any:
        """Why each point was asked, as a polars frame, a row a trial: id, method, acquisition, the mean and sd that the
        sampler expected in the objective's units, exploitation and exploration (what is gained if the mean is right,
        and by surprise), feasibility, reason. `Trial.why` has the same of one trial, and what else a sampler says."""
        return proposals_frame(self.records)

    # -- one objective -----------------------------------------------------------------------------------------

    @property
    def best(self) -> Trial:
        """The trial to take: the best value told, the earliest of equals; where values are noisy, the best mean of a
        belief about them. Of trials that meet the constraints. See `recommendation`.

        Raises `UnavailableError` before there is one, and for two objectives.
        """
        return self.recommendation.trial

    @property
    def recommendation(self) -> Recommendation:
        """`best`, with the mean and sd of what is believed of it, and how it was chosen.

        Of noisy values the lowest is mostly the luckiest. So if they are noisy (as stated, as a point tried twice
        shows, or as the sampler's model has learned), the trials are smoothed by a Gaussian process, and the one with
        the best mean is taken. Cost: once for each value told, the fit of that process (0.1 s for 100 trials).
        """
        sign = self._only_sign("best")
        with self._lock:
            if self._recommended is None or self._recommended[0] != self._state.answered:
                found = recommended(self._state, sign, self.seed, self.noisy)
                self._recommended = (self._state.answered, found)
            return self._recommended[1]

    @property
    def best_told(self) -> Trial:
        """The trial with the best value told that meets the constraints; if values are noisy, mostly the luckiest."""
        return best_told(self.records, self._only_sign("best_told"))

    def _only_sign(self, what: str) -> float:
        sign, *others = self._signs
        if others:
            raise UnavailableError(
                f"Study.{what}: with two objectives there is no single best trial.", remedy="Take study.front."
            )
        return sign

    # -- two objectives ----------------------------------------------------------------------------------------

    @property
    def front(self) -> list[Trial]:
        """Trials of which no other is better in one objective and no worse in the other, by the first objective, best
        first. Of trials that meet the constraints; empty before there is one; of one objective, the best told.
        """
        from credo.design.fronts import non_dominated

        told = self._feasible()
        if not told:
            return []
        kept = [trial for trial, on in zip(told, non_dominated(self._outcomes(told))) if on]
        return sorted(kept, key=lambda trial: self._signs[0] * trial.values[0])  # type: ignore[index]

    def hypervolume(self, reference: Any = None) -> float:
        """What the front leaves behind it: the area between it and a reference point, in units of the objectives'
        product; 0 before a trial is better than the reference in both.

        reference : a value for each objective that is just not acceptable. None takes one from the trials so far
            (`credo.design.fronts.reference_point`): give your own where numbers are to be compared.
        """
        from credo.design.fronts.hypervolume import checked_reference, hypervolume, reference_point

        told = self._feasible()
        outcomes = self._outcomes(told)
        if reference is not None:
            reference = np.array(self._signs) * checked_reference("Study.hypervolume", reference, len(self._signs))
        if not told:
            return 0.0
        return hypervolume(outcomes, reference_point(outcomes) if reference is None else reference)

    def _feasible(self) -> list[Trial]:
        return [trial for trial in self.records if trial.state == "told" and trial.is_feasible]

    def _outcomes(self, trials: list[Trial]) -> np.ndarray:
        """Values (n, objectives), lower better."""
        values = np.array([trial.values for trial in trials], dtype=np.float64).reshape(len(trials), len(self._signs))
        return values * np.array(self._signs)

    # -- the rest ----------------------------------------------------------------------------------------------

    def events(self) -> list[Event]:
        """Everything that happened, in order."""
        return self.storage.events(self.name)

    def __repr__(self) -> str:
        states = [trial.state for trial in self._state.trials.values()]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "no trials"
        direction = self.direction if isinstance(self.direction, str) else " and ".join(self.direction)
        return f"Study({self.name!r} in {self.storage.name}, {direction}, {counts})"
