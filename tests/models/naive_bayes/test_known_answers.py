"""Numbers that are known from elsewhere: worked examples, the definition, enumeration, quadrature."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sklearn.naive_bayes as peer
from scipy.integrate import quad

from credo.distributions import NormalInverseGamma, StudentT
from credo.errors import ParameterError
from credo.models.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes

TENNIS = np.array(
    [
        row.split()
        for row in """sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no""".splitlines()
    ],
    dtype=object,
)  # Mitchell (1997), Machine Learning, table 3.2
X, Y = TENNIS[:, :4], TENNIS[:, 4]


@pytest.mark.parametrize("make", [lambda: CategoricalNB(equivalent_sample_size=0), lambda: NaiveBayes(alpha=0)])
def test_play_tennis_by_frequencies(make):
    """Mitchell (1997), §6.9.1."""
    model = make().fit(X, Y)
    row = [["sunny", "cool", "high", "strong"]]
    products = np.exp(model.predict_joint_log_proba(row))[0]
    np.testing.assert_allclose(products, [0.0205714286, 0.0052910053], atol=5e-11)
    assert model.predict_proba(row)[0, 0] == pytest.approx(0.7954173486, abs=5e-11)
    assert model.predict(row) == ["no"]


def test_m_estimate_is_the_mean_of_the_dirichlet_posterior():
    m, p = 3.0, [[0.2, 0.3, 0.5], [0.5, 0.25, 0.25], [0.9, 0.1], [0.4, 0.6]]
    model = CategoricalNB(equivalent_sample_size=m, prior_estimate=p).fit(X, Y)
    for j in range(4):
        for c, label in enumerate(model.classes_):
            for v, level in enumerate(model.categories_[j]):
                n_c = np.sum(label == Y)
                n = np.sum((label == Y) & (X[:, j] == level))
                assert np.exp(model.feature_log_prob_[j][c, v]) == pytest.approx((n + m * p[j][v]) / (n_c + m))
    uniform = CategoricalNB(equivalent_sample_size=[3.0, 3.0, 2.0, 2.0]).fit(X, Y)
    np.testing.assert_allclose(uniform.predict_proba(X), CategoricalNB(alpha=1.0).fit(X, Y).predict_proba(X))


def test_documents_about_china():
    """Manning, Raghavan and Schütze (2008), tables 13.1 and §13.3."""
    words = ["Beijing", "Chinese", "Japan", "Macao", "Shanghai", "Tokyo"]
    documents = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]

    def count(text):
        return [text.split().count(word) for word in words]

    counts, labels = np.array([count(text) for text in documents]), np.array(["China"] * 3 + ["Japan"])
    new = [count("Chinese Chinese Chinese Tokyo Japan")]
    bernoulli = BernoulliNB(alpha=1.0).fit(counts, labels)
    np.testing.assert_allclose(np.exp(bernoulli.feature_log_prob_[0]), [0.4, 0.8, 0.2, 0.4, 0.4, 0.2])
    assert bernoulli.predict_proba(new)[0, 0] == pytest.approx(0.19106679, abs=5e-9)
    assert MultinomialNB(alpha=1.0).fit(counts, labels).predict_proba(new)[0, 0] == pytest.approx(0.68975861, abs=5e-9)


def test_iris_training_accuracy():
    from sklearn.datasets import load_iris

    data, target = load_iris(return_X_y=True)
    model = GaussianNB(var_smoothing=0.0).fit(data, target)
    assert model.score(data, target) == pytest.approx(0.96)
    theirs = peer.GaussianNB(var_smoothing=0.0).fit(data, target)
    np.testing.assert_allclose(model.theta_, theirs.theta_, rtol=1e-13)
    np.testing.assert_allclose(model.var_, theirs.var_, rtol=1e-11)
    np.testing.assert_allclose(model.predict_joint_log_proba(data), theirs.predict_joint_log_proba(data), rtol=1e-11)


def test_missing_cells_equal_enumeration():
    """p(y, observed) is the sum of p(y, x) over every way to fill the missing cells."""
    rng = np.random.default_rng(3)
    data, target = rng.integers(0, 3, (40, 3)).astype(float), rng.integers(0, 2, 40)
    for model in (CategoricalNB().fit(data, target), NaiveBayes("categorical").fit(data, target)):
        for row in ([np.nan, 1.0, 2.0], [np.nan, np.nan, 0.0], [np.nan] * 3):
            gaps = [j for j, cell in enumerate(row) if np.isnan(cell)]
            filled = []
            for cells in itertools.product(range(3), repeat=len(gaps)):
                full = np.array(row)
                full[gaps] = cells
                filled.append(full)
            summed = np.exp(model.predict_joint_log_proba(filled)).sum(axis=0)
            np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([row]))[0], summed, rtol=1e-12)


def test_missing_cells_in_fit_are_left_out_of_their_column_only():
    data = np.array([[0.0, 1.0], [np.nan, 1.0], [1.0, np.nan], [1.0, 0.0]])
    table = CategoricalNB(alpha=1.0).fit(data, [0, 0, 1, 1]).category_count_
    assert table[0].tolist() == [[1, 0], [0, 2]]
    assert table[1].tolist() == [[0, 2], [1, 0]]
    gauss = GaussianNB(var_smoothing=0.0).fit([[1.0, 5.0], [3.0, np.nan], [2.0, 1.0], [4.0, 2.0]], [0, 0, 1, 1])
    np.testing.assert_allclose(gauss.theta_, [[2.0, 5.0], [3.0, 1.5]])


def test_gaussian_predictive_is_student_t():
    prior = NormalInverseGamma(0.5, 2.0, 1.5, 0.7)
    x, y = np.array([0.3, 1.1, -0.4, 2.0, 2.2]), np.array([0, 0, 0, 1, 1])
    model = GaussianNB(prior=prior, var_smoothing=0.0).fit(x[:, None], y)
    new = np.array([-1.0, 0.2, 3.0])
    joint = np.zeros((3, 2))
    for c in range(2):
        own = x[y == c]
        posterior = prior.update(len(own), own.mean(), ((own - own.mean()) ** 2).sum())
        scale = np.sqrt(posterior.scale / posterior.shape * (1.0 + posterior.covariance))
        joint[:, c] = np.log(len(own) / 5) + StudentT(2 * posterior.shape, posterior.mean, scale).log_prob(new)
    expected = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_distribution(new[:, None]).probabilities, expected, rtol=1e-12)


@pytest.mark.parametrize("family", ["gaussian", "student_t", "log_normal", "kde"])
def test_densities_integrate_to_one(family):
    rng = np.random.default_rng(0)
    x = np.exp(rng.normal(0, 0.5, 30))
    model = NaiveBayes(family).fit(x[:, None], np.repeat([0, 1], 15))
    edges = [1e-9, 0.5, 20.0, 400.0] if family == "log_normal" else [-400.0, -20.0, 20.0, 400.0]
    mass = sum(quad(lambda v: float(np.exp(model.log_prob([[v]])[0])), a, b, limit=200)[0]
               for a, b in itertools.pairwise(edges))  # fmt: skip
    assert mass == pytest.approx(1.0, abs=2e-4)  # what the tails of a t lose beyond 400


@pytest.mark.parametrize("family", ["poisson", "categorical", "bernoulli"])
def test_masses_sum_to_one(family):
    rng = np.random.default_rng(0)
    x = rng.poisson(1.5, 30) if family == "poisson" else rng.integers(0, 2 if family == "bernoulli" else 4, 30)
    model = NaiveBayes(family).fit(x[:, None].astype(float), np.repeat([0, 1], 15))
    values = {"poisson": 200, "bernoulli": 2, "categorical": len(np.unique(x))}[family]
    mass = np.exp(model.log_prob(np.arange(values)[:, None].astype(float))).sum()
    assert mass == pytest.approx(1.0, abs=1e-10)


def test_alpha_beside_an_equivalent_sample_size_is_an_error():
    for model in (CategoricalNB(alpha=1.0, equivalent_sample_size=2), BernoulliNB(alpha=1.0, prior_estimate=0.1)):
        with pytest.raises(ParameterError, match="alpha"):
            model.fit([[0, 1], [1, 0]], [0, 1])


def test_a_category_never_seen_has_the_prior_estimate():
    model = CategoricalNB(equivalent_sample_size=2).fit([["a"], ["b"], ["a"]], [0, 0, 1])
    joint = np.exp(model.predict_joint_log_proba([["never"]]))[0]
    np.testing.assert_allclose(joint, [2 / 3 * (2 * 0.5) / (2 + 2), 1 / 3 * (2 * 0.5) / (1 + 2)])
    assert np.all(
        np.isfinite(CategoricalNB(equivalent_sample_size=0).fit([["a"], ["b"]], [0, 1]).predict_proba([["z"]]))
    )
