"""Orderings and neighbours against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from credo.kernels import RBF, Categorical, Linear, Matern, Periodic, White
from credo.models.gaussian_process.solvers import vecchia_order
from credo.models.gaussian_process.solvers.vecchia_order import Boxes, arrange, column_scales, maxmin

RNG = np.random.default_rng(0)
# Whole numbers, so that there are copies and ties and distances are exact; more rows than fit in a box of 32.
TIED = RNG.integers(0, 5, (300, 3)).astype(float)
SPREAD = RNG.standard_normal((500, 6))


@pytest.fixture(params=[TIED, SPREAD, SPREAD[:1], SPREAD[:33, :1], np.zeros((70, 2))], ids=lambda Z: str(Z.shape))
def Z(request):
    return request.param


def test_maxmin_takes_a_farthest_row_each_time(Z):
    order = maxmin(Z)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(Z)))
    square = cdist(Z, Z, "sqeuclidean")
    gap = np.full(len(Z), np.inf)
    for before, row in itertools.pairwise(order):
        gap = np.minimum(gap, square[before])
        gap[before] = -1.0
        assert gap[row] >= gap.max() * (1 - 1e-12)


def test_after_the_exact_part_rows_follow_by_distance(monkeypatch):
    monkeypatch.setattr(vecchia_order, "FARTHEST", 100)
    order = maxmin(SPREAD)
    np.testing.assert_array_equal(np.sort(order), np.arange(500))
    gap = cdist(SPREAD[order[100:]], SPREAD[order[:100]]).min(axis=1)
    assert np.all(np.diff(gap) <= 1e-12)


@pytest.mark.parametrize("ordering", ["maxmin", "random", "given"])
@pytest.mark.parametrize("m", [1, 7, 40])
def test_neighbours_are_the_nearest_before_ties_by_place(Z, ordering, m):
    layout = arrange(Z, m, ordering)
    order = layout.index[:, -1]
    for place, row in enumerate(order):
        before = order[:place]
        square = np.square(Z[before] - Z[row]).sum(axis=1)
        expected = before[np.argsort(square, kind="stable")[:m]]
        found = layout.index[place, :-1]
        assert np.all(found[expected.size :] == row)
        if Z is TIED and m < len(Z) - 1:
            np.testing.assert_array_equal(found[: expected.size], expected)
        else:
            assert set(found[: expected.size]) == set(expected) or np.ptp(Z) == 0.0


def test_nearest_of_new_rows_is_brute_force():
    queries = np.random.default_rng(1).standard_normal((80, 6))
    found = Boxes.of(SPREAD, np.arange(500)).nearest(queries, np.full(80, 500), 9)
    np.testing.assert_array_equal(found, np.argsort(cdist(queries, SPREAD, "sqeuclidean"), axis=1)[:, :9])


class TestColumnScales:
    def test_of_radial_kernels_are_inverse_lengthscales(self):
        w = column_scales(3.0 * Matern((1.0, 4.0), active_dims=(2, 0)), SPREAD)
        assert w[2] == pytest.approx(4.0 * w[0])
        assert np.all(w[[1, 3, 4, 5]] == 0.0)

    def test_of_sums_and_products_are_probed(self):
        """Of RBF · RBF correlations fall by the summed squares: known exactly. White says nothing."""
        one, two = RBF((1.0, 2.0, 1.0, 1.0, 1.0, 1.0)), RBF((1.0, 2.0, 0.5, 1.0, 1.0, 1.0))
        w = column_scales(one * two + White(0.3), SPREAD)
        np.testing.assert_allclose((w / w[0]) ** 2, [1.0, 0.25, 2.5, 1.0, 1.0, 1.0], rtol=1e-6)

    def test_of_kernels_that_take_codes_only(self):
        rows = np.column_stack([RNG.integers(0, 3, 50), RNG.standard_normal(50)])
        w = column_scales(Categorical(3, active_dims=(0,)) * RBF(1.0, active_dims=(1,)), rows)
        assert np.all(np.isfinite(w))
        assert w[1] > 0.0

    @pytest.mark.parametrize("kernel", [Linear(), Periodic(1.0), White(1.0), RBF(1e300)])
    def test_are_finite(self, kernel):
        assert np.all(np.isfinite(column_scales(kernel, SPREAD)))
        assert np.all(np.isfinite(column_scales(kernel, SPREAD[:1])))
