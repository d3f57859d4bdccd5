"""Fronts and hypervolumes by brute force."""

from itertools import combinations

import numpy as np
import pytest

from credo.design.fronts import hypervolume, non_dominated, reference_point
from credo.errors import DataError, ParameterError


def brute_mask(values):
    """By the definition, a pair at a time."""
    beaten = [any(np.all(q <= p) and np.any(q < p) for q in values) for p in values]
    return ~np.array(beaten, dtype=bool)


def brute_volume(values, r):
    """By inclusion and exclusion: boxes from the worst corner of each subset."""
    total = 0.0
    for size in range(1, len(values) + 1):
        for chosen in combinations(values, size):
            total -= (-1) ** size * np.prod(np.maximum(r - np.max(chosen, axis=0), 0.0))
    return total


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("levels", [3, 1000])
def test_non_dominated_by_definition(d, levels):
    """Few levels: ties in one objective, and copies."""
    rng = np.random.default_rng(d)
    for n in (1, 2, 7, 40):
        values = rng.integers(levels, size=(n, d)).astype(float)
        mask = non_dominated(values)
        np.testing.assert_array_equal(mask, brute_mask(values))
        once = non_dominated(values, duplicates=False)
        assert np.all(mask[once])
        assert once.sum() == len(np.unique(values[mask], axis=0))
        first = {tuple(row): i for i, row in reversed(list(enumerate(values.tolist())))}
        assert all(first[tuple(values[i].tolist())] == i for i in np.flatnonzero(once))


def test_infinities_and_nothing():
    assert non_dominated([[np.inf, np.inf]]).tolist() == [True]
    assert non_dominated([[0.0, np.inf], [1.0, np.inf], [-np.inf, 3.0]]).tolist() == [False, False, True]
    assert non_dominated(np.empty((0, 2))).shape == (0,)
    assert hypervolume(np.empty((0, 3)), np.ones(3)) == 0.0


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("levels", [4, 2**20])
def test_hypervolume_by_inclusion_and_exclusion(d, levels):
    """Integers, so that both ways are exact but for sums of products up to 2¹⁰⁰, which have 52 bits."""
    rng = np.random.default_rng(10 * d)
    for n in (1, 3, 8):
        values = rng.integers(levels, size=(n, d)).astype(float)
        r = np.full(d, 0.9 * levels)
        np.testing.assert_allclose(hypervolume(values, r), brute_volume(values, r), rtol=1e-10)


def test_known_volumes():
    """k even points on the line y₁ + y₂ = 1: ½ (1 + 1/(k − 1)) + borders of the reference; a half sphere's corner."""
    for k in (2, 5, 101):
        line = np.linspace(0.0, 1.0, k)
        values = np.column_stack([line, 1.0 - line])
        # up to (1, 1) half of the square, less k − 1 triangles of ½/(k − 1)²
        assert hypervolume(values, [1.0, 1.0]) == pytest.approx(0.5 - 0.5 / (k - 1), abs=1e-12)
    sphere = np.abs(np.random.default_rng(0).standard_normal((400, 3)))
    sphere = 1.0 - sphere / np.linalg.norm(sphere, axis=1, keepdims=True)
    assert 0.93 * np.pi / 6 < hypervolume(sphere, np.ones(3)) < np.pi / 6  # filled from within


def test_hypervolume_properties():
    """It does not fall when an outcome is added, dominated ones add nothing, and axes may be stretched or swapped."""
    rng = np.random.default_rng(1)
    for d in (2, 3):
        values, r = rng.random((20, d)), np.full(d, 1.1)
        whole = hypervolume(values, r)
        steps = [hypervolume(values[:n], r) for n in range(21)]
        assert np.all(np.diff(steps) >= -1e-12)
        assert hypervolume(np.vstack([values, values + 0.01]), r) == pytest.approx(whole, rel=1e-12)
        scale = np.array([1e-3, 7.0, 100.0])[:d]
        assert hypervolume(values * scale - 5.0, r * scale - 5.0) == pytest.approx(whole * scale.prod(), rel=1e-12)
        assert hypervolume(values[:, ::-1], r[::-1]) == pytest.approx(whole, rel=1e-12)


def test_outcomes_beyond_the_reference_count_for_nothing():
    assert hypervolume([[0.0, 2.0], [1.0, 0.5]], [1.0, 1.0]) == 0.0


def test_reference_point_lets_ends_count_as_the_middle():
    """On an even linear front each point then adds the same volume."""
    line = np.linspace(0.0, 1.0, 6)
    values = np.column_stack([line, 1.0 - line])
    r = reference_point(values)
    whole = hypervolume(values, r)
    added = [whole - hypervolume(np.delete(values, i, axis=0), r) for i in range(6)]
    np.testing.assert_allclose(added, added[0])


def test_reference_point_of_few():
    np.testing.assert_allclose(reference_point([[2.0, -4.0]]), [4.0, 0.0])
    np.testing.assert_allclose(reference_point([[0.0, 0.0]]), [1.0, 1.0])
    np.testing.assert_allclose(reference_point([[0.0, 0.0], [3.0, 5.0]]), [3.0, 5.0])
    many = np.column_stack([np.linspace(0, 1, 50), np.linspace(1, 0, 50)])
    np.testing.assert_allclose(reference_point(many), [1.1, 1.1])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: non_dominated([1.0, 2.0]), ParameterError),
        (lambda: non_dominated([[1.0, np.nan]]), DataError),
        (lambda: hypervolume([[1.0, 2.0]], [3.0]), ParameterError),
        (lambda: hypervolume([[1.0, 2.0]], [3.0, np.inf]), ParameterError),
        (lambda: reference_point(np.empty((0, 2))), ParameterError),
        (lambda: reference_point([[1.0, np.inf]]), DataError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()
