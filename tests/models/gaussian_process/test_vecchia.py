"""`Vecchia`: equal to the exact solver where all earlier rows are neighbours; its own identities where few are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import credo as cr
from credo.errors import NotPositiveDefiniteError, NumericalError, ParameterError
from credo.kernels import RBF, Constant, Linear, Matern, Periodic, Polynomial, RationalQuadratic, White
from credo.models.gaussian_process.solvers import Exact, Vecchia
from credo.models.gaussian_process.solvers.vecchia_blocks import goes_by_arrays, lanes, stacked

RNG = np.random.default_rng(0)
N = 90
X = RNG.standard_normal((N, 3))
X[7] = X[3]
NOISE = 0.05 + 0.1 * RNG.random(N)
U = RNG.standard_normal((N, 2))
NEW = np.concatenate([RNG.standard_normal((11, 3)), X[:2]])
KERNELS = [
    2.0 * Matern((1.0, 2.0, 0.7), nu=2.5),
    RBF(1.3),
    Matern(0.9, nu=0.5, active_dims=(2, 0)),
    RBF((1.0, 2.0), active_dims=(0, 1), fixed=("lengthscale",)) + 0.5 * Matern(1.0, nu=1.5),
    1.5 * RationalQuadratic(0.8, alpha=2.0) + Matern((1.0, 1.0, 2.0), nu=0.5) * Linear() + 0.1 * White(0.5) + 0.3,
    Periodic(1.2) * RBF(2.0) + Linear((1.0, 2.0, 3.0)),
    0.2 * Polynomial(2) + RBF(1.0, active_dims=(1,)) * Constant(2.0),
]


@pytest.fixture(params=KERNELS, ids=lambda kernel: repr(kernel)[:40])
def kernel(request):
    return request.param


class TestAllNeighboursAreExact:
    """Both ways lose about cond(K) · 2⁻⁵³ < 1e-11 of their largest entry; bounds are a hundred times that."""

    @pytest.mark.parametrize("ordering", ["maxmin", "random", "given"])
    def test_solve_and_determinant(self, kernel, ordering):
        exact = Exact()(kernel, X, NOISE)
        factor = Vecchia(N - 1, ordering)(kernel, X, NOISE)
        assert factor.log_determinant == pytest.approx(exact.log_determinant, rel=1e-10, abs=1e-9)
        close(factor.solve(U), exact.solve(U))
        close(factor.inverse_diagonal(), exact.inverse_diagonal())

    @pytest.mark.parametrize("copies", [0.0, 1.0, 2.0])
    def test_gradient(self, kernel, copies):
        for mine, exact in zip(
            Vecchia(N - 1)(kernel, X, NOISE).gradient(U, copies),
            Exact()(kernel, X, NOISE).gradient(U, copies),
            strict=True,
        ):
            close(mine, exact)

    @pytest.mark.parametrize("joint", [False, True])
    def test_predictions(self, kernel, joint):
        mine = Vecchia(N)(kernel, X, NOISE).predict(NEW, U, joint)
        exact = Exact()(kernel, X, NOISE).predict(NEW, U, joint)
        for a, b in zip(mine, exact, strict=True):
            close(a, b)


def close(mine, exact):
    assert mine.shape == exact.shape
    np.testing.assert_allclose(mine, exact, rtol=0.0, atol=1e-9 * max(np.abs(exact).max(initial=0.0), 1.0))


class TestFewNeighbours:
    def test_is_the_product_of_conditional_densities(self, kernel):
        """Brute force: every row given its six nearest in the ordering, by the exact formulae."""
        at = Vecchia(6).at(kernel, X)
        factor = at(kernel, X, NOISE)
        K = kernel(X) + np.diag(NOISE)
        total = determinant = 0.0
        for *near, row in at.layout.index:
            near = [i for i in near if i != row]
            weight = np.linalg.solve(K[np.ix_(near, near)], K[near, row]) if near else np.empty(0)
            variance = K[row, row] - weight @ K[near, row]
            determinant += np.log(variance)
            total += np.sum((U[row] - weight @ U[near]) ** 2) / variance
        assert factor.log_determinant == pytest.approx(determinant, rel=1e-10)
        assert np.vdot(U, factor.solve(U)) == pytest.approx(total, rel=1e-10)

    @pytest.mark.parametrize("terms", [None, 40])
    def test_gradient_by_differences(self, kernel, terms):
        """Central differences at 1e-5: truncation 1e-10 and rounding 1e-16/1e-5 of a value of some 1e2."""
        at = Vecchia(6).at(kernel, X, terms)

        def value(theta, noise):
            factor = at(kernel.with_theta(theta), X, noise)
            return -0.5 * np.vdot(U, factor.solve(U)) - factor.log_determinant

        theta, step = kernel.theta, 1e-5
        slope, by_row = at(kernel, X, NOISE).gradient(U, 2.0)
        for direction in np.eye(theta.size):
            up, down = (value(theta + sign * step * direction, NOISE) for sign in (1.0, -1.0))
            assert slope @ direction == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-5)
        for row in (0, 3, 50, N - 1):
            direction = step * (np.arange(N) == row)
            difference = (value(theta, NOISE + direction) - value(theta, NOISE - direction)) / (2 * step)
            assert by_row[row] == pytest.approx(difference, rel=1e-5, abs=1e-4)

    def test_more_neighbours_are_closer_to_exact(self):
        kernel = KERNELS[0]
        exact = Exact()(kernel, X, NOISE).log_determinant
        gaps = [Vecchia(m)(kernel, X, NOISE).log_determinant - exact for m in (2, 5, 15, 60)]
        assert all(a > b > -1e-9 for a, b in itertools.pairwise(gaps))  # conditioning on less never lowers d_i

    def test_maxmin_is_closer_than_rows_as_they_come_in_a_plane(self):
        side = np.linspace(0.0, 1.0, 25)
        plane = np.array([(a, b) for a in side for b in side])
        noise, kernel = np.full(625, 0.1), Matern(0.5, nu=1.5)
        exact = Exact()(kernel, plane, noise).log_determinant
        gap = [Vecchia(10, o)(kernel, plane, noise).log_determinant - exact for o in ("maxmin", "random", "given")]
        assert 0.0 < gap[0] < gap[1] < gap[2]

    def test_joint_and_marginal_predictions_agree(self):
        factor = Vecchia(8)(KERNELS[0], X, NOISE)
        mean, variance = factor.predict(NEW, U)
        joint_mean, covariance = factor.predict(NEW, U, joint=True)
        np.testing.assert_array_equal(mean, joint_mean)
        np.testing.assert_allclose(np.diag(covariance), variance, rtol=1e-12)
        assert np.linalg.eigvalsh(covariance).min() > -1e-12
        # Row 11 of NEW is row 0 of X; so near its noisy neighbours, exact covariances are known to a few hundredths.
        exact = Exact()(KERNELS[0], X, NOISE).predict(NEW, U, joint=True)[1]
        assert np.abs(covariance - exact).max() < 0.05

    def test_terms_stand_for_all_rows(self):
        """Of n terms, all: the same; of every row's own share, the sum over disjoint halves is the whole."""
        at = Vecchia(6).at(KERNELS[0], X)
        whole = Vecchia(6).at(KERNELS[0], X, N)
        np.testing.assert_array_equal(at.layout.index, whole.layout.index)
        half = Vecchia(6).at(KERNELS[0], X, N // 2)
        assert half.layout.scale == 2.0
        np.testing.assert_array_equal(half.layout.index, at.layout.index[::2])


class TestBlocks:
    def test_any_kernel_by_arrays_and_one_by_one_agree(self, kernel):
        from credo.models.gaussian_process.solvers.vecchia_blocks import _one_by_one

        index = np.random.default_rng(1).integers(0, N, (5, 9))
        weight = np.random.default_rng(2).standard_normal((15, 9))
        (C, pull), (D, slow) = stacked(kernel, X)(index), _one_by_one(kernel, X)(index)
        np.testing.assert_allclose(C, D, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(pull(weight), slow(weight), rtol=1e-9, atol=1e-11)

    def test_which_go_by_arrays(self):
        assert [goes_by_arrays(kernel) for kernel in KERNELS] == [True] * 5 + [False, True]

    def test_lanes_fall_with_size(self):
        assert lanes(31) == 64
        assert lanes(5000) == 8


class TestAwkward:
    def test_one_row(self):
        factor = Vecchia()(RBF(1.0), np.zeros((1, 2)), np.full(1, 0.5))
        assert factor.log_determinant == pytest.approx(np.log(1.5))
        np.testing.assert_allclose(factor.predict(np.zeros((1, 2)), np.ones((1, 1)))[0], 2.0 / 3.0)

    def test_no_new_rows(self):
        mean, covariance = Vecchia()(RBF(1.0), X, NOISE).predict(X[:0], U, joint=True)
        assert mean.shape == (0, 2)
        assert covariance.shape == (0, 0)

    @pytest.mark.parametrize("rows", [np.repeat(X[:30], 4, axis=0), np.ones((60, 3)), np.concatenate([X, X + 1e-9])])
    def test_copies_without_noise_get_jitter_that_is_said(self, rows):
        factor = Vecchia(20)(Matern(1.0), rows, np.zeros(len(rows)))
        assert 0.0 < factor.certificate["jitter"] <= 1e-4
        mean, variance = factor.predict(rows[:4], np.ones((len(rows), 1)))
        np.testing.assert_allclose(mean, 1.0, atol=1e-4)
        assert np.all((variance >= 0.0) & (variance < 1e-4))

    @pytest.mark.parametrize("lengthscale", [1e-300, 1e-5, 1e5, 1e300])
    def test_extreme_lengthscales(self, lengthscale):
        factor = Vecchia(N)(RBF(lengthscale), X[8:], NOISE[8:])
        exact = Exact()(RBF(lengthscale), X[8:], NOISE[8:])
        assert factor.log_determinant == pytest.approx(exact.log_determinant, rel=1e-8)
        for mine, theirs in zip(factor.gradient(U[8:]), exact.gradient(U[8:]), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-9)

    def test_constant_column_and_offset_change_nothing(self):
        kernel = Matern((1.0, 1.0, 1.0))
        flat = np.column_stack([X[:, :2], np.full(N, 5.0)])
        moved = flat + np.array([2.0**20, 0.0, 1e9])
        here = Vecchia(8)(kernel, flat, NOISE).log_determinant
        assert Vecchia(8)(kernel, moved, NOISE).log_determinant == pytest.approx(here, abs=1e-6)

    def test_negative_noise_is_named(self):
        with pytest.raises(NotPositiveDefiniteError, match="neighbouring rows"):
            Vecchia(5)(RBF(1.0), X, np.full(N, -0.5))
        with pytest.raises(NotPositiveDefiniteError, match="NaN"):
            Vecchia(5)(RBF(1.0), X, np.full(N, np.nan))

    def test_memory_is_foretold(self):
        with pytest.raises(NumericalError, match="neighbours for 1,000,000 rows needs"):
            Vecchia(10**6)(RBF(1.0), np.zeros((10**6, 1)), np.ones(10**6))
        with pytest.raises(NumericalError, match="covariance for 1,000,000 rows needs"):
            Vecchia(5)(RBF(1.0), X, NOISE).predict(np.zeros((10**6, 3)), U, joint=True)

    @pytest.mark.parametrize(
        "options", [{"n_neighbors": 0}, {"n_neighbors": 1.5}, {"n_predict": 0}, {"ordering": "sideways"}]
    )
    def test_options_are_checked(self, options):
        with pytest.raises(ParameterError, match=f"Vecchia.{next(iter(options))}"):
            Vecchia(**options)

    def test_neighbours_of_other_rows_are_refused(self):
        with pytest.raises(ParameterError, match="90 rows whose neighbours"):
            Vecchia(5).at(RBF(1.0), X)(RBF(1.0), X[:50], NOISE[:50])


class TestSameBits:
    def test_over_threads(self, monkeypatch):
        rows = np.random.default_rng(5).standard_normal((1500, 2))
        noise, right = np.full(1500, 0.1), np.ones((1500, 1))
        results = []
        for threads in ("1", "3"):
            monkeypatch.setenv("CREDO_NUM_THREADS", threads)
            factor = Vecchia(10)(1.0 * Matern((1.0, 2.0)), rows, noise)
            results.append([factor.rows, *factor.gradient(right), *factor.predict(rows[:99] + 0.1, right)])
        for one, three in zip(*results, strict=True):
            np.testing.assert_array_equal(one, three)


def test_survives_saving(tmp_path):
    at = Vecchia(4).at(RBF(1.0), X)
    cr.save(at, tmp_path / "at.credo")
    again = cr.load(tmp_path / "at.credo")
    np.testing.assert_array_equal(again(RBF(1.0), X, NOISE).rows, at(RBF(1.0), X, NOISE).rows)
