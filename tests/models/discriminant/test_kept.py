"""The rows QDA keeps to judge its prior: the same in any batches, so that `partial_fit` answers as `fit`."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

import credo as cr
from credo.blocks.source import Block
from credo.models.discriminant import kept
from credo.models.discriminant.kept import KeptRows
from credo.models.generative.rows import Rows


def heavy(n, rng, d=4, df=2.0):
    """Two classes of one covariance, Student-t."""
    y = np.arange(n) % 2
    scale = np.sqrt(df / rng.chisquare(df, n))
    return rng.normal(size=(n, d)) * scale[:, None] + 1.5 * y[:, None], y


@pytest.mark.parametrize("n", [30, 2048, 5000])
def test_batches_leave_the_sample_of_all_rows(n):
    rng = np.random.default_rng(n)
    X, y, w = rng.normal(size=(n, 2)), rng.integers(-1, 3, n), rng.integers(0, 3, n).astype(float)
    X[rng.random((n, 2)) < 0.02] = np.nan
    once = KeptRows.none(2).with_rows(Block(X, y, w))
    pieces = KeptRows.none(2)
    for rows in np.split(np.arange(n), np.sort(rng.integers(0, n, 7))):
        pieces = pieces.with_rows(Block(X[rows], y[rows], w[rows]))
    for name in ("priority", "X", "codes", "weights", "seen"):
        np.testing.assert_array_equal(getattr(once, name), getattr(pieces, name))
    # by brute force: numbers go to the rows that weigh, and the least hashes of those with all they need are kept
    present = np.flatnonzero(w > 0)
    number = dict(zip(present.tolist(), kept._hash(np.arange(present.size, dtype=np.uint64)).tolist()))
    useful = [i for i in present.tolist() if y[i] >= 0 and not np.isnan(X[i]).any()]
    first = sorted(useful, key=number.__getitem__)[:2048]
    np.testing.assert_array_equal(once.X, X[first])
    assert once.seen == present.size


def test_priorities_are_uniform_and_distinct():
    """χ² of 64 bins with 63 degrees of freedom against its 1 − 1e-4 quantile, the false-alarm rate."""
    priority = kept._hash(np.arange(64_000, dtype=np.uint64))
    assert len(np.unique(priority)) == priority.size
    counts = np.bincount((priority >> np.uint64(58)).astype(int), minlength=64)
    assert np.sum((counts - 1000.0) ** 2 / 1000.0) < 113.0


@pytest.mark.parametrize("prior", [None, "auto"])
@pytest.mark.parametrize("n", [300, 3000])
def test_partial_fit_is_fit(prior, n):
    """Of heavy tails, where the rows left out decide, in batches of which one lacks a class."""
    X, y = heavy(n, np.random.default_rng(n))
    order = np.argsort(y[: n // 3], kind="stable")
    X[: n // 3], y[: n // 3] = X[order], y[order]
    whole = cr.QuadraticDiscriminantAnalysis(prior=prior).fit(X, y)
    pieces = cr.QuadraticDiscriminantAnalysis(prior=prior)
    for i, rows in enumerate(np.array_split(np.arange(n), 7)):
        expected = pytest.warns(cr.errors.DataWarning, match="so far") if prior is None and i == 0 else nullcontext()
        with expected:
            pieces.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert whole.parts_[0].family.rows == pieces.parts_[0].family.rows > 60.0
    for ask in ("predict_proba", "predict_joint_log_proba"):
        np.testing.assert_allclose(getattr(pieces, ask)(X), getattr(whole, ask)(X), rtol=1e-9, atol=1e-12)
    p, q = pieces.predict_distribution(X[:50]), whole.predict_distribution(X[:50])
    np.testing.assert_allclose(p.probabilities, q.probabilities, rtol=1e-9)


def test_a_source_of_blocks_and_saving_keep_the_rows(tmp_path):
    X, y = heavy(200, np.random.default_rng(5))
    whole = cr.QuadraticDiscriminantAnalysis(prior="auto").fit(X, y)
    part = cr.QuadraticDiscriminantAnalysis(prior="auto").partial_fit(X[:90], y[:90], classes=[0, 1])
    cr.save(part, tmp_path / "part.credo")
    part = cr.load(tmp_path / "part.credo").partial_fit(X[90:], y[90:])
    np.testing.assert_allclose(part.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_all_rows_or_the_kept_ones_judge_alike_where_all_are_kept():
    X, y = heavy(250, np.random.default_rng(6))
    model = cr.QuadraticDiscriminantAnalysis(prior="auto").fit(X, y)
    family = replace(model.parts_[0].family, rows=None)
    every = model._judged(family, model.statistics_, Rows(X, y, None, 2))
    assert model.parts_[0].family.rows == every.rows


def test_units_of_the_columns_do_not_matter():
    """Nor to the plain fit, whose rank is judged on columns of sd 1."""
    X, y = heavy(120, np.random.default_rng(7), d=3)
    for prior in (None, "auto"):
        model = cr.QuadraticDiscriminantAnalysis(prior=prior).fit(X, y)
        for scale in (np.full(3, 1e-8), np.array([1e-6, 1.0, 1e9])):
            other = cr.QuadraticDiscriminantAnalysis(prior=prior).fit(X * scale, y)
            np.testing.assert_allclose(other.predict_proba(X * scale), model.predict_proba(X), rtol=1e-6)
    copy = np.column_stack([X, X[:, 0] * 1e3])
    with pytest.warns(cr.errors.DataWarning, match="not of full rank"):
        cr.QuadraticDiscriminantAnalysis().fit(copy, y)
    flat = np.column_stack([X, np.where(y == 0, 0.1, X[:, 0])])
    with pytest.warns(cr.errors.DataWarning, match="class 0 is not of full rank"):
        cr.QuadraticDiscriminantAnalysis().fit(flat, y)


def test_rows_may_come_one_by_one():
    """Until there are enough, with the default prior and a warning; then as all at once."""
    X, y = heavy(12, np.random.default_rng(8), d=2)
    for make in (cr.LinearDiscriminantAnalysis, cr.QuadraticDiscriminantAnalysis):
        model = make()
        with pytest.warns(cr.errors.DataWarning, match="so far"):
            model.partial_fit(X[:2], y[:2], classes=[0, 1])
        for i in range(2, 12):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cr.errors.DataWarning)
                model.partial_fit(X[i : i + 1], y[i : i + 1])
            assert np.all(np.isfinite(model.predict_distribution(X).probabilities))
        whole = make().fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_what_missing_labels_cannot_go_with_is_named():
    from sklearn.covariance import OAS

    X, y = heavy(40, np.random.default_rng(9))
    y = np.where(np.arange(40) % 3 == 0, np.nan, y)
    make = cr.QuadraticDiscriminantAnalysis
    for model in (make(reg_param=0.1), make(solver="eigen", shrinkage="auto"),
                  make(solver="eigen", covariance_estimator=OAS())):  # fmt: skip
        with pytest.raises(cr.errors.UnavailableError, match="prior='auto' in place of shrinkage"):
            model.fit(X, y)
