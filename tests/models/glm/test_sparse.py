"""Generalised linear models of sparse rows: the dense answers, by blocks, through the rows' span, and at the mode."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import credo as cr
from credo.blocks import ArraySource
from credo.errors import DataError, ParameterError, UnavailableError
from credo.models.glm.sparse import NARROW, ReducedPosterior

NORMAL = cr.Normal(0.0, 1.0)


def table(n, p, kind, seed=0):
    rng = np.random.default_rng(seed)
    X: Any = scipy.sparse.random_array((n, p), density=0.2, rng=rng, format="csr")
    eta = X @ rng.standard_normal(p) / np.sqrt(0.06 * p)
    if kind is cr.LogisticRegression:
        return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
    if kind is cr.OrdinalRegression:
        return X, np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0])
    if kind is cr.GammaRegression:
        return X, rng.gamma(3.0, np.exp(eta) / 3.0) + 1e-3
    return X, rng.poisson(np.exp(1.0 + 0.5 * eta)).astype(float)


EVERY = [cr.LogisticRegression, cr.PoissonRegression, cr.NegativeBinomialRegression, cr.GammaRegression,
         cr.OrdinalRegression]  # fmt: skip


def means(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("kind", EVERY)
def test_few_columns_are_the_dense_model(kind):
    X, y = table(300, 4, kind)
    sparse, dense = kind(prior=NORMAL).fit(X, y), kind(prior=NORMAL).fit(X.toarray(), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(means(sparse, X), means(dense, X.toarray()), rtol=1e-9)
    source = kind(prior=NORMAL).fit(ArraySource(X, y, block_rows=70))
    np.testing.assert_allclose(source.coef_, dense.coef_, rtol=1e-6)
    assert source.n_features_in_ == 4


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind is not cr.GammaRegression])  # saturated
@pytest.mark.parametrize("weighted", [False, True])
def test_the_span_of_the_rows_has_the_same_mode(kind, weighted, monkeypatch):
    monkeypatch.setattr("credo.models.glm.sparse.NARROW", 25)
    X, y = table(24, 40, kind)
    counts = np.arange(24) % 3 + 1.0 if weighted else None
    how = {"prior": cr.Normal(0.0, 0.5), "inference": "map"}
    sparse, dense = kind(**how).fit(X, y, counts), kind(**how).fit(X.toarray(), y, counts)
    assert isinstance(sparse.posterior_, ReducedPosterior)
    np.testing.assert_allclose(sparse.mode_, dense.mode_, rtol=1e-7, atol=1e-9)
    new, _ = table(9, 40, kind, seed=1)
    for rows in (new, new.toarray()):
        np.testing.assert_allclose(means(sparse, rows), means(dense, new.toarray()), rtol=1e-7)


@pytest.mark.parametrize("kind", [cr.LogisticRegression, cr.PoissonRegression])
@pytest.mark.parametrize(
    "how",
    [{"prior": cr.Normal(0.0, 0.5)}, {"prior": cr.Normal(0.0, 0.5), "prior_intercept": NORMAL},
     {"prior": cr.Normal(0.0, 0.5), "fit_intercept": False}],
    ids=str,
)  # fmt: skip
def test_the_span_of_the_rows_has_the_same_posterior(kind, how, monkeypatch):
    monkeypatch.setattr("credo.models.glm.sparse.NARROW", 13)
    X, y = table(12, 16, kind)
    sparse, dense = kind(**how).fit(X, y), kind(**how).fit(X.toarray(), y)
    assert sparse.result_.ok
    assert dense.result_.ok
    sd = dense.posterior_.sd
    # Two lattices of importance points, each with more than 2,000 effective ones: 2 % of an sd is one standard error.
    assert np.abs(sparse.coef_ - dense.coef_).max() < 0.1 * sd.max()
    np.testing.assert_allclose(sparse.posterior_.sd, sd, rtol=0.1)
    assert sparse.log_evidence_ == pytest.approx(dense.log_evidence_, abs=0.1)
    for side in (0, 1):
        ends = sparse.posterior_.interval(0.8)[side] - dense.posterior_.interval(0.8)[side]
        assert np.abs(ends).max() < 0.2 * sd.max()
    new, _ = table(9, 16, kind, seed=1)
    np.testing.assert_allclose(means(sparse, new), means(dense, new.toarray()), rtol=0.1)
    draws = sparse.posterior_["coef"].reshape(4000, -1)
    np.testing.assert_allclose(np.cov(draws.T).diagonal(), np.square(sd).ravel(), rtol=0.2)


@pytest.mark.parametrize("kind", EVERY[:-1])
@pytest.mark.parametrize(
    "how",
    [{"prior": cr.Normal(0.1, 1.0)}, {"prior": NORMAL, "prior_intercept": cr.Normal(0.0, 2.0)},
     {"prior": NORMAL, "fit_intercept": False}],
    ids=str,
)  # fmt: skip
def test_the_mode_of_many_rows_and_columns(kind, how, monkeypatch):
    X, y = table(200, 30, kind)
    dense = kind(**how, inference="map").fit(X.toarray(), y)
    monkeypatch.setattr("credo.models.glm.sparse.NARROW", 14)
    sparse = kind(**how, inference="map").fit(X, y)
    assert sparse.result_.certificate["error_in_posterior_sds"] < 1e-4
    np.testing.assert_allclose(sparse.mode_, dense.mode_, atol=1e-6)
    np.testing.assert_allclose(means(sparse, X), means(dense, X.toarray()), rtol=1e-5)


def test_several_classes(monkeypatch):
    X, y = table(200, 30, cr.OrdinalRegression)
    how = {"prior": NORMAL, "inference": "map"}
    dense = cr.LogisticRegression(**how).fit(X.toarray(), np.array(["a", "b", "c"])[y])
    monkeypatch.setattr("credo.models.glm.sparse.NARROW", 14)
    sparse = cr.LogisticRegression(**how).fit(X, np.array(["a", "b", "c"])[y])
    assert sparse.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)


def test_no_memory_of_rows_times_columns_and_what_is_not_kept(tmp_path):
    X, y = table(60, 20_000, cr.LogisticRegression)
    X = X.multiply(scipy.sparse.random_array(X.shape, density=0.01, rng=0) != 0).tocsr()
    tracemalloc.start()
    model = cr.LogisticRegression(prior=cr.Normal(0.0, 0.05), inference="laplace").fit(X, y)
    model.predict_proba(X)
    model.posterior_.sd  # noqa: B018
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20 + 0.5 * 8 * X.shape[0] * X.shape[1]  # 64 MiB: points, chunks and the kernel's vectors
    for name in ("covariance", "summary"):
        with pytest.raises(UnavailableError):
            getattr(model.posterior_, name)()
    cr.save(model, tmp_path / "wide.credo")
    np.testing.assert_array_equal(cr.load(tmp_path / "wide.credo").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({}, "a posterior needs at most"),
        ({"inference": "map"}, "with its sd stated"),
        ({"prior": cr.Horseshoe(), "inference": "map"}, "None or a Normal"),
        ({"prior": cr.Flat(), "inference": "map"}, "None or a Normal"),
        ({"inference": "exact"}, "inference must be one of"),
    ],
    ids=str,
)
def test_refused_by_name(how, match):
    X = scipy.sparse.random_array((NARROW + 1, NARROW + 2), density=0.001, rng=0, format="csr")
    y = np.arange(NARROW + 1) % 2
    with pytest.raises(ParameterError, match=match):
        cr.LogisticRegression(**how).fit(X, y)


def test_bad_cells_are_named(monkeypatch):
    X, y = table(30, 5, cr.LogisticRegression)
    X.data[3] = np.inf
    with pytest.raises(DataError, match=f"infinity in column {X.indices[3]}"):
        cr.LogisticRegression().fit(ArraySource(X, y))
    with pytest.raises(ValueError, match="infinity"):
        cr.LogisticRegression().fit(X, y)
