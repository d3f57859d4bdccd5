"""Fitting vector and matrix families: stationarity, weights as counts, priors, and refusals."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import digamma

import credo.distributions as d
from credo.errors import DataError, NotIdentifiedError, NumericalError, ParameterError

RNG = np.random.default_rng(8)
MATRIX = np.array([[2.0, 0.6], [0.6, 1.0]])
ROWS = stats.multivariate_t([1.0, -1.0], MATRIX, df=5).rvs(300, random_state=RNG)
SIMPLEX = RNG.dirichlet([0.7, 2.0, 4.5], 200)
COUNTS = np.array([RNG.multinomial(20, p) for p in SIMPLEX])
MATRICES = stats.wishart(7, MATRIX).rvs(300, random_state=RNG)
WEIGHTS = RNG.integers(0, 4, 300).astype(float)
NIW = d.NormalInverseWishart([0.0, 0.0], 2.0, 6.0, np.eye(2))


def flat(family):
    return np.concatenate([np.ravel(v) for v in family.parameters.values()])


@pytest.mark.parametrize(
    ("family", "x"),
    [
        (d.MultivariateNormal, ROWS),
        (d.MultivariateStudentT, ROWS),
        (d.Dirichlet, SIMPLEX),
        (d.Multinomial, COUNTS),
        (d.DirichletMultinomial, COUNTS),
        (d.Wishart, MATRICES),
        (d.InverseWishart, MATRICES),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_weights_count_rows_and_scale_away(family, x):
    w = WEIGHTS[: len(x)]
    weighted = family.fit(x, w)
    np.testing.assert_allclose(flat(weighted), flat(family.fit(np.repeat(x, w.astype(int), axis=0))), rtol=1e-4)
    np.testing.assert_allclose(flat(weighted), flat(family.fit(x, 7.0 * w)), rtol=1e-4)
    with pytest.raises(ParameterError, match="weights"):
        family.fit(x, -w)


def test_multivariate_normal():
    fitted = d.MultivariateNormal.fit(ROWS)
    np.testing.assert_allclose(fitted.mean, ROWS.mean(axis=0))
    np.testing.assert_allclose(fitted.covariance, np.cov(ROWS.T, bias=True))
    far = d.MultivariateNormal.fit(ROWS + 1e8)
    np.testing.assert_allclose(far.covariance, fitted.covariance, rtol=1e-7)
    assert d.MultivariateNormal.fit(ROWS, prior=d.Flat()) == fitted
    with pytest.raises(DataError, match="2 rows do not determine"):
        d.MultivariateNormal.fit(ROWS[:2])
    with pytest.raises(DataError, match="row 1"):
        d.MultivariateNormal.fit([[1.0, 2.0], [np.nan, 1.0]])
    mode = d.MultivariateNormal.fit(ROWS[:1], prior=NIW)
    assert mode.covariance[0, 0] > 0


def test_normal_inverse_wishart_mode_is_the_maximum():
    """The MAP of (μ, Σ) is stationary for Σ log N + log NIW."""
    x = ROWS[:20]
    fitted = d.MultivariateNormal.fit(x, prior=NIW)

    def objective(mean, covariance):
        p = d.MultivariateNormal(mean, covariance)
        return p.log_prob(x).sum() + NIW.log_prob((mean, covariance))

    top = objective(fitted.mean, fitted.covariance)
    for _ in range(20):
        step = 1e-3 * RNG.normal(size=(2, 2))
        assert objective(fitted.mean + 1e-3 * RNG.normal(size=2), fitted.covariance + step + step.T) < top


@pytest.mark.parametrize("prior", [None, NIW])
def test_multivariate_student_t_is_the_maximum(prior):
    fitted = d.MultivariateStudentT.fit(ROWS, prior=prior)

    def objective(df, mean, scale):
        value = d.MultivariateStudentT(df, mean, scale).log_prob(ROWS).sum()
        return value + (0.0 if prior is None else prior.log_prob((mean, scale)))

    top = objective(fitted.df, fitted.mean, fitted.scale_matrix)
    for _ in range(30):
        step = 0.02 * RNG.normal(size=(2, 2))
        df = fitted.df * np.exp(0.05 * RNG.normal())
        assert objective(df, fitted.mean + 0.02 * RNG.normal(size=2), fitted.scale_matrix + step + step.T) < top
    assert 3 < fitted.df < 9


def test_multivariate_student_t_limits():
    normal = RNG.normal(size=(400, 2))
    assert d.MultivariateStudentT.fit(normal, df=1e9).scale_matrix == pytest.approx(
        np.cov(normal.T, bias=True), rel=1e-6
    )
    fixed = d.MultivariateStudentT.fit(ROWS, df=5.0)
    assert fixed.df == 5.0
    line = d.MultivariateStudentT.fit(ROWS[:, :1], df=5.0)
    scalar = optimize.minimize(
        lambda t: -stats.t(5, t[0], np.exp(t[1])).logpdf(ROWS[:, 0]).sum(), [0.0, 0.0], tol=1e-12
    ).x
    np.testing.assert_allclose(
        [line.mean[0], np.sqrt(line.scale_matrix[0, 0])], [scalar[0], np.exp(scalar[1])], rtol=1e-4
    )


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e4, 1e8])
def test_dirichlet_is_stationary(scale):
    x = RNG.dirichlet(scale * np.array([0.7, 2.0, 4.5]), 300)
    x = np.maximum(x, 1e-290)
    x = x / x.sum(axis=1, keepdims=True)
    fitted = d.Dirichlet.fit(x)
    a = fitted.concentration
    # the score is a mean of log x, whose own scale is 1/α
    score = digamma(a.sum()) - digamma(a) + np.log(x).mean(axis=0)
    np.testing.assert_allclose(score * np.minimum(a, 1.0), 0.0, atol=1e-8)
    if scale >= 1.0:  # below, the floor of 1e-290 shapes the rows
        np.testing.assert_allclose(a / a.sum(), np.array([0.7, 2.0, 4.5]) / 7.2, atol=0.05)


def test_dirichlet_priors_and_refusals():
    prior = d.Gamma(shape=3.0, rate=2.0)
    fitted = d.Dirichlet.fit(SIMPLEX[:10], prior=prior)

    def objective(a):
        return d.Dirichlet(a).log_prob(SIMPLEX[:10]).sum() + prior.log_prob(a).sum()

    for step in np.vstack([np.eye(3), -np.eye(3)]) * 1e-3:
        assert objective(fitted.concentration + step) < objective(fitted.concentration)
    assert d.Dirichlet.fit(SIMPLEX, prior=d.Flat()) == d.Dirichlet.fit(SIMPLEX)
    np.testing.assert_allclose(
        d.Dirichlet.from_moments(d.Dirichlet([1.0, 2.0, 5.0]).mean, d.Dirichlet([1.0, 2.0, 5.0]).sd).concentration,
        [1.0, 2.0, 5.0],
    )
    with pytest.raises(ParameterError, match="one number"):
        d.Dirichlet.from_moments([0.5, 0.25, 0.25], [0.1, 0.1, 0.3])
    with pytest.raises(ParameterError, match="sum 1"):
        d.Dirichlet.from_moments([0.5, 0.25], [0.1, 0.1])
    with pytest.raises(DataError, match="row 1"):
        d.Dirichlet.fit([[0.5, 0.5], [0.0, 1.0]])
    with pytest.raises(NumericalError, match="without bound"):
        d.Dirichlet.fit([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ParameterError, match="Gamma"):
        d.Dirichlet.fit(SIMPLEX, prior=d.Normal(0, 1))


def test_counts():
    p = d.Multinomial.fit(COUNTS)
    np.testing.assert_allclose(p.p, COUNTS.sum(axis=0) / COUNTS.sum())
    assert d.Multinomial.fit(COUNTS, prior=d.Dirichlet([1.0, 1.0, 1.0])) == p
    m = d.Multinomial.fit([[3, 0]], prior=d.Dirichlet([2.0, 2.0]))
    np.testing.assert_allclose(m.p, [0.8, 0.2])
    fitted = d.DirichletMultinomial.fit(COUNTS)
    a = fitted.concentration
    for step in np.vstack([np.eye(3), -np.eye(3)]) * 1e-3:
        assert d.DirichletMultinomial(20, a + step).log_prob(COUNTS).sum() < fitted.log_prob(COUNTS).sum()
    with pytest.raises(NotIdentifiedError, match="no more spread"):
        d.DirichletMultinomial.fit([[10, 10], [10, 10]])
    with pytest.raises(NotIdentifiedError, match="never occurs"):
        d.DirichletMultinomial.fit([[10, 10, 0], [1, 19, 0]])
    tamed = d.DirichletMultinomial.fit([[10, 10, 0], [10, 10, 0]], prior=d.Gamma(shape=2.0, rate=0.1))
    assert np.all(np.isfinite(tamed.concentration))
    with pytest.raises(DataError, match="row 1 sums to 3"):
        d.Multinomial.fit([[1, 1], [2, 1]])
    with pytest.raises(DataError, match="not made of counts"):
        d.Multinomial.fit([[1, 1], [2.5, -0.5]])
    with pytest.raises(DataError, match="empty"):
        d.Multinomial.fit([[0, 0]])


def test_wishart_is_the_maximum():
    fitted = d.Wishart.fit(MATRICES)
    top = fitted.log_prob(MATRICES).sum()
    for factor in (0.99, 1.01):
        assert d.Wishart(fitted.df * factor, fitted.scale_matrix).log_prob(MATRICES).sum() < top
        assert d.Wishart(fitted.df * factor, fitted.scale_matrix / factor).log_prob(MATRICES).sum() < top
    assert 6 < fitted.df < 8
    inverse = d.InverseWishart.fit(np.linalg.inv(MATRICES))
    assert inverse.df == pytest.approx(fitted.df, rel=1e-8)
    np.testing.assert_allclose(inverse.scale_matrix, np.linalg.inv(fitted.scale_matrix), rtol=1e-8)
    with pytest.raises(NotIdentifiedError, match="alike"):
        d.Wishart.fit([MATRIX, MATRIX])
    with pytest.raises(DataError, match="matrix 1"):
        d.Wishart.fit([MATRIX, -MATRIX])
    with pytest.raises(DataError, match="positive-definite"):
        d.InverseWishart.fit([MATRIX, -MATRIX])
    with pytest.raises(DataError, match="shape"):
        d.Wishart.fit(MATRIX)
