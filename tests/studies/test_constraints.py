"""Black-box constraints: numbers that come with the value, met where ≤ 0."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credo.design.spaces import Real, Space
from credo.errors import DataWarning, ParameterError, UnavailableError
from credo.studies import History, MemoryStorage, Study
from credo.studies.storage import Storage

SPACE = Space(x=Real(0, 1))


def test_the_best_is_feasible(tmp_path: Path) -> None:
    study = Study(SPACE, storage=tmp_path / "s.db", sampler="sobol", random_state=0)
    for _ in range(16):
        trial = study.ask()
        done = study.tell(trial, trial["x"], constraints=[0.5 - trial["x"], -1.0])
        assert done.is_feasible == (trial["x"] >= 0.5)
    xs = [t["x"] for t in study.records]
    assert study.best.value == study.best_told.value == min(x for x in xs if x >= 0.5)
    assert [t.id for t in study.front] == [study.best.id]
    again = Study.load(tmp_path / "s.db")
    assert again.records == study.records
    assert again.trials["constraint_1"].to_list() == [0.5 - x for x in xs]
    assert again.best == study.best


def test_a_constrained_optimum_is_found_at_the_edge() -> None:
    """Least x + y with x y ≥ ¼: at (½, ½), 1."""
    study = Study(Space(x=Real(0, 1), y=Real(0, 1)), random_state=0)
    study.optimize(lambda p: {"value": p["x"] + p["y"], "constraints": [0.25 - p["x"] * p["y"]]}, 25)
    assert study.best.is_feasible
    assert 1.0 <= study.best.value <= 1.03  # type: ignore[operator]


def test_no_feasible_trial_is_said_and_the_nearest_named() -> None:
    study = Study(SPACE, sampler="sobol", random_state=0)
    for broken in (3.0, 0.25, 1.0):
        study.tell(study.ask(), 0.0, constraints=broken)
    with pytest.raises(UnavailableError, match="none of 3 trials told meets the constraints; trial 1 comes nearest"):
        _ = study.best
    assert study.front == []
    assert study.hypervolume([1.0]) == 0.0


def test_samplers_see_constraints_of_told_trials() -> None:
    seen: list[History] = []

    class Watching:
        def propose(self, space: Space, history: History, pending: Any, rng: np.random.Generator) -> Any:
            seen.append(history)
            return space.sample(1, rng)[0]

    study = Study(SPACE, sampler=Watching())
    study.tell(study.ask(), 1.0, constraints=(1.0, -2.0))
    study.prune(study.ask(), 7.0)
    study.record({"x": 0.5}, 2.0, constraints=[0.0, 0.0])
    study.ask()
    assert seen[0].constraints is None
    assert seen[-1].constraints is not None
    assert seen[-1].constraints.tolist() == [[1.0, -2.0], [0.0, 0.0]]
    assert seen[-1].values.tolist() == [1.0, 2.0]


def test_as_many_for_every_trial() -> None:
    study = Study(SPACE, sampler="random")
    study.tell(study.ask(), 1.0, constraints=[0.0])
    trial = study.ask()
    for other in (None, [], [0.0, 1.0]):
        with pytest.raises(ParameterError, match="1 numbers, as for trials before"):
            study.tell(trial, 1.0, constraints=other)
    for bad in ("0", [None], [True], np.ones((1, 1, 2))):
        with pytest.raises(ParameterError, match="constraints"):
            study.tell(trial, 1.0, constraints=bad)
    with pytest.raises(ParameterError, match="as for trials before"):
        study.record({"x": 0.25}, 1.0)
    assert len(study.records) == 2  # nothing was asked for a record that is refused
    with pytest.warns(DataWarning, match="a constraint is nan"):
        assert study.tell(trial, 1.0, constraints=[math.nan]).state == "failed"


def test_workers_that_disagree_at_the_same_moment_leave_a_study_that_can_be_read() -> None:
    storage: Storage = MemoryStorage()
    here, there = (Study(SPACE, storage=storage, random_state=0, sampler="sobol") for _ in range(2))
    a, b = here.ask(), here.ask()
    there.refresh()
    here.tell(a, 1.0, constraints=[-1.0])
    late = there.tell(b, 0.0)  # has not read what was told here
    assert late.state == "failed"
    assert "0 constraints, where the study has 1" in (late.reason or "")
    assert here.refresh().records == there.records
    assert here.best.id == a.id


def test_what_is_told_again_must_be_the_same() -> None:
    study = Study(SPACE, sampler="random")
    trial = study.ask()
    study.tell(trial, 1.0, constraints=[0.5])
    study.tell(trial, 1, constraints=np.array([0.5]))
    with pytest.raises(ParameterError, match="unfinished"):
        study.tell(trial, 1.0, constraints=[0.25])


def test_what_an_objective_may_return() -> None:
    answers = iter(
        [
            {"value": 1.0, "constraints": [0.0]},
            {"value": 1.0},
            {"values": 1.0},
            {"value": "1"},
            1.0,
            {"value": 0.5, "constraints": -1},
        ]
    )
    study = Study(SPACE, sampler="random", random_state=0)
    with pytest.warns(DataWarning, match="4 of 6"):
        study.optimize(lambda p: next(answers), 6)
    assert [t.state for t in study.records] == ["told", *["failed"] * 4, "told"]
    assert study.best.id == 5
