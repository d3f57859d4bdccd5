"""The nearest Normal: where it is known, what the certificate says where it is poor, and refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import gammaln

import credo.saving
from credo.distributions.support import POSITIVE_DEFINITE, SIMPLEX
from credo.errors import ConvergenceWarning, NotIdentifiedError, NumericalError, ParameterError
from credo.inference import Posterior
from credo.inference.laplace import laplace
from credo.inference.target import Target
from credo.inference.variational import stochastic_vi
from credo.inference.variational.gaussian import LowRank
from credo.inference.variational.slopes import check_gradient
from tests.inference.variational.targets import bimodal, funnel, gamma, logistic, normal, normal_evidence


def fitted(*args, **options):
    """A fit whose certificate may fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return stochastic_vi(*args, **options)


def random_normal(d, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    return root @ root.T / d + 0.1 * np.eye(d), rng.normal(size=d)


# -- Normal targets: no sampling error ------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 12])
def test_full_rank_recovers_a_normal(d):
    precision, h = random_normal(d, d)
    found = stochastic_vi(normal(precision, h), rng=0, tol=1e-8)
    covariance = np.linalg.inv(precision)
    sd = np.sqrt(np.diag(covariance))
    assert found.result.status == "converged"
    # the ELBO is within tol of its maximum, so KL ≤ 1e-8: means within √2e-8 sd, variances within 2e-4 of themselves
    np.testing.assert_allclose((found.free_mean - covariance @ h) / sd, 0.0, atol=1.5e-4)
    np.testing.assert_allclose(found.free_covariance / np.outer(sd, sd), covariance / np.outer(sd, sd), atol=2e-4)
    np.testing.assert_array_equal(found.mean, found.free_mean)
    np.testing.assert_array_equal(found.variance, np.diag(found.free_covariance))
    # log p − log q is constant, so the ELBO and the importance estimate have no error either
    assert found.elbo_error < 1e-5
    assert found.elbo == pytest.approx(normal_evidence(precision, h), abs=1e-5)
    assert found.log_evidence == pytest.approx(normal_evidence(precision, h), abs=1e-5)
    assert found.result.certificate["left"] <= 1e-8


def test_diagonal_has_the_inverse_diagonal_of_the_precision():
    precision, h = random_normal(6, 3)
    found = fitted(normal(precision, h), "diagonal", rng=0, tol=1e-8)
    np.testing.assert_allclose(np.diag(found.free_covariance), 1 / np.diag(precision), rtol=3e-4)
    np.testing.assert_allclose(found.free_mean, np.linalg.solve(precision, h), atol=1e-3)
    # KL = ½ (Σ log Λ_ii − log|Λ|); the ELBO is an estimate, 5 standard errors wide
    gap = 0.5 * (np.sum(np.log(np.diag(precision))) - np.linalg.slogdet(precision)[1])
    assert abs(normal_evidence(precision, h) - gap - found.elbo) < 5 * found.elbo_error
    off = found.free_covariance - np.diag(np.diag(found.free_covariance))
    assert np.abs(off).max() == 0.0


@pytest.mark.parametrize("rank", [1, 2])
def test_low_rank_recovers_a_factor_model(rank):
    rng = np.random.default_rng(rank)
    loadings, own = 2.0 * rng.normal(size=(8, rank)), rng.gamma(3.0, size=8) + 0.2
    covariance = np.diag(own) + loadings @ loadings.T
    precision, h = np.linalg.inv(covariance), rng.normal(size=8)
    found = stochastic_vi(normal(precision, h), "low_rank", rank=rank, rng=0, tol=1e-8)
    assert found.result.ok, found.result.advice
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.free_covariance / np.outer(sd, sd), covariance / np.outer(sd, sd), atol=1e-3)
    assert found.elbo == pytest.approx(normal_evidence(precision, h), abs=1e-5)


def test_a_diagonal_in_many_dimensions_needs_few_draws():
    """150 dimensions, 512 draws at first: their covariance is far from I, and the answer is right all the same."""
    rng = np.random.default_rng(0)
    own, loadings = rng.gamma(3.0, size=150) + 0.5, 0.15 * rng.normal(size=150)
    precision, h = np.diag(own) + np.outer(loadings, loadings), rng.normal(size=150)
    found = fitted(normal(precision, h), "diagonal", rng=0, draws=4000)
    # KL within tol, shared by 300 parameters: no variance off by more than 2 √(2 tol)
    np.testing.assert_allclose(np.diag(found.free_covariance), 1 / np.diag(precision), rtol=2 * np.sqrt(0.02))
    assert found.result.certificate["left"] <= 0.01


def test_families_are_nested():
    """A diagonal fits no better than one direction more, and that no better than all of them."""
    precision, h = random_normal(6, 3)
    elbo = {}
    for family in ("diagonal", "low_rank", "full_rank"):
        found = fitted(normal(precision, h), family, rng=0)
        mean, covariance = found.free_mean, found.free_covariance
        # the ELBO of a Normal q, in closed form
        energy = h @ mean - 0.5 * (mean @ precision @ mean + np.trace(precision @ covariance))
        elbo[family] = energy + 0.5 * (6 * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(covariance)[1])
    assert elbo["diagonal"] < elbo["low_rank"] < elbo["full_rank"] <= normal_evidence(precision, h) + 1e-9


# -- others: closed forms and quadrature ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.7, 3.0, 40.0])
def test_a_gamma_through_its_logarithm(shape):
    """z = log x: E_q [a z − e^z] = a m − e^(m + v/2), so the best q has v = 1/a, m = log a − 1/(2a), and E x = a."""
    tol = 1e-3
    found = fitted(gamma(shape), rng=0, tol=tol, max_draws=2**16)

    def elbo(m, v):
        return shape * m - np.exp(m + v / 2) + 0.5 * (1 + np.log(2 * np.pi * v))

    best = elbo(np.log(shape) - 0.5 / shape, 1 / shape)
    mean, variance = found.free_mean[0], found.free_covariance[0, 0]
    # `left` is an estimate from one rise, and the seed is fixed: ten times it leaves room
    assert 0.0 <= best - elbo(mean, variance) < 10 * tol
    assert abs(found.elbo - elbo(mean, variance)) < 5 * found.elbo_error
    assert best < gammaln(shape)
    assert found.mean == found.variance * 0 + found["x"].mean()  # not Normal in x: from draws
    assert found["x"].min() > 0.0


def test_logistic_regression_by_quadrature():
    target = logistic(12, 2, 0)
    found = stochastic_vi(target, rng=0)
    assert found.result.ok, found.result.advice
    nodes, weights = np.polynomial.legendre.leggauss(150)
    spread = 10 * np.sqrt(np.diag(found.free_covariance))
    x, y = found.free_mean[0] + spread[0] * nodes, found.free_mean[1] + spread[1] * nodes
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    density = np.exp(target.log_density(grid.reshape(-1, 2))).reshape(150, 150) * np.outer(weights, weights)
    evidence = density.sum() * spread[0] * spread[1]
    mean = np.tensordot(density, grid, 2) / density.sum()
    sd = np.sqrt(np.tensordot(density, (grid - mean) ** 2, 2) / density.sum())
    # q's own ELBO by the same rule, to 1e-8: below the evidence, and what draws say it is
    z = grid.reshape(-1, 2) - found.free_mean
    inverse = np.linalg.inv(found.free_covariance)
    log_q = -0.5 * np.sum((z @ inverse) * z, axis=1) - 0.5 * np.linalg.slogdet(2 * np.pi * found.free_covariance)[1]
    q = (np.exp(log_q) * np.outer(weights, weights).ravel()) * spread[0] * spread[1]
    assert q.sum() == pytest.approx(1.0, abs=1e-8)
    elbo = q @ (target.log_density(grid.reshape(-1, 2)) - log_q)
    assert elbo < np.log(evidence)
    assert abs(found.elbo - elbo) < 5 * found.elbo_error
    # weights of k̂ < 0.7 bring evidence and means to within their errors (5 standard errors)
    corrected = found.corrected()
    relative = np.sqrt(1 / corrected.effective - 1 / len(corrected.weights))
    assert abs(found.log_evidence - np.log(evidence)) < 5 * relative
    divergence = found.result.certificate["divergence"]
    assert abs(divergence - (np.log(evidence) - elbo)) < 5 * (relative + found.elbo_error)
    assert np.all(np.abs(corrected.mean - mean) < 5 * sd / np.sqrt(corrected.effective))
    # the posterior is skew: q's mean is nearer to the posterior's than the mode is
    mode = laplace(target, rng=0).free_mode
    assert np.linalg.norm((found.mean - mean) / sd) < 0.5 * np.linalg.norm((mode - mean) / sd)


def test_constrained_variables_keep_to_their_supports():
    a = np.array([3.0, 1.5, 2.0])

    def parts(x):
        return x[:, :3], x[:, 3:].reshape(-1, 2, 2)

    def log_density(x):
        p, S = parts(x)
        return np.log(p) @ a - 0.5 * np.trace(S, axis1=1, axis2=2) + 2.0 * np.linalg.slogdet(S)[1]

    def gradient(x):
        p, S = parts(x)
        return np.concatenate([a / p, (-0.5 * np.eye(2) + 2.0 * np.linalg.inv(S)).reshape(-1, 4)], axis=1)

    target = Target(
        log_density, {"p": (3,), "S": (2, 2)}, gradient=gradient, supports={"p": SIMPLEX, "S": POSITIVE_DEFINITE},
        vectorised=True,
    )  # fmt: skip
    found = fitted(target, rng=0, draws=1000, max_draws=256)
    np.testing.assert_allclose(found["p"].sum(axis=1), 1.0, rtol=1e-12)
    assert np.linalg.eigvalsh(found["S"]).min() > 0.0
    # Dirichlet(4, 2.5, 3): means within what a logistic-Normal and 1,000 draws leave
    np.testing.assert_allclose(found.mean["p"], np.array([4, 2.5, 3]) / 9.5, atol=0.03)
    assert set(found.sd) == {"p", "S"}


# -- the certificate ------------------------------------------------------------------------------------------------


def test_a_funnel_is_flagged():
    for family in ("diagonal", "full_rank"):
        with pytest.warns(ConvergenceWarning, match=r"stochastic_vi: .*NUTS"):
            found = stochastic_vi(funnel(9), family, rng=0)
        assert found.result.status == "not_certified"
        assert found.elbo + 5 * found.elbo_error < 0.0  # log evidence 0
        # what a user would miss: v is N(0, 3²)
        assert found.sd["v"] < 2.0


def test_correlation_that_a_diagonal_cannot_hold_is_flagged_and_the_remedy_works():
    precision = np.linalg.inv(np.array([[1.0, 0.95], [0.95, 1.0]]))
    target = normal(precision, np.zeros(2))
    with pytest.warns(ConvergenceWarning, match='Try family="full_rank"'):
        found = stochastic_vi(target, "diagonal", rng=0)
    assert found.result.certificate["pareto_k"] >= 0.7
    assert stochastic_vi(target, "full_rank", rng=0).result.certificate["pareto_k"] < 0.7


@pytest.mark.parametrize(("apart", "share"), [(3.0, 0.5), (10.0, 0.5), (10.0, 0.2)])
def test_a_second_mode_is_flagged(apart, share):
    """At 10 sds k̂ sees nothing: every draw of q is in one mode, where the fit is perfect. The other paths' do."""
    with pytest.warns(ConvergenceWarning, match="of the evidence lies where q is not"):
        found = stochastic_vi(bimodal(apart, share), rng=0)
    assert found.result.status == "not_certified"
    here = share if found.mean < 0 else 1 - share
    assert found.result.certificate["missed"] == pytest.approx(1 - here, abs=0.1)


def test_a_small_second_mode_is_not():
    found = stochastic_vi(bimodal(10.0, 0.01), rng=0, initial=[[-9.0], [9.0]])
    assert found.result.ok
    assert found.result.certificate["missed"] == pytest.approx(0.01, abs=0.005)


def test_an_edge_that_only_fresh_draws_meet_is_flagged():
    """Cut at 3.7: the objective's 256 draws stay within, some of 50,000 do not."""
    cut = Target(
        lambda x: np.where(np.abs(x[:, 0]) < 3.7, -0.5 * x[:, 0] ** 2, -np.inf), {"x": ()}, gradient=lambda x: -x,
        vectorised=True,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="density is zero at some draws"):
        found = stochastic_vi(cut, rng=0)
    assert found.elbo == -np.inf
    assert found.result.status == "not_certified"


def test_too_few_draws_say_what_is_left():
    with pytest.warns(ConvergenceWarning, match=r"has not settled: about .*max_draws"):
        found = stochastic_vi(gamma(3.0), rng=0, tol=1e-7, max_draws=256)
    assert found.result.status == "max_iter"
    with pytest.warns(ConvergenceWarning, match=r"what is left is unknown. Raise max_iter"):
        stochastic_vi(logistic(60, 3, 0), rng=0, max_iter=1)


# -- the record -----------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_answer():
    first, second = (stochastic_vi(logistic(60, 3, 0), rng=4) for _ in range(2))
    np.testing.assert_array_equal(first.free_covariance, second.free_covariance)
    np.testing.assert_array_equal(first["w"], second["w"])
    assert first.elbo == second.elbo
    np.testing.assert_array_equal(first.sample(5, 1), second.sample(5, 1))
    one_a_time = logistic(60, 3, 0)
    rows = Target(
        lambda x: one_a_time.log_density(x[None])[0], {"w": (3,)}, gradient=lambda x: one_a_time.gradient(x[None])[0]
    )
    # the same function a row at a time: sums in another order, the same answer to rounding grown by the ascent
    np.testing.assert_allclose(fitted(rows, rng=4, draws=500).free_mean, first.free_mean, atol=1e-5)


def test_the_posterior(tmp_path):
    found = stochastic_vi(logistic(60, 3, 0), rng=0)
    assert isinstance(found, Posterior)
    assert found.inference == "stochastic_vi"
    draws = found.sample(20_000, 0)
    assert draws.shape == (20_000, 3)
    # 5 standard errors
    assert np.all(np.abs(draws.mean(axis=0) - found.mean) < 5 * found.sd / np.sqrt(20_000))
    assert found.quantile([0.1, 0.9]).shape == (2, 3)
    assert np.all(found.interval(0.9)[0] < found.mean)
    assert len(found.summary().rows) == 3
    assert found.log_prob(found.mean) == pytest.approx(logistic(60, 3, 0).log_density(found.mean[None])[0])
    assert len(found.result.objective) == len(found.result.seconds) > 0
    credo.saving.save(found, tmp_path / "q.credo")
    loaded = credo.saving.load(tmp_path / "q.credo")
    np.testing.assert_array_equal(loaded.mean, found.mean)
    np.testing.assert_array_equal(loaded.corrected().mean, found.corrected().mean)
    assert loaded.sample(5, 0).shape == (5, 3)
    assert loaded.result.status == found.result.status
    with pytest.raises(ParameterError, match="one of w"):
        found["v"]


# -- refusals -------------------------------------------------------------------------------------------------------


def test_arguments_are_checked():
    target = normal(np.eye(2), np.zeros(2))
    for options, what in [
        ({"family": "mean_field"}, "family must be one of 'diagonal', 'low_rank', 'full_rank'"),
        ({"family": "low_rank", "rank": 2}, "rank must be an integer from 1 to 1"),
        ({"draws": 10}, "draws must be ≥ 100"),
        ({"tol": 0.0}, "tol must be > 0"),
        ({"first_draws": 7}, "first_draws must be even"),
        ({"max_draws": 32}, "first_draws must be even"),
        ({"max_iter": 0}, "max_iter and n_starts"),
        ({"n_starts": 0}, "max_iter and n_starts"),
    ]:
        with pytest.raises(ParameterError, match=what):
            stochastic_vi(target, **options)
    with pytest.raises(ParameterError, match="rank must be an integer from 1 to 0"):
        stochastic_vi(gamma(2.0), "low_rank")
    with pytest.raises(ParameterError, match="with a gradient"):
        stochastic_vi(Target(lambda x: -x @ x, {"w": (2,)}))


def test_gradients_that_are_not_numbers():
    with pytest.raises(NumericalError, match=r"gradient .*w\[1\] is nan at the start"):
        stochastic_vi(Target(lambda x: -x @ x, {"w": (2,)}, gradient=lambda x: np.array([0.0, np.nan])), rng=0)
    # only in the upper tail, where q has mass
    with pytest.raises(NumericalError, match=r"stochastic_vi: the gradient is not finite at w = .*which q reaches"):
        stochastic_vi(
            Target(lambda x: -0.5 * x @ x, {"w": ()}, gradient=lambda x: np.where(x > 1.5, np.nan, -x)), rng=0,
            initial=[0.1],
        )  # fmt: skip
    with pytest.raises(NumericalError, match=r"the log density is -inf at w = .*declare the variables' supports"):
        stochastic_vi(
            Target(lambda x: -x[0] if x[0] > 0 else -np.inf, {"w": ()}, gradient=lambda x: np.array([-1.0])), rng=0,
            initial=[0.5],
        )  # fmt: skip


@pytest.mark.parametrize("family", ["diagonal", "full_rank"])
def test_improper_targets_are_named(family):
    flat = Target(lambda x: -0.5 * x[0] ** 2, {"a": (), "b": ()}, gradient=lambda x: np.array([-x[0], 0.0]))
    with pytest.raises(NotIdentifiedError, match="as b spreads"):
        stochastic_vi(flat, family, rng=0)
    one_sided = Target(lambda x: -np.exp(-x[0]), {"a": ()}, gradient=lambda x: np.exp(-x))
    with pytest.raises(NotIdentifiedError, match="as a spreads"):
        stochastic_vi(one_sided, family, rng=0)


@pytest.mark.parametrize(
    "arguments",
    [{"draws": "a"}, {"draws": 1000.5}, {"tol": "a"}, {"n_starts": "a"}, {"max_iter": 10.0}, {"first_draws": True}],
)
def test_arguments_of_the_wrong_kind_are_named(arguments):
    target = Target(lambda x: -0.5 * x @ x, {"w": (2,)}, gradient=lambda x: -x)
    with pytest.raises(ParameterError, match=next(iter(arguments))):
        stochastic_vi(target, rng=0, **arguments)
    with pytest.raises(ParameterError, match="a Target with a gradient"):
        stochastic_vi(lambda x: -0.5 * x @ x)


def test_a_proper_density_on_another_scale_is_told_to_rescale():
    wide = Target(lambda x: -0.5 * (x @ x) / 1e16, {"w": ()}, gradient=lambda x: -x / 1e16)
    with pytest.raises(NotIdentifiedError, match="units in which its sd is nearer to 1"):
        stochastic_vi(wide, rng=0)


# -- Slopes that are not the density's --------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["diagonal", "low_rank", "full_rank"])
@pytest.mark.parametrize("factor", [-1.0, 0.5, 0.9, 2.0])
def test_a_wrong_gradient_is_an_error_and_never_certified(family, factor):
    """One slope of six times a factor: q fits that other density, and its weights may cover the true one."""
    precision, h = random_normal(6, 1)
    right = normal(precision, h)
    wrong = np.where(np.arange(6) == 2, factor, 1.0)
    target = Target(
        right.log_density, right.shapes, gradient=lambda z: wrong * right.gradient(z), vectorised=right.vectorised
    )
    with pytest.raises((NumericalError, NotIdentifiedError)):
        fitted(target, family, rng=0)


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_right_gradient_passes_with_kinks_and_few_digits(kind, offset):
    """log p = −Σ|z| − offset, rounded: differences are worthless at kinks, and of few digits everywhere."""
    target = Target(
        lambda z: np.asarray(-np.abs(z).sum(axis=1) - offset, dtype=kind).astype(np.float64),
        {"z": (3,)},
        gradient=lambda z: -np.sign(z),
        vectorised=True,
    )
    for seed in range(20):
        root = np.random.default_rng(seed).uniform(0.2, 2.0, 3)
        family = LowRank(np.zeros(3), np.diag(root), 0)
        check_gradient(target, family, family.start())
