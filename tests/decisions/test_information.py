"""Value of information by hand, by enumeration and by its inequalities; the coverage-risk curve."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.decisions import coverage_risk, losses, value_of_information
from credo.distributions.normal import Normal
from credo.errors import DataError, ParameterError
from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive


def enumerate_value(joint, costs):
    now = (costs @ joint.sum(axis=1)).min()
    perfect = now - joint.sum(axis=1) @ costs.min(axis=0)
    sample = now - sum((costs @ joint[:, s]).min() for s in range(joint.shape[1]))
    return perfect, sample


@settings(deadline=None, derandomize=True, max_examples=100)
@given(seed=st.integers(0, 2**32 - 1))
def test_value_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    k, s, m = rng.integers(1, 5, size=3)
    joint = rng.dirichlet(np.ones(k * s)).reshape(k, s)
    costs = rng.normal(size=(m, k))
    v = value_of_information(joint, losses.CostMatrix(costs, actions=np.arange(m)))
    np.testing.assert_allclose((v.perfect, v.sample), enumerate_value(joint, costs), atol=1e-12)
    assert -1e-15 <= v.sample <= v.perfect + 1e-12
    assert v.signal_actions.shape == (s,)


def test_useless_and_perfect_signals():
    prior, costs = np.array([0.3, 0.7]), losses.CostMatrix([[0, 5], [2, 0]])
    useless = value_of_information(np.outer(prior, [0.4, 0.6]), costs)
    assert useless.sample == pytest.approx(0.0, abs=1e-15)
    told = value_of_information(np.diag(prior), costs)
    assert told.sample == pytest.approx(told.perfect) == pytest.approx(0.6)
    assert value_of_information(prior, costs).sample is None
    never = value_of_information(np.column_stack([np.diag(prior), [0, 0]]), costs)
    assert never.sample == pytest.approx(told.sample)


def test_square_loss_values_information_by_variance():
    # Numeric states under square loss: perfect = Var Y; sample = Var E[Y | s].
    joint, y = np.array([[0.3, 0.1], [0.1, 0.2], [0.0, 0.3]]), np.array([0, 1, 4])
    v = value_of_information(joint, losses.Square(), states=y)
    p, s = joint.sum(axis=1), joint.sum(axis=0)
    mean = p @ y
    assert v.perfect == pytest.approx(p @ (y - mean) ** 2)
    assert v.sample == pytest.approx(s @ (y @ joint / s - mean) ** 2)


def test_predictives_row_by_row():
    v = value_of_information(Normal(np.array([0.0, 1.0]), 2.0), losses.Square())
    np.testing.assert_allclose(v.perfect, 4.0)
    p = ClassPredictive([[0.9, 0.1], [0.5, 0.5]], ["a", "b"])
    np.testing.assert_allclose(value_of_information(p, losses.CostMatrix([[0, 4], [1, 1]])).perfect, [0.3, 0.5])


def test_knowing_the_parameters_is_worth_the_epistemic_variance():
    rng = np.random.default_rng(0)
    conditional = Normal(rng.normal(size=(4000, 2)), 0.5)
    p = DrawsPredictive.from_conditional(conditional, rng=1)
    v = value_of_information(p, losses.Square())
    np.testing.assert_allclose(v.sample, p.epistemic, rtol=1e-12)
    np.testing.assert_allclose(v.perfect, p.variance, rtol=1e-12)


@pytest.mark.parametrize("joint", [[[0.5, 0.6]], [[-0.5, 1.5]], [[np.nan, 1.0]], np.ones((1, 1, 1))])
def test_bad_tables_are_named(joint):
    with pytest.raises(ParameterError, match="joint"):
        value_of_information(joint, losses.ZeroOne())


# -- coverage and risk -------------------------------------------------------------------------------------------


def test_curve_by_hand():
    p = ClassPredictive([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9], [0.4, 0.6]], ["a", "b"])
    curve = coverage_risk(p, ["a", "b", "a", "b"], losses.ZeroOne())
    # rows 0 and 2 tie at doubt .1, rows 1 and 3 at .4
    np.testing.assert_allclose(curve.coverage, [0.5, 1.0])
    np.testing.assert_allclose(curve.risk, [0.5, 0.5])
    np.testing.assert_allclose(curve.expected, [0.1, 0.25])
    np.testing.assert_allclose(curve.threshold, [0.1, 0.4])
    assert curve.area == pytest.approx(0.5)


def test_a_calibrated_forecast_keeps_its_promise():
    rng = np.random.default_rng(0)
    q = rng.random(20_000)
    y = (rng.random(q.size) < q).astype(int)
    p = ClassPredictive(np.column_stack([1 - q, q]), [0, 1])
    curve = coverage_risk(p, y, losses.ZeroOne())
    keep = curve.coverage > 0.1
    # 5 standard errors at the smallest coverage kept (2,000 rows, risk .025); the points move together.
    assert np.max(np.abs(curve.risk - curve.expected)[keep]) < 5 * np.sqrt(0.25 / 2000)
    assert curve.risk[keep][0] < curve.risk[-1]


def test_curve_of_numbers_and_of_cost_matrices():
    p = Normal(np.zeros(3), np.array([1.0, 2.0, 3.0]))
    curve = coverage_risk(p, [1.0, 1.0, 1.0], losses.Square())
    np.testing.assert_allclose(curve.threshold, [1.0, 4.0, 9.0])
    classes = ClassPredictive([[0.9, 0.1], [0.5, 0.5]], ["a", "b"])
    curve = coverage_risk(classes, ["b", "b"], losses.CostMatrix([[0, 4], [1, 0]]))
    np.testing.assert_allclose(curve.risk, [4.0, 2.0])


def test_mismatched_outcomes_are_refused():
    with pytest.raises(DataError, match="2 outcomes for 3"):
        coverage_risk(Normal(np.zeros(3), 1.0), [0.0, 0.0], losses.Square())
