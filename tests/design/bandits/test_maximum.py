"""The best of independent arms against closed forms, adaptive quadrature and enumeration of draws."""

import itertools

import numpy as np
import pytest
from scipy import integrate, special

from credo.design.bandits import expected_loss, gain_cdf, gain_quantile, probability_best
from credo.distributions.beta import Beta
from credo.distributions.student_t import StudentT
from credo.errors import NumericalError, ParameterError


def beats(a1, b1, a2, b2):
    """P(second > first) of two Betas with integer a2: a finite sum."""
    i = np.arange(a2)
    return np.exp(
        special.betaln(a1 + i, b1 + b2) - np.log(b2 + i) - special.betaln(1 + i, b2) - special.betaln(a1, b1)
    ).sum()


def by_quad(law, k):
    def at(each, x):
        return type(law)(*(np.broadcast_to(v, law.batch_shape)[each] for v in law.parameters.values()))

    others = [j for j in range(law.batch_shape[0]) if j != k]
    own = at(k, None)
    rest = [at(j, None) for j in others]

    def integrand(u):  # in the arm's own probability: bounded whatever its tails
        x = own.quantile(u)
        return np.prod([each.cdf(x) for each in rest])

    cuts = np.unique([float(own.cdf(each.quantile(q))) for each in rest for q in (0.01, 0.1, 0.5, 0.9, 0.99)])
    ends = np.concatenate([[0.0], cuts[(cuts > 0) & (cuts < 1)], [1.0]])
    # 1e-10: the quantile functions have 1e-11, and are noisy below it
    return sum(integrate.quad(integrand, a, b, epsabs=1e-10, epsrel=1e-10)[0] for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize("seed", range(20))
def test_two_betas_by_the_finite_sum(seed):
    rng = np.random.default_rng(seed)
    a1, b1, a2, b2 = (int(v) for v in np.exp(rng.uniform(0.0, 8.0, 4)) + 1)
    p = probability_best(Beta([a1, a2], [b1, b2]))
    # the sum's own rounding: thousands of terms whose logarithms have 1e-12
    assert p[1] == pytest.approx(beats(a1, b1, a2, b2), abs=1e-8)
    assert p.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(
    "law",
    [
        Beta([0.5, 0.5, 3.0], [0.5, 2.0, 4.0]),
        StudentT([3.0, 5.0, 30.0], [0.0, 0.5, 0.2], [1.0, 0.2, 0.01]),
        StudentT([1.0, 2.0], [0.0, 1.0], [1.0, 3.0]),
    ],
)
def test_probability_best_by_adaptive_quadrature(law):
    expected = [by_quad(law, k) for k in range(law.batch_shape[0])]
    np.testing.assert_allclose(probability_best(law), expected, atol=1e-9)


def test_probability_best_by_the_trapezoid_rule():
    law = Beta([1000.0, 1.0, 3.0, 40.0], [1200.0, 1.0, 2.0, 45.0])
    x = np.linspace(0.0, 1.0, 200_001)  # 2,000 points an sd of the narrowest
    cdf, density = law.cdf(x[:, None]), law.prob(x[:, None])
    expected = [integrate.trapezoid(density[:, k] * np.prod(np.delete(cdf, k, axis=1), axis=1), x) for k in range(4)]
    np.testing.assert_allclose(probability_best(law), expected, atol=1e-8)


def test_symmetry_and_one_arm():
    np.testing.assert_allclose(probability_best(Beta(np.full(7, 0.5), 0.5)), 1 / 7, atol=1e-12)
    assert probability_best(Beta([3.0], [1.0])).tolist() == [1.0]
    assert expected_loss(Beta([3.0], [1.0])) == 0.0
    assert gain_cdf(Beta([3.0], [1.0]), 0.0) == 1.0


def test_expected_loss_of_uniforms_and_betas():
    assert expected_loss(Beta(np.ones(4), np.ones(4))) == pytest.approx(4 / 5 - 1 / 2, abs=1e-13)
    law = Beta([8.0, 5.0, 2.0], [4.0, 3.0, 2.0])
    above = integrate.quad(lambda x: 1 - np.prod(law.cdf(x)), 0, 1, epsabs=1e-13)[0]
    assert expected_loss(law) == pytest.approx(above - law.mean.max(), abs=1e-12)


def test_expected_loss_of_two_normals_in_closed_form():
    # E max of two Normals (Clark 1961); df 1e9 is Normal to 1e-9
    gap, s = 0.3, np.hypot(1.0, 0.5)
    z = gap / s
    exact = s * (np.exp(-z * z / 2) / np.sqrt(2 * np.pi) - z * special.ndtr(-z))
    assert expected_loss(StudentT([1e9, 1e9], [0.3, 0.0], [1.0, 0.5])) == pytest.approx(exact, rel=1e-7)
    # a tiny loss keeps its digits
    z = 8.0 / s
    exact = s * (np.exp(-z * z / 2) / np.sqrt(2 * np.pi) - z * special.ndtr(-z))
    assert expected_loss(StudentT([1e9, 1e9], [8.0, 0.0], [1.0, 0.5])) == pytest.approx(exact, rel=1e-4)
    assert expected_loss(StudentT([1.0, 5.0], [0.0, 1.0], [1.0, 1.0])) == np.inf


def test_expected_loss_of_heavy_tails():
    # E max − E μ = ½ E|x − y|; of two Student-t with df 3/2, by quadrature in probability
    law = StudentT([1.5, 1.5], [0.0, 0.0], [1.0, 1.0])
    # E max = ∫ (1 − F²) − F²(−x) = 2 ∫₀^∞ F S dx, the tail in closed form beyond 1e4: S ~ c x^(−3/2)
    one = StudentT(1.5, 0.0, 1.0)
    body = 2 * integrate.quad(lambda u: np.exp(u) * one.cdf(np.exp(u)) * one.survival(np.exp(u)), -40, np.log(1e4))[0]
    tail = 2 * 1e4 * one.survival(1e4) / 0.5
    assert expected_loss(law) == pytest.approx(body + tail, rel=1e-4)


def test_gain_against_draws():
    rng = np.random.default_rng(0)
    for law, relative in [
        (Beta([20.0, 15.0, 3.0], [80.0, 70.0, 10.0]), True),
        (Beta([20.0, 15.0, 3.0], [80.0, 70.0, 10.0]), False),
        (StudentT([4.0, 6.0, 9.0], [1.0, 0.8, -1.0], [0.5, 0.4, 2.0]), False),
    ]:
        x = law.sample(200_000, rng)
        best = int(np.argmax(law.mean))
        gain = x.max(axis=1) / x[:, best] - 1 if relative else x.max(axis=1) - x[:, best]
        for v in (0.0, 0.05, 0.3):
            p = gain_cdf(law, v, relative=relative)
            se = np.sqrt(p * (1 - p) / len(gain))
            assert abs(np.mean(gain <= v) - p) < 5 * se  # false alarm < 6e-7 each, 9 of them; the seed is fixed
        q = gain_quantile(law, 0.95, relative=relative)
        assert gain_cdf(law, q, relative=relative) == pytest.approx(0.95, abs=1e-8)


def test_gain_of_uniforms_in_closed_form():
    law = Beta([1.0, 1.0], [1.0, 1.0])
    for v in (0.1, 0.5, 0.9):
        assert gain_cdf(law, v) == pytest.approx(1 - 0.5 * (1 - v) ** 2, abs=1e-12)
        # P(y ≤ (1 + v) x) = 1 − 1/(2 (1 + v))
        assert gain_cdf(law, v, relative=True) == pytest.approx(1 - 0.5 / (1 + v), abs=1e-12)
    assert gain_quantile(law, 0.3) == 0.0


def test_what_is_refused():
    with pytest.raises(ParameterError, match="relative"):
        gain_cdf(StudentT([3.0, 3.0], [0.0, 1.0], 1.0), 0.1, relative=True)
    with pytest.raises(NumericalError, match="sum to"):
        probability_best(Beta([1e-3, 1e-3], [1e-3, 1.0]))


def test_many_arms_of_very_different_width():
    rng = np.random.default_rng(1)
    n = np.exp(rng.uniform(1, 14, 40))
    m = rng.uniform(0.4, 0.5, 40)
    p = probability_best(Beta(n * m, n * (1 - m)))
    x = rng.beta(n * m, n * (1 - m), (100_000, 40))
    seen = np.bincount(x.argmax(axis=1), minlength=40) / len(x)
    assert np.all(np.abs(seen - p) < 5 * np.sqrt(p * (1 - p) / len(x)) + 1e-9)
