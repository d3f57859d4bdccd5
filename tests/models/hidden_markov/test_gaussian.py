"""`GaussianHMM`: likelihood by enumeration, the rise of EM, recovery, missing cells, sequences, forecasts, refusals."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import credo.saving
from credo.distributions import NormalInverseWishart
from credo.errors import ConvergenceWarning, DataError, DataWarning, ParameterError, ZeroProbabilityError
from credo.models.hidden_markov import GaussianHMM
from credo.models.mixture import GaussianMixture
from tests.models.hidden_markov.samples import TYPES, P, log_densities, log_likelihood, matched, normals


def fitted(X, k=3, **how):
    lengths = how.pop("lengths", None)
    return GaussianHMM(k, **{"random_state": 0, "tol": 1e-6, "max_iter": 500, **how}).fit(X, lengths=lengths)


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("missing", [False, True])
def test_likelihood_by_enumeration_and_rise(covariance_type, missing):
    X, _ = normals(200)
    if missing:
        X = np.where(np.random.default_rng(1).random(X.shape) < 0.25, np.nan, X)
        X[3] = np.nan
    model = fitted(X, covariance_type=covariance_type, max_iter=40, tol=1e-5)
    part = X[:7]
    ll = log_densities(model, part)
    assert model.score(part) == pytest.approx(log_likelihood(model, ll), rel=1e-10)
    assert model.score(part, lengths=[3, 4]) == pytest.approx(
        log_likelihood(model, ll[:3]) + log_likelihood(model, ll[3:]), rel=1e-10
    )
    np.testing.assert_allclose(model.score_samples(part).sum(), model.score(part), rtol=1e-12)
    assert np.all(np.diff(model.lower_bounds_) > -1e-9)
    assert model.lower_bounds_[-1] - model.lower_bounds_[0] > 1e-3


@pytest.mark.parametrize("covariance_type", TYPES)
def test_the_score_is_that_of_the_last_step_s_bound(covariance_type):
    """Without priors the bound is the likelihood of the parameters before the last M-step."""
    X, _ = normals(150)
    flat = {"startprob_prior": 1.0, "transmat_prior": 1.0, "reg_covar": 0.0, "covariance_type": covariance_type}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        bounds = [fitted(X, max_iter=m, tol=0.0, **flat) for m in (4, 5)]
    assert bounds[1].lower_bound_ * len(X) == pytest.approx(bounds[0].score(X), rel=1e-11)


def test_a_step_by_hand():
    """One M-step from given parameters, from posteriors by enumeration."""
    X, _ = normals(6, seed=3)
    given = GaussianHMM(
        2, startprob_init=[0.3, 0.7], transmat_init=[[0.6, 0.4], [0.2, 0.8]], means_init=[[0.0, 0.0], [2.0, 2.0]],
        covariances_init=np.stack([np.eye(2), 2 * np.eye(2)]), reg_covar=0.0, startprob_prior=1.5,
        transmat_prior=[[1.0, 2.0], [1.2, 1.0]], max_iter=0,
    )  # fmt: skip
    before = clone(given).fit(X)
    np.testing.assert_allclose(before.means_, given.means_init, atol=1e-12)
    np.testing.assert_allclose(before.covariances_, given.covariances_init, atol=1e-12)
    ll, n = log_densities(before, X), len(X)
    shares, pairs = np.zeros((n, 2)), np.zeros((2, 2))
    total = log_likelihood(before, ll)
    for code in range(2**n):
        path = [(code >> t) & 1 for t in range(n)]
        weight = np.log(before.startprob_[path[0]]) + sum(ll[t, k] for t, k in enumerate(path))
        weight = np.exp(weight + sum(np.log(before.transmat_[a, b]) for a, b in pairwise(path)) - total)
        shares[np.arange(n), path] += weight
        for a, b in pairwise(path):
            pairs[a, b] += weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        after = clone(given).set_params(max_iter=1).fit(X)
    np.testing.assert_allclose(after.startprob_, (shares[0] + 0.5) / (shares[0] + 0.5).sum(), rtol=1e-10)
    counts = pairs + np.array([[0.0, 1.0], [0.2, 0.0]])
    np.testing.assert_allclose(after.transmat_, counts / counts.sum(axis=1, keepdims=True), rtol=1e-10)
    weight = shares / shares.sum(axis=0)
    np.testing.assert_allclose(after.means_, weight.T @ X, rtol=1e-9)
    for k in range(2):
        deviation = X - after.means_[k]
        np.testing.assert_allclose(
            after.covariances_[k], (deviation.T * weight[:, k]) @ deviation, rtol=1e-7, atol=1e-9
        )


def test_recovery():
    """4,000 rows of three states well apart: each figure within 5 standard errors (false alarm below 1e-4)."""
    X, z = normals(4000, seed=5)
    model = fitted(X)
    truth = np.array([X[z == k].mean(axis=0) for k in range(3)])
    order = matched(model.means_, truth)
    np.testing.assert_allclose(model.means_[order], truth, atol=0.15)
    error = np.sqrt(P * (1 - P) / (4000 / 6))  # the rarest state has a sixth of the rows or more
    assert np.all(np.abs(model.transmat_[np.ix_(order, order)] - P) < 5 * error)
    states = np.argsort(order)[model.predict(X)]
    assert np.mean(states == z) > 0.98
    np.testing.assert_allclose(model.chain.transition.toarray(), model.transmat_)


def test_the_chain_tells_apart_what_rows_cannot():
    """Two states one sd apart, 50 rows each time: as good as with the true parameters, where single rows are not."""
    rng = np.random.default_rng(0)
    z = np.repeat(np.arange(40) % 2, 50)
    X = rng.normal(1.0 * z, 1.0)[:, None]
    model = fitted(X, k=2)
    rows = GaussianMixture(2, random_state=0).fit(X)
    truth = fitted(
        X, k=2, max_iter=0, means_init=[[0.0], [1.0]], covariances_init=[[[1.0]], [[1.0]]], startprob_init=[0.5, 0.5],
        transmat_init=[[0.98, 0.02], [0.02, 0.98]],
    )  # fmt: skip

    def right(states):
        return max(np.mean(states == z), np.mean(states != z))

    assert right(model.predict(X)) > right(truth.predict(X)) - 0.02
    assert right(truth.predict(X)) > 0.9
    assert right(rows.predict(X)) < 0.75


def test_em_with_missing_rows_and_cells():
    X, z = normals(3000, seed=6)
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    holes[rng.random(len(X)) < 0.1] = np.nan
    model = fitted(holes)
    truth = np.array([X[z == k].mean(axis=0) for k in range(3)])
    order = matched(model.means_, truth)
    np.testing.assert_allclose(model.means_[order], truth, atol=0.2)
    np.testing.assert_allclose(model.transmat_[np.ix_(order, order)], P, atol=0.08)
    empty = np.isnan(holes).all(axis=1)
    states = np.argsort(order)[model.predict(holes)]
    assert np.mean(states[empty] == z[empty]) > 0.8  # from the rows before and after
    np.testing.assert_allclose(model.score_samples(holes)[empty], 0.0, atol=1e-12)
    alone = model.predict_proba([[np.nan, np.nan]])
    np.testing.assert_allclose(alone, [model.startprob_], rtol=1e-12)


def test_missing_cells_agree_over_kinds_of_e_step():
    """Rows without a hole, through the E-step that allows holes, end where they end without it."""
    X, _ = normals(300)
    with_hole = np.concatenate([X, [[np.nan, np.nan]]])
    for covariance_type in TYPES:
        how = {"covariance_type": covariance_type, "tol": 1e-9, "max_iter": 1000}
        how |= {"means_init": [[0, 0], [4, 4], [-4, 4]]}
        a, b = fitted(X, **how), fitted(with_hole, lengths=[300, 1], **how)
        np.testing.assert_allclose(a.means_, b.means_, atol=1e-3)
        np.testing.assert_allclose(a.covars_, b.covars_, atol=1e-3)


def test_data_far_from_the_origin_and_in_any_unit():
    X, _ = normals(400)
    a, b = fitted(X), fitted(1e8 + 1e-4 * X, reg_covar=1e-14)
    np.testing.assert_allclose(b.means_, 1e8 + 1e-4 * a.means_, rtol=1e-13)
    np.testing.assert_allclose(b.covariances_ * 1e8, a.covariances_, rtol=1e-3)
    np.testing.assert_allclose(b.transmat_, a.transmat_, atol=1e-4)


def test_narrow_states_take_the_direct_way():
    rng = np.random.default_rng(0)
    z = np.repeat(np.arange(20) % 2, 10)
    X = np.where(z, 1.0, -1.0)[:, None] + rng.normal(0, 1e-5, (200, 1)) * np.array([[1.0, 2.0]])
    X += rng.normal(0, 1e-6, X.shape)
    for covariance_type in TYPES:
        model = fitted(X, k=2, covariance_type=covariance_type, reg_covar=0.0)
        assert np.all(model.predict(X) == (z if model.means_[1, 0] > 0 else 1 - z))
        assert 1e-13 < model.covars_[0][0, 0] < 1e-9
        assert np.all(np.diff(model.lower_bounds_) > -1e-7)


@pytest.mark.parametrize("rows", [[1] * 500, [5] * 100, [499, 1], [250, 1, 1, 248]])
def test_sequences_and_blocks(rows):
    """The order of sequences does not matter, a weight of 2 is a sequence twice, and blocks change nothing."""
    X, _ = normals(500, seed=2)
    how = {
        "means_init": [[0, 0], [4, 4], [-4, 4]], "covariances_init": [np.eye(2)] * 3,
        "transmat_init": np.full((3, 3), 1 / 3), "max_iter": 5, "tol": 0.0,
    }  # fmt: skip
    parts = np.split(X, np.cumsum(rows)[:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(X, lengths=rows, **how)
        back = fitted(np.concatenate(parts[::-1]), lengths=rows[::-1], **how)
        weight = np.ones(len(rows))
        weight[0] = 2.0
        weighted = GaussianHMM(3, random_state=0, **how).fit(X, lengths=rows, sequence_weight=weight)
        twice = fitted(np.concatenate([parts[0], X]), lengths=[rows[0], *rows], **how)
    for a, b in ((model, back), (weighted, twice)):
        for name in ("means_", "covariances_", "transmat_", "startprob_"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-6, atol=1e-9)


def test_blocks_hold_whole_sequences():
    from credo.models.hidden_markov.sequences import Sequences, ends_within

    rng = np.random.default_rng(0)
    for _ in range(20):
        sizes = rng.choice([1, 10, 100, 100_000], 30, p=[0.3, 0.3, 0.3, 0.1])
        blocks = list(Sequences(np.zeros((sizes.sum(), 2)), np.cumsum(sizes), rng.random(30)))
        np.testing.assert_array_equal(np.concatenate([np.diff(ends_within(b), prepend=0) for b in blocks]), sizes)
        assert [b.start for b in blocks] == np.cumsum([0, *(b.n_rows for b in blocks)])[:-1].tolist()
        assert len(blocks) > 1 or sizes.sum() < 200_000


def test_lengths_passed_second_are_lengths():
    X, _ = normals(60)
    how = {"random_state": 0, "max_iter": 3, "tol": 1.0}
    by_name = GaussianHMM(2, **how).fit(X, lengths=[20, 40])
    second = GaussianHMM(2, **how).fit(X, [20, 40])
    ignored = GaussianHMM(2, **how).fit(X, np.arange(60) % 3)
    np.testing.assert_array_equal(by_name.transmat_, second.transmat_)
    np.testing.assert_array_equal(ignored.transmat_, GaussianHMM(2, **how).fit(X).transmat_)
    assert second.score(X, [20, 40]) == second.score(X, lengths=[20, 40]) != second.score(X)
    np.testing.assert_array_equal(GaussianHMM(2, **how).fit_predict(X, [20, 40]), by_name.predict(X, lengths=[20, 40]))
    singles = GaussianHMM(2, **how).fit(X, np.ones(60, dtype=int))
    np.testing.assert_array_equal(singles.startprob_, GaussianHMM(2, **how).fit(X, lengths=[1] * 60).startprob_)
    with pytest.raises(ParameterError, match="sum to the 60 rows"):
        GaussianHMM(2).fit(X, [20, 41])


def test_one_state_is_a_normal():
    X, _ = normals(100)
    model = fitted(X, k=1, reg_covar=0.0)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.covariances_[0], np.cov(X.T, bias=True), rtol=1e-10)
    law = stats.multivariate_normal(model.means_[0], model.covariances_[0])
    np.testing.assert_allclose(model.score_samples(X), law.logpdf(X), rtol=1e-10)
    np.testing.assert_array_equal(model.transmat_, [[1.0]])


def test_zeros_given_stay_zeros():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1, (40, 1)) for m in (0, 4, 0, 4, 8)])
    left = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    model = fitted(X, startprob_init=[1.0, 0.0, 0.0], transmat_init=left)
    np.testing.assert_array_equal(model.transmat_ == 0.0, left == 0.0)
    np.testing.assert_array_equal(model.startprob_, [1.0, 0.0, 0.0])
    assert np.all(np.diff(model.predict(X)) >= 0)
    assert model._n_parameters() == 0 + 2 + 3 * 2


def test_the_default_prior_lets_no_zero_lock_in():
    X, _ = normals(300)
    model = fitted(X)
    assert model.transmat_.min() > 1e-5
    assert model.startprob_.min() > 1e-3
    assert fitted(X, startprob_prior=1.0, transmat_prior=1.0).startprob_.min() < 1e-12


def test_a_state_without_rows():
    """It stays where the prior puts it, and the fit says so."""
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (200, 1))
    with pytest.warns(DataWarning, match="components 1 are empty"):
        model = fitted(X, k=2, startprob_init=[1.0, 0.0], transmat_init=np.eye(2), transmat_prior=1.0)
    np.testing.assert_array_equal(model.transmat_, np.eye(2))
    assert np.isfinite(model.score(X))


def test_impossible_rows_name_the_step():
    model = fitted(normals(100)[0][:, :1], k=2)
    with pytest.raises(ZeroProbabilityError, match=r"GaussianHMM: .* up to step 1 of sequence 1 \(row 3\)"):
        model.score(np.array([[0.0], [0.0], [0.0], [1e200], [0.0]]), lengths=[2, 3])


def test_a_long_sequence():
    X, z = normals(100_000, seed=1)
    model = fitted(X, tol=1e-4)
    assert np.isfinite(model.score(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-13)
    order = matched(model.means_, np.array([X[z == k].mean(axis=0) for k in range(3)]))
    assert np.mean(np.argsort(order)[model.predict(X)] == z) > 0.98


def test_filter_smoother_and_path():
    X, _ = normals(80)
    model = fitted(X)
    filtered, smoothed = model.filter(X), model.predict_proba(X)
    np.testing.assert_allclose(filtered[-1], smoothed[-1], rtol=1e-12)
    for t in (0, 10, 50):
        np.testing.assert_allclose(filtered[t], model.predict_proba(X[: t + 1])[-1], rtol=1e-9, atol=1e-12)
    log_prob, path = model.decode(X)
    ll = log_densities(model, X)
    own = np.log(model.startprob_[path[0]]) + ll[np.arange(80), path].sum()
    own += np.log(model.transmat_[path[:-1], path[1:]]).sum()
    assert log_prob == pytest.approx(own, rel=1e-10)
    np.testing.assert_array_equal(model.predict(X), path)


def test_forecast():
    X, _ = normals(300)
    model = fitted(X)
    ahead = model.forecast(4)
    np.testing.assert_allclose(ahead.states, model.forecast(4, X).states, rtol=1e-12)
    law = model.filter(X)[-1]
    for h in range(4):
        law = law @ model.transmat_
        np.testing.assert_allclose(ahead.states[h], law, rtol=1e-10)
    p = ahead.observation
    assert p.shape == (4, 2)
    np.testing.assert_allclose(p.mean, ahead.states @ model.means_, rtol=1e-12)
    second = np.einsum("hk,kj->hj", ahead.states, model.covars_.diagonal(axis1=1, axis2=2) + model.means_**2)
    np.testing.assert_allclose(p.variance, second - p.mean**2, rtol=1e-9)
    np.testing.assert_allclose(p.cdf(p.quantile(0.3)), 0.3, atol=1e-12)
    row = model.forecast(1).observation
    y = np.array([[0.5, 0.5]])
    marginal = [
        stats.norm(m[0], np.sqrt(c[0, 0])).logpdf(0.5) for m, c in zip(model.means_, model.covars_, strict=True)
    ]
    np.testing.assert_allclose(row.log_prob(y)[0, 0], logsumexp(marginal, b=ahead.states[0]), rtol=1e-10)
    far = model.forecast(500).states[-1]
    np.testing.assert_allclose(far, list(model.chain.stationary.values()), rtol=1e-8)


def test_one_step_forecasts_score_the_rows():
    """p(x_t | the past) of `forecast` is what `score_samples` adds up, in one dimension."""
    X = normals(40)[0][:, :1]
    model = fitted(X, k=2)
    for t in (1, 7, 30):
        p = model.forecast(1, X[:t]).observation
        np.testing.assert_allclose(p.log_prob(X[t])[0, 0], model.score_samples(X)[t], rtol=1e-9)


def test_sample_has_the_model_s_law():
    """20,000 rows: means of rows and transitions within 5 standard errors."""
    X, _ = normals(1000)
    model = fitted(X)
    rows, states = model.sample(20_000, random_state=1)
    again = model.sample(20_000, random_state=1)
    np.testing.assert_array_equal(rows, again[0])
    for k in range(3):
        mine = rows[states == k]
        error = np.sqrt(np.diag(model.covars_[k]) / len(mine))
        assert np.all(np.abs(mine.mean(axis=0) - model.means_[k]) < 5 * error)
        np.testing.assert_allclose(np.cov(mine.T), model.covars_[k], rtol=0.15, atol=0.1)
        moves = np.bincount(states[1:][states[:-1] == k], minlength=3) / max((states[:-1] == k).sum(), 1)
        assert np.all(np.abs(moves - model.transmat_[k]) < 5 * np.sqrt(0.25 / (states == k).sum()))
    np.testing.assert_array_equal(model.sample(5)[0], model.sample(5)[0])  # the estimator's own seed


def test_priors_on_the_states():
    X, _ = normals(100)
    auto = fitted(X, component_prior="auto")
    assert np.isfinite(auto.lower_bound_)
    belief = NormalInverseWishart(np.zeros(2), 1e9, 10.0, np.eye(2))
    pinned = fitted(X, component_prior=belief)
    np.testing.assert_allclose(pinned.means_, 0.0, atol=1e-5)
    assert np.all(np.diff(pinned.lower_bounds_) > -1e-9)


def test_squarem_ends_as_high_in_fewer_passes():
    X, _ = normals(800, apart=1.0)
    how = {"tol": 1e-9, "max_iter": 5000, "n_init": 1}
    plain, fast = fitted(X, **how), fitted(X, acceleration="squarem", **how)
    assert fast.lower_bound_ > plain.lower_bound_ - 1e-5
    assert fast.n_iter_ < plain.n_iter_


def test_several_starts_end_no_lower():
    X, _ = normals(300, apart=1.0)
    one, many = fitted(X, init_params="random"), fitted(X, init_params="random", n_init=6)
    assert many.lower_bound_ >= one.lower_bound_ - 1e-6


def test_bic_finds_the_number_of_states():
    X, _ = normals(1500, seed=4)
    assert min((fitted(X, k=k, n_init=2, tol=1e-4).bic(X), k) for k in (1, 2, 3, 4))[1] == 3
    model = fitted(X)
    assert model._n_parameters() == 2 + 6 + 3 * 5
    assert model.aic(X) == pytest.approx(-2 * model.score(X) + 2 * 23)


def test_saving_cloning_and_pipelines(tmp_path):
    X, _ = normals(200)
    model = fitted(X)
    credo.saving.save(model, tmp_path / "chain.credo")
    loaded = credo.saving.load(tmp_path / "chain.credo")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.forecast(3).states, model.forecast(3).states)
    assert loaded.get_params() == model.get_params() == clone(model).get_params()
    assert loaded.result_.status == "converged"
    piped = make_pipeline(StandardScaler(), clone(model))
    piped.fit(X, gaussianhmm__lengths=[100, 100])
    assert piped.predict(X).shape == (200,)
    assert model.n_features_in_ == 2


def test_equal_on_any_number_of_threads(monkeypatch):
    import credo.blocks.reduction as reduction

    X = np.tile(normals(60_000)[0], (1, 2)) + np.random.default_rng(0).normal(0, 1, (60_000, 4))
    models = []
    for threads in (1, 3):
        monkeypatch.setattr(reduction, "available_threads", lambda threads=threads: threads)
        models.append(fitted(X, max_iter=3, tol=1.0, lengths=[1000] * 60))
    for name in ("transmat_", "means_", "covariances_"):
        np.testing.assert_array_equal(getattr(models[0], name), getattr(models[1], name))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer ≥ 1"),
        ({"covariance_type": "round"}, "covariance_type must be one of"),
        ({"startprob_prior": 0.5}, "startprob_prior must be a number ≥ 1"),
        ({"transmat_prior": [1.0, 1.0]}, "transmat_prior must be a number ≥ 1"),
        ({"startprob_init": [0.5, 0.6]}, "startprob_init must be probabilities of shape"),
        ({"transmat_init": [[0.5, 0.5], [1.0, "x"]]}, "transmat_init must be probabilities"),
        ({"means_init": [[0.0]]}, "means_init must be finite numbers of shape"),
        ({"covariances_init": np.stack([np.eye(2), -np.eye(2)])}, "covariances_init must be symmetric"),
        ({"component_prior": "some"}, "component_prior must be None, 'auto'"),
        ({"reg_covar": -1.0}, "reg_covar must be a number ≥ 0"),
        ({"init_params": "x"}, "init_params must be one of"),
        ({"tol": -1}, "tol must be a number ≥ 0"),
        ({"acceleration": "x"}, "acceleration must be"),
    ],
)
def test_bad_parameters_are_named(how, message):
    with pytest.raises(ParameterError, match=f"GaussianHMM.{message}"):
        GaussianHMM(**{"n_components": 2, **how}).fit(normals(20)[0])


def test_bad_data_are_named():
    X, _ = normals(20)
    model = fitted(X, k=1)
    with pytest.raises(DataError, match="no cell is observed in x1"):
        fitted(np.where([True, False], X, np.nan))
    with pytest.raises(ParameterError, match="sequence_weight must be 2 numbers"):
        GaussianHMM().fit(X, lengths=[10, 10], sequence_weight=[1.0, -1.0])
    with pytest.raises(ParameterError, match="sequence_weight"):
        GaussianHMM().fit(X, lengths=[10, 10], sequence_weight=[0.0, 0.0])
    for method, name in ((model.predict, "decode"), (model.predict_proba, "predict_proba"), (model.filter, "filter")):
        with pytest.raises(ParameterError, match=f"GaussianHMM.{name}.lengths must be integers"):
            method(X, lengths=[3])
    for steps in (0, 1.5, True):
        with pytest.raises(ParameterError, match="steps must be an integer"):
            model.forecast(steps)
        with pytest.raises(ParameterError, match="n_samples must be an integer"):
            model.sample(steps)
