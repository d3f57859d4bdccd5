"""Trees: the best structure in which every node has one parent (Chow–Liu), and that beside a class (TAN)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import scipy.special

from credo.errors import DataWarning, ParameterError, warn
from credo.inference.result import Result
from credo.models.network.learning.counts import DENSE_CELLS, compressed, count_beside, packed
from credo.models.network.learning.hill_climbing import described
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.scores import checked_score
from credo.models.network.learning.structure import LearnedStructure

__all__ = ["chow_liu", "tree_augmented", "mutual_information"]

# Nats a row below which two columns are independent but for rounding; a table of 1e9 rows could not tell either.
_NOTHING = 1e-12


def mutual_information(rows: CodedRows, given: int | None = None) -> np.ndarray:
    """I(a; b) or I(a; b | given) of every pair of columns, from their counts, in nats (d, d); 0 on the diagonal.

        I(a; b | c) = Σ p(a, b, c) log p(a, b | c)/(p(a | c) p(b | c))

    Where cells are missing, each pair is counted on the rows that have it (and `given`). Cost O(n d²).
    """
    if rows.missing.any():
        return _available_information(rows, given)
    d, total = len(rows.sizes), rows.total
    above = () if given is None else (given,)
    q = 1 if given is None else rows.sizes[given]
    information = np.zeros((d, d))
    for a in range(d):
        r = q * rows.sizes[a]
        batches: list[list[int]] = [[]]
        for b in range(a + 1, d) if a != given else ():
            if b == given:
                continue
            if r * rows.sizes[b] > DENSE_CELLS:
                information[a, b] = _sparse_information(rows, above, a, b) / total
                continue
            if r * sum(rows.sizes[c] for c in (*batches[-1], b)) > DENSE_CELLS:
                batches.append([])
            batches[-1].append(b)
        key = packed(rows.columns, rows.sizes, (*above, a))
        for batch in filter(None, batches):
            cells, edges = count_beside(rows, key, r, batch)
            for i, b in enumerate(batch):
                table = cells[edges[i] : edges[i + 1]].reshape(q, rows.sizes[a], -1)
                information[a, b] = _information(table) / total
    return information + information.T


def _available_information(rows: CodedRows, given: int | None) -> np.ndarray:
    """The same, each pair on the rows that have it; 0 where no row does."""
    d, seen = len(rows.sizes), ~rows.missing
    information, above = np.zeros((d, d)), [] if given is None else [given]
    for a, b in itertools.combinations([j for j in range(d) if j != given], 2):
        members = [*above, a, b]
        kept = seen[members].all(axis=0)
        if kept.any():
            weights = None if rows.weights is None else rows.weights[kept]
            columns = np.ascontiguousarray(rows.columns[members][:, kept])
            pair = CodedRows(
                tuple(rows.names[j] for j in members), tuple(rows.sizes[j] for j in members), columns, weights
            )
            information[a, b] = mutual_information(pair, None if given is None else 0)[-2, -1]
    return information + information.T


def _information(table: np.ndarray) -> float:
    """Σ n log(n n_c/(n_ca n_cb)) of counts (c, a, b)."""
    parts = (table, table.sum(axis=(1, 2)), table.sum(axis=2), table.sum(axis=1))
    whole, c, a, b = (float(scipy.special.xlogy(part, part).sum()) for part in parts)
    return max(whole + c - a - b, 0.0)


def _sparse_information(rows: CodedRows, above: tuple[int, ...], a: int, b: int) -> float:
    """The same from the combinations that occur."""

    def part(*members: int) -> float:
        key, first = compressed(rows.columns, rows.sizes, members)
        counts = np.bincount(key, rows.weights, len(first))
        return float(scipy.special.xlogy(counts, counts).sum())

    return max(part(*above, a, b) + part(*above) - part(*above, a) - part(*above, b), 0.0)


def spanning_tree(weights: np.ndarray, root: int) -> list[tuple[int, ...]]:
    """Parents of each node in the heaviest spanning tree of weights (d, d), away from `root`; a forest where 0.

    Prim's algorithm, O(d²); the first of equal edges.
    """
    d = len(weights)
    parent, best, inside = np.full(d, -1), np.full(d, -1.0), np.zeros(d, dtype=bool)
    best[root] = np.inf
    for _ in range(d):
        node = int(np.argmax(np.where(inside, -np.inf, best)))
        inside[node] = True
        closer = ~inside & (weights[node] > best) & (weights[node] > _NOTHING)
        parent[closer], best[closer] = node, weights[node][closer]
    return [(int(p),) if p >= 0 else () for p in parent]


def chow_liu(rows: CodedRows, root: str | None = None) -> LearnedStructure:
    """The tree of the highest likelihood: the heaviest spanning tree, edges weighing their mutual information.

    Parameters
    ----------
    rows : columns of codes; where cells are missing, two columns are compared on the rows that have both, and the score
        of a family counts those that have it whole
    root : the node that arrows lead away from, of all the same likelihood; None is the first name

    Returns
    -------
    LearnedStructure : scored by log-likelihood; columns that share no information (constant ones) stay apart

    Raises
    ------
    ParameterError : root is no column.

    References
    ----------
    Chow and Liu (1968), Approximating discrete probability distributions with dependence trees, IEEE Trans. Inf. 14.

    >>> from credo.models.network.learning.rows import coded_rows
    >>> codes = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 1, 0]])
    >>> chow_liu(coded_rows("", codes, (2, 2, 2), ("c", "b", "a")), root="b").edges
    (('b', 'c'), ('c', 'a'))
    """
    _warn_of_missing("chow_liu", rows)
    rows = rows.by_name().merged()
    at = 0 if root is None else _place("chow_liu", "root", root, rows.names)
    return _described(rows, spanning_tree(mutual_information(rows), at), "chow_liu")


def tree_augmented(rows: CodedRows, class_node: str, root: str | None = None) -> LearnedStructure:
    """TAN: the class is a parent of every other column, and these form the best tree given it.

    Parameters
    ----------
    rows : columns of codes; where cells are missing, two columns are compared on the rows that have both, and the score
        of a family counts those that have it whole
    class_node : the column to predict
    root : of the tree over the others; None is the first name

    Raises
    ------
    ParameterError : class_node or root is no column, or they are the same.

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), Bayesian network classifiers, Machine Learning 29.
    """
    owner = "tree_augmented"
    _warn_of_missing(owner, rows)
    rows = rows.by_name().merged()
    label = _place(owner, "class_node", class_node, rows.names)
    others = [j for j in range(len(rows.names)) if j != label]
    first = others[0] if root is None and others else label if root is None else _place(owner, "root", root, rows.names)
    if root is not None and first == label:
        raise ParameterError(owner, "root", "another node than class_node", root)
    if not others:
        return _described(rows, [()], owner)
    tree = spanning_tree(mutual_information(rows, label)[np.ix_(others, others)], others.index(first))
    parents: list[tuple[int, ...]] = [()] * len(rows.names)
    for child, family in zip(others, tree):
        parents[child] = tuple(sorted((label, *(others[p] for p in family))))
    return _described(rows, parents, owner)


def _warn_of_missing(owner: str, rows: CodedRows) -> None:
    bad = int(np.asarray(rows.missing.any(axis=0)).sum())
    if bad:
        warn(
            f"{owner}: {bad} of {rows.n_rows} rows have a missing cell; columns are compared on the rows that have "
            "both, which is right where cells go missing by chance alone.",
            DataWarning,
        )


def _place(owner: str, parameter: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise ParameterError(owner, parameter, f"one of {', '.join(names[:12])}", name)
    return names.index(name)


def _described(rows: CodedRows, parents: list[tuple[int, ...]], owner: str) -> LearnedStructure:
    score = checked_score(owner, "log_likelihood", 1.0, rows.total)
    return described(rows, parents, score, result=Result("exact", owner))
