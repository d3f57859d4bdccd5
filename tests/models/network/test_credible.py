"""Answers under a posterior over the tables: their mean, their spread, and what has none."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.errors import ParameterError, UnavailableError

RNG = np.random.default_rng(4)
RAIN = RNG.random(60) < 0.4
WET = RNG.random(60) < np.where(RAIN, 0.9, 0.2)
ROWS = {"rain": RAIN, "wet": WET}


@pytest.fixture(scope="module")
def learned():
    shape = cr.BayesianNetwork([("rain", "wet")], {"rain": [0.5, 0.5], "wet": np.full((2, 2), 0.5)},
                               {"rain": (False, True), "wet": (False, True)})  # fmt: skip
    return shape.fit(ROWS)


def test_a_table_asked_for_is_its_dirichlet(learned):
    """P(wet | rain) is one row of a table: a Beta. False-alarm rate 1e-3 by Kolmogorov and Smirnov."""
    answer = learned.query_draws("wet", {"rain": True}, 4000, random_state=1)
    a = learned.posterior_.concentrations["wet"][1]
    assert stats.kstest(answer.draws[:, 1], stats.beta(a[1], a[0]).cdf).pvalue > 1e-3
    low, high = answer.interval(0.9)[True]
    assert low < answer.mean[True] < high


def test_reversed_by_bayes_on_every_draw(learned):
    answer = learned.query_draws("rain", {"wet": True}, 50, random_state=2)
    drawn = learned.posterior_.sample(np.random.default_rng(2), 50)
    joint = drawn["rain"][:, :, None] * drawn["wet"]
    by_hand = joint[:, :, 1] / joint[:, :, 1].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(answer.draws, by_hand, rtol=1e-12)


def test_more_rows_less_doubt(learned):
    more = learned.fit({name: np.tile(column, 20) for name, column in ROWS.items()})
    few, many = (net.query_draws("rain", {"wet": True}).sd[True] for net in (learned, more))
    assert many < few / 3


def test_saved_with_its_doubt(learned, tmp_path):
    cr.save(learned, tmp_path / "net.credo")
    again = cr.load(tmp_path / "net.credo")
    np.testing.assert_array_equal(again.query_draws("wet").draws, learned.query_draws("wet").draws)


def test_what_was_stated_is_not_in_doubt(learned):
    with pytest.raises(UnavailableError, match="stated"):
        cr.BayesianNetwork([], {"a": [0.5, 0.5]}).query_draws("a")
    with pytest.raises(ParameterError, match="draws"):
        learned.query_draws("wet", draws=0)
    with pytest.raises(ParameterError, match="in \\(0, 1\\)"):
        learned.query_draws("wet", draws=3).interval(1.0)
    with pytest.raises(ParameterError, match="other than the target"):
        learned.query_draws("wet", {"wet": True})


def test_the_doubt_stays_after_an_action(learned, tmp_path):
    """P(wet | do(rain)) is the row of wet's table; that of rain given its effect, after the action, has no spread."""
    acted = learned.do({"rain": True})
    drawn = learned.posterior_.sample(np.random.default_rng(3), 40)
    answer = acted.query_draws("wet", draws=40, random_state=3)
    np.testing.assert_allclose(answer.draws, drawn["wet"][:, 1], rtol=1e-12)
    assert acted.query_draws("rain", {"wet": True}, 40).sd[True] == 0.0
    cr.save(acted, tmp_path / "acted.credo")
    again = cr.load(tmp_path / "acted.credo").query_draws("wet", draws=40, random_state=3)
    np.testing.assert_array_equal(again.draws, answer.draws)


def test_one_plan_for_many_questions(learned, monkeypatch):
    """A question about the same nodes is planned once, whatever the states; what is kept does not go into files."""
    from credo.models.network import credible

    planned = []
    compiled = credible.compile_plan
    monkeypatch.setattr(credible, "compile_plan", lambda *a, **k: planned.append(a) or compiled(*a, **k))
    network = cr.BayesianNetwork.from_state(learned.state(), 1)
    for state in (True, False, True):
        network.query_draws("rain", {"wet": state}, 5)
    assert len(planned) == 1
    network.query_draws("wet", {"rain": True}, 5)
    assert len(planned) == 2
    assert "_draw_plans" not in network.state()
    acted = network.do({"rain": True})
    assert acted.query_draws("wet", {}, 5).draws.shape == (5, 2)
    assert len(planned) == 3


def test_tiny_probabilities_underflow_nowhere():
    """Twelve findings of 1e-30 each: products leave floating point, and the law is still that of the two hypotheses."""
    n = 12
    table = np.array([[1.0 - 1e-30, 1e-30], [1.0 - 2e-30, 2e-30]])
    network = cr.BayesianNetwork(
        [("h", f"e{i}") for i in range(n)], {"h": [0.5, 0.5], **{f"e{i}": table for i in range(n)}}
    )
    from credo.models.network.credible import credible_answer

    tables = {node: t[None].repeat(3, axis=0) for node, t in network.definition_.tables.items()}
    found = credible_answer(network, tables, "h", {f"e{i}": 1 for i in range(n)})
    np.testing.assert_allclose(found.draws[:, 1], 2.0**n / (1 + 2.0**n), rtol=1e-12)
