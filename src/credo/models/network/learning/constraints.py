"""`pc`: a structure from tests of independence."""

from __future__ import annotations

import itertools

import numpy as np

from credo.errors import ParameterError
from credo.inference.result import Result
from credo.models.network.learning.acyclicity import Ancestry
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.hill_climbing import described
from credo.models.network.learning.independence import test_independence
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.scores import checked_score
from credo.models.network.learning.structure import LearnedStructure, implied_arrows

__all__ = ["pc"]

_OWNER = "pc"


def pc(rows: CodedRows, *, significance: float = 0.01, max_given: int | None = 3) -> LearnedStructure:
    """Cut every edge whose ends some other columns make independent; then arrows that the tests tell.

    Parameters
    ----------
    rows : columns of codes; each test is of the rows that have all its cells
    significance : an edge stays while p ≤ this, in (0, 1). Not the error rate of the whole, of which there is none
    max_given : columns conditioned on at most; None for any number, which takes time exponential in the degree

    Returns
    -------
    LearnedStructure : "exact"; certificate "tests" (how many) and "undirected" (edges whose direction the tests do not
        tell: pointed by names, as a DAG must be). Its score is BIC, by which it was not chosen

    Notes
    -----
    The stable version of the search, whose edges do not depend on the order of columns (Colombo and Maathuis 2014), G
    tests. Where a and b have no edge and c between them is not what made them independent, a → c ← b; arrows that
    contradict surer ones (by p) or close a cycle are left out; what follows is Meek's rules.

    It assumes no common causes that are no column, and reads "not shown dependent" as "independent": with few rows it
    misses edges that a score keeps.

    Cost: O(d² · C(degree, max_given)) tests of O(n) each.
    References: Spirtes and Glymour (1991), Social Science Computer Review 9; Colombo and Maathuis (2014), JMLR 15.

    Examples
    --------
    >>> from credo.models.network.learning.rows import coded_rows
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(0, 2, (2, 2000))
    >>> c = (a | b) ^ (rng.random(2000) < 0.1)
    >>> pc(coded_rows("", np.column_stack([a, b, c]), (2, 2, 2), ("a", "b", "c"))).edges
    (('a', 'c'), ('b', 'c'))
    """
    if isinstance(significance, bool) or not isinstance(significance, (int, float)) or not 0.0 < significance < 1.0:
        raise ParameterError(_OWNER, "significance", "a number in (0, 1)", significance)
    whole = isinstance(max_given, (int, np.integer)) and not isinstance(max_given, bool)
    if max_given is not None and (not whole or max_given < 0):
        raise ParameterError(_OWNER, "max_given", "an integer ≥ 0, or None", max_given)
    rows = rows.by_name().merged()
    most = len(rows.names) if max_given is None else int(max_given)
    linked, apart, tests = _skeleton(rows, float(significance), most)
    compelled = _colliders(linked, apart)
    families, undirected = _pointed(linked, compelled)
    result = Result("exact", _OWNER, certificate={"tests": tests, "undirected": undirected})
    complete = rows.taken(~np.asarray(rows.missing.any(axis=0)))
    scored = complete if complete.n_rows else rows
    return described(scored, families, checked_score(_OWNER, "bic", 1.0, max(scored.total, 1.0)), result=result)


Apart = dict[tuple[int, int], tuple[float, tuple[int, ...]]]


def _skeleton(rows: CodedRows, significance: float, most: int) -> tuple[np.ndarray, Apart, int]:
    """Edges (d, d) that no set of neighbours separates; (p, set) of the pairs that one does; how many tests."""
    d, counter = len(rows.names), Counter(rows)
    linked = ~np.eye(d, dtype=bool)
    apart: Apart = {}
    tests = 0
    for size in range(most + 1):
        before = linked.copy()  # edges cut at this size do not change which sets are tried
        if not any(before[a].sum() - 1 >= size for a in range(d)):
            break
        for a, b in itertools.combinations(range(d), 2):
            if not before[a, b]:
                continue
            tried = set()
            for end, other in ((a, b), (b, a)):
                near = [c for c in np.flatnonzero(before[end]).tolist() if c != other]
                tried |= set(itertools.combinations(near, size))
            for given in sorted(tried):
                tests += 1
                p = test_independence(counter, a, b, given).p_value
                if p > significance and p > apart.get((a, b), (0.0, ()))[0]:
                    apart[a, b] = p, given
                    linked[a, b] = linked[b, a] = False
    return linked, apart, tests


def _colliders(linked: np.ndarray, apart: Apart) -> np.ndarray:
    """Arrows a → c ← b where c did not separate a from b, the surest pairs first."""
    compelled = np.zeros_like(linked)
    for (a, b), (_, given) in sorted(apart.items(), key=lambda item: (-item[1][0], item[0])):
        for c in np.flatnonzero(linked[a] & linked[b]).tolist():
            if c not in given and not compelled[c, a] and not compelled[c, b]:
                compelled[a, c] = compelled[b, c] = True
    return compelled


def _pointed(linked: np.ndarray, compelled: np.ndarray) -> tuple[list[tuple[int, ...]], int]:
    """Parents of every node: arrows that are told and follow, then the other edges one by one, none closing a cycle."""
    ancestry = Ancestry([()] * len(linked))
    told = np.zeros_like(linked)

    def point(a: int, b: int) -> None:
        """a → b, or b → a where that would close a cycle."""
        if ancestry.reaches[b, a]:
            a, b = b, a
        ancestry.add(a, b)
        told[a, b] = True

    for a, b in np.argwhere(compelled).tolist():
        if not told[b, a]:
            point(a, b)
    undirected = None
    while True:
        for a, b in np.argwhere(implied_arrows(linked, told)).tolist():
            if not told[a, b] and not told[b, a]:
                point(a, b)
                break
        else:
            left = np.argwhere(np.triu(linked & ~told & ~told.T))
            undirected = len(left) if undirected is None else undirected
            if not len(left):
                return [tuple(sorted(family)) for family in ancestry.families], undirected
            point(*left[0].tolist())
