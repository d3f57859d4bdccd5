"""Structures by search where hardly a row is complete: fill the cells by what was found, and search again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.errors import DataWarning, warn
from credo.models.network.definition import NetworkDefinition
from credo.models.network.learning.estimation import fit_tables
from credo.models.network.learning.hill_climbing import hill_climb
from credo.models.network.learning.priors import checked_prior
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.structure import LearnedStructure, checked_parents
from credo.models.network.learning.trees import mutual_information, spanning_tree

__all__ = ["climb_completed", "few_complete"]

# Share of complete rows below which they alone are not searched; and rounds of filling and searching.
FEW, ROUNDS = 0.1, 5


def few_complete(rows: CodedRows) -> bool:
    """Whether too few rows are complete to search these alone, and every column has cells."""
    missing = rows.missing
    return bool(1.0 - missing.any(axis=0).mean() < FEW) and not bool(missing.all(axis=1).any())


def climb_completed(rows: CodedRows, options: Mapping[str, Any]) -> LearnedStructure:
    """Structural EM with filled cells: a tree from pairs, its tables by EM, each row's most probable cells, a climb.

    Tables by EM, cells and climb are then taken in turn until the structure stays, 5 times at most. Filled cells are
    surer than they should be, so that weak dependences may be missed or strong ones overstated; scores are of the rows
    as filled.

    References
    ----------
    Friedman (1998), The Bayesian structural EM algorithm, UAI, which has expected counts in place of filled cells.
    """
    rows = rows.by_name()
    families: Sequence[tuple[int, ...]] = spanning_tree(mutual_information(rows), 0)
    found, seen = hill_climb(_completed(rows, families), **options), set()
    for _ in range(ROUNDS - 1):
        if found.edges in seen:
            break
        seen.add(found.edges)
        families = checked_parents("hill_climb", "parents", found.parents, rows.names)
        found = hill_climb(_completed(rows, families), **options)
    complete = int((~rows.missing.any(axis=0)).sum())
    warn(
        f"hill_climb: only {complete} of {rows.n_rows} rows have no missing cell. The cells are filled by what was "
        "found so far, and searched again, which is rougher than a search of complete rows: look at weak edges twice.",
        DataWarning,
    )
    return found


def _completed(rows: CodedRows, families: Sequence[tuple[int, ...]]) -> CodedRows:
    """The rows with each missing cell in its state of the most probable filling, under tables by EM."""
    from credo.models.network.batch.rows import MAXIMUM, answer_rows
    from credo.models.network.network import BayesianNetwork

    names = rows.names
    prior = checked_prior("hill_climb", "bdeu", None, None, dict(zip(names, rows.sizes)))
    tables = fit_tables(rows, families, prior).tables
    states = {name: tuple(range(size)) for name, size in zip(names, rows.sizes)}
    parents = {name: tuple(names[p] for p in family) for name, family in zip(names, families)}
    network = BayesianNetwork.of(NetworkDefinition(states, parents, tables))
    return replace(rows, columns=np.ascontiguousarray(answer_rows(network, rows.columns, None, MAXIMUM).codes))
