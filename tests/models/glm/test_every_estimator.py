"""What all generalised linear models promise alike: little data, odd units, odd columns, weights, streams."""

from itertools import pairwise

import numpy as np
import pytest

import credo as cr
from credo.blocks import GeneratorSource
from credo.blocks.source import Block
from credo.errors import ConvergenceWarning, CredoError, NotIdentifiedError, ParameterError

N = 120
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 2))
ETA = 0.5 + X @ [0.7, -0.4]
COUNTS = RNG.poisson(np.exp(ETA))
OUTCOMES = {
    cr.LogisticRegression: (RNG.random(N) < 1 / (1 + np.exp(-ETA))).astype(int),
    cr.PoissonRegression: COUNTS,
    cr.NegativeBinomialRegression: RNG.poisson(np.exp(ETA) * RNG.gamma(3.0, 1 / 3, size=N)),
    cr.GammaRegression: RNG.gamma(3.0, np.exp(ETA) / 3.0),
    cr.OrdinalRegression: np.digitize(ETA + RNG.logistic(size=N), [-0.5, 1.0]),
}
EVERY = list(OUTCOMES)
COUNTED = [cr.PoissonRegression, cr.NegativeBinomialRegression]
PROPER = cr.Normal(0, 1)


def proper(kind, **options):
    more = {} if kind is cr.OrdinalRegression else {"prior_intercept": cr.Normal(0, 5)}
    return kind(prior=PROPER, **more, **options)


every = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)


@every
def test_auto_is_certified_and_says_by_which_rung(kind):
    model = kind().fit(X, OUTCOMES[kind])
    assert model.result_.ok
    assert model.result_.inference == "laplace"
    assert model.result_.certificate["pareto_k"] < 0.7
    # truth within four posterior sds: a false alarm in 16,000 a coefficient
    assert np.all(np.abs(np.ravel(model.coef_) - [0.7, -0.4]) < 4 * model.posterior_.sd[0])


@every
def test_one_row(kind):
    """Under proper priors a posterior, which is near the prior; of classes an error, since one class says nothing."""
    y = OUTCOMES[kind][:1]
    if kind in (cr.LogisticRegression, cr.OrdinalRegression):
        with pytest.raises(CredoError, match="two classes"):
            proper(kind).fit(X[:1], y)
        return
    stated = {cr.NegativeBinomialRegression: {"dispersion": 2.0}, cr.GammaRegression: {"shape": 2.0}}.get(kind, {})
    model = proper(kind, **stated).fit(X[:1], y)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(model.posterior_.sd[0] <= 1.05)
    assert np.all(np.isfinite(model.predict(X)))


@every
def test_constant_and_collinear_columns(kind):
    rows = np.column_stack([X, np.full(N, 7.0), X[:, 0] + X[:, 1]])
    model = kind(prior=cr.Normal(0, 20), inference="map").fit(rows, OUTCOMES[kind])
    coef = np.ravel(model.coef_)
    assert abs(coef[2]) < 1e-9
    with pytest.raises(NotIdentifiedError, match="do not determine"):
        kind(prior=cr.Flat(), inference="map").fit(rows, OUTCOMES[kind])
    # the fit of the two columns, up to what the wide prior takes off
    plain = kind(prior=cr.Flat(), inference="map").fit(X, OUTCOMES[kind])
    np.testing.assert_allclose([coef[0] + coef[3], coef[1] + coef[3]], np.ravel(plain.coef_), rtol=0.01)


@every
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units(kind, unit):
    one, other = (kind(inference="map").fit(rows, OUTCOMES[kind]) for rows in (X, X * unit + 3.0 * unit))
    np.testing.assert_allclose(np.ravel(other.coef_) * unit, np.ravel(one.coef_), rtol=1e-6)


@every
@pytest.mark.parametrize("inference", ["map", "laplace"])
def test_weights_are_repetition_and_streams_are_memory(kind, inference):
    y, weights = OUTCOMES[kind], np.arange(N) % 3.0
    offset = np.linspace(-0.5, 0.5, N)

    def blocks():
        for a, b in pairwise([0, 0, 7, 50, N]):
            yield Block(X[a:b], y[a:b], weights[a:b], a, offset[a:b])

    times = weights.astype(int)
    weighted = kind(inference=inference).fit(X, y, weights, offset)
    repeated = kind(inference=inference).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times), None, np.repeat(offset, times)
    )
    streamed = kind(inference=inference).fit(GeneratorSource(blocks))
    for other in (repeated, streamed):
        np.testing.assert_allclose(np.ravel(other.coef_), np.ravel(weighted.coef_), rtol=1e-5)


@pytest.mark.parametrize("kind", COUNTED, ids=lambda kind: kind.__name__)
def test_counts_of_none_and_of_a_million(kind):
    with pytest.raises(NotIdentifiedError, match="y is all zero"):
        kind().fit(X, np.zeros(N))
    none = proper(kind, inference="map").fit(X, np.zeros(N))
    assert none.intercept_ < -3.0
    rng = np.random.default_rng(0)
    many = kind().fit(X, rng.poisson(1e6 * np.exp(X[:, 0])))
    # four standard errors of 1e-3/√120
    np.testing.assert_allclose(many.coef_, [1.0, 0.0], atol=4e-4)
    assert many.result_.ok


def test_a_failed_certificate_warns_and_auto_samples():
    rows = np.random.default_rng(0).normal(size=(12, 6))
    y = (rows[:, 0] > 0.0).astype(int)
    wide = cr.Normal(0, 30.0)
    with pytest.warns(ConvergenceWarning, match="Pareto"):
        laplace = cr.LogisticRegression(prior=wide, inference="laplace").fit(rows, y)
    assert laplace.result_.status == "not_certified"
    assert laplace.result_.certificate["pareto_k"] >= 0.7


class TestGibbs:
    """Pólya–Gamma variables against importance sampling and NUTS: 5 combined standard errors, false alarm 1e-6."""

    @pytest.mark.parametrize(
        ("prior", "prior_intercept"),
        [
            (cr.Normal([0.5, 0.1], [1.0, 0.2]), cr.Normal(1, 2)),
            (cr.MultivariateNormal([0.5, 0.0], np.array([[1.0, 0.1], [0.1, 0.04]])), None),
            (cr.Flat(), None),
            (cr.StudentT(4, 0, 0.5), None),
        ],
        ids=["Normal", "MultivariateNormal", "Flat", "StudentT"],
    )
    def test_agrees(self, prior, prior_intercept):
        y, weights, offset = OUTCOMES[cr.LogisticRegression], np.arange(N) % 3.0, np.linspace(-0.5, 0.5, N)
        other = "hmc" if isinstance(prior, cr.StudentT) else "laplace"
        rows = X * [10.0, 0.1] + [50.0, 0.0]
        gibbs, known = (
            cr.LogisticRegression(prior=prior, prior_intercept=prior_intercept, inference=name).fit(
                rows, y, weights, offset
            )
            for name in ("gibbs", other)
        )
        assert gibbs.result_.inference == "gibbs"
        sizes = [m.result_.certificate.get("ess", m.result_.certificate.get("ess_bulk")) for m in (gibbs, known)]
        error = np.sqrt(1 / sizes[0] + 1 / sizes[1])
        sd = known.posterior_.sd[0]
        assert np.all(np.abs(gibbs.coef_[0] - known.coef_[0]) < 5 * error * sd)
        assert np.all(np.abs(gibbs.intercept_ - known.intercept_) < 5 * error * known.posterior_.intercept_sd)
        # width of the middle half: its relative error is 1.6/√n for a Normal, 2.3/√n for a Student-t with 4 degrees of
        # freedom, of whose sd, its fourth moment being infinite, the error is unknown)
        width, known_width = (np.subtract(*m.posterior_.interval(0.5)) for m in (gibbs, known))
        assert np.all(np.abs(width[0] / known_width[0] - 1.0) < 5 * 2.3 * error)

    def test_auto_takes_it_for_few_rows(self):
        y = OUTCOMES[cr.LogisticRegression]
        few = cr.LogisticRegression(prior=cr.Laplace(0, 0.5)).fit(X[:60], y[:60])
        assert few.result_.ok
        assert few.result_.inference == "gibbs"

    def test_refusals(self):
        y = OUTCOMES[cr.LogisticRegression]
        for prior in (None, cr.Uniform(-3, 3)):
            with pytest.raises(ParameterError, match="mixture of Normals"):
                cr.LogisticRegression(prior=prior, inference="gibbs").fit(X, y)


def test_an_offset_of_three_classes_is_refused():
    y = np.arange(N) % 3
    with pytest.raises(ParameterError, match="offset must be None for 3 classes"):
        cr.LogisticRegression().fit(X, y, offset=np.ones(N))
    with pytest.raises(ParameterError, match="offset"):
        cr.LogisticRegression(inference="map").fit(X, y).predict_proba(X, offset=1.0)


def test_noise_with_corners_is_refused_by_the_engine():
    from credo.blocks import ArraySource
    from credo.distributions.likelihoods import LaplaceIdentity
    from credo.models.glm import GlmSpecification, fit_glm

    with pytest.raises(ParameterError, match="no curvature"):
        fit_glm(ArraySource(X, ETA), GlmSpecification("Test", lambda _: LaplaceIdentity(), prior=PROPER))


def test_rows_that_are_fitted_exactly_are_refused():
    rows = np.repeat([[1.0, 3.0], [2.0, 1.0], [3.0, 3.0], [4.0, 1.0]], 4, axis=0)
    with pytest.raises(NotIdentifiedError, match="fitted exactly"):
        cr.GammaRegression().fit(rows, np.repeat([1.0, 2.0, 1.0, 2.0], 4))


def test_levels_split_off_their_mean_have_a_mode_under_a_flat_prior():
    """The cut-points' proper prior holds them, so that levels separated by a cut that is not 0 have a posterior."""
    x = np.linspace(-1.0, 1.0, 30)[:, None]
    model = cr.OrdinalRegression(prior=cr.Flat(), inference="map").fit(x, (x[:, 0] > 0.5).astype(int))
    assert model.result_.ok
    with pytest.raises(NotIdentifiedError, match="levels are separated"):
        cr.OrdinalRegression(prior=cr.Flat(), inference="map").fit(x, (x[:, 0] > 0.0).astype(int))


@pytest.mark.parametrize("kind", [cr.PoissonRegression, cr.LogisticRegression], ids=lambda kind: kind.__name__)
def test_a_uniform_priors_mode_is_within_its_bounds(kind):
    model = kind(prior=cr.Uniform(-0.2, 0.2), inference="map").fit(X, OUTCOMES[kind])
    coef = np.ravel(model.coef_)
    assert coef[0] == pytest.approx(0.2)
    assert -0.2 - 1e-12 <= coef[1] <= 0.0
    assert model.result_.certificate["kkt_residual"] < 1e-6


def test_a_log_linear_scale_predicts_new_rows():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(400, 2))
    y = 1.0 + rows @ [1.0, -0.5] + np.exp(-0.5 + 0.6 * rows[:, 0]) * rng.normal(size=400)
    model = cr.LinearRegression(noise=cr.noise.Normal(scale=cr.noise.LogLinear())).fit(rows, y)
    new = np.array([[-2.0, 0.0], [2.0, 0.0]])
    p = model.predict_distribution(new)
    # slopes of log sd and of the mean are known to about 0.04: four of those, twice
    np.testing.assert_allclose(np.log(np.sqrt(p.aleatoric)), -0.5 + 0.6 * new[:, 0], atol=0.35)
    np.testing.assert_allclose(p.mean, 1.0 + new @ [1.0, -0.5], atol=0.6)
    assert p.sample(10, 0).shape == (10, 2)
