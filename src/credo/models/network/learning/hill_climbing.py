"""`hill_climb`: a structure that no single added, deleted or reversed edge improves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from credo.models.network.learning.climbing import search
from credo.models.network.learning.gains import Gains
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.scores import checked_score, family_scores
from credo.models.network.learning.structure import LearnedStructure

__all__ = ["described", "hill_climb"]

_OWNER = "hill_climb"


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
    >>> import numpy as np
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
    gains = Gains(rows, goal)
    found = search(
        _OWNER, gains, max_parents=max_parents, tabu=tabu, required=required, forbidden=forbidden, start=start,
        n_restarts=n_restarts, max_iter=max_iter, random_state=random_state,
    )  # fmt: skip
    return described(rows, found.parents, goal, found.moves, gains.n_counted, found.result)


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
