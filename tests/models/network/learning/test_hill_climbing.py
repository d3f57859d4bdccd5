import itertools

import numpy as np
import pytest

from credo.errors import ConvergenceWarning, DataError, DataWarning, ParameterError
from credo.models.network.learning.gains import Gains
from credo.models.network.learning.hill_climbing import hill_climb
from credo.models.network.learning.moves import KINDS
from credo.models.network.learning.rows import CodedRows, coded_rows
from credo.models.network.learning.scores import SCORES, checked_score, family_scores, score_structure

from .nets import all_dags, is_acyclic, random_rows


def _best_of_all(rows, score):
    """The highest score of all 543 structures of four nodes."""
    families = {
        (child, family): family_scores(rows, [family if c == child else () for c in range(4)], score)[child]
        for child in range(4)
        for k in range(4)
        for family in itertools.combinations([p for p in range(4) if p != child], k)
    }
    return max(sum(families[c, tuple(sorted(f))] for c, f in enumerate(dag)) for dag in all_dags(4))


@pytest.mark.parametrize("name", ["bic", "bdeu", "k2", "aic"])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_structures_of_four_nodes_is_found(seed, name):
    rows, _ = random_rows(seed, d=4, n=500)
    found = hill_climb(rows, score=name)
    assert found.score == pytest.approx(_best_of_all(rows, checked_score("test", name, 1.0, rows.total)), rel=1e-12)
    assert found.result.status == "converged"


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_no_move_improves_what_is_found(seed, name):
    rows, _ = random_rows(seed, d=5, n=150)
    found = hill_climb(rows, score=name, n_restarts=0)
    assert found.score == pytest.approx(sum(score_structure(rows, found.parents, name).values()), rel=1e-12)
    assert found.score == pytest.approx(sum(found.family_scores.values()), rel=1e-12)
    edges = set(found.edges)
    for a, b in itertools.permutations(rows.names, 2):
        if (a, b) in edges:
            changes = [edges - {(a, b)}, edges - {(a, b)} | {(b, a)}]
        else:
            changes = [edges | {(a, b)}] if (b, a) not in edges else []
        for changed in changes:
            families = [tuple(rows.names.index(p) for p, c in changed if c == node) for node in rows.names]
            if is_acyclic(families):
                assert sum(score_structure(rows, list(changed), name).values()) <= found.score + 1e-8


def test_moves_add_up_to_the_score():
    rows, _ = random_rows(7, d=6, n=400)
    found = hill_climb(rows, n_restarts=0, tabu=5)
    start = sum(score_structure(rows, {}).values())
    assert start + sum(move.gain for move in found.moves) == pytest.approx(found.score, rel=1e-12)
    assert {move.kind for move in found.moves} <= set(KINDS)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_columns_and_rows_says_nothing(seed):
    rows, _ = random_rows(seed, d=6, n=300, names=tuple("fbdace"))
    found = hill_climb(rows)
    rng = np.random.default_rng(seed)
    columns, at = rng.permutation(6), rng.permutation(rows.n_rows)
    turned = CodedRows(
        tuple(rows.names[j] for j in columns),
        tuple(rows.sizes[j] for j in columns),
        np.ascontiguousarray(rows.columns[columns][:, at]),
    )
    again = hill_climb(turned)
    assert again.parents == found.parents
    assert again.score == found.score


def test_a_seed_settles_it():
    rows, _ = random_rows(2, d=8, n=300)
    first, second = (hill_climb(rows, random_state=5) for _ in range(2))
    assert first.parents == second.parents
    assert first.moves == second.moves


def test_more_search_is_no_worse():
    for seed in range(5):
        rows, _ = random_rows(seed, d=8, n=400)
        plain = hill_climb(rows, tabu=0, n_restarts=0).score
        assert hill_climb(rows, tabu=10, n_restarts=0).score >= plain
        assert hill_climb(rows).score >= plain


def test_required_and_forbidden_edges_are_kept():
    rows, _ = random_rows(1, d=6, n=400)
    free = hill_climb(rows)
    a, b = free.edges[0]
    found = hill_climb(rows, forbidden=[(a, b), (b, a)], required=[("x5", "x0"), ("x0", "x3")])
    assert not {(a, b), (b, a)} & (set(found.edges) - {("x5", "x0"), ("x0", "x3")})
    assert {("x5", "x0"), ("x0", "x3")} <= set(found.edges)
    # the best subject to the constraints: also where only one direction is closed, by restarts as well
    turned = hill_climb(rows, forbidden=[(a, b)])
    assert (a, b) not in turned.edges


def test_max_parents():
    rows, _ = random_rows(3, d=6, n=2000)
    for most in (0, 1, 2):
        found = hill_climb(rows, score="log_likelihood", max_parents=most)
        assert max(map(len, found.parents.values())) <= most
    assert hill_climb(rows, max_parents=0).edges == ()


def test_a_start_is_where_it_begins():
    rows, families = random_rows(4, d=5, n=500)
    truth = {rows.names[c]: [rows.names[p] for p in f] for c, f in enumerate(families)}
    found = hill_climb(rows, start=truth, n_restarts=0)
    assert found.score >= sum(score_structure(rows, truth).values())


def test_the_sparse_path_finds_the_same():
    rows, _ = random_rows(6, d=6, n=150)
    score = checked_score("test", "bdeu", 1.0, rows.total)
    dense, sparse = Gains(rows, score), Gains(rows, score, dense_cells=12)
    for gains in (dense, sparse):
        for child, family in enumerate([(), (0,), (0, 1), (0, 1, 2), (1, 2, 3), ()]):
            gains.settle(child, family)
        wanted = np.ones((6, 6), dtype=bool)
        np.fill_diagonal(wanted, False)
        gains.need(wanted)
    np.testing.assert_allclose(sparse.toggles, dense.toggles, rtol=1e-9, atol=1e-9)


def test_independent_columns_stay_apart():
    """BIC links two of 15 pairs wrongly with P(χ²₁ > log n) = 0.5 % each, 7 % in all; the seed is fixed."""
    codes = np.random.default_rng(0).integers(0, 2, (3000, 6))
    assert hill_climb(coded_rows("test", codes, [2] * 6)).edges == ()


def test_awkward_columns():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200)
    codes = np.column_stack([a, np.zeros(200, dtype=int), a, np.arange(200)])
    found = hill_climb(coded_rows("test", codes, (2, 1, 2, 200), ("a", "constant", "copy", "id")))
    assert ("a", "copy") in found.edges or ("copy", "a") in found.edges
    assert not any("constant" in edge for edge in found.edges)
    assert hill_climb(coded_rows("test", [[0, 1]], (2, 2))).edges == ()
    assert hill_climb(coded_rows("test", [[0], [1]], (2,))).parents == {"x0": ()}


def test_missing_cells():
    rows, _ = random_rows(0, d=4, n=100)
    columns = rows.columns.copy()
    columns[0, :10] = -1
    with pytest.warns(DataWarning, match="10 of 100 rows"):
        found = hill_climb(CodedRows(rows.names, rows.sizes, columns))
    assert found.parents == hill_climb(rows.taken(np.arange(10, 100))).parents
    columns[1] = -1
    with pytest.raises(DataError, match="x1 have no cell"):
        hill_climb(CodedRows(rows.names, rows.sizes, columns))


def test_stopping_early_is_said():
    rows, _ = random_rows(2, d=8, n=2000)
    with pytest.warns(ConvergenceWarning, match="max_iter = 2"):
        found = hill_climb(rows, max_iter=2, n_restarts=0)
    assert found.result.status == "max_iter"
    assert len(found.moves) == 2


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"required": [("x0", "x1"), ("x1", "x2"), ("x2", "x0")]}, "cycle.*x0"),
        ({"required": [("x0", "x1")], "forbidden": [("x0", "x1")]}, "forbidden"),
        ({"required": [("x0", "x0")]}, "different nodes"),
        ({"required": [("x0", "y")]}, "'y'"),
        ({"required": ["x0"]}, "pairs"),
        ({"required": [("x0", "x2"), ("x1", "x2")], "max_parents": 1}, "required parents of x2"),
        ({"required": [("x0", "x1")], "start": {"x0": ["x1"]}}, "required edges"),
        ({"start": {"x0": ["x1"]}, "forbidden": [("x1", "x0")]}, "start.*forbidden"),
        ({"start": {"x0": ["x1", "x2"]}, "max_parents": 1}, "≤ 1 parents"),
        ({"start": {"x0": ["x1"], "x1": ["x0"]}}, "cycle"),
        ({"max_parents": -1}, "max_parents"),
        ({"tabu": -1}, "tabu"),
        ({"tabu": True}, "tabu"),
        ({"n_restarts": 1.5}, "n_restarts"),
        ({"max_iter": 0}, "max_iter"),
        ({"score": "BIC"}, "one of bic"),
        ({"score": "bdeu", "equivalent_sample_size": -1}, "> 0"),
    ],
)
def test_bad_arguments(options, match):
    rows, _ = random_rows(0, d=3)
    with pytest.raises(ParameterError, match=match):
        hill_climb(rows, **options)
