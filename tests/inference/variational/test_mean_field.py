"""Coordinate ascent: the families against their densities, the engine against exact answers, and its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import credo.saving
from credo.distributions import NormalInverseGamma
from credo.errors import ConvergenceWarning, DataError, NumericalError, ParameterError
from credo.inference import Posterior
from credo.inference.variational import NormalMeanPrecision, ProductPosterior, VariationalFactor, mean_field
from credo.inference.variational import exponential as ef

# -- families -------------------------------------------------------------------------------------------------------


def spd(rng, d, *lead):
    root = rng.normal(size=(*lead, d, d))
    return root @ np.swapaxes(root, -1, -2) + np.eye(d)


def members(rng):
    """Every family with natural parameters of a batch of two."""
    lam, psi = spd(rng, 3, 2), spd(rng, 3, 2)
    return [
        (ef.Normal(), (rng.normal(size=2), -rng.gamma(2.0, size=2) - 0.1)),
        (ef.MultivariateNormal(), (rng.normal(size=(2, 3)), -0.5 * lam)),
        (ef.Gamma(), (rng.gamma(2.0, size=2) - 0.5, -rng.gamma(2.0, size=2) - 0.1)),
        (ef.Dirichlet(), (rng.gamma(1.0, size=(2, 4)) - 0.8,)),
        (ef.Categorical(np.array([1.0, 2.5])), (rng.normal(size=(2, 4)),)),
        (
            ef.NormalWishart(),
            ef.NormalWishart.natural(rng.normal(size=(2, 3)), rng.gamma(2.0, size=2) + 0.1, [3.5, 7.0], psi),
        ),
    ]


@given(st.integers(0, 10**6))
def test_moments_are_the_slope_of_the_log_normaliser(seed):
    """Central differences along a random symmetric direction: error h² ~ 1e-10, and 1e-16 |A| / h from rounding."""
    rng = np.random.default_rng(seed)
    for family, natural in members(rng):
        direction = [rng.normal(size=eta.shape) for eta in natural]
        direction = [v + np.swapaxes(v, -1, -2) if v.ndim == 3 else v for v in direction]
        h = 1e-5 * min(1.0, *(float(np.min(np.abs(eta))) if eta.ndim == 1 else 1.0 for eta in natural))
        up, down = (tuple(e + s * v for e, v in zip(natural, direction)) for s in (h, -h))
        slope = (family.log_normaliser(up) - family.log_normaliser(down)) / (2.0 * h)
        found = ef.inner(tuple(direction), family.moments(natural))
        scale = 1.0 + sum(float(np.abs(m).sum()) for m in family.moments(natural))
        assert abs(slope - found) < 1e-5 * scale


def test_entropies_and_distributions_are_scipys():
    rng = np.random.default_rng(1)
    lam = spd(rng, 3)
    cases = [
        (ef.Normal(), (np.array(3.0), np.array(-2.0)), stats.norm(0.75, 0.5).entropy()),
        (ef.Gamma(), (np.array(2.0), np.array(-4.0)), stats.gamma(3.0, scale=0.25).entropy()),
        (ef.Dirichlet(), (np.array([0.5, 2.0, -0.4]),), stats.dirichlet([1.5, 3.0, 0.6]).entropy()),
        (
            ef.MultivariateNormal(),
            (np.ones(3), -0.5 * lam),
            stats.multivariate_normal(cov=np.linalg.inv(lam)).entropy(),
        ),
        (ef.Categorical(), (np.log([0.2, 0.8]) + 7.0,), stats.entropy([0.2, 0.8])),
    ]
    for family, natural, entropy in cases:
        assert family.entropy(natural, family.moments(natural)) == pytest.approx(entropy, rel=1e-12)
        if not isinstance(family, ef.Categorical):
            assert family.distribution(natural).entropy == pytest.approx(entropy, rel=1e-12)
    # of a Normal–Wishart in one dimension: μ | λ Normal, λ Gamma(ν/2, Ψ/2)
    natural = ef.NormalWishart.natural([0.7], 2.0, 5.0, [[3.0]])
    gamma = stats.gamma(2.5, scale=1 / 1.5)
    log_lam = gamma.expect(np.log)
    expected = gamma.entropy() + 0.5 * (1 + np.log(2 * np.pi) - np.log(2.0) - log_lam)
    nw = ef.NormalWishart()
    assert nw.entropy(natural, nw.moments(natural)) == pytest.approx(expected, rel=1e-9)
    assert [np.squeeze(p).item() for p in nw.parameters(natural)] == pytest.approx([0.7, 2.0, 5.0, 3.0])
    for m, value in zip(nw.moments(natural), [log_lam, 5 / 3, 0.7 * 5 / 3, 1 / 2 + 0.49 * 5 / 3]):
        assert np.squeeze(m).item() == pytest.approx(value, rel=1e-9)


# -- the Normal of unknown mean and precision -----------------------------------------------------------------------


@given(st.integers(0, 30), st.integers(0, 10**6), st.floats(0.05, 20.0), st.floats(1.1, 10.0), st.floats(0.1, 10.0))
def test_the_normal_ends_where_algebra_says(n, seed, covariance, shape, scale):
    """q(μ) = N(m, b/(κ a)) and q(τ) = Gamma(a + ½, b (1 + 1/(2a))), (m, κ, a, b) being the exact posterior's."""
    x = np.random.default_rng(seed).normal(3.0, 2.0, n)
    fit = NormalMeanPrecision(NormalInverseGamma(0.5, covariance, shape, scale)).fit(x)
    a, b = fit.exact.shape, fit.exact.scale
    q_mean, q_precision = (fit.posterior.factors[name] for name in ("mean", "precision"))
    assert q_mean.mean == pytest.approx(fit.exact.mean, rel=1e-12, abs=1e-12)
    assert q_mean.variance == pytest.approx(fit.exact.covariance * b / a, rel=1e-11)
    assert q_precision.shape == pytest.approx(a + 0.5, rel=1e-14)
    assert q_precision.rate == pytest.approx(b * (1 + 0.5 / a), rel=1e-11)
    assert q_precision.mean == pytest.approx(a / b, rel=1e-11)  # E τ, exactly
    assert fit.posterior.variance["mean"] / fit.exact.variance == pytest.approx((a - 1) / a, rel=1e-10)
    assert fit.posterior.variance["precision"] / (a / b**2) == pytest.approx(a / (a + 0.5), rel=1e-10)
    assert fit.divergence > 0.0
    assert fit.posterior.result.ok
    trace = np.array(fit.posterior.result.objective)
    assert np.all(np.diff(trace) >= -1e-10 * (1 + np.abs(trace[1:])))


def test_the_divergence_by_quadrature():
    fit = NormalMeanPrecision(NormalInverseGamma(0.5, 2.0, 2.0, 1.0)).fit([1.0, 2.5, 0.3, 1.9, 2.2])
    q = fit.posterior

    def integrand(mean, precision):
        log_q = q.log_prob({"mean": mean, "precision": precision})
        return np.exp(log_q) * (log_q - fit.exact_log_prob(mean, precision))

    m, s = q.mean["mean"], q.sd["mean"]
    nodes, weights = np.polynomial.legendre.leggauss(200)
    most = 10.0 * q.mean["precision"]  # beyond it q holds e⁻⁴⁰
    grid = integrand(m + 12 * s * nodes[:, None], 0.5 * (nodes + 1.0) * most)
    total = (weights * 12 * s) @ grid @ (weights * 0.5 * most)
    assert total == pytest.approx(fit.divergence, rel=1e-8)


def test_the_exact_side_is_exact():
    """log p(x) one row at a time by Student-t predictives, and the density of (μ, τ) is a Normal given a Gamma."""
    prior, x = NormalInverseGamma(0.5, 2.0, 2.0, 1.0), [1.0, 2.5, 0.3]
    fit = NormalMeanPrecision(prior).fit(x)
    total, belief = 0.0, prior
    for each in x:
        scale = np.sqrt(belief.scale / belief.shape * (1 + belief.covariance))
        total += stats.t(2 * belief.shape, belief.mean, scale).logpdf(each)
        belief = belief.update(1.0, each, 0.0)
    assert fit.log_evidence == pytest.approx(total, rel=1e-13)
    kappa = 1 / fit.exact.covariance
    for mean, tau in [(0.3, 0.2), (1.0, 1.0), (2.0, 5.0)]:
        given = stats.norm(fit.exact.mean, 1 / np.sqrt(kappa * tau)).logpdf(mean)
        expected = given + stats.gamma(fit.exact.shape, scale=1 / fit.exact.scale).logpdf(tau)
        assert fit.exact_log_prob(mean, tau) == pytest.approx(expected, rel=1e-12)
    assert fit.exact_log_prob(0.0, -1.0) == -np.inf


def test_far_from_zero_nothing_is_lost():
    x = np.random.default_rng(0).normal(size=50)
    near = NormalMeanPrecision(NormalInverseGamma(0.0, 1.0, 2.0, 2.0)).fit(x)
    far = NormalMeanPrecision(NormalInverseGamma(2.0**27, 1.0, 2.0, 2.0)).fit(x + 2.0**27)
    # x + 2²⁷ is rounded to 2⁻²⁶ = 1.5e-8
    assert far.elbo == pytest.approx(near.elbo, rel=1e-6)
    assert far.posterior.sd["mean"] == pytest.approx(near.posterior.sd["mean"], rel=1e-6)


def test_the_product_is_a_posterior(tmp_path):
    q = NormalMeanPrecision(NormalInverseGamma(0.0, 1.0, 2.0, 2.0)).fit([1.0, 2.0, 3.0]).posterior
    assert isinstance(q, Posterior)
    assert q.inference == "mean_field"
    draws = q.sample(20_000, 0)
    for name in ("mean", "precision"):  # 5 standard errors: false alarms below 1e-6
        assert abs(draws[name].mean() - q.mean[name]) < 5 * q.sd[name] / np.sqrt(20_000)
        assert q.quantile([0.05, 0.95])[name].tolist() == pytest.approx(list(q.interval(0.9)[name]))
        assert q[name].shape == (4000,)
        assert q.summary()[name]["lower"] == q.interval(0.9)[name][0]
    assert q.log_prob({"mean": 1.0, "precision": 2.0}) == pytest.approx(
        q.factors["mean"].log_prob(1.0) + q.factors["precision"].log_prob(2.0)
    )
    assert q.summary()["precision"]["prob_positive"] == 1.0
    credo.saving.save(q, tmp_path / "q.credo")
    assert credo.saving.load(tmp_path / "q.credo").mean == q.mean
    with pytest.raises(ParameterError, match="between 0 and 1"):
        q.quantile(1.5)
    with pytest.raises(ParameterError, match="one of mean, precision"):
        q["sd"]
    with pytest.raises(ParameterError, match="with mean, precision"):
        q.log_prob({"mean": 1.0})


def test_k_hat_of_a_product():
    """Of twenty rows q(μ) q(τ) will do; a pair of correlation 0.95 is more than two factors hold."""
    fit = NormalMeanPrecision(NormalInverseGamma(0.0, 10.0, 1.0, 1.0)).fit(np.random.default_rng(0).normal(size=20))
    good = fit.posterior.certified(
        lambda z: fit.exact_log_prob(z["mean"], z["precision"]) + fit.log_evidence, 0
    ).result  # fmt: skip
    assert good.ok
    assert good.certificate["pareto_k"] < 0.7
    # the estimate of log evidence has relative error √(variance of the weights / draws), some √(2 KL / draws)
    error = np.sqrt(2 * fit.divergence / 50_000) + good.certificate["elbo_error"]
    assert abs(good.certificate["divergence"] - fit.divergence) < 5 * error

    precision = np.linalg.inv([[1.0, 0.95], [0.95, 1.0]])
    factors, expected, start = normal_target(precision, np.zeros(2))
    pair = mean_field(factors, expected, start)
    q = ProductPosterior({name: pair.distribution(name) for name in "01"}, pair.result, pair.elbo)

    def log_joint(z):
        x = np.column_stack([z["0"], z["1"]])
        return -0.5 * np.sum((x @ precision) * x, axis=1)

    with pytest.warns(ConvergenceWarning, match="the factors miss part of the posterior"):
        bad = q.certified(log_joint, 0).result
    assert bad.status == "not_certified"
    assert bad.certificate["pareto_k"] >= 0.7
    with pytest.raises(ParameterError, match="draws"):
        q.certified(log_joint, 0, draws=3)


def test_bad_rows_and_priors_are_named():
    with pytest.raises(DataError, match="finite"):
        NormalMeanPrecision(NormalInverseGamma(0.0, 1.0, 2.0, 2.0)).fit([1.0, np.nan])
    with pytest.raises(DataError, match="finite"):
        NormalMeanPrecision(NormalInverseGamma(0.0, 1.0, 2.0, 2.0)).fit([[1.0], [2.0]])
    with pytest.raises(ParameterError, match="one mean"):
        NormalMeanPrecision(NormalInverseGamma([0.0, 1.0], 1.0, 2.0, 2.0)).fit([1.0])


# -- the engine -----------------------------------------------------------------------------------------------------


def normal_target(precision, h):
    """Factors of N(Λ⁻¹ h, Λ⁻¹), one coordinate each, and E log of exp(hᵀz − ½ zᵀ Λ z)."""
    d = len(h)

    def given(k):
        def update(m):
            rest = sum(precision[k, j] * m[str(j)][0] for j in range(d) if j != k)
            return h[k] - rest, -0.5 * precision[k, k]

        return update

    def expected(m):
        mean = np.array([float(m[str(j)][0]) for j in range(d)])
        second = np.array([float(m[str(j)][1]) for j in range(d)])
        cross = mean @ precision @ mean - np.sum(np.diag(precision) * mean**2)
        return float(h @ mean - 0.5 * (np.diag(precision) @ second + cross))

    factors = [VariationalFactor(str(k), ef.Normal(), given(k)) for k in range(d)]
    return factors, expected, {str(k): (0.0, -0.5) for k in range(d)}


def test_a_normal_has_its_mean_and_the_inverse_diagonal_of_its_precision():
    rng = np.random.default_rng(2)
    precision, h = spd(rng, 4), rng.normal(size=4)
    factors, expected, start = normal_target(precision, h)
    fit = mean_field(factors, expected, start, tol=1e-15, parameter_tol=1e-13)
    mean = [fit.distribution(str(k)).mean for k in range(4)]
    np.testing.assert_allclose(mean, np.linalg.solve(precision, h), rtol=1e-10)
    np.testing.assert_allclose(
        [fit.distribution(str(k)).variance for k in range(4)], 1 / np.diag(precision), rtol=1e-12
    )
    # KL(Π q_k ‖ N) = ½ (Σ log Λ_kk − log|Λ|)
    evidence = 0.5 * (4 * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1] + h @ np.linalg.solve(precision, h))
    gap = 0.5 * (np.sum(np.log(np.diag(precision))) - np.linalg.slogdet(precision)[1])
    assert evidence - fit.elbo == pytest.approx(gap, rel=1e-10)


def test_what_the_start_leaves_out_is_updated_first():
    factors, expected, start = normal_target(np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones(2))
    fit = mean_field(factors, expected, {"1": start["1"]})
    assert fit.result.ok
    assert set(fit.natural) == {"0", "1"}
    with pytest.raises(ParameterError, match="given for '1', which '0' is updated from"):
        mean_field(factors, expected, {})


def test_a_wrong_update_is_named():
    factors, expected, start = normal_target(np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones(2))
    # a rise, but not the best one: only its slope gives it away
    half = VariationalFactor("1", ef.Normal(), lambda m: (0.9 - 0.5 * m["0"][0], -0.5))
    with pytest.raises(NumericalError, match="update of '1' and expected_log_joint disagree"):
        mean_field([factors[0], half], expected, start)
    away = VariationalFactor("1", ef.Normal(), lambda m: (-40.0, -0.5))
    with pytest.raises(NumericalError, match=r"fell from .* in the update of '1'"):
        mean_field([factors[0], away], expected, start)
    sweeps = []

    def turns(m):
        sweeps.append(1)
        return (1.0 - 0.5 * m["0"][0] if len(sweeps) < 3 else 30.0), -0.5

    with pytest.raises(NumericalError, match=r"fell from .* in a sweep"):
        mean_field([factors[0], VariationalFactor("1", ef.Normal(), turns)], expected, start, tol=0.0)


def test_other_refusals():
    factors, expected, start = normal_target(np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones(2))
    with pytest.raises(ParameterError, match="different names"):
        mean_field([factors[0], factors[0]], expected, start)
    with pytest.raises(ParameterError, match="different names"):
        mean_field([], expected)
    with pytest.raises(ParameterError, match="about factors"):
        mean_field(factors, expected, {**start, "w": (0.0, -1.0)})
    with pytest.raises(ParameterError, match="tol"):
        mean_field(factors, expected, start, tol=-1.0)
    with pytest.raises(ParameterError, match="max_iter"):
        mean_field(factors, expected, start, max_iter=0)
    with pytest.raises(NumericalError, match="'0' is not a distribution"):
        mean_field(factors, expected, {**start, "0": (0.0, 0.5)})
    with pytest.raises(NumericalError, match="'0' is not a distribution"):
        mean_field(factors, expected, {**start, "0": (np.nan, -0.5)})
    with pytest.raises(NumericalError, match="the ELBO is nan after the start"):
        mean_field(factors, lambda m: np.nan, start)
    not_definite = VariationalFactor("w", ef.MultivariateNormal(), lambda m: (np.zeros(2), np.eye(2)))
    with pytest.raises(NumericalError, match="'w' is not a distribution"):
        mean_field([not_definite], lambda m: 0.0)
    fit = mean_field(factors, expected, start)
    with pytest.raises(ParameterError, match="one of 0, 1"):
        fit.distribution("2")


def test_stopping_early_says_what_is_left():
    factors, expected, start = normal_target(np.array([[1.0, 0.99], [0.99, 1.0]]), np.array([1.0, -1.0]))
    with pytest.warns(ConvergenceWarning, match=r"about .* is left at this rate"):
        fit = mean_field(factors, expected, start, max_iter=5)
    assert fit.result.status == "max_iter"
    assert len(fit.result.objective) == 6
    seen = []
    # what was said to be left is what a long run gains, within a tenth
    left = float(fit.result.advice[0].split("about ")[1].split(" is left")[0])
    full = mean_field(factors, expected, start, tol=1e-14, callback=lambda k, eta, elbo: seen.append(elbo))
    assert full.elbo - fit.elbo == pytest.approx(left, rel=0.1)
    assert seen == list(full.result.objective[1:])


def test_an_interrupt_keeps_what_was_reached():
    factors, expected, start = normal_target(np.array([[1.0, 0.99], [0.99, 1.0]]), np.array([1.0, -1.0]))

    def stop(sweep, natural, elbo):
        if sweep == 3:
            raise KeyboardInterrupt

    fit = mean_field(factors, expected, start, callback=stop)
    assert fit.result.status == "interrupted"
    assert fit.result.n_iter == 4


# -- awkward input --------------------------------------------------------------------------------------------------


def one(natural=(1.0, -0.5)):
    return [VariationalFactor("a", ef.Normal(), lambda m: natural)]


def log_joint(m):
    return float(m["a"][0] - 0.5 * m["a"][1])


@pytest.mark.parametrize("natural", [(2.0, -0.5), (1.0, -0.7), (1.1, -0.5), (0.0, -0.5)])
@pytest.mark.parametrize("start", [None, {"a": (0.0, -1.0)}])
def test_a_wrong_update_is_found_though_the_start_is_its_own(natural, start):
    """A factor whose start is set by its update does not move in the first sweep: its slope is looked at elsewhere."""
    with pytest.raises(NumericalError, match=r"disagree|fell"):
        mean_field(one(natural), log_joint, start)
    assert mean_field(one(), log_joint, start).elbo == pytest.approx(0.5 * (1 + np.log(2 * np.pi)), abs=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mean_field([1], log_joint),
        lambda: mean_field(one(), log_joint, {"a": "x"}),
        lambda: mean_field(one(), log_joint, {"a": (1.0,)}),
        lambda: mean_field(one(None), log_joint),
        lambda: mean_field(one(), lambda m: np.ones(3)),
        lambda: mean_field(one(), log_joint, tol="a"),
    ],
)
def test_misuse_is_a_parameter_error(call):
    with pytest.raises(ParameterError):
        call()


def test_a_key_error_of_the_updates_own_is_not_taken_for_a_missing_start():
    with pytest.raises(KeyError, match="oops"):
        mean_field([VariationalFactor("a", ef.Normal(), lambda m: ({}["oops"], -0.5))], log_joint)


@pytest.mark.parametrize("rows", ["a", ["a", "b"], None, [[1.0, 2.0]], [np.nan]])
def test_rows_that_are_no_numbers_are_named(rows):
    with pytest.raises(DataError):
        NormalMeanPrecision(NormalInverseGamma(0.0, 10.0, 1.0, 1.0)).fit(rows)
