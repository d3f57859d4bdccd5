"""Fits: known answers, rungs that agree, prediction, missing cells, saving, sensitivity, and faults with names."""

import subprocess
import sys

import numpy as np
import pytest

import credo as cr
from credo.errors import ConvergenceWarning, DataError, NotIdentifiedError, ParameterError, UnavailableError

Y = np.array([28, 8, -3, 7, -1, 1, 18, 12.0])
S = np.array([15, 10, 16, 11, 9, 11, 10, 18.0])


def schools(law=None):
    m = cr.Model()
    m.dim("school", list("ABCDEFGH"))
    mu, tau = m.latent("mu", cr.Normal(0, 5)), m.latent("tau", law or cr.HalfCauchy(5))
    theta = m.latent("theta", cr.Normal(mu, tau), dims="school")
    m.observed("y", cr.Normal(theta, S), Y, dims="school")
    return m


def test_eight_schools_to_six_digits():
    """Against one-dimensional quadrature with Gaussian conditionals (tests/data/posteriordb)."""
    posterior = schools().fit(random_state=0)
    assert posterior.explain().treatment == {"mu": "exact", "tau": "quadrature", "theta": "exact"}
    assert posterior.inference == "collapsed"
    np.testing.assert_allclose(posterior.mean["theta"][:3], [6.211884204, 4.940178420, 3.927004403], rtol=1e-5)
    np.testing.assert_allclose(posterior.sd["theta"][:3], [5.593126195, 4.674268462, 5.262615106], rtol=1e-5)
    draws = posterior["theta"]
    assert draws.shape == (4000, 8)
    errors = posterior.sd["theta"] / np.sqrt(4000)
    assert np.all(np.abs(draws.mean(axis=0) - posterior.mean["theta"]) < 4.5 * errors)  # 8 entries: 5e-5 by chance
    assert posterior.summary()["tau"]["lower"] > 0.0


def regression(n=40, seed=0, sd=0.3, missing=()):
    rng = np.random.default_rng(seed)
    X, g = rng.normal(size=(n, 2)), np.array(list("abcd"))[rng.integers(4, size=n)]
    y = X @ [1.0, -1.0] + np.searchsorted(list("abcd"), g) + sd * rng.normal(size=n)
    y[list(missing)] = np.nan
    m = cr.Model()
    x = m.data("X", X, dims=("obs", "feature"))
    codes = m.data("g", g, dims="obs", levels="group")
    w = m.latent("w", cr.Normal(0, 1), dims="feature")
    tau = m.latent("tau", cr.HalfCauchy(1))
    a = m.latent("a", cr.Normal(0, tau), dims="group")
    sigma = m.latent("sigma", cr.HalfNormal(1))
    m.observed("y", cr.Normal(x @ w + a[codes], sigma), y, dims="obs")
    return m


def test_a_declared_bound_holds_when_everything_is_sampled():
    """A flat sd above 0 is never tried below: half of all steps would be."""
    m = cr.Model()
    mu, s = m.latent("mu", cr.Flat()), m.latent("s", cr.Flat(), low=0.0, high=50.0)
    m.observed("y", cr.Normal(mu, s), np.linspace(-2.0, 2.0, 12))
    from credo.program.fitting import full_target
    from credo.program.plan import plan_of

    target = full_target(plan_of(m, "nuts"))
    assert target.support("s") == m.nodes["s"].support
    assert (target.bounds[0][1], target.bounds[1][1]) == (0.0, 50.0)
    posterior = m.fit("nuts", draws=2000, chains=2, warmup=300, random_state=0)
    assert posterior["s"].min() > 0.0
    assert posterior.result.certificate["divergences"] == 0


@pytest.mark.slow
def test_sampling_everything_agrees_with_the_collapsed_rung():
    """z-scores of 8 means and sds below 4.5 (false alarm 1e-4)."""
    m = regression()
    exact, nuts = m.fit(random_state=0), m.fit("nuts", random_state=1)
    for name in ("w", "tau", "a", "sigma"):
        error = np.asarray(exact.sd[name]) / np.sqrt(1000.0)
        assert np.all(np.abs(exact.mean[name] - nuts[name].mean(axis=0)) < 4.5 * error)


def test_importance_sampling_agrees_with_quadrature():
    """Four hyperparameters that are really three: the fourth is known but for its sign, far from zero."""
    m = regression()
    three = m.fit(random_state=0)
    from credo.program import plan

    old, plan.MOST_BY_QUADRATURE = plan.MOST_BY_QUADRATURE, 1
    try:
        weighed = m.fit(random_state=0)
    finally:
        plan.MOST_BY_QUADRATURE = old
    assert weighed.explain().treatment["tau"] == "importance"
    assert weighed.result.certificate["pareto_k"] < 0.6
    assert weighed.log_evidence == pytest.approx(three.log_evidence, abs=0.02)
    for name in ("tau", "sigma"):
        assert abs(weighed.mean[name] - three.mean[name]) < 0.05 * three.sd[name]
        assert weighed.sd[name] == pytest.approx(three.sd[name], rel=0.1)


def group_variances(groups: int) -> cr.Model:
    """A variance for each group: more numbers than importance sampling takes, all of known conditionals."""
    rng = np.random.default_rng(5)
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 10))
    v = m.latent("v", cr.InverseGamma(shape=3, scale=2), shape=groups)
    g = np.repeat(np.arange(groups), 6)
    m.observed("y", cr.Normal(mu, cr.math.sqrt(v)[m.data("g", g)]), 1.0 + rng.normal(size=g.size))
    return m


def test_gibbs_where_all_conditionals_are_known():
    fit = group_variances(20).fit(draws=400, random_state=0, target_acceptance=0.9)  # what may take over has that
    assert fit.explain().treatment == {"mu": "gibbs", "v": "gibbs"}
    assert fit.result.ok
    assert "no sampling" not in str(fit.explain())


def test_nuts_takes_over_where_gibbs_does_not_mix(monkeypatch):
    from credo.program import plan
    from credo.program.gibbs import chains

    for module, name, value in ((plan, "MOST_BY_QUADRATURE", 0), (plan, "MOST_BY_IMPORTANCE", 2),
                                (chains, "LONGEST", 0), (chains, "WARM_UP", 0), (chains, "FEWEST", 4)):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    with pytest.warns(ConvergenceWarning):  # of so few draws
        fit = group_variances(3).fit(draws=16, random_state=0, chains=2, warmup=50)
    assert fit.explain().treatment == {"mu": "exact", "v": "nuts"}
    assert "given up" in str(fit.explain())


def test_resampled_draws_count_as_what_their_weights_are_worth():
    from credo.inference.result import Result
    from credo.program.posterior import ModelPosterior

    rng = np.random.default_rng(0)
    values = {"x": rng.normal(size=(4, 1000))}
    plain, worth = (
        ModelPosterior(values, Result("converged", "importance", certificate=c)).summary()["x"]
        for c in ({}, {"effective": 150.0})
    )
    assert plain["ess_bulk"] > 3000
    assert worth["ess_bulk"] == worth["ess_tail"] == 150.0
    assert worth["mcse_mean"] == pytest.approx(worth["sd"] / 150**0.5)
    assert worth["mcse_mean"] > 4 * plain["mcse_mean"]


def test_evidence_equals_brute_force():
    """The marginal likelihood of a Normal model by its covariance matrix, integrated over sigma by a fine grid."""
    y = np.array([0.3, -1.2, 0.8, 2.0])
    x = np.array([0.0, 1.0, 2.0, 3.0])
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 2)), m.latent("b", cr.Normal(1, 3))
    sigma = m.latent("sigma", cr.HalfNormal(1.5))
    m.observed("y", cr.Normal(a + b * x, sigma), y)
    grid = np.linspace(1e-3, 12.0, 6000)
    values = []
    for s in grid:
        cov = 4.0 * np.ones((4, 4)) + 9.0 * np.outer(x, x) + s**2 * np.eye(4)
        values.append(cr.MultivariateNormal(x, cov).log_prob(y) + cr.HalfNormal(1.5).log_prob(s))
    expected = np.log(np.trapezoid(np.exp(values), grid))
    assert m.fit(random_state=0).log_evidence == pytest.approx(expected, abs=2e-3)


def test_missing_cells_are_latent():
    m = regression(missing=(3, 7))
    posterior = m.fit(random_state=0)
    full = regression().fit(random_state=0)
    assert posterior["y_missing"].shape == (4000, 2)
    assert np.all(posterior["y_missing"].std(axis=0) < 3.0 * full.mean["sigma"])
    assert np.isnan(posterior.log_likelihood()[:, 3]).all()
    assert np.isfinite(posterior.log_likelihood()[:, 4]).all()


def test_a_missing_cell_that_others_depend_on_joins_the_block():
    """y₂ unseen, y₃ ~ N(y₂, 1), y₂ ~ N(y₁, 1): its posterior is N((y₁ + y₃)/2, 1/√2)."""
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 1))
    y = m.observed("y", cr.Normal(mu, 1.0), [1.0, np.nan])
    m.observed("z", cr.Normal(y[1], 1.0), 3.0)
    posterior = m.fit(random_state=0)
    assert posterior.explain().treatment == {"mu": "exact", "y_missing": "exact"}
    # given mu: y₂ ~ N((mu + 3)/2, ½); mu from y₁ = 1 and z = 3 ~ N(mu, √2)
    mu_mean = (1.0 + 1.5) / (1.0 + 1.0 + 0.5)
    assert posterior.mean["mu"] == pytest.approx(mu_mean, rel=1e-12)
    assert posterior.mean["y_missing"][0] == pytest.approx((mu_mean + 3.0) / 2.0, rel=1e-12)


def test_prediction_needs_no_response_and_splits():
    posterior = regression().fit(random_state=0)
    p = posterior.predict(X=np.zeros((3, 2)), g=["a", "new", "d"])
    assert p.mean.shape == (3,)
    np.testing.assert_allclose(p.variance, p.aleatoric + p.epistemic, rtol=1e-12)
    assert p.epistemic[1] > 50.0 * p.epistemic[0]
    again = posterior.predict(X=np.zeros((3, 2)), g=["a", "new", "d"])
    np.testing.assert_array_equal(p.mean, again.mean)
    mean = posterior.predict(X=np.zeros((1, 2)), g=["new"], new_levels="mean")
    assert mean.epistemic[0] < p.epistemic[1] / 10.0
    with pytest.raises(DataError, match="'new' is not among the levels"):
        posterior.predict(X=np.zeros((1, 2)), g=["new"], new_levels="error")
    with pytest.raises(ParameterError, match="a data node: X, g"):
        posterior.predict(Z=np.zeros((1, 2)))
    with pytest.raises(DataError, match="along 'obs'"):
        posterior.predict(X=np.zeros((2, 2)), g=["a"])
    assert posterior.predict().mean.shape == (40,)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_prediction_does_not_repeat_the_numbers_of_the_fit(seed):
    """One seed for both: noise that repeats the posterior's draws would add up with them, √½ + 1 where √1.5 is right.
    4,000 draws: the sd within 4.5 standard errors, √(1/8000)."""
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 1))
    m.observed("y", cr.Normal(mu, 1.0), 1.0)
    p = m.fit(random_state=seed).predict(random_state=seed)
    assert p.draws.std() == pytest.approx(np.sqrt(1.5), rel=4.5 / np.sqrt(8000))
    low, high = p.interval(0.9)
    np.testing.assert_allclose([low[0], high[0]], 0.5 + np.sqrt(1.5) * np.array([-1.644854, 1.644854]), atol=0.15)


def test_saved_and_loaded_it_predicts_the_same(tmp_path):
    posterior = regression(missing=(1,)).fit(random_state=0)
    cr.save(posterior, tmp_path / "p.credo")
    loaded = cr.load(tmp_path / "p.credo")
    new = {"X": np.ones((2, 2)), "g": ["b", "zz"]}
    np.testing.assert_array_equal(loaded.predict(**new).mean, posterior.predict(**new).mean)
    assert str(loaded.explain()) == str(posterior.explain())
    assert repr(loaded.model) == repr(posterior.model)
    assert loaded.model.fit(random_state=0).log_evidence == posterior.log_evidence


def test_prior_draws_have_the_priors_moments():
    """10,000 draws: bounds at 4.5 standard errors."""
    draws = schools(cr.HalfNormal(2)).sample_prior(10_000, random_state=0)
    assert set(draws) == {"mu", "tau", "theta", "y"}
    assert abs(draws["mu"].std() - 5.0) < 0.16
    assert abs(draws["theta"][:, 0].var() - 29.0) < 4.5 * 29.0 * np.sqrt(2.0 / 10_000) * 1.2
    assert abs(draws["y"][:, 2].var() - (29.0 + 256.0)) < 4.5 * 285.0 * np.sqrt(2.0 / 10_000) * 1.1


def test_hyper_priors_and_power_scaling():
    strong = regression(n=200).fit(random_state=0)
    found = strong.hyper_prior_sensitivity()
    assert max(abs(move) for moves in found.moves.values() for entry, move in moves.items() if entry[0] == "w") < 0.1
    tight = schools().fit(random_state=0).hyper_prior_sensitivity()
    assert abs(tight.largest[2]) > 0.1
    assert "sds when the scale of tau's prior" in str(tight)
    scaled = schools().fit(random_state=0).power_scaling()
    assert scaled["tau"].prior > 0.05


def test_the_same_seed_the_same_draws():
    a, b = (regression().fit(random_state=5)["a"] for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_faults_name_their_node():
    m = cr.Model()
    m.latent("w", cr.Normal(0, 1))
    with pytest.raises(NotIdentifiedError, match="nothing is observed"):
        m.fit()
    m.latent("unused", cr.Normal(0, 1))
    m.observed("y", cr.Normal(m.nodes["w"], 1.0), [1.0])
    with pytest.raises(ParameterError, match="unused must be used"):
        m.fit()
    flat = cr.Model()
    a, b = flat.latent("a", cr.Flat()), flat.latent("b", cr.Flat(), shape=2)
    flat.observed("y", cr.Normal(a + b[np.array([0, 0, 1])], 1.0), [1.0, 2.0, 3.0])
    with pytest.raises(NotIdentifiedError, match=r"do not determine .*(a|b\[0\])"):
        flat.fit()
    with pytest.raises(UnavailableError, match="tau cannot be integrated out exactly"):
        schools().fit("exact")
    with pytest.raises(ParameterError, match="inference must be one of"):
        schools().fit("magic")
    nonlinear = cr.Model()
    w = nonlinear.latent("w", cr.Normal(0, 1))
    nonlinear.observed("n", cr.Poisson(cr.math.exp(w)), [1.0])
    with pytest.raises(UnavailableError, match="n is Poisson, not Normal"):
        nonlinear.fit("collapsed")


def test_a_point_has_no_sd():
    mode = regression().fit("map", random_state=0)
    assert mode["w"].shape == (1, 2)
    with pytest.raises(UnavailableError):
        _ = mode.sd


def test_the_plate_diagram_is_xml_that_names_every_node():
    import xml.etree.ElementTree as ET

    m = regression()
    m.deterministic("total", m.nodes["w"].sum())
    root = ET.fromstring(m.graph())
    text = " ".join(e.text or "" for e in root.iter() if e.tag.endswith("text"))
    for name in ("X", "g", "w", "tau", "sigma", "total", "obs: 40", "group: 4"):
        assert name in text
    assert len([e for e in root.iter() if e.tag.endswith("circle")]) == 5


def test_a_variance_that_scales_everything_is_conjugate():
    """Normal–Inverse-Gamma: y is Student-t with 2a degrees of freedom and scale matrix (b/a)(I + 4XXᵀ)."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 2))
    y = X @ [1.0, -2.0] + 0.5 * rng.normal(size=25)
    m = cr.Model()
    v = m.latent("v", cr.InverseGamma(shape=3.0, scale=2.0))
    w = m.latent("w", cr.Normal(0, 2.0 * cr.math.sqrt(v)), shape=2)
    m.observed("y", cr.Normal(X @ w, cr.math.sqrt(v)), y)
    posterior = m.fit(random_state=0)
    assert posterior.explain().rung == "exact"
    assert posterior.explain().treatment == {"v": "conjugate", "w": "exact"}
    marginal = cr.MultivariateStudentT(6.0, np.zeros(25), 2.0 / 3.0 * (np.eye(25) + 4.0 * X @ X.T))
    assert posterior.log_evidence == pytest.approx(float(marginal.log_prob(y)), rel=1e-12)
    precision = X.T @ X + np.eye(2) / 4.0
    mean = np.linalg.solve(precision, X.T @ y)
    scale = (2.0 + 0.5 * (y @ y - mean @ precision @ mean)) / (3.0 + 12.5 - 1.0)
    np.testing.assert_allclose(posterior.mean["w"], mean, rtol=1e-12)
    np.testing.assert_allclose(posterior.mean["v"], scale, rtol=1e-12)
    np.testing.assert_allclose(posterior.sd["w"], np.sqrt(scale * np.diag(np.linalg.inv(precision))), rtol=1e-12)
    known = cr.Model()  # one row with a scale of its own, and it is no longer conjugate
    v = known.latent("v", cr.InverseGamma(shape=3.0, scale=2.0))
    w = known.latent("w", cr.Normal(0, 2.0), shape=2)
    known.observed("y", cr.Normal(X @ w, cr.math.sqrt(v)), y)
    assert known.explain().treatment["v"] == "quadrature"


def test_the_predictive_of_the_prior():
    """y ~ Normal(theta, 15), theta ~ Normal(mu, 2), mu ~ Normal(0, 5): variances 225 and 29, in 20,000 draws within 4.5
    standard errors."""
    m = cr.Model()
    m.dim("school", list("AB"))
    theta = m.latent("theta", cr.Normal(m.latent("mu", cr.Normal(0, 5)), 2.0), dims="school")
    where = m.data("where", ["A", "B", "B"], dims="pupil", levels="school")
    m.observed("y", cr.Normal(theta[where], 15.0), [1.0, 2.0, 3.0], dims="pupil")
    p = m.predict_prior(draws=20_000, where=["A", "elsewhere"])
    assert p.mean.shape == (2,)
    np.testing.assert_allclose(p.aleatoric, 225.0)
    assert np.all(np.abs(p.epistemic - 29.0) < 4.5 * 29.0 * np.sqrt(2.0 / 20_000))
    flat = cr.Model()
    flat.observed("y", cr.Normal(flat.latent("a", cr.Flat()), 1.0), [1.0])
    with pytest.raises(UnavailableError, match="flat prior"):
        flat.predict_prior()


def test_one_level_of_a_group_is_refused():
    m = cr.Model()
    with pytest.raises(DataError, match="g holds a single level of 'school', 'a'"):
        m.data("g", ["a", "a"], levels="school")
    m.dim("school", ["a", "b"])  # declared: new data may hold the other
    assert m.data("g", ["a", "a"], levels="school").value.tolist() == [0, 0]


def test_nothing_of_it_needs_jax():
    """In a process of its own, which tells every module it loaded."""
    script = (
        "import sys, credo as cr, numpy as np\n"
        "m = cr.Model(); s = m.latent('s', cr.HalfNormal(1)); mu = m.latent('mu', cr.Normal(0, 1))\n"
        "m.observed('y', cr.Normal(mu, s), [1.0, 2.0, 4.0]); m.fit(random_state=0)\n"
        "m.fit('nuts', draws=40, chains=2, warmup=20, random_state=0)\n"
        "g = np.repeat([0, 1, 2], 5); cr.regress('y ~ 1 + (1 | g)', {'y': np.sin(np.arange(15.0)), 'g': g})\n"
        "assert not [m for m in sys.modules if m.partition('.')[0] in ('jax', 'jaxlib')]\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=120)


def test_comparing_tables_does_not_import_models():
    script = "import sys, credo.selection; assert not [m for m in sys.modules if m.startswith('credo.program')]"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
