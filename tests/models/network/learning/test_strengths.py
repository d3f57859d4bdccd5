import numpy as np
import pytest

from credo.errors import ParameterError
from credo.models.network.learning.rows import coded_rows
from credo.models.network.learning.strengths import EdgeStrengths, edge_strengths

from .nets import is_acyclic, random_rows


def _collider(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    a, b, apart = (rng.integers(0, 2, n) for _ in range(3))
    c = np.where(rng.random(n) < 0.9, a ^ b, rng.integers(0, 2, n)) | (a & b)
    return coded_rows("test", np.column_stack([a, b, c, apart]), (2, 2, 2, 2), ("a", "b", "c", "apart"))


def test_a_collider_is_sure_and_its_arrows_are():
    found = edge_strengths(_collider(), 50, random_state=0)
    at = {name: j for j, name in enumerate(found.names)}
    for parent in ("a", "b"):
        assert found.presence[at[parent], at["c"]] == 1.0
        assert found.direction[at[parent], at["c"]] > 0.9
    assert found.presence[at["apart"]].max() < 0.2
    assert found.parents(0.5) == {"a": (), "apart": (), "b": (), "c": ("a", "b")}
    assert {row[:2] for row in found.table[:2]} == {("a", "c"), ("b", "c")}


def test_shares_are_consistent_and_seeded():
    rows, _ = random_rows(1, d=5, n=150)
    first, second = (edge_strengths(rows, 20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.presence, second.presence)
    np.testing.assert_array_equal(first.direction, second.direction)
    np.testing.assert_array_equal(first.presence, first.presence.T)
    linked = first.presence > 0
    np.testing.assert_allclose((first.direction + first.direction.T)[linked], 1.0)


def test_weights_are_counts_of_rows():
    rows, _ = random_rows(2, d=4, n=100)
    merged = coded_rows("test", rows.columns.T, rows.sizes, weights=np.full(100, 5.0))
    found = edge_strengths(merged, 10, random_state=0)
    assert found.presence.max() == 1.0


def test_the_averaged_structure_has_no_cycle():
    names = ("a", "b", "c")
    presence = np.array([[0, 0.9, 0.7], [0.9, 0, 0.8], [0.7, 0.8, 0]])
    direction = np.array([[0, 1.0, 0.1], [0, 0, 1.0], [0.9, 0, 0]])
    parents = EdgeStrengths(names, presence, direction, 10).parents(0.5)
    assert is_acyclic([tuple(names.index(p) for p in parents[name]) for name in names])
    assert parents == {"a": (), "b": ("a",), "c": ("a", "b")}


def test_bad_arguments():
    rows = _collider(50)
    for n in (0, 1.5, True):
        with pytest.raises(ParameterError, match="n_bootstrap"):
            edge_strengths(rows, n)
    found = edge_strengths(rows, 2, random_state=0)
    for threshold in (0.0, 1.5):
        with pytest.raises(ParameterError, match="threshold"):
            found.parents(threshold)
