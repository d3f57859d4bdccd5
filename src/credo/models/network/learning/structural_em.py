"""`structural_em`: a structure by search where cells are missing, over expected scores of families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.errors import DataError, MemoryLimitError
from credo.inference.result import Result
from credo.models.network.learning.completing import DRAWS, completed
from credo.models.network.learning.estimation import fit_tables
from credo.models.network.learning.hill_climbing import hill_climb
from credo.models.network.learning.priors import checked_prior
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.scores import Score, family_scores
from credo.models.network.learning.structure import LearnedStructure, checked_parents
from credo.models.network.learning.trees import mutual_information, spanning_tree
from credo.numerics.random import as_generator

__all__ = ["Round", "first_round", "next_round", "structural_em", "usable"]

_OWNER = "hill_climb"
# Rounds of filling and searching at most: with a tenth or a third of the cells missing 2 to 5 are enough.
ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Round:
    """families (by number) with their tables by EM and log-likelihood; the structure, None of the first."""

    families: tuple[tuple[int, ...], ...]
    tables: tuple[np.ndarray, ...]
    log_likelihood: float
    found: LearnedStructure | None = None


def structural_em(rows: CodedRows, options: Mapping[str, Any]) -> LearnedStructure:
    """Structural EM: a tree from pairs of cells; then tables by EM, expected counts and a climb, until it stays.

    In each round the scores of families are those of the counts that the last structure and its tables expect of the
    rows (`completed`). Of the rounds' structures the best by

        score of the expected counts − their log-likelihood + log-likelihood of the cells that are there

    is taken, which for BIC and AIC is the score of the cells themselves, and for BDeu and K2 the approximation of
    Cheeseman and Stutz.

    Parameters
    ----------
    rows : a column without any cell is refused: a hidden node has no edges that rows alone could tell
    options : of `hill_climb`

    Returns
    -------
    LearnedStructure : its `family_scores` are of the expected counts. The result's `inference` is "structural_em";
        `objective` has the score above, round by round, and certificate "drawn" the share of rows whose completions are
        too many to list and were drawn

    Raises
    ------
    DataError : a column without cells. MemoryLimitError : a structure too densely connected, or too many rows.

    Notes
    -----
    Right where whether a cell is missing depends on what is observed alone. A local maximum, as of any EM: a dependence
    between two columns that are hardly ever seen together may be missed.

    References
    ----------
    Friedman (1998), The Bayesian structural EM algorithm, UAI; Cheeseman and Stutz (1996), Bayesian classification
    (AutoClass).
    """
    rows = usable(rows)
    drawn = _share_drawn(rows)
    seed = int(as_generator(options.get("random_state", 0)).integers(2**63))
    options = {**options, "random_state": seed}
    at, best, seen = first_round(rows), None, set()
    values: list[float] = []
    stays = False
    while len(values) < ROUNDS and not stays:
        at, value = next_round(rows, at, options, seed)
        stays = at.families in seen
        seen.add(at.families)
        values.append(value)
        best = (value, at.found) if best is None or value > best[0] else best
    assert best is not None
    assert best[1] is not None
    result = Result(
        "converged" if stays else "max_iter", "structural_em", objective=tuple(values),
        certificate={"drawn": drawn, **(best[1].result.certificate if best[1].result else {})},
    )  # fmt: skip
    return replace(best[1], result=result)


def usable(rows: CodedRows) -> CodedRows:
    """The rows with any cell, by name, equal ones merged.

    Raises
    ------
    DataError : a column without cells.
    """
    missing = rows.missing
    empty = [name for name, column in zip(rows.names, missing) if column.all()]
    if empty:
        raise DataError(
            f"{_OWNER}: column(s) {', '.join(empty[:8])} have no cell at all.", columns=empty,
            remedy="Leave them out: no search can tell the edges of a hidden node. With its edges given, its tables "
            "can be learned: learn_parameters(table, edges, states={node: states}).",
        )  # fmt: skip
    return rows.taken(~np.asarray(missing.all(axis=0))).by_name().merged()


def first_round(rows: CodedRows) -> Round:
    """The likeliest tree of pairs, each on the rows that have both."""
    return _fitted(rows, spanning_tree(mutual_information(rows), 0), None)


def next_round(
    rows: CodedRows, last: Round, options: Mapping[str, Any], seed: int, draws: int = DRAWS
) -> tuple[Round, float]:
    """What is found in the counts that the last round's network expects, and its score on the cells that are there."""
    counted = completed(rows, last.families, last.tables, np.random.default_rng(seed), draws).merged()
    found = hill_climb(counted, **options)
    families = checked_parents(_OWNER, "parents", found.parents, rows.names)
    new = _fitted(rows, families, found)
    likeliest = Score("log_likelihood", 1.0, counted.total)
    explained = float(family_scores(counted, families, likeliest).sum())
    return new, found.score - explained + new.log_likelihood


def _fitted(rows: CodedRows, families: Sequence[tuple[int, ...]], found: LearnedStructure | None) -> Round:
    prior = checked_prior(_OWNER, "bdeu", None, None, dict(zip(rows.names, rows.sizes)))
    try:
        fit = fit_tables(rows, families, prior, tol=1e-6)
    except MemoryLimitError as error:
        raise MemoryLimitError(
            f"{_OWNER}: the structure found is too densely connected to expect missing cells. {error}",
            value=error.value,
            remedy="Give max_parents=2 or 3; or learn from complete rows (missing='drop').",
        ) from error
    return Round(tuple(map(tuple, families)), tuple(fit.tables[n] for n in rows.names), fit.log_likelihood, found)


def _share_drawn(rows: CodedRows) -> float:
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    many = np.log(rows.sizes) @ rows.missing > np.log(DRAWS) + 1e-9
    return float(weights[many].sum() / weights.sum())
