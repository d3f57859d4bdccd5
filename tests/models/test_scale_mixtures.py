"""Scale mixtures: the Gibbs step leaves the joint prior of (w, variances) as it is; densities have their gradients."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.distributions.elastic_net import ElasticNet
from credo.distributions.horseshoe import Horseshoe
from credo.models.scale_mixtures import (
    ElasticNetMixture,
    HorseshoeMixture,
    LaplaceMixture,
    NormalMixture,
    StudentTMixture,
    horseshoe_precisions,
    scaled_exp1,
)

P = 3
MEAN, SCALE = np.array([0.5, 0.0, -1.0]), np.array([0.3, 1.0, 2.0])
CLOSED = {
    "normal": NormalMixture(MEAN, SCALE),
    "laplace": LaplaceMixture(MEAN, SCALE),
    "student-t": StudentTMixture(MEAN, SCALE, df=np.array([3.0, 1.0, 10.0])),
    "elastic net": ElasticNetMixture(MEAN, SCALE, normal_sd=np.array([1.0, 0.5, 3.0])),
    "horseshoe": HorseshoeMixture(MEAN, SCALE),
}


@pytest.mark.parametrize("name", ["laplace", "student-t", "elastic net"])
def test_w_given_variances_given_w_keeps_the_marginal(name):
    """w ~ p(w), s² ~ p(s² | w), w′ ~ N(m, s²): w′ ~ p(w). Kolmogorov–Smirnov at 1e-4 on 3 × 3 entries."""
    mixture, rng = CLOSED[name], np.random.default_rng(0)
    laws = {
        "laplace": cr.Laplace(0.0, SCALE),
        "student-t": cr.StudentT(np.array([3.0, 1.0, 10.0]), 0.0, SCALE),
        "elastic net": ElasticNet(SCALE, np.array([1.0, 0.5, 3.0])),
    }
    w = MEAN + laws[name].sample(20_000, rng)
    variances, _ = mixture.draw_variances(w, mixture.initial(len(w)), rng)
    again = MEAN + np.sqrt(variances) * rng.standard_normal(w.shape)
    for j in range(P):
        assert stats.ks_2samp(w[:, j], again[:, j]).pvalue > 1e-4
        assert stats.ks_2samp(np.abs(w[:, j] - MEAN[j]), np.abs(again[:, j] - MEAN[j])).pvalue > 1e-4


def test_the_horseshoe_step_keeps_its_prior():
    """Five steps of (w | s², then s² | w) started in the prior stay there. KS at 1e-4 on w and τ."""
    mixture, rng, n = HorseshoeMixture(np.zeros(2), np.ones(2), learned=True, reach=0.5), np.random.default_rng(1), 3000
    tau = 0.5 * np.abs(rng.standard_cauchy((n, 1)))
    local = np.abs(rng.standard_cauchy((n, 2)))
    w = local * tau * rng.standard_normal((n, 2))
    state = {"log_scale": np.log(tau)}
    for _ in range(5):
        variances, state = mixture.draw_variances(w, state, rng)
        w = np.sqrt(variances) * rng.standard_normal(w.shape)
    fresh = Horseshoe(0.5).sample((n, 2), rng)
    assert stats.ks_2samp(w[:, 0], fresh[:, 0]).pvalue > 1e-4
    assert stats.kstest(mixture.learned_scale(state), cr.HalfCauchy(0.5).cdf).pvalue > 1e-4


def test_a_learned_scale_keeps_its_half_cauchy():
    mixture, rng, n = LaplaceMixture(np.zeros(2), SCALE[:2], learned=True, reach=2.0), np.random.default_rng(2), 8000
    log_scale = np.log(2.0 * np.abs(rng.standard_cauchy((n, 1))))
    state, w = {"log_scale": log_scale}, rng.laplace(size=(n, 2)) * SCALE[:2] * np.exp(log_scale)
    for _ in range(5):
        variances, state = mixture.draw_variances(w, state, rng)
        w = np.sqrt(variances) * rng.standard_normal(w.shape)
    assert stats.kstest(mixture.learned_scale(state), cr.HalfCauchy(2.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("learned", [False, True])
def test_gradients(name, learned):
    mixture, w, h = (
        replace(CLOSED[name], learned=learned, reach=0.7),
        np.array([[0.1, 0.4, -2.0], [2.0, -1.0, 3.0]]),
        1e-6,
    )
    t = np.array([0.3, -0.2])
    numeric = [(mixture.log_prob(w + h * e, t) - mixture.log_prob(w - h * e, t)) / (2 * h) for e in np.eye(P)]
    np.testing.assert_allclose(mixture.gradient(w, t), np.stack(numeric, axis=-1), rtol=1e-6, atol=1e-8)
    if name != "elastic net":  # whose Normal part keeps its own scale
        numeric = (mixture.log_prob(w, t + h) - mixture.log_prob(w, t - h)) / (2 * h)
        np.testing.assert_allclose(mixture.scale_gradient(w, t), numeric, rtol=1e-6)


def test_the_horseshoe_density_is_its_mixture():
    """Against quadrature over λ = tan θ, and a marginal that integrates to one."""
    d, tau = np.array([1e-3, 0.2, 3.0, 40.0]), 0.7
    mixture = HorseshoeMixture(np.zeros(1), np.full(1, tau))
    angle = np.linspace(0.0, 0.5 * np.pi, 400_003)[1:-1]
    numeric = [np.mean(stats.norm.pdf(x, scale=tau * np.tan(angle))) for x in d]
    found = mixture.log_prob(d[:, None])
    np.testing.assert_allclose(np.exp(found), numeric, rtol=1e-5)
    far = mixture.log_prob(np.array([[1e6], [1e8]]))  # tails like 1/d²
    np.testing.assert_allclose(far[0] - far[1], 2.0 * np.log(100.0), rtol=1e-9)


@pytest.mark.parametrize("z", [1e-250, 1e-6, 0.4, 1.0, 30.0, 1e6])
def test_precisions_of_a_horseshoe_have_their_law(z):
    """1 − F(η) = e^(−zη) g(z + zη)/g(z) with g(z) = e^z E₁(z). KS at 1e-4 each."""
    given = np.full((2, 3000), z)
    found = horseshoe_precisions(given, np.random.default_rng(3))
    left = np.exp(-z * found) * scaled_exp1(np.maximum(z * (1.0 + found), 1e-300)) / scaled_exp1(given)
    assert stats.kstest(left.ravel(), "uniform").pvalue > 1e-4
