"""`StudyState`: the fold over events. Two workers who have read the same events know the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from credo.design.spaces import Space
from credo.errors import FileFormatError, ParameterError
from credo.studies.events import Event, take_in
from credo.studies.guesses import narrowed_guess, smaller_space
from credo.studies.samplers.base import Guess
from credo.studies.trial import Trial
from credo.studies.values import in_own_units, signs_of

__all__ = ["StudyState"]

# A point that was lost with its worker this often is perhaps what kills workers.
MOST_RETRIES = 2


class StudyState:
    """Trials, queue, guesses, notes and the current space, after the events applied so far.

    `space` is the space as created. The caller supplies it: functions among its constraints are not data.
    """

    def __init__(self, space: Space) -> None:
        self.space = self.created = space
        self.sequence = 0
        self.trials: dict[int, Trial] = {}
        self.queue: dict[int, tuple[dict[str, Any], int, int | None]] = {}  # event → params, retries, the lost trial
        self.tried: set[tuple[Any, ...]] = set()  # keys of all points asked
        self.guesses: list[Guess] = []
        self.notes: list[Any] = []
        self.description: dict[str, Any] = {}
        self.refused: dict[int, ParameterError] = {}  # narrowing events that came too late
        self.n_constraints: int | None = None  # as the first trial told has them
        self.repeats: list[bool] = []  # for each point told again, whether it gave the same
        self.signs: tuple[float, ...] = (1.0,)
        self.n_repeated = 0  # trials that ask a point again because its worker was lost
        self.answered = 0  # the number of the last event that told a value
        self.memory: Any = None
        self._values: dict[tuple[Any, ...], tuple[float, ...]] = {}
        self._retries: dict[int, int] = {}
        self._memory_of = -1

    @property
    def next_id(self) -> int:
        """The number of the next trial."""
        return len(self.trials)

    @property
    def n_proposed(self) -> int:
        """How many points were asked, each once: what the next proposal hangs on, so that a lost worker moves none."""
        return len(self.trials) - self.n_repeated

    @property
    def n_alive(self) -> int:
        """How many trials are finished or will be."""
        return sum(trial.state != "stale" for trial in self.trials.values())

    def apply(self, events: Iterable[Event]) -> None:
        """Take in events in their order; those already taken in are skipped."""
        for event in events:
            self.sequence = take_in(event, self.sequence, "study", self._take)

    def _take(self, event: Event) -> None:
        handler = getattr(self, f"_{event.kind}", None)
        if handler is None:
            raise FileFormatError(
                f"The study holds events of an unknown kind, {event.kind!r}.",
                value=event.kind,
                remedy="A newer Credo wrote them: pip install -U credo.",
            )
        handler(event, event.data)

    # -- one method a kind -------------------------------------------------------------------------------------

    def _created(self, event: Event, data: Mapping[str, Any]) -> None:
        self.signs = signs_of(data.get("direction") or "minimize")

    def _note(self, event: Event, data: Mapping[str, Any]) -> None:
        self.notes.append(data["text"])

    def _described(self, event: Event, data: Mapping[str, Any]) -> None:
        self.description = dict(data)

    def _queued(self, event: Event, data: Mapping[str, Any]) -> None:
        self.queue[event.sequence] = (dict(data["params"]), 0, None)

    def _guessed(self, event: Event, data: Mapping[str, Any]) -> None:
        guess: Guess | None = Guess(dict(data["params"]), dict(data["sd"]))
        if self.space is not self.created:  # whoever guessed may not have read of the narrowing
            guess = narrowed_guess(guess, self.space, self.space)
        self.guesses += [] if guess is None else [guess]

    def _asked(self, event: Event, data: Mapping[str, Any]) -> None:
        trial = event.trial
        if trial is None or trial != self.next_id:
            raise FileFormatError(f"Trial {trial} was asked where {self.next_id} was due.", value=trial)
        if "queued" in data:
            _, self._retries[trial], lost = self.queue.pop(data["queued"], ({}, 0, None))
            self.n_repeated += lost is not None
        if data.get("memory") is not None and trial > self._memory_of:
            self.memory, self._memory_of = data["memory"], trial
        self.tried.add(self.space.key(data["params"]))
        why = in_own_units(data.get("why") or {}, self.signs)
        self.trials[trial] = Trial(
            trial, dict(data["params"]), why=why, lease=data.get("lease"), worker=data.get("worker")
        )

    def _change(self, event: Event, **changes: Any) -> None:
        assert event.trial is not None
        self.trials[event.trial] = dataclasses.replace(self.trials[event.trial], **changes)

    def _reported(self, event: Event, data: Mapping[str, Any]) -> None:
        assert event.trial is not None
        reported = self.trials[event.trial].reported
        self._change(event, reported=(*reported, (data["step"], data["value"])))

    def _told(self, event: Event, data: Mapping[str, Any]) -> None:
        values = tuple(data["values"]) if "values" in data else (data["value"],)
        constraints = tuple(data.get("constraints") or ())
        if self.n_constraints is None:
            self.n_constraints = len(constraints)
        if self.n_constraints == len(constraints):
            self._change(event, state="told", values=values, constraints=constraints or None, reason=None)
            self._compare(event.trial, values)
        else:  # two workers told their first trials at the same time, and disagreed
            reason = f"told with {len(constraints)} constraints, where the study has {self.n_constraints}"
            self._change(event, state="failed", values=values, constraints=constraints or None, reason=reason)
        self.answered = event.sequence
        self._unqueue(event.trial)

    def _compare(self, trial: int | None, values: tuple[float, ...]) -> None:
        """With what was told of the same point before."""
        key = self.space.key(self.trials[trial].params)  # type: ignore[index]
        if key in self._values:
            self.repeats.append(self._values[key] == values)
        self._values[key] = values

    def _failed(self, event: Event, data: Mapping[str, Any]) -> None:
        self._change(event, state="failed", reason=data["reason"])
        self._unqueue(event.trial)

    def _pruned(self, event: Event, data: Mapping[str, Any]) -> None:
        last = data.get("value")
        self._change(event, state="pruned", reason=data.get("reason"), values=None if last is None else (last,))
        self._unqueue(event.trial)

    def _stale(self, event: Event, data: Mapping[str, Any]) -> None:
        assert event.trial is not None
        trial = self.trials[event.trial]
        if trial.is_finished:
            return  # the answer was on its way
        self._change(event, state="stale", reason=data["reason"])
        retries = self._retries.get(trial.id, 0)
        if retries < MOST_RETRIES and trial.state != "stale":
            self.queue[event.sequence] = (dict(trial.params), retries + 1, trial.id)

    def _narrowed(self, event: Event, data: Mapping[str, Any]) -> None:
        before = self.space
        try:
            self.space = smaller_space(before, data)
        except ParameterError as error:  # another worker narrowed it at the same time, to what does not go with this
            self.refused[event.sequence] = error
            return
        kept = [narrowed_guess(guess, before, self.space) for guess in self.guesses]
        self.guesses = [guess for guess in kept if guess is not None]

    def _unqueue(self, trial: int | None) -> None:
        """A late answer makes asking the same point again needless."""
        self.queue = {key: entry for key, entry in self.queue.items() if entry[2] != trial}
