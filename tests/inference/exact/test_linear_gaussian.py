"""The exact engine against dense formulas, brute-force integrals and itself in its other forms."""

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import credo as cr
from credo.blocks import ArraySource, GeneratorSource
from credo.blocks.source import Block
from credo.inference.exact.accumulate import accumulate_factor, accumulate_moments
from credo.inference.exact.statistics import well_conditioned
from credo.inference.exact.summary import combine, summarise


def data(n=12, p=3, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * [1.0, 3.0, 0.2][:p] + 1.5
    return X, X @ np.arange(1.0, p + 1.0) - 0.5 + noise * rng.normal(size=n)


def dense_evidence(X, y, mean, cov, sd):
    return scipy.stats.multivariate_normal(X @ mean, X @ cov @ X.T + np.diag(np.broadcast_to(sd, len(y)) ** 2)).logpdf(
        y
    )


class TestKnownNoise:
    @pytest.mark.parametrize("n", [2, 12])  # dual and primal
    def test_matrix_prior_with_mean_matches_the_dense_formulas(self, n):
        X, y = data(n)
        rng = np.random.default_rng(5)
        root = rng.normal(size=(3, 3))
        cov, mean = root @ root.T + 0.1 * np.eye(3), rng.normal(size=3)
        sd = rng.uniform(0.3, 2.0, size=n)
        model = cr.LinearRegression(
            prior=cr.MultivariateNormal(mean, cov), noise=cr.noise.Normal(sd), fit_intercept=False
        ).fit(X, y)
        precision = np.linalg.inv(cov) + X.T @ (X / sd[:, None] ** 2)
        expected = np.linalg.solve(precision, np.linalg.solve(cov, mean) + X.T @ (y / sd**2))
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-10)
        np.testing.assert_allclose(model.posterior_.covariance, np.linalg.inv(precision), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.posterior_.sd, np.sqrt(np.diag(np.linalg.inv(precision))), rtol=1e-10)
        np.testing.assert_allclose(model.log_evidence_, dense_evidence(X, y, mean, cov, sd), rtol=1e-10)
        new = rng.normal(size=(4, 3))
        p = model.predict_distribution(new, noise_scale=0.5)
        np.testing.assert_allclose(p.epistemic, np.sum(new @ np.linalg.inv(precision) * new, axis=1), rtol=1e-9)
        np.testing.assert_allclose(p.variance, p.aleatoric + p.epistemic, rtol=1e-15)
        theta = expected + 0.1
        np.testing.assert_allclose(
            model.posterior_.log_prob(theta),
            scipy.stats.multivariate_normal(expected, np.linalg.inv(precision)).logpdf(theta),
            rtol=1e-9,
        )

    def test_an_intercept_prior_is_a_column_of_ones_with_that_prior(self):
        X, y = data()
        model = cr.LinearRegression(
            prior=cr.Normal(0.3, [1.0, 2.0, 5.0]),
            prior_intercept=cr.Normal(1.0, 0.5),
            noise=cr.noise.Normal(0.7),
        ).fit(X, y)
        full = np.column_stack([np.ones(len(y)), X])
        mean, cov = np.array([1.0, 0.3, 0.3, 0.3]), np.diag(np.square([0.5, 1.0, 2.0, 5.0]))
        precision = np.linalg.inv(cov) + full.T @ full / 0.49
        expected = np.linalg.solve(precision, np.linalg.solve(cov, mean) + full.T @ y / 0.49)
        np.testing.assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-10)
        sd = np.sqrt(np.diag(np.linalg.inv(precision)))
        np.testing.assert_allclose([model.posterior_.intercept.sd, *model.posterior_.sd], sd, rtol=1e-10)
        np.testing.assert_allclose(model.log_evidence_, dense_evidence(full, y, mean, cov, 0.7), rtol=1e-10)

    def test_the_intercept_has_its_own_variance(self):
        X, y = data()
        model = cr.LinearRegression(prior=cr.Flat(), noise=cr.noise.Normal(0.7)).fit(X, y)
        full = np.column_stack([np.ones(len(y)), X])
        covariance = 0.49 * np.linalg.inv(full.T @ full)
        np.testing.assert_allclose(model.posterior_.intercept.sd, np.sqrt(covariance[0, 0]), rtol=1e-10)
        rows = np.array([[0.0, 0.0, 0.0], [5.0, -2.0, 9.0]])
        wide = np.column_stack([np.ones(2), rows])
        np.testing.assert_allclose(
            model.predict_distribution(rows).epistemic, np.sum(wide @ covariance * wide, axis=1), rtol=1e-10
        )

    def test_a_flat_intercept_is_the_limit_of_a_wide_one(self):
        X, y = data()
        flat = cr.LinearRegression(prior=cr.Normal(0, 2), noise=cr.noise.Normal(0.7)).fit(X, y)
        sd = 1e5
        wide = cr.LinearRegression(
            prior=cr.Normal(0, 2), prior_intercept=cr.Normal(0, sd), noise=cr.noise.Normal(0.7)
        ).fit(X, y)
        np.testing.assert_allclose(flat.coef_, wide.coef_, rtol=1e-8)
        # the flat prior has density 1 where N(0, sd²) has 1/(sd √2π)
        np.testing.assert_allclose(flat.log_evidence_, wide.log_evidence_ + np.log(sd * np.sqrt(2 * np.pi)), rtol=1e-8)


class TestUnknownNoise:
    def test_flat_prior_is_classical_least_squares(self):
        X, y = data()
        model = cr.LinearRegression(prior=cr.Flat()).fit(X, y)
        full = np.column_stack([np.ones(len(y)), X])
        beta, rss, *_ = np.linalg.lstsq(full, y, rcond=None)
        df = len(y) - 4
        np.testing.assert_allclose([model.intercept_, *model.coef_], beta, rtol=1e-10)
        np.testing.assert_allclose(model.noise_scale_, np.sqrt(rss[0] / df), rtol=1e-10)
        se = np.sqrt(rss[0] / df * np.diag(np.linalg.inv(full.T @ full)))
        low, high = model.posterior_.interval(0.9)
        t = scipy.stats.t(df).ppf(0.95)
        np.testing.assert_allclose(high - low, 2 * t * se[1:], rtol=1e-9)
        p = model.predict_distribution(X[:2])
        lever = np.sum(full[:2] @ np.linalg.inv(full.T @ full) * full[:2], axis=1)
        frozen = scipy.stats.t(df, full[:2] @ beta, np.sqrt(rss[0] / df * (1 + lever)))
        np.testing.assert_allclose(p.log_prob([0.3, 2.0]), frozen.logpdf([0.3, 2.0]), rtol=1e-10)
        np.testing.assert_allclose(p.quantile([0.1, 0.7])[1], frozen.ppf(0.7), rtol=1e-9)

    def test_conjugate_prior_matches_its_closed_form(self):
        X, y = data()
        n, shape, scale = len(y), 2.5, 1.7
        rng = np.random.default_rng(3)
        root = rng.normal(size=(3, 3))
        cov, mean = root @ root.T + 0.1 * np.eye(3), rng.normal(size=3)
        model = cr.LinearRegression(prior=cr.NormalInverseGamma(mean, cov, shape, scale), fit_intercept=False).fit(X, y)
        marginal = scipy.stats.multivariate_t(X @ mean, scale / shape * (np.eye(n) + X @ cov @ X.T), df=2 * shape)
        np.testing.assert_allclose(model.log_evidence_, marginal.logpdf(y), rtol=1e-10)
        precision = np.linalg.inv(cov) + X.T @ X
        expected = np.linalg.solve(precision, np.linalg.solve(cov, mean) + X.T @ y)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-10)
        quadratic = mean @ np.linalg.solve(cov, mean) + y @ y - expected @ precision @ expected
        assert model.posterior_.belief.df == 2 * shape + n
        b_over_a = (scale + 0.5 * quadratic) / (shape + 0.5 * n)
        np.testing.assert_allclose(model.noise_scale_**2, b_over_a, rtol=1e-9)

    def test_stated_prior_matches_two_dimensional_quadrature(self):
        rng = np.random.default_rng(1)
        x = rng.normal(size=6)
        y = 1.2 * x + rng.normal(size=6)
        model = cr.LinearRegression(
            prior=cr.Normal(0.2, 0.6), noise=cr.noise.Normal(variance_prior=cr.InverseGamma(shape=2, scale=1)),
            fit_intercept=False,
        ).fit(x[:, None], y)  # fmt: skip

        # Analytic and negligible at the edges: the trapezoid rule converges exponentially.
        w, t = np.linspace(-4, 5, 1201)[:, None], np.linspace(-6, 8, 1001)
        s2 = np.exp(t)
        log_joint = scipy.stats.norm.logpdf(w, 0.2, 0.6) + scipy.stats.invgamma.logpdf(s2, 2, scale=1) + t
        for x_i, y_i in zip(x, y):
            log_joint = log_joint + scipy.stats.norm.logpdf(y_i, w * x_i, np.sqrt(s2))
        mass = np.exp(log_joint) * (w[1] - w[0]) * (t[1] - t[0])
        z = mass.sum()
        mean = (mass * w).sum() / z
        sd = np.sqrt((mass * (w - mean) ** 2).sum() / z)
        noise = (mass * s2).sum() / z
        np.testing.assert_allclose(model.log_evidence_, np.log(z), atol=1e-6)
        np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-6)
        np.testing.assert_allclose(model.posterior_.sd[0], sd, rtol=1e-6)
        np.testing.assert_allclose(model.predict_distribution([[0.0]]).aleatoric[0], noise, rtol=1e-4)

    def test_learned_ratio_matches_direct_integration(self):
        X, y = data(n=9, p=2)
        model = cr.LinearRegression().fit(X, y)
        Z = (X - X.mean(0)) / X.std(0)
        n = len(y)
        centre = np.eye(n) - 1.0 / n
        basis = np.linalg.svd(centre)[0][:, : n - 1]  # the n − 1 contrasts a flat intercept leaves
        yc = basis.T @ y

        def evidence(phi):  # φ = atan(SNR) is uniform a priori when R² ~ Beta(½, ½)
            r = np.tan(phi) ** 2 / 2
            K = basis.T @ (np.eye(n) + r * Z @ Z.T) @ basis
            quadratic = yc @ np.linalg.solve(K, yc)
            nu = n - 1
            constant = scipy.special.gammaln(nu / 2) - nu / 2 * np.log(np.pi)
            return np.exp(constant - 0.5 * np.linalg.slogdet(K)[1] - nu / 2 * np.log(quadratic)) / np.sqrt(n)

        total, _ = scipy.integrate.quad(lambda p: evidence(p) * 2 / np.pi, 0, np.pi / 2, epsabs=0, epsrel=1e-11)
        np.testing.assert_allclose(model.log_evidence_, np.log(total), atol=1e-8)

        def mean_given(phi):
            r = np.tan(phi) ** 2 / 2
            return np.linalg.solve(Z.T @ Z + np.eye(2) / r, Z.T @ (y - y.mean())) / X.std(0)

        for k in range(2):
            top, _ = scipy.integrate.quad(
                lambda p, k=k: evidence(p) * mean_given(p)[k] * 2 / np.pi, 1e-12, np.pi / 2, epsabs=0, epsrel=1e-11
            )
            np.testing.assert_allclose(model.coef_[k], top / total, rtol=1e-8)

    def test_the_gauss_nodes_stand_for_the_whole_posterior_of_the_ratio(self, monkeypatch):
        # 300 nodes in place of 24, over strong and absent signals
        import credo.inference.exact.linear_gaussian as engine

        rng = np.random.default_rng(0)
        for n, p, signal in [(6, 2, 0.0), (10, 5, 1.0), (10, 30, 0.2), (80, 5, 0.05), (80, 5, 3.0), (20, 1, 0.3)]:
            X = rng.normal(size=(n, p))
            y = signal * X.sum(axis=1) + rng.normal(size=n)
            few = cr.LinearRegression().fit(X, y).predict_distribution(2 * X[:4])
            monkeypatch.setattr(engine, "N_NODES", 300)
            many = cr.LinearRegression().fit(X, y).predict_distribution(2 * X[:4])
            monkeypatch.undo()
            np.testing.assert_allclose(few.mean, many.mean, atol=1e-8 * many.sd.min())
            np.testing.assert_allclose(few.sd, many.sd, rtol=1e-8)
            np.testing.assert_allclose(few.quantile(0.9995), many.quantile(0.9995), atol=1e-6 * many.sd.max())

    def test_evidence_sets_both_scales_at_the_maximum(self):
        X, y = data(n=40)
        model = cr.LinearRegression(prior=cr.Normal(0, None), inference="evidence").fit(X, y)

        def profile(log_noise, log_prior):
            return (
                cr.LinearRegression(prior=cr.Normal(0, np.exp(log_prior)), noise=cr.noise.Normal(np.exp(log_noise)))
                .fit(X, y)
                .log_evidence_
            )

        a, b = np.log(model.noise_scale_), np.log(model.prior_scale_)
        best = profile(a, b)
        np.testing.assert_allclose(model.log_evidence_, best, rtol=1e-12)
        for step in (1e-3, -1e-3):
            assert profile(a + step, b) < best
            assert profile(a, b + step) < best


class TestSamePosteriorEveryWay:
    def test_dual_equals_primal(self):
        X, y = data(n=8, p=3)
        prior, noise = cr.Normal(0, 1.5), cr.noise.Normal(0.7)
        wide = np.hstack([X, np.zeros((8, 9))])  # columns nothing touches: n < P
        short = cr.LinearRegression(prior=prior, noise=noise).fit(X, y)
        long = cr.LinearRegression(prior=prior, noise=noise).fit(wide, y)
        np.testing.assert_allclose(long.coef_[:3], short.coef_, rtol=1e-9)
        np.testing.assert_allclose(long.posterior_.sd[:3], short.posterior_.sd, rtol=1e-9)
        np.testing.assert_allclose(long.posterior_.sd[3:], 1.5, rtol=1e-12)
        np.testing.assert_allclose(long.log_evidence_, short.log_evidence_, rtol=1e-10)

    @pytest.mark.parametrize("prior", [None, cr.Normal(0, 1.0), cr.Flat()])
    def test_streamed_and_partial_equal_in_memory(self, prior):
        X, y = data(n=600, p=3)
        weights = np.random.default_rng(2).integers(0, 4, size=600).astype(float)
        whole = cr.LinearRegression(prior=prior).fit(X, y, weights)
        cuts = [0, 0, 1, 7, 300, 300, 599, 600]  # empty blocks, a block of one row

        def blocks():
            for a, b in itertools.pairwise(cuts):
                yield Block(X[a:b], y[a:b], weights[a:b], a)

        streamed = cr.LinearRegression(prior=prior).fit(GeneratorSource(blocks))
        partial = cr.LinearRegression(prior=prior)
        for a, b in [(0, 40), (40, 41), (41, 300), (300, 600)]:  # the first rows identify every prior here
            partial.partial_fit(X[a:b], y[a:b], weights[a:b])
        for other in (streamed, partial):
            np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-12)
            np.testing.assert_allclose(other.noise_scale_, whole.noise_scale_, rtol=1e-12)
            np.testing.assert_allclose(other.posterior_.sd, whole.posterior_.sd, rtol=1e-11)

    def test_threads_do_not_change_a_bit(self, monkeypatch):
        X, y = data(n=50_000, p=3)
        answers = []
        for threads in ("1", "2", "4"):
            monkeypatch.setenv("CREDO_NUM_THREADS", threads)
            model = cr.LinearRegression().fit(X, y)
            answers.append((model.coef_.tobytes(), model.noise_scale_, model.log_evidence_))
        assert answers[0] == answers[1] == answers[2]

    def test_moments_and_factor_agree_and_merge(self):
        X, y = data(n=200, p=3)
        moments = accumulate_moments(Block(X, y))
        factor = accumulate_factor(Block(X, y))
        np.testing.assert_allclose(factor.factor.T @ factor.factor, moments.scatter, rtol=1e-11)
        halves = [
            accumulate_factor(Block(X[:77], y[:77])),
            accumulate_moments(Block(X[77:], y[77:], None, 77)),
        ]
        joined = halves[0].merge(halves[1])
        np.testing.assert_allclose(joined.factor.T @ joined.factor, moments.scatter, rtol=1e-11)
        np.testing.assert_allclose(joined.mean, moments.mean, rtol=1e-14)

    def test_sorted_rows_that_are_ill_conditioned_only_together_keep_their_digits(self):
        # each half is well conditioned; between the halves a common shift of 1e7 makes the columns nearly collinear
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 2))
        y = X @ [1.0, -2.0] + 0.1 * rng.normal(size=400)
        X[200:] += 1e7
        halves = [
            accumulate_moments(Block(X[:200], y[:200])),
            accumulate_moments(Block(X[200:], y[200:], None, 200)),
        ]
        assert all(well_conditioned(h.scatter) for h in halves)
        together = combine(*halves)
        assert together.scatter is None
        model = cr.LinearRegression(prior=cr.Flat())
        model.partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
        exact = np.linalg.lstsq(np.column_stack([np.ones(400), X[:, 0] - X[:, 1], X[:, 0] - 5e6]), y, rcond=None)[0]
        np.testing.assert_allclose(model.coef_, [exact[1] + exact[2], -exact[1]], rtol=1e-8)

    def test_the_wide_fit_makes_nothing_of_size_p_by_p(self):
        X = np.random.default_rng(0).normal(size=(20, 3000))
        statistics = summarise(ArraySource(X, X[:, 0]))
        assert statistics.scatter is None
        assert statistics.factor.shape[0] <= 21


class TestDraws:
    def test_joint_draws_have_the_moments_of_the_posterior(self):
        # 20,000 draws: a mean is off by more than 5 of its standard errors with probability 6e-7 per comparison
        for n in (12, 2):
            X, y = data(n=n)
            noise = cr.noise.Normal(0.5)
            model = cr.LinearRegression(prior=cr.Normal(0, [1.0, 2.0, 0.5]), noise=noise).fit(X, y)
            draws = model.posterior_.sample_all(20_000, 0)
            error = model.posterior_.sd / np.sqrt(20_000)
            assert np.all(np.abs(draws["coef"].mean(0) - model.coef_) < 5 * error)
            assert abs(draws["intercept"].mean() - model.intercept_) < 5 * model.posterior_.intercept.sd / np.sqrt(2e4)
            sample_cov = np.cov(draws["coef"].T)
            np.testing.assert_allclose(sample_cov, model.posterior_.covariance, atol=0.05 * sample_cov.max())
            at = draws["coef"] @ X[0] + draws["intercept"]
            np.testing.assert_allclose(at.var(), model.predict_distribution(X[:1]).epistemic[0], rtol=0.05)
