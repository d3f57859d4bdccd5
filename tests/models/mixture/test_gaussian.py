"""`GaussianMixture`: the likelihood it maximises, its invariances, its precision, its refusals."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import sklearn.mixture
from scipy.sparse import csr_matrix

import credo.saving
from credo.blocks import ArraySource, GeneratorSource
from credo.distributions import Dirichlet, NormalInverseWishart
from credo.errors import ConvergenceWarning, DataError, DataWarning, ParameterError
from credo.models.mixture import GaussianMixture
from tests.models.mixture.samples import TYPES, clusters, log_density, matrices, start

ATTRIBUTES = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "lower_bound_")


def close(a, b, rtol, atol=0.0):
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_follows_scikit_learn_from_one_start(covariance_type):
    X = clusters()
    how = {**start(X, 3, covariance_type), "tol": 1e-6, "max_iter": 500}
    own, theirs = GaussianMixture(3, **how).fit(X), sklearn.mixture.GaussianMixture(3, **how).fit(X)
    assert own.n_iter_ == theirs.n_iter_
    close(own, theirs, 1e-9, 1e-11)
    np.testing.assert_allclose(own.lower_bounds_, theirs.lower_bounds_, rtol=1e-12)
    np.testing.assert_allclose(own.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    assert own.bic(X) == pytest.approx(theirs.bic(X), rel=1e-11)
    assert own.aic(X) == pytest.approx(theirs.aic(X), rel=1e-11)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_density_is_the_mixture_s(covariance_type):
    X = clusters(80)
    model = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    np.testing.assert_allclose(model.score_samples(X), log_density(model, X), rtol=1e-10)
    np.testing.assert_allclose(model.anomaly_score(X), -log_density(model, X), rtol=1e-10)
    assert model.score(X) >= model.lower_bound_


@pytest.mark.parametrize("covariance_type", TYPES)
def test_weights_count_rows(covariance_type):
    X = clusters(120)
    counts = np.random.default_rng(2).integers(0, 4, len(X))
    how = {**start(X, 3, covariance_type), "tol": 0.0, "max_iter": 8}  # more steps would magnify rounding
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighed = GaussianMixture(3, **how).fit(X, sample_weight=counts)
        repeated = GaussianMixture(3, **how).fit(np.repeat(X, counts, axis=0))
    close(weighed, repeated, 1e-10, 1e-12)
    assert weighed.bic(X, counts) == pytest.approx(repeated.bic(np.repeat(X, counts, axis=0)), rel=1e-11)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_partitions_and_threads_change_nothing(covariance_type, monkeypatch):
    X = clusters(500)
    how = {**start(X, 3, covariance_type), "tol": 1e-5, "max_iter": 200}
    whole = GaussianMixture(3, **how).fit(ArraySource(X, block_rows=500))
    parts = []
    for threads in ("1", "2"):
        monkeypatch.setenv("CREDO_NUM_THREADS", threads)
        parts.append(GaussianMixture(3, **how).fit(ArraySource(X, block_rows=37)))
    close(parts[0], whole, 1e-10, 1e-12)
    for name in ATTRIBUTES:
        assert np.asarray(getattr(parts[0], name)).tobytes() == np.asarray(getattr(parts[1], name)).tobytes()


def test_statistics_of_partitions_agree_to_1e_12():
    from credo.blocks import reduce
    from credo.inference.em import merge
    from credo.models.mixture.gaussian import GaussianModel, GaussianParams
    from credo.models.mixture.gaussian_base import coordinates_for, ridge_for
    from credo.models.mixture.overview import overview

    X = clusters(2000)
    for covariance_type in TYPES:
        coordinates = coordinates_for(covariance_type, overview(ArraySource(X), 0))
        model = GaussianModel(covariance_type, coordinates, ridge_for(covariance_type, 0.0, coordinates))
        k, d = 2, X.shape[1]
        spread = {"full": np.stack([np.eye(d)] * k), "tied": np.eye(d)}.get(model.kind, np.ones((k, d)))
        params = GaussianParams.of(model.kind, np.array([0.4, 0.6]), np.linspace(-1, 1, k * d).reshape(k, d), spread)
        one, many = (
            reduce(ArraySource(X, block_rows=rows), lambda b: model.accumulate(b, params), merge) for rows in (2000, 13)
        )
        for name in ("weight", "first", "second", "log_likelihood"):
            a, b = np.asarray(getattr(one, name)), np.asarray(getattr(many, name))
            assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max(), name


def test_streams_without_holding_the_rows():
    X = clusters(4000)
    how = start(X, 3, "full")
    source = GeneratorSource(lambda: (X[i : i + 100] for i in range(0, len(X), 100)))
    close(GaussianMixture(3, **how).fit(source), GaussianMixture(3, **how).fit(X), 1e-9, 1e-11)
    assert GaussianMixture(3, random_state=0).fit(source).converged_


@pytest.mark.parametrize("covariance_type", TYPES)
def test_memory_beyond_the_rows_does_not_grow_with_them(covariance_type):
    peaks = []
    for n in (40_000, 160_000):
        X = np.random.default_rng(0).normal(size=(n, 8))
        model = GaussianMixture(4, covariance_type=covariance_type, random_state=0, max_iter=3, tol=1e9)
        tracemalloc.start()
        model.fit(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000  # bytes; the rows themselves grew by 7.7 million


@pytest.mark.parametrize("covariance_type", TYPES)
def test_far_from_zero_the_variance_is_right(covariance_type):
    rng = np.random.default_rng(0)
    X = 1e8 + rng.standard_normal((1000, 2))
    model = GaussianMixture(1, covariance_type=covariance_type, reg_covar=0.0).fit(X)
    exact = np.cov((X - 1e8).T, bias=True)
    expected = {"full": exact, "tied": exact, "diag": np.diag(exact), "spherical": np.trace(exact) / 2}
    np.testing.assert_allclose(np.squeeze(model.covariances_), expected[covariance_type], rtol=1e-6, atol=1e-7)
    # two such clusters, far apart
    far = np.concatenate([X, X - 2e6])
    model = GaussianMixture(2, covariance_type=covariance_type, reg_covar=0.0, random_state=0).fit(far)
    variances = np.diagonal(matrices(model), axis1=1, axis2=2)
    np.testing.assert_allclose(variances.mean(), np.trace(exact) / 2, rtol=1e-5)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_single_precision_in_and_out_double_inside(covariance_type):
    rng = np.random.default_rng(0)
    X = (100 + np.sqrt(0.1) * rng.standard_normal((1000, 2))).astype(np.float32)
    model = GaussianMixture(1, covariance_type=covariance_type).fit(X)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert getattr(model, name).dtype == np.float32
    variances = np.diagonal(matrices(model), axis1=1, axis2=2).mean()
    assert variances == pytest.approx(X.astype(float).var(axis=0).mean(), rel=1e-4)
    assert model.score_samples(X).dtype == np.float32


def test_the_bound_never_falls_in_1000_random_fits():
    rng = np.random.default_rng(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, DataWarning))
        for i in range(1000):
            n, d = int(rng.integers(3, 30)), int(rng.integers(1, 4))
            X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d) + rng.choice([0.0, 100.0, 1e6])
            X = X[rng.integers(0, max(2, n // 3), n)] if i % 3 == 0 else X
            if i % 5 == 0:
                X[rng.random(X.shape) < 0.2] = np.nan
                X[0] = 1.0
            model = GaussianMixture(
                int(rng.integers(1, min(n, 5))),
                covariance_type=TYPES[i % 4],
                reg_covar=(0.0, 1e-6, 0.1)[i % 7 % 3],
                component_prior="auto" if i % 6 == 1 else None,
                max_iter=15,
                tol=1e-9,
                random_state=i,
            ).fit(X)
            assert np.all(np.isfinite(model.score_samples(X)))


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6])
def test_duplicated_rows_are_a_warning_not_a_crash(covariance_type, reg_covar):
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 5, axis=0)
    with pytest.warns(DataWarning, match="collapsed"):
        model = GaussianMixture(3, covariance_type=covariance_type, reg_covar=reg_covar, random_state=0).fit(X)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert sorted(np.bincount(model.predict(X)).tolist()) == [5, 5, 5]


@pytest.mark.parametrize("covariance_type", TYPES)
def test_reg_covar_too_large_for_the_units_is_said(covariance_type):
    X = clusters(100) * 1e-5
    with pytest.warns(DataWarning, match="reg_covar"):
        GaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(X)


def test_a_prior_keeps_components_from_collapsing():
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 5, axis=0)
    for covariance_type in TYPES:
        model = GaussianMixture(
            3, covariance_type=covariance_type, reg_covar=0.0, component_prior="auto", random_state=0
        ).fit(X)
        # Ψ/(ν + n + d + 2 + k) is the least a covariance can be, with Ψ the rows' covariance over k^(2/d)
        least = np.linalg.eigvalsh(np.cov(X.T, bias=True))[0] / 3 / (4 + len(X) + 2 + 2 + 3)
        assert np.linalg.eigvalsh(matrices(model)).min() > least


def test_map_is_the_mode_of_the_posterior():
    """No step in any parameter raises log p(X | θ) + log p(θ), computed from the families."""
    X = clusters(60, d=2, k=2)
    belief = NormalInverseWishart([4.0, 5.0], 0.5, 6.0, [[3.0, 0.5], [0.5, 2.0]])
    weights = Dirichlet([2.0, 3.0])
    model = GaussianMixture(
        2, reg_covar=0.0, component_prior=belief, weight_prior=weights, tol=1e-13, max_iter=5000, random_state=0
    ).fit(X)

    def objective(pi, mean, covariance):
        model.weights_, model.means_, model.covariances_ = pi, mean, covariance
        prior = sum(belief.log_prob((m, S)) for m, S in zip(mean, covariance, strict=True))
        return log_density(model, X).sum() + prior + weights.log_prob(pi)

    pi, mean, covariance = model.weights_, model.means_, model.covariances_
    best, rng = objective(pi, mean, covariance), np.random.default_rng(0)
    for _ in range(40):
        step, turn = 1e-3, rng.normal(size=(2, 2, 2))
        moved = pi * np.exp(step * rng.normal(size=2))
        other = covariance + step * (turn + turn.swapaxes(1, 2))
        assert objective(moved / moved.sum(), mean + step * rng.normal(size=mean.shape), other) < best


@pytest.mark.parametrize("covariance_type", TYPES)
def test_map_of_every_type_is_stationary(covariance_type):
    """Its own bound, perturbed through the packed parameters, is highest where EM ends."""
    from credo.models.mixture.overview import overview

    X = clusters(80, d=2, k=2)
    estimator = GaussianMixture(
        2, covariance_type=covariance_type, component_prior="auto", weight_prior=2.0, reg_covar=0.0, tol=1e-13,
        max_iter=5000, random_state=0,
    ).fit(X)  # fmt: skip
    source = ArraySource(X)
    seen = overview(source, 0)
    model = estimator._model(seen)
    vector = model.pack(estimator._resume(model, seen))

    def bound(v):
        params = model.unpack(v)
        return model.bound(model.accumulate(next(iter(source)), params), params)

    best, rng = bound(vector), np.random.default_rng(1)
    for _ in range(20):
        step = rng.normal(size=vector.size)
        if covariance_type == "spherical":
            step[-4:] = np.repeat(step[-4:-2], 2)
        assert bound(vector + 1e-3 * step) < best + 1e-9 * abs(best)


def test_squarem_reaches_no_lower_bound_in_fewer_passes():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (600, 2)), rng.normal(1.2, 1, (600, 2))])
    how = {**start(X, 2, "full"), "tol": 1e-9, "max_iter": 20_000}
    plain, fast = (GaussianMixture(2, acceleration=a, **how).fit(X) for a in (None, "squarem"))
    assert fast.lower_bound_ >= plain.lower_bound_ - 1e-7
    assert fast.n_iter_ < plain.n_iter_ / 2


def test_warm_start_goes_on():
    X = clusters()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warm = GaussianMixture(3, **start(X, 3, "full"), max_iter=4, tol=0.0, warm_start=True).fit(X).fit(X)
        long = GaussianMixture(3, **start(X, 3, "full"), max_iter=8, tol=0.0).fit(X)
    close(warm, long, 1e-9, 1e-11)
    other = warm.set_params(n_components=2, means_init=None, weights_init=None, precisions_init=None, max_iter=500)
    assert other.set_params(tol=1e-3).fit(X).means_.shape == (2, 3)


@pytest.mark.parametrize("init_params", ["kmeans", "k-means++", "random", "random_from_data"])
def test_every_start_finds_clusters_far_apart(init_params):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1, (60, 2)) for c in ([0, 0], [12, 0], [0, 12])])
    model = GaussianMixture(3, init_params=init_params, random_state=0, tol=1e-6, max_iter=1000, n_init=5).fit(X)
    assert sorted(np.bincount(model.predict(X)).tolist()) == [60, 60, 60]
    assert model.fit_predict(X).tolist() == model.predict(X).tolist()


def test_no_steps_is_the_start_and_several_starts_keep_the_best():
    X = clusters()
    begun = GaussianMixture(3, **start(X, 3, "full"), max_iter=0).fit(X)
    np.testing.assert_allclose(begun.means_, start(X, 3, "full")["means_init"], rtol=1e-12)
    many = GaussianMixture(3, init_params="random", n_init=5, random_state=0, tol=1e-5, max_iter=1000).fit(X)
    assert len(many.result_.certificate["starts"]) == 5
    assert many.lower_bound_ * len(X) == pytest.approx(max(many.result_.certificate["starts"]))


def test_unfinished_fits_say_so():
    X = clusters()
    with pytest.warns(ConvergenceWarning, match="still rising"):
        model = GaussianMixture(3, **start(X, 3, "full"), max_iter=4, tol=0.0).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 4


def test_partial_fit_follows_a_stream():
    X = clusters(6000)
    whole = GaussianMixture(3, random_state=0, n_init=3).fit(X)
    online = GaussianMixture(3, random_state=0)
    for i in range(0, len(X), 200):
        online.partial_fit(X[i : i + 200])
    assert online.score(X) > whole.score(X) - 0.1  # nats a row, after one pass from one start
    holed = X[:300].copy()
    holed[::3, 1] = np.nan
    assert np.all(np.isfinite(online.partial_fit(holed).means_))


def test_saved_and_loaded(tmp_path):
    X = clusters()
    model = GaussianMixture(3, random_state=0).fit(X)
    credo.saving.save(model, tmp_path / "m.credo")
    again = credo.saving.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.partial_fit(X)


def test_samples_have_the_mixture_s_moments():
    """Means of 40,000 draws within 5 standard errors: a false alarm in a million runs."""
    X = clusters(k=2)
    for covariance_type in TYPES:
        model = GaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(X)
        rows, labels = model.sample(40_000)
        for k in range(2):
            mine = rows[labels == k]
            error = np.abs(mine.mean(axis=0) - model.means_[k]) / np.sqrt(np.diag(matrices(model)[k]) / len(mine))
            assert error.max() < 5.0
            np.testing.assert_allclose(np.cov(mine.T), matrices(model)[k], atol=0.1 * np.abs(matrices(model)[k]).max())


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"n_components": 0}, "n_components must be an integer ≥ 1, got 0"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"reg_covar": -1.0}, "reg_covar"),
        ({"init_params": "zeros"}, "init_params"),
        ({"acceleration": "warp"}, "acceleration"),
        ({"weight_prior": 0.5}, "weight_prior"),
        ({"component_prior": 3}, "component_prior"),
        ({"component_prior": NormalInverseWishart([0.0], 1.0, 3.0, [[1.0]])}, "dimension 3"),
        ({"weights_init": [0.5, 0.6]}, "sum to 1"),
        ({"means_init": np.zeros((2, 2))}, "means_init"),
        ({"precisions_init": -np.stack([np.eye(3)] * 2)}, "positive-definite"),
    ],
)
def test_bad_parameters_are_named(how, match):
    with pytest.raises(ParameterError, match=match):
        GaussianMixture(**{"n_components": 2, **how}).fit(clusters(50))


def test_bad_rows_are_named():
    X = clusters(50)
    with pytest.raises(DataError, match="Expected n_samples >= n_components"):
        GaussianMixture(3).fit(X[:2])
    bad = X.copy()
    bad[7, 0] = np.inf
    with pytest.raises(DataError, match="Row 7 holds an infinite value"):
        GaussianMixture(2).fit(ArraySource(bad))
    with pytest.raises(DataError, match="dense"):
        GaussianMixture(2).fit(ArraySource(csr_matrix(X)))
    with pytest.raises(DataError, match="no cell is observed in x1"):
        GaussianMixture(2).fit(np.where([False, True, False], np.nan, X))
    with pytest.raises(ParameterError, match="n_samples"):
        GaussianMixture(2, random_state=0).fit(X).sample(0)


def test_a_stream_goes_on_after_loading_as_though_it_had_not_been_saved(tmp_path):
    X = clusters(900)
    model = GaussianMixture(3, random_state=0)
    for i in range(0, 600, 200):
        model.partial_fit(X[i : i + 200])
    credo.saving.save(model, tmp_path / "m.credo")
    again = credo.saving.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(again.partial_fit(X[600:]).means_, model.partial_fit(X[600:]).means_)
    assert again.online_.rows == 900


def test_the_ridge_may_differ_by_column():
    X = clusters(200, d=2) * np.array([1.0, 1000.0])
    for covariance_type in TYPES:
        how = {"n_components": 2, "covariance_type": covariance_type, "random_state": 0}
        model = GaussianMixture(**how, reg_covar=(0.5, 100.0)).fit(X)
        free = GaussianMixture(**how, reg_covar=0.0).fit(X)
        if covariance_type != "spherical":
            assert np.all(matrices(model)[:, 0, 0] >= 0.5)
            assert np.all(matrices(model)[:, 1, 1] >= 100.0)
        assert model.score(X) < free.score(X) + 1e-6
    with pytest.raises(ParameterError, match="one a column"):
        GaussianMixture(2, reg_covar=(1.0, 1.0, 1.0)).fit(X)
    with pytest.raises(ParameterError, match="reg_covar"):
        GaussianMixture(2, reg_covar=(1.0, -1.0)).fit(X)
