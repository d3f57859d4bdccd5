"""`hill_climb`: a structure that no single added, deleted or reversed edge improves."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, ParameterError, warn
from credo.inference.result import Result
from credo.models.network.learning.gains import Gains
from credo.models.network.learning.moves import Constraints, Searcher
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.scores import checked_score, family_scores
from credo.models.network.learning.structure import (
    LearnedStructure,
    Move,
    checked_edges,
    checked_parents,
    find_cycle,
)
from credo.numerics.random import as_generator

__all__ = ["hill_climb"]

_OWNER = "hill_climb"
# Arrows turned before a move. On 100,000 rows of alarm the median BIC of 20 climbs with 2, 5, 10 and 20 of them is
# −1,046,025, −1,045,967, −1,045,924 and −1,045,915, against −1,048,796 without; each costs as much as a move.
TURNS = 5


def hill_climb(
    rows: CodedRows,
    *,
    score: str = "bic",
    equivalent_sample_size: float = 1.0,
    max_parents: int | None = None,
    tabu: int = 10,
    required: Iterable[tuple[str, str]] | None = None,
    forbidden: Iterable[tuple[str, str]] | None = None,
    start: Mapping[str, Sequence[str]] | Iterable[tuple[str, str]] | None = None,
    n_restarts: int = 10,
    max_iter: int = 10_000,
    random_state: Any = 0,
) -> LearnedStructure:
    """Climb to a structure that no move of one edge improves, then look beyond; the best of several climbs.

    Parameters
    ----------
    rows : columns of codes; rows with a missing cell are left out, with a warning
    score : "bic", "aic", "bdeu", "k2" or "log_likelihood"
    equivalent_sample_size : > 0, of "bdeu"
    max_parents : of a node; None is any number, which BIC and BDeu keep small by themselves
    tabu : at a local maximum the best move is made all the same, but not back to one of the last `tabu` structures;
        after so many steps without a new best, the best is returned. 0 stops at the first local maximum
    required, forbidden : edges (parent, child)
    start : a structure to begin with; None is the required edges alone
    n_restarts : further climbs from the start. Before each of its moves such a climb turns round a few random arrows
        that the data cannot tell (to an equivalent structure), for a later arrow may fit only where an earlier one
        points the other way
    max_iter : moves of one climb
    random_state : seed, of restarts only

    Returns
    -------
    LearnedStructure : status "converged" (a local maximum) or "max_iter"; certificate "scores", of each climb. Its
        moves are those of the best climb, turned arrows left out

    Raises
    ------
    ParameterError : bad arguments; required edges that make a cycle, are forbidden or exceed max_parents.
    DataError : no complete row.

    Notes
    -----
    The answer does not depend on the order of columns or rows: of equal gains (up to rounding) that of the first names
    is taken. Directions that the data cannot tell are thus set by names: see `essential_graph`, `edge_strengths`.

    The first step counts O(d²) pairs of columns, a later one O(d) families of the nodes it touched: O(n) each. A
    restart meets mostly families counted before.

    Examples
    --------
    >>> from credo.models.network.learning.rows import coded_rows
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 1000)
    >>> wet = np.where(rng.random(1000) < 0.9, rain, 1 - rain)
    >>> codes = np.column_stack([wet, rng.integers(0, 3, 1000), rain])
    >>> hill_climb(coded_rows("", codes, (2, 3, 2), ("wet", "noise", "rain"))).edges
    (('rain', 'wet'),)

    References
    ----------
    Castelo and Kočka (2003), On inclusion-driven learning of Bayesian networks, JMLR 4, for climbs among equivalents;
    Heckerman, Geiger and Chickering (1995), Learning Bayesian networks, Machine Learning 20; Glover (1989), Tabu
    search, ORSA Journal on Computing 1.
    """
    rows = rows.complete(_OWNER).by_name().merged()
    goal = checked_score(_OWNER, score, equivalent_sample_size, rows.total)
    plan = _Plan(_whole("tabu", tabu, 0), _whole("max_iter", max_iter, 1))
    restarts = _whole("n_restarts", n_restarts, 0)
    constraints = _constraints(rows, max_parents, required, forbidden)
    beginning = _beginning(rows, constraints, start)
    searcher = Searcher(Gains(rows, goal), constraints, beginning)
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
        warn(f"{_OWNER}: stopped after max_iter = {max_iter} moves, with better ones left.", ConvergenceWarning)
    result = Result(
        "converged" if best.done else "max_iter", "hill_climb", certificate={"scores": tuple(c.score for c in climbs)}
    )
    return described(rows, best.parents, goal, best.moves, searcher.gains.n_counted, result)


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


def described(
    rows: CodedRows, parents: list[tuple[int, ...]], score: Any, moves: Any = (), counted: int = 0, result: Any = None
) -> LearnedStructure:
    """The structure in names."""
    values = family_scores(rows, parents, score)
    names = rows.names
    return LearnedStructure(
        {name: tuple(names[p] for p in family) for name, family in zip(names, parents)},
        score.name,
        float(values.sum()),
        dict(zip(names, values.tolist())),
        tuple(moves),
        counted,
        result,
    )


def _whole(name: str, value: Any, least: int) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ParameterError(_OWNER, name, f"an integer ≥ {least}", value)
    return int(value)


def _constraints(rows: CodedRows, max_parents: Any, required: Any, forbidden: Any) -> Constraints:
    names, d = rows.names, len(rows.names)
    must, never = np.zeros((d, d), dtype=bool), np.zeros((d, d), dtype=bool)
    for table, parameter, edges in ((must, "required", required), (never, "forbidden", forbidden)):
        for parent, child in checked_edges(_OWNER, parameter, edges, names):
            table[parent, child] = True
    both = np.argwhere(must & never)
    if len(both):
        parent, child = both[0]
        raise ParameterError(
            _OWNER, "required", "without forbidden edges", (names[parent], names[child]), "Take it out of one of them."
        )
    cycle = find_cycle([np.flatnonzero(must[:, child]).tolist() for child in range(d)])
    if cycle is not None:
        path = " → ".join(names[node] for node in cycle)
        raise ParameterError(_OWNER, "required", "without a cycle", path, "Leave out one of these edges.")
    most = d if max_parents is None else _whole("max_parents", max_parents, 0)
    full = np.flatnonzero(must.sum(axis=0) > most)
    if full.size:
        raise ParameterError(
            _OWNER, "max_parents", f"≥ {must[:, full[0]].sum()}, the required parents of {names[full[0]]}", max_parents
        )
    return Constraints(must, never, most)


def _beginning(rows: CodedRows, rule: Constraints, start: Any) -> list[tuple[int, ...]]:
    """The structure to begin with: `start` and the required edges."""
    names = rows.names
    edges = rule.required.copy()
    for child, family in enumerate(checked_parents(_OWNER, "start", {} if start is None else start, names)):
        for parent in family:
            if rule.forbidden[parent, child]:
                raise ParameterError(_OWNER, "start", "without forbidden edges", (names[parent], names[child]))
            edges[parent, child] = True
    families = [tuple(np.flatnonzero(edges[:, child]).tolist()) for child in range(len(names))]
    cycle = find_cycle(families)
    if cycle is not None:
        path = " → ".join(names[node] for node in cycle)
        raise ParameterError(_OWNER, "start", "without a cycle, together with the required edges", path)
    for name, family in zip(names, families):
        if len(family) > rule.max_parents:
            raise ParameterError(
                _OWNER, "start", f"with ≤ {rule.max_parents} parents of each node", (name, len(family))
            )
    return families
