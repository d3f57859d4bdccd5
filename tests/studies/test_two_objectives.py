"""Two objectives: what is told, the front and its hypervolume by counting cells, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.design.spaces import Real, Space
from credo.errors import DataWarning, ParameterError, UnavailableError
from credo.studies import History, Study

SPACE = Space(x=Real(0, 1), y=Real(0, 1))
SIGN = {"minimize": 1, "maximize": -1}
OUTCOMES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12)


def told(values: list[Any], direction: tuple[str, str], constraints: list[float] | None = None) -> Study:
    study = Study(SPACE, direction, sampler="random", random_state=0)
    for i, pair in enumerate(values):
        study.tell(study.ask(), pair, constraints=None if constraints is None else [constraints[i]])
    return study


@given(OUTCOMES, st.sampled_from(["minimize", "maximize"]), st.sampled_from(["minimize", "maximize"]))
def test_the_front_is_what_no_other_beats(values: list[tuple[int, int]], first: str, second: str) -> None:
    study = told(values, (first, second))
    lower = [(SIGN[first] * a, SIGN[second] * b) for a, b in values]
    beaten = {i for i, p in enumerate(lower) if any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in lower)}
    assert {t.id for t in study.front} == set(range(len(values))) - beaten
    assert [SIGN[first] * t.values[0] for t in study.front] == sorted(SIGN[first] * t.values[0] for t in study.front)  # type: ignore[index]


@given(OUTCOMES)
def test_the_hypervolume_counts_cells(values: list[tuple[int, int]]) -> None:
    """Of the unit cells between 0 and 10 those that some outcome is no worse than, second objective maximised."""
    cells = sum(any(a <= i and b >= j + 1 for a, b in values) for i in range(10) for j in range(10))
    assert told(values, ("minimize", "maximize")).hypervolume([10, 0]) == cells


def test_hypervolume_without_a_reference() -> None:
    study = told([(0.0, 2.0), (1.0, 1.0), (2.0, 0.0)], ("minimize", "minimize"))
    assert study.hypervolume() > 0
    assert told([], ("minimize", "minimize")).hypervolume() == 0
    for reference in (1.0, [1.0], [1.0, np.nan]):
        with pytest.raises(ParameterError, match="reference"):
            study.hypervolume(reference)


def test_only_feasible_trials_are_on_the_front() -> None:
    study = told([(0, 0), (1, 3), (3, 1), (3, 3)], ("minimize", "minimize"), [0.5, -1.0, 0.0, -1.0])
    assert [t.id for t in study.front] == [1, 2]
    assert study.hypervolume([4, 4]) == 3 * 1 + 1 * 3 - 1


def test_a_stored_study_of_two_objectives(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with Study(SPACE, ("minimize", "maximize"), storage=place, random_state=0, sampler="sobol") as study:
        study.optimize(lambda p: (p["x"], p["y"]), 6)
        study.ask()
        front = study.front
    with Study.load(place) as again:
        assert again.direction == ("minimize", "maximize")
        assert again.front == front
        assert again.trials.columns == ["id", "state", "value_1", "value_2", "x", "y", "reason"]
        assert again.trials["value_2"].to_list() == [*again.trials["y"].to_list()[:6], None]
        assert "minimize and maximize" in repr(again)
    with pytest.raises(ParameterError, match="direction"):
        Study(SPACE, ("minimize", "minimize"), storage=place)


def test_samplers_see_lower_as_better_in_both() -> None:
    seen: list[History] = []

    class Watching:
        def propose(self, space: Space, history: History, pending: Any, rng: np.random.Generator) -> Any:
            seen.append(history)
            return space.sample(1, rng)[0]

    study = Study(SPACE, ("minimize", "maximize"), sampler=Watching())
    study.tell(study.ask(), (1.0, 2.0))
    study.tell(study.ask(), np.array([3.0, 4.0]))
    study.prune(study.ask(), 7.0)
    study.ask()
    assert seen[0].values.shape == (0, 2)
    assert seen[-1].values.tolist() == [[1.0, -2.0], [3.0, -4.0]]
    assert [dict(p) for p in seen[-1].failed] == [dict(study.records[2].params)]


def test_what_two_objectives_refuse() -> None:
    study = told([(1.0, 2.0)], ("minimize", "maximize"))
    trial = study.ask()
    for value in (1.0, (1.0,), (1.0, 2.0, 3.0), "12", None, np.ones((2, 1)), {1.0, 2.0}):
        with pytest.raises(ParameterError, match="2 numbers"):
            study.tell(trial, value)
    for ask in (lambda: study.best, lambda: study.recommendation, lambda: study.best_told):
        with pytest.raises(UnavailableError, match="front"):
            ask()
    with pytest.raises(UnavailableError, match=r"trial\.values"):
        _ = study.records[0].value
    with pytest.warns(DataWarning, match="value is nan"):
        assert study.tell(trial, (1.0, float("nan"))).state == "failed"
    for direction in ("up", ("minimize",), ("minimize", "up"), ["minimize"] * 3, None):
        with pytest.raises(ParameterError, match="direction"):
            Study(SPACE, direction)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="two objectives"):
        Study(SPACE, ("minimize", "minimize"), pruner="median")
    assert Study(SPACE).optimize(lambda p: p["x"], 2).front[0].id >= 0
