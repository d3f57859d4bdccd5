"""`search`: climbs among structures by the gains of single edges, whatever scores these."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from credo.errors import ConvergenceWarning, ParameterError, warn
from credo.inference.result import Result
from credo.models.network.learning.gains import FamilyGains
from credo.models.network.learning.moves import Constraints, Searcher
from credo.models.network.learning.structure import Move, checked_edges, checked_parents, find_cycle
from credo.numerics.random import as_generator

__all__ = ["Found", "search", "whole_number"]

# Arrows turned before a move. On 100,000 rows of alarm the median BIC of 20 climbs with 2, 5, 10 and 20 of them is
# −1,046,025, −1,045,967, −1,045,924 and −1,045,915, against −1,048,796 without; each costs as much as a move.
TURNS = 5


class Found(NamedTuple):
    """The best structure of all climbs, the moves that led there, and how it went."""

    parents: list[tuple[int, ...]]
    moves: tuple[Move, ...]
    result: Result


def search(
    owner: str,
    gains: FamilyGains,
    *,
    max_parents: int | None,
    tabu: int,
    required: Iterable[tuple[str, str]] | None,
    forbidden: Iterable[tuple[str, str]] | None,
    start: Mapping[str, Sequence[str]] | Iterable[tuple[str, str]] | None,
    n_restarts: int,
    max_iter: int,
    random_state: Any,
) -> Found:
    """Climbs from `start` by moves of one edge, with a tabu list, and restarts among equivalents; as of `hill_climb`.

    Raises
    ------
    ParameterError : bad arguments; required edges that make a cycle, are forbidden or exceed max_parents.
    """
    plan = _Plan(whole_number(owner, "tabu", tabu, 0), whole_number(owner, "max_iter", max_iter, 1))
    restarts = whole_number(owner, "n_restarts", n_restarts, 0)
    constraints = _constraints(owner, gains.names, max_parents, required, forbidden)
    beginning = _beginning(owner, gains.names, constraints, start)
    searcher = Searcher(gains, constraints, beginning)
    climbs = [_climb(searcher, plan)]
    for rng in as_generator(random_state).spawn(restarts):
        searcher.restart(beginning)
        wandered = _wander(searcher, plan, rng)
        climb = _climb(searcher, plan)
        climbs.append(replace(climb, moves=(*wandered, *climb.moves)))
    best = climbs[0]
    for climb in climbs[1:]:
        best = climb if climb.score > best.score + searcher.tie else best
    if not best.done:
        warn(f"{owner}: stopped after max_iter = {max_iter} moves, with better ones left.", ConvergenceWarning)
    status, scores = "converged" if best.done else "max_iter", tuple(c.score for c in climbs)
    return Found(best.parents, best.moves, Result(status, "hill_climb", certificate={"scores": scores}))


@dataclass(frozen=True)
class _Plan:
    tabu: int
    max_iter: int


@dataclass(frozen=True)
class _Climb:
    """The best structure of one climb, and whether it is a local maximum."""

    parents: list[tuple[int, ...]]
    score: float
    moves: tuple[Move, ...]
    done: bool


def _climb(searcher: Searcher, plan: _Plan) -> _Climb:
    moves: list[Move] = []
    best, kept, at = searcher.score, 0, list(searcher.ancestry.families)
    visited = deque([searcher.hash], maxlen=max(1, plan.tabu))
    rising, idle, climbed = True, 0, 0
    while climbed < plan.max_iter:
        move = searcher.best(list(visited) if plan.tabu else [])
        if move is None or (searcher.gain(move) <= searcher.tie and not plan.tabu):
            rising = False
            break
        moves.append(searcher.named(move))
        searcher.apply(move)
        visited.append(searcher.hash)
        climbed += 1
        if searcher.score > best + searcher.tie:
            best, kept, idle, at = searcher.score, len(moves), 0, list(searcher.ancestry.families)
        else:
            rising, idle = False, idle + 1
            if idle >= plan.tabu:
                break
    return _Climb(at, best, tuple(moves[:kept]), not rising)


def _wander(searcher: Searcher, plan: _Plan, rng: np.random.Generator) -> list[Move]:
    """Climb with a few arrows turned round before every move.

    K2 differs between equivalent structures, so that a turn may undo a move: after as many moves as there are nodes
    without a new best it ends.
    """
    moves: list[Move] = []
    best, idle, patience = searcher.score, 0, len(searcher.gains.parents)
    while len(moves) < plan.max_iter and idle <= patience:
        searcher.turn(TURNS, rng)
        move = searcher.best([])
        if move is None or searcher.gain(move) <= searcher.tie:
            break
        moves.append(searcher.named(move))
        searcher.apply(move)
        better = searcher.score > best + searcher.tie
        best, idle = max(best, searcher.score), 0 if better else idle + 1
    return moves


def whole_number(owner: str, name: str, value: Any, least: int) -> int:
    """The value, or an error that names it."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ParameterError(owner, name, f"an integer ≥ {least}", value)
    return int(value)


def _constraints(owner: str, names: Sequence[str], max_parents: Any, required: Any, forbidden: Any) -> Constraints:
    d = len(names)
    must, never = np.zeros((d, d), dtype=bool), np.zeros((d, d), dtype=bool)
    for table, parameter, edges in ((must, "required", required), (never, "forbidden", forbidden)):
        for parent, child in checked_edges(owner, parameter, edges, names):
            table[parent, child] = True
    both = np.argwhere(must & never)
    if len(both):
        parent, child = both[0]
        raise ParameterError(
            owner, "required", "without forbidden edges", (names[parent], names[child]), "Take it out of one of them."
        )
    cycle = find_cycle([np.flatnonzero(must[:, child]).tolist() for child in range(d)])
    if cycle is not None:
        path = " → ".join(names[node] for node in cycle)
        raise ParameterError(owner, "required", "without a cycle", path, "Leave out one of these edges.")
    most = d if max_parents is None else whole_number(owner, "max_parents", max_parents, 0)
    full = np.flatnonzero(must.sum(axis=0) > most)
    if full.size:
        raise ParameterError(
            owner, "max_parents", f"≥ {must[:, full[0]].sum()}, the required parents of {names[full[0]]}", max_parents
        )
    return Constraints(must, never, most)


def _beginning(owner: str, names: Sequence[str], rule: Constraints, start: Any) -> list[tuple[int, ...]]:
    """The structure to begin with: `start` and the required edges."""
    edges = rule.required.copy()
    for child, family in enumerate(checked_parents(owner, "start", {} if start is None else start, names)):
        for parent in family:
            if rule.forbidden[parent, child]:
                raise ParameterError(owner, "start", "without forbidden edges", (names[parent], names[child]))
            edges[parent, child] = True
    families = [tuple(np.flatnonzero(edges[:, child]).tolist()) for child in range(len(names))]
    cycle = find_cycle(families)
    if cycle is not None:
        path = " → ".join(names[node] for node in cycle)
        raise ParameterError(owner, "start", "without a cycle, together with the required edges", path)
    for name, family in zip(names, families):
        if len(family) > rule.max_parents:
            raise ParameterError(owner, "start", f"with ≤ {rule.max_parents} parents of each node", (name, len(family)))
    return families
