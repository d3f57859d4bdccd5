"""Choosing rows with real models: closed forms against refits, batches, refusals."""

import numpy as np
import pytest

import credo as cr
from credo.design.active import remaining, scores, select
from credo.design.active.beliefs import joint_covariance
from credo.errors import DataError, ParameterError, UnavailableError
from credo.prediction import ClassPredictive, LawDraws

RNG = np.random.default_rng(0)
X = RNG.normal(size=(15, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=15)
POOL = RNG.normal(size=(12, 3))
LABELS = np.array(["a", "b", "c"])[np.argmax(X + 0.5 * RNG.normal(size=(15, 3)), axis=1)]


@pytest.fixture(scope="module")
def classifier():
    return cr.LogisticRegression(prior=cr.Normal(0, 1), inference="laplace").fit(X, LABELS)


def test_scores_are_the_parts_of_the_predictive(classifier):
    p = classifier.predict_distribution(POOL)
    np.testing.assert_array_equal(scores(classifier, POOL), p.epistemic)
    np.testing.assert_array_equal(scores(classifier, POOL, "entropy"), p.entropy)
    top = np.sort(p.probabilities, axis=1)
    np.testing.assert_allclose(scores(classifier, POOL, "margin"), 1 - top[:, -1] + top[:, -2])
    line = cr.LinearRegression().fit(X, Y)
    p = line.predict_distribution(POOL)
    np.testing.assert_array_equal(scores(line, POOL, "variance"), p.epistemic)
    np.testing.assert_allclose(scores(line, POOL), 0.5 * np.log(p.variance / p.aleatoric))
    own = scores(line, POOL, lambda model, rows: rows[:, 0])
    assert int(select(line, POOL, by=lambda model, rows: rows[:, 0])[0]) == int(np.argmax(own))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_covariance_by_the_normal_equations(fit_intercept):
    model = cr.LinearRegression(prior=cr.Normal(0, 2.0), noise=cr.noise.Normal(0.3), fit_intercept=fit_intercept)
    model.fit(X, Y)
    design, new = X, POOL
    precision = np.eye(3) / 4.0
    if fit_intercept:
        design, new = np.column_stack([np.ones(15), X]), np.column_stack([np.ones(12), POOL])
        precision = np.diag([0.0, 0.25, 0.25, 0.25])
    exact = new @ np.linalg.inv(precision + design.T @ design / 0.09) @ new.T
    covariance = joint_covariance(model, POOL)
    np.testing.assert_allclose(covariance, exact, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(np.diag(covariance), model.predict_distribution(POOL).epistemic, rtol=1e-9)


def test_learned_scales_keep_the_diagonal():
    model = cr.LinearRegression().fit(X, Y)  # prior and noise scale integrated over
    np.testing.assert_allclose(
        np.diag(joint_covariance(model, POOL)), model.predict_distribution(POOL).epistemic, rtol=1e-8
    )


@pytest.mark.parametrize("kind", ["linear", "gp"])
def test_look_ahead_is_what_a_refit_finds(kind):
    """The posterior variance given a label does not depend on the label: refit with any, and compare."""
    if kind == "linear":
        make = lambda: cr.LinearRegression(prior=cr.Normal(0, 2.0), noise=cr.noise.Normal(0.3))
    else:
        make = lambda: cr.GaussianProcessRegressor(cr.kernels.RBF(1.5), noise=0.3, optimizer=None)
    before = make().fit(X, Y)
    found = scores(before, POOL, "reduction")
    # units of y are learned from the rows by the process, so the made-up label is the mean
    expected = []
    for i in range(len(POOL)):
        label = before.predict(POOL[i : i + 1])
        after = make().fit(np.vstack([X, POOL[i : i + 1]]), np.append(Y, label))
        fall = before.predict_distribution(POOL).epistemic - after.predict_distribution(POOL).epistemic
        expected.append(fall.mean())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-10)
    assert int(select(before, POOL, by="reduction")[0]) == int(np.argmax(expected))


def test_draws_stand_in_for_a_covariance():
    class Drawn:
        def predict_distribution(self, rows):
            return cr.prediction.NormalPredictive(np.zeros(len(rows)), np.ones(len(rows)), np.ones(len(rows)))

        def law_draws(self, rows):
            slopes = np.array([[-1.0], [1.0]])
            return LawDraws(np.array([0.5, 0.5]), lambda at: cr.Normal(slopes * rows[at, 0], 1.0), len(rows))

    rows = np.array([[1.0], [2.0]])
    np.testing.assert_allclose(joint_covariance(Drawn(), rows), [[1.0, 2.0], [2.0, 4.0]])


def test_batches_are_spread(classifier):
    doubled = np.repeat(POOL, 3, axis=0)
    line = cr.LinearRegression(prior=cr.Normal(0, 2), noise=cr.noise.Normal(0.01)).fit(X[:2], Y[:2])
    for by in ("bald", "variance", "reduction"):  # two directions that the rows leave open: two labels
        assert len({i // 3 for i in select(line, doubled, 2, by, 0).tolist()}) == 2, by
    together = select(classifier, doubled, 4, "bald", 0)  # a copy may be worth a second label, not a third
    assert len(set(together.tolist())) == 4
    assert len({i // 3 for i in together.tolist()}) >= 3
    plain = select(line, doubled, 3, "bald", 0, diversity=None)
    assert len({i // 3 for i in plain.tolist()}) == 1
    means = select(classifier, doubled, 4, "entropy", 0)  # k-means++ seeding
    assert len({i // 3 for i in means.tolist()}) == 4
    large = select(classifier, doubled, 9, "bald", 0)  # 3⁹ outcomes are too many: k-means++ again
    assert len(set(large.tolist())) == 9
    np.testing.assert_array_equal(large, select(classifier, doubled, 9, "bald", 0))


def test_a_model_without_draws():
    model = cr.GaussianNB().fit(X, LABELS)
    assert len(set(select(model, POOL, 3, rng=0).tolist())) == 3
    with pytest.raises(UnavailableError, match="law_draws"):
        select(model, POOL, 3, diversity="kmeans", rng=0)


def test_ties_do_not_follow_the_pool():
    line = cr.LinearRegression().fit(X, Y)
    same = np.repeat(POOL[:1], 50, axis=0)
    assert len({int(select(line, same, rng=s)[0]) for s in range(20)}) > 5
    assert sorted(select(line, POOL, 12, "random", 0).tolist()) == list(range(12))


def test_bald_ignores_noise_and_entropy_does_not():
    class Coin:  # row 0 a coin known to be fair, row 1 one that is double-headed or double-tailed
        def predict_distribution(self, rows):
            return ClassPredictive(np.full((2, 2), 0.5), ["h", "t"], np.array([np.log(2), 0.0]))

    assert scores(Coin(), np.zeros((2, 1))).tolist() == [0.0, np.log(2)]
    assert np.ptp(scores(Coin(), np.zeros((2, 1)), "entropy")) == 0.0


def test_remaining(classifier):
    early = remaining(classifier, POOL)
    assert not early.stop
    p = classifier.predict_distribution(POOL)
    assert early.share == pytest.approx(p.epistemic.mean() / p.entropy.mean())
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2000, 2))
    late = cr.LinearRegression().fit(rows, rows[:, 0] + rng.normal(size=2000))
    assert remaining(late, rows).stop
    assert remaining(late, rows).share == pytest.approx(3 / 2000, rel=0.2)


def test_what_is_refused(classifier):
    line = cr.LinearRegression().fit(X, Y)
    plugged_in = cr.LinearRegression(prior=cr.Normal(0, 1), noise=cr.noise.Normal(0.3), inference="map")
    for call, error, match in [
        (lambda: select(line, POOL, 0), ParameterError, "1 to the 12 rows"),
        (lambda: select(line, POOL, 13), ParameterError, "1 to the 12 rows"),
        (lambda: select(line, POOL[:0]), DataError, "no rows"),
        (lambda: select(line, POOL, by="best"), ParameterError, "'entropy'"),
        (lambda: select(line, POOL, by="entropy"), ParameterError, "for numbers"),
        (lambda: select(line, POOL, by="margin"), ParameterError, "for numbers"),
        (lambda: select(classifier, POOL, 3, by="reduction", diversity="joint"), ParameterError, "of classes"),
        (lambda: select(classifier, POOL, 3, by="entropy", diversity="joint"), ParameterError, "kmeans"),
        (lambda: select(line, POOL, 2, diversity="some"), ParameterError, "diversity"),
        (lambda: select(line, np.zeros((5000, 3)), 2, "reduction"), ParameterError, "4096 rows"),
        (lambda: select(line, POOL, by=lambda model, rows: [1.0]), ParameterError, "12 numbers"),
        (lambda: select(object(), POOL), ParameterError, "predict_distribution"),
        (lambda: remaining(line, POOL, 2.0), ParameterError, "tolerance"),
        (lambda: scores(cr.LinearRegression().fit(X, np.column_stack([Y, Y])), POOL), ParameterError, "one target"),
        (lambda: scores(plugged_in.fit(X, Y), POOL),
         UnavailableError, "MAP|epistemic|point"),
    ]:  # fmt: skip
        with pytest.raises(error, match=match):
            call()


def test_variance_of_classes_and_its_fall_by_brute_force(classifier):
    """Each label is imagined, the draws reweighted, and the variances counted again."""
    draws = classifier.law_draws(POOL)
    p, w = np.asarray(draws.means()), draws.weights

    def variance(weights):
        mean = np.tensordot(weights, p, axes=1)
        return np.tensordot(weights, np.square(p - mean), axes=1).sum(axis=1)

    before = variance(w)
    np.testing.assert_allclose(scores(classifier, POOL, "variance"), before, rtol=1e-9)
    fall = np.zeros(len(POOL))
    for i in range(len(POOL)):
        for k in range(3):
            given = w * p[:, i, k]
            fall[i] += given.sum() * np.mean(before - variance(given / given.sum()))
    np.testing.assert_allclose(scores(classifier, POOL, "reduction"), fall, rtol=1e-8)
    assert len(set(select(classifier, POOL, 3, by="reduction", rng=0).tolist())) == 3


def test_models_of_ones_own_and_formulas_choose_rows_too():
    line = cr.LinearRegression(prior=cr.Normal(0, 10), noise=cr.noise.Normal(0.3), fit_intercept=False).fit(X[:, :1], Y)
    m = cr.Model()
    x, w = m.data("x", X[:, 0], dims="row"), m.latent("w", cr.Normal(0, 10))
    m.observed("y", cr.Normal(w * x, 0.3), Y, dims="row")
    posterior = m.fit(random_state=0)
    new = {"x": POOL[:, 0]}
    np.testing.assert_allclose(  # of draws, whose variance has a relative error of √(2/1000)
        scores(posterior, new, "variance"), scores(line, POOL[:, :1], "variance"), rtol=0.3
    )
    assert select(posterior, new, n=3, by="bald", rng=0)[0] == select(line, POOL[:, :1], n=3, by="bald", rng=0)[0]
    with pytest.raises(ParameterError, match="mapping of names of data nodes"):
        select(posterior, POOL[:, :1])
    formula = cr.regress("y ~ x", {"y": Y, "x": X[:, 0]}, random_state=0)
    for by in ("bald", "variance", "reduction"):
        assert len(set(select(formula, new, n=3, by=by, rng=0).tolist())) == 3
    kernel = cr.KernelRidge().fit(X, Y)  # no draws: the best scores
    chosen = select(kernel, POOL, n=3, by="variance", rng=0)
    assert set(chosen.tolist()) == set(np.argsort(scores(kernel, POOL, "variance"))[-3:].tolist())


def test_scores_do_not_offer_what_they_refuse() -> None:
    """Chance has no score: it is a way to select only."""
    model = cr.LinearRegression().fit(X, Y)
    with pytest.raises(ParameterError, match="for select, or 'random'"):
        scores(model, POOL, "random")
