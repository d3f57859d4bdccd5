"""PIT, its envelope, coverage and sharpness: uniform under the truth, and loud when it is not."""

import numpy as np
import pytest
import scipy.stats

from credo.diagnostics import coverage, pit, sharpness, uniform_envelope
from credo.distributions.normal import Normal
from credo.errors import DataError, ParameterError
from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive
from credo.prediction.mixture import MixturePredictive

N = 400


def truth(seed, sd=1.0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=N)
    return Normal(mean, sd), mean + rng.normal(size=N)


def test_pit_is_the_cdf_and_rejects_wrong_widths():
    p, y = truth(0)
    result = pit(p, y)
    np.testing.assert_array_equal(result.values, p.cdf(y))
    assert result.envelope.inside
    assert result.p_value > 0.05
    for sd in (0.7, 1.4):
        wrong = pit(truth(0, sd)[0], y)
        assert not wrong.envelope.inside
        assert wrong.p_value < 1e-3


def test_envelope_rejects_as_often_as_it_says():
    rng = np.random.default_rng(1)
    for n in (20, 200):
        results = [uniform_envelope(rng.random(n), 0.9) for _ in range(1000)]
        out = np.array([not e.inside for e in results])
        # 1,000 tests at .1 (a little less for small n, counts being discrete): 5 standard errors are .047.
        assert 0.04 < out.mean() < 0.147
        # p < .1 and leaving the .9 band are one event, up to the 1 % to which the band's level is found.
        assert np.mean([(e.p_value < 0.1) != o for e, o in zip(results[:100], out)]) <= 0.02


def test_p_values_are_not_small_too_often():
    rng = np.random.default_rng(2)
    p = np.array([uniform_envelope(rng.random(100)).p_value for _ in range(200)])
    for level in (0.05, 0.2, 0.5):
        # 4.5 standard errors of a binomial; three levels: false alarm 2e-5.
        assert np.mean(p <= level) < level + 4.5 * np.sqrt(level * (1 - level) / 200)


def test_band_probability_by_simulation():
    rng = np.random.default_rng(3)
    n = 50
    e = uniform_envelope(rng.random(n), 0.8)
    sims = np.sort(rng.random((20_000, n)), axis=1)
    ecdf = np.stack([np.sum(sims <= z, axis=1) for z in e.points], axis=1) / n
    held = np.mean(np.all((ecdf >= e.lower - 1e-12) & (ecdf <= e.upper + 1e-12), axis=1))
    # At least .8, and less than the next level that discrete counts allow; 5 standard errors are .014.
    assert 0.786 < held < 0.85


def test_large_samples_and_tiny_ones():
    rng = np.random.default_rng(4)
    big = uniform_envelope(rng.random(100_000))
    assert big.inside
    assert np.max(big.upper - big.lower) < 0.012
    assert uniform_envelope(np.array([0.4])).inside
    assert uniform_envelope(np.full(30, 0.5)).p_value < 1e-6


def test_randomised_pit_of_counts_and_draws_is_uniform():
    rng = np.random.default_rng(5)
    rate = rng.gamma(2.0, size=2000)
    y = rng.poisson(rate).astype(float)
    draws = rng.poisson(rate, size=(49, 2000)).astype(float)
    ranks = pit(draws, y, rng=0)
    assert ranks.envelope.inside
    counts = DrawsPredictive(rng.poisson(rate, size=(4000, 2000)).astype(float), kind="count")
    by_cdf = pit(MixturePredictive([1.0], [counts]), y, rng=0)
    assert by_cdf.envelope.inside
    np.testing.assert_array_equal(ranks.values, pit(draws, y, rng=0).values)
    assert np.all((by_cdf.values > 0) & (by_cdf.values < 1))


def test_coverage_is_nominal_under_the_truth():
    p, y = truth(6)
    c = coverage(p, y, [0.5, 0.9, 0.95])
    low = scipy.stats.binomtest(int(c.observed[1] * N), N).proportion_ci(0.95)
    assert (c.lower[1], c.upper[1]) == (pytest.approx(low.low), pytest.approx(low.high))
    assert np.all((c.lower <= c.nominal) & (c.nominal <= c.upper))
    narrow = coverage(truth(6, sd=0.5)[0], y, [0.9])
    assert narrow.upper < 0.9
    all_in = coverage(Normal(np.zeros(3), 1.0), np.zeros(3), [0.5])
    assert (all_in.observed.item(), all_in.upper.item()) == (1.0, 1.0)
    assert coverage(Normal(np.zeros(3), 1.0), np.full(3, 9.0), [0.5]).lower.item() == 0.0


def test_sets_of_classes_hold_at_least_their_mass():
    rng = np.random.default_rng(7)
    table = rng.dirichlet(np.ones(4), size=5000)
    y = np.array([rng.choice(4, p=row) for row in table])
    p = ClassPredictive(table, np.arange(4))
    c = coverage(p, y, [0.5, 0.9])
    # 4.5 standard errors at .9: .019.
    assert np.all(c.observed > c.nominal - 0.019)
    s = sharpness(p, [0.5, 0.9])
    assert 1 <= s.width[0] < s.width[1] <= 4
    assert s.spread == pytest.approx(p.entropy.mean())


def test_sharpness_of_normals():
    s = sharpness(Normal(np.zeros(2), np.array([1.0, 3.0])), [0.95])
    assert s.width.item() == pytest.approx(2 * 1.959963984540054 * 2)
    assert s.spread == 2.0


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="reliability"):
        pit(ClassPredictive([[0.5, 0.5]], [0, 1]), [0])
    with pytest.raises(DataError, match="between 0 and 1"):
        uniform_envelope(np.array([1.2]))
    with pytest.raises(ParameterError, match="mass"):
        uniform_envelope(np.array([0.2]), 1.0)
    with pytest.raises(DataError, match="shape"):
        coverage(Normal(np.zeros(3), 1.0), [0.0])
    with pytest.raises(ParameterError, match="mass"):
        coverage(Normal(np.zeros(3), 1.0), np.zeros(3), [1.5])
