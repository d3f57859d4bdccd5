"""Vectors with cells that nobody saw: the Normal law of the others, and of these given the others.

The answers condition one large Normal, of parameters and all cells, by its precision; evidences are SciPy's densities.
"""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import credo as cr
from credo.errors import ParameterError, UnavailableError

S = np.array([[2.0, 0.8, 0.3], [0.8, 1.0, -0.2], [0.3, -0.2, 1.5]])
HOLES = [(0, 1), (2, 0), (2, 2), (4, 0), (4, 1), (4, 2), (5, 1)]
# Some 60 means, sds and correlations are compared with Monte Carlo errors; one is 5 of them off in 1 of 3e4 runs.
WIDTHS = 5.0
multivariate_normal: Any = scipy.stats.multivariate_normal


def table(seed=0, n=6):
    y = np.random.default_rng(seed).multivariate_normal([1.0, 0.0, -1.0], S, size=n)
    y[tuple(np.transpose(HOLES))] = np.nan
    return y


def conditioned(mean, covariance, at, values):
    """Mean and covariance of the other entries: −Λ_hh⁻¹ Λ_hs (x − μ)_s about μ_h."""
    rest = np.setdiff1d(np.arange(len(mean)), at)
    precision = np.linalg.inv(covariance)
    inverse = np.linalg.inv(precision[np.ix_(rest, rest)])
    return mean[rest] - inverse @ precision[np.ix_(rest, at)] @ (values - mean[at]), inverse


def close(draws, mean, sd):
    """Of independent draws (n, k); an sd errs by sd/√(2n)."""
    n = len(draws)
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - mean), WIDTHS * sd / np.sqrt(n))
    np.testing.assert_array_less(np.abs(draws.std(axis=0) / sd - 1.0), WIDTHS / np.sqrt(2 * n))


@pytest.fixture(scope="module")
def whole():
    """The law of (μ, y_1, …, y_6) with μ ~ N(0, 4 I), and places of what was seen."""
    J = np.vstack([np.eye(3)] * 7)
    covariance = 4.0 * J @ J.T
    covariance[3:, 3:] += np.kron(np.eye(6), S)
    y = table().ravel()
    at = np.flatnonzero(np.isfinite(y))
    return np.zeros(21), covariance, at + 3, y[at]


def declared(y, **kind):
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 2), shape=3)
    return m, m.observed("y", cr.MultivariateNormal(mu, S), y, **kind)


def test_a_mean_behind_them(whole):
    m, _ = declared(table(), dims=("row", "column"))
    posterior = m.fit(random_state=1)
    assert posterior.explain().treatment == {"mu": "exact"}
    mean, covariance = conditioned(*whole)
    np.testing.assert_allclose(posterior.mean["mu"], mean[:3], rtol=1e-10)
    np.testing.assert_allclose(posterior.sd["mu"], np.sqrt(covariance.diagonal()[:3]), rtol=1e-10)
    close(posterior["y_missing"], mean[3:], np.sqrt(covariance.diagonal()[3:]))
    # Cells hidden in one row hang together, and with the mean.
    both = np.column_stack([posterior["mu"], posterior["y_missing"]])
    correlation = covariance / np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))
    assert np.abs(np.corrcoef(both.T) - correlation).max() < WIDTHS / np.sqrt(len(both))
    centre, spread, at, values = whole
    evidence = multivariate_normal(centre[at], spread[np.ix_(at, at)]).logpdf(values)
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-10)


def test_densities_of_rows_are_those_of_the_cells_seen():
    m, _ = declared(table())
    posterior = m.fit(draws=8, random_state=0)
    each = posterior.log_likelihood()
    for draw, found in zip(posterior["mu"], each):
        for row, log_p in zip(table(), found):
            at = np.flatnonzero(np.isfinite(row))
            truth = multivariate_normal(draw[at], S[np.ix_(at, at)]).logpdf(row[at]) if at.size else np.nan
            assert log_p == pytest.approx(truth, rel=1e-10, nan_ok=True)


def test_cells_that_others_depend_on_join_the_block(whole):
    """t_i ~ N(y_i1 + 2 y_i0, 1) of the six rows: seen and hidden cells alike."""
    m, y = declared(table())
    t = np.arange(6.0)
    m.observed("t", cr.Normal(y[:, 1] + 2.0 * y[:, 0], 1.0), t)
    posterior = m.fit(random_state=0)
    assert posterior.explain().treatment == {"mu": "exact", "y_missing": "exact"}
    _, covariance, at, values = whole
    G = np.zeros((6, 21))
    G[np.arange(6), 3 + 3 * np.arange(6)], G[np.arange(6), 4 + 3 * np.arange(6)] = 2.0, 1.0
    joint = np.block([[covariance, covariance @ G.T], [G @ covariance, G @ covariance @ G.T + np.eye(6)]])
    both = conditioned(np.zeros(27), joint, np.concatenate([at, 21 + np.arange(6)]), np.concatenate([values, t]))
    found = np.concatenate([posterior.mean["mu"], posterior.mean["y_missing"]])
    np.testing.assert_allclose(found, both[0], rtol=1e-9, atol=1e-12)


def test_a_covariance_to_be_learned():
    """One vector N(μ 1, s S) with a hole, s by a fine grid; its hidden cell given each s and μ."""
    y = np.array([1.0, np.nan, 2.0])
    m = cr.Model()
    s, mu = m.latent("s", cr.HalfNormal(2)), m.latent("mu", cr.Normal(0, 2))
    m.observed("y", cr.MultivariateNormal(mu * np.ones(3), s * S), y)
    posterior = m.fit(random_state=3)
    grid = np.exp(np.linspace(-14.0, 4.0, 401))
    log_p, parts = [], []
    for value in grid:
        J = np.ones((4, 1))
        covariance = 4.0 * J @ J.T
        covariance[1:, 1:] += value * S
        seen = np.array([1, 3])
        density = multivariate_normal(np.zeros(2), covariance[np.ix_(seen, seen)]).logpdf(y[[0, 2]])
        log_p.append(density - value**2 / 8.0 + np.log(value))
        parts.append(conditioned(np.zeros(4), covariance, seen, y[[0, 2]]))
    w = np.exp(log_p - np.max(log_p))
    w /= w.sum()
    assert posterior.mean["s"] == pytest.approx(w @ grid, rel=1e-3)
    means = np.array([mean for mean, _ in parts])
    first = w @ means
    sd = np.sqrt(w @ (np.array([c.diagonal() for _, c in parts]) + np.square(means - first)))
    assert posterior.mean["mu"] == pytest.approx(first[0], abs=1e-3 * sd[0])
    close(posterior["y_missing"], first[1:], sd[1:])


def test_holes_beside_states():
    """Rows of a mixture of known components: its density sums over them, by the cells that were seen."""
    centres, y = np.array([[1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]), table()
    m = cr.Model()
    z = m.latent("z", cr.Categorical([0.3, 0.7]), shape=6)
    m.observed("y", cr.MultivariateNormal(as_constant(m, centres)[z], S), y)
    posterior = m.fit(draws=200, random_state=0)
    each = np.full((6, 2), np.nan)
    for i, row in enumerate(y):
        at = np.flatnonzero(np.isfinite(row))
        for k in range(2):
            here = multivariate_normal(centres[k, at], S[np.ix_(at, at)]).logpdf(row[at]) if at.size else 0.0
            each[i, k] = np.log([0.3, 0.7][k]) + here
    total = np.logaddexp(*each.T)
    np.testing.assert_allclose(posterior.probabilities("z"), np.exp(each - total[:, None]), rtol=1e-8)
    assert posterior.log_evidence == pytest.approx(total.sum(), rel=1e-10)
    total[4] = np.nan
    np.testing.assert_allclose(posterior.log_likelihood(), np.tile(total, (len(posterior), 1)), rtol=1e-8)


def as_constant(m, values):
    return m.data("centres", values)


def test_saved_predicted_and_refitted(tmp_path):
    m, _ = declared(table(), dims=("row", "column"))
    posterior = m.fit(draws=40, random_state=0)
    cr.save(posterior, tmp_path / "holes.credo")
    loaded = cr.load(tmp_path / "holes.credo")
    np.testing.assert_array_equal(loaded.predict().mean, posterior.predict().mean)
    np.testing.assert_array_equal(loaded.log_likelihood(), posterior.log_likelihood())
    assert posterior.predict().mean.shape == (6, 3)
    again = m.with_data(y=table(1, n=9)).fit(draws=40, random_state=0)
    assert again["y_missing"].shape == (40, 7)


def test_holes_of_categories():
    """Two ones, one zero and one two seen of K = 3: the Dirichlet posterior; what was not seen is drawn."""
    m = cr.Model()
    p = m.latent("p", cr.Dirichlet(np.ones(3)))
    m.observed("y", cr.Categorical(p), [1.0, np.nan, 1.0, 0.0, 2.0])
    posterior = m.fit(random_state=0)
    np.testing.assert_allclose(posterior.mean["p"], np.array([2.0, 3.0, 2.0]) / 7.0, rtol=1e-12)
    share = np.bincount(posterior["y_missing"].ravel().astype(int), minlength=3) / len(posterior)
    assert np.abs(share - np.array([2.0, 3.0, 2.0]) / 7.0).max() < WIDTHS * np.sqrt(0.25 / len(posterior))


def test_what_other_vectors_say():
    counts = np.array([[3.0, np.nan, 2.0]])
    m = cr.Model()
    p = m.latent("p", cr.Dirichlet(np.ones(3)))
    m.observed("y", cr.DirichletMultinomial(6, p), counts)
    with pytest.raises(UnavailableError, match="missing cells of a DirichletMultinomial"):
        m.fit()


@pytest.mark.parametrize("law", [cr.InverseWishart(5, np.eye(3)), cr.Wishart(5, np.eye(3)),
                                 cr.NormalInverseGamma(np.zeros(1), np.eye(1), 1.0, 1.0)])  # fmt: skip
def test_matrices_have_no_law(law):
    with pytest.raises(ParameterError, match="a distribution of numbers or vectors"):
        cr.Model().latent("C", law)
