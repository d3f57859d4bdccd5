"""`propose_round`: the next candidates to show, for what they may be and for what the answer will tell.

A page of k cards is worth E max of their likings (Astudillo, Lin, Bakshy & Frazier 2023: qEUBO), over joint draws

    (1 − dial) mean + dial (draw − mean)

so that at ½ it is the page whose best card is expected to be liked most, at 0 the likeliest likings alone count, and at
1 what is not known alone. Cards are chosen one by one, then each exchanged for a better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from credo.design.spaces import Space
from credo.design.tastes.answers import Point, Skip
from credo.design.tastes.belief import TasteBelief
from credo.design.tastes.parts import checked_points, is_part
from credo.design.tastes.pool import EVEN, around, climbed, liked, pool_of
from credo.errors import ParameterError
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread

__all__ = ["Card", "best_cards", "propose_round"]

DRAWS = 256
# Nearer than this in every coordinate two points look the same.
APART = 0.03
# Rounding of an encoding; two points are the same within it.
SAME = 1e-9
# "More like this": steps of a third of the parameters, by these shares of their ranges.
LIKE, LIKE_EACH = (0.15, 0.06), 100
MOST_CARDS = 9
# Points are shown again where fewer than so many times the cards wanted were not shown yet.
FRESH = 4
# Passes over the cards, each exchanged for the best in its place: the first corrects what was chosen without the rest.
PASSES = 2


@dataclass(frozen=True)
class Card:
    """One candidate: `params`, its `liking` (mean) with `sd`, and `why` it is shown."""

    params: dict[str, Any]
    liking: float
    sd: float
    why: str


def propose_round(
    belief: TasteBelief,
    space: Space | None = None,
    k: int = 4,
    dial: float = 0.5,
    pinned: Point | Sequence[Point] = (),
    near: Point | Sequence[Point] | None = None,
    *,
    rng: Any,
) -> list[Card]:
    """The next k candidates.

    Parameters
    ----------
    belief : of `believe_taste`; space : the part of its space to show, None for all of it (see `Space.narrowed`)
    k : 2 to 9; fewer come back where the space has fewer points
    dial : 0, close to what is liked, to 1, what is not yet explored
    pinned : points that are shown again, first; they count among the k
    near : a point, or several: candidates are variations of it
    rng : a Generator, or an int

    Raises
    ------
    ParameterError : k or dial out of range; a pinned point, or one of `near`, that is not in the space; a space that is
        no part of the belief's; no point satisfies constraints.

    Notes
    -----
    A pure function of its arguments and the generator. Cost: some 100 ms; nothing in it grows with the answers beyond
    160 points.

    Examples
    --------
    >>> import credo as cr
    >>> from credo.design.tastes import Best, believe_taste
    >>> space, rng = Space(hue=cr.Real(0, 1), size=cr.Integer(1, 9)), np.random.default_rng(0)
    >>> cards = propose_round(believe_taste(space, [], rng=rng), k=3, rng=rng)
    >>> [card.why for card in cards]
    ['a first look', 'a first look', 'a first look']
    >>> shown = [card.params for card in cards]
    >>> belief = believe_taste(space, [Best(shown[0], shown)], rng=rng)
    >>> len(propose_round(belief, space.narrowed(size=(4, 9)), dial=0.2, pinned=[shown[0]], rng=rng))
    4
    """
    _check(space, belief, k, dial)
    space, rng = belief.space if space is None else space, as_generator(rng)
    kept = _distinct(belief.space, checked_points("propose_round", "pinned", belief.space, pinned))[:k]
    wanted = k - len(kept)
    centres = checked_points("propose_round", "near", belief.space, near)
    told = bool(belief.answers or belief.people)
    if not told and not centres:
        return _cards(belief, kept, _first_look(space, kept, wanted, rng), "a first look")
    fixed = belief.space.encode(kept).X if kept else np.zeros((0, belief.space.width))
    with single_blas_thread():
        if centres:
            X = np.unique(around(belief, space, centres, LIKE, LIKE_EACH, rng), axis=0)
        else:
            X = pool_of(belief, space, rng)
        X = _unseen(belief, X, [*kept, *centres], wanted)
        chosen = _page(belief, fixed, X, wanted, float(dial), rng)
        rng.shuffle(chosen)  # people favour places: the likeliest card must not always have the same one
    points = belief.space.decode(X[chosen])
    return _cards(belief, kept, points, "like what you picked" if centres else None)


def best_cards(belief: TasteBelief, space: Space, n: int, rng: np.random.Generator) -> list[Card]:
    """The n points of highest mean, searched for, seen or not; no two alike."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ParameterError("TasteBelief.best", "n", "an integer ≥ 1", n)
    with single_blas_thread():
        X = np.concatenate([pool_of(belief, space, rng), belief.coordinates[liked(belief, space)]])
        start = X[np.argsort(-belief.liking_at(X)[0], kind="stable")[: max(2 * n, 8)]]
        X = np.concatenate([X, climbed(belief, space, start, np.zeros(len(start)))])
        mean, _ = belief.liking_at(X)
    chosen: list[int] = []
    for i in np.argsort(-mean, kind="stable").tolist():
        if not chosen or _gap(X[[i]], X[chosen])[0] > APART:
            chosen.append(i)
        if len(chosen) == n:
            break
    return _cards(belief, [], belief.space.decode(X[chosen]), None)


def _check(space: Any, belief: Any, k: Any, dial: Any) -> None:
    owner = "propose_round"
    if not isinstance(belief, TasteBelief):
        raise ParameterError(owner, "belief", "a TasteBelief, of believe_taste", belief)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 2 <= k <= MOST_CARDS:
        raise ParameterError(owner, "k", f"an integer from 2 to {MOST_CARDS}", k)
    if isinstance(dial, bool) or not isinstance(dial, (int, float, np.number)) or not 0.0 <= dial <= 1.0:
        raise ParameterError(owner, "dial", "a number from 0 to 1", dial)
    if space is not None and not is_part(space, belief.space):
        remedy = "Make it by Space.narrowed and Space.fixed."
        raise ParameterError(owner, "space", f"a part of {belief.space!r}", space, remedy)


def _first_look(
    space: Space, kept: list[dict[str, Any]], wanted: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Even points, none twice, none of the kept; fewer where the space has fewer."""
    found = _distinct(space, [*kept, *space.design(max(wanted, 1), rng)])
    if len(found) < len(kept) + wanted:  # few points: evenly spread ones meet
        found = _distinct(space, [*found, *space.design(EVEN, rng)])
    return found[len(kept) :][:wanted]


def _distinct(space: Space, points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of each."""
    found: dict[Any, dict[str, Any]] = {}
    for point in points:
        found.setdefault(space.key(point), point)
    return list(found.values())


def _page(
    belief: TasteBelief, fixed: np.ndarray, X: np.ndarray, wanted: int, dial: float, rng: np.random.Generator
) -> list[int]:
    """Numbers of the candidates X that make, with the fixed ones, the page of highest E max."""
    drawn = belief.draws_at(np.concatenate([fixed, X]), DRAWS, rng)
    mean = belief.liking_at(np.concatenate([fixed, X]))[0]
    worth = (1.0 - dial) * mean + dial * (drawn - mean)
    floor = worth[:, : len(fixed)].max(axis=1, initial=-np.inf)
    worth, mean = worth[:, len(fixed) :], mean[len(fixed) :]
    chosen: list[int] = []
    for _ in range(min(wanted, len(X))):
        chosen.append(_addition(worth, mean, floor, X, fixed, chosen))
    for _ in range(PASSES):
        for j in range(len(chosen)):
            others = chosen[:j] + chosen[j + 1 :]
            chosen[j] = _addition(worth, mean, floor, X, fixed, others)
    return chosen


def _addition(
    worth: np.ndarray, mean: np.ndarray, floor: np.ndarray, X: np.ndarray, fixed: np.ndarray, others: list[int]
) -> int:
    """The candidate that adds most to those chosen; of equals that of higher mean; alike ones if no other is left."""
    there = worth[:, others].max(axis=1, initial=-np.inf)
    value = np.maximum(worth, np.maximum(there, floor)[:, None]).mean(axis=0) + 1e-6 * mean
    page = np.concatenate([fixed, X[others]])
    alike = _gap(X, page) <= APART
    if alike.all():
        alike = _gap(X, page) <= 0.0
    return int(np.argmax(np.where(alike, -np.inf, value)))


def _gap(X: np.ndarray, page: np.ndarray) -> np.ndarray:
    """Largest coordinate apart (n,) from the nearest of the page."""
    if not len(page):
        return np.full(len(X), np.inf)
    return np.abs(X[:, None, :] - page[None]).max(axis=2).min(axis=1)


def _unseen(belief: TasteBelief, X: np.ndarray, also: list[Point], wanted: int) -> np.ndarray:
    """Candidates that were not shown, as long as there are enough."""
    skipped = [point for answer in belief.answers if isinstance(answer, Skip) for point in answer.points]
    shown = belief.coordinates if belief.answers or belief.people else belief.coordinates[:0]
    if skipped or also:
        shown = np.concatenate([shown, belief.space.encode([*skipped, *also]).X])
    if not len(shown):
        return X
    gap = KDTree(shown).query(X, p=np.inf, distance_upper_bound=SAME)[0]
    fresh = X[~np.isfinite(gap)]
    return fresh if len(fresh) >= FRESH * wanted else X


def _cards(
    belief: TasteBelief, kept: list[dict[str, Any]], points: list[dict[str, Any]], why: str | None
) -> list[Card]:
    if not kept and not points:
        return []
    mean, sd = belief.liking([*kept, *points])
    reasons = ["pinned"] * len(kept)
    for liking, spread in zip(mean[len(kept) :], sd[len(kept) :]):
        # what speaks for it more: what is believed of it, or what is not known
        reasons.append(why or ("close to what you liked" if liking >= spread else "not yet explored"))
    cards = zip([*kept, *points], mean.tolist(), sd.tolist(), reasons, strict=True)
    return [Card(dict(params), liking, spread, reason) for params, liking, spread, reason in cards]
