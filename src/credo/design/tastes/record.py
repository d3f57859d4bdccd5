"""Answers of one or several people as one history of choices between the distinct points that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.design.tastes.answers import Answer, Best, Duel, NoneOfThem, Order, Rating, Skip, Tie
from credo.errors import ParameterError
from credo.models.preference.history import Preferences
from credo.models.preference.outcomes import Outcomes, counted

__all__ = ["ME", "Known", "Record", "record_of"]

#: whose block the person asked about has where there are others
ME = "\0me"


#: what a point is written as → its key, and the point as the space has it; of points that were checked before
Known = dict[Any, tuple[Any, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Record:
    """points : those that outcomes name, in order of first mention; outcomes : about their numbers

    user : the label of the person asked about, None where there is nobody else
    numbers : key of a point → its number
    known : all points that were looked at, skipped ones too
    """

    points: list[dict[str, Any]]
    outcomes: Outcomes
    user: Any
    numbers: Mapping[Any, int] = field(default_factory=dict)
    known: Known = field(default_factory=dict)

    def number(self, point: Mapping[str, Any]) -> int | None:
        """Of a point as an answer has it; None if no outcome names it."""
        found = self.known.get(_written(point))
        return None if found is None else self.numbers.get(found[0])


def record_of(
    space: Space, answers: Sequence[Answer], people: Mapping[Any, Sequence[Answer]] | None = None,
    known: Known | None = None,
) -> Record | None:  # fmt: skip
    """The record of one's own answers and those of other people; None where nothing was said.

    known : of an earlier record about the same space; points found there are not checked again

    ParameterError : what is no answer; a point that is not in the space, of which the message says why.
    """
    others = {who: list(said) for who, said in (people or {}).items() if said}
    user = ME if others else None
    told = [(user, answer) for answer in answers] + [(who, a) for who, said in others.items() for a in said]
    known = {} if known is None else known
    numbers: dict[Any, int] = {}
    at: dict[int, int] = {}  # a point as an object → its number: the answers keep them
    points: list[dict[str, Any]] = []
    for _, answer in told:
        if not isinstance(answer, Answer):
            raise ParameterError("believe_taste", "answers", "records Best, Order, Duel, Tie, …", answer)
        for point in answer.points:
            key, checked = _known(space, point, known)
            if isinstance(answer, Skip):
                continue
            if key not in numbers:
                numbers[key] = len(points)
                points.append(checked)
            at[id(point)] = numbers[key]
    if not points:
        return None
    history = Preferences(len(points))
    if user is not None:
        history = history.with_duels([], [], users=user)  # a newcomer has a block before the first answer
    levels = any(isinstance(answer, NoneOfThem) for _, answer in told)
    for who, answer in told:
        history = _with(history, answer, who, lambda point: at[id(point)], levels)
    return Record(points, counted(history), user, numbers, known)


def _known(space: Space, point: Any, known: Known) -> tuple[Any, dict[str, Any]]:
    """Key and checked point. 1, 1.0 and True are written differently: they are checked one by one."""
    try:
        written = _written(point)
        found = known.get(written)
    except (AttributeError, TypeError):  # no point, or a value that is none: the check says so
        written = found = None
    if found is None:
        checked = space.check(point)
        found = known[written] = space.key(checked), checked
    return found


def _written(point: Mapping[str, Any]) -> tuple[Any, ...]:
    values = tuple(point.values())
    return tuple(point), values, tuple(map(type, values))


def _with(history: Preferences, answer: Answer, user: Any, number: Any, levels: bool) -> Preferences:
    """One answer more. `levels`: somebody said "none" once, so that a choice says that it will do."""
    if isinstance(answer, Rating):
        return history.with_rating(number(answer.item), answer.value, user=user)
    if isinstance(answer, Tie):
        return _with_tie(history, _distinct(answer.items, number), _distinct(answer.shown, number), user)
    if isinstance(answer, NoneOfThem):
        shown = _distinct(answer.shown, number)
        return history.with_grades(shown, np.zeros(len(shown), dtype=int), users=user) if shown else history
    if isinstance(answer, Duel):
        order, below = _distinct((answer.winner, answer.loser), number), []
    elif isinstance(answer, Best):
        order, below = [number(answer.chosen)], _distinct(answer.shown, number)
    elif isinstance(answer, Order):
        order, below = _distinct(answer.ranking, number), []
    else:
        return history
    below = [item for item in below if item not in order]
    if len(order) + len(below) > 1:
        history = history.with_ranking(order, below, user=user)
    return history.with_grade(order[0], 1, user=user) if levels and order else history


def _with_tie(history: Preferences, tied: list[int], shown: list[int], user: Any) -> Preferences:
    """n items tied are n − 1 comparisons, spread over all their pairs; each item left behind lost once."""
    n, behind = len(tied), [item for item in shown if item not in tied]
    if n > 1:
        i, j = np.triu_indices(n, 1)
        each = np.array(tied)
        history = history.with_ties(each[i], each[j], counts=np.full(i.size, 2.0 / n), users=user)
    if n and behind:
        winners, losers = np.repeat(tied, len(behind)), np.tile(behind, n)
        history = history.with_duels(winners, losers, counts=np.full(winners.size, 1.0 / n), users=user)
    return history


def _distinct(points: Sequence[Any], number: Any) -> list[int]:
    return list(dict.fromkeys(number(point) for point in points))
