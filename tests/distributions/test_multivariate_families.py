"""Vector, matrix and joint families against SciPy, enumeration and simulation."""

import copy
import pickle

import numpy as np
import pytest
from scipy import integrate, special, stats

import credo.distributions as d
from credo.distributions.multivariate_divergences import kl
from credo.errors import DataWarning, NotPositiveDefiniteError, ParameterError, UnavailableError

MEAN = np.array([0.5, -1.0, 2.0])
MATRIX = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])
X = np.random.default_rng(1).normal(size=(4, 3)) + MEAN
SPD = stats.wishart(7.0, MATRIX / 5).rvs(4, random_state=2)

NORMAL = d.MultivariateNormal(MEAN, MATRIX)
STUDENT = d.MultivariateStudentT(4.5, MEAN, MATRIX)
DIRICHLET = d.Dirichlet([0.7, 2.0, 4.5])
MULTINOMIAL = d.Multinomial(5, [0.2, 0.3, 0.5])
COMPOUND = d.DirichletMultinomial(5, [0.7, 2.0, 4.5])
WISHART = d.Wishart(6.5, MATRIX)
INVERSE = d.InverseWishart(9.5, MATRIX)
GAMMAS = [
    d.NormalInverseGamma(0.5, 0.7, 3.5, 1.3),
    d.NormalInverseGamma(MEAN, 0.7, 3.5, 1.3),
    d.NormalInverseGamma(MEAN, np.array([0.7, 1.0, 3.0]), 3.5, 1.3),
    d.NormalInverseGamma(MEAN, MATRIX, 3.5, 1.3),
]
JOINT = d.NormalInverseWishart(MEAN, 1.5, 9.5, MATRIX)
FAMILIES = [NORMAL, STUDENT, DIRICHLET, MULTINOMIAL, COMPOUND, WISHART, INVERSE, *GAMMAS, JOINT]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
COUNTS = np.array([[i, j, 5 - i - j] for i in range(6) for j in range(6 - i)])


@each_family
def test_identity(family):
    for twin in (copy.copy(family), copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        assert twin == family
        assert hash(twin) == hash(family)
    with pytest.raises(AttributeError):
        setattr(family, next(iter(family.parameters)), 1.0)


def test_parameters_are_copied():
    covariance = np.eye(2)
    p = d.MultivariateNormal([0.0, 0.0], covariance)
    covariance *= 9.0
    assert p.covariance[0, 0] == 1.0
    assert p.log_prob(np.zeros(2)) == pytest.approx(-np.log(2 * np.pi))


@pytest.mark.parametrize(
    ("family", "law", "x"),
    [
        (NORMAL, stats.multivariate_normal(MEAN, MATRIX), X),
        (STUDENT, stats.multivariate_t(MEAN, MATRIX, df=4.5), X),
        (MULTINOMIAL, stats.multinomial(5, [0.2, 0.3, 0.5]), COUNTS),
        (COMPOUND, stats.dirichlet_multinomial([0.7, 2.0, 4.5], 5), COUNTS),
    ],
    ids=lambda f: type(f).__name__,
)
def test_log_prob_matches_scipy(family, law, x):
    expected = law.logpdf(x) if hasattr(law, "logpdf") else law.logpmf(x)
    np.testing.assert_allclose(family.log_prob(x), expected, rtol=1e-11, atol=1e-12)
    assert family.log_prob(x[0]) == pytest.approx(expected[0])
    assert np.isnan(family.log_prob(np.full(3, np.nan)))


def test_matrix_and_simplex_densities_match_scipy():
    p = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    np.testing.assert_allclose(DIRICHLET.log_prob(p), [stats.dirichlet([0.7, 2.0, 4.5]).logpdf(r) for r in p])
    for family, law in ((WISHART, stats.wishart(6.5, MATRIX)), (INVERSE, stats.invwishart(9.5, MATRIX))):
        np.testing.assert_allclose(family.log_prob(SPD), [law.logpdf(x) for x in SPD], rtol=1e-12)
        np.testing.assert_allclose(family.mean, law.mean())
        np.testing.assert_allclose(family.mode, law.mode())
        np.testing.assert_allclose(family.variance, law.var())
        assert family.log_prob(np.diag([1.0, -1.0, 1.0])) == -np.inf
        assert family.log_prob(np.ones((3, 3))) == -np.inf
        assert np.isnan(family.log_prob(np.full((3, 3), np.nan)))


def test_matrix_entropies():
    """Wishart's is SciPy's. Its inverse's is −E log p over draws (|z| < 4.9, false alarm 1e-6): SciPy 1.17 has
    (d + 1)/2 log 2 where (d + 1)/2 log 2ᵈ belongs."""
    assert WISHART.entropy == pytest.approx(stats.wishart(6.5, MATRIX).entropy(), rel=1e-12)
    assert d.InverseWishart(4.0, [[3.0]]).entropy == pytest.approx(stats.invgamma(2.0, scale=1.5).entropy())
    surprise = -INVERSE.log_prob(INVERSE.sample(20_000, rng=4))
    assert abs(surprise.mean() - INVERSE.entropy) < 4.9 * surprise.std() / np.sqrt(20_000)


def test_moments_and_entropy_match_scipy():
    np.testing.assert_allclose(NORMAL.entropy, stats.multivariate_normal(MEAN, MATRIX).entropy())
    np.testing.assert_allclose(STUDENT.entropy, stats.multivariate_t(MEAN, MATRIX, df=4.5).entropy())
    law = stats.dirichlet([0.7, 2.0, 4.5])
    np.testing.assert_allclose(DIRICHLET.mean, law.mean())
    np.testing.assert_allclose(DIRICHLET.covariance, law.cov())
    np.testing.assert_allclose(DIRICHLET.variance, law.var())
    np.testing.assert_allclose(DIRICHLET.entropy, law.entropy())
    np.testing.assert_allclose(MULTINOMIAL.covariance, stats.multinomial(5, [0.2, 0.3, 0.5]).cov(), atol=1e-15)
    np.testing.assert_allclose(COMPOUND.covariance, stats.dirichlet_multinomial([0.7, 2.0, 4.5], 5).cov())


@pytest.mark.parametrize("family", [MULTINOMIAL, COMPOUND], ids=["multinomial", "dirichlet_multinomial"])
def test_counts_by_enumeration(family):
    mass = family.prob(COUNTS)
    assert mass.sum() == pytest.approx(1.0, rel=1e-13)
    np.testing.assert_allclose(mass @ COUNTS, family.mean)
    np.testing.assert_allclose(mass @ (COUNTS - family.mean) ** 2, family.variance)
    assert -mass @ np.log(mass) == pytest.approx(family.entropy, rel=1e-12)
    for outside in ([1, 1, 1], [-1, 3, 3], [0.5, 2.5, 2.0]):
        assert family.log_prob(outside) == -np.inf


def test_multinomial_mode_by_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(20):
        family = d.Multinomial(5, rng.dirichlet([0.6] * 3))
        assert family.log_prob(family.mode) == pytest.approx(family.log_prob(COUNTS).max(), abs=1e-12)


def test_entropy_and_density_of_joint_families():
    """log p = log p(θ | σ²) + log p(σ²) by SciPy; the entropy is −E log p over draws (z-test, false alarm 1e-5)."""
    for family in GAMMAS:
        dimension = np.size(family.mean)
        theta, variance = family.sample(20_000, rng=5)
        v = family.covariance_matrix
        normal = stats.multivariate_normal(np.zeros(dimension), v)
        for t, s in zip(theta[:5], variance[:5], strict=True):
            given = normal.logpdf((t - family.mean) / np.sqrt(s)) - 0.5 * dimension * np.log(s)
            expected = given + stats.invgamma(3.5, scale=1.3).logpdf(s)
            assert family.log_prob((t, s)) == pytest.approx(expected, rel=1e-12)
        surprise = -family.log_prob((theta, variance))
        assert abs(surprise.mean() - family.entropy) < 4.4 * surprise.std() / np.sqrt(20_000)
        assert family.log_prob((theta[0], -1.0)) == -np.inf
    mu, sigma = JOINT.sample(20_000, rng=6)
    for m, s in zip(mu[:5], sigma[:5], strict=True):
        expected = stats.multivariate_normal(MEAN, s / 1.5).logpdf(m) + stats.invwishart(9.5, MATRIX).logpdf(s)
        assert JOINT.log_prob((m, s)) == pytest.approx(expected, rel=1e-11)
    surprise = -JOINT.log_prob((mu, sigma))
    assert abs(surprise.mean() - JOINT.entropy) < 4.4 * surprise.std() / np.sqrt(20_000)


@pytest.mark.parametrize("family", [*GAMMAS, JOINT], ids=lambda f: type(f).__name__)
def test_joint_modes_are_maxima(family):
    mean, spread = family.mode
    top = family.log_prob((mean, spread))
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = 1e-3 * rng.normal(size=np.shape(spread))
        step = (step + np.swapaxes(step, -1, -2)) if np.ndim(spread) else step
        assert family.log_prob((mean + 1e-3 * rng.normal(size=np.shape(mean)), spread + step)) < top


@each_family
def test_draws_match_moments(family):
    """z-tests of the first two moments of 20,000 draws: |z| < 5.2, false alarm 2e-7 an entry, under 2e-5 in all."""
    draws = family.sample(20_000, rng=11)
    if isinstance(draws, tuple):
        law = family.marginal_covariance if family is JOINT else family.marginal_variance
        pairs = [(draws[0], family.mean, family.variance), (draws[1], law.mean, law.variance)]
    else:
        pairs = [(draws, family.mean, family.variance)]
    for x, mean, variance in pairs:
        z = (x.mean(axis=0) - mean) / np.sqrt(variance / len(x))
        assert np.all(np.abs(z) < 5.2), z
        squares = np.square(x - mean)
        # the fourth moment may be infinite: compare scales by medians instead where the tails are heavy
        if family in (NORMAL, DIRICHLET, MULTINOMIAL, COMPOUND, WISHART):
            z = (squares.mean(axis=0) - variance) / (squares.std(axis=0) / np.sqrt(len(x)))
            assert np.all(np.abs(z) < 5.2), z
    one = family.sample(rng=0)
    assert np.shape(one[0] if isinstance(one, tuple) else one) == np.shape(
        draws[0][0] if isinstance(one, tuple) else draws[0]
    )


def test_correlation_of_draws():
    """Fisher's z of each pair's correlation: 4.9 sd, false alarm 1e-6 each."""
    for family, tolerance in ((NORMAL, 4.9 / np.sqrt(20_000)), (WISHART, None)):
        draws = family.sample(20_000, rng=3)
        if tolerance is not None:
            exact = MATRIX / np.sqrt(np.outer(np.diag(MATRIX), np.diag(MATRIX)))
            error = np.arctanh(np.corrcoef(draws.T)[np.triu_indices(3, 1)]) - np.arctanh(exact[np.triu_indices(3, 1)])
            assert np.all(np.abs(error) < tolerance)
        else:
            # E |W| = |S| Π (ν − i): sensitive to the off-diagonal law
            determinants = np.linalg.det(draws)
            exact = np.linalg.det(MATRIX) * np.prod(6.5 - np.arange(3))
            assert abs(determinants.mean() - exact) < 5 * determinants.std() / np.sqrt(len(draws))


def test_tiny_concentrations_draw_corners():
    draws = d.Dirichlet(np.full(4, 1e-4)).sample(2000, rng=0)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(draws.max(axis=1) > 0.5)
    frequency = np.bincount(draws.argmax(axis=1), minlength=4)
    assert np.all(np.abs(frequency - 500) < 5 * np.sqrt(375))


@pytest.mark.parametrize("family", [NORMAL, STUDENT], ids=["normal", "student"])
def test_marginals_and_conditionals(family):
    """p(x) = p(x_b) p(x_a | x_b), for every split and order; one coordinate is a scalar family."""
    for given in ([0], [2, 0], [1], [1, 2], [-1]):
        kept = np.setdiff1d(np.arange(3), np.asarray(given) % 3)
        for x in X:
            joint = family.marginal(given).log_prob(x[given]) + family.condition(given, x[given]).log_prob(x[kept])
            assert joint == pytest.approx(family.log_prob(x), rel=1e-12)
    single = family.marginal(1)
    assert isinstance(single, d.Normal | d.StudentT)
    np.testing.assert_allclose(single.log_prob(0.3), family.marginal([1]).log_prob([0.3]))
    np.testing.assert_allclose(family.quantile([0.1, 0.7])[:, 1], single.quantile([0.1, 0.7]))
    low, high = family.interval(0.9)
    assert low.shape == high.shape == (3,)
    np.testing.assert_array_equal(family.marginal(np.array([True, False, True])).mean, MEAN[[0, 2]])
    for bad in ([0, 0], [3], [-4], [0.5]):
        with pytest.raises(ParameterError, match="indices"):
            family.marginal(bad)
    with pytest.raises(ParameterError, match="not every"):
        family.condition([0, 1, 2], X[0])
    with pytest.raises(ParameterError, match="values"):
        family.condition([0, 1], [1.0])


def test_conditioning_many_rows_and_near_singular():
    values = X[:, [0, 2]]
    batch = NORMAL.condition([0, 2], values)
    assert batch.batch_shape == (4,)
    np.testing.assert_allclose(batch.mean, [NORMAL.condition([0, 2], v).mean for v in values])
    assert batch.sample(3, rng=0).shape == (3, 4, 1)
    # correlation 1 − 1e-13: the Schur complement by subtraction would be pure rounding
    tight = d.MultivariateNormal([0.0, 0.0], [[1.0, 1 - 1e-13], [1 - 1e-13, 1.0]])
    assert tight.condition([0], [1.0]).variance[0] == pytest.approx(2e-13, rel=1e-2)


def test_other_constructors():
    lower = np.linalg.cholesky(MATRIX)
    for twin in (
        d.MultivariateNormal.from_scale_lower(MEAN, lower),
        d.MultivariateNormal.from_precision(MEAN, np.linalg.inv(MATRIX)),
    ):
        np.testing.assert_allclose(twin.covariance, MATRIX, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(twin.log_prob(X), NORMAL.log_prob(X), rtol=1e-12)
    assert d.MultivariateNormal(0.0, MATRIX).mean.tolist() == [0.0, 0.0, 0.0]
    assert d.MultivariateNormal([[0.0, 1.0], [2.0, 3.0]], np.eye(2)).log_prob(np.zeros(2)).shape == (2,)


def test_large_parameters_keep_their_digits():
    """A Student-t of 1e12 degrees of freedom is the Normal; Dirichlets and counts of 1e9 are exact like small ones."""
    np.testing.assert_allclose(d.MultivariateStudentT(1e12, MEAN, MATRIX).log_prob(X), NORMAL.log_prob(X), atol=1e-9)
    a = np.array([3e9, 4e9])
    beta = d.Beta(3e9, 4e9)
    for x in (3 / 7, 3 / 7 + 1e-6):
        assert d.Dirichlet(a).log_prob([x, 1 - x]) == pytest.approx(beta.log_prob(x), abs=1e-6)
    assert d.Multinomial(10**9, [0.3, 0.7]).log_prob([3e8, 7e8]) == pytest.approx(
        d.Binomial(10**9, 0.3).log_prob(3e8), abs=1e-9
    )
    compound = d.DirichletMultinomial(10**6, [2e9, 3e9]).log_prob([4e5, 6e5])
    assert compound == pytest.approx(d.BetaBinomial(10**6, 2e9, 3e9).log_prob(4e5), abs=1e-9)


def test_dirichlet_edges():
    assert d.Dirichlet([1.0, 1.0, 2.0]).log_prob([0.0, 0.5, 0.5]) == pytest.approx(np.log(special.gamma(4.0) * 0.5))
    assert d.Dirichlet([2.0, 1.0, 1.0]).log_prob([0.0, 0.5, 0.5]) == -np.inf
    assert d.Dirichlet([0.5, 1.0, 1.0]).log_prob([0.0, 0.5, 0.5]) == np.inf
    assert d.Dirichlet([0.5, 2.0]).log_prob([0.5, 0.6]) == -np.inf
    assert d.Dirichlet([0.5, 2.0]).log_prob([-0.5, 1.5]) == -np.inf
    assert DIRICHLET.marginal(1) == d.Beta(np.float64(2.0), DIRICHLET.total[0] - 2.0)
    np.testing.assert_allclose(DIRICHLET.quantile(0.3), [DIRICHLET.marginal(j).quantile(0.3) for j in range(3)])
    with pytest.raises(UnavailableError):
        _ = DIRICHLET.mode
    batch = d.Dirichlet([[1.0, 2.0], [3.0, 4.0]])
    assert batch.sample(5, rng=0).shape == (5, 2, 2)
    assert batch.covariance.shape == (2, 2, 2)
    assert batch.log_prob([0.5, 0.5]).shape == (2,)


def test_marginal_laws_of_joint_families():
    """Integrating σ² (Σ) out of the joint density gives the Student-t marginal."""
    family = GAMMAS[0]
    for theta in (-0.4, 0.5, 3.0):
        value, _ = integrate.quad(lambda s, t=theta: np.exp(family.log_prob((t, s))), 0, np.inf)
        assert family.marginal_mean.prob(theta) == pytest.approx(value, rel=1e-7)
    assert GAMMAS[3].marginal_mean.marginal(1).scale == pytest.approx(np.sqrt(1.3 / 3.5 * MATRIX[1, 1]))
    np.testing.assert_allclose(GAMMAS[3].variance, GAMMAS[3].marginal_mean.variance)
    line = d.NormalInverseWishart([0.5], 1 / 0.7, 7.0, [[2.6]])
    same = d.NormalInverseGamma(0.5, 0.7, 3.5, 1.3)
    for mu, variance in ((0.1, 0.4), (2.0, 1.0)):
        assert line.log_prob(([mu], [[variance]])) == pytest.approx(same.log_prob((mu, variance)))


def pairs():
    yield NORMAL, d.MultivariateNormal(MEAN + 0.3, np.diag([1.0, 2.0, 3.0]))
    yield DIRICHLET, d.Dirichlet([1.0, 1.0, 3.0])
    yield MULTINOMIAL, d.Multinomial(5, [0.3, 0.3, 0.4])
    yield WISHART, d.Wishart(8.0, np.diag([1.0, 2.0, 1.0]))
    yield INVERSE, d.InverseWishart(8.0, np.diag([1.0, 2.0, 1.0]))
    yield GAMMAS[3], d.NormalInverseGamma(0.0, np.array([1.0, 2.0, 3.0]), 2.0, 2.0)
    yield JOINT, d.NormalInverseWishart(MEAN + 0.2, 0.5, 8.0, np.diag([1.0, 2.0, 1.0]))


@pytest.mark.parametrize(("p", "q"), list(pairs()), ids=lambda f: type(f).__name__)
def test_divergences(p, q):
    """KL is the mean log ratio over 40,000 draws (|z| < 4.9, false alarm 1e-6 each), 0 at home, and ≥ 0."""
    draws = p.sample(40_000, rng=7)
    ratio = p.log_prob(draws) - q.log_prob(draws)
    assert abs(ratio.mean() - kl(p, q)) < 4.9 * ratio.std() / np.sqrt(len(ratio))
    assert kl(p, p) == pytest.approx(0.0, abs=1e-14)
    assert kl(q, p) > 0


def test_divergence_keeps_small_values():
    near = d.MultivariateNormal([0.0, 0.0], np.eye(2) * (1 + 1e-9))
    assert kl(d.MultivariateNormal([0.0, 0.0], np.eye(2)), near) == pytest.approx(0.5e-18, rel=1e-5)


def test_errors():
    with pytest.raises(NotPositiveDefiniteError, match=r"MultivariateNormal\.covariance"):
        d.MultivariateNormal([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ParameterError, match="symmetric"):
        d.MultivariateNormal([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ParameterError, match="square"):
        d.MultivariateNormal([0.0, 0.0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="vector of 2"):
        d.MultivariateNormal([0.0, 0.0, 0.0], np.eye(2))
    with pytest.raises(ParameterError, match="finite"):
        d.MultivariateNormal([0.0, np.nan], np.eye(2))
    with pytest.warns(DataWarning, match="singular to rounding"):
        d.MultivariateNormal([0.0, 0.0], np.ones((2, 2)))
    with pytest.raises(ParameterError, match="lower triangular"):
        d.MultivariateNormal.from_scale_lower([0.0, 0.0], [[1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(UnavailableError, match="df > 2"):
        _ = d.MultivariateStudentT(1.5, MEAN, MATRIX).covariance
    assert np.all(np.isinf(d.MultivariateStudentT(1.5, MEAN, MATRIX).variance))
    with pytest.raises(ParameterError, match="d − 1"):
        d.Wishart(2.0, MATRIX)
    with pytest.raises(UnavailableError, match="mean only for df"):
        _ = d.InverseWishart(3.5, MATRIX).mean
    with pytest.raises(ParameterError, match="3 × 3"):
        WISHART.log_prob(np.eye(2))
    with pytest.raises(ParameterError, match="at least two"):
        d.Dirichlet([1.0])
    with pytest.raises(ParameterError, match="> 0"):
        d.Dirichlet([1.0, 0.0])
    with pytest.raises(ParameterError, match="sum to 1"):
        d.Multinomial(3, [0.5, 0.6])
    with pytest.raises(ParameterError, match="integer"):
        d.Multinomial(2.5, [0.5, 0.5])
    with pytest.raises(ParameterError, match="covariance"):
        d.NormalInverseGamma(MEAN, -1.0, 1.0, 1.0)
    with pytest.raises(ParameterError, match="mean"):
        d.NormalInverseGamma(MEAN, np.ones(2), 1.0, 1.0)
    with pytest.raises(ParameterError, match="kappa"):
        d.NormalInverseWishart(MEAN, 0.0, 5.0, MATRIX)
    with pytest.raises(ParameterError, match="one unknown mean"):
        GAMMAS[1].update(1.0, 0.0, 0.0)
