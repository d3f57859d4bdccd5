"""Gibbs sampling by name: every kind of conditional against brute force on grids that know nothing of Credo."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, ndtr

import credo as cr
from credo.program import math as cm
from tests.program.zoo.oracle import density, positive, real, unit

# A number is off if it is 4.5 Monte Carlo errors away: false alarm 7e-6 a number, and the seeds are fixed.
WIDTHS = 4.5
RNG = np.random.default_rng(11)
X = RNG.normal(size=20)


def agrees(posterior, truth):
    for name in truth.mean:
        draws = posterior.values[name]
        flat = draws.reshape(*draws.shape[:2], -1)
        for k in range(flat.shape[2]):
            for kind, found, true in (
                ("mean", flat[..., k].mean(), truth.mean[name]), ("sd", flat[..., k].std(ddof=1), truth.sd[name]),
            ):  # fmt: skip
                error = cr.diagnostics.mcse(flat[..., k], kind)
                slack = 1e-3 * np.ravel(truth.sd[name])[k]
                assert abs(found - np.ravel(true)[k]) < WIDTHS * error + slack, f"{kind} of {name}[{k}]"


def said(posterior):
    return {name: step.sentence for step in posterior.explain().steps for name in step.nodes}


CASES = {}


def case(build):
    CASES[build.__name__] = build
    return build


@case
def student_t_noise():
    y = 1.0 + 0.8 * X + 0.5 * RNG.standard_t(3, size=20)
    m = cr.Model()
    w, s = m.latent("w", cr.Normal(0, 3)), m.latent("s", cr.HalfNormal(2))
    m.observed("y", cr.StudentT(3.0, 1.0 + w * X, s), y)

    def log_joint(w, s):
        like = stats.t.logpdf(y, 3, 1.0 + w[:, None] * X, s[:, None]).sum(1)
        return like + stats.norm.logpdf(w, 0, 3) + stats.halfnorm.logpdf(s, 0, 2)

    return m, density(log_joint, w=real(-2, 4), s=positive(0.02, 8)), {"w": "drawn together", "s": "slice"}


@case
def student_t_noise_of_latent_df():
    """df is moved with the precisions integrated out."""
    y = 0.5 * RNG.standard_t(3, size=30)
    m = cr.Model()
    mu, df = m.latent("mu", cr.Normal(0, 3)), m.latent("df", cr.Gamma(shape=2, rate=0.3))
    m.observed("y", cr.StudentT(df, mu, 0.5), y)

    def log_joint(mu, df):
        like = stats.t.logpdf(y, df[:, None], mu[:, None], 0.5).sum(1)
        return like + stats.norm.logpdf(mu, 0, 3) + stats.gamma.logpdf(df, 2, scale=1 / 0.3)

    return m, density(log_joint, mu=real(-1.5, 1.5), df=positive(0.05, 120)), {"df": "slices"}


@case
def student_t_prior():
    y = np.array([2.9, 3.4])
    m = cr.Model()
    w = m.latent("w", cr.StudentT(2.0, 0.0, 0.5))
    m.observed("y", cr.Normal(w, 1.0), y)

    def log_joint(w):
        return stats.norm.logpdf(y, w[:, None], 1.0).sum(1) + stats.t.logpdf(w, 2, 0, 0.5)

    return m, density(log_joint, w=real(-5, 12, 1500)), {"w": "drawn together"}


@case
def laplace_prior_and_noise():
    y = np.array([0.4, 0.1, -0.2, 0.9, 0.3])
    m = cr.Model()
    w, b = m.latent("w", cr.Laplace(0, 0.5)), m.latent("b", cr.Gamma(shape=3, rate=4))
    m.observed("y", cr.Laplace(w, b), y)

    def log_joint(w, b):
        like = stats.laplace.logpdf(y, w[:, None], b[:, None]).sum(1)
        return like + stats.laplace.logpdf(w, 0, 0.5) + stats.gamma.logpdf(b, 3, scale=0.25)

    return m, density(log_joint, w=real(-4, 4, 801), b=positive(0.02, 8)), {"w": "drawn together"}


@case
def horseshoe():
    y = np.array([1.2, 0.7])
    m = cr.Model()
    lam = m.latent("lam", cr.HalfCauchy(1.0), shape=2)
    w = m.latent("w", cr.Normal(0.0, 0.3 * lam), shape=2)
    m.observed("y", cr.Normal(w, 0.5), y)

    def truth_of(k):
        def log_joint(w, lam):
            prior = stats.norm.logpdf(w, 0, 0.3 * lam) + stats.halfcauchy.logpdf(lam)
            return prior + stats.norm.logpdf(y[k], w, 0.5)

        return density(log_joint, w=real(-4, 5, 500), lam=positive(1e-4, 1e7, 700))

    ones = [truth_of(0), truth_of(1)]
    one = ones[0]
    mean = {"w": np.array([each.mean["w"] for each in ones])}
    sd = {"w": np.array([each.sd["w"] for each in ones])}  # the scales themselves have no moments
    return m, type(one)(mean, sd, None), {"lam": "slice", "w": "drawn together"}


@case
def logistic():
    y = (RNG.random(20) < expit(0.5 + X)).astype(float)
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 2)), m.latent("b", cr.Normal(0, 2))
    m.observed("y", cr.Bernoulli(m.deterministic("p", cm.expit(a + b * X))), y)

    def log_joint(a, b):
        eta = a[:, None] + b[:, None] * X
        return stats.norm.logpdf(a, 0, 2) + stats.norm.logpdf(b, 0, 2) + (y * eta - np.logaddexp(0, eta)).sum(1)

    return m, density(log_joint, a=real(-5, 6, 300), b=real(-5, 8, 300)), {"a": "2 entries drawn together"}


@case
def failures_of_many_trials():
    """1 − p of a Binomial."""
    n = np.array([5.0, 9, 4, 12])
    y, x = np.array([1.0, 4, 3, 11]), np.array([-1.0, 0, 0.5, 1.5])
    m = cr.Model()
    b = m.latent("b", cr.Normal(0, 2))
    m.observed("y", cr.Binomial(n, 1.0 - cm.expit(b * x)), y)

    def log_joint(b):
        return stats.norm.logpdf(b, 0, 2) + stats.binom.logpmf(y, n, expit(-b[:, None] * x)).sum(1)

    return m, density(log_joint, b=real(-8, 6, 2000)), {"b": "drawn together", "y_weight": "Pólya–Gamma"}


@case
def probit():
    y = (RNG.random(20) < ndtr(0.3 - X)).astype(float)
    m = cr.Model()
    b = m.latent("b", cr.Normal(0, 1.5))
    m.observed("y", cr.Bernoulli(cm.ndtr(0.3 + b * X)), y)

    def log_joint(b):
        eta = 0.3 + b[:, None] * X
        return stats.norm.logpdf(b, 0, 1.5) + np.where(y, stats.norm.logcdf(eta), stats.norm.logcdf(-eta)).sum(1)

    return m, density(log_joint, b=real(-8, 4, 2000)), {"y_utility": "probit"}


@case
def overdispersed_counts():
    y = RNG.negative_binomial(1.7, 1.7 / (1.7 + np.exp(1.0 + 0.5 * X))).astype(float)
    m = cr.Model()
    a, s = m.latent("a", cr.Normal(0, 2)), m.latent("s", cr.Gamma(shape=2, rate=1))
    m.observed("y", cr.NegativeBinomial(cm.exp(a + 0.5 * X), s), y)

    def log_joint(a, s):
        mean, s_ = np.exp(a[:, None] + 0.5 * X), s[:, None]
        like = stats.nbinom.logpmf(y, s_, s_ / (s_ + mean)).sum(1)
        return like + stats.norm.logpdf(a, 0, 2) + stats.gamma.logpdf(s, 2)

    return m, density(log_joint, a=real(-2, 4, 300), s=positive(0.05, 40, 300)), {"a": "drawn together", "s": "slices"}


@case
def gamma_precision():
    y = np.array([1.0, 2.5, 2.2, 1.6])
    m = cr.Model()
    mu, lam = m.latent("mu", cr.Normal(0, 5)), m.latent("lam", cr.Gamma(shape=2, rate=1))
    m.observed("y", cr.Normal(mu, 2.0 * lam**-0.5), y)

    def log_joint(mu, lam):
        like = stats.norm.logpdf(y, mu[:, None], 2.0 / np.sqrt(lam[:, None])).sum(1)
        return like + stats.norm.logpdf(mu, 0, 5) + stats.gamma.logpdf(lam, 2)

    return m, density(log_joint, mu=real(-6, 10, 500), lam=positive(0.01, 40)), {"lam": "Gamma given"}


@case
def log_normal_data():
    y = np.array([1.3, 4.0, 2.2, 0.8])
    m = cr.Model()
    mu, v = m.latent("mu", cr.Normal(0, 2)), m.latent("v", cr.InverseGamma(shape=3, scale=2))
    m.observed("y", cr.LogNormal(mu, cm.sqrt(v)), y)

    def log_joint(mu, v):
        like = stats.norm.logpdf(np.log(y), mu[:, None], np.sqrt(v[:, None])).sum(1)
        return like + stats.norm.logpdf(mu, 0, 2) + stats.invgamma.logpdf(v, 3, scale=2)

    return m, density(log_joint, mu=real(-4, 5, 500), v=positive(0.02, 300, 600)), {"v": "Inverse-Gamma"}


@case
def mixture_of_two():
    """Latent labels, by the arithmetic that there is without picking."""
    y = np.array([-1.1, -0.7, 2.0, 2.4, 1.7])
    m = cr.Model()
    p, d = m.latent("p", cr.Beta(2, 2)), m.latent("d", cr.Normal(3, 1))
    z = m.latent("z", cr.Bernoulli(p), shape=5)
    m.observed("y", cr.Normal(-1.0 + d * z, 0.6), y)

    def log_joint(p, d):
        zero = np.log1p(-p)[:, None] + stats.norm.logpdf(y, -1.0, 0.6)
        one = np.log(p)[:, None] + stats.norm.logpdf(y, -1.0 + d[:, None], 0.6)
        return np.logaddexp(zero, one).sum(1) + stats.beta.logpdf(p, 2, 2) + stats.norm.logpdf(d, 3, 1)

    return m, density(log_joint, p=unit(), d=real(-1, 7)), {"z": "2 values of 5 cells, all at once", "p": "Beta"}


@case
def a_curve_of_no_family():
    y = np.exp(-0.7 * np.arange(6)) + 0.1 * RNG.normal(size=6)
    m = cr.Model()
    k, c = m.latent("k", cr.LogNormal(0, 1)), m.latent("c", cr.Normal(0, 2))
    m.observed("y", cr.Normal(c * cm.exp(-k * np.arange(6)), 0.1), y)

    def log_joint(k, c):
        mean = c[:, None] * np.exp(-k[:, None] * np.arange(6))
        like = stats.norm.logpdf(y, mean, 0.1).sum(1)
        return like + stats.lognorm.logpdf(k, 1) + stats.norm.logpdf(c, 0, 2)

    return m, density(log_joint, k=positive(0.1, 4), c=real(0.2, 1.8)), {"k": "slices", "c": "drawn together"}


# The others take more than a second each.
SLOW = (
    "student_t_noise_of_latent_df", "horseshoe", "overdispersed_counts", "a_curve_of_no_family", "student_t_noise",
    "laplace_prior_and_noise", "failures_of_many_trials", "log_normal_data", "student_t_prior",
)  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(k, marks=pytest.mark.slow) if k in SLOW else k for k in CASES])
def test_against_brute_force(name):
    """Means and sds of every latent number within 4.5 Monte Carlo errors."""
    m, truth, expected = CASES[name]()
    posterior = m.fit("gibbs", draws=4000, random_state=3)
    assert posterior.result.ok
    assert posterior.inference == "gibbs"
    for node, words in expected.items():
        assert words in said(posterior)[node]
    agrees(posterior, truth)


def test_one_seed_one_answer():
    m, _, _ = CASES["gamma_precision"]()
    a, b = (m.fit("gibbs", draws=400, random_state=5) for _ in range(2))
    assert all(np.array_equal(a[name], b[name]) for name in a.values)


def test_few_draws_of_good_chains():
    m, _, _ = CASES["mixture_of_two"]()
    posterior = m.fit("gibbs", draws=40, random_state=1)
    assert posterior.values["d"].shape == (4, 10)
    assert posterior.result.certificate["ess_bulk"] >= 400


@pytest.mark.slow
def test_chains_that_disagree_are_told():
    """a·b = 1 with either sign: each chain stays with one."""
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a * b, 0.01), [1.0])
    with pytest.warns(cr.errors.ConvergenceWarning, match="chains disagree"):
        posterior = m.fit("gibbs", draws=40, random_state=1)
    assert posterior.result.status == "not_certified"


def test_options_and_start():
    m, _, _ = CASES["gamma_precision"]()
    posterior = m.fit("gibbs", draws=3000, chains=2, warmup=50, thin=2, initial={"mu": 1.5}, random_state=0)
    assert posterior.values["lam"].shape == (2, 1500)
    assert posterior.result.certificate["sweeps"] >= 3000
    with pytest.raises(cr.errors.ParameterError, match="initial"):
        m.fit("gibbs", initial={"nobody": 1.0})


def test_what_has_no_end_is_refused():
    m = cr.Model()
    k = m.latent("k", cr.Poisson(3.0))
    m.observed("y", cr.Normal(k, 1.0), [4.0])
    with pytest.raises(cr.errors.UnavailableError, match=r"k is Poisson, with no end of values"):
        m.fit("gibbs")


def test_predicts_and_is_explained():
    m, _, _ = CASES["student_t_prior"]()
    posterior = m.fit("gibbs", random_state=0)
    assert posterior.predict("y").mean.shape == (2,)
    assert posterior.explain().treatment == {"w": "gibbs"}
    assert set(posterior.values) == {"w"}  # the auxiliaries are nobody's business


@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.slow), 40])
def test_whole_block_with_far_data(rows):
    """Data about 1e8 lose no digits, whether coefficients differ by row or not."""
    y = 1e8 + np.linspace(-1.0, 1.0, rows)
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1e9))
    m.observed("y", cr.StudentT(5.0, w, 0.5), y)
    posterior = m.fit("gibbs", random_state=0)
    assert abs(posterior.mean["w"] - 1e8) < 6 * posterior.sd["w"]
    assert 0.05 < posterior.sd["w"] < 2.0


def test_where_every_conditional_is_known():
    from credo.program.gibbs import explain_gibbs, is_all_conditional
    from credo.program.prepare import prepared

    found = {name: prepared(CASES[name]()[0]) for name in ("horseshoe", "a_curve_of_no_family", "mixture_of_two")}
    assert {k: is_all_conditional(*v) for k, v in found.items()} == {
        "horseshoe": True, "a_curve_of_no_family": False, "mixture_of_two": False,
    }  # fmt: skip
    assert [step.nodes for step in explain_gibbs(*found["horseshoe"])][:2] == [("lam",), ("w",)][::-1]


def test_powers_however_they_are_written():
    from credo.program.passes.powers import power_of

    m = cr.Model()
    s, t = m.latent("s", cr.HalfNormal(1), shape=3), m.latent("t", cr.HalfNormal(1))
    g = np.array([0, 2, 2, 1])
    for value, exponent, entries in (
        (s, 1.0, [0, 1, 2]), (1.0 / cm.sqrt(s), -0.5, [0, 1, 2]), (s**-0.5, -0.5, [0, 1, 2]), (2.0 * s[g], 1.0, g),
        ((t * s)[g] ** 2, 2.0, g), (cm.sqrt(t / s)[g], -0.5, g), (s * s * t, 2.0, [0, 1, 2]), (t * s[g], 1.0, g),
    ):  # fmt: skip
        found = power_of(value, s, {})
        assert found.exponent == exponent
        assert found.entries.tolist() == list(entries)
    for value in (s + 1.0, cm.exp(s), s * s[::-1], s / s, -s):
        assert power_of(value, s, {}) is None


@pytest.mark.slow
def test_fractional_polya_gamma_has_the_right_law():
    """Moments and transform of PG(b, z) for b < 1, within 4.5 errors of 200,000 draws."""
    from credo.distributions.polya_gamma import PolyaGamma
    from credo.program.gibbs.auxiliary import draw_fractional

    rng, n = np.random.default_rng(0), 200_000
    for b, z in ((0.1, 0.0), (0.5, 1.0), (0.9, 6.0)):
        law = PolyaGamma(b, z)
        x = draw_fractional(np.full(n, b), np.full(n, z), rng)
        assert abs(x.mean() - law.mean) < WIDTHS * np.sqrt(law.variance / n)
        for t in (0.5, 5.0):
            e = np.exp(-t * x)
            assert abs(e.mean() - np.exp(law.log_laplace(t))) < WIDTHS * e.std() / np.sqrt(n)


@pytest.mark.slow
def test_scales_that_enter_as_a_product():
    """τ λ_j as in a horseshoe: pairs move along their product, and have the posterior of the grid."""
    y = np.array([0.6, -0.4])
    m = cr.Model()
    tau, lam = m.latent("tau", cr.HalfNormal(1.0)), m.latent("lam", cr.Gamma(shape=2.0, rate=2.0), shape=2)
    m.observed("y", cr.Normal(0.0, tau * lam), y)

    def log_joint(tau, a, b):
        like = stats.norm.logpdf(y[0], 0, tau * a) + stats.norm.logpdf(y[1], 0, tau * b)
        return like + stats.halfnorm.logpdf(tau) + stats.gamma.logpdf([a, b], 2, scale=0.5).sum(0)

    axis = positive(0.01, 12, 90)
    grid = density(log_joint, tau=positive(0.01, 5, 90), a=axis, b=axis)
    truth = type(grid)(
        {"tau": grid.mean["tau"], "lam": np.array([grid.mean["a"], grid.mean["b"]])},
        {"tau": grid.sd["tau"], "lam": np.array([grid.sd["a"], grid.sd["b"]])},
    )
    posterior = m.fit("gibbs", random_state=2)
    assert any("divided by c" in step.sentence for step in posterior.explain().steps)
    agrees(posterior, truth)


def test_the_way_from_the_start_does_not_count():
    """A chain that begins far out, without warm-up: its first draws would bend the sd, and no R̂ tells."""
    m = cr.Model()
    b = m.latent("b", cr.Normal(0, 3))
    y = np.random.default_rng(2).poisson(1.5, size=30)
    m.observed("y", cr.Poisson(cr.math.exp(b)), y)
    fit = m.fit("gibbs", draws=1200, random_state=0, warmup=0, initial={"b": 9.0})
    exact = m.fit(random_state=0)
    assert fit.result.ok
    assert fit["b"].max() < exact.mean["b"] + 6.0 * exact.sd["b"]
    assert fit["b"].std() == pytest.approx(exact.sd["b"], rel=0.15)  # 1,200 draws: 400 effective ones err by 3.5 %
