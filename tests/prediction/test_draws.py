"""DrawsPredictive: moments, cdf and density against an explicit mixture; what bare draws cannot answer."""

import numpy as np
import pytest

from credo.distributions.normal import Normal
from credo.errors import ParameterError, UnavailableError
from credo.prediction.draws import DrawsPredictive
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive

S, N = 40, 3


def laws():
    rng = np.random.default_rng(0)
    return rng.normal(size=(S, N)), np.exp(rng.normal(size=(S, 1)))


@pytest.fixture
def predictive():
    mean, sd = laws()
    return DrawsPredictive.from_conditional(Normal(mean, sd), rng=1, inference="nuts")


@pytest.fixture
def mixture():
    mean, sd = laws()
    parts = [NormalPredictive(m, np.full(N, s[0] ** 2), np.zeros(N)) for m, s in zip(mean, sd)]
    return MixturePredictive(np.ones(S), parts)


def test_conditional_laws_average_as_their_mixture(predictive, mixture):
    y = np.array([-1.0, 0.3, 2.0])
    for name in ("mean", "variance", "aleatoric", "epistemic"):
        np.testing.assert_allclose(getattr(predictive, name), getattr(mixture, name), rtol=1e-12)
    np.testing.assert_allclose(predictive.cdf(y), mixture.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(predictive.log_prob(y), mixture.log_prob(y), rtol=1e-12)
    np.testing.assert_allclose(predictive.variance, predictive.aleatoric + predictive.epistemic, rtol=1e-14)


def test_cdf_broadcasts_over_leading_axes(predictive):
    y = np.linspace(-2, 2, 5)[:, None]
    grid = predictive.cdf(y)
    assert grid.shape == (5, N)
    np.testing.assert_array_equal(grid[1], predictive.cdf(y[1, 0]))


def test_bare_draws_answer_by_themselves():
    draws = np.array([[1.0, 10.0], [2.0, 10.0], [6.0, 10.0]])
    p = DrawsPredictive(draws)
    np.testing.assert_array_equal(p.mean, [3.0, 10.0])
    np.testing.assert_allclose(p.variance, [14 / 3, 0.0])
    np.testing.assert_array_equal(p.cdf([2.0, 9.0]), [2 / 3, 0.0])
    np.testing.assert_array_equal(p.quantile([0.0, 0.5, 1.0])[:, 0], [1.0, 2.0, 6.0])
    for ask in (lambda: p.aleatoric, lambda: p.epistemic, lambda: p.log_prob([1.0, 1.0])):
        with pytest.raises(UnavailableError, match="conditional"):
            ask()


def test_count_quantiles_are_counts():
    p = DrawsPredictive(np.array([[0.0], [1.0], [5.0], [6.0]]), kind="count")
    assert p.quantile(0.5).item() == 1.0


def test_rows_and_samples(predictive):
    part = predictive[[2, 0]]
    np.testing.assert_allclose(part.mean, predictive.mean[[2, 0]], rtol=1e-14)
    np.testing.assert_array_equal(part.log_prob([0.0, 1.0]), predictive.log_prob([1.0, 9.0, 0.0])[[2, 0]])
    assert predictive[0].shape == (1,)
    sample = predictive.sample(40_000, rng=0)
    # 5 standard errors: false alarm 2e-6 over the three rows.
    assert np.all(np.abs(sample.mean(axis=0) - predictive.mean) < 5 * predictive.sd / 200)
    np.testing.assert_array_equal(predictive.sample(3, rng=5), predictive.sample(3, rng=5))


@pytest.mark.parametrize("draws", [np.ones(3), np.empty((0, 3)), [[np.nan]], [[np.inf, 1.0]]])
def test_bad_draws_are_named(draws):
    with pytest.raises(ParameterError, match=r"DrawsPredictive\.draws"):
        DrawsPredictive(draws)


def test_a_conditional_of_another_shape_is_refused():
    with pytest.raises(ParameterError, match="conditional"):
        DrawsPredictive(np.ones((4, 2)), Normal(np.zeros((3, 2)), 1.0))
