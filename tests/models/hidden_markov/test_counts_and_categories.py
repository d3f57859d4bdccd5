"""`PoissonHMM` and `CategoricalHMM`: likelihood by enumeration, rise, recovery, missing cells, forecasts, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

import credo as cr
import credo.saving
from credo.distributions import Gamma
from credo.errors import DataError, DataWarning, ParameterError, UnavailableError
from credo.models.hidden_markov import CategoricalHMM, PoissonHMM
from tests.models.hidden_markov.samples import THETA, P, categories, counts, log_densities, log_likelihood, matched

HOW = {"random_state": 0, "tol": 1e-6, "max_iter": 1000}


# -- counts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [False, True])
def test_poisson_likelihood_by_enumeration_and_rise(missing):
    X, _ = counts(200)
    if missing:
        X = np.where(np.random.default_rng(1).random(X.shape) < 0.25, np.nan, X)
        X[2] = np.nan
    model = PoissonHMM(3, **HOW).fit(X)
    ll = log_densities(model, X[:7])
    assert model.score(X[:7]) == pytest.approx(log_likelihood(model, ll), rel=1e-10)
    assert np.all(np.diff(model.lower_bounds_) > -1e-9)
    gamma = PoissonHMM(3, rate_prior=Gamma(shape=2.0, rate=1.0), **HOW).fit(X)
    assert np.all(np.diff(gamma.lower_bounds_) > -1e-9)
    assert np.all(gamma.rates_ < model.rates_.max())


def test_poisson_bound_is_the_likelihood():
    X, _ = counts(100)
    flat = PoissonHMM(3, startprob_prior=1.0, transmat_prior=1.0, tol=1e-12, max_iter=3000, random_state=0).fit(X)
    assert flat.lower_bound_ * len(X) == pytest.approx(flat.score(X), abs=1e-6)


def test_poisson_recovery():
    """4,000 rows: rates and transitions within 5 standard errors."""
    X, z = counts(4000, seed=3)
    model = PoissonHMM(3, **HOW).fit(X)
    truth = np.array([X[z == k].mean(axis=0) for k in range(3)])
    order = matched(model.rates_, truth)
    assert np.all(np.abs(model.rates_[order] - truth) < 5 * np.sqrt(truth / 600))
    assert np.all(np.abs(model.transmat_[np.ix_(order, order)] - P) < 5 * np.sqrt(P * (1 - P) / 600))
    assert np.mean(np.argsort(order)[model.predict(X)] == z) > 0.97
    assert model._n_parameters() == 2 + 6 + 6


def test_poisson_forecast_is_the_mixture():
    X, _ = counts(300)
    model = PoissonHMM(3, **HOW).fit(X)
    ahead = model.forecast(3)
    p = ahead.observation
    assert p.kind == "count"
    assert p.shape == (3, 2)
    k = np.arange(60)
    for j in range(2):
        mass = ahead.states @ stats.poisson(model.rates_[:, j, None]).pmf(k)
        np.testing.assert_allclose(p.mean[:, j], mass @ k, rtol=1e-10)
        np.testing.assert_allclose(np.exp(p.log_prob(4.0))[:, j], mass[:, 4], rtol=1e-10)
        np.testing.assert_allclose(p.variance[:, j], mass @ k**2 - (mass @ k) ** 2, rtol=1e-8)
        np.testing.assert_allclose(p.cdf(3.0)[:, j], mass[:, :4].sum(axis=1), rtol=1e-10)
        below = mass.cumsum(axis=1)
        np.testing.assert_array_equal(p.quantile(0.9)[:, j], (below < 0.9).sum(axis=1))
        low, high = p[1:].interval(0.8)
        np.testing.assert_array_equal(low[:, j], (below[1:] < 0.1).sum(axis=1))
        np.testing.assert_array_equal(high[:, j], (below[1:] < 0.9).sum(axis=1))
        np.testing.assert_array_equal(cr.decide(p, cr.losses.Linear(over=1, under=9))[:, j], (below < 0.9).sum(axis=1))
    draws = p.sample(20_000, 0)
    assert np.all(np.abs(draws.mean(axis=0) - p.mean) < 5 * np.sqrt(p.variance / 20_000))
    joint = ahead.states[0] @ np.exp(-model.rates_.sum(axis=1))  # both columns 0
    assert abs(np.mean(np.all(draws[:, 0] == 0, axis=1)) - joint) < 5 * np.sqrt(joint / 20_000)
    with pytest.raises(UnavailableError, match="point estimate"):
        _ = p.epistemic
    with pytest.raises(ParameterError, match="q must be between 0 and 1"):
        p.quantile(1.5)


def test_poisson_sample_and_saving(tmp_path):
    X, _ = counts(300)
    model = PoissonHMM(2, **HOW).fit(X)
    rows, states = model.sample(4000, random_state=0)
    assert rows.dtype.kind == "i"
    for k in range(2):
        error = np.sqrt(model.rates_[k] / (states == k).sum())
        assert np.all(np.abs(rows[states == k].mean(axis=0) - model.rates_[k]) < 5 * error)
    credo.saving.save(model, tmp_path / "p.credo")
    np.testing.assert_array_equal(credo.saving.load(tmp_path / "p.credo").predict(X), model.predict(X))
    given = clone(model).set_params(
        rates_init=model.rates_, startprob_init=model.startprob_, transmat_init=model.transmat_, max_iter=0
    )
    np.testing.assert_allclose(given.fit(X).score(X), model.score(X), rtol=1e-12)
    assert PoissonHMM(2, acceleration="squarem", **HOW).fit(X).lower_bound_ > model.lower_bound_ - 1e-5


def test_poisson_rates_of_zero_are_kept_off_it():
    X = np.concatenate([np.zeros((50, 1)), np.full((50, 1), 5.0), np.zeros((50, 1))])
    model = PoissonHMM(2, **HOW).fit(X)
    assert model.rates_.min() < 0.01
    assert np.isfinite(model.score([[1.0], [0.0]]))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rate_prior": 1.0}, "rate_prior must be None or a Gamma"),
        ({"rates_init": [[-1.0], [1.0]]}, "rates_init must be numbers > 0"),
        ({"init_params": "x"}, "init_params must be one of"),
    ],
)
def test_poisson_parameters_are_named(how, message):
    with pytest.raises(ParameterError, match=f"PoissonHMM.{message}"):
        PoissonHMM(2, **how).fit(counts(20)[0][:, :1])


def test_poisson_refuses_negative_counts():
    with pytest.raises(DataError, match="passed to PoissonHMM: row 1") as error:
        PoissonHMM().fit([[1.0], [-1.0], [np.nan]])
    assert error.value.rows == [1]


# -- categories --------------------------------------------------------------------------------------------------


def fitted(x, k=3, **how):
    return CategoricalHMM(k, **{**HOW, **how}).fit(np.asarray(x, dtype=object).reshape(len(x), -1))


def columns_of(model):
    """θ of one column, in the order red, green, blue."""
    at = [model.categories_[0].tolist().index(name) for name in ("red", "green", "blue")]
    return model.emissionprob_[:, at]


def test_categorical_likelihood_by_enumeration_and_rise():
    x, _ = categories(300)
    model = fitted(x, tol=1e-5)
    part = x[:7]
    code = {name: j for j, name in enumerate(model.categories_[0].tolist())}
    ll = np.log(model.emissionprob_[:, [code[cell] for cell in part]].T)
    assert model.score(part[:, None]) == pytest.approx(log_likelihood(model, ll), rel=1e-10)
    assert np.all(np.diff(model.lower_bounds_) > -1e-9)
    np.testing.assert_allclose(model.emissionprob_.sum(axis=1), 1.0, rtol=1e-12)


def test_categorical_recovery():
    """8,000 rows whose states are known for 7 or 8 of 10: everything within 0.06, some 5 standard errors."""
    x, _ = categories(8000, seed=1)
    model = fitted(x)
    order = matched(columns_of(model), THETA)
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(columns_of(model)[order], THETA, atol=0.06)
    np.testing.assert_allclose(model.transmat_[np.ix_(order, order)], P, atol=0.06)
    assert model._n_parameters() == 2 + 6 + 6


def test_codes_and_strings_agree():
    x, _ = categories(300)
    codes = np.array([["blue", "green", "red"].index(cell) for cell in x])[:, None]
    a, b = fitted(x), CategoricalHMM(3, **HOW).fit(codes)
    np.testing.assert_array_equal(a.transmat_, b.transmat_)
    assert b.categories_[0].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(a.predict(x[:, None]), b.predict(codes))


def test_several_columns_and_missing_cells():
    x, z = categories(900)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(900) < 0.8, np.array(["a", "b", "c"], dtype=object)[z], "a")
    table = np.stack([x, y], axis=1)
    table[rng.random(table.shape) < 0.2] = None
    table[5] = None
    model = fitted(table)
    assert model.emissionprob_.shape == (3, 6)
    np.testing.assert_allclose(model.emissionprob_[:, :3].sum(axis=1), 1.0)
    assert model.score_samples(table)[5] == pytest.approx(0.0, abs=1e-12)
    frame = pd.DataFrame(table, columns=["colour", "letter"])
    np.testing.assert_array_equal(CategoricalHMM(3, **HOW).fit(frame).predict(frame), model.predict(table))
    rows, _ = model.sample(20, random_state=0)
    assert rows.shape == (20, 2)
    assert set(rows[:, 1]) <= {"a", "b", "c"}
    first, second = model.forecast(2).observation
    assert second.classes.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(first.probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(second.probabilities, model.forecast(2).states @ model.emissionprob_[:, 3:], rtol=1e-12)


def test_unseen_categories_say_nothing():
    x, _ = categories(200)
    model = fitted(x)
    with pytest.warns(DataWarning, match="has not seen"):
        alone = model.predict_proba([["violet"]])
    np.testing.assert_allclose(alone, [model.startprob_])
    with pytest.raises(DataError, match="no cell is observed in x0"):
        fitted([None] * 5, k=1)


def test_categorical_start_prior_and_saving(tmp_path):
    x, _ = categories(200)
    model = fitted(x, k=2, concentration=2.0)
    assert np.all(np.diff(model.lower_bounds_) > -1e-9)
    credo.saving.save(model, tmp_path / "c.credo")
    loaded = credo.saving.load(tmp_path / "c.credo")
    np.testing.assert_array_equal(loaded.predict_proba(x[:, None]), model.predict_proba(x[:, None]))
    given = clone(model).set_params(
        emissionprob_init=model.emissionprob_,
        startprob_init=model.startprob_,
        transmat_init=model.transmat_,
        max_iter=0,
    )
    np.testing.assert_allclose(given.fit(x[:, None]).score(x[:, None]), model.score(x[:, None]), rtol=1e-12)
    assert fitted(x, k=2, acceleration="squarem").lower_bound_ > fitted(x, k=2).lower_bound_ - 1e-5
    for bad, name in (({"concentration": 0.5}, "concentration"), ({"emissionprob_init": [[1.0]]}, "emissionprob_init")):
        with pytest.raises(ParameterError, match=f"CategoricalHMM.{name} must be"):
            fitted(x, k=2, **bad)
