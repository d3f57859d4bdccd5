"""Draws: shapes, moments, the protocol, reports, saving."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import credo.saving as saving
from credo.errors import DataError, MissingDependencyError, ParameterError, UnavailableError
from credo.inference.draws import Draws, ImportanceDraws
from credo.inference.posterior import Posterior
from credo.inference.result import Result

rng = np.random.default_rng(0)
W, S = rng.normal(size=(4, 500, 2)), rng.gamma(2.0, size=(4, 500))
RESULT = Result("converged", "nuts", seconds=(1.5,), certificate={"rhat": 1.001})
ONE = Draws({"w": W}, RESULT)
TWO = Draws({"w": W, "s": S}, RESULT, {"divergent": np.zeros((4, 500), dtype=bool)}, {"w": ("feature",)})


def test_one_variable_gives_arrays():
    assert isinstance(ONE, Posterior)
    assert ONE["w"].shape == (2000, 2)
    np.testing.assert_allclose(ONE.mean, W.reshape(-1, 2).mean(0))
    np.testing.assert_allclose(ONE.sd**2, ONE.variance)
    assert ONE.quantile([0.1, 0.5]).shape == (2, 2)
    low, high = ONE.interval(0.8)
    np.testing.assert_allclose([low, high], ONE.quantile([0.1, 0.9]))
    assert ONE.sample(7, 0).shape == (7, 2)
    assert ONE.sample(5000, 0).shape == (5000, 2)
    assert len(np.unique(ONE.sample(2000, 0)[:, 0])) == 2000  # without replacement while there are enough


def test_several_variables_give_dicts():
    assert set(TWO.mean) == {"w", "s"}
    assert TWO.interval()["s"][0] < TWO.mean["s"] < TWO.interval()["s"][1]
    both = TWO.sample(50, 1)
    rows = [int(np.flatnonzero(TWO["s"] == s)[0]) for s in both["s"]]
    np.testing.assert_array_equal(TWO["w"][rows], both["w"])
    assert "s" in TWO
    assert list(TWO) == ["w", "s"]
    assert len(TWO) == 2000
    assert "4 chains × 500 draws" in repr(TWO)


def test_summary():
    summary = TWO.summary()
    assert summary.rows == ("w[0]", "w[1]", "s")
    assert set(summary.columns) == {
        "mean", "sd", "lower", "q50", "upper", "prob_positive", "hdi90_low", "hdi90_high", "mcse_mean", "mcse_sd",
        "ess_bulk", "ess_tail", "rhat",
    }  # fmt: skip
    assert summary["s"]["mean"] == pytest.approx(S.mean())
    assert list(summary) == list(summary.rows)
    assert "s" in summary
    assert "t" not in summary
    assert summary["s"]["lower"] == pytest.approx(np.quantile(S, 0.05))
    assert summary["s"]["prob_positive"] == pytest.approx(np.mean(S > 0))
    lines = str(summary).splitlines()
    assert len(lines) == 4
    assert lines[0].split()[:2] == ["mean", "sd"]
    assert len({len(line) for line in lines}) == 1
    with pytest.raises(ParameterError, match=r"Summary\.row"):
        summary["t"]


def test_check():
    assert TWO.check().ok
    assert not Draws({"x": W[..., 0] + np.arange(4)[:, None]}, RESULT).check().ok


def test_saved_and_loaded(tmp_path):
    saving.save(TWO, tmp_path / "d.credo")
    back = saving.load(tmp_path / "d.credo")
    np.testing.assert_array_equal(back["w"], TWO["w"])
    assert back.result == TWO.result
    assert back.dims == TWO.dims
    with pytest.raises(UnavailableError, match="log_prob"):
        back.log_prob(np.zeros(3))


def test_log_prob():
    known = Draws({"w": W}, RESULT, density=lambda x: -0.5 * np.sum(x**2, axis=-1))
    assert known.log_prob([1.0, 1.0]) == -1.0
    assert known.log_prob(np.ones((3, 2))).shape == (3,)
    assert known.log_prob({"w": [1.0, 1.0]}) == -1.0


def test_to_arviz_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(MissingDependencyError, match=r"credo\[arviz\]"):
        TWO.to_arviz()


def test_to_arviz():
    pytest.importorskip("arviz_base")
    tree = TWO.to_arviz()
    assert tree["posterior"]["w"].dims == ("chain", "draw", "feature")
    assert tree["sample_stats"]["divergent"].shape == (4, 500)


def test_errors():
    with pytest.raises(DataError, match="equal"):
        Draws({"a": W, "b": S[:, :10]}, RESULT)
    for empty in ({}, {"a": np.zeros((0, 5))}, {"a": np.zeros(3)}):
        with pytest.raises(DataError):
            Draws(empty, RESULT)
    for call in (lambda: ONE["z"], lambda: ONE.quantile(1.5), lambda: ONE.interval(0.0)):
        with pytest.raises(ParameterError):
            call()


def test_weighted_quantiles_of_equal_weights():
    x = np.arange(101.0)
    equal = ImportanceDraws({"x": x}, np.full(101, 1 / 101), RESULT)
    assert equal.quantile(0.5) == pytest.approx(50.0)
    assert equal.mean == pytest.approx(50.0)
    np.testing.assert_array_equal(np.sort(equal["x"]), x)
    assert equal.effective == pytest.approx(101)
    with pytest.raises(ParameterError):
        equal.interval(2.0)
    with pytest.raises(ParameterError):
        equal["y"]
    with pytest.raises(UnavailableError):
        equal.log_prob(0.0)
