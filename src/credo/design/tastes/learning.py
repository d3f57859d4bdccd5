"""Hyperparameters of a taste: by evidence, at a few lengths of the session, from at most 24 of its answers.

They are learned at the answers 3, 5, 8, 12, 18, … (each half as many again), each time from where the last search
ended: a function of the answers alone, whoever remembers what. In between they stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.design.tastes.answers import Answer, Skip
from credo.design.tastes.prior import NOISE, PageScales, kernel_of, rows_of
from credo.design.tastes.record import record_of
from credo.errors import NumericalError
from credo.models.gaussian_process.learning import climb
from credo.models.preference.learning import Learner

__all__ = ["Learned", "learn_taste", "milestones"]

# Answers that a search reads, spread over the session: of four cards each, 96 points.
MOST = 24
# A round has 300 ms, of which a late search takes some 100: what was not done goes on at the next milestone.
STEPS, STEPS_LATER = 15, 4
TOLERANCE = 1e-2


@dataclass(frozen=True)
class Learned:
    """values : name → log of a hyperparameter; answers : how many they were learned from, 0 for the prior's medians."""

    values: Mapping[str, float]
    answers: int

    def theta(self, names: Sequence[str], start: np.ndarray) -> np.ndarray:
        """In the order of `names`; what was not learned yet is as in `start`."""
        return np.array([self.values.get(name, value) for name, value in zip(names, start, strict=True)])


def milestones(n: int) -> list[int]:
    """The lengths up to n at which hyperparameters are learned.

    >>> milestones(50)
    [3, 5, 8, 12, 18, 27, 41]
    """
    found, at = [], 3
    while at <= n:
        found.append(at)
        at = int(np.ceil(1.5 * at)) if at > 3 else 5
    return found


def learn_taste(
    space: Space, answers: Sequence[Answer], people: Mapping[Any, Sequence[Answer]], earlier: Learned | None
) -> Learned:
    """What is learned at the last milestone; `earlier` is that of some of the first answers, with the same people."""
    spoken = [answer for answer in answers if not isinstance(answer, Skip)]
    learned = earlier or _first(space, people)
    for n in milestones(len(spoken)):
        if n > learned.answers:
            learned = _climbed(space, spoken[:n], people, learned, n)
    return learned


def _first(space: Space, people: Mapping[Any, Sequence[Answer]]) -> Learned:
    """A newcomer begins with what the others' answers teach."""
    nothing = Learned({}, 0)
    return _climbed(space, [], people, nothing, 0) if any(people.values()) else nothing


def _climbed(
    space: Space, answers: Sequence[Answer], people: Mapping[Any, Sequence[Answer]], learned: Learned, n: int
) -> Learned:
    own = max(MOST // 2, MOST - sum(len(said) for said in people.values())) if people else MOST
    mine = _thinned(answers, own)
    rest = (MOST - len(mine)) // max(len(people), 1)
    others = {who: _thinned(list(said), rest) for who, said in people.items()}
    record = record_of(space, mine, others)
    if record is None:
        return Learned(learned.values, n)
    items = rows_of(space, space.encode(record.points).X)[record.outcomes.items]
    scales = PageScales("probit", NOISE, record.outcomes)
    learner = Learner(kernel_of(space), items, record.outcomes, scales, None, "laplace")
    start = learned.theta(learner.names, learner.start)
    steps = STEPS if len(items) <= 80 and not others else STEPS_LATER
    try:
        # no restarts: the generator is never asked
        found = climb(
            learner.objective, start, learner.bounds, rng=np.random.default_rng(0), tol=TOLERANCE, max_iter=steps
        ).theta
    except NumericalError:  # a wall at the start: stay
        found = start
    return Learned({**learned.values, **dict(zip(learner.names, found.tolist(), strict=True))}, n)


def _thinned(answers: Sequence[Answer], most: int) -> list[Answer]:
    """At most so many, evenly spread, the last among them."""
    if len(answers) <= most:
        return list(answers)
    at = np.unique(np.linspace(0, len(answers) - 1, max(most, 1)).round().astype(int)) if most > 0 else []
    return [answers[i] for i in at]
