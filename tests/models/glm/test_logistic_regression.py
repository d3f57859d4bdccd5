"""`LogisticRegression` against known answers, quadrature and itself."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import scipy.special

import credo as cr
from credo.blocks import ArraySource, GeneratorSource
from credo.blocks.source import Block
from credo.errors import ConvergenceWarning, DataError, NotIdentifiedError, ParameterError, UnavailableError


def data(n=60, p=3, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * [1.0, 4.0, 0.3][:p] + 2.0
    eta = (X - 2.0) @ rng.normal(size=(p, k))
    y = np.array([rng.choice(k, p=row) for row in scipy.special.softmax(eta, axis=1)])
    return X, np.array(["a", "b", "c", "d"])[y]


class TestMode:
    def test_ridge_logistic_known_answer(self):
        # mean logistic loss + ½ λ ‖θ‖² with λ = 1 over 9 rows is the prior N(0, 1/9)
        X = np.column_stack([np.arange(-4.0, 5.0), [0, 0, 1, 0, 1, 1, 1, 0, 0]])
        y = [0, 0, 0, 1, 1, 1, 1, 1, 1]
        model = cr.LogisticRegression(prior=cr.Normal(0, 1 / 3), inference="map").fit(X, y)
        # to 30 digits by mpmath.findroot on the gradient; shared/MATHS.md has .89230405539, 1.3e-9 off in its last
        # digits
        np.testing.assert_allclose(model.intercept_, 0.892304056641784598704, rtol=1e-12)
        np.testing.assert_allclose(model.coef_[0], [0.444645693176787354, 0.0145756343296145027], rtol=1e-11)

    @pytest.mark.parametrize("k", [2, 3])
    def test_the_gradient_vanishes_at_the_mode(self, k):
        X, y = data(k=k)
        model = cr.LogisticRegression(prior=cr.Normal(0.5, 2.0), inference="map").fit(X, y)
        p = model.predict_proba(X)
        onehot = y[:, None] == model.classes_
        residual = (onehot - p)[:, 1:] if k == 2 else onehot - p
        np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-8)
        np.testing.assert_allclose(residual.T @ X, (model.coef_ - 0.5) / 4.0, atol=1e-7)

    def test_map_is_a_point_and_says_so(self):
        X, y = data()
        model = cr.LogisticRegression(prior=cr.Normal(0, 1.0), inference="map").fit(X, y)
        with pytest.raises(UnavailableError, match="point"):
            model.posterior_.sd  # noqa: B018
        with pytest.raises(UnavailableError, match="epistemic"):
            model.predict_distribution(X).epistemic  # noqa: B018
        with pytest.raises(UnavailableError):
            model.log_evidence_  # noqa: B018


class TestPosterior:
    def test_moments_evidence_and_predictive_match_quadrature(self):
        # one coefficient, no intercept, 8 rows: skew enough for the Gaussian at the mode to be wrong by .2 sd
        x = np.array([-1.0, 0.5, 0.8, 1.2, 1.5, 2.0, 2.5, 3.0])
        y = np.array([0, 0, 1, 1, 1, 1, 1, 1])
        model = cr.LogisticRegression(prior=cr.Normal(0, 3.0), fit_intercept=False).fit(x[:, None], y)

        def joint(w):
            log_lik = np.sum(np.where(y == 1, -np.logaddexp(0, -w * x), -np.logaddexp(0, w * x)))
            return np.exp(log_lik - 0.5 * (w / 3) ** 2) / (3 * np.sqrt(2 * np.pi))

        def integral(f):
            return scipy.integrate.quad(lambda w: f(w) * joint(w), -20, 30, epsabs=1e-14, limit=200)[0]

        z = integral(lambda w: 1.0)
        mean = integral(lambda w: w) / z
        sd = np.sqrt(integral(lambda w: (w - mean) ** 2) / z)
        # 4,096 lattice points: within three of the standard errors that as many random draws would have
        assert abs(model.coef_[0, 0] - mean) < 3 * sd / 64
        np.testing.assert_allclose(model.posterior_.sd[0, 0], sd, rtol=3 / np.sqrt(2 * 4096))
        np.testing.assert_allclose(model.log_evidence_, np.log(z), atol=3 / 64)
        assert abs(model.mode_[0, 0] - mean) > 0.15 * sd
        for row in (0.7, -2.0):
            p = integral(lambda w, row=row: scipy.special.expit(w * row)) / z
            np.testing.assert_allclose(model.predict_proba([[row]])[0, 1], p, atol=0.01)

    def test_learned_scale_matches_integration_over_both(self):
        rng = np.random.default_rng(2)
        x = rng.normal(size=40)
        y = (rng.random(40) < scipy.special.expit(1.5 * x)).astype(int)
        model = cr.LogisticRegression(fit_intercept=False).fit(x[:, None], y)
        scale = np.sqrt(np.mean(x**2))

        def joint(w, log_tau):
            tau = np.exp(log_tau)
            log_lik = np.sum(np.where(y == 1, -np.logaddexp(0, -w * x), -np.logaddexp(0, w * x)))
            sd = tau / scale
            prior = np.exp(-0.5 * (w / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
            hyper = np.sqrt(2 / np.pi) * np.exp(-0.5 * (tau / 3) ** 2) / 3 * tau  # τ ~ half-Normal(3), in log τ
            return np.exp(log_lik) * prior * hyper

        def integral(f):
            return scipy.integrate.dblquad(lambda w, t: f(w) * joint(w, t), -4, 8, -3, 6, epsrel=1e-7)[0]

        z = integral(lambda w: 1.0)
        mean = integral(lambda w: w) / z
        sd = np.sqrt(integral(lambda w: (w - mean) ** 2) / z)
        assert abs(model.coef_[0, 0] - mean) < 4 * sd / 64
        np.testing.assert_allclose(model.log_evidence_, np.log(z), atol=0.05)

    def test_multinomial_with_two_classes_agrees_with_binary(self):
        # softmax over two classes with N(0, s²) on each is σ with N(0, 2 s²) on the difference
        X, y = data(k=3)
        keep = y != "c"
        binary = cr.LogisticRegression(prior=cr.Normal(0, np.sqrt(2.0)), inference="map").fit(X[keep], y[keep])
        from credo.distributions.likelihoods import CategoricalLogit
        from credo.models.glm.equations import Design, accumulate
        from credo.models.glm.laplace import fit_mode
        from credo.models.glm.prior import GlmPrior, PredictorPrior
        from credo.models.priors import resolve_prior

        design = Design(CategoricalLogit(2), True, X[keep].mean(axis=0), np.ones(3), np.array(["a", "b"]))
        (block,) = design.prepare(ArraySource(X[keep], y[keep]))
        whitening = resolve_prior("", cr.Normal(0, 1.0), np.ones(3)).whitening
        prior = GlmPrior((PredictorPrior(whitening, False, None, True, design.centre),) * 2, softmax=True)
        fit = fit_mode(lambda t: accumulate(block, t, design), prior, np.zeros(8))
        theta = fit.position.reshape(2, 4)
        np.testing.assert_allclose(theta[1, 1:] - theta[0, 1:], binary.coef_[0], rtol=1e-6)

    @pytest.mark.parametrize("k", [2, 3])
    def test_entropy_splits(self, k):
        X, y = data(k=k)
        p = cr.LogisticRegression(prior=cr.Normal(0, 2.0)).fit(X, y).predict_distribution(X)
        np.testing.assert_allclose(p.probabilities.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(p.entropy, p.aleatoric + p.epistemic, rtol=1e-12)
        assert np.all(p.epistemic >= 0)
        far = cr.LogisticRegression(prior=cr.Normal(0, 2.0)).fit(X[:20], y[:20]).predict_distribution(X)
        assert far.epistemic.mean() > p.epistemic.mean()

    def test_units_do_not_matter_to_the_default(self):
        X, y = data()
        one = cr.LogisticRegression().fit(X, y)
        other = cr.LogisticRegression().fit(X * [1e6, 1e-6, 1.0] + [0, 1, 1e4], y)
        np.testing.assert_allclose(
            one.predict_proba(X), other.predict_proba(X * [1e6, 1e-6, 1.0] + [0, 1, 1e4]), rtol=1e-5
        )

    def test_a_failed_certificate_is_loud_for_laplace_and_climbs_for_auto(self):
        # separated rows under a wide prior: the posterior is a cone, not a Gaussian
        X = np.random.default_rng(0).normal(size=(12, 6))
        y = (X[:, 0] > 0.0).astype(int)
        with pytest.warns(ConvergenceWarning, match="Pareto"):
            laplace = cr.LogisticRegression(prior=cr.Normal(0, 30.0), inference="laplace").fit(X, y)
        assert laplace.result_.status == "not_certified"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            auto = cr.LogisticRegression(prior=cr.Normal(0, 30.0)).fit(X, y)
        assert auto.result_.inference == "hmc"
        assert "k̂" in auto.result_.message
        assert "rhat" in auto.result_.certificate

    @pytest.mark.parametrize(("k", "prior"), [(2, None), (3, None), (2, cr.Normal(0, 1.0))])
    def test_laplace_and_hmc_agree_where_both_are_certified(self, k, prior):
        X, y = data(n=150, k=k)
        laplace = cr.LogisticRegression(prior=prior, inference="laplace").fit(X, y)
        sampled = cr.LogisticRegression(prior=prior, inference="hmc").fit(X, y)
        assert laplace.result_.ok
        assert sampled.result_.ok
        # 5 combined standard errors: a false alarm in 1e5 runs
        error = sampled.posterior_.sd * np.sqrt(
            1 / laplace.result_.certificate["ess"] + 1 / sampled.result_.certificate["ess_bulk"]
        )
        assert np.all(np.abs(laplace.coef_ - sampled.coef_) < 5 * error)
        np.testing.assert_allclose(laplace.posterior_.sd, sampled.posterior_.sd, rtol=0.15)


class TestSeparation:
    def test_a_flat_prior_is_refused_and_the_columns_named(self):
        X, _ = data()
        y = X[:, 1] > 2.0
        with pytest.raises(NotIdentifiedError, match=r"separated from the others by .*x1"):
            cr.LogisticRegression(prior=cr.Flat()).fit(X, y)
        assert cr.LogisticRegression().fit(X, y).score(X, y) > 0.9

    def test_a_source_of_blocks_is_refused_alike(self):
        X, _ = data()
        with pytest.raises(NotIdentifiedError, match=r"separated from the others by .*x1"):
            cr.LogisticRegression(prior=cr.Flat()).fit(ArraySource(X, X[:, 1] > 2.0, block_rows=13))

    def test_quasi_separation_is_found(self):
        x = np.array([0.0, 1, 2, 3, 3, 4, 5, 6])[:, None]
        y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
        with pytest.raises(NotIdentifiedError, match="separated"):
            cr.LogisticRegression(prior=cr.Flat()).fit(x, y)

    def test_overlapping_classes_are_not_refused(self):
        X, y = data()
        model = cr.LogisticRegression(prior=cr.Flat()).fit(X, y)
        assert np.all(np.isfinite(model.coef_))


class TestBlocks:
    @pytest.mark.parametrize("k", [2, 3])
    def test_streamed_equals_in_memory(self, k):
        X, y = data(n=400, k=k)
        weights = np.random.default_rng(1).integers(0, 3, size=400).astype(float)
        cuts = [0, 0, 5, 130, 131, 400]  # an empty block, blocks with a class missing

        def blocks():
            for a, b in pairwise(cuts):
                yield Block(X[a:b], y[a:b], weights[a:b], a)

        for prior in (cr.Normal(0, 1.0), None):
            whole = cr.LogisticRegression(prior=prior).fit(X, y, weights)
            streamed = cr.LogisticRegression(prior=prior).fit(GeneratorSource(blocks))
            small = cr.LogisticRegression(prior=prior).fit(ArraySource(X, y, weights, block_rows=37))
            for other in (streamed, small):
                np.testing.assert_allclose(other.mode_, whole.mode_, rtol=1e-9)
                np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-7)

    def test_weights_count_rows(self):
        X, y = data()
        w = np.random.default_rng(3).integers(0, 3, size=len(y))
        weighted = cr.LogisticRegression().fit(X, y, w)
        repeated = cr.LogisticRegression().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(weighted.mode_, repeated.mode_, rtol=1e-8)


class TestErrors:
    def test_named_errors(self):
        X, y = data()
        with pytest.raises(DataError, match="one class"):
            cr.LogisticRegression().fit(X, np.zeros(len(X)))
        with pytest.raises(ParameterError, match="inference must be one of"):
            cr.LogisticRegression(inference="nuts!").fit(X, y)
        with pytest.raises(ParameterError, match="prior must be"):
            cr.LogisticRegression(prior=cr.NormalInverseGamma(0.0, 1.0, 2.0, 2.0)).fit(X, y)


def test_save_and_load(tmp_path):
    X, y = data(k=3)
    model = cr.LogisticRegression(prior=cr.Normal(0, 2.0)).fit(X, y)
    cr.save(model, tmp_path / "m.credo")
    other = cr.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert other.predict(X).tolist() == model.predict(X).tolist()
