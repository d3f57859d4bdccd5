"""`Histogram` and Bayesian blocks: bins against brute force, masses against their posterior."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import beta

from credo.errors import DataError, DataWarning, ParameterError
from credo.models.density import Histogram, bayesian_blocks


def unpruned(x: np.ndarray, price: float) -> np.ndarray:
    """The dynamic programme as Scargle et al. (2013) state it, over every start."""
    values, counts = np.unique(x, return_counts=True)
    edges = np.concatenate([values[:1], 0.5 * (values[1:] + values[:-1]), values[-1:]])
    total = np.concatenate([[0], np.cumsum(counts)])
    best, start = [0.0], []
    for end in range(1, values.size + 1):
        n, width = total[end] - total[:end], edges[end] - edges[:end]
        gains = n * np.log(n / width) - price + np.array(best)
        start.append(int(np.argmax(gains)))
        best.append(float(gains.max()))
    chosen = [values.size]
    while chosen[-1]:
        chosen.append(start[chosen[-1] - 1])
    return edges[chosen[::-1]]


@given(st.integers(0, 10**6), st.integers(2, 120), st.integers(1, 3), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_blocks_equal_the_unpruned_programme(seed: int, n: int, power: int, rounded: bool) -> None:
    x = np.random.default_rng(seed).normal(size=n) ** power
    x = np.round(x, 1) if rounded else x
    if np.unique(x).size > 1:
        assert np.array_equal(bayesian_blocks(x, gamma=0.1), unpruned(x, -np.log(0.1)))


def test_blocks_count_weights_as_rows() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=80), rng.integers(1, 4, 80)
    assert np.array_equal(bayesian_blocks(x, w, gamma=0.05), bayesian_blocks(np.repeat(x, w), gamma=0.05))
    with pytest.raises(ParameterError, match="p0"):
        bayesian_blocks(x, p0=0.0)
    with pytest.raises(ParameterError, match="gamma"):
        bayesian_blocks(x, gamma=1.5)


def test_knuth_is_the_posteriors_mode() -> None:
    x = np.random.default_rng(1).normal(size=500)

    def posterior(m: int) -> float:
        n_k = np.histogram(x, m)[0]
        return float(
            500 * np.log(m) + gammaln(m / 2) - m * gammaln(0.5) - gammaln(500 + m / 2) + gammaln(n_k + 0.5).sum()
        )

    assert Histogram("knuth").fit(x[:, None]).edges_[0].size - 1 == 1 + int(
        np.argmax([posterior(m) for m in range(1, 200)])
    )


def test_rounded_values_are_not_taken_for_a_comb() -> None:
    x = np.round(np.random.default_rng(0).normal(0, 800, 332) / 25) * 25
    assert Histogram("knuth").fit(x[:, None]).edges_[0].size < 20


def test_widths_of_rules_equal_numpys() -> None:
    x = np.random.default_rng(2).normal(size=1000)
    for rule in ("fd", "scott"):
        ours, theirs = Histogram(rule).fit(x[:, None]).edges_[0], np.histogram_bin_edges(x, rule)
        assert abs(ours.size - theirs.size) <= 1  # quartiles differ in their last place
    with pytest.warns(DataWarning, match="blocks"):
        Histogram("fd").fit(np.r_[x, 1e9][:, None])


def test_masses_have_the_dirichlets_means_and_intervals() -> None:
    x = np.r_[np.full(7, 0.5), np.full(3, 1.5)][:, None]
    model = Histogram([0.0, 1.0, 3.0]).fit(x)
    assert model.posterior_.concentration.tolist() == [7.5, 3.5]
    bars = model.bars(0.8)
    np.testing.assert_allclose(bars.density, [7.5 / 11, 3.5 / 11 / 2])
    np.testing.assert_allclose(bars.lower, [beta(7.5, 3.5).ppf(0.1), beta(3.5, 7.5).ppf(0.1) / 2], rtol=1e-10)
    low, high = model.density_interval([[0.2], [9.0]], 0.8)
    assert low[0] == bars.lower[0]
    assert high.tolist() == [bars.upper[0], 0.0]
    assert model.score_samples([[1.0]]) == pytest.approx(np.log(bars.density[1]))  # a lower edge belongs to its bin
    assert np.isfinite(model.score_samples([[3.0]]))
    assert np.isneginf(model.score_samples([[3.0001]]))


def test_interval_covers_the_truth() -> None:
    """Bins given, masses from Jeffreys' prior: 90 % intervals hold 90 ± 4 % (4 sd of 1,000 trials; 1 in 1e4)."""
    rng = np.random.default_rng(0)
    edges = np.linspace(0, 1, 6)
    covered = 0
    for _ in range(200):
        mass = rng.dirichlet(np.full(5, 0.5))
        x = edges[rng.choice(5, 60, p=mass)] + 0.1
        bars = Histogram(edges).fit(x[:, None]).bars(0.9)
        covered += np.count_nonzero((bars.lower <= mass / 0.2) & (mass / 0.2 <= bars.upper))
    assert abs(covered / 1000 - 0.9) < 0.04


def test_several_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((400, 2)) ** [1, 3]
    model = Histogram([4, "blocks"]).fit(X)
    middles = np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in model.edges_), indexing="ij")
    volumes = np.outer(*(np.diff(e) for e in model.edges_))
    f = np.exp(model.score_samples(np.stack(middles, -1).reshape(-1, 2))).reshape(volumes.shape)
    assert (f * volumes).sum() == pytest.approx(1.0)
    draws = model.sample(4000, 0)
    np.testing.assert_allclose(draws.mean(axis=0), X.mean(axis=0), atol=0.06)
    many = Histogram(10).fit(rng.random((50, 12)))
    assert many.concentration_ * many.n_cells_ == pytest.approx(25.0)
    assert np.isfinite(many.score_samples(many.sample(5, 0))).all()
    with pytest.raises(DataError, match="one column"):
        model.cdf(0.5)


def test_quantiles_and_awkward_columns() -> None:
    model = Histogram("blocks").fit(np.random.default_rng(0).normal(size=(300, 1)))
    q = np.linspace(0, 1, 11)
    np.testing.assert_allclose(model.cdf(model.quantile(q)), q, atol=1e-12)
    for x in ([[5.0]], [[5.0]] * 4, [[1e8], [1e8]]):
        for bins in ("knuth", "blocks", "fd", "scott", 3):
            assert np.isfinite(Histogram(bins).fit(x).score_samples(x)).all()
    with pytest.raises(DataError, match=r"rows \[1\] lie outside"):
        Histogram([0.0, 1.0]).fit([[0.5], [2.0]])
    for bins in ("sturges", 0, [1.0], [1.0, 1.0], True, None):
        with pytest.raises(ParameterError, match="bins"):
            Histogram(bins).fit([[0.5], [2.0]])
