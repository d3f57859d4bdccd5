"""Noise that cannot be learned: rows that count more than once but differ too seldom to leave a residual."""

import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.sparse

import credo as cr
from credo.errors import DataWarning, NotIdentifiedError
from credo.inference.exact.noise_prior import NoisePrior
from credo.inference.exact.propriety import ExactFit, count_distinct, slope_at_zero
from credo.kernels import RBF
from credo.models.kernel_ridge import KernelRidge

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(4, 6)), RNG.normal(size=4)
x1 = np.linspace(0, 1, 9)[:, None]
y1 = 5 + np.sin(6 * x1[:, 0]) + 0.2 * RNG.normal(size=9)
PROPER = cr.noise.Normal(variance_prior=cr.InverseGamma(shape=2.0, scale=1.0))
COPIES = {
    "weights 2": ([2.0] * 4, 1),
    "one weight 2": ([1.0, 1.0, 1.0, 2.0], 1),
    "repeated": (None, 2),
}
REFUSED = {
    "Laplace": {"prior": cr.Laplace(0, 1)},
    "learned Laplace": {"prior": cr.Laplace(0, None)},
    "horseshoe": {"prior": cr.Horseshoe()},
    "stated": {"prior": cr.Normal(0, 1)},
    "stated, half-Normal": {"prior": cr.Normal(0, 1), "noise": cr.noise.Normal(scale_prior=cr.HalfNormal(1.0))},
    "box": {"prior": cr.Uniform(-3, 3)},
    "ard": {"prior": cr.ARD()},
    "Student-t": {"noise": cr.noise.StudentT()},
    "Laplace noise": {"noise": cr.noise.Laplace()},
    "log-linear": {"noise": cr.noise.Normal(cr.noise.LogLinear())},
}


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("how", REFUSED)
def test_copies_of_too_few_rows_are_refused(how, copies):
    weights, times = COPIES[copies]
    rows, y = np.repeat(X, times, axis=0), np.repeat(Y, times)
    with pytest.raises(NotIdentifiedError, match=r"4 different rows that count as [58] .*InverseGamma"):
        cr.LinearRegression(**REFUSED[how]).fit(rows, y, sample_weight=weights)


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("options", [{}, {"inference": "evidence"}])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_learned_scale_warns_and_does_not_claim_to_have_converged(options, copies, sparse):
    weights, times = COPIES[copies]
    rows, y = np.repeat(X, times, axis=0), np.repeat(Y, times)
    rows = scipy.sparse.csr_array(rows) if sparse else rows
    with pytest.warns(DataWarning, match="noise scale is not identified"):
        model = cr.LinearRegression(**options).fit(rows, y, sample_weight=weights)
    assert model.result_.status == "not_identified"


@pytest.mark.parametrize("copies", [1.5, 2.0, 3.0, "repeated"])
@pytest.mark.parametrize("inference", ["auto", "evidence"])
def test_kernel_ridge_warns_of_copies(copies, inference):
    model = KernelRidge(RBF(0.3), inference=inference)
    times, weights = (2, None) if copies == "repeated" else (1, np.full(9, copies))
    rows, y = np.repeat(x1, times, axis=0), np.repeat(y1, times)
    with pytest.warns(DataWarning, match="9 different rows that count as"):
        model.fit(rows, y, sample_weight=weights)
    assert model.result_.status == "not_identified"


def test_copies_under_a_kernel_whose_eigenvectors_are_rounding():
    rng = np.random.default_rng(0)
    rng.normal(size=28)
    x = np.sort(rng.uniform(0, 1, 9))[:, None]  # two rows nearly meet: what is left over is 1e-5 of y, all rounding
    y = 5 + np.sin(6 * x[:, 0]) + 0.2 * rng.normal(size=9)
    for times in (2, 4):
        with pytest.warns(DataWarning, match="not identified"):
            KernelRidge(RBF(0.3)).fit(x, y, sample_weight=np.full(9, float(times)))
        with pytest.warns(DataWarning, match="not identified"):
            KernelRidge(RBF(0.3)).fit(np.repeat(x, times, axis=0), np.repeat(y, times))


def test_what_is_proper_still_fits_in_silence():
    two, half = np.full(4, 2.0), np.full(4, 0.5)
    lognormal = cr.noise.Normal(scale_prior=cr.LogNormal(0.0, 1.0))
    for options in ({}, {"prior": cr.Normal(0, 1)}, {"prior": cr.Laplace(0, 1)}):
        for noise in (PROPER, lognormal, cr.noise.Normal(0.5)):
            model = cr.LinearRegression(noise=noise, **options).fit(X, Y, sample_weight=two)
            assert model.result_.ok
            assert model.noise_scale_ > 0.005
    for options in ({}, {"prior": cr.Normal(0, 1)}):  # fractions count for less than their rows
        assert cr.LinearRegression(**options).fit(X, Y, sample_weight=half).result_.ok
    assert cr.LinearRegression().fit(X, Y).noise_scale_ > 0.01
    assert KernelRidge(RBF(0.3), noise=PROPER).fit(x1, y1, sample_weight=np.full(9, 2.0)).result_.ok
    assert KernelRidge(RBF(0.3), alpha=0.1).fit(x1, y1, sample_weight=np.full(9, 2.0)).result_.ok
    apart = np.repeat(y1, 2) + np.tile([-0.1, 0.1], 9)  # repeated rows with outcomes of their own leave a residual
    assert KernelRidge(RBF(0.3)).fit(np.repeat(x1, 2, axis=0), apart).noise_scale_ > 0.05


def test_one_copy_among_rows_whose_noise_is_plain_does_no_harm():
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 40)[:, None]
    y = np.sin(6 * x[:, 0]) + 0.2 * rng.normal(size=40)
    model = KernelRidge(RBF(0.3)).fit(x, y, sample_weight=np.append(np.ones(39), 2.0))
    assert model.result_.ok
    assert 0.1 < model.noise_scale_ < 0.3


@pytest.mark.parametrize(
    "options",
    [{}, {"prior": cr.Flat()}, {"prior": cr.Normal(0, 1)}, {"prior": cr.Laplace(0, 1)}, {"inference": "evidence"}],
)
def test_rows_enough_that_fit_exactly_warn(options):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(30, 3))
    y = rows @ [1.0, 2.0, 3.0] + 4.0
    with pytest.warns(DataWarning, match="fit the rows exactly"):
        model = cr.LinearRegression(**options).fit(rows, y)
    np.testing.assert_allclose(model.coef_, [1, 2, 3], atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cr.LinearRegression(**options).fit(rows, y + 1e-9 * rng.normal(size=30))


def test_constant_targets_warn_in_kernel_ridge():
    for alpha in (None, 0.1):
        with pytest.warns(DataWarning, match="constant"):
            KernelRidge(RBF(0.3), alpha=alpha).fit(x1, np.full(9, 3.0))


def test_statistics_alone_cannot_count_copies_and_say_so():
    with pytest.warns(DataWarning, match="copies of fewer"):
        cr.LinearRegression().partial_fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3))
    with pytest.warns(DataWarning, match="4 different rows that count as 8"):
        cr.LinearRegression().partial_fit(X, Y, sample_weight=np.full(4, 2.0))


@pytest.mark.parametrize(
    ("family", "b"),
    [
        (cr.HalfNormal(1.0), 0.5),
        (cr.HalfCauchy(3.0), 0.5),
        (cr.LogNormal(0.0, 1.0), np.inf),
        (cr.Gamma(shape=3.0, rate=1.0), 1.5),
    ],
)
def test_the_slope_of_a_prior_at_zero(family, b):
    assert slope_at_zero(NoisePrior(family=family)) == (b if b > 1.5 else pytest.approx(b, abs=1e-6))


@pytest.mark.parametrize(
    ("nu", "rank", "shape"),
    [(3.0, 3, 0.0), (3.5, 3, 0.0), (4.0, 3, 0.0), (5.0, 3, 0.0), (4.0, 3, -0.5), (5.0, 3, -0.5)],
)
def test_the_condition_is_that_of_the_integral(nu, rank, shape):
    """∫ p(y | r) p(r) dr by brute force over log r: a proper one settles as the range grows."""

    def integral(far):
        def density(t):
            r = np.exp(t)
            unexplained = rank / (1.0 + r)
            hyperprior = np.exp(0.5 * t) / (1.0 + r)
            return np.exp(-0.5 * rank * np.log1p(r) - (0.5 * nu + shape) * np.log(unexplained)) * hyperprior

        return sum(scipy.integrate.quad(density, a, a + 10.0)[0] for a in np.arange(-60.0, far, 10.0))

    settles = integral(60.0) < 1.01 * integral(40.0)
    zero = np.zeros(1)
    fit = ExactFit(nu, True, rank, zero, np.ones(1), np.ones(1), rank + 1)
    if settles:
        fit.require_proper("here", NoisePrior(shape, 0.0), 1.0)
    else:
        with pytest.raises(NotIdentifiedError):
            fit.require_proper("here", NoisePrior(shape, 0.0), 1.0)


def test_distinct_rows():
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [3.0, 0.0]])
    y = np.zeros(len(rows))
    assert count_distinct(rows, y) == 3
    assert count_distinct(scipy.sparse.csr_array(rows), y) == 3
    assert count_distinct(rows, y, np.array([True, True, True, False])) == 2
    assert count_distinct(rows, np.arange(len(rows))) == len(rows)


def test_copies_with_outcomes_of_their_own_teach_the_noise():
    """A sample of one number, far from 0 beside its scatter: one row of X, yet a residual (NIST's Mavro)."""
    y = 2.0018 + 4e-4 * np.array([0.3, -1.1, 0.7, 0.2, -0.4, 1.3, -0.9])
    model = cr.LinearRegression(prior=cr.Flat(), fit_intercept=False).fit(np.ones((7, 1)), y)
    np.testing.assert_allclose(model.posterior_.sd, [y.std(ddof=1) / np.sqrt(7) * np.sqrt(6 / 4)], rtol=1e-6)
