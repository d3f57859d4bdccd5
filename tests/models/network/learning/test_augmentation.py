"""Draws of tables where cells are missing: against quadrature, and how often intervals hold the truth."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.errors import NotIdentifiedError
from credo.models.network.learning.augmentation import AugmentedTables

PAIR = cr.BayesianNetwork([("a", "b")], {"a": [0.5, 0.5], "b": [[0.7, 0.3], [0.4, 0.6]]})
ROWS = {"a": [0, 0, 1, 1, 1, *[None] * 9], "b": [0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, None]}


def _by_sums(rows):
    """E and sd of P(a = 1): Beta posteriors summed over all completions, k2 prior (1 row a cell)."""
    from scipy.special import betaln, gammaln

    seen = np.zeros((2, 2))
    free = [0, 0]
    for a, b in zip(rows["a"], rows["b"]):
        if a is not None:
            seen[a, b] += 1
        elif b is not None:
            free[b] += 1
    weights, means, squares = [], [], []
    for i in range(free[0] + 1):  # of the rows with b = 0 without a, those where a = 1
        for j in range(free[1] + 1):
            n = seen + np.array([[free[0] - i, free[1] - j], [i, j]])
            ways = sum(gammaln(f + 1) - gammaln(k + 1) - gammaln(f - k + 1) for f, k in zip(free, (i, j)))
            high, low = n[1].sum() + 1, n[0].sum() + 1
            weights.append(ways + betaln(low, high) + betaln(*(n[0] + 1)) + betaln(*(n[1] + 1)))
            means.append(high / (high + low))
            squares.append(high * (high + 1) / ((high + low) * (high + low + 1)))
    p = np.exp(np.array(weights) - max(weights))
    p /= p.sum()
    mean = p @ means
    return mean, np.sqrt(p @ squares - mean**2)


def test_the_law_of_a_table_by_enumeration():
    """Every way to fill the cells, summed. 5 standard errors of 4,000 draws that count as 1,000 at least."""
    posterior = PAIR.fit(ROWS, prior="k2").posterior_
    assert isinstance(posterior, AugmentedTables)
    draws = posterior.sample(np.random.default_rng(0), 4000)
    mean, sd = _by_sums(ROWS)
    assert abs(draws["a"][:, 1].mean() - mean) < 5 * sd / np.sqrt(1000)
    assert abs(draws["a"][:, 1].std() / sd - 1) < 5 / np.sqrt(2 * 1000)
    assert abs(posterior.sd["a"][1] / sd - 1) < 0.25
    a = posterior.concentrations["a"]
    assert sd > 1.1 * stats.beta(a[1], a[0]).std()  # as if seen: too sure


def test_weights_are_repeated_rows():
    """In mean, within 5 standard errors; half rows are allowed."""
    once = PAIR.fit(ROWS, prior="k2", sample_weight=np.full(14, 2.0)).posterior_
    twice = PAIR.fit({name: cells * 2 for name, cells in ROWS.items()}, prior="k2").posterior_
    one, two = (p.sample(np.random.default_rng(1), 2000)["a"][:, 1] for p in (once, twice))
    assert abs(one.mean() - two.mean()) < 5 * np.hypot(one.std(), two.std()) / np.sqrt(500)
    half = PAIR.fit(ROWS, prior="k2", sample_weight=np.full(14, 0.5)).posterior_.sample(np.random.default_rng(1), 50)
    assert half["a"].shape == (50, 2)
    np.testing.assert_allclose(half["b"].sum(axis=-1), 1.0)


def test_draws_are_saved_and_repeat(tmp_path):
    net = PAIR.fit(ROWS, prior="k2")
    cr.save(net, tmp_path / "net.credo")
    again = cr.load(tmp_path / "net.credo")
    first, second = (each.query_draws("a", {"b": 1}, 60, random_state=4).draws for each in (net, again))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (60, 2)
    assert net.posterior_.sample(np.random.default_rng(0))["b"].shape == (2, 2)


def test_without_a_prior_what_was_never_seen_has_no_law():
    net = PAIR.fit({"a": [None, 1, 1], "b": [1, 1, 1]}, prior="none")
    with pytest.raises(NotIdentifiedError):
        net.query_draws("a")


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.4, 0.8, 0.95])
def test_intervals_hold_the_truth(missing, replicates):
    """Tables drawn from the prior, so that 90 % intervals hold 90 %: 3.3 standard errors, a false alarm in 1,000."""
    n, held = replicates(60, 600), 0
    for seed in range(n):
        rng = np.random.default_rng([7, seed])
        share, rates = rng.random(), rng.random(2)
        a = (rng.random(200) < share).astype(int)
        b = (rng.random(200) < rates[a]).astype(int)
        rows = {"a": [None if rng.random() < missing else cell for cell in a.tolist()], "b": b}
        low, high = PAIR.fit(rows, prior="k2").query_draws("a", random_state=seed).interval(0.9)[1]
        held += low < share < high
    assert abs(held / n - 0.9) < 3.3 * np.sqrt(0.09 / n)
