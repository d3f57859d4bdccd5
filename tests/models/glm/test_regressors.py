"""Count, Gamma and ordinal regressions against other tools, quadrature and themselves."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.utils.estimator_checks import (
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
    parametrize_with_checks,
)

import credo as cr
from credo.blocks import ArraySource, GeneratorSource
from credo.blocks.source import Block
from credo.errors import DataError, DataWarning, NotIdentifiedError, ParameterError, UnavailableError
from credo.models.glm import GammaRegression, NegativeBinomialRegression, OrdinalRegression, PoissonRegression, sampling

X = np.column_stack([np.arange(10.0) / 4, [1, 0, 0, 1, 1, 0, 1, 0, 1, 0]])
Y = np.array([0, 2, 1, 3, 2, 5, 4, 9, 8, 15])
EXPOSURE = np.array([1, 1, 2, 1, 1, 2, 1, 2, 1, 2.0])


def data(kind, n=200, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)) * [1.0, 4.0, 0.3] + 2.0
    eta = 0.5 + (rows - 2.0) @ [0.5, -0.1, 1.0]
    if kind is OrdinalRegression:
        return rows, np.digitize(2.0 * eta + rng.logistic(size=n), [0.0, 1.0, 3.0])
    mean = np.exp(eta)
    if kind is PoissonRegression:
        return rows, rng.poisson(mean)
    if kind is NegativeBinomialRegression:
        return rows, rng.poisson(mean * rng.gamma(2.0, 0.5, size=n))
    return rows, rng.gamma(3.0, mean / 3.0)


@pytest.fixture
def short_chains(monkeypatch):
    """For what is asked of an estimator's manners, not of its answers."""
    for name, length in (("WARMUP", 60), ("DRAWS", 60), ("NUTS_WARMUP", 60), ("NUTS_DRAWS", 60)):
        monkeypatch.setattr(sampling, name, length)


EVERY = [PoissonRegression, NegativeBinomialRegression, GammaRegression, OrdinalRegression]


# A Gamma's shape is stated: two of the checks fit rows exactly, which is refused where it is learned
# (test_every_estimator). The outcomes for counts are not whole numbers, and few rows may not certify
# chains: both are said.
@pytest.mark.usefixtures("short_chains")
@pytest.mark.filterwarnings("ignore::credo.errors.DataWarning", "ignore::credo.errors.ConvergenceWarning")
@parametrize_with_checks([kind(shape=2.0) if kind is GammaRegression else kind() for kind in EVERY])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# Where the dispersion is learned too, `make calibrate` does (conftest.py).
@pytest.mark.filterwarnings("ignore::credo.errors.DataWarning", "ignore::credo.errors.ConvergenceWarning")
@pytest.mark.parametrize("check", [check_estimator_sparse_array, check_estimator_sparse_matrix])
def test_sparse_input_of_a_known_dispersion(check):
    check("NegativeBinomialRegression", NegativeBinomialRegression(dispersion=2.0))


class TestMode:
    # statsmodels 0.14 GLM(y, [1, X], family, offset).fit(tol=1e-14): Poisson(); NegativeBinomial(alpha=0.5);
    # Gamma(Log()) of y + ½. Its own answers are good to about 1e-10.
    @pytest.mark.parametrize(
        ("model", "y", "offset", "expected"),
        [
            (PoissonRegression(), Y, np.log(EXPOSURE), [-0.5223981286688117, 1.140685811254875, 0.2734148797880886]),
            (
                NegativeBinomialRegression(dispersion=2.0),
                Y,
                np.log(EXPOSURE),
                [-0.4476806591455696, 1.1270999360865734, 0.1851633216044525],
            ),
            (GammaRegression(shape=3.0), Y + 0.5, None, [0.2840058004331326, 1.1259216304937922, -0.3803659500508171]),
        ],
    )
    def test_flat_mode_is_maximum_likelihood(self, model, y, offset, expected):
        model.set_params(prior=cr.Flat(), inference="map").fit(X, y, offset=offset)
        np.testing.assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-8)

    @pytest.mark.parametrize(
        ("ours", "theirs"), [(PoissonRegression, PoissonRegressor), (GammaRegression, GammaRegressor)]
    )
    def test_ridge_mode_is_scikit_learns(self, ours, theirs):
        # mean half-deviance + ½ α‖w‖² is the prior N(0, 1/(n α)), times the shape for a Gamma
        rows, y = data(ours)
        options = {"shape": 1.0} if ours is GammaRegression else {}
        model = ours(prior=cr.Normal(0, 1 / np.sqrt(len(y) * 0.1)), inference="map", **options).fit(rows, y)
        other = theirs(alpha=0.1, solver="newton-cholesky", tol=1e-10).fit(rows, y)
        np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-7)
        np.testing.assert_allclose(model.score(rows, y), other.score(rows, y), rtol=1e-7)

    @pytest.mark.parametrize("link", ["logit", "probit"])
    def test_ordinal_mode_by_another_optimiser(self, link):
        rows, y = data(OrdinalRegression)
        model = OrdinalRegression(prior=cr.Normal(0, 2.0), link=link, inference="map").fit(rows, y)
        law = {"logit": scipy.stats.logistic, "probit": scipy.stats.norm}[link]
        centred = rows - rows.mean(axis=0)

        def loss(theta):
            cuts = np.cumsum(np.r_[theta[3], np.exp(theta[4:])])
            edges, eta = np.r_[-np.inf, cuts, np.inf], centred @ theta[:3]
            with np.errstate(divide="ignore"):
                value = np.log(law.cdf(edges[y + 1] - eta) - law.cdf(edges[y] - eta)).sum()
            # uniform on the simplex of the level probabilities at the means
            value += law.logpdf(cuts).sum() + theta[4:].sum() - 0.5 * np.square(theta[:3] / 2.0).sum()
            return -value

        cuts = model.cutpoints_ - model.coef_ @ rows.mean(axis=0)
        ours = np.r_[model.coef_, cuts[0], np.log(np.diff(cuts))]
        with np.errstate(all="ignore"):  # its line search may leave the range where levels have any probability
            found = scipy.optimize.minimize(loss, ours + 0.1, tol=1e-12)
        assert loss(ours) <= found.fun + 1e-9
        np.testing.assert_allclose(ours, found.x, atol=1e-4)

    def test_counts_of_a_million(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(100, 2))
        y = rng.poisson(1e6 * np.exp(rows[:, 0]))
        model = PoissonRegression(inference="map").fit(rows, y)
        assert model.result_.n_iter < 20
        # four standard errors of about 1e-4
        np.testing.assert_allclose(model.coef_, [1.0, 0.0], atol=5e-4)


class TestPosterior:
    def test_learned_dispersion_matches_quadrature(self):
        rng = np.random.default_rng(1)
        x = rng.normal(size=30)
        y = rng.poisson(np.exp(1.0 + 0.5 * x) * rng.gamma(2.0, 0.5, size=30))
        model = NegativeBinomialRegression(prior=cr.Normal(0, 1.0), fit_intercept=False).fit(x[:, None], y)

        def joint(w, u):
            phi, mean = np.exp(u), np.exp(w * x)
            log_lik = scipy.stats.nbinom.logpmf(y, phi, phi / (phi + mean)).sum()
            # φ^(−½) ~ HalfNormal(1), in u = log φ
            prior = scipy.stats.halfnorm.logpdf(np.exp(-u / 2)) - u / 2 - np.log(2.0)
            return np.exp(log_lik + prior + scipy.stats.norm.logpdf(w) + 60.0)

        w, u = np.linspace(-1.5, 3.5, 401), np.linspace(-3, 5, 321)
        table = np.array([[joint(a, b) for b in u[::4]] for a in w[::4]])
        z = table.sum()
        mean = (w[::4] @ table.sum(axis=1)) / z
        # the mean of φ is infinite, the median is not
        shape = np.exp(np.interp(0.5, np.cumsum(table.sum(axis=0)) / z - 0.5 * table.sum(axis=0) / z, u[::4]))
        sd = np.sqrt((w[::4] - mean) ** 2 @ table.sum(axis=1) / z)
        # three of the standard errors that as many random draws would have
        assert model.result_.ok
        assert abs(model.coef_[0] - mean) < 3 * sd / 50
        assert abs(model.dispersion_ / shape - 1) < 0.05
        assert model.posterior_.summary()["dispersion"]["mean"] == np.inf
        np.testing.assert_allclose(model.posterior_.sd[0, 0], sd, rtol=0.06)
        area = (w[4] - w[0]) * (u[4] - u[0])
        np.testing.assert_allclose(model.log_evidence_, np.log(z * area) - 60.0, atol=0.05)

    @pytest.mark.parametrize("kind", EVERY)
    def test_laplace_and_chains_agree(self, kind):
        rows, y = data(kind)
        laplace, sampled = (kind(inference=name).fit(rows, y) for name in ("laplace", "hmc"))
        assert laplace.result_.ok
        assert sampled.result_.ok
        # 5 combined standard errors: a false alarm in 1e5 runs
        error = sampled.posterior_.sd[0] * np.sqrt(
            1 / laplace.result_.certificate["ess"] + 1 / sampled.result_.certificate["ess_bulk"]
        )
        assert np.all(np.abs(laplace.coef_ - sampled.coef_) < 5 * error)
        np.testing.assert_allclose(laplace.posterior_.sd, sampled.posterior_.sd, rtol=0.15)

    def test_nuts_by_name(self):
        rows, y = data(PoissonRegression, n=60)
        model = PoissonRegression(inference="nuts").fit(rows, y)
        other = PoissonRegression().fit(rows, y)
        assert model.result_.inference == "nuts"
        assert model.result_.ok
        assert np.all(np.abs(model.coef_ - other.coef_) < 0.15 * other.posterior_.sd[0])

    def test_auxiliaries_are_named(self):
        rows, y = data(OrdinalRegression)
        posterior = OrdinalRegression().fit(rows, y).posterior_
        assert posterior["cutpoints"].shape == (4000, 3)
        assert posterior.summary()["cutpoints"]["mean"].shape == (3,)
        rows, y = data(GammaRegression)
        model = GammaRegression().fit(rows, y)
        assert model.posterior_["shape"].shape == (4000,)
        assert 1.5 < model.posterior_.summary()["shape"]["lower"] < model.shape_ < 5.0
        with pytest.raises(ParameterError, match="'coef', 'intercept', 'shape'"):
            model.posterior_["dispersion"]


class TestPriors:
    def test_laplace_mode_meets_the_optimality_conditions(self):
        rows, y = data(PoissonRegression)
        model = PoissonRegression(prior=cr.Laplace(0, 0.02), inference="map").fit(rows, y)
        residual = y - np.exp(model.intercept_ + rows @ model.coef_)
        pull = rows.T @ residual
        zero = model.coef_ == 0.0
        assert model.result_.certificate["kkt_residual"] < 1e-8
        assert np.all(np.abs(pull[zero]) <= 50.0 + 1e-6)
        np.testing.assert_allclose(pull[~zero], 50.0 * np.sign(model.coef_[~zero]), atol=1e-6)
        assert abs(residual.sum()) < 1e-7

    @pytest.mark.parametrize("prior", [cr.Laplace(0, 0.1), cr.StudentT(3, 0, 0.2)])
    def test_gibbs_and_chains_on_the_marginal_agree(self, prior):
        rows, y = data(PoissonRegression, n=80)
        gibbs, marginal = (PoissonRegression(prior=prior, inference=name).fit(rows, y) for name in ("gibbs", "hmc"))
        error = gibbs.posterior_.sd[0] * np.sqrt(
            1 / gibbs.result_.certificate["ess_bulk"] + 1 / marginal.result_.certificate["ess_bulk"]
        )
        assert np.all(np.abs(gibbs.coef_ - marginal.coef_) < 5 * error)

    def test_a_wide_uniform_prior_is_flat(self):
        rows, y = data(PoissonRegression)
        wide, flat = (PoissonRegression(prior=prior).fit(rows, y) for prior in (cr.Uniform(-9, 9), cr.Flat()))
        np.testing.assert_allclose(wide.coef_, flat.coef_, atol=0.05 * flat.posterior_.sd[0].min())
        # p(y) of a uniform prior is the flat integral over its volume, so that halving the box adds 3 log 2
        half = PoissonRegression(prior=cr.Uniform(-4.5, 4.5)).fit(rows, y)
        np.testing.assert_allclose(half.log_evidence_ - wide.log_evidence_, 3 * np.log(2.0), atol=0.01)

    def test_what_cannot_be_offered_is_refused_with_the_reason(self):
        rows, y = data(PoissonRegression, n=30)
        for prior, inference, reason in [
            (cr.Laplace(0, 1), "laplace", "no curvature"),
            (cr.Laplace(0, None), "map", "scale is learned"),
            (None, "gibbs", "mixture of Normals"),
            (cr.NormalInverseGamma(0.0, 1.0, 2.0, 2.0), "auto", "prior must be"),
        ]:
            with pytest.raises(ParameterError, match=reason):
                PoissonRegression(prior=prior, inference=inference).fit(rows, y)


class TestOffsets:
    @pytest.mark.parametrize("kind", [PoissonRegression, NegativeBinomialRegression, GammaRegression])
    def test_a_constant_offset_is_the_intercepts(self, kind):
        rows, y = data(kind)
        plain, shifted = kind().fit(rows, y), kind().fit(rows, y, offset=np.full(len(y), 2.0))
        np.testing.assert_allclose(shifted.coef_, plain.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(shifted.intercept_, plain.intercept_ - 2.0, rtol=1e-7)
        np.testing.assert_allclose(shifted.predict(rows, offset=2.0), plain.predict(rows), rtol=1e-7)
        np.testing.assert_allclose(plain.predict(rows, offset=1.0), plain.predict(rows) * np.e, rtol=1e-12)

    def test_an_ordinal_offset_moves_the_cut_points(self):
        rows, y = data(OrdinalRegression)
        model = OrdinalRegression(inference="map").fit(rows, y)
        np.testing.assert_allclose(
            model.predict_proba(rows, offset=rows @ model.coef_),
            model.predict_proba(2.0 * rows),
            rtol=1e-10,
        )

    def test_bad_offsets_are_named(self):
        rows, y = data(PoissonRegression)
        with np.errstate(divide="ignore"), pytest.raises(DataError, match="exposure must be > 0"):
            PoissonRegression().fit(rows, y, offset=np.log(np.r_[0.0, np.ones(len(y) - 1)]))
        with pytest.raises(ParameterError, match="offset must be"):
            PoissonRegression().fit(rows, y, offset=np.ones(3))


class TestRows:
    @pytest.mark.parametrize("kind", EVERY)
    def test_streamed_equals_in_memory(self, kind):
        rows, y = data(kind)
        weights = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
        offset = np.linspace(-0.3, 0.3, len(y))

        def blocks():
            for a, b in pairwise([0, 0, 5, 130, 131, len(y)]):
                yield Block(rows[a:b], y[a:b], weights[a:b], a, offset[a:b])

        whole = kind().fit(rows, y, weights, offset)
        for source in (GeneratorSource(blocks), ArraySource(rows, y, weights, 37, offset=offset)):
            other = kind().fit(source)
            np.testing.assert_allclose(other.mode_, whole.mode_, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-5, atol=1e-8)

    @pytest.mark.parametrize("kind", EVERY)
    def test_weights_count_rows(self, kind):
        rows, y = data(kind)
        w = np.random.default_rng(3).integers(0, 3, size=len(y))
        weighted = kind(inference="map").fit(rows, y, w)
        repeated = kind(inference="map").fit(np.repeat(rows, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(weighted.mode_, repeated.mode_, rtol=1e-6)

    @pytest.mark.parametrize("kind", EVERY)
    def test_units_do_not_matter(self, kind):
        rows, y = data(kind)
        unit = np.array([1e12, 1e-12, 1.0])
        one, other = kind().fit(rows, y), kind().fit(rows * unit, y)
        np.testing.assert_allclose(other.coef_ * unit, one.coef_, rtol=1e-6)

    def test_the_gammas_unit_is_in_the_intercept(self):
        rows, y = data(GammaRegression)
        one, other = GammaRegression().fit(rows, y), GammaRegression().fit(rows, 1e12 * y)
        np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-6)
        np.testing.assert_allclose(other.intercept_ - one.intercept_, np.log(1e12), rtol=1e-8)

    @pytest.mark.parametrize("kind", EVERY)
    def test_save_and_load(self, kind, tmp_path):
        rows, y = data(kind, n=60)
        model = kind().fit(rows, y)
        cr.save(model, tmp_path / "m.credo")
        other = cr.load(tmp_path / "m.credo")
        np.testing.assert_array_equal(other.predict(rows), model.predict(rows))
        assert other.posterior_.summary().keys() == model.posterior_.summary().keys()


class TestFailures:
    def test_all_zero_counts(self):
        for kind in (PoissonRegression, NegativeBinomialRegression):
            with pytest.raises(NotIdentifiedError, match="y is all zero"):
                kind().fit(X, np.zeros(10))
        model = PoissonRegression(prior_intercept=cr.Normal(0, 5), inference="map").fit(X, np.zeros(10))
        assert model.intercept_ < -2.0

    def test_separated_counts_and_levels_under_a_flat_prior(self):
        with pytest.raises(NotIdentifiedError, match="Counts of 0 are separated by x1"):
            PoissonRegression(prior=cr.Flat()).fit(X, np.where(X[:, 1] > 0, Y + 1, 0))
        rows = np.random.default_rng(0).normal(size=(100, 3))
        with pytest.raises(NotIdentifiedError, match=r"levels are separated by x0"):
            OrdinalRegression(prior=cr.Flat()).fit(rows, rows[:, 0] > rows[:, 0].mean())

    def test_collinear_and_constant_columns(self):
        rows = np.column_stack([X, X.sum(axis=1), np.ones(10)])
        with pytest.raises(NotIdentifiedError, match="do not determine the coefficients"):
            PoissonRegression(prior=cr.Flat()).fit(rows, Y)
        with pytest.raises(NotIdentifiedError, match="coefficients of x1 "):
            PoissonRegression(prior=cr.Flat()).fit(rows[:, [0, 3]], Y)
        assert PoissonRegression().fit(rows, Y).result_.ok

    def test_one_row_under_proper_priors(self):
        proper = {"prior": cr.Normal(0, 1), "prior_intercept": cr.Normal(0, 1)}
        assert PoissonRegression(**proper).fit(X[:1], [3]).result_.ok
        assert GammaRegression(shape=2.0, **proper).fit(X[:1], [3.0]).result_.ok
        with pytest.raises(NotIdentifiedError, match="has no mode"):
            GammaRegression(inference="map", **proper).fit(X[:1], [3.0])

    def test_outcomes_are_checked_and_rows_named(self):
        with pytest.raises(DataError, match="in row 3"):
            PoissonRegression().fit(X, np.r_[1, 2, 3, -1, np.ones(6)])
        with pytest.raises(DataError, match="in row 0"):
            GammaRegression().fit(X, Y)
        with pytest.warns(DataWarning, match=r"offset=np.log\(exposure\)"):
            PoissonRegression().fit(X, Y + 0.5)
        with pytest.raises(DataError, match="is not one of the levels"):
            OrdinalRegression(levels=["a", "b"]).fit(X, ["a"] * 5 + ["c"] * 5)
        with pytest.raises(ParameterError, match="link must be"):
            OrdinalRegression(link="cauchit").fit(X, Y > 3)

    def test_a_mode_has_no_spread(self):
        model = PoissonRegression(inference="map").fit(X, Y)
        with pytest.raises(UnavailableError):
            model.predict_distribution(X).epistemic  # noqa: B018
        with pytest.raises(UnavailableError):
            model.log_evidence_  # noqa: B018


def test_levels_keep_the_order_they_are_given():
    words = np.array(["low", "mid", "high"])
    rows, y = data(OrdinalRegression)
    model = OrdinalRegression(levels=words.tolist()).fit(rows, words[np.minimum(y, 2)])
    numbers = OrdinalRegression().fit(rows, np.minimum(y, 2))
    np.testing.assert_allclose(model.coef_, numbers.coef_, rtol=1e-12)
    assert model.classes_.tolist() == words.tolist()
