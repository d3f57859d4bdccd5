"""Structures, and how sure their edges are, from rows with missing cells."""

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, DataWarning, MemoryLimitError, ParameterError
from credo.models.network.learning import edge_strengths, learn_structure
from credo.models.network.learning import structural_em as module
from credo.models.network.learning.estimation import fit_tables
from credo.models.network.learning.hill_climbing import hill_climb
from credo.models.network.learning.priors import checked_prior
from credo.models.network.learning.rows import coded_rows
from credo.models.network.learning.structural_em import structural_em

from .nets import draw

FAMILIES = [(), (0,), (1,), (1, 4), (), (3,)]


def _rows(seed, holes=True, n=3000):
    rng = np.random.default_rng(seed)
    tables = [np.array([[0.6, 0.4]] if not f else [[0.9, 0.1], [0.2, 0.8], [0.15, 0.85], [0.75, 0.25]][: 2 ** len(f)])
              for f in FAMILIES]  # fmt: skip
    codes = draw(rng, FAMILIES, tables, (2,) * 6, n)
    if holes:
        codes[np.arange(n), rng.integers(0, 6, n)] = -1
    return coded_rows("test", codes, (2,) * 6)


def _skeleton(edges):
    return {frozenset(edge) for edge in edges}


def test_the_edges_of_complete_rows_are_found_again():
    """Strong dependences in 3,000 rows with a hole each; seeds are fixed, so nothing is left to chance."""
    for seed in range(3):
        found = structural_em(_rows(seed), {})
        assert _skeleton(found.edges) == _skeleton(hill_climb(_rows(seed, holes=False)).edges)
        assert (found.result.inference, found.result.status) == ("structural_em", "converged")
        assert found.result.certificate["drawn"] == 0.0


def test_complete_rows_are_searched_as_before():
    rows = _rows(0, holes=False)
    once, again = structural_em(rows, {}), hill_climb(rows)
    assert once.parents == again.parents
    np.testing.assert_allclose(once.score, again.score)
    np.testing.assert_allclose(max(once.result.objective), again.score, rtol=1e-6)  # tables by BDeu, not by counts


def test_the_score_is_bic_of_the_cells_that_are_there():
    """log-likelihood by EM − k/2 log n, computed apart from the search."""
    rows = _rows(1)
    found = structural_em(rows, {})
    at = {name: j for j, name in enumerate(rows.names)}
    families = [tuple(at[p] for p in found.parents[name]) for name in rows.names]
    prior = checked_prior("test", "none", None, None, dict(zip(rows.names, rows.sizes)))
    fit = fit_tables(rows, families, prior, tol=1e-10)
    k = sum(2 ** len(family) for family in families)
    assert abs(max(found.result.objective) - (fit.log_likelihood - k / 2 * np.log(3000))) < 0.1
    np.testing.assert_allclose(found.score, sum(found.family_scores.values()))


def test_rows_missing_by_what_is_seen():
    """y = x with errors; z is asked for where y = 1 alone, so that y is constant in complete rows."""
    rng = np.random.default_rng(0)
    n = 1500
    x = rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.85, x, 1 - x)
    z = np.where(rng.random(n) < 0.8, x, 1 - x)
    table = {"x": x, "y": y, "z": [int(v) if w else None for v, w in zip(z, y)]}
    found = learn_structure(table)
    assert _skeleton(found.edges) == {frozenset("xy"), frozenset("xz")}
    with pytest.warns(DataWarning, match="left out"):
        dropped = learn_structure(table, missing="drop")
    assert frozenset("xy") not in _skeleton(dropped.edges)
    learned = cr.learn_network(table)
    assert learned.structure.result.inference == "structural_em"
    assert learned.result.ok


def test_the_rows_stay_constraints_hold_and_the_seed_decides():
    rows = _rows(0)
    before = rows.columns.copy()
    options = {"max_parents": 1, "required": [("x5", "x0")], "random_state": 3}
    found, again = structural_em(rows, options), structural_em(rows, options)
    np.testing.assert_array_equal(rows.columns, before)
    assert ("x5", "x0") in found.edges
    assert max(map(len, found.parents.values())) == 1
    assert (found.parents, found.result.objective) == (again.parents, again.result.objective)


def test_the_order_of_columns_does_not_matter():
    rows = _rows(2, n=500)
    order = [3, 0, 5, 1, 4, 2]
    turned = coded_rows("test", rows.columns[order].T, (2,) * 6, [f"x{j}" for j in order])
    assert dict(structural_em(rows, {}).parents) == dict(structural_em(turned, {}).parents)


def test_rows_with_many_holes_are_drawn():
    rows = _rows(0, n=1000)
    codes = rows.columns.T.copy()
    codes[:100, 1:] = -1
    codes[100:110] = -1  # rows without a cell say nothing
    sizes = (2, 2, 2, 2, 2, 3)
    codes[0, 5] = 2
    found = structural_em(coded_rows("test", codes, sizes), {})
    assert 0.05 < found.result.certificate["drawn"] < 0.15
    assert frozenset(("x0", "x1")) in _skeleton(found.edges)


def test_strengths_with_holes():
    """The chain's edges are sure; a column apart is linked in few of 20 structures."""
    rng = np.random.default_rng(3)
    n = 400
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.85, a, 1 - a)
    codes = np.column_stack([a, b, np.where(rng.random(n) < 0.85, b, 1 - b), rng.integers(0, 2, n)])
    codes[rng.random(codes.shape) < 0.2] = -1
    table = {name: [None if v < 0 else int(v) for v in column] for name, column in zip("abcd", codes.T)}
    found = edge_strengths(table, 20, random_state=0)
    again = edge_strengths(table, 20, random_state=0)
    assert found.method == "structural_em"
    np.testing.assert_array_equal(found.presence, again.presence)
    assert found.presence[0, 1] == found.presence[1, 2] == 1.0
    assert found.presence[0, 2] < 0.3
    assert found.presence[3].max() < 0.3
    with pytest.warns(DataWarning, match="left out"):
        assert edge_strengths(table, 2, missing="drop").method == "hill_climb"


def test_what_cannot_be():
    table = {"a": [0, 1, 0], "b": [None, None, None], "c": [1, None, 0]}
    for learner in (learn_structure, edge_strengths):
        with pytest.raises(DataError, match=r"column\(s\) b have no cell at all.*hidden"):
            learner(table, states={"b": (0, 1)})
        with pytest.raises(ParameterError, match='missing must be "em" or "drop"'):
            learner({"a": [0, 1, None], "c": [1, 0, 1]}, missing="fill")
    with pytest.raises(ParameterError, match="Did you mean 'max_parents'"):
        edge_strengths(table, max_parent=2)


def test_a_structure_too_dense_names_the_remedy(monkeypatch):
    def refuse(*_, **__):
        raise MemoryLimitError("It takes 99 GB.", value=99)

    monkeypatch.setattr(module, "fit_tables", refuse)
    with pytest.raises(MemoryLimitError, match=r"99 GB.*max_parents"):
        structural_em(_rows(0, n=50), {})
