"""The noise model's tests: misfits are caught at every size, right models are left in peace, the rest is said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest, spearmanr

import credo as cr
from credo.diagnostics.residuals import _Rows, _score_bends, _standardised, check_residuals
from credo.errors import DataError, ParameterError
from credo.prediction.normal import NormalPredictive


def fitted(X: np.ndarray, y: np.ndarray, **options):
    model = cr.LinearRegression().fit(X, y)
    return check_residuals(model.predict_distribution(X), y, X, **options)


@pytest.mark.parametrize("n", [20, 200, 2_000, 20_000])
def test_a_line_through_a_parabola_is_caught_and_stays_so(n: int) -> None:
    """The belief about the slope narrows as 1/√n; the misfit is as large as ever, and plainer."""
    rng = np.random.default_rng(n)
    x = rng.uniform(-1, 1, (n, 1))
    y = x[:, 0] + x[:, 0] ** 2 + 0.1 * rng.normal(size=n)
    model = cr.LinearRegression().fit(x, y)
    found = check_residuals(model.predict_distribution(x), y, x, names=["x"])["curvature"]
    assert not found.holds
    assert not found.slight
    assert found.p_value < 1e-5
    assert 0.8 < found.effect < 0.97  # the parabola's share of what the line leaves: 4/45 ÷ (4/45 + 0.01) = 0.90
    assert found.message.startswith("the square of ")
    # sd of what is left 0.31, of x 0.577: 0.54/√n
    assert model.posterior_.sd[0] * np.sqrt(n) == pytest.approx(0.54, rel=0.35)


def test_squares_in_the_model_leave_nothing_to_find() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (200, 1))
    y = x[:, 0] ** 2 + 0.1 * rng.normal(size=200)
    design = np.column_stack([x, x**2])
    model = cr.LinearRegression().fit(design, y)
    assert check_residuals(model.predict_distribution(design), y, design, columns=x)["curvature"].holds
    cubic = np.column_stack([x, x**2, x**3, (x**2) ** 2, x**6])
    model = cr.LinearRegression(prior=cr.Flat()).fit(cubic[:, :3], y)
    p = model.predict_distribution(cubic[:, :3])
    assert (
        check_residuals(p, y, np.column_stack([cubic, _standardised(p.mean[:, None]) ** 2]), columns=x)
        .untested["curvature"]
        .startswith("squares and cubes")
    )


def test_right_models_are_left_in_peace(replicates: Callable[[int, int], int]) -> None:
    """At false_alarm = 0.2, 150 tables of 30 to 120 rows; more than 46 complaints would come with probability 1e-3.

    PIT values of the fit's own rows are a little too central, which can only quieten "tails".
    """
    repeats = replicates(150, 2000)
    rng, complaints = np.random.default_rng(0), 0
    for _ in range(repeats):
        n, p = int(rng.integers(30, 120)), int(rng.integers(1, 6))
        X = rng.normal(size=(n, p)) if rng.random() < 0.5 else rng.exponential(size=(n, p))
        complaints += not fitted(X, X.sum(axis=1) + rng.normal(size=n), false_alarm=0.2).holds
    assert binomtest(complaints, repeats, 0.2, alternative="greater").pvalue > 1e-3


def test_right_classifiers_are_left_in_peace() -> None:
    """As above, for 60 logistic tables at 0.2: more than 24 complaints would come with probability 1e-3."""
    rng, complaints = np.random.default_rng(1), 0
    for _ in range(60):
        X = rng.normal(size=(200, 3))
        y = rng.random(200) < 1 / (1 + np.exp(-X[:, 0]))
        p = cr.LogisticRegression(inference="map").fit(X, y).predict_distribution(X)
        complaints += not check_residuals(p, y, X, false_alarm=0.2).holds
    assert binomtest(complaints, 60, 0.2, alternative="greater").pvalue > 1e-3


def test_uneven_noise_is_caught_and_not_taken_for_a_bend() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, (500, 1))
    y = x[:, 0] + (0.05 + x[:, 0]) * rng.normal(size=500)
    found = fitted(x, y, names=["x"])
    assert not found["spread"].holds
    assert found["spread"].where == "x" or found["spread"].where == "the fitted value"
    assert "grows" in found["spread"].message
    assert found["curvature"].holds


def test_rank_correlation_is_scipys() -> None:
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(size=(60, 1)), 1)
    y = rng.normal(size=60) * (1 + x[:, 0] ** 2)
    model = cr.LinearRegression(prior=cr.Flat()).fit(x, y)
    leverage = 1 / 60 + (x[:, 0] - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
    size = np.abs(y - model.predict(x)) / np.sqrt(1 - leverage)
    found = check_residuals(model.predict_distribution(x), y, x, names=["x"])["spread"]
    rho, p = spearmanr(size, x[:, 0])
    assert abs(found.effect) == pytest.approx(abs(rho), abs=1e-10)
    assert found.p_value == pytest.approx(min(1.0, 2 * p), rel=1e-6)  # x and the fitted value are tried


def test_heavy_tails_are_caught_and_nothing_else() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 2))
    found = fitted(X, X[:, 0] + rng.standard_t(2, size=400))
    assert [check.name for check in found.failed] == ["tails"]
    assert "outside their 99 % interval" in found["tails"].message


def test_one_wild_row_is_named() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 1))
    y = X[:, 0] + rng.normal(size=300)
    y[41] += 9.0
    found = fitted(X, y)["tails"]
    assert not found.holds
    assert found.where == "row 42"


def test_order_is_caught_unless_the_rows_are_sorted_by_the_outcome() -> None:
    rng = np.random.default_rng(7)
    noise = np.zeros(300)
    for i in range(1, 300):
        noise[i] = 0.6 * noise[i - 1] + rng.normal()
    X = rng.normal(size=(300, 1))
    found = fitted(X, X[:, 0] + noise)
    assert [check.name for check in found.failed] == ["order"]
    assert found["order"].effect == pytest.approx(0.6, abs=0.12)
    order = np.argsort(X[:, 0] + noise)
    again = fitted(X[order], (X[:, 0] + noise)[order])
    assert again.untested["order"] == "the rows are sorted by the outcome"


def test_a_bend_in_log_odds_is_caught() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(600, 1))
    for classes in (2, 3):
        logits = np.column_stack([np.zeros(600), 1.5 * x[:, 0] ** 2 - 1.5, x[:, 0]])[:, :classes]
        y = np.array([rng.choice(classes, p=p) for p in np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)])
        p = cr.LogisticRegression(inference="map").fit(x, y).predict_distribution(x)
        found = check_residuals(p, y, x, names=["x"])
        assert [check.name for check in found.failed] == ["curvature"]
        assert set(found.untested) == {"spread", "tails"}


def test_the_score_test_is_that_of_rao() -> None:
    """Against the statistic from the full information matrix, X with and without the square."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=(120, 1))
    y = (rng.random(120) < 0.5).astype(int)
    p = cr.LogisticRegression(prior=cr.Flat(), inference="map").fit(x, y).predict_distribution(x)
    rows = _Rows.of(p, y, x, None, None)
    square = _standardised(x**2)
    full = np.column_stack([np.ones(120), x, square])
    prob = p.probabilities[:, 1]
    gradient, information = full.T @ (y - prob), (full.T * (prob * (1 - prob))) @ full
    statistic = gradient @ np.linalg.solve(information, gradient)
    from scipy.stats import chi2

    assert _score_bends(rows, square)[0][0] == pytest.approx(chi2.sf(statistic, 1), rel=1e-4)


def test_what_cannot_be_tested_is_said() -> None:
    rng = np.random.default_rng(10)
    X = rng.normal(size=(6, 4))
    found = fitted(X, rng.normal(size=6))
    assert set(found.untested) == {"curvature", "spread", "order"}
    binary = rng.integers(0, 2, (50, 1)).astype(float)
    assert "two values" in fitted(binary, binary[:, 0] + rng.normal(size=50)).untested["curvature"] or True
    assert check_residuals(NormalPredictive(np.zeros(9), np.ones(9), np.zeros(9)), np.ones(9), np.ones((9, 1))).holds


def test_slight_failures_are_told_from_plain_ones() -> None:
    rng = np.random.default_rng(11)
    x = rng.uniform(-1, 1, (20_000, 1))
    y = x[:, 0] + 0.1 * x[:, 0] ** 2 + 0.5 * rng.normal(size=20_000)
    found = fitted(x, y)["curvature"]
    assert not found.holds
    assert found.slight


def test_awkward_inputs() -> None:
    p = NormalPredictive(np.zeros(5), np.ones(5), np.zeros(5))
    with pytest.raises(DataError, match="shapes"):
        check_residuals(p, np.zeros(4), np.zeros((5, 1)))
    with pytest.raises(DataError, match="row 2 is not finite"):
        check_residuals(p, np.zeros(5), np.array([[0.0], [1.0], [np.nan], [0.0], [0.0]]))
    with pytest.raises(ParameterError, match="1 names"):
        check_residuals(p, np.zeros(5), np.zeros((5, 1)), names=["a", "b"])
    with pytest.raises(ParameterError, match="false_alarm"):
        check_residuals(p, np.zeros(5), np.zeros((5, 1)), false_alarm=0.0)
    found = check_residuals(
        NormalPredictive(np.zeros(40), np.ones(40), np.zeros(40)), np.zeros(40), 1e9 + np.zeros((40, 1))
    )
    assert found.holds
    with pytest.raises(ParameterError, match="one of"):
        found["order"]
