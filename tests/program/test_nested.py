"""Nested Laplace against sums over fine grids; its certificate, and what takes over where that fails."""

import numpy as np
import pytest
from scipy import special

import credo as cr
from credo.errors import ConvergenceWarning, NotIdentifiedError, UnavailableError
from credo.program import math as cm
from credo.program import nested

from .nested_cases import LAWS, grouped

FAST = ("Poisson", "Bernoulli logit", "StudentT")


def agrees(posterior, truth):
    """Means within 4.5 Monte Carlo errors of what is stated: a false alarm in 10⁵ for each of eight numbers; sds too,
    whose error is about 1/√(2 n) of them."""
    mean, sd, evidence = truth
    n = posterior.result.certificate["effective"]
    for name in mean:
        error = np.abs(posterior.mean[name] - mean[name]) / sd[name]
        assert np.max(error) < 4.5 / np.sqrt(n), (name, error, n)
        ratio = np.abs(np.log(posterior.sd[name] / sd[name]))
        assert np.max(ratio) < 4.5 * 1.5 / np.sqrt(2.0 * n), (name, ratio, n)
    # Of n weights, whose sd is √(N/n − 1) each.
    spread = np.sqrt(1.0 / n)
    assert abs(posterior.log_evidence - evidence) < 4.5 * spread + 0.01


@pytest.mark.parametrize(
    "name", [each if each in FAST else pytest.param(each, marks=pytest.mark.slow) for each in LAWS]
)
def test_grouped_effects_behind_every_law(name):
    case = grouped(name)
    posterior = case.model().fit("nested_laplace", random_state=1)
    assert posterior.inference == "nested_laplace"
    assert posterior.explanation.treatment == {"beta": "nested Laplace", "tau": "quadrature", "u": "nested Laplace"}
    agrees(posterior, case.truth())


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_laws_without_centring(name):
    """The same posterior where u is declared as τ z."""
    case = grouped(name, seed=3)
    posterior = case.model(centred=False).fit("nested_laplace", random_state=1)
    mean, sd, evidence = case.truth()
    agrees(posterior, ({k: mean[k] for k in ("beta", "tau")}, {k: sd[k] for k in ("beta", "tau")}, evidence))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_tiny_binary_groups_are_right_or_not_certified(seed):
    """Two rows a group and wide effects: Laplace's own marginal is far off."""
    case = grouped("Bernoulli logit", seed, tau=2.5, each=2)
    posterior = case.model().fit("nested_laplace", random_state=seed)
    if posterior.inference == "nested_laplace":
        agrees(posterior, case.truth())


def test_without_hyperparameters():
    """A Poisson regression with flat coefficients: against a sum over a grid."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = rng.poisson(np.exp(0.4 + 0.5 * x))
    m = cr.Model()
    a, b = m.latent("a", cr.Flat()), m.latent("b", cr.Flat())
    m.observed("y", cr.Poisson(cm.exp(a + b * x)), y)
    posterior = m.fit("nested_laplace", random_state=0)
    assert posterior.explanation.treatment == {"a": "nested Laplace", "b": "nested Laplace"}
    assert np.isnan(posterior.log_evidence)
    u, v = np.meshgrid(np.linspace(-0.6, 1.2, 200), np.linspace(-0.2, 1.2, 200), indexing="ij")
    log = u * y.sum() + v * (x @ y) - np.exp(u[..., None] + v[..., None] * x).sum(-1)
    p = np.exp(log - log.max())
    p /= p.sum()
    for name, at in (("a", u), ("b", v)):
        mean = np.sum(p * at)
        sd = np.sqrt(np.sum(p * at**2) - mean**2)
        assert abs(posterior.mean[name] - mean) < 4.5 * sd / np.sqrt(posterior.result.certificate["effective"])
        assert abs(posterior.sd[name] / sd - 1.0) < 0.1


def test_separated_outcomes_are_refused():
    m = cr.Model()
    x = np.linspace(-1, 1, 30)
    a, b = m.latent("a", cr.Flat()), m.latent("b", cr.Flat())
    m.observed("y", cr.Bernoulli(cm.expit(a + b * x)), (x > 0).astype(int))
    with pytest.raises(NotIdentifiedError, match="flat"):
        m.fit("nested_laplace", random_state=0)


def mixed_responses(n=60, groups=5):
    rng = np.random.default_rng(4)
    g = rng.integers(groups, size=n)
    u = 0.8 * rng.normal(size=groups)
    m = cr.Model()
    code = m.data("g", g, dims="obs", levels="groups")
    tau = m.latent("tau", cr.HalfNormal(1))
    effect = m.latent("u", cr.Normal(0, tau), dims="groups")
    m.observed("y", cr.Normal(effect[code], 0.7), u[g] + 0.7 * rng.normal(size=n), dims="obs")
    counts = rng.poisson(np.exp(0.5 + u[g])).astype(float)
    counts[::7] = np.nan
    level = m.latent("level", cr.Normal(0, 2))
    m.observed("counts", cr.Poisson(cm.exp(level + effect[code])), counts, dims="obs")
    return m


def test_normal_and_count_responses_share_effects():
    """… and counts that nobody saw are drawn: against importance sampling over all seven numbers."""
    posterior = mixed_responses().fit("nested_laplace", random_state=0)
    assert posterior.inference == "nested_laplace"
    assert posterior["counts_missing"].shape == (4000, 9)
    other = mixed_responses().fit(random_state=0)
    assert other.explanation.treatment["u"] == "importance"
    n = posterior.result.certificate["effective"]
    for name in ("tau", "u", "level"):
        assert np.max(np.abs(posterior.mean[name] - other.mean[name]) / other.sd[name]) < 4.5 / np.sqrt(n) + 0.05
    assert abs(posterior.log_evidence - other.log_evidence) < 0.1


def test_failed_certificate_says_so_and_samples(monkeypatch):
    monkeypatch.setattr(nested, "LARGEST_K", -np.inf)
    posterior = mixed_responses().fit("nested_laplace", random_state=0)
    assert posterior.explanation.treatment["u"] == "importance"
    assert "k̂" in str(posterior.explain())
    assert np.isfinite(posterior.log_evidence)


@pytest.mark.slow
def test_large_models_fall_back_to_nuts(monkeypatch):
    monkeypatch.setattr(nested, "LARGEST_K", -np.inf)
    m = many_coefficients()
    assert m.explain().treatment == {"w": "nested Laplace"}
    posterior = m.fit(random_state=0)
    assert posterior.explanation.treatment == {"w": "nuts"}
    assert posterior.inference == "nuts"


def many_coefficients():
    rng = np.random.default_rng(0)
    m = cr.Model()
    x = m.data("x", rng.normal(size=(50, 14)))
    w = m.latent("w", cr.Normal(0, 1), shape=14)
    m.observed("y", cr.Poisson(cm.exp(x @ w)), np.ones(50))
    return m


def test_what_auto_takes():
    """Few numbers and rows stay together; many go to the nested rung; a model without sites has none."""
    case = grouped("Poisson")
    assert case.model().explain().treatment["u"] == "importance"
    plan = many_coefficients().explain()
    assert (plan.rung, plan.treatment) == ("nested_laplace", {"w": "nested Laplace"})
    assert "y (Poisson)" in str(plan)
    normal = cr.Model()
    normal.observed("y", cr.Normal(normal.latent("a", cr.Normal(0, 1)), 1.0), [1.0])
    with pytest.raises(UnavailableError, match="nested_laplace"):
        normal.fit("nested_laplace")


def test_same_seed_same_answer():
    case = grouped("Poisson")
    a, b = (case.model().fit("nested_laplace", random_state=7, draws=400) for _ in range(2))
    np.testing.assert_array_equal(a["u"], b["u"])
    assert a.log_evidence == b.log_evidence


def test_no_warning_about_the_rule(recwarn):
    """What the rule over θ errs by is put right by the weights: it is no news."""
    grouped("Bernoulli logit").model().fit("nested_laplace", random_state=1)
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]


@pytest.mark.slow
def test_many_pairs_of_binary_outcomes():
    """200 groups of two rows: Laplace's own density of tau is a sd off, what it misses is put into the rule."""
    rng = np.random.default_rng(0)
    g = np.repeat(np.arange(200), 2)
    y = rng.random(400) < special.expit(0.3 + 2.5 * rng.normal(size=200)[g])
    m = cr.Model()
    b, tau = m.latent("b", cr.Normal(0, 1.5)), m.latent("tau", cr.HalfNormal(3))
    u = m.latent("u", cr.Normal(0, tau), shape=200)
    m.observed("y", cr.Bernoulli(cm.expit(b + u[g])), y)
    posterior = m.fit(random_state=0)
    assert posterior.inference == "nested_laplace"
    t, w = np.polynomial.hermite_e.hermegauss(80)
    at, levels = np.linspace(0.01, 10, 200), np.linspace(-2, 3, 101)
    eta = levels[:, None] + at[:, None, None] * t
    log = -0.5 * (at[:, None] / 3.0) ** 2 - 0.5 * (levels / 1.5) ** 2
    for k, count in enumerate(np.bincount(np.bincount(g, y).astype(int), minlength=3)):
        log_p = k * special.log_expit(eta) + (2 - k) * special.log_expit(-eta)
        log += count * special.logsumexp(log_p + np.log(w / w.sum()), axis=-1)
    p = np.exp(log - log.max())
    p /= p.sum()
    n = posterior.result.certificate["effective"]
    for name, x in (("tau", at[:, None]), ("b", levels)):
        mean = np.sum(p * x)
        sd = np.sqrt(np.sum(p * x**2) - mean**2)
        assert abs(posterior.mean[name] - mean) < 4.5 * sd / np.sqrt(n)
        assert abs(posterior.sd[name] / sd - 1.0) < 4.5 * 1.5 / np.sqrt(2.0 * n)


def test_where_the_search_begins():
    """A start given by name is used, and changes nothing."""
    posterior = grouped("Poisson").model().fit("nested_laplace", random_state=1, draws=400, initial={"tau": 0.3})
    assert abs(posterior.mean["tau"] - 0.733) < 0.1


def test_long_tails_of_a_scale_are_kept():
    """Eighty cells without one event: τ is hardly known, and large values of it come with large effects. Against a
    grid over (level, τ) with 601 points of each effect; 768 weighed draws, at five errors of a mean and a tenth of an
    sd of the rule's own."""
    rng = np.random.default_rng(0)
    g = np.r_[np.arange(10), rng.integers(10, size=70)]
    m = cr.Model()
    m.dim("G", 10)
    b, tau = m.latent("b", cr.Normal(0, 1)), m.latent("tau", cr.Exponential(1.0))
    u = m.latent("u", cr.Normal(0, tau), dims="G")
    codes = m.data("g", g, dims="obs", levels="G")
    m.observed("y", cr.Bernoulli(cr.math.inv_cloglog(b + u[codes])), np.zeros(80, dtype=int), dims="obs")
    found = m.fit("nested_laplace", random_state=0)
    assert found.result.ok

    level, log_tau = np.linspace(-7.0, 3.0, 50), np.linspace(-7.0, 3.0, 60)
    v = np.linspace(-7.5, 7.5, 601)
    weight = np.exp(-0.5 * v**2) / np.exp(-0.5 * v**2).sum()
    counts = np.bincount(g)
    scale = np.exp(log_tau)
    eta = level[:, None, None] + scale[:, None] * v
    log_p = sum(np.log(np.exp(-n * np.exp(eta)) @ weight) for n in counts)
    log_p = log_p - 0.5 * level[:, None] ** 2 - scale + log_tau
    p = np.exp(log_p - log_p.max())
    p = p.sum(axis=0) / p.sum()
    mean = p @ scale
    sd = np.sqrt(p @ (scale - mean) ** 2)
    assert abs(found.mean["tau"] - mean) < 5.0 * sd / np.sqrt(found.result.certificate["effective"])
    assert found.sd["tau"] == pytest.approx(sd, rel=0.1)


def small():
    m = cr.Model()
    g = m.data("g", np.repeat(np.arange(6), 5), dims="row", levels="G")
    tau, b = m.latent("tau", cr.HalfNormal(2)), m.latent("b", cr.Normal(0, 3))
    a = m.latent("a", cr.Normal(0, tau), dims="G")
    y = [1, 0, 2, 3, 1, 1, 2, 1, 2, 1, 1, 2, 0, 1, 0, 3, 2, 5, 6, 5, 3, 8, 6, 2, 1, 5, 5, 3, 7, 6]
    m.observed("y", cr.Poisson(cr.math.exp(b + a[g])), y, dims="row")
    return m


def test_nested_laplace_comes_before_nuts_where_importance_sampling_fails(monkeypatch):
    """Eight numbers are few enough to be weighed together, but lie in a funnel: chains got stuck in it."""
    known = small().fit("nested_laplace", random_state=1)
    monkeypatch.setattr("credo.program.importance.fit_importance", lambda *a: None)
    found = small().fit(random_state=0)
    assert found.result.ok
    assert found.explain().rung == "nested_laplace"
    assert "importance weights failed" in str(found.explain())
    for name in ("tau", "b", "a"):  # five errors of two sets of some 700 draws
        np.testing.assert_array_less(np.abs(found.mean[name] - known.mean[name]) / known.sd[name], 5 * (2 / 600) ** 0.5)


@pytest.mark.filterwarnings("ignore::credo.errors.ConvergenceWarning")
def test_nuts_is_what_remains(monkeypatch):
    monkeypatch.setattr("credo.program.importance.fit_importance", lambda *a: None)
    monkeypatch.setattr(nested, "LARGEST_K", -5.0)
    found = small().fit(draws=40, warmup=20, random_state=0)
    assert found.explain().treatment == {"tau": "nuts", "b": "nuts", "a": "nuts"}
    assert found.explain().rung == "nuts"
    said = str(found.explain())
    assert "importance weights failed" in said
    assert "not certified: k̂" in said
