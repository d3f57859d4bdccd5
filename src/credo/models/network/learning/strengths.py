"""How sure the edges of a learned structure are: how often rows drawn again lead to them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.network.learning.acyclicity import Ancestry
from credo.models.network.learning.hill_climbing import hill_climb
from credo.models.network.learning.options import missing_rule
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.structural_em import first_round, next_round, usable
from credo.models.network.learning.structure import LearnedStructure, essential_graph
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["EdgeStrengths", "edge_strengths"]

# Where cells are missing: rounds of structural EM for each structure, and draws of a row with many completions, for
# their noise averages out over the structures.
_ROUNDS, _DRAWS = 2, 8


@register
@dataclass(frozen=True, eq=False)
class EdgeStrengths:
    """What share of bootstrap structures has an edge.

    names (d,) ; presence (d, d), symmetric: how often a and b are linked; direction [a, b]: of those times, how often
    as a → b; an edge whose direction the data cannot tell counts half each way
    n_bootstrap : structures learned; method : "hill_climb", or "structural_em" where cells were missing
    """

    names: tuple[str, ...]
    presence: np.ndarray
    direction: np.ndarray
    n_bootstrap: int
    method: str = "hill_climb"

    @property
    def table(self) -> list[tuple[str, str, float, float]]:
        """(a, b, presence, direction a → b), the likelier direction first, the surest edges first."""
        rows = [
            (self.names[a], self.names[b], float(self.presence[a, b]), float(self.direction[a, b]))
            for a, b in np.argwhere(np.triu(self.presence > 0.0, 1))
        ]
        rows = [(a, b, p, q) if q >= 0.5 else (b, a, p, 1.0 - q) for a, b, p, q in rows]
        return sorted(rows, key=lambda row: (-row[2], -row[3], row[0], row[1]))

    def parents(self, threshold: float = 0.5) -> Mapping[str, tuple[str, ...]]:
        """The averaged structure: edges at least so often present, the surest first, none that closes a cycle."""
        if not 0.0 < threshold <= 1.0:
            raise ParameterError("EdgeStrengths.parents", "threshold", "in (0, 1]", threshold)
        place = {name: j for j, name in enumerate(self.names)}
        ancestry = Ancestry([()] * len(self.names))
        for parent, child, presence, _ in self.table:
            a, b = place[parent], place[child]
            if presence >= threshold:
                ancestry.add(*((b, a) if ancestry.reaches[b, a] else (a, b)))
        return {name: tuple(self.names[p] for p in ancestry.families[j]) for j, name in enumerate(self.names)}


def edge_strengths(
    rows: CodedRows, n_bootstrap: int = 100, *, random_state: Any = None, **options: Any
) -> EdgeStrengths:
    """Learn structures from rows drawn with replacement, and count edges.

    Parameters
    ----------
    rows : columns of codes. Weights are counts of rows
    n_bootstrap : structures to learn
    options : as of `hill_climb`; n_restarts is 0 unless given. ``missing="drop"`` leaves rows with a missing cell out,
        with a warning; else structures are learned from them by `structural_em`, and the answer's `method` says so

    Returns
    -------
    EdgeStrengths

    Notes
    -----
    An arrow that an equivalent structure has the other way round (`essential_graph`) says nothing of direction. The
    shares are no posterior probabilities: drawing rows again doubles the noise, and favours edges a little.

    References
    ----------
    Friedman, Goldszmidt and Wyner (1999), Data analysis with Bayesian networks: a bootstrap approach, UAI.

    >>> from credo.models.network.learning.rows import coded_rows
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 2, 300)
    >>> rows = coded_rows("", np.column_stack([a, a ^ (rng.random(300) < 0.1)]), (2, 2), ("a", "b"))
    >>> edge_strengths(rows, 20, random_state=0).table
    [('a', 'b', 1.0, 0.5)]
    """
    if not isinstance(n_bootstrap, (int, np.integer)) or isinstance(n_bootstrap, bool) or n_bootstrap < 1:
        raise ParameterError("edge_strengths", "n_bootstrap", "an integer ≥ 1", n_bootstrap)
    search, em = missing_rule("edge_strengths", options)
    search = {"n_restarts": 0, **search}
    with_holes = em and bool(rows.missing.any())
    rows = usable(rows) if with_holes else rows.complete("edge_strengths").by_name().merged()
    learner = _with_holes(rows, search) if with_holes else functools.partial(hill_climb, **search)
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    draws, d = max(1, round(rows.total)), len(rows.names)
    linked, arrows = np.zeros((d, d)), np.zeros((d, d))
    for rng in as_generator(random_state).spawn(int(n_bootstrap)):
        counts = rng.multinomial(draws, weights / weights.sum()).astype(np.float64)
        drawn = CodedRows(rows.names, rows.sizes, rows.columns, counts).taken(counts > 0.0)
        found = essential_graph(_adjacency(learner(drawn).parents))
        linked += found | found.T
        arrows += np.where(found & found.T, 0.5, found)
    direction = np.divide(arrows, linked, out=np.zeros((d, d)), where=linked > 0.0)
    method = "structural_em" if with_holes else "hill_climb"
    return EdgeStrengths(rows.names, linked / n_bootstrap, direction, int(n_bootstrap), method)


def _with_holes(rows: CodedRows, search: Mapping[str, Any]) -> Callable[[CodedRows], LearnedStructure]:
    """Structural EM of rows drawn again, begun at what all rows say; two rounds, for its own edges to come in."""
    whole = first_round(rows)
    for _ in range(_ROUNDS):
        whole, _ = next_round(rows, whole, search, 0)

    def learn(drawn: CodedRows) -> LearnedStructure:
        at = whole
        for _ in range(_ROUNDS):
            at, _ = next_round(drawn, at, search, 0, _DRAWS)
        assert at.found is not None
        return at.found

    return learn


def _adjacency(parents: Mapping[str, tuple[str, ...]]) -> np.ndarray:
    place = {name: j for j, name in enumerate(parents)}
    edges = np.zeros((len(place), len(place)), dtype=bool)
    for child, family in parents.items():
        edges[[place[p] for p in family], place[child]] = True
    return edges
