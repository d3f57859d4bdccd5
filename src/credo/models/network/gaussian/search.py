"""`learn_gaussian`: which real numbers hang on which, found by climbing among structures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, NotIdentifiedError, ParameterError, warn
from credo.models.network.gaussian.columns import numbers_of
from credo.models.network.gaussian.learning import EXACT, LARGEST, checked_weight
from credo.models.network.gaussian.scores import SCORES, GaussianGains, GaussianScore
from credo.models.network.learning.climbing import search
from credo.models.network.learning.structure import LearnedStructure, checked_parents

__all__ = ["search_structure", "structure_scores"]

# Parents that a score without a prior may give a node, as a share of the rows: with as many parents as rows any node is
# told exactly, and the likelihood has no bound.
ROWS_A_PARENT = 4
_RESCALE = "Rescale them."


def search_structure(
    owner: str,
    columns: Mapping[str, Any],
    rows: int,
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
    sample_weight: Any = None,
) -> LearnedStructure:
    """Hill-climbing with tabu and restarts over the names in their order; options as of `hill_climb`.

    score : "bic", "bge", "aic" or "log_likelihood" ; equivalent_sample_size : of BGe's prior, > 0

    Cost: n d² once; then d³ and less a family.
    """
    names = tuple(sorted(columns))
    goal = _goal(owner, columns, rows, names, score, equivalent_sample_size, sample_weight)
    most = max_parents
    if goal.name != "bge" and (most is None or isinstance(most, int)):
        bound = max(1, int(goal.total) // ROWS_A_PARENT)
        most = min(len(names), bound) if most is None else most
    gains = GaussianGains(names, goal)
    found = search(
        owner, gains, max_parents=most, tabu=tabu, required=required, forbidden=forbidden, start=start,
        n_restarts=n_restarts, max_iter=max_iter, random_state=random_state,
    )  # fmt: skip
    values = [gains._scored(child, family) for child, family in enumerate(found.parents)]
    return LearnedStructure(
        {name: tuple(names[p] for p in family) for name, family in zip(names, found.parents, strict=True)},
        goal.name, float(sum(values)), dict(zip(names, values, strict=True)), found.moves, gains.n_counted,
        found.result,
    )  # fmt: skip


def structure_scores(
    owner: str, columns: Mapping[str, Any], rows: int, parents: Any, score: str, equivalent_sample_size: float
) -> dict[str, float]:
    """The score of each node's family, by name."""
    names = tuple(columns)
    goal = _goal(owner, columns, rows, names, score, equivalent_sample_size, None)
    gains = GaussianGains(names, goal)
    families = checked_parents(owner, "parents", parents, names)
    return {name: gains._scored(child, tuple(sorted(families[child]))) for child, name in enumerate(names)}


def _goal(
    owner: str, columns: Mapping[str, Any], rows: int, names: tuple[str, ...], score: Any, size: Any, weight: Any
) -> GaussianScore:
    """The score, of complete rows."""
    if not isinstance(score, str) or score not in SCORES:
        raise ParameterError(owner, "score", f"one of {', '.join(SCORES)}", score)
    if isinstance(size, bool) or not isinstance(size, (int, float, np.number)) or not 0.0 < size < np.inf:
        raise ParameterError(owner, "equivalent_sample_size", "a number > 0", size)
    if not names or not rows:
        raise DataError(f"{owner}: the table has {rows} rows and {len(names)} columns.", value=(rows, len(names)))
    w = checked_weight(owner, weight, rows)
    x = numbers_of(owner, columns, rows, names)
    x, w = _complete(owner, names, x, np.ones(rows) if w is None else w)
    if w.sum() < 3.0 or len(x) < 3:
        raise NotIdentifiedError(
            f"{owner}: {len(x)} complete row(s) tell nothing of arrows.", value=len(x), remedy="Give more rows."
        )
    if far := [name for name, column in zip(names, x.T, strict=True) if not abs(column).max() <= LARGEST]:
        raise DataError(
            f"{owner}: column(s) {', '.join(far[:8])} are beyond {LARGEST:g}.", columns=far, remedy=_RESCALE
        )
    spread = np.abs(x - x.mean(axis=0)).max(axis=0)
    if constant := [name for name, s, column in zip(names, spread, x.T, strict=True) if s <= EXACT * abs(column).max()]:
        raise DataError(
            f"{owner}: column(s) {', '.join(constant[:8])} hold one value only, of which nothing can be learned.",
            columns=constant, remedy="Leave them out.",
        )  # fmt: skip
    if near := [name for name, s in zip(names, spread, strict=True) if s < 1.0 / LARGEST]:
        raise DataError(
            f"{owner}: column(s) {', '.join(near[:8])} vary by less than {1.0 / LARGEST:g}.", columns=near,
            remedy=_RESCALE,
        )  # fmt: skip
    return GaussianScore.of(score, x, w, float(size))


def _complete(owner: str, names: tuple[str, ...], x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    missing = np.isnan(x)
    bad = missing.any(axis=1)
    if bad.all():
        empty = [name for name, column in zip(names, missing.T, strict=True) if column.all()]
        raise DataError(
            f"{owner}: every row has a missing cell.", columns=empty or None,
            remedy="Leave out the emptiest columns.",
        )  # fmt: skip
    if bad.any():
        warn(
            f"{owner}: {int(bad.sum())} of {len(x)} rows have a missing cell and are left out of the search, which is "
            "right where cells go missing by chance alone.",
            DataWarning,
        )
    keep = ~bad & (w > 0.0)
    return x[keep], w[keep]
