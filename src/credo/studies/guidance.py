"""`Guidance`: what a person tells a study in its course: guesses, narrower ranges, remarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credo.studies.events import Event
from credo.studies.guesses import checked_guess, smaller_space
from credo.studies.values import plain_data
from credo.studies.view import StudyView

__all__ = ["Guidance"]


class Guidance(StudyView):
    """The part of a `Study` that steers it."""

    def _append(self, kind: str, trial: int | None, data: Mapping[str, Any], slot: str | None = None) -> Event:
        with self._lock:
            event = self.storage.append(self.name, kind, trial, data, slot)
            if event.sequence == self._state.sequence + 1:
                self._state.apply([event])
            else:
                self.refresh()
            return event

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Ask this point before any other: a guess, a default, a point of an earlier study."""
        self._append("queued", None, {"params": self.space.check(params)})

    def near(self, params: Mapping[str, Any], sd: float | Mapping[str, float] = 0.1) -> None:
        """Tell the study that the best is perhaps near here; what is told of trials soon outweighs it.

        params : values of some or all parameters; sd : how far off they may be, as a share of the range (of its
            logarithm if the parameter is logarithmic), one number or one for each
        """
        self.refresh()
        self._append("guessed", None, checked_guess(self.space, params, sd))

    def narrow(self, ranges: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Ask only within smaller ranges from now on, in every worker; see `Space.narrowed`. What was told is kept."""
        self._shrink("ranges", {**(ranges or {}), **named})

    def fix(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Hold parameters at one value from now on, in every worker; see `Space.fixed`."""
        self._shrink("fixed", {**(values or {}), **named})

    def _shrink(self, how: str, to: Mapping[str, Any]) -> None:
        self.refresh()
        smaller_space(self.space, {how: to})
        event = self._append("narrowed", None, {how: plain_data(to)})
        if event.sequence in self._state.refused:
            raise self._state.refused[event.sequence]

    def note(self, text: str) -> None:
        """Keep a remark with the study."""
        self._append("note", None, {"text": str(text)})
