"""Rules that give up a trial early by its intermediate values: pure functions of the trials so far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_high
from typing import Any, Protocol, cast

from credo.errors import ParameterError
from credo.studies.trial import Trial

__all__ = ["HalvingRule", "MedianRule", "Pruner", "pruner_of", "reason_to_prune"]


class Pruner(Protocol):
    """Anything that says from the trials so far whether one of them should be given up."""

    def __call__(self, trial: Trial, others: Sequence[Trial], sign: float) -> str | None:
        """The reason to give up `trial` after its last report, or None; sign 1 where lower is better, else −1."""
        ...


@dataclass(frozen=True)
class MedianRule:
    """Give up a trial whose best value so far is worse than the median of what the others had by that step.

    least : trials that finished and got to that step, before any is given up; warmup : steps that are not judged

    The rule of Golovin et al. (2017) compares with the others' running averages, which forgive much where curves fall
    steeply; here both sides are best values, so the scale of the values does not matter. Cost: one pass over all
    reports.
    """

    least: int = 5
    warmup: int = 0

    def __post_init__(self) -> None:
        _check("MedianRule", least=(self.least, 1), warmup=(self.warmup, 0))

    def __call__(self, trial: Trial, others: Sequence[Trial], sign: float) -> str | None:
        """See `Pruner`."""
        step = trial.reported[-1][0]
        there = [t for t in others if t.state in ("told", "pruned") and any(s >= step for s, _ in t.reported)]
        if step < self.warmup or len(there) < self.least:
            return None
        middle = median_high(_best(t.reported, step, sign) for t in there)
        own = _best(trial.reported, step, sign)
        if not own > middle:
            return None
        return f"its best value up to step {step}, {sign * own:g}, is worse than the median, {sign * middle:g}"


@dataclass(frozen=True)
class HalvingRule:
    """Give up a trial that is not among the best 1/factor of all that got to the same rung.

    Rungs are at steps first, first·factor, first·factor²…; a trial is judged by its first value at or beyond a rung,
    when it gets there, against those that got there before it; nobody waits. The first factor − 1 at a rung go on.

    Asynchronous successive halving (Li et al. 2020), in the form that stops trials. Cost: one pass over the trials, at
    rungs only.
    """

    factor: int = 3
    first: int = 1

    def __post_init__(self) -> None:
        _check("HalvingRule", factor=(self.factor, 2), first=(self.first, 1))

    def __call__(self, trial: Trial, others: Sequence[Trial], sign: float) -> str | None:
        """See `Pruner`."""
        step, value = trial.reported[-1]
        rung = self._rung(step)
        if rung is None or any(s >= rung for s, _ in trial.reported[:-1]):
            return None
        there = [_worst_if_none(v, sign) for t in others if t.state != "stale" for v in _first(t.reported, rung)]
        n = len(there) + 1
        own = _worst_if_none(value, sign)
        if n < self.factor or sum(v < own for v in there) < n // self.factor:
            return None
        return f"its value at step {step}, {sign * own:g}, is not among the best 1/{self.factor} of {n} at rung {rung}"

    def _rung(self, step: int) -> int | None:
        """The last rung at or below the step."""
        rung = None
        at = self.first
        while at <= step:
            rung, at = at, at * self.factor
        return rung


def _check(owner: str, **given: tuple[Any, int]) -> None:
    for name, (value, least) in given.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ParameterError(owner, name, f"an integer ≥ {least}", value)


def _worst_if_none(value: float | None, sign: float) -> float:
    return math.inf if value is None else sign * value


def _first(reported: Iterable[tuple[int, float | None]], rung: int) -> list[float | None]:
    return next(([value] for step, value in reported if step >= rung), [])


def _best(reported: Iterable[tuple[int, float | None]], step: int, sign: float) -> float:
    """Lower is better; up to the step."""
    return min((_worst_if_none(value, sign) for s, value in reported if s <= step), default=math.inf)


_NAMED: dict[str, Pruner] = {"median": MedianRule(), "halving": HalvingRule()}


def pruner_of(given: Any) -> tuple[str | None, Pruner | None]:
    """Name and rule from None, "median", "halving" or a `Pruner`."""
    if given is None:
        return None, None
    if isinstance(given, str) and given in _NAMED:
        return given, _NAMED[given]
    if callable(given) and not isinstance(given, type):
        return type(given).__name__, cast("Pruner", given)
    raise ParameterError("Study", "pruner", f"None, one of {sorted(_NAMED)}, or a rule", given)


def reason_to_prune(rule: Pruner | None, trial: Trial, trials: Iterable[Trial], sign: float) -> str | None:
    """Why the trial should be given up after its last report, or None."""
    if rule is None or not trial.reported:
        return None
    step, value = trial.reported[-1]
    if value is None:
        return f"its value at step {step} is not finite"
    return rule(trial, [other for other in trials if other.id != trial.id], sign)
