"""`believe_taste`: from answers to a belief."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.design.tastes.answers import Answer
from credo.design.tastes.belief import TasteBelief
from credo.design.tastes.learning import Learned, learn_taste
from credo.design.tastes.prior import NOISE, PageScales, kernel_of, rows_of
from credo.design.tastes.projected import utility_belief
from credo.design.tastes.record import Record, record_of
from credo.errors import ParameterError
from credo.models.preference.history import Preferences
from credo.models.preference.outcomes import counted
from credo.models.preference.scales import ScalesSpace
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread

__all__ = ["believe_taste"]

# Points that inference is about: below, it is exact; 200 answers of four cards stay within a round's time.
POINTS, POINTS_TOGETHER = 160, 120
# Answers read of each other person, the latest, and people read: what they share is known from less.
EACH, PEOPLE = 30, 6
# A person's own part of the variance where it was not learned: half of what all share (`models.preference`).
DEVIATION = 0.5


def believe_taste(
    space: Space,
    answers: Sequence[Answer],
    *,
    people: Mapping[Any, Sequence[Answer]] | None = None,
    previous: TasteBelief | None = None,
    rng: Any,
) -> TasteBelief:
    """What answers tell of a person's liking of every point of the space: a Gaussian process, by Laplace's method.

    Parameters
    ----------
    space : the whole space, also where a page is narrowed to a part of it; answers : one's own, oldest first
    people : name → answers of others: what all share is a newcomer's prior; each person's own part is learned
    previous : the belief before the last answers, or after those taken back: hyperparameters that it learned are not
        learned again. The belief is the same with it and without, bit for bit
    rng : a Generator or an int, of what is drawn in `sure` and `best`; the belief itself draws nothing

    Raises
    ------
    ParameterError : what is no answer; a point that is not in the space; a space with nothing to choose; answers that
        are no list, people that are no dict of lists.

    Notes
    -----
    Best-of-n, orders and duels are Thurstone's choices, ties Glenn and David's; ratings have a learned scale; "none" is
    the lower of two grades. Up to 160 points are treated exactly; of more, 160 stand for all (`projected`). Cost:
    at 200 answers of four cards some 150 ms, and 100 more at the few lengths at which hyperparameters are learned.

    Examples
    --------
    >>> import credo as cr
    >>> from credo.design.tastes import Best
    >>> space = Space(hue=cr.Real(0, 1))
    >>> said = [Best({"hue": 0.3}, [{"hue": h} for h in (0.1, 0.3, 0.6, 0.9)])]
    >>> belief = believe_taste(space, said, rng=np.random.default_rng(0))
    >>> mean, sd = belief.liking([{"hue": 0.3}, {"hue": 0.9}])
    >>> bool(mean[0] > mean[1])
    True
    """
    _check(space, answers, people, previous)
    rng = as_generator(rng)
    mine = tuple(answers)
    others = {who: tuple(said)[-EACH:] for who, said in list((people or {}).items())[:PEOPLE] if said}
    if previous is not None and previous.space is not space and previous.space != space:
        previous = None  # of another space: nothing of it is kept
    known = previous.record.known if previous is not None and previous.space is space else None
    record = record_of(space, mine, others, known) or _silence(space)
    with single_blas_thread():
        learned = learn_taste(space, mine, others, _earlier(previous, mine, others))
        utility = _utility(space, record, learned)
    seed = int(rng.integers(2**63))
    return TasteBelief(space, mine, others, record, utility, learned, seed)


def _check(space: Any, answers: Any, people: Any, previous: Any) -> None:
    owner = "believe_taste"
    if not isinstance(space, Space) or not space.width:
        raise ParameterError(owner, "space", "a Space with something to choose", space)
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        raise ParameterError(owner, "answers", "a list of answers, oldest first", answers)
    if people is not None:
        if not isinstance(people, Mapping):
            raise ParameterError(owner, "people", "a dict, name → answers", people)
        for said in people.values():
            if said is not None and (not isinstance(said, Sequence) or isinstance(said, str)):
                raise ParameterError(owner, "people", "a dict, name → a list of answers", said)
    if previous is not None and not isinstance(previous, TasteBelief):
        raise ParameterError(owner, "previous", "a TasteBelief or None", previous)


def _utility(space: Space, record: Record, learned: Learned) -> Any:
    """At the hyperparameters learned."""
    outcomes = record.outcomes
    kernel, scales = kernel_of(space), PageScales("probit", NOISE, outcomes)
    kernel = kernel.with_theta(learned.theta(kernel.names, kernel.theta))
    psi = _clipped(scales, learned)
    deviation = float(np.exp(learned.values.get("log_deviation", np.log(DEVIATION)))) if record.user else 0.0
    items = rows_of(space, space.encode(record.points).X)[outcomes.items]
    most = POINTS_TOGETHER if record.user else POINTS
    return utility_belief(kernel, items, outcomes, scales.scales(psi), deviation, most)


def _clipped(scales: ScalesSpace, learned: Learned) -> np.ndarray:
    return np.clip(learned.theta(scales.names, scales.start), scales.bounds[:, 0], scales.bounds[:, 1])


def _silence(space: Space) -> Record:
    """The record of no answers: it is about a point of which nothing is said."""
    point = space.decode(np.full((1, space.width), 0.5))
    return Record(point, counted(Preferences(1)), None)


def _earlier(previous: TasteBelief | None, answers: tuple[Answer, ...], people: Mapping[Any, Any]) -> Learned | None:
    """What can be kept: learned from answers that are the first of these, with the same people."""
    if previous is None or previous.people != people or not previous.learned.answers:
        return None
    n = _position(previous.answers, previous.learned.answers)
    return previous.learned if previous.answers[:n] == answers[:n] and len(answers) >= n else None


def _position(answers: tuple[Answer, ...], spoken: int) -> int:
    """How many answers, skipped ones too, the first `spoken` that say something take."""
    count = 0
    for n, answer in enumerate(answers):
        count += answer.kind != "skip"
        if count == spoken:
            return n + 1
    return len(answers)
