"""Shapes of `LinearRegression`: sparse rows that are never made dense, missing targets, float32, scales."""

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo as cr
from credo.blocks import ArraySource, GeneratorSource
from credo.errors import DataError, DataWarning, NotIdentifiedError, ParameterError, UnavailableError
from credo.inference.exact.sparse import LARGEST_MOMENTS, SparseRows

KNOWN = cr.noise.Normal(0.3)
EXACT = {
    "default": {},
    "no intercept": {"fit_intercept": False},
    "evidence": {"inference": "evidence"},
    "ridge": {"prior": cr.Normal(0.5, 1.0), "noise": KNOWN},
    "own intercept": {"prior": cr.Normal(0.5, 1.0), "noise": KNOWN, "prior_intercept": cr.Normal(1.0, 2.0)},
    "intercept column": {
        "prior": cr.Normal(0.0, 1.0),
        "noise": cr.noise.Normal(scale_prior=cr.HalfNormal(1.0)),
        "prior_intercept": cr.Normal(1.0, 2.0),
    },
}


def table(n, p, density=0.2, seed=0, **how):
    rng = np.random.default_rng(seed)
    X: Any = scipy.sparse.random_array((n, p), density=density, rng=rng, format="csr", **how)
    y = X @ (rng.standard_normal(p) * (rng.random(p) < 0.3)) + 0.3 * rng.standard_normal(n) + 5.0
    return X, y


@pytest.mark.parametrize("shape", [(60, 10), (30, 80), (120, 90)])
@pytest.mark.parametrize("how", EXACT.values(), ids=EXACT)
def test_sparse_rows_say_what_dense_ones_say(shape, how):
    X, y = table(*shape)
    new, _ = table(7, shape[1], seed=1)
    sparse, dense = cr.LinearRegression(**how).fit(X, y), cr.LinearRegression(**how).fit(X.toarray(), y)
    assert isinstance(sparse.statistics_, SparseRows) == (shape[0] < shape[1])
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9, atol=1e-9)
    assert sparse.intercept_ == pytest.approx(dense.intercept_, abs=1e-9)
    assert sparse.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1e-8)
    theirs = dense.predict_distribution(new.toarray())
    for rows in (new, new.tocsc(), new.toarray()):
        ours = sparse.predict_distribution(rows)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.sd, theirs.sd, rtol=1e-9)
    np.testing.assert_allclose(sparse.predict(new), dense.predict(new.toarray()), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sparse.posterior_.sd, dense.posterior_.sd, rtol=1e-9)
    np.testing.assert_allclose(sparse.posterior_.covariance, dense.posterior_.covariance, atol=1e-9)
    theta = dense.coef_ + 0.1
    assert sparse.posterior_.log_prob(theta) == pytest.approx(dense.posterior_.log_prob(theta), abs=1e-6)


@pytest.mark.parametrize("shape", [(60, 10), (30, 80)])
def test_weights_noise_and_targets(shape):
    X, y = table(*shape)
    rng = np.random.default_rng(3)
    Y = np.column_stack([y, X.sum(axis=1) + rng.standard_normal(len(y))])
    # Repeated rows of a table that can be fitted exactly have no proper posterior: there, each is seen once or not.
    counts = rng.integers(0, 3 if shape[0] > shape[1] else 2, len(y)).astype(float)
    own = cr.noise.Normal(0.1 + np.arange(len(y)) / len(y))
    for fit in (
        lambda X: cr.LinearRegression().fit(X, Y, sample_weight=counts),
        lambda X: cr.LinearRegression(noise=own).fit(X, Y),
    ):
        sparse, dense = fit(X), fit(X.toarray())
        np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(sparse.posterior_.sd, dense.posterior_.sd, rtol=1e-8)
        assert sparse.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1e-7)


@pytest.mark.parametrize("shape", [(90, 10), (30, 80), (90, 40)])
def test_partial_fit_of_sparse_rows_is_one_fit(shape):
    X, y = table(*shape)
    whole = cr.LinearRegression().fit(X, y)
    parts = cr.LinearRegression()
    for rows in np.array_split(np.arange(len(y)), 3):
        parts.partial_fit(X[rows], y[rows])
    assert type(parts.statistics_) is type(whole.statistics_)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(parts.posterior_.sd, whole.posterior_.sd, rtol=1e-9)
    mixed = cr.LinearRegression().partial_fit(X[:20].toarray(), y[:20]).partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(mixed.coef_, whole.coef_, rtol=1e-8, atol=1e-10)


def test_sources_of_sparse_blocks():
    X, y = table(90, 40)
    whole = cr.LinearRegression().fit(X, y)
    for source in (
        ArraySource(X, y, block_rows=7),
        GeneratorSource(lambda: ((X[i : i + 20], y[i : i + 20]) for i in range(0, 90, 20))),
    ):
        np.testing.assert_allclose(cr.LinearRegression().fit(source).coef_, whole.coef_, rtol=1e-9, atol=1e-10)


def test_saved_and_left_out(tmp_path):
    X, y = table(30, 80)
    model = cr.LinearRegression().fit(X, y)
    cr.save(model, tmp_path / "wide.credo")
    again = cr.load(tmp_path / "wide.credo")
    np.testing.assert_array_equal(again.predict_distribution(X).sd, model.predict_distribution(X).sd)
    ridge = {"prior": cr.Normal(0.0, 1.0), "noise": KNOWN}
    sparse, dense = (cr.LinearRegression(**ridge).fit(x, y).leave_one_out(x, y) for x in (X, X.toarray()))
    np.testing.assert_allclose(sparse.pointwise, dense.pointwise, rtol=1e-9)


def test_columns_far_from_zero_and_constant_ones():
    """A column that stores every entry is shifted before products are taken; constants keep their prior."""
    rng = np.random.default_rng(0)
    sparse = table(200, 6)[0]
    far = 1e9 + rng.standard_normal((200, 1))
    X = scipy.sparse.csr_array(scipy.sparse.hstack([sparse, far, np.full((200, 1), 7.0), np.zeros((200, 1))]))
    y = X[:, [6]].toarray().ravel() - 1e9 + 0.1 * rng.standard_normal(200)
    sparse, dense = cr.LinearRegression().fit(X, y), cr.LinearRegression().fit(X.toarray(), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-7, atol=1e-10)
    assert sparse.coef_[6] == pytest.approx(1.0, abs=0.05)
    assert sparse.coef_[7] == sparse.coef_[8] == 0.0
    assert "x7, x8" in sparse.result_.advice[0]


def test_one_hot_columns_are_collinear_under_a_proper_prior():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, 2000)  # one level never occurs
    X = scipy.sparse.csr_array((np.ones(2000), (np.arange(2000), codes)), shape=(2000, 300))
    y = rng.standard_normal(300)[codes] + 0.5 * rng.standard_normal(2000)
    sparse, dense = (cr.LinearRegression().fit(x, y) for x in (X, X.toarray()))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_allclose(sparse.posterior_.sd, dense.posterior_.sd, rtol=1e-6)
    with pytest.raises(NotIdentifiedError, match="rank 298 for 300"):
        cr.LinearRegression(prior=cr.Flat()).fit(X, y)


def test_stored_zeros_duplicates_and_the_callers_matrix():
    X, y = table(40, 6)
    coo = X.tocoo()
    doubled = scipy.sparse.csr_array(X.shape)
    doubled.data = np.repeat(X.data / 2.0, 2)
    doubled.indices = np.repeat(X.indices, 2)
    doubled.indptr = 2 * X.indptr
    kept = doubled.data.copy()
    model = cr.LinearRegression().fit(doubled, y)
    np.testing.assert_allclose(model.coef_, cr.LinearRegression().fit(coo, y).coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(doubled.data, kept)


def test_what_is_not_finite_is_named():
    X, y = table(40, 6)
    row, column = 7, int(X[[7]].indices[0]) if X[[7]].nnz else (0, 0)
    broken = X.copy()
    broken[row, column] = np.nan
    with pytest.raises(DataError, match=rf"NaN in column {column} of X, row {row}"):
        cr.LinearRegression().fit(broken, y)


class TestWide:
    """Tables of more columns than any dense square: memory, modes, and what is refused."""

    def test_no_memory_of_rows_times_columns(self):
        X, y = table(300, 100_000, density=2e-4)
        tracemalloc.start()
        model = cr.LinearRegression().fit(X, y)
        p = model.predict_distribution(X[:50])
        assert np.all(np.isfinite(p.sd))
        assert np.all(np.isfinite(model.posterior_.sd))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.5 * 8 * 300 * 100_000
        assert model.posterior_.sample(2, 0).shape == (2, 100_000)
        with pytest.raises(UnavailableError, match="80 GB"):
            model.posterior_.covariance  # noqa: B018

    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_the_mode_of_many_rows_and_columns(self, fit_intercept, monkeypatch):
        X, y = table(300, 250)
        Y, counts = np.column_stack([y, -y]), np.arange(300) % 3 + 1.0
        how = {"prior": cr.Normal(0.1, 0.5), "noise": KNOWN, "inference": "map", "fit_intercept": fit_intercept}
        dense = cr.LinearRegression(**how).fit(X.toarray(), Y, counts)
        for limit in ("inference.exact.sparse.LARGEST_KERNEL", "inference.exact.summary.LARGEST_MOMENTS"):
            monkeypatch.setattr(f"credo.{limit}", 100)
        monkeypatch.setattr("credo.models.linear.sparse.LARGEST_MOMENTS", 100)
        sparse = cr.LinearRegression(**how).fit(X, Y, counts)
        assert sparse.result_.certificate["error_in_posterior_sds"] < 1e-6
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)
        np.testing.assert_allclose(sparse.intercept_, dense.intercept_, atol=1e-7)
        with pytest.raises(ParameterError, match=r"at most .* rows or columns"):
            cr.LinearRegression(prior=cr.Normal(0.0, 1.0), noise=KNOWN).fit(X, y)

    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_the_lasso(self, fit_intercept):
        X, y = table(60, LARGEST_MOMENTS + 4, density=0.01)
        prior = cr.Laplace(0.0, 0.2)
        how = {"prior": prior, "noise": KNOWN, "inference": "map", "fit_intercept": fit_intercept}
        model = cr.LinearRegression(**how).fit(X, y)
        assert model.result_.certificate["duality_gap"] < 1e-10
        residual = y - X @ model.coef_ - model.intercept_
        slopes = X.T @ residual / 0.3**2  # |∂ log likelihood| ≤ 1/scale, with equality and sign where w ≠ 0
        active = model.coef_ != 0.0
        assert 0 < active.sum() < 100
        assert np.abs(slopes).max() <= 5.0 * (1 + 1e-5)
        np.testing.assert_allclose(slopes[active], 5.0 * np.sign(model.coef_[active]), rtol=1e-5)

    @pytest.mark.parametrize(
        "how",
        [
            {"prior": cr.Horseshoe()},
            {"prior": cr.ARD()},
            {"prior": cr.Uniform(-1, 1)},
            {"prior": cr.Normal(0, 1), "inference": "gibbs"},
            {"noise": cr.noise.StudentT()},
            {"prior": cr.StudentT(4, 0, 1), "noise": KNOWN, "inference": "map"},
        ],
        ids=str,
    )
    def test_the_rest_is_refused_by_name(self, how):
        X, y = table(50, LARGEST_MOMENTS + 4, density=0.01)
        with pytest.raises(ParameterError, match="sparse X"):
            cr.LinearRegression(**how).fit(X, y)

    def test_flat_is_not_identified(self):
        X, y = table(50, LARGEST_MOMENTS + 4, density=0.01)
        with pytest.raises(NotIdentifiedError, match="rank"):
            cr.LinearRegression(prior=cr.Flat()).fit(X, y)

    def test_rows_that_say_nothing(self):
        """One row, or none stored: the posterior is the prior, but for what the outcome says of the level."""
        how = {"prior": cr.Normal(0.0, 2.0), "noise": KNOWN}
        for X in (table(1, 80)[0], scipy.sparse.csr_array((3, 80))):
            model = cr.LinearRegression(**how).fit(X, np.full(X.shape[0], 4.0))
            assert model.intercept_ == pytest.approx(4.0)
            np.testing.assert_array_equal(model.coef_, 0.0)
            np.testing.assert_allclose(model.posterior_.sd, 2.0)
            p = model.predict_distribution(scipy.sparse.csr_array(np.eye(1, 80)))
            away = np.eye(1, 80) - X.toarray().mean(axis=0)
            assert p.epistemic[0] == pytest.approx(0.09 / X.shape[0] + 4.0 * np.square(away).sum())

    @pytest.mark.parametrize("factor", [1e200, np.inf])
    def test_values_beyond_squaring(self, factor):
        X, y = table(30, 80)
        X.data[5] = factor
        with pytest.raises(DataError, match="column"):
            cr.LinearRegression().fit(X, y)

    def test_mixtures_on_few_columns(self):
        X, y = table(20, 30)
        model = cr.LinearRegression(prior=cr.Laplace(0.0, 0.2), noise=KNOWN, inference="map").fit(X, y)
        dense = cr.LinearRegression(prior=cr.Laplace(0.0, 0.2), noise=KNOWN, inference="map").fit(X.toarray(), y)
        np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-9)


class TestMissingTargets:
    @pytest.fixture
    def holed(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((60, 4))
        Y = X @ rng.standard_normal((4, 3)) + rng.standard_normal((60, 3))
        Y[:10, 1] = np.nan
        Y[45:, 2] = np.nan
        return X, Y

    @pytest.mark.parametrize(
        "how",
        [{}, {"prior": cr.Flat()}, {"prior": cr.Normal(0, 1), "noise": KNOWN}, {"inference": "evidence"},
         {"prior": cr.Normal(0, 1), "noise": KNOWN, "inference": "map"}],
        ids=str,
    )  # fmt: skip
    def test_each_target_is_its_own_regression(self, holed, how):
        X, Y = holed
        model = cr.LinearRegression(**how).fit(X, Y)
        p = model.predict_distribution(X[:5])
        assert model.coef_.shape == (3, 4)
        assert model.predict(X).shape == (60, 3)
        assert p.shape == (5, 3)
        for t in range(3):
            rows = ~np.isnan(Y[:, t])
            alone = cr.LinearRegression(**how).fit(X[rows], Y[rows, t])
            q = alone.predict_distribution(X[:5])
            np.testing.assert_array_equal(model.coef_[t], alone.coef_)
            assert model.intercept_[t] == alone.intercept_
            np.testing.assert_array_equal(p.quantile([0.1, 0.9])[..., t], q.quantile([0.1, 0.9]))
            np.testing.assert_array_equal(p.cdf(p.mean)[:, t], q.cdf(q.mean))
            if how.get("inference") != "map":
                np.testing.assert_array_equal(model.posterior_.interval()[0][t], alone.posterior_.interval()[0])
                np.testing.assert_allclose(p.variance, p.aleatoric + p.epistemic)
        assert "10 of target 1, 15 of target 2" in model.result_.advice[0]

    def test_evidence_draws_and_summary(self, holed):
        X, Y = holed
        model = cr.LinearRegression().fit(X, Y)
        rows = [~np.isnan(y) for y in Y.T]
        alone = [cr.LinearRegression().fit(X[r], y[r]) for r, y in zip(rows, Y.T)]
        assert model.log_evidence_ == pytest.approx(sum(each.log_evidence_ for each in alone))
        assert model.posterior_["coef"].shape == (4000, 3, 4)
        assert model.posterior_.covariance.shape == (3, 4, 4)
        np.testing.assert_allclose(model.posterior_.summary()["x1"]["sd"], model.posterior_.sd[:, 1])

    def test_partial_fit(self, holed):
        X, Y = holed
        whole, parts = cr.LinearRegression().fit(X, Y), cr.LinearRegression()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            for rows in np.array_split(np.arange(60), 6):  # the first has no target 1 at all, the last no target 2
                parts.partial_fit(X[rows], Y[rows])
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
        assert parts.result_.advice == whole.result_.advice

    def test_refusals(self, holed):
        X, Y = holed
        Y[:, 1] = np.nan
        with pytest.raises(NotIdentifiedError, match="Target 1 of y is missing in every row"):
            cr.LinearRegression().fit(X, Y)
        with pytest.raises(ValueError, match="NaN"):
            cr.LinearRegression().fit(X, Y[:, 1])


class TestNumbers:
    @pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
    @pytest.mark.parametrize("sparse", [False, True])
    def test_the_default_does_not_see_units(self, scale, sparse):
        X, y = table(60, 5)
        units = scale ** np.array([1.0, -1.0, 0.5, 0.0, 1.0])
        plain = cr.LinearRegression().fit(X, y)
        rows = X.multiply(units).tocsr()
        model = cr.LinearRegression().fit(rows if sparse else rows.toarray(), y * scale)
        np.testing.assert_allclose(model.coef_ * units / scale, plain.coef_, rtol=1e-9, atol=1e-12)
        assert model.noise_scale_ / scale == pytest.approx(plain.noise_scale_, rel=1e-9)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_float32_is_read_with_float64_sums(self, sparse):
        rng = np.random.default_rng(0)
        X = (1000.0 + rng.standard_normal((3000, 3))).astype(np.float32)
        y = (X[:, 0] - 1000.0 + 0.1 * rng.standard_normal(3000)).astype(np.float32)
        single = cr.LinearRegression().fit(scipy.sparse.csr_array(X) if sparse else X, y)
        double = cr.LinearRegression().fit(X.astype(np.float64), y.astype(np.float64))
        np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-9)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_one_row(self, sparse):
        X, y = np.array([[1.0, 0.0, 2.0]]), np.array([3.0])
        X = scipy.sparse.csr_array(X) if sparse else X
        stated = {"noise": cr.noise.Normal(1.0), "fit_intercept": False}
        model = cr.LinearRegression(prior=cr.Normal(0, 1), **stated).fit(X, y)
        np.testing.assert_allclose(model.coef_, [0.5, 0.0, 1.0])
        for how in ({"prior": cr.Flat()}, {"prior": cr.Flat(), **stated}, {}):
            with pytest.raises(NotIdentifiedError):
                cr.LinearRegression(**how).fit(X, y)


# Its tables of copied rows leave σ unidentified, which is warned of: tests/inference/exact/test_propriety.py.
@pytest.mark.filterwarnings("ignore:.*(not identified|fit the rows exactly):credo.errors.DataWarning")
@parametrize_with_checks([cr.LinearRegression()])
def test_scikit_learn(estimator, check):
    check(estimator)
