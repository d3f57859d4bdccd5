"""Scores against SciPy quadrature, simulation and each other; propriety; paired differences by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from credo.diagnostics import crps, log_score, score_differences
from credo.distributions.gamma import Gamma
from credo.distributions.laplace import Laplace
from credo.distributions.normal import Normal
from credo.distributions.student_t import StudentT
from credo.distributions.uniform import Uniform
from credo.errors import DataError, ParameterError
from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.prediction.student_t import StudentTPredictive

ONE = np.ones(1)
LAWS = {
    "normal": Normal(ONE * 0.3, 1.7),
    "t": StudentT(3.5, ONE * 0.3, 1.7),
    "t barely integrable": StudentT(1.6, ONE, 0.5),
    "gamma": Gamma(shape=ONE * 0.8, rate=0.5),
    "laplace": Laplace(ONE * 0.3, 0.7),
    "uniform": Uniform(ONE * -1, 2.0),
    "normal predictive": NormalPredictive(ONE * 0.3, ONE * 2, ONE * 0.89),
    "t predictive": StudentTPredictive(4.0, ONE * 0.3, ONE * 2, ONE * 0.89),
    "mixture": MixturePredictive(
        [0.4, 0.6], [NormalPredictive(ONE * -2, ONE, ONE * 0.2), StudentTPredictive(6.0, ONE, ONE, ONE)]
    ),
    "mixture of normals": MixturePredictive(
        [0.4, 0.6], [NormalPredictive(ONE * -2, ONE, ONE * 0.2), NormalPredictive(ONE, ONE * 0.1, ONE * 0.1)]
    ),
}


def by_definition(law, y):
    """∫ (F(x) − 1[x ≥ y])² dx by adaptive quadrature."""
    cdf = lambda x: np.asarray(law.cdf(np.full(1, x))).item()
    # x = y ± t/(1 − t): algebraic tails of order 2·1.6 converge on (0, 1).
    below = lambda t: cdf(y - t / (1 - t)) ** 2 / (1 - t) ** 2
    above = lambda t: (1 - cdf(y + t / (1 - t))) ** 2 / (1 - t) ** 2
    cuts = [0, 0.2, 0.4, 0.6, 0.8, 0.95, 0.9999]
    return sum(quad(f, a, b, epsabs=1e-13, limit=400)[0] for f in (below, above) for a, b in itertools.pairwise(cuts))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("y", [-1.5, 0.3, 4.0])
def test_crps_is_the_integral(name, y):
    # The reference stops at |x − y| = 10⁴, where squared tails of index 1.6 still hold 10⁻⁹; and
    # beyond 1 − F = 10⁻¹⁶ it sees rounding. Elsewhere 1e-8 is quad's own accuracy.
    rel = 1e-5 if "barely" in name else 1e-8
    assert crps(LAWS[name], np.full(1, y)).item() == pytest.approx(by_definition(LAWS[name], y), rel=rel)


def test_known_values():
    # σ (2φ(0) − 1/√π) at the mean; |y| − 1/√π far out.
    assert crps(Normal(np.zeros(1), 2.0), [0.0]).item() == pytest.approx(2 * 0.233694977255, rel=1e-11)
    assert crps(Normal(np.zeros(1), 1.0), [50.0]).item() == pytest.approx(50 - 1 / np.sqrt(np.pi), rel=1e-14)
    # A Student-t with many degrees of freedom is Normal.
    t = crps(StudentT(1e7, np.zeros(3), 1.5), [-1.0, 0.2, 3.0])
    np.testing.assert_allclose(t, crps(Normal(np.zeros(3), 1.5), [-1.0, 0.2, 3.0]), rtol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_fair_crps_of_draws_by_the_double_sum(seed):
    rng = np.random.default_rng(seed)
    draws, y = rng.normal(size=(rng.integers(2, 12), 3)) + 1e6, rng.normal(size=3) + 1e6
    s = len(draws)
    pairs = np.abs(draws[:, None] - draws[None]).sum(axis=(0, 1)) / (2 * s * (s - 1))
    expected = np.abs(draws - y).mean(axis=0) - pairs
    # 1e-8: draws near 10⁶ carry 1e-10 themselves.
    np.testing.assert_allclose(crps(draws, y), expected, atol=1e-8)
    np.testing.assert_array_equal(crps(DrawsPredictive(draws), y), crps(draws, y))


def test_fair_crps_is_unbiased_in_the_number_of_draws():
    rng = np.random.default_rng(0)
    exact = crps(Normal(np.zeros(1), 1.0), [0.7]).item()
    for size in (2, 5):
        scores = crps(rng.normal(size=(size, 40_000)), np.full(40_000, 0.7))
        # 5 standard errors: false alarm 1e-6 for the two.
        assert abs(scores.mean() - exact) < 5 * scores.std() / 200


def test_counts_sum_over_the_integers():
    p = DrawsPredictive(np.array([[0.0], [1.0], [1.0], [3.0]]), kind="count")
    count = MixturePredictive([1.0], [p])  # no draws of its own: scored by its cdf
    # F = .25, .75, .75, 1 at 0, 1, 2, 3; y = 2
    assert crps(count, [2.0]).item() == pytest.approx(0.25**2 + 0.75**2 + 0.25**2)


@pytest.mark.parametrize("score", [log_score, lambda p, y: -crps(p, y)], ids=["log", "crps"])
def test_scores_are_strictly_proper(score):
    """The expected score under N(0.4, 1.3²), by quadrature, is best at the truth among a grid of Normals."""
    z, w = np.polynomial.hermite_e.hermegauss(60)
    y, w = 0.4 + 1.3 * z, w / w.sum()
    mean, sd = (v.ravel() for v in np.meshgrid(np.linspace(-0.6, 1.4, 11), np.linspace(0.8, 1.8, 11)))
    expected = [w @ score(Normal(np.full(60, m), s), y) for m, s in zip(mean, sd)]
    best = int(np.argmax(expected))
    assert (mean[best], sd[best]) == (pytest.approx(0.4), pytest.approx(1.3))


def test_class_scores_are_proper_and_read_arrays_alike():
    truth = np.array([0.2, 0.5, 0.3])
    side = np.linspace(0.1, 0.8, 8)
    grid = np.array([(a, b, 1 - a - b) for a in side for b in side if a + b < 0.95])
    expected = [truth @ log_score(np.tile(q, (3, 1)), [0, 1, 2]) for q in grid]
    np.testing.assert_allclose(grid[int(np.argmax(expected))], truth)
    p = ClassPredictive([[0.25, 0.75]], ["no", "yes"])
    assert log_score(p, ["yes"]) == log_score([[0.25, 0.75]], ["yes"], ["no", "yes"]) == log_score([0.75], [1])
    assert log_score([[1.0, 0.0]], [1]).item() == -np.inf


def test_bad_input_is_named():
    p = Normal(np.zeros(2), 1.0)
    with pytest.raises(DataError, match="row 1") as error:
        crps(p, [0.0, np.nan])
    assert error.value.rows == [1]
    with pytest.raises(DataError, match="shape"):
        log_score(p, [0.0])
    with pytest.raises(ParameterError, match="brier"):
        crps(ClassPredictive([[0.5, 0.5]], [0, 1]), [0])
    with pytest.raises(ParameterError, match="two draws"):
        crps(np.zeros((1, 3)), np.zeros(3))
    with pytest.raises(ParameterError, match="df > 1"):
        crps(StudentT(1.0, np.zeros(1), 1.0), [0.0])
    with pytest.raises(ParameterError, match="probabilities"):
        log_score([[0.5, 0.6]], [0])
    with pytest.raises(DataError, match="2 labels for 1"):
        log_score([[0.5, 0.5]], [0, 1])


def test_differences_by_hand_and_by_groups():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    d = score_differences(a, b)
    assert d.difference == pytest.approx((a - b).mean())
    assert d.standard_error == pytest.approx((a - b).std(ddof=1) / np.sqrt(50))
    assert d.total == pytest.approx((a - b).sum())
    assert d.z == pytest.approx(d.difference / d.standard_error)
    # Every row three times over: grouped, the copies add nothing.
    tripled = score_differences(np.repeat(a, 3), np.repeat(b, 3), groups=np.repeat(np.arange(50), 3))
    assert tripled.standard_error == pytest.approx(d.standard_error)
    assert (tripled.n, tripled.groups) == (150, 50)
    assert score_differences(a, a).z == 0.0


def test_differences_refuse_what_they_cannot_compare():
    for a, b, groups in (([1.0, 2.0], [1.0], None), ([1.0], [2.0], None), ([1.0, 2.0], [1.0, 2.0], ["g", "g"])):
        with pytest.raises(DataError):
            score_differences(a, b, groups)
    with pytest.raises(DataError, match="not finite"):
        score_differences([-np.inf, 0.0], [0.0, 0.0])
