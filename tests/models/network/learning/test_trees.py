import itertools

import numpy as np
import pytest

from credo.errors import DataWarning, ParameterError
from credo.models.network.learning.rows import coded_rows
from credo.models.network.learning.scores import score_structure
from credo.models.network.learning.trees import chow_liu, mutual_information, tree_augmented

from .nets import random_rows


def _trees(d):
    """Every undirected tree of d nodes (Prüfer), as edges."""
    for code in itertools.product(range(d), repeat=d - 2):
        degree = [1 + code.count(node) for node in range(d)]
        edges = []
        for node in code:
            leaf = degree.index(1)
            edges.append((leaf, node))
            degree[leaf] -= 1
            degree[node] -= 1
        edges.append(tuple(node for node in range(d) if degree[node] == 1))
        yield edges


def _rooted(edges, root, d):
    parents, front = {root: ()}, [root]
    while front:
        node = front.pop()
        for a, b in edges:
            for here, there in ((a, b), (b, a)):
                if here == node and there not in parents:
                    parents[there] = (here,)
                    front.append(there)
    return [parents[node] for node in range(d)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_chow_liu_is_the_likeliest_of_all_trees(seed, weighted):
    rows, _ = random_rows(seed, d=5, n=120)
    if weighted:
        weights = np.random.default_rng(seed).random(120)
        rows = coded_rows("test", rows.columns.T, rows.sizes, weights=weights)
    found = chow_liu(rows, root="x2")
    trees = list(_trees(5))
    assert len(trees) == 125
    scores = []
    for edges in trees:
        families = {rows.names[c]: [rows.names[p] for p in f] for c, f in enumerate(_rooted(edges, 2, 5))}
        scores.append(sum(score_structure(rows, families, "log_likelihood").values()))
    assert found.score == pytest.approx(max(scores), rel=1e-12)
    assert found.parents["x2"] == ()
    told = [node for node, column in zip(rows.names, rows.columns) if np.ptp(column)]
    assert all(len(found.parents[node]) == 1 for node in told if node != "x2")


def test_information_is_that_of_the_definition():
    rows, _ = random_rows(0, d=4, n=80)
    codes, total = rows.columns, 80.0
    information = mutual_information(rows)
    given = mutual_information(rows, 3)
    for a, b in itertools.combinations(range(4), 2):
        table = np.zeros((rows.sizes[a], rows.sizes[b]))
        np.add.at(table, (codes[a], codes[b]), 1 / total)
        even = np.outer(table.sum(axis=1), table.sum(axis=0))
        expected = np.sum(table[table > 0] * np.log(table[table > 0] / even[table > 0]))
        assert information[a, b] == pytest.approx(expected, abs=1e-12)
        if 3 in (a, b):
            assert given[a, b] == 0.0
            continue
        value = 0.0
        for c in range(rows.sizes[3]):
            inside = codes[3] == c
            part = mutual_information(rows.taken(inside))[a, b] if inside.any() else 0.0
            value += inside.mean() * part
        assert given[a, b] == pytest.approx(value, abs=1e-12)
    np.testing.assert_array_equal(information, information.T)


@pytest.mark.parametrize("given", [None, 2])
@pytest.mark.parametrize("cells", [1, 20])
def test_columns_of_many_states_are_counted_where_they_occur(given, cells, monkeypatch):
    rows, _ = random_rows(2, d=5, n=90)
    rows = coded_rows("test", rows.columns.T, rows.sizes, weights=np.random.default_rng(0).random(90))
    dense = mutual_information(rows, given)
    monkeypatch.setattr("credo.models.network.learning.trees.DENSE_CELLS", cells)
    np.testing.assert_allclose(mutual_information(rows, given), dense, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_tan_is_the_likeliest_tree_beside_the_class(seed):
    rows, _ = random_rows(seed, d=5, n=150)
    found = tree_augmented(rows, "x4", root="x1")
    best = -np.inf
    for edges in _trees(4):
        families = {rows.names[c]: ["x4", *(rows.names[p] for p in f)] for c, f in enumerate(_rooted(edges, 1, 4))}
        best = max(best, sum(score_structure(rows, families, "log_likelihood").values()))
    assert found.score == pytest.approx(best, rel=1e-12)
    assert found.parents["x4"] == ()
    assert all("x4" in found.parents[node] for node in ("x0", "x1", "x2", "x3"))


def test_the_order_of_columns_says_nothing():
    rows, _ = random_rows(3, d=6, n=200)
    columns = [4, 2, 0, 5, 1, 3]
    turned = coded_rows(
        "test", rows.columns[columns].T, [rows.sizes[j] for j in columns], [rows.names[j] for j in columns]
    )
    assert chow_liu(turned).parents == chow_liu(rows).parents
    assert tree_augmented(turned, "x3").parents == tree_augmented(rows, "x3").parents


def test_awkward_columns():
    codes = np.column_stack([np.zeros(50, dtype=int), np.arange(50) % 2, np.arange(50) % 2])
    rows = coded_rows("test", codes, (1, 2, 2), ("constant", "a", "b"))
    assert chow_liu(rows).edges == (("a", "b"),)
    assert tree_augmented(rows, "a").edges == (("a", "b"), ("a", "constant"))
    one = coded_rows("test", [[0]], (1,))
    assert chow_liu(one).edges == ()
    assert tree_augmented(one, "x0").edges == ()
    for options in ({"class_node": "y"}, {"class_node": "a", "root": "a"}, {"class_node": "a", "root": "y"}):
        with pytest.raises(ParameterError):
            tree_augmented(rows, **options)
    with pytest.raises(ParameterError, match="root"):
        chow_liu(rows, "y")


def _with_holes(seed=0, n=4000):
    """A chain a → b → c → d, a cell missing in every row."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 2, n)]
    for _ in range(3):
        codes.append(np.where(rng.random(n) < 0.85, codes[-1], 1 - codes[-1]))
    codes = np.column_stack(codes)
    codes[np.arange(n), rng.integers(0, 4, n)] = -1
    return coded_rows("test", codes, (2,) * 4, tuple("abcd"))


def test_pairs_are_compared_on_the_rows_that_have_both():
    rows = _with_holes()
    information = mutual_information(rows)
    for a, b in itertools.combinations(range(4), 2):
        both = np.all(rows.columns[[a, b]] >= 0, axis=0)
        p = np.histogram2d(*rows.columns[[a, b]][:, both], bins=2)[0] / both.sum()
        by_hand = (p * np.log(p / np.outer(p.sum(axis=1), p.sum(axis=0)))).sum()
        assert information[a, b] == pytest.approx(by_hand, rel=1e-9)
        assert information[b, a] == information[a, b]
    with pytest.warns(DataWarning, match="4000 of 4000 rows have a missing cell"):
        assert chow_liu(rows).edges == (("a", "b"), ("b", "c"), ("c", "d"))
    with pytest.warns(DataWarning, match="rows that have both"):
        assert tree_augmented(rows, "a").edges == (("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("c", "d"))


def test_two_columns_never_seen_together_are_independent():
    rows = coded_rows("test", [[0, -1], [1, -1], [-1, 0], [-1, 1]], (2, 2), ("a", "b"))
    with pytest.warns(DataWarning):
        assert chow_liu(rows).edges == ()
