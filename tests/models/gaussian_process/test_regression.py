"""`GaussianProcessRegressor`: known answers, units, noise, means, targets, weights, copies, growth, files, refusals."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process import kernels as peers
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo as cr
from credo.errors import (
    ConvergenceWarning,
    DataError,
    NotIdentifiedError,
    NumericalError,
    ParameterError,
    UnavailableError,
)
from credo.kernels import RBF, Kernel, Linear, Matern, Periodic, White
from credo.models.gaussian_process import GaussianProcessRegressor
from credo.models.gaussian_process.solvers import Exact


@pytest.mark.filterwarnings("ignore:.*copies that agree exactly:credo.errors.DataWarning")
@parametrize_with_checks(
    [
        GaussianProcessRegressor(random_state=0),
        GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.1, optimizer=None),
        GaussianProcessRegressor(noise=0.5, mean="linear", mean_prior=cr.Normal(0, 10.0), optimizer=None),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def table(n=60, d=3, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * X[:, -1] + noise * rng.normal(size=n), rng


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


# -- known answers ---------------------------------------------------------------------------------------------------


def test_diabetes(diabetes):
    """MATHS §10."""
    model = GaussianProcessRegressor(RBF(np.full(10, 3.0)), noise=np.sqrt(0.5), mean=None, optimizer=None)
    assert model.fit(*diabetes).log_evidence_ == pytest.approx(-500.9462889703573, abs=1e-9)
    assert model.result_.status == "exact"


def test_no_worse_than_scikit_learn(diabetes):
    """The maximum of the same evidence over the same kernel, noise and bounds."""
    X, y = diabetes[0][:200], diabetes[1][:200]
    theirs = Peer(
        peers.ConstantKernel(1.0) * peers.Matern(np.ones(10), nu=2.5) + peers.WhiteKernel(0.1, (1e-8, 100.0))
    ).fit(X, y)
    ours = GaussianProcessRegressor(1.0 * Matern(np.ones(10), nu=2.5), mean=None, learn="evidence").fit(X, y)
    assert ours.log_evidence_ >= theirs.log_marginal_likelihood_value_ - 1e-3
    assert ours.result_.status == "converged"


def test_slopes_seen_and_asked_for():
    """MATHS §10: f(0) = 0, f′(0) = 1."""
    model = GaussianProcessRegressor(RBF(1.0), noise=0, mean=None, optimizer=None)
    model.fit([[0.0]], [0.0], slopes=([[0.0]], 0, [1.0]))
    p = model.predict_distribution([[1.0]])
    assert p.mean.item() == pytest.approx(0.60653065971263, abs=1e-12)
    assert p.variance.item() == pytest.approx(0.26424111765712, abs=1e-12)
    slope = model.predict_slope_distribution([[0.0], [1.0]], 0)
    np.testing.assert_allclose(slope.mean, [1.0, 0.0], atol=1e-12)
    assert slope.sd[0] == pytest.approx(0.0, abs=1e-7)
    assert slope.sd[1] > 0.5


def test_slopes_are_the_slopes_of_the_mean():
    X, y, rng = table()
    model = GaussianProcessRegressor(mean="linear").fit(X, y, slopes=(X[:4], [0, 1, 2, 0], [0.5, 0.0, 0.3, -1.0], 0.2))
    plain = GaussianProcessRegressor(mean="linear").fit(X, y)
    new, step = rng.normal(size=(5, 3)), 1e-5
    for fitted in (model, plain):
        for j in range(3):
            shift = step * np.eye(3)[j]
            expected = (fitted.predict(new + shift) - fitted.predict(new - shift)) / (2 * step)
            np.testing.assert_allclose(fitted.predict_slope_distribution(new, j).mean, expected, atol=1e-7)
    assert model.log_evidence_ != plain.log_evidence_
    with pytest.raises(ParameterError, match="column"):
        plain.predict_slope_distribution(new, 3)
    with pytest.raises(ParameterError, match="slopes"):
        plain.fit(X, y, slopes=(X, 0))
    with pytest.raises(DataError, match="rows"):
        plain.fit(X, y, slopes=(X[:, :2], 0, 1.0))


def test_the_posterior_mean_is_a_network():
    X, y, rng = table()
    model = GaussianProcessRegressor(mean="linear").fit(50 * X, 100 * y + 7)
    new = 50 * rng.normal(size=(6, 3))
    network = model.kernel_(new, model.centres_) @ model.alpha_ + model.intercept_ + new @ model.mean_coef_
    np.testing.assert_allclose(network, model.predict(new), rtol=1e-9)
    np.testing.assert_allclose(model.predict(new), model.predict_distribution(new).mean, rtol=1e-12)


# -- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e150])
def test_units_do_not_matter(scale):
    X, y, rng = table()
    new = rng.normal(size=(5, 3))
    plain = GaussianProcessRegressor().fit(X, y).predict_distribution(new)
    other = GaussianProcessRegressor().fit(X, scale * y).predict_distribution(new)
    np.testing.assert_allclose(other.mean / scale, plain.mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(other.sd / scale, plain.sd, rtol=1e-3)
    stretched = GaussianProcessRegressor().fit(scale * X, y).predict_distribution(scale * new)
    np.testing.assert_allclose(stretched.mean, plain.mean, rtol=1e-4, atol=1e-4)


def test_density_in_the_units_of_the_user():
    X, y, _ = table()
    kernel, mean = 2.0 * RBF(1.0), {"mean": "linear", "optimizer": None}
    small = GaussianProcessRegressor(kernel, noise=0.1, **mean).fit(X, y)
    large = GaussianProcessRegressor(1e4 * kernel, noise=10.0, **mean).fit(X, 100 * y)
    # Four coefficients are flat in the units of y.
    assert large.log_evidence_ == pytest.approx(small.log_evidence_ - (60 - 4) * np.log(100), abs=1e-8)
    learned = GaussianProcessRegressor().fit(X, y)
    again = GaussianProcessRegressor(learned.kernel_, noise=learned.noise_scale_, optimizer=None).fit(X, y)
    assert again.log_evidence_ == pytest.approx(learned.log_evidence_, abs=1e-9)


def test_a_flat_mean_makes_a_level_of_no_account():
    X, y, rng = table()
    kernel = 1.5 * Matern(1.0, nu=1.5)
    low = GaussianProcessRegressor(kernel, noise=0.1, optimizer=None).fit(X, y)
    high = GaussianProcessRegressor(kernel, noise=0.1, optimizer=None).fit(X, y + 1e6)
    new = rng.normal(size=(5, 3))
    np.testing.assert_allclose(high.predict(new) - 1e6, low.predict(new), atol=1e-8)
    assert high.log_evidence_ == pytest.approx(low.log_evidence_, abs=1e-7)


# -- noise -----------------------------------------------------------------------------------------------------------


def test_noise_of_each_row():
    X, y, rng = table()
    sd = rng.uniform(0.05, 0.5, 60)
    model = GaussianProcessRegressor(RBF(1.0), noise=sd, mean=None, optimizer=None).fit(X, y)
    K = RBF(1.0)(X) + np.diag(sd**2)
    new = X[:4] + 0.1
    np.testing.assert_allclose(model.predict(new), RBF(1.0)(new, X) @ np.linalg.solve(K, y), rtol=1e-9)
    assert model.log_evidence_ == pytest.approx(scipy.stats.multivariate_normal(np.zeros(60), K).logpdf(y), abs=1e-8)
    with pytest.raises(ParameterError, match="noise_scale"):
        model.predict_distribution(new)
    p = model.predict_distribution(new, noise_scale=[0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(p.aleatoric, np.square([0.0, 0.1, 0.2, 0.3]))
    np.testing.assert_array_equal(model.noise_scale_, sd)
    record = GaussianProcessRegressor(RBF(1.0), noise=cr.noise.Normal(sd), mean=None, optimizer=None).fit(X, y)
    assert record.log_evidence_ == model.log_evidence_


def test_prior_of_the_noise():
    X, y, _ = table()
    free = GaussianProcessRegressor().fit(X, y)
    held = GaussianProcessRegressor(noise=cr.noise.Normal(scale_prior=cr.LogNormal(np.log(0.5), 0.01))).fit(X, y)
    assert 0.05 < free.noise_scale_ < 0.2
    assert held.noise_scale_ == pytest.approx(0.5, rel=0.05)
    # InverseGamma(a, b) of σ²: the mode in log σ² of an all but certain one is b/a.
    by_variance = GaussianProcessRegressor(
        noise=cr.noise.Normal(variance_prior=cr.InverseGamma(shape=1e5, scale=0.25e5))
    ).fit(X, y)  # fmt: skip
    assert by_variance.noise_scale_ == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize("noise", [cr.noise.LogLinear(), cr.noise.Normal(cr.noise.LogLinear()), 0.5 * RBF(1.0)])
def test_noise_that_varies(noise):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-2, 2, 300))
    sd = 0.3 * np.exp(0.8 * x)
    y = np.sin(3 * x) + sd * rng.normal(size=300)
    model = GaussianProcessRegressor(noise=noise).fit(x[:, None], y)
    even = GaussianProcessRegressor().fit(x[:, None], y)
    # 300 rows tell a log sd within about 0.15 where it is a line, less well where it is any function.
    grid = np.array([-1.0, 0.0, 1.0])
    np.testing.assert_allclose(np.log(model.noise_scale(grid[:, None])), np.log(0.3 * np.exp(0.8 * grid)), atol=0.3)
    assert model.noise_scale_ is None
    assert model.leave_one_out(x[:, None], y).elpd > even.leave_one_out(x[:, None], y).elpd + 30
    shown = model.predict_distribution(grid[:, None])
    np.testing.assert_allclose(shown.aleatoric, np.square(model.noise_scale(grid[:, None])))


def test_without_noise_the_rows_are_met():
    X, y, _ = table(noise=0.0)
    model = GaussianProcessRegressor(noise=0).fit(X, y)
    p = model.predict_distribution(X)
    np.testing.assert_allclose(p.mean, y, atol=1e-6)
    assert p.sd.max() < 1e-3
    assert model.noise_scale_ == 0.0


# -- shapes of data --------------------------------------------------------------------------------------------------


def test_several_targets():
    X, y, rng = table()
    Y = np.column_stack([y, 100 * y + 3, rng.normal(size=60)])
    both = GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.1, optimizer=None).fit(X, Y)
    each = [GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.1, optimizer=None).fit(X, t) for t in Y.T]
    np.testing.assert_allclose(both.predict(X), np.column_stack([m.predict(X) for m in each]), rtol=1e-9, atol=1e-9)
    assert both.log_evidence_ == pytest.approx(sum(m.log_evidence_ for m in each), rel=1e-12)
    loo = [m.leave_one_out(X, t).pointwise for m, t in zip(each, Y.T, strict=True)]
    np.testing.assert_allclose(both.leave_one_out(X, Y).pointwise, np.sum(loo, axis=0), rtol=1e-9)
    # With a default kernel each target has a scale of its own.
    learned = GaussianProcessRegressor().fit(X, Y[:, :2])
    p = learned.predict_distribution(X[:5])
    np.testing.assert_allclose(p.mean[:, 1], 100 * p.mean[:, 0] + 3, rtol=1e-6)
    np.testing.assert_allclose(learned.noise_scale_[1], 100 * learned.noise_scale_[0])


@pytest.mark.filterwarnings("ignore:.*copies that agree exactly:credo.errors.DataWarning")
@pytest.mark.parametrize("mean", [None, "constant", "linear"])
def test_weights_copies_and_rows(mean):
    X, y, rng = table(30)
    weights = rng.integers(0, 4, 30)
    rows = np.repeat(np.arange(30), weights)
    weighted = GaussianProcessRegressor(mean=mean).fit(X, y, sample_weight=weights)
    copied = GaussianProcessRegressor(mean=mean).fit(X[rows], y[rows])
    assert weighted.log_evidence_ == pytest.approx(copied.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-6, atol=1e-7)
    left = weighted.leave_one_out(X, y, sample_weight=weights).pointwise
    i = int(np.flatnonzero(weights == 2)[0])
    rest = np.where(np.arange(30) == i, 0, weights)
    without = GaussianProcessRegressor(weighted.kernel_, noise=weighted.noise_scale_, mean=mean, optimizer=None)
    p = without.fit(X, y, sample_weight=rest).predict_distribution(X[[i]])
    assert left[i] == pytest.approx(p.log_prob(y[i]).item(), abs=1e-8)


def test_white_noise_in_the_kernel_is_not_shared_by_copies():
    X, y, _rng = table(20)
    X, y = np.concatenate([X, X]), np.concatenate([y, y + 0.1])
    white = GaussianProcessRegressor(1.0 * RBF(1.0) + White(0.04), noise=0, optimizer=None).fit(X, y)
    plain = GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.2, optimizer=None).fit(X, y)
    assert white.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(white.predict(X), plain.predict(X), atol=1e-9)


@pytest.mark.parametrize("mean", [None, "constant", "linear"])
@pytest.mark.parametrize("noise", [0.1, "rows"])
def test_update_is_refit(mean, noise):
    X, y, rng = table(50)
    sd = rng.uniform(0.05, 0.3, 50) if noise == "rows" else noise
    whole = GaussianProcessRegressor(1.2 * Matern(1.0, nu=2.5), noise=sd, mean=mean, optimizer=None).fit(X, y)
    first = sd[:30] if noise == "rows" else sd
    grown = GaussianProcessRegressor(1.2 * Matern(1.0, nu=2.5), noise=first, mean=mean, optimizer=None)
    grown.partial_fit(X[:30], y[:30])
    for rows in (slice(30, 31), slice(31, 50)):
        grown.partial_fit(X[rows], y[rows], noise=sd[rows] if noise == "rows" else None)
    new = rng.normal(size=(8, 3))
    p, q = (m.predict_distribution(new, noise_scale=0) for m in (grown, whole))
    np.testing.assert_allclose(p.mean, q.mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(p.sd, q.sd, rtol=1e-9)
    if mean != "linear":  # whose flat slopes are in units of the first rows' columns
        assert grown.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)
    assert grown.evidence_.outcomes.agrees(whole.evidence_.outcomes)
    np.testing.assert_allclose(grown.leave_one_out(X, y).pointwise, whole.leave_one_out(X, y).pointwise, atol=1e-8)


def test_update_refuses_what_does_not_fit():
    X, y, _ = table(20)
    model = GaussianProcessRegressor(noise=np.full(20, 0.1)).fit(X, y)
    with pytest.raises(ParameterError, match="noise"):
        model.update(X[:2], y[:2])
    with pytest.raises(ParameterError, match="targets"):
        model.update(X[:2], np.ones((2, 2)), noise=0.1)


# -- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learn", ["evidence", "loo", "kfold"])
def test_each_score_is_highest_where_it_was_sought(learn):
    X, y, _ = table(40)
    scores = {}
    for how in ("evidence", "loo"):
        model = GaussianProcessRegressor(1.0 * RBF(1.0), mean=None, learn=how, random_state=0).fit(X, y)
        scores[how] = (model.log_evidence_, model.leave_one_out(X, y).elpd)
    assert scores["evidence"][0] >= scores["loo"][0] - 1e-3
    assert scores["loo"][1] >= scores["evidence"][1] - 1e-3
    model = GaussianProcessRegressor(1.0 * RBF(1.0), learn=learn, random_state=0).fit(X, y)
    assert model.result_.inference == learn
    assert model.result_.ok


def test_priors_count_under_map_alone():
    X, y, _ = table(40)
    prior = cr.LogNormal(np.log(5.0), 0.01)
    kernel = 1.0 * RBF(1.0, priors={"lengthscale": prior})
    held = GaussianProcessRegressor(kernel).fit(X, y)
    free = GaussianProcessRegressor(kernel, learn="evidence").fit(X, y)
    assert held.kernel_.kernel.lengthscale == pytest.approx(5.0, rel=0.05)
    assert free.kernel_.kernel.lengthscale < 2.0
    assert free.log_evidence_ > held.log_evidence_


def test_fixed_hyperparameters_stay():
    X, y, _ = table(30)
    model = GaussianProcessRegressor(2.0 * RBF(0.7, fixed="lengthscale")).fit(X, y)
    assert model.kernel_.kernel.lengthscale == 0.7
    assert model.kernel_.variance != 2.0


def test_composed_kernels_learn_a_season():
    rng = np.random.default_rng(0)
    x = np.arange(120) / 12.0
    y = 0.5 * x + np.sin(2 * np.pi * x) + 0.1 * rng.normal(size=120)
    kernel = 1.0 * Periodic(1.0, period=1.0, fixed="period") + 1.0 * Linear(1.0, fixed="lengthscale")
    model = GaussianProcessRegressor(kernel).fit(x[:100, None], y[:100])
    p = model.predict_distribution(x[100:, None])
    assert np.sqrt(np.mean(np.square(p.mean - y[100:]))) < 0.2
    assert 0.07 < model.noise_scale_ < 0.13


# -- reading ---------------------------------------------------------------------------------------------------------


def test_joint_prediction():
    X, y, rng = table()
    model = GaussianProcessRegressor().fit(X, y)
    new = rng.normal(size=(6, 3))
    joint, rows = model.predict_joint(new), model.predict_distribution(new)
    np.testing.assert_allclose(joint.mean, rows.mean)
    np.testing.assert_allclose(np.diag(joint.covariance), rows.variance, rtol=1e-9)
    quiet = model.predict_joint(new, noise_scale=0)
    np.testing.assert_allclose(joint.covariance - quiet.covariance, np.diag(rows.aleatoric), atol=1e-12)
    # The chain rule: what is seen at one row moves the other as a refit would.
    both = GaussianProcessRegressor(model.kernel_, noise=model.noise_scale_, optimizer=None)
    both.fit(np.concatenate([X, new[:1]]), np.append(y, 0.7))
    conditional = joint.condition(0, [0.7])
    np.testing.assert_allclose(conditional.mean, both.predict(new[1:]), rtol=1e-8)


def test_evidence_compares_models():
    X, y, _ = table()
    models = {
        "smooth": GaussianProcessRegressor(1.0 * RBF(1.0)).fit(X, y),
        "line": GaussianProcessRegressor(1.0 * Linear(1.0, fixed="lengthscale")).fit(X, y),
    }
    assert models["smooth"].evidence_.obstacle(models["line"].evidence_) is None
    weighed = cr.average(models)
    assert weighed.weights_["smooth"] > 0.99
    assert len(weighed.predict_distribution(X)) == 60


def test_sensitivity_to_hyperparameters():
    X, y, rng = table(40)
    model = GaussianProcessRegressor(1.0 * RBF(1.0)).fit(X, y)
    new = rng.normal(size=(3, 3))
    found = model.sensitivity(new)
    assert found.names == ("variance", "kernel.lengthscale", "noise")
    assert found.mean.shape == (3, 3)
    longer = model.kernel_.with_theta(model.kernel_.theta + np.array([0.0, 1e-3]))
    moved = GaussianProcessRegressor(longer, noise=model.noise_scale_, optimizer=None).fit(X, y)
    np.testing.assert_allclose((moved.predict(new) - model.predict(new)) / 1e-3, found.mean[1], rtol=0.02, atol=1e-4)


@pytest.mark.parametrize("noise", [cr.noise.StudentT(df=4), cr.noise.StudentT(), cr.noise.Laplace()])
def test_outliers(noise, tmp_path):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 6, 60)[:, None]
    truth = 100 * np.sin(x[:, 0]) + 1000
    y = truth + 10 * rng.normal(size=60)
    y[[5, 20, 33]] += (800, -700, 500)
    model, plain = (GaussianProcessRegressor(noise=n, random_state=0).fit(x, y) for n in (noise, None))
    assert np.abs(model.predict(x) - truth).max() < 20 < np.abs(plain.predict(x) - truth).max()
    assert model.leave_one_out(x, y).elpd > plain.leave_one_out(x, y).elpd + 30
    low, high = model.predict_distribution(x).interval(0.5)
    assert np.mean((low < y) & (y < high)) > 0.4  # more under Laplace noise, whose one scale the far rows widen
    assert model.evidence_.obstacle(GaussianProcessRegressor(mean=None).fit(x, y).evidence_) is None
    cr.save(model, tmp_path / "model.credo")
    np.testing.assert_allclose(cr.load(tmp_path / "model.credo").predict(x), model.predict(x))
    with pytest.raises(UnavailableError, match="Normal noise"):
        model.predict_joint(x)
    with pytest.raises(ParameterError, match="learn"):
        GaussianProcessRegressor(noise=noise, learn="loo").fit(x, y)


def test_saved_pickled_cloned(tmp_path):
    X, y, _ = table()
    model = GaussianProcessRegressor(noise=0.5 * RBF(1.0), mean="linear").fit(X, y, slopes=(X[:2], 0, 0.1, 0.5))
    cr.save(model, tmp_path / "model.credo")
    for other in (cr.load(tmp_path / "model.credo"), pickle.loads(pickle.dumps(model))):
        for a, b in zip(
            other.predict_distribution(X).interval(), model.predict_distribution(X).interval(), strict=True
        ):
            np.testing.assert_array_equal(a, b)
        assert other.log_evidence_ == model.log_evidence_
        assert other.kernel_ == model.kernel_
    twin = clone(model)
    assert not hasattr(twin, "kernel_")
    assert twin.get_params().keys() == model.get_params().keys()


def test_result_says_what_happened():
    X, y, _ = table(30)
    result = GaussianProcessRegressor(n_restarts_optimizer=2, random_state=0).fit(X, y).result_
    assert result.status == "converged"
    assert result.n_iter > 3
    assert len(result.seconds) == result.n_iter
    assert result.certificate["starts"] == 3
    assert result.certificate["solver"] == "exact"
    assert result.certificate["jitter"] == 0.0
    assert "30 rows" in result.certificate["solver_reason"]
    flat = GaussianProcessRegressor(RBF(1e7), noise=0, optimizer=None).fit(X, np.ones(30))
    assert flat.result_.certificate["jitter"] > 0
    assert "jitter" in flat.result_.message


def test_the_search_starts_alike():
    X, y, _ = table(30)
    a, b = (GaussianProcessRegressor(n_restarts_optimizer=2, random_state=3).fit(X, y) for _ in range(2))
    assert a.log_evidence_ == b.log_evidence_


# -- awkward input ---------------------------------------------------------------------------------------------------


def test_one_row():
    with pytest.raises(NotIdentifiedError, match="n_samples=1"):
        GaussianProcessRegressor().fit([[0.0]], [1.0])
    for noise in (0, 0.1):
        assert GaussianProcessRegressor(noise=noise).fit([[0.0]], [1.0]).predict([[0.0]]).item() == pytest.approx(1.0)


@pytest.mark.parametrize("kernel", [RBF(1e-5), RBF(1e8), Matern(1e-5, nu=0.5), Matern(1e8, nu=2.5)])
@pytest.mark.parametrize("noise", [0, 0.1])
def test_lengthscales_at_either_end(kernel: Kernel, noise):
    X, y, _ = table(30)
    model = GaussianProcessRegressor(kernel, noise=noise, optimizer=None)
    # all but a constant, and no noise: such a kernel cannot meet the rows, and that is told
    constant = noise == 0 and kernel.lengthscale == 1e8
    with pytest.warns(ConvergenceWarning, match="missed by up to") if constant else nullcontext():
        p = model.fit(X, y).predict_distribution(X + 0.01)
    assert np.all(np.isfinite(p.mean))
    assert np.all(np.isfinite(p.sd))


def test_a_constant_column_and_a_constant_target():
    X, y, _ = table(30)
    wide = np.column_stack([X, np.ones(30)])
    plain = GaussianProcessRegressor().fit(X, y)
    model = GaussianProcessRegressor().fit(wide, y)
    np.testing.assert_allclose(model.predict(wide), plain.predict(X), atol=0.02)
    with pytest.raises(NotIdentifiedError, match=r"constant columns \[3\]"):
        GaussianProcessRegressor(mean="linear").fit(wide, y)
    level = GaussianProcessRegressor().fit(X, np.full(30, 3.0))
    np.testing.assert_allclose(level.predict(X), 3.0, atol=1e-9)
    assert "At the bound: noise" in level.result_.message


def test_refusals():
    X, y, _ = table(20)
    for arguments, match in (
        ({"noise": -1.0}, "noise"),
        ({"noise": np.ones(3)}, "noise"),
        ({"kernel": "rbf"}, "kernel"),
        ({"mean": "cubic"}, "mean"),
        ({"mean_prior": cr.Gamma(shape=1, rate=1)}, "mean_prior"),
        ({"optimizer": "adam"}, "optimizer"),
        ({"optimizer": None}, "noise"),
        ({"learn": "guess"}, "learn"),
        ({"inference": "vb"}, "inference"),
        ({"n_restarts_optimizer": -1}, "n_restarts_optimizer"),
        ({"solver": "fast"}, "solver"),
    ):
        with pytest.raises(ParameterError, match=match):
            GaussianProcessRegressor(**arguments).fit(X, y)
    with pytest.raises(DataError, match="rows that coincide"):
        GaussianProcessRegressor(noise=0).fit(np.ones((2, 1)), [0.0, 1.0])
    many = np.zeros((300_000, 1))
    with pytest.raises(NumericalError, match="solver"):
        GaussianProcessRegressor(solver=Exact(), noise=0.1).fit(many + np.arange(300_000)[:, None], many[:, 0])
    with pytest.raises(UnavailableError, match="one joint"):
        GaussianProcessRegressor().fit(X, np.column_stack([y, y])).predict_joint(X)
