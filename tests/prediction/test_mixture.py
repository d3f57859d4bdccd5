"""MixturePredictive: moments by the law of total variance, quantiles as roots of the cdf, classes by entropy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from credo.errors import ParameterError, UnavailableError
from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive
from credo.prediction.mixture import MixturePredictive, mix
from credo.prediction.normal import NormalPredictive
from credo.prediction.student_t import StudentTPredictive


def random_mixture(seed, rows=4):
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(rng.integers(1, 4)):
        place, scale = 10 ** rng.uniform(-3, 4), 10 ** rng.uniform(-3, 3, size=(2, rows))
        where = rng.normal(size=rows) * place
        if rng.random() < 0.5:
            parts.append(NormalPredictive(where, *scale))
        else:
            parts.append(StudentTPredictive(rng.uniform(2.5, 30), where, *scale))
    return MixturePredictive(rng.dirichlet(np.ones(len(parts))), parts)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), q=st.floats(1e-12, 1 - 1e-9))
def test_quantile_inverts_the_cdf(seed, q):
    p = random_mixture(seed)
    y = p.quantile(q)
    low, high = (
        np.stack([c.quantile(q) for c in p.components]).min(0),
        np.stack([c.quantile(q) for c in p.components]).max(0),
    )
    for row in range(len(p)):
        if low[row] < high[row]:
            root = brentq(lambda x, row=row: p[[row]].cdf(x)[0] - q, low[row], high[row], xtol=1e-300, rtol=9e-16)
            # The root is as sharp as the cdf's rounding allows: its two ends, not one number, are the reference.
            density = np.exp(p[[row]].log_prob(root))[0]
            slack = 4e-16 / max(density, 1e-300)
            assert abs(y[row] - root) <= 1e-10 * abs(root) + slack
        else:
            assert y[row] == low[row]


def test_variance_splits_and_matches_simulation():
    p = random_mixture(7)
    np.testing.assert_allclose(p.variance, p.aleatoric + p.epistemic, rtol=1e-13)
    equal = MixturePredictive(
        [0.25, 0.75],
        [
            NormalPredictive(np.array([0.0]), np.array([1.0]), np.array([0.5])),
            NormalPredictive(np.array([4.0]), np.array([2.0]), np.array([0.1])),
        ],
    )
    assert equal.mean.item() == 3.0
    assert equal.epistemic.item() == pytest.approx(0.25 * 0.5 + 0.75 * 0.1 + 3.0)  # 0.25·3² + 0.75·1²
    draws = equal.sample(50_000, rng=2)
    # 5 standard errors of the mean: false alarm 6e-7.
    assert abs(draws.mean() - 3.0) < 5 * equal.sd.item() / np.sqrt(50_000)
    assert np.mean(draws <= 1.0) == pytest.approx(equal.cdf(1.0).item(), abs=5 * 0.5 / np.sqrt(50_000))


def test_rows_of_a_draw_share_the_hypothesis():
    far = [NormalPredictive(np.full(3, m), np.full(3, 1e-6), np.zeros(3)) for m in (-1.0, 1.0)]
    sample = MixturePredictive([0.5, 0.5], far).sample(100, rng=0)
    assert np.all(np.abs(sample.sum(axis=1)) > 2.9)


def test_quantile_shapes_ends_and_a_gap_in_the_cdf():
    narrow = [NormalPredictive(np.full(2, m), np.full(2, 1e-20), np.zeros(2)) for m in (-1.0, 1.0)]
    p = MixturePredictive([0.5, 0.5], narrow)
    assert p.quantile([0.1, 0.9]).shape == (2, 2)
    assert p.quantile([[0.1, 0.9, 0.5]]).shape == (1, 3, 2)
    assert np.all(np.abs(p.quantile(0.5)) <= 1.0)
    assert p.quantile([0.0, 1.0])[:, 0].tolist() == [-np.inf, np.inf]
    with pytest.raises(ParameterError, match=r"MixturePredictive\.q"):
        p.quantile(1.1)


def test_count_quantile_is_the_smallest_reaching_q():
    a = DrawsPredictive(np.array([[0.0], [1.0], [2.0], [3.0]]), kind="count")
    b = DrawsPredictive(np.array([[10.0], [11.0], [12.0], [13.0]]), kind="count")
    p = MixturePredictive([0.5, 0.5], [a, b])
    assert p.kind == "count"
    assert [p.quantile(q).item() for q in (0.125, 0.126, 0.5, 0.51, 1.0)] == [0, 1, 3, 10, 13]


def test_zero_weights_drop_out_and_rescaling_does_not_matter():
    parts = random_mixture(3).components[:1] * 3
    p = MixturePredictive([2.0, 0.0, 6.0], parts)
    assert p.weights.tolist() == [0.25, 0.75]
    np.testing.assert_allclose(p.log_prob(0.0), parts[0].log_prob(0.0), rtol=1e-12)


def test_classes_mix_with_the_entropy_analogue():
    rng = np.random.default_rng(0)
    draws = rng.dirichlet(np.ones(3), size=(2, 8, 5))
    parts = [ClassPredictive.from_draws(d, ["a", "b", "c"]) for d in draws]
    mixed = mix([0.5, 0.5], parts)
    pooled = ClassPredictive.from_draws(np.concatenate(draws), ["a", "b", "c"])
    np.testing.assert_allclose(mixed.probabilities, pooled.probabilities, rtol=1e-13)
    np.testing.assert_allclose(mixed.aleatoric, pooled.aleatoric, rtol=1e-13)
    np.testing.assert_allclose(mixed.epistemic, pooled.epistemic, rtol=1e-12)


def test_a_plug_in_component_leaves_no_split():
    plug_in = ClassPredictive([[0.5, 0.5]], [0, 1])
    mixed = mix([1, 1], [plug_in, ClassPredictive([[0.5, 0.5]], [0, 1], [0.5])])
    with pytest.raises(UnavailableError):
        _ = mixed.epistemic
    real = NormalPredictive(np.zeros(1), np.ones(1))
    with pytest.raises(UnavailableError):
        _ = MixturePredictive([1, 1], [real, real]).epistemic


@pytest.mark.parametrize("weights", [[1.0], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]])
def test_bad_weights_are_named(weights):
    part = NormalPredictive(np.zeros(1), np.ones(1), np.ones(1))
    with pytest.raises(ParameterError, match="weights"):
        MixturePredictive(weights, [part, part])


def test_components_must_match():
    a, b = (NormalPredictive(np.zeros(n), np.ones(n), np.ones(n)) for n in (1, 2))
    with pytest.raises(ParameterError, match="same rows"):
        MixturePredictive([1, 1], [a, b])
    one, other = ClassPredictive([[0.5, 0.5]], [0, 1]), ClassPredictive([[0.5, 0.5]], [1, 0])
    with pytest.raises(ParameterError, match="same order"):
        mix([1, 1], [one, other])
    with pytest.raises(ParameterError, match="mix"):
        MixturePredictive([1], [one])
