"""`best` where values are noisy: a belief about them, not the luckiest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from credo.design.spaces import Constant, Integer, Real, Space
from credo.errors import NumericalError, UnavailableError
from credo.studies import History, Study, recommendation

SPACE = Space(n=Integer(0, 4))
MEANS = (4.0, 1.0, 0.0, 1.0, 4.0)


def repeated(noisy: bool | None, direction: str = "minimize") -> Study:
    """Six trials a point, whose residuals sum to 0; the luckiest is at n = 0, the best mean at n = 2."""
    sign = 1.0 if direction == "minimize" else -1.0
    study = Study(SPACE, direction, noisy=noisy, random_state=0)
    for n, mean in enumerate(MEANS):
        for noise in (-5.0, 1.0, 1.0, 1.0, 1.0, 1.0) if n == 0 else (-0.6, 0.6, -0.6, 0.6, -0.6, 0.6):
            study.record({"n": n}, sign * (mean + noise))
    return study


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_best_mean_and_not_the_luckiest(direction: str) -> None:
    study = repeated(True, direction)
    sign = 1.0 if direction == "minimize" else -1.0
    found = study.recommendation
    assert found.trial["n"] == study.best["n"] == 2
    assert study.best_told["n"] == 0
    assert study.best_told.value == -sign
    # Sample means are the answer without a prior: noise of sd 1.4 over 30 trials, six at the point.
    assert found.sd is not None
    assert 0.2 < found.sd < 1.0
    assert abs(found.mean) < 2 * found.sd
    assert "best mean of a Gaussian process given 30 noisy trials" in found.reason


def test_noise_is_seen_where_points_were_told_twice() -> None:
    assert repeated(None).best["n"] == 2
    assert repeated(False).best["n"] == 0
    study = Study(SPACE, random_state=0)
    for n in (0, 0, 1, 1):
        study.record({"n": n}, float(n))
    assert study.recommendation.sd == 0.0
    assert "exact" in study.recommendation.reason


def test_samplers_are_told_whether_values_are_noisy() -> None:
    seen: list[History] = []

    class Watching:
        def propose(self, space: Space, history: History, pending: Any, rng: np.random.Generator) -> Any:
            seen.append(history)
            return space.sample(1, rng)[0]

    study = Study(Space(x=Real(0, 1)), sampler=Watching())
    expected = [None, None, False, True]
    for told in ((0.25, 1.0), (0.25, 1.0), (0.25, 1.0), (0.25, 2.0)):
        study.record({"x": told[0]}, told[1])
        study.ask()
    assert [history.noisy for history in seen] == expected
    Study(Space(x=Real(0, 1)), sampler=Watching(), noisy=False).ask()
    assert seen[-1].noisy is False


def test_the_model_s_own_finding_counts() -> None:
    """Noise of sd 1 on a range of 1: the sampler's model sees it within 25 trials."""
    rng = np.random.default_rng(0)
    study = Study(Space(x=Real(0, 1)), random_state=0)
    study.optimize(lambda p: (p["x"] - 0.5) ** 2 + rng.standard_normal(), 25)
    learned = [t.why["acquisition"] for t in study.records if "acquisition" in t.why][-1]
    assert ("Gaussian process" in study.recommendation.reason) == (learned == "noisy_log_ei")
    assert "no noise is known of" in Study(SPACE).optimize(lambda p: p["n"], 3).recommendation.reason


def test_it_is_worked_out_once_for_each_value_told(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    real = recommendation._by_model

    def counted(told: Any, *rest: Any) -> Any:
        calls.append(len(told))
        return real(told, *rest)

    monkeypatch.setattr(recommendation, "_by_model", counted)
    study = repeated(True)
    first = study.best
    study.note("nothing told")
    study.ask()
    assert study.best is first
    assert calls == [30]
    study.record({"n": 3}, 0.0)
    assert study.recommendation == study.recommendation
    assert calls == [30, 31]
    again = repeated(True)
    again.record({"n": 3}, 0.0)
    assert again.recommendation == study.recommendation  # the same trials, the same answer


def test_where_there_is_nothing_to_smooth(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(SPACE, noisy=True)
    with pytest.raises(UnavailableError):
        _ = study.recommendation
    study.record({"n": 1}, 1.0)
    assert "too few" in study.recommendation.reason
    fixed = Study(Space(k=Constant(1)), noisy=True)
    for value in (3.0, 1.0, 2.0, 4.0, 5.0):
        fixed.record({"k": 1}, value)
    assert fixed.best.value == 1.0

    def fail(*_: Any) -> Any:
        raise NumericalError("singular")

    monkeypatch.setattr(recommendation, "_by_model", fail)
    study = repeated(True)
    assert study.best["n"] == 0
    assert "the model failed: singular" in study.recommendation.reason


@pytest.mark.slow
def test_regret_of_noisy_studies(
    replicates: Callable[[int, int], int], record_property: Callable[[str, object], None]
) -> None:
    """True regret of the recommendation against the luckiest trial's, paired over seeds; noise of half the objective's
    sd. If both were the same, a false alarm once in a thousand runs (3.1 standard errors)."""
    regrets = []
    for seed in range(replicates(40, 200)):
        rng = np.random.default_rng(seed)
        study = Study(Space(x=Real(-1, 1), y=Real(-1, 1)), noisy=True, random_state=seed, sampler="sobol")
        regret = lambda p: (p["x"] - 0.2) ** 2 + (p["y"] - 0.2) ** 2
        study.optimize(lambda p, regret=regret, rng=rng: regret(p) + 0.2 * rng.standard_normal(), 60)
        regrets.append([regret(trial.params) for trial in (study.best, study.best_told)])
    best, luckiest = np.transpose(regrets)
    record_property("regret of the best mean", round(float(best.mean()), 3))
    record_property("regret of the luckiest", round(float(luckiest.mean()), 3))
    gain = luckiest - best
    assert gain.mean() > 3.1 * gain.std(ddof=1) / np.sqrt(len(gain))
