"""Mean field by name: exact where q can be, a bound on the evidence everywhere, and honest about its sds."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import integrate, stats

import credo as cr
from credo.program.mean_field.families import PolyaGammaWeights, Powers, RowsNormal, Utility
from tests.program.test_gibbs import CASES
from tests.program.zoo import hierarchies, leaves, linear, traps  # noqa: F401  (they enter their models)
from tests.program.zoo.oracle import ZOO


def quietly(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.errors.ConvergenceWarning)
        return model.fit("mean_field", random_state=0, **options)


ONE_FACTOR = (
    "a_mean", "regression", "walk_by_centred_laws", "correlated_about_a_latent_mean", "missing_and_used", "coins",
    "batches_in_groups", "probability_of_failure", "counts_with_exposures", "counts_and_waits",
    "variance_of_known_mean", "scaled_variances_with_gaps", "categories", "counted_categories", "gamma_as_an_sd",
)  # fmt: skip


@pytest.mark.parametrize("name", ONE_FACTOR)
def test_exact_where_one_factor_is_all(name):
    """q is the posterior: the ELBO is the log evidence, k̂ is small, moments are the oracle's within 4.5 errors."""
    case = ZOO[name]()
    posterior, truth = case.model.fit("mean_field", random_state=0), case.truth()
    assert posterior.result.status == "converged"
    assert posterior.log_evidence == pytest.approx(truth.log_evidence, abs=1e-8)
    for node, mean in truth.mean.items():
        x, sd = posterior[node], truth.sd[node]
        assert np.all(np.abs(x.mean(axis=0) - mean) < 4.5 * sd / np.sqrt(len(x)))


BOUNDED = (
    "eight_schools_centred", "one_scale_for_all", "ratio_of_scales", "variance_instead_of_sd", "an_sd_for_each_group",
    "crossed_with_scales", "local_scales", "four_separate_scales", "rates_about_a_latent_rate", "leaf_beside_a_block",
    "product_of_rates", "a_child_that_is_not_normal", "leaf_whose_prior_is_learned_elsewhere",
)  # fmt: skip


@pytest.mark.parametrize("name", BOUNDED)
def test_a_bound_that_rises(name):
    """ELBO ≤ log evidence of the oracle, within 3 nats here; every sweep raises it."""
    case = ZOO[name]()
    posterior, truth = quietly(case.model), case.truth()
    assert truth.log_evidence - 3.0 < posterior.log_evidence < truth.log_evidence + 1e-3
    trace = np.array(posterior.result.objective)
    assert np.all(np.diff(trace) > -1e-9 * (1.0 + np.abs(trace[1:])))


# Laws that auxiliaries make Normal: the bound is looser by what the auxiliaries hide.
AUGMENTED = {"student_t_prior": 0.3, "logistic": 0.4, "failures_of_many_trials": 0.4, "probit": 2.0,
             "laplace_prior_and_noise": 2.0, "log_normal_data": 0.4, "gamma_precision": 0.4}  # fmt: skip


@pytest.mark.parametrize("name", AUGMENTED)
def test_augmented_laws(name):
    """ELBO below the evidence by brute force, and not far; means within half a posterior sd."""
    model, truth, _ = CASES[name]()
    posterior = quietly(model)
    assert truth.log_evidence - AUGMENTED[name] < posterior.log_evidence < truth.log_evidence + 1e-6
    for node, mean in truth.mean.items():
        assert abs(posterior.mean[node] - mean) < 0.5 * truth.sd[node]


def test_counts_of_known_dispersion():
    """Negative binomial by Pólya–Gamma, against quadrature."""
    y = np.array([3.0, 0, 5, 2, 9])
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 2))
    m.observed("y", cr.NegativeBinomial(cr.math.exp(a), 1.5), y)
    t = np.linspace(-8, 8, 4001)
    p = 1.5 / (1.5 + np.exp(t))
    logs = stats.norm.logpdf(t, 0, 2) + stats.nbinom.logpmf(y[:, None], 1.5, p).sum(axis=0)
    evidence = logs.max() + np.log(np.exp(logs - logs.max()).sum() * (t[1] - t[0]))
    assert evidence - 0.4 < quietly(m).log_evidence < evidence + 1e-6


def test_narrow_sds_are_told():
    """Mean and sd of few data depend on each other: the certificate says by how much q is too narrow."""
    m = cr.Model()
    mu, lam = m.latent("mu", cr.Normal(0, 10)), m.latent("lam", cr.Gamma(shape=0.5, rate=0.5))
    m.observed("y", cr.Normal(mu, lam**-0.5), [1.0, 2.0, 4.0])
    with pytest.warns(cr.errors.ConvergenceWarning, match="mean field"):
        posterior = m.fit("mean_field", random_state=0)
    assert posterior.result.status == "not_certified"
    exact = m.fit(random_state=0)
    assert posterior.sd["mu"] < 0.9 * exact.sd["mu"]


def test_result_is_a_posterior_as_any():
    posterior = quietly(CASES["gamma_precision"]()[0], draws=1000)
    assert posterior.inference == "mean_field"
    assert len(posterior) == 1000
    assert posterior.predict("y").mean.shape == (4,)
    again = quietly(CASES["gamma_precision"]()[0], draws=1000)
    assert np.array_equal(posterior["mu"], again["mu"])
    assert "lam: positive" in str(posterior.explain())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("eight_schools_non_centred", "effects are multiplied by tau"),
        ("noise_that_grows", "gamma has no factor .*the sd of y depends on it"),
        ("probability_squared", "p² is not p or 1 − p"),
        ("groups_about_latent_counts", "the parameters of p are latent"),
        ("product_of_two_latents", "multiplies a by w"),
        ("sum_of_two_rates", "is no product of powers"),
        ("potential_on_the_mean", "potential pull"),
        ("shared_with_counts", "k is Poisson, not Normal"),
    ],
)
def test_refusals_tell_why(name, words):
    with pytest.raises(cr.errors.UnavailableError, match=words):
        ZOO[name]().model.fit("mean_field")


def test_states_are_refused():
    with pytest.raises(cr.errors.UnavailableError, match="z is Bernoulli: states"):
        CASES["mixture_of_two"]()[0].fit("mean_field")


# -- families ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gammas", "base", "low", "high"),
    [
        ((1.0,), None, 0.0, np.inf),
        ((-2.0,), None, 0.0, np.inf),
        ((-2.0, 2.0), None, 0.0, np.inf),
        ((-1.0,), stats.halfcauchy.logpdf, 0.0, np.inf),
        ((-2.0, 1.0), None, 0.5, 3.0),
    ],
)
def test_powers_against_adaptive_quadrature(gammas, base, low, high):
    family = Powers(gammas, base, low, high)
    alpha = -3.0 if min(gammas) < 0 else 1.5
    natural = (np.array(alpha), *(np.array(-0.7 - 0.3 * k) for k in range(len(gammas))))

    def density(x):
        value = alpha * np.log(x) + sum(float(e) * x**g for g, e in zip(gammas, natural[1:]))
        return np.exp(value + (0.0 if base is None else base(x)))

    total = integrate.quad(density, low, high, epsabs=0, epsrel=1e-11, limit=400)[0]
    assert family.log_normaliser(natural) == pytest.approx(np.log(total), abs=1e-8)
    for found, t in zip(family.moments(natural), (np.log, *(lambda x, g=g: x**g for g in gammas))):
        mean = integrate.quad(lambda x, t=t: density(x) * t(x), low, high, epsabs=0, epsrel=1e-11, limit=400)[0] / total
        assert float(found) == pytest.approx(mean, abs=1e-7)
    x, log_q = family.draws(natural, 20_000, np.random.default_rng(0))
    assert np.all((x >= low) & (x <= high))
    assert log_q == pytest.approx(np.log(density(x)) - np.log(total), abs=1e-7)
    spread = np.std(np.log(x))
    assert abs(np.log(x).mean() - float(family.moments(natural)[0])) < 4.5 * spread / np.sqrt(20_000)


def test_moments_are_slopes_of_the_normaliser():
    """∂A/∂η = E t, by differences, for every family made here."""
    rng = np.random.default_rng(0)
    rows = sp.csr_array(rng.normal(size=(5, 3)))
    for family, natural in (
        (RowsNormal(rows, "z"), (rng.normal(size=5), -rng.uniform(0.5, 2.0, 5))),
        (Powers((-2.0, 2.0), None, 0.0, np.inf),
         (np.array([-3.0, 1.0]), np.array([-0.5, -1.0]), np.array([-1.0, -0.2]))),
        (PolyaGammaWeights(np.array([1.0, 2.5])), (np.array([-0.7, -2.0]),)),
        (Utility(np.array([1.0, -1.0])), (np.array([0.4, 3.0]),)),
    ):  # fmt: skip
        moments = family.moments(natural)
        for k, each in enumerate(natural):
            for i in range(each.size):
                step = np.zeros(each.shape)
                step[i] = 1e-5
                ends = [family.log_normaliser((*natural[:k], each + s * step, *natural[k + 1 :])) for s in (1.0, -1.0)]
                assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(moments[k][i], rel=1e-6, abs=1e-7)


def test_sparse_blocks_are_dense_ones(monkeypatch):
    rng = np.random.default_rng(1)
    rows = sp.csr_array(np.vstack([rng.normal(size=(6, 4)), np.eye(4)]))
    natural = (rng.normal(size=10), -rng.uniform(0.5, 2.0, 10))
    dense = RowsNormal(rows, "z")
    monkeypatch.setattr("credo.program.mean_field.families.LARGEST", 1)
    sparse = RowsNormal(rows, "z")
    assert not sparse.is_dense
    for a, b in zip(
        (*dense.moments(natural), *dense.mean_sd(natural)), (*sparse.moments(natural), *sparse.mean_sd(natural))
    ):
        assert a == pytest.approx(b, abs=1e-9)
    assert dense.log_normaliser(natural) == pytest.approx(sparse.log_normaliser(natural), abs=1e-9)
    for family in (dense, sparse):
        z, log_q = family.draws(natural, 50, rng)
        direct = (z @ rows.T.toarray()) @ natural[0] + np.square(z @ rows.T.toarray()) @ natural[1]
        assert log_q == pytest.approx(direct - dense.log_normaliser(natural), abs=1e-8)
