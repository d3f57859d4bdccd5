"""Rules that give up trials by intermediate values, and objectives that report."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.design.spaces import Integer, Real, Space
from credo.errors import DataWarning, ParameterError, StorageError
from credo.studies import HalvingRule, History, MedianRule, MemoryStorage, Study, Trial
from credo.studies.pruning import reason_to_prune
from tests.studies.objectives import learning

SPACE = Space(n=Integer(1, 1000))


def curve(id: int, values: list[float], state: str = "told", first: int = 1) -> Trial:
    return Trial(id, {}, state, reported=tuple(enumerate(values, first)))


def test_the_median_of_best_values() -> None:
    others = [curve(i, [10.0, float(i)]) for i in range(5)]  # best up to step 2: 0 … 4, the median 2
    rule = MedianRule(least=5)
    assert rule(curve(9, [9.0]), others, 1.0) is None  # at step 1 all others had 10
    assert rule(curve(9, [11.0]), others, 1.0) is not None
    assert rule(curve(9, [5.0, 2.0]), others, 1.0) is None  # as good as the median
    assert rule(curve(9, [2.0, 5.0]), others, 1.0) is None  # it was as good before
    reason = rule(curve(9, [5.0, 2.5]), others, 1.0)
    assert reason == "its best value up to step 2, 2.5, is worse than the median, 2"
    assert rule(curve(9, [5.0, 2.5]), others[1:], 1.0) is None  # too few to judge by
    assert MedianRule(least=5, warmup=3)(curve(9, [5.0, 2.5]), others, 1.0) is None
    assert rule(curve(9, [5.0, 2.5]), [*others[1:], curve(5, [1.0, 0.0], "pending")], 1.0) is None
    assert rule(curve(9, [1.0, 1.5]), others, -1.0) is not None  # where more is better 1.5 is not


def test_halving_by_hand() -> None:
    """Nine trials come one after another, each worse than the last: of n at a rung the best n // 3 go on."""
    rule = HalvingRule(factor=3)
    went_on = []
    for n in range(9):
        others = [curve(i, [float(i)]) for i in range(n)]
        if rule(curve(n, [float(n)]), others, 1.0) is None:
            went_on.append(n)
    assert went_on == [0, 1]  # nobody is judged before there are three
    went_on = [
        n for n in range(9) if rule(curve(n, [-float(n)]), [curve(i, [-float(i)]) for i in range(n)], 1.0) is None
    ]
    assert went_on == list(range(9))  # each the best so far


def test_halving_judges_at_rungs_only() -> None:
    others = [curve(i, [float(i)] * 10) for i in range(6)]
    judged = [steps for steps in range(1, 11) if HalvingRule(factor=3)(curve(9, [9.0] * steps), others, 1.0)]
    assert judged == [1, 3, 9]
    judged = [steps for steps in range(1, 11) if HalvingRule(factor=2, first=3)(curve(9, [9.0] * steps), others, 1.0)]
    assert judged == [3, 6]
    # A report every thousand rows: the first crosses many rungs, and is judged at the last of them.
    coarse = [Trial(i, {}, "told", reported=((1000, float(i)),)) for i in range(6)]
    assert "rung 729" in str(HalvingRule()(Trial(9, {}, reported=((1000, 9.0),)), coarse, 1.0))
    stale = [Trial(i, {}, "stale", reported=((1, float(i)),)) for i in range(6)]  # each is asked again
    assert HalvingRule()(curve(9, [9.0]), stale, 1.0) is None


REPORTS = st.lists(st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=10), min_size=1, max_size=12)


@given(REPORTS, st.sampled_from([MedianRule(least=2), HalvingRule(), HalvingRule(2)]))
def test_rules_depend_on_order_only_and_spare_the_best(reports: list[list[float]], rule: Any) -> None:
    trials = [curve(i, values, "told" if i else "pending") for i, values in enumerate(reports)]
    own, others = trials[0], trials[1:]
    verdict = rule(own, others, 1.0) is None
    stretched = [
        curve(t.id, [math.exp(v / 10) for _, v in t.reported if v is not None], t.state) for t in trials
    ]  # fmt: skip
    assert (rule(stretched[0], stretched[1:], 1.0) is None) == verdict
    flipped = [curve(t.id, [-v for _, v in t.reported if v is not None], t.state) for t in trials]
    assert (rule(flipped[0], flipped[1:], -1.0) is None) == verdict
    if all(own.reported[-1][1] <= v for t in others for _, v in t.reported):  # type: ignore[operator]
        assert verdict


def test_asking_about_a_trial() -> None:
    study = Study(SPACE, "maximize", pruner="median", sampler="random", random_state=0)
    for value in range(5):
        trial = study.ask()
        assert not study.should_prune(trial)  # nothing reported
        study.report(trial, 0, value)
        assert not study.should_prune(trial)
        study.tell(trial, value)
    trial = study.ask()
    study.report(trial, 0, 1.0)
    assert study.should_prune(trial.id)
    study.report(trial, 1, math.nan)
    assert study.should_prune(trial)
    assert study.prune(trial).reported == ((0, 1.0), (1, None))
    without = Study(SPACE)
    other = without.ask()
    without.report(other, 0, math.nan)
    assert not without.should_prune(other)
    for step in (-1, 0.5, True, "0"):
        with pytest.raises(ParameterError, match="step"):
            without.report(other, step, 1.0)  # type: ignore[arg-type]
    for pruner in ("halve", 3, MedianRule):
        with pytest.raises(ParameterError, match="pruner"):
            Study(SPACE, pruner=pruner)  # type: ignore[arg-type]
    for make in (lambda: HalvingRule(1), lambda: HalvingRule(first=0), lambda: MedianRule(least=0)):
        with pytest.raises(ParameterError):
            make()


@pytest.mark.parametrize(("n_jobs", "backend"), [(1, "threads"), (3, "threads"), (2, "processes")])
def test_objectives_report_and_are_stopped(n_jobs: int, backend: str) -> None:
    """`learning` reports n at steps 1 … 9, so that halving can judge it at once."""
    study = Study(SPACE, pruner="halving", sampler="random", random_state=0)
    study.optimize(learning, 12, n_jobs=n_jobs, backend=backend)
    states = {state: [t for t in study.records if t.state == state] for state in ("told", "pruned")}
    assert len(states["told"]) + len(states["pruned"]) == 12
    assert states["told"]
    assert states["pruned"]
    for trial in states["told"]:
        assert trial.reported == tuple((step, float(trial["n"])) for step in range(1, 10))
    for trial in states["pruned"]:
        assert "is not among the best 1/3" in str(trial.reason)
        assert trial.value == trial.reported[-1][1] == trial["n"]
        assert trial.reported[-1][0] in (1, 3, 9)
    assert study.best["n"] == min(t["n"] for t in study.records)


def test_the_same_seed_prunes_the_same() -> None:
    a, b = (
        Study(SPACE, pruner="median", random_state=0, sampler="sobol").optimize(learning, 20, n_jobs=1)
        for _ in range(2)
    )  # fmt: skip
    assert [(t.params, t.state, t.reported) for t in a.records] == [(t.params, t.state, t.reported) for t in b.records]
    assert {t.state for t in a.records} == {"told", "pruned"}


def test_a_thread_that_is_late_ends_at_its_next_report() -> None:
    release, ended = threading.Event(), threading.Event()

    def slow(p: dict[str, Any], progress: Any) -> float:
        release.wait(30)
        try:
            progress(1, 0.0)
        except Exception:
            ended.set()
            raise
        return 0.0

    study = Study(SPACE, sampler="random")
    with pytest.warns(DataWarning, match="no answer"):
        study.optimize(slow, 1, timeout=0.1)
    release.set()
    assert ended.wait(30)
    assert study.refresh().records[0].reported == ()


def test_a_report_that_cannot_be_kept_is_not_the_trial_s_fault() -> None:
    class Full(MemoryStorage):
        def append(self, study: str, kind: str, *rest: Any, **named: Any) -> Any:
            if kind == "reported":
                raise StorageError("no space")
            return super().append(study, kind, *rest, **named)

    study = Study(SPACE, storage=Full(), sampler="random")
    with pytest.raises(StorageError, match="no space"):
        study.optimize(learning, 3)
    assert [t.state for t in study.records] == ["stale"]


def test_a_rule_of_ones_own_and_bad_reports() -> None:
    def never_thirteen(trial: Trial, others: Any, sign: float) -> str | None:
        return "unlucky" if trial.reported[-1][1] == 13.0 else None

    def reports(p: dict[str, Any], *, progress: Any) -> float:
        progress(1, 13 if p["x"] < 0.5 else "many")
        return 1.0

    study = Study(Space(x=Real(0, 1)), pruner=never_thirteen, sampler="sobol", random_state=0)
    with pytest.warns(DataWarning, match="number"):
        study.optimize(reports, 4)
    assert sorted(t.state for t in study.records) == ["failed", "failed", "pruned", "pruned"]
    assert reason_to_prune(None, study.records[0], study.records, 1.0) is None


def test_samplers_see_pruned_trials_as_no_better_than_half() -> None:
    seen: list[History] = []

    class Watching:
        def propose(self, space: Space, history: History, pending: Any, rng: np.random.Generator) -> Any:
            seen.append(history)
            return space.sample(1, rng)[0]

    study = Study(SPACE, "maximize", sampler=Watching())
    study.prune(study.ask(), 1.0)
    study.ask()
    assert len(seen[-1].failed) == 1  # nothing was told that it could be compared with
    for value in (5.0, 6.0, 7.0):
        study.tell(study.ask(), value)
    study.prune(study.ask(), 100.0)
    study.prune(study.ask())
    study.ask()
    assert seen[-1].values.tolist() == [-1.0, -5.0, -6.0, -7.0, -6.0]
    assert [dict(p) for p in seen[-1].failed] == [dict(study.records[6].params)]
    assert [dict(p) for p in seen[-1].points] == [dict(study.records[i].params) for i in (0, 2, 3, 4, 5)]
