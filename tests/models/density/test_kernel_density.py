"""`KernelDensity`: a density that integrates, its bounds, draws, quantiles and modes; awkward rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KernelDensity as Theirs
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo.saving
from credo.errors import DataError, ParameterError, UnavailableError
from credo.models.density import Histogram, KernelDensity
from credo.models.density.kernels import KERNELS


@parametrize_with_checks([KernelDensity(), KernelDensity(kernel="linear", bandwidth=1.0), Histogram(), Histogram(5)])
def test_scikit_learn_contract(estimator, check) -> None:
    check(estimator)


def line(low: float, high: float, n: int = 20_001) -> np.ndarray:
    return np.linspace(low, high, n)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 3])
def test_equals_scikit_learn(kernel: str, d: int) -> None:
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(300, d)), 2.0 * rng.normal(size=(50, d)), rng.random(300)
    ours = KernelDensity(kernel=kernel, bandwidth=0.4, rtol=0).fit(X, sample_weight=w).score_samples(Y)
    theirs = Theirs(kernel=kernel, bandwidth=0.4).fit(X, sample_weight=w).score_samples(Y)
    np.testing.assert_allclose(np.exp(ours), np.exp(theirs), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski"])
def test_integrates_to_one_in_two_columns(kernel: str, metric: str) -> None:
    """The cosine kernel too, whose constant scikit-learn 1.9 has wrong in two columns."""
    X = np.random.default_rng(1).normal(size=(20, 2))
    params = {"p": 3} if metric == "minkowski" else None
    model = KernelDensity(kernel=kernel, metric=metric, metric_params=params, bandwidth=[[1.0, 0.4], [0.4, 0.7]])
    grid = line(-16.0, 16.0, 257)
    Y = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    total = np.exp(model.fit(X).score_samples(Y)).sum() * (grid[1] - grid[0]) ** 2
    assert total == pytest.approx(1.0, abs=3e-3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("support", [(0.0, None), (None, 1.0), (0.0, 1.0)])
def test_bounds_keep_the_mass(kernel: str, support: tuple) -> None:
    x = np.random.default_rng(2).beta(0.8, 1.5, 40)
    model = KernelDensity(kernel=kernel, bandwidth=0.3, support=support).fit(x[:, None])
    ends = (-15.0 if support[0] is None else 0.0, 15.0 if support[1] is None else 1.0)
    y = line(*ends, 6001)
    f = np.exp(model.log_prob(y))
    assert np.trapezoid(f, y) == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(model.cdf(y[::600]), np.concatenate(
        [[0.0], np.cumsum(0.5 * (f[1:] + f[:-1])) * (y[1] - y[0])])[::600], atol=1e-3)  # fmt: skip
    draws = model.sample(500, 0)[:, 0]
    assert draws.min() >= ends[0]
    assert draws.max() <= ends[1]
    # Kolmogorov: a false alarm in 1e6
    assert np.abs(model.cdf(np.sort(draws)) - (np.arange(500) + 0.5) / 500).max() < 2.7 / np.sqrt(500)


def test_the_density_is_level_at_a_bound_and_nothing_beyond() -> None:
    x = np.random.default_rng(0).exponential(size=(4000, 1))
    bounded, free = KernelDensity(support=(0, None)).fit(x), KernelDensity().fit(x)
    assert np.isneginf(bounded.log_prob(-0.01))
    at = np.exp([bounded.log_prob(0.0), free.log_prob(0.0)])
    assert at[0] > 0.85  # the truth is 1; without a bound half the mass leaks
    assert at[1] < 0.75
    with pytest.raises(DataError, match=r"rows \[2\] lie outside the support"):
        KernelDensity(support=(0, None)).fit([[1.0], [2.0], [-1.0]])


@pytest.mark.parametrize("kernel", KERNELS)
def test_quantiles_invert_the_distribution_function(kernel: str) -> None:
    x = np.random.default_rng(0).standard_cauchy((100, 1))
    model = KernelDensity(kernel=kernel).fit(x)
    q = np.array([[0.001, 0.3], [0.5, 0.999]])
    np.testing.assert_allclose(model.cdf(model.quantile(q)), q, atol=1e-9)
    assert model.quantile(0.5).shape == ()


def test_modes_are_where_the_gradient_is_zero() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-4, 1, 500), rng.normal(4, 1, 300)])[:, None]
    model = KernelDensity(bandwidth=0.8).fit(x)
    modes = model.modes()
    assert len(modes) == 2
    step = 1e-4
    at = modes.points[:, 0]
    slope = (np.exp(model.log_prob(at + step)) - np.exp(model.log_prob(at - step))) / (2 * step)
    assert np.abs(slope).max() < 1e-5
    assert modes.density[0] > modes.density[1]
    two = np.column_stack([x[:, 0], 0.5 * rng.normal(size=800)])
    found = KernelDensity(bandwidth=[0.8, 0.4]).fit(two).modes()
    np.testing.assert_allclose(np.sort(found.points[:2, 0]), [-4, 4], atol=0.4)
    with pytest.raises(UnavailableError, match="Gaussian"):
        KernelDensity(kernel="tophat", bandwidth=1.0).fit(two).modes()
    assert len(KernelDensity(kernel="tophat", bandwidth=1.0).fit([[0.0], [5.0]]).modes()) == 2


def test_the_densest_region_of_a_normal_density() -> None:
    """Of N(0, 1 + h²) the densest 90 % is ± 1.6449 √(1 + h²); quantiles as rows make the rows exact."""
    from scipy.special import ndtri

    x = ndtri((np.arange(2000) + 0.5) / 2000)[:, None]
    model = KernelDensity(bandwidth=0.5).fit(x)
    region = model.highest_density(0.9)
    np.testing.assert_allclose(region.intervals, [[-1.6449 * 1.1180, 1.6449 * 1.1180]], rtol=2e-3)
    assert region.level == pytest.approx(np.exp(model.log_prob(region.intervals[0, 0])), rel=1e-3)
    level = KernelDensity(bandwidth=0.5).fit(np.column_stack([x, x[::-1]])).highest_density(0.5).level
    assert level > 0.0


def test_draws_follow_the_density() -> None:
    x = np.random.default_rng(0).normal(size=(50, 1))
    for kernel in KERNELS:
        model = KernelDensity(kernel=kernel, bandwidth=0.7).fit(x, sample_weight=np.arange(50))
        draws = np.sort(model.sample(4000, 1)[:, 0])
        # Kolmogorov: a false alarm in 1e6
        assert np.abs(model.cdf(draws) - (np.arange(4000) + 0.5) / 4000).max() < 2.7 / np.sqrt(4000), kernel


def test_many_rows_far_from_zero_in_float32_with_ties_and_zero_weights() -> None:
    rng = np.random.default_rng(0)
    x = 1e8 + rng.normal(size=(20_000, 1))
    model = KernelDensity(bandwidth="silverman").fit(x)
    assert np.sqrt(np.square(model.bandwidth_ / (4 / (3 * 20_000)) ** 0.2)) == pytest.approx(1.0, rel=0.02)
    y = 1e8 + line(-4, 4, 401)
    near = KernelDensity(bandwidth=model.bandwidth_).fit(x - 1e8).log_prob(line(-4, 4, 401))
    np.testing.assert_allclose(model.log_prob(y), near, atol=1e-4)
    small = rng.normal(size=(500, 2)).astype(np.float32)
    assert np.isfinite(KernelDensity().fit(small).score_samples(small)).all()
    ties = np.repeat([[0.0], [1.0]], 50, axis=0)
    assert np.isfinite(KernelDensity().fit(ties).score(ties))
    w = np.r_[np.ones(100), np.zeros(100)]
    both = np.concatenate([x[:100] - 1e8, x[:100] + 1e8])
    a, b = KernelDensity().fit(both, sample_weight=w), KernelDensity().fit(both[:100])
    assert a.bandwidth_ == b.bandwidth_
    assert a.points_.shape == (100, 1)
    with pytest.raises(ValueError, match="zero"):
        KernelDensity().fit(both, sample_weight=0 * w)


def test_far_queries_have_a_log_density() -> None:
    model = KernelDensity(bandwidth=1.0).fit(np.zeros((5000, 1)))
    far = model.log_prob(np.r_[line(-1, 1, 5000), 1e4])
    assert far[-1] == pytest.approx(-0.5e8 - 0.9189385, rel=1e-12)


def test_bad_cells_are_named() -> None:
    for value, word in ((np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")):
        X = np.zeros((4, 2))
        X[2, 1] = value
        with pytest.raises(DataError, match=rf"{word}.*row 2, column 'x1'") as raised:
            KernelDensity(bandwidth=1.0).fit(X)
        assert raised.value.rows == [2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bandwidth", 0.0), ("bandwidth", -1), ("bandwidth", "normal"), ("bandwidth", [1.0, 2.0, 3.0]),
        ("bandwidth", [[1.0, 2.0], [2.0, 1.0]]), ("bandwidth", np.nan), ("bandwidth", True), ("kernel", "box"),
        ("rtol", -1), ("atol", np.inf), ("algorithm", "brute"), ("metric", "canberra"), ("leaf_size", 0),
        ("breadth_first", 2), ("metric_params", {"V": 1}), ("support", (1, 0)), ("support", [(0, 1)]),
        ("reference_sd", 0.0),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(name: str, value: object) -> None:
    X = np.random.default_rng(0).random((10, 2))
    arguments = {"bandwidth": "scott", name: value}
    with pytest.raises(ParameterError, match=name) as raised:
        KernelDensity(**arguments).fit(X)
    assert raised.value.parameter == name


def test_saving_keeps_the_density(tmp_path) -> None:
    x = np.random.default_rng(0).normal(size=(50, 1))
    for model in (KernelDensity(support=(-10, None)).fit(x), Histogram("blocks").fit(x)):
        credo.saving.save(model, tmp_path / "m.credo")
        loaded = credo.saving.load(tmp_path / "m.credo")
        assert np.array_equal(loaded.score_samples(x), model.score_samples(x))
