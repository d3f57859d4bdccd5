"""`PreferenceGP`: what it believes, predicts and refuses."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.special
import scipy.stats
from sklearn.base import clone

import credo as cr
from credo.errors import ConvergenceWarning, DataError, NotPositiveDefiniteError, ParameterError, UnavailableError
from credo.kernels import RBF
from credo.models.preference import Similarity, duel_information, most_informative_duel, most_uncertain_item
from credo.models.preference.design import gather
from credo.models.preference.laplace import row_variance
from credo.models.preference.learning import Learner
from credo.models.preference.outcomes import counted
from credo.models.preference.scales import ScalesSpace
from credo.models.preference.terms import row_terms
from credo.testing.covariances import check_kernel

UNIT = cr.PreferenceGP(optimizer=None, link="probit")


def simulated(n=6, m=300, ties=0.0, seed=0, users=(None,), own=0.0):
    """Utilities N(0, 1), duels with noise 1 an item, ties within the threshold; deviations of sd `own` a user."""
    rng = np.random.default_rng(seed)
    f = rng.normal(size=n)
    history = cr.Preferences(n)
    for user in users:
        g = f + own * rng.normal(size=n)
        a = rng.integers(n, size=m)
        b = (a + rng.integers(1, n, size=m)) % n
        d = g[a] - g[b] + np.sqrt(2.0) * rng.normal(size=m)
        won, tied = np.abs(d) > ties, np.abs(d) <= ties
        history = history.with_duels(np.where(d > 0, a, b)[won], np.where(d > 0, b, a)[won], users=user)
        if tied.any():
            history = history.with_ties(a[tied], b[tied], users=user)
    return history, f


def same(one, other):
    np.testing.assert_array_equal(one.belief_.alpha, other.belief_.alpha)
    np.testing.assert_array_equal(one.belief_.precision, other.belief_.precision)
    np.testing.assert_array_equal(one.theta_, other.theta_)


def test_probabilities_of_one_duel_by_hand():
    model = clone(UNIT).set_params(inference="ep").fit(cr.Preferences(2).with_duel(0, 1))
    # d ~ N(0, 2) given Φ(d/√2): mean and variance in closed form
    s2, k = 2.0, 1.0 / np.sqrt(2.0)
    z = np.linspace(-12, 12, 200_001)
    d = np.sqrt(s2) * z
    p = scipy.stats.norm.pdf(z) * scipy.special.ndtr(k * d)
    p /= p.sum()
    mean, variance = p @ d, p @ d**2 - (p @ d) ** 2
    duel = model.duel(0, 1)
    assert duel.difference[0, 0] == pytest.approx(mean, rel=1e-9)
    assert duel.variance[0] == pytest.approx(variance, rel=1e-9)
    q = scipy.stats.norm.pdf(z) * (z[1] - z[0])
    win = scipy.special.ndtr(k * (mean + np.sqrt(variance) * z))
    assert duel.win == pytest.approx(q @ win, rel=1e-9)
    assert duel.sd == pytest.approx(np.sqrt(q @ (win - q @ win) ** 2), rel=1e-9)
    entropy = scipy.special.entr(win) + scipy.special.entr(1 - win)
    assert duel.aleatoric == pytest.approx(q @ entropy, rel=1e-8)
    assert duel.epistemic == pytest.approx(duel.entropy - q @ entropy, rel=1e-7)
    assert duel.superiority == pytest.approx(scipy.special.ndtr(mean / np.sqrt(variance)))
    low, high = duel.interval(0.9)
    inside = (win > low) & (win < high)
    assert q[inside].sum() == pytest.approx(0.9, abs=1e-3)


def test_superiority_outgrows_the_choice_probability():
    """Many duels settle who is better, not what the next one brings."""
    model = cr.PreferenceGP().fit(cr.Preferences(2).with_duel(0, 1, count=600).with_duel(1, 0, count=400))
    duel = model.duel(0, 1)
    assert duel.win == pytest.approx(0.6, abs=0.01)
    assert duel.superiority > 0.999
    assert duel.sd < 0.02
    assert duel.epistemic < 0.01 < duel.aleatoric


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_pairs_mirror_each_other(link):
    history, _ = simulated(ties=0.5)
    model = cr.PreferenceGP(link=link).fit(history)
    there, back = model.duel([0, 1, 2], [3, 4, 5]), model.duel([3, 4, 5], [0, 1, 2])
    np.testing.assert_allclose(there.win, back.lose, rtol=1e-9)
    np.testing.assert_allclose(there.tie, back.tie, rtol=1e-9)
    np.testing.assert_allclose(there.win + there.tie + there.lose, 1.0, rtol=1e-12)
    np.testing.assert_allclose(there.superiority, 1.0 - np.asarray(back.superiority), rtol=1e-9)
    itself = model.duel(2, 2)
    assert itself.win == pytest.approx(itself.lose)
    assert itself.superiority == 0.5


def test_it_finds_what_it_was_simulated_from():
    history, f = simulated(n=8, m=4000, ties=0.4)
    for link in ("probit", "logit"):
        model = cr.PreferenceGP(link=link).fit(history)
        assert np.corrcoef(model.predict(), f)[0, 1] > 0.995
        assert model.scales_.threshold == pytest.approx(0.4, abs=0.05)
    p = cr.PreferenceGP(link="probit").fit(history).predict_distribution()
    centred = (f - f.mean()) - (p.mean - p.mean.mean())
    assert np.max(np.abs(centred)) < 0.25


def test_the_link_is_chosen_by_evidence():
    few, _ = simulated(n=3, m=4)
    assert cr.PreferenceGP().fit(few).scales_.link == "probit"
    # abilities far apart under logistic noise: the tails tell
    rng = np.random.default_rng(0)
    a, b = np.triu_indices(6, 1)
    f = 2.0 * np.arange(6)
    history = cr.Preferences(6)
    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        wins = int(rng.binomial(400, scipy.special.expit(f[i] - f[j])))
        history = history.with_duel(i, j, count=wins).with_duel(j, i, count=400 - wins)
    model = cr.PreferenceGP().fit(history)
    assert model.scales_.link == "logit"
    each = {
        link: cr.PreferenceGP(link=link, inference="laplace").fit(history).log_evidence_ for link in ("probit", "logit")
    }
    assert each["logit"] > each["probit"] + 0.5
    assert model.log_evidence_ == pytest.approx(each["logit"], abs=1e-3)


@pytest.mark.filterwarnings("ignore:PreferenceGP. the chains")  # a few draws are enough to compare bits
def test_same_history_same_belief_bit_for_bit():
    history, _ = simulated()
    longer = history.with_duel(0, 1).with_tie(2, 3).with_choice(4, [0, 1, 4])
    same(cr.PreferenceGP().fit(longer.undo().undo().undo()), cr.PreferenceGP().fit(history))
    model = cr.PreferenceGP(inference="gibbs", n_draws=50, random_state=3)
    same(clone(model).fit(history), clone(model).fit(history))


def test_arrays_of_duels_are_a_history():
    duels = np.array([[0, 1], [1, 2], [0, 2], [2, 0]])
    same(cr.PreferenceGP().fit(duels), cr.PreferenceGP().fit(cr.Preferences(3).with_duels(duels[:, 0], duels[:, 1])))


def test_mixed_evidence_agrees():
    """Ratings, grades, choices and rankings of one order all say so."""
    order = [3, 1, 0, 2]
    base = cr.Preferences(4)
    worth = {item: 4.0 - place for place, item in enumerate(order)}
    histories = [
        base.with_ranking(order).with_ranking(order),
        base.with_choice(3, order).with_choice(1, [0, 1, 2]).with_choice(0, [0, 2]),
        base.with_ratings(order, [10 * worth[i] for i in order]),
        base.with_grades(order, [3, 2, 1, 0]).with_grades(order, [3, 2, 1, 0]),
        base.with_clicks([2, 0, 1, 3], [3]).with_clicks([2, 0, 1], [1]).with_clicks([2, 0], [0]),
    ]
    together = base
    for history in histories:
        for link in ("probit", "logit"):
            model = cr.PreferenceGP(link=link).fit(history)
            assert np.argsort(-model.predict()).tolist() == order, (history.events[0].kind, link)
            assert model.result_.ok
    together = base.with_ranking(order).with_ratings(order, [40.0, 30.0, 20.0, 10.0]).with_grades(order, [2, 1, 1, 0])
    model = cr.PreferenceGP().fit(together.with_tie(0, 2))
    ratings = model.predict_rating()
    assert np.all(np.diff(ratings.mean[order]) < 0)
    assert np.all((ratings.mean > 5) & (ratings.mean < 45))
    np.testing.assert_allclose(ratings.variance, ratings.aleatoric + ratings.epistemic)
    grades = model.predict_grade()
    assert grades.shape == (4, 3)
    np.testing.assert_allclose(grades.sum(axis=1), 1.0)
    assert np.all(np.diff(grades[order] @ np.arange(3)) < 0)


def test_ratings_alone_are_gaussian_regression():
    """With everything stated it is conditioning: the posterior mean of offset + slope f at given scales."""
    X = np.array([[0.0], [0.5], [1.3], [2.0]])
    history = cr.Preferences(4).with_ratings([0, 1, 3], [2.0, 9.0, -1.1])
    model = cr.PreferenceGP(1.5 * RBF(0.7), optimizer=None).fit(history, X)
    offset, slope, noise = model.scales_.ratings
    K, seen = (1.5 * RBF(0.7))(X), [0, 1, 3]
    y = (np.array([2.0, 9.0, -1.1]) - offset) / slope
    Ky = K[np.ix_(seen, seen)] + (noise / slope) ** 2 * np.eye(3)
    mean = K[:, seen] @ np.linalg.solve(Ky, y)
    variance = np.diag(K - K[:, seen] @ np.linalg.solve(Ky, K[seen]))
    p = model.predict_distribution()
    np.testing.assert_allclose(p.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(p.variance, variance, rtol=1e-9)
    evidence = scipy.stats.multivariate_normal(np.zeros(3), Ky).logpdf(y) - 3 * np.log(slope)
    assert model.log_evidence_ == pytest.approx(evidence, rel=1e-9)


def test_new_items_are_predicted_by_features():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(40, 2))
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1]
    a, b = rng.integers(30, size=400), rng.integers(30, size=400)
    a, b = a[a != b], b[a != b]
    win = f[a] - f[b] + 0.3 * rng.normal(size=a.size) > 0
    duels = np.column_stack([np.where(win, a, b), np.where(win, b, a)])
    model = cr.PreferenceGP(noise=0.3).fit(duels, X[:30])
    assert np.corrcoef(model.predict(X[30:]), f[30:])[0, 1] > 0.95
    sd = model.predict_distribution(X[:1]).sd
    assert sd > model.predict_distribution([0]).sd  # as new, item 0 has a part of its own that is not known
    far = model.predict_distribution(np.array([[50.0, 50.0]]))
    assert far.sd > 1.2 * model.predict_distribution([0]).sd
    p = model.probability(X[30:33], [0, 0, 0])
    assert p.shape == (3,)
    assert np.all((p > 0) & (p < 1))
    one = model.duel(X[30:31], X[31:32])
    assert one.variance[0] > 0
    # a row of features is a set of one
    assert np.shape(model.predict(X[30:31])) == (1,)


def test_users_share_what_is_common():
    history, _ = simulated(n=5, m=40, users=tuple(f"u{k}" for k in range(12)), own=0.8, seed=2)
    model = cr.PreferenceGP(link="probit").fit(history)
    assert 0.1 < model.user_deviation_ < 5.0
    shared, own = model.predict(), model.predict(user="u3")
    assert not np.allclose(shared, own)
    # a user's own utility is better known than chance but less than pooled; the newcomer's is the shared one
    assert np.all(model.predict_distribution(user="u3").sd < np.sqrt(1 + model.user_deviation_))
    assert np.corrcoef(shared, np.mean([model.predict(user=u) for u in model.belief_.users], axis=0))[0, 1] > 0.999
    with pytest.raises(ParameterError, match="one of the 12 users"):
        model.predict(user="nobody")
    # nothing own: everybody has the pooled utility
    pooled = cr.PreferenceGP(link="probit", inference="laplace", optimizer=None)
    alike = clone(pooled).set_params(user_deviation=1e-9).fit(history)
    nameless = cr.Preferences(5)
    for event in history:
        nameless = nameless.with_duels(event.first, event.second)
    np.testing.assert_allclose(alike.predict(user="u0"), pooled.fit(nameless).predict(), atol=1e-6)


def test_similarities_are_covariances():
    S = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]])
    model = cr.PreferenceGP("precomputed").fit(cr.Preferences(3).with_duel(0, 2, count=5), S)
    assert model.predict(1) > model.predict(2)
    assert model.predict(1) > 0.5 * model.predict(0)
    check_kernel(Similarity(), 1, smooth=False, moving=())
    with pytest.raises(NotPositiveDefiniteError, match="negative eigenvalue"):
        cr.PreferenceGP("precomputed").fit(cr.Preferences(2), [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ParameterError, match="symmetric"):
        cr.PreferenceGP("precomputed").fit(cr.Preferences(2), [[1.0, 0.5], [0.2, 1.0]])


def test_questions():
    history = cr.Preferences(["a", "b", "c", "d"]).with_duel("a", "b", count=30).with_duel("b", "a", count=30)
    model = cr.PreferenceGP().fit(history.with_duel("a", "c", count=2))
    assert most_uncertain_item(model) == "d"
    pairs, nats = duel_information(model)
    assert len(pairs) == 6
    assert np.argmin(nats) == 0  # a against b is settled
    assert "d" in most_informative_duel(model)
    assert most_informative_duel(model, [("a", "b")]) == ("a", "b")
    with pytest.raises(ParameterError, match="at least one pair"):
        duel_information(cr.PreferenceGP().fit(cr.Preferences(1)))


def test_a_history_of_choices_alone():
    history = cr.Preferences(4)
    for best in (0, 0, 1):
        history = history.with_choice(best, [0, 1, 2, 3])
    for link in ("probit", "logit"):
        model = cr.PreferenceGP(link=link).fit(history)
        assert np.argsort(-model.predict().round(9), kind="stable").tolist() == [0, 1, 2, 3]


def test_where_ep_does_not_settle_laplace_steps_in():
    """10⁶ to nothing, twice: sites of EP that hardly move, and half an answer that says so."""
    history = cr.Preferences(3).with_duel(0, 1, count=1_000_000).with_duel(1, 2, count=1_000_000)
    model = cr.PreferenceGP(link="probit").fit(history)
    assert model.result_.ok
    assert model.result_.inference == "ep" or "did not settle" in model.result_.message
    assert model.probability(0, 2) > 0.999


def test_rankings_add_up():
    history, _ = simulated()
    ranking = cr.PreferenceGP().fit(history).ranking(random_state=0)
    assert ranking.best.sum() == pytest.approx(1.0)
    assert ranking.rank.sum() == pytest.approx(21.0)
    assert np.all(np.diff(ranking.mean) <= 0)
    assert ranking.best[0] == ranking.best.max()
    again = cr.PreferenceGP().fit(history).ranking(random_state=0)
    np.testing.assert_array_equal(again.best, ranking.best)


@pytest.mark.parametrize(
    ("inference", "link", "near"), [("ep", "probit", 0.01), ("laplace", "probit", 0.05), ("laplace", "logit", 0.05)]
)
def test_leaving_one_out_is_refitting_without_it(inference, link, near):
    history, _ = simulated(n=4, m=12, ties=0.4)
    history = history.with_choice(0, [0, 1, 2, 3]).with_ranking([2, 1, 0])
    model = cr.PreferenceGP(inference=inference, link=link).fit(history)
    found = model.leave_one_out()
    outcomes = counted(history)
    space, terms = ScalesSpace(link, 1.0, outcomes), row_terms(outcomes, model.scales_)
    rest = []
    for i in np.repeat(np.arange(outcomes.kind.size), outcomes.count.astype(int)):
        fewer = dataclasses.replace(outcomes, count=outcomes.count - (np.arange(outcomes.kind.size) == i))
        without = Learner(model.kernel_, model.belief_.rows, fewer, space, None, inference).gaussian(model.theta_)
        eta = gather(outcomes, without.arrow.prior.times(without.alpha[0]))[i : i + 1]
        variance = row_variance(outcomes, without.arrow.marginals)[i : i + 1]
        rest.append(terms.tilted_moments(np.array([i]), eta, variance)[0][0])
    np.testing.assert_allclose(found.pointwise[: len(rest)], rest, atol=near)
    assert found.pointwise.size == len(rest) + 2


def test_a_choice_left_out_is_predicted_by_the_rest():
    """Without its only choice nothing is known: each of four is chosen with probability one quarter."""
    history = cr.Preferences(4).with_choice(0, [0, 1, 2, 3])
    for link, inference, near in (("probit", "ep", 0.01), ("probit", "laplace", 0.05), ("logit", "laplace", 0.05)):
        model = cr.PreferenceGP(link=link, inference=inference, optimizer=None).fit(history)
        assert model.leave_one_out().elpd == pytest.approx(np.log(0.25), abs=near)


@pytest.mark.filterwarnings("ignore:PreferenceGP. the chains")  # a few draws are enough to compare bits
@pytest.mark.parametrize("inference", ["auto", "laplace", "gibbs"])
def test_round_trips(inference, tmp_path):
    history, _ = simulated(users=("ann", "bob"), m=30, ties=0.3)
    model = cr.PreferenceGP(inference=inference, n_draws=40, random_state=0, link="probit")
    model.fit(history)
    cr.save(model, tmp_path / "model.credo")
    for back in (cr.load(tmp_path / "model.credo"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(back.predict(user="ann"), model.predict(user="ann"))
        assert back.probability(0, 1, user="bob") == model.probability(0, 1, user="bob")
        assert back.scales_ == model.scales_
        assert len(back.history_.undo()) == len(history) - 1


# Rao–Blackwellised draws: means within 4.5 standard errors of EP's, which is exact to 1e-2 here.
def test_gibbs_speaks_like_the_others():
    history, _ = simulated(n=4, m=25)
    model = cr.PreferenceGP(inference="gibbs", random_state=0, n_draws=800).fit(history)
    assert model.result_.inference == "gibbs"
    ep = cr.PreferenceGP(inference="ep").fit(history)
    np.testing.assert_allclose(model.predict(), ep.predict(), atol=0.05)
    duel, near = model.duel(0, 1), ep.duel(0, 1)
    for name in ("win", "superiority", "sd", "aleatoric"):
        assert getattr(duel, name) == pytest.approx(getattr(near, name), abs=0.03)
    np.testing.assert_allclose(duel.interval(0.8), near.interval(0.8), atol=0.03)
    p = model.predict_distribution()
    np.testing.assert_allclose(p.quantile(0.5), ep.predict_distribution().quantile(0.5), atol=0.05)


# -- awkward inputs ------------------------------------------------------------------------------------------------


def test_an_empty_history_is_the_prior():
    model = cr.PreferenceGP().fit(cr.Preferences(3))
    np.testing.assert_array_equal(model.predict(), 0.0)
    assert model.probability(0, 1) == 0.5
    assert model.log_evidence_ == 0.0
    assert model.duel(0, 1).superiority == 0.5
    for inference in ("laplace", "ep", "gibbs"):
        assert cr.PreferenceGP(inference=inference, n_draws=200, random_state=0).fit(cr.Preferences(3)).probability(
            0, 1
        ) == pytest.approx(0.5, abs=0.05)


def test_one_item():
    model = cr.PreferenceGP().fit(cr.Preferences(["only"]).with_rating("only", 3.0).with_rating("only", 4.0))
    assert model.ranking(random_state=0).best.tolist() == [1.0]
    assert 2.9 < model.predict_rating("only").mean[0] < 4.1


@pytest.mark.parametrize("inference", ["auto", "laplace", "ep", "gibbs"])
def test_cycles_and_contradictions(inference):
    cycle = cr.Preferences(3).with_duels([0, 1, 2], [1, 2, 0], counts=[50, 50, 50])
    model = cr.PreferenceGP(inference=inference, random_state=0).fit(cycle)
    np.testing.assert_allclose(model.predict(), 0.0, atol=0.05)
    assert model.probability(0, 1) == pytest.approx(0.5, abs=0.03)
    torn = cr.Preferences(2).with_ratings([0, 0, 1, 1], [0.0, 10.0, 10.0, 0.0]).with_duel(0, 1).with_duel(1, 0)
    assert cr.PreferenceGP(inference=inference, random_state=0).fit(torn).probability(0, 1) == pytest.approx(
        0.5, abs=0.05
    )


def test_all_ties():
    model = cr.PreferenceGP().fit(cr.Preferences(3).with_ties([0, 1, 2], [1, 2, 0], counts=[40, 40, 40]))
    duel = model.duel(0, 1)
    assert duel.tie > 0.9
    assert duel.win == pytest.approx(duel.lose, abs=1e-6)
    assert np.isfinite(model.log_evidence_)


def test_an_item_that_always_wins_stays_finite():
    history = cr.Preferences(3).with_duel(0, 1, count=1000).with_duel(1, 2, count=1000)
    for link in ("probit", "logit"):
        model = cr.PreferenceGP(link=link).fit(history)
        assert model.probability(0, 1) > 0.99
        assert np.all(np.isfinite(model.predict_distribution().sd))


def test_identical_ratings_and_grades_of_one_level():
    model = cr.PreferenceGP().fit(cr.Preferences(2).with_ratings([0, 1], [5.0, 5.0]))
    np.testing.assert_allclose(model.predict_rating().mean, 5.0, atol=0.1)
    model = cr.PreferenceGP().fit(cr.Preferences(2).with_grades([0, 1], [0, 0]))
    assert model.predict_grade().shape == (2, 2)
    assert np.all(model.predict_grade()[:, 0] > 0.5)


def test_noise_is_the_unit_of_utility():
    one = cr.PreferenceGP().fit(np.array([[0, 1], [1, 2], [0, 2]]))
    for unit in (1e-6, 30.0, 1e6):
        other = cr.PreferenceGP(noise=unit).fit(np.array([[0, 1], [1, 2], [0, 2]]))
        np.testing.assert_allclose(other.predict() / unit, one.predict(), atol=1e-3)
        assert other.probability(0, 1) == pytest.approx(one.probability(0, 1), abs=1e-4)
        assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=1e-3)


def test_ratings_of_any_unit():
    base = cr.Preferences(4)
    one = cr.PreferenceGP().fit(base.with_ratings([0, 1, 2, 3], [1.0, 2.0, 4.0, 3.0]))
    for unit, shift in ((1e9, 0.0), (1e-9, 0.0), (1.0, 1e6)):
        values = unit * np.array([1.0, 2.0, 4.0, 3.0]) + shift
        other = cr.PreferenceGP().fit(base.with_ratings([0, 1, 2, 3], values))
        np.testing.assert_allclose((other.predict_rating().mean - shift) / unit, one.predict_rating().mean, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "fit", "error", "match"),
    [
        ({}, (np.array([[0, 1]]), [[np.nan], [1.0]]), DataError, r"items \[0\]"),
        ({}, (np.array([[0, 1]]), [["a"], ["b"]]), DataError, "must be numbers"),
        ({}, (np.array([[0, 1]]), [1.0, 2.0]), ParameterError, "shape"),
        ({}, (np.array([[0.5, 1.0]]), None), ParameterError, "preferences"),
        ({}, (np.array([[1, 1]]), None), ParameterError, "two different items"),
        ({}, (cr.Preferences(3), np.zeros((2, 1))), ParameterError, "one row for each of 3 items"),
        ({"kernel": RBF(1.0)}, (cr.Preferences(3), None), ParameterError, "features of the items"),
        ({"kernel": "rbf"}, (cr.Preferences(3), None), ParameterError, "kernel"),
        ({"kernel": "precomputed"}, (cr.Preferences(3), None), ParameterError, "similarities"),
        ({"noise": 0.0}, (cr.Preferences(2), None), ParameterError, "noise"),
        ({"noise": None}, (cr.Preferences(2), None), ParameterError, "unit of utility"),
        ({"link": "cauchit"}, (cr.Preferences(2), None), ParameterError, "link"),
        ({"inference": "nuts"}, (cr.Preferences(2), None), ParameterError, "inference"),
        ({"inference": "gibbs", "link": "logit"}, (cr.Preferences(2), None), ParameterError, "logit"),
        ({"optimizer": "adam"}, (cr.Preferences(2), None), ParameterError, "optimizer"),
        ({"user_deviation": -1.0}, (cr.Preferences(2), None), ParameterError, "user_deviation"),
        ({"n_draws": 0}, (cr.Preferences(2), None), ParameterError, "n_draws"),
        (
            {"inference": "ep", "link": "logit"},
            (cr.Preferences(3).with_choice(0, [0, 1, 2]), None),
            ParameterError,
            "Luce",
        ),
        ({"inference": "gibbs"}, (cr.Preferences(2).with_duel(0, 1, count=0.5), None), ParameterError, "whole numbers"),
        ({"inference": "gibbs"}, (cr.Preferences(2).with_duel(0, 1, count=1e12), None), ParameterError, "in all"),
    ],
)
def test_bad_input_is_named(options, fit, error, match):
    with pytest.raises(error, match=match):
        cr.PreferenceGP(**options).fit(*fit)


def test_what_is_not_known_is_said():
    model = cr.PreferenceGP().fit(cr.Preferences(["a", "b"]).with_duel("a", "b"))
    with pytest.raises(ParameterError, match="one of the 2 items"):
        model.predict("c")
    with pytest.raises(UnavailableError, match="features"):
        model.predict(np.zeros((1, 2)))
    with pytest.raises(UnavailableError, match="rating"):
        model.predict_rating()
    with pytest.raises(UnavailableError, match="grade"):
        model.predict_grade()
    with pytest.raises(ParameterError, match="as many as a"):
        model.duel(["a", "b"], ["a", "b", "a"])
    with pytest.raises(ParameterError, match="mass"):
        model.duel("a", "b").interval(1.0)


def test_many_duels_cost_what_their_counts_do():
    rng = np.random.default_rng(0)
    f = rng.normal(size=50)
    a = rng.integers(50, size=100_000)
    b = (a + rng.integers(1, 50, size=a.size)) % 50
    win = rng.random(a.size) < scipy.special.ndtr((f[a] - f[b]) / np.sqrt(2.0))
    duels = np.column_stack([np.where(win, a, b), np.where(win, b, a)])
    history = cr.Preferences(50).with_duels(duels[:, 0], duels[:, 1])
    assert counted(history).kind.size <= 50 * 49
    model = cr.PreferenceGP(link="probit").fit(history)
    assert model.result_.inference == "ep"
    assert np.corrcoef(model.predict(), f)[0, 1] > 0.999


def test_many_items_few_duels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    a, b = rng.integers(1000, size=30), rng.integers(1000, 2000, size=30)
    win = X[a, 0] > X[b, 0]
    model = cr.PreferenceGP().fit(np.column_stack([np.where(win, a, b), np.where(win, b, a)]), X)
    assert len(model.belief_.rows) <= 60
    assert model.predict().shape == (2000,)
    assert np.corrcoef(model.predict(), X[:, 0])[0, 1] > 0.7


def test_a_frame_is_read_by_its_index():
    import pandas as pd

    X = pd.DataFrame({"size": [0.0, 1.0, 3.0]}, index=["a", "b", "c"])
    history = cr.Preferences(["a", "b", "c"]).with_duels(["a", "b"], ["b", "c"])
    stated = cr.PreferenceGP().fit(history, X.to_numpy())
    shuffled = cr.PreferenceGP().fit(history, X.loc[["c", "a", "b"]])
    assert shuffled.probability("a", "c") == stated.probability("a", "c") > 0.5
    with pytest.raises(ParameterError, match="one row an item"):
        cr.PreferenceGP().fit(history, X.loc[["c", "a"]])


def test_chains_that_have_not_settled_warn():
    with pytest.warns(ConvergenceWarning, match="n_draws"):
        cr.PreferenceGP(link="probit", inference="gibbs", n_draws=20, random_state=0).fit(np.array([[0, 1], [1, 2]]))
