"""`BayesianGaussianMixture`: with one component q is the posterior, so the ELBO is the evidence, exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import credo.saving
from credo.distributions import MultivariateStudentT, NormalInverseWishart
from credo.errors import ParameterError
from credo.models.mixture import BayesianGaussianMixture
from tests.models.mixture.samples import TYPES, clusters

KAPPA, DF, MEAN = 1.5, 4.0, np.array([1.0, 2.0])
PSI = np.array([[2.0, 0.3], [0.3, 1.0]])


def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 2)) @ np.array([[1, 0.5], [0, 1.0]]) + 3


def wishart_evidence(X):
    """log p(X) and the predictive, one row at a time."""
    total, belief = 0.0, NormalInverseWishart(MEAN, KAPPA, DF, PSI)

    def predictive(b):
        df = b.df - 1.0
        return MultivariateStudentT(df, b.mean, b.scale_matrix * (b.kappa + 1) / (b.kappa * df))

    for x in X:
        total += predictive(belief).log_prob(x)
        belief = belief.update(1.0, x, np.zeros((2, 2)))
    return total, predictive(belief).log_prob(X)


def gamma_evidence(X, shape, rate, mean):
    """Of rows (n, m) that share one precision, isotropic in m dimensions."""
    total, kappa, m = 0.0, KAPPA, X.shape[1]
    for x in X:
        total += stats.multivariate_t(mean, rate / shape * (kappa + 1) / kappa * np.eye(m), 2 * shape).logpdf(x)
        rate += 0.5 * kappa / (kappa + 1) * np.sum((x - mean) ** 2)
        mean, kappa, shape = (kappa * mean + x) / (kappa + 1), kappa + 1, shape + 0.5 * m
    final = stats.multivariate_t(mean, rate / shape * (kappa + 1) / kappa * np.eye(m), 2 * shape)
    return total, np.array([final.logpdf(x) for x in X])


@pytest.mark.parametrize("covariance_type", TYPES)
def test_with_one_component_the_elbo_is_the_evidence(covariance_type):
    X = rows()
    prior = {"full": PSI, "tied": PSI, "diag": np.diag(PSI), "spherical": 1.3}[covariance_type]
    model = BayesianGaussianMixture(
        covariance_type=covariance_type,
        weight_concentration_prior_type="dirichlet_distribution",
        mean_prior=MEAN,
        mean_precision_prior=KAPPA,
        degrees_of_freedom_prior=DF,
        covariance_prior=prior,
        reg_covar=0.0,
    ).fit(X)
    if covariance_type in ("full", "tied"):
        evidence, predictive = wishart_evidence(X)
    elif covariance_type == "diag":
        pairs = [gamma_evidence(X[:, [j]], DF / 2, PSI[j, j] / 2, MEAN[[j]]) for j in range(2)]
        evidence, predictive = (sum(part) for part in zip(*pairs, strict=True))
    else:
        evidence, predictive = gamma_evidence(X, DF, 1.3, MEAN)
    assert model.lower_bound_ == pytest.approx(evidence, rel=1e-12)
    np.testing.assert_allclose(model.score_samples(X), predictive, rtol=1e-10)


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("kind", ["dirichlet_process", "dirichlet_distribution"])
def test_the_elbo_rises(covariance_type, kind):
    model = BayesianGaussianMixture(
        n_components=3, covariance_type=covariance_type, weight_concentration_prior_type=kind, random_state=0,
        max_iter=3000, tol=1e-7,
    ).fit(clusters(150))  # fmt: skip
    assert model.converged_
    assert np.all(np.diff(model.lower_bounds_) > -1e-6)
    assert model.weights_.sum() == pytest.approx(1.0)


def test_the_elbo_is_below_the_evidence():
    """Two rows in one dimension, two components: the evidence is a sum over four assignments."""
    X = np.array([[0.0], [2.0]])
    gamma, psi, df, kappa = 0.7, 1.0, 3.0, 1.0
    model = BayesianGaussianMixture(
        n_components=2, weight_concentration_prior_type="dirichlet_distribution", weight_concentration_prior=gamma,
        mean_prior=[0.5], mean_precision_prior=kappa, degrees_of_freedom_prior=df, covariance_prior=[[psi]],
        reg_covar=0.0, random_state=0, tol=1e-12, max_iter=5000,
    ).fit(X)  # fmt: skip

    def marginal(values):
        total, m, k, a, b = 0.0, 0.5, kappa, df / 2, psi / 2
        for x in values:
            total += stats.t(2 * a, m, np.sqrt(b / a * (k + 1) / k)).logpdf(x)
            b += 0.5 * k / (k + 1) * (x - m) ** 2
            m, k, a = (k * m + x) / (k + 1), k + 1, a + 0.5
        return total

    together, apart = (gamma + 1) / (2 * gamma + 1) / 2, gamma / (2 * gamma + 1) / 2
    evidence = np.log(
        2 * together * np.exp(marginal([0.0, 2.0])) + 2 * apart * np.exp(marginal([0.0]) + marginal([2.0]))
    )
    assert evidence - 2.0 < model.lower_bound_ < evidence


def test_unneeded_components_empty():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (150, 2)), rng.normal(8, 1, (150, 2))])
    for kind in ("dirichlet_process", "dirichlet_distribution"):
        model = BayesianGaussianMixture(
            n_components=8, weight_concentration_prior_type=kind, weight_concentration_prior=1e-3, max_iter=2000,
            random_state=0, tol=1e-6,
        ).fit(X)  # fmt: skip
        assert np.sum(model.weights_ > 0.02) == 2


def test_attributes_are_scikit_learn_s():
    import sklearn.mixture

    X = clusters(200, k=2)
    for covariance_type in ("full", "diag", "spherical"):
        how = {"n_components": 2, "covariance_type": covariance_type, "random_state": 0, "tol": 1e-9, "max_iter": 5000}
        own = BayesianGaussianMixture(weight_concentration_prior_type="dirichlet_distribution", **how).fit(X)
        theirs = sklearn.mixture.BayesianGaussianMixture(
            weight_concentration_prior_type="dirichlet_distribution", **how
        ).fit(X)
        order, other = np.argsort(own.means_[:, 0]), np.argsort(theirs.means_[:, 0])
        assert own.covariances_.shape == theirs.covariances_.shape
        # E log|Λ| of diagonal types differs (each variance has its own Gamma here), so only "full" agrees closely
        np.testing.assert_allclose(
            own.means_[order], theirs.means_[other], atol=1e-4 if covariance_type == "full" else 0.1
        )
        np.testing.assert_allclose(own.covariance_prior_, theirs.covariance_prior_)
        np.testing.assert_allclose(own.degrees_of_freedom_[order], theirs.degrees_of_freedom_[other], atol=5.0)


def test_saved_and_loaded(tmp_path):
    X = clusters(100)
    for kind in ("dirichlet_process", "dirichlet_distribution"):
        model = BayesianGaussianMixture(n_components=2, weight_concentration_prior_type=kind, random_state=0).fit(X)
        credo.saving.save(model, tmp_path / "m.credo")
        again = credo.saving.load(tmp_path / "m.credo")
        np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))


def test_warm_start_and_single_precision():
    X = clusters(200).astype(np.float32)
    model = BayesianGaussianMixture(n_components=3, random_state=0, max_iter=500, warm_start=True).fit(X)
    assert model.means_.dtype == np.float32
    assert model.fit(X).n_iter_ <= 3
    rows, labels = model.sample(50)
    assert rows.shape == (50, 3)
    assert labels.max() <= 2


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"degrees_of_freedom_prior": 1.0}, "degrees_of_freedom_prior"),
        ({"weight_concentration_prior": 0.0}, "weight_concentration_prior"),
        ({"weight_concentration_prior_type": "pitman"}, "weight_concentration_prior_type"),
        ({"mean_precision_prior": -1.0}, "mean_precision_prior"),
        ({"mean_prior": [0.0]}, "mean_prior"),
        ({"covariance_prior": -np.eye(3)}, "covariance_prior"),
        ({"covariance_prior": 1.0}, "covariance_prior"),
    ],
)
def test_bad_priors_are_named(how, match):
    with pytest.raises(ParameterError, match=match):
        BayesianGaussianMixture(n_components=2, **how).fit(clusters(40))
