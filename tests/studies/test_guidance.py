"""Guesses, batches and narrowing: what a person says to a study, and what is left when two say it at once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from credo.design.spaces import Choice, Constant, Integer, Ordinal, Real, Space
from credo.errors import ParameterError, StorageError
from credo.studies import Guess, History, MemoryStorage, SpaceExhaustedError, Study

SPACE = Space(x=Real(0, 10), lr=Real(1e-4, 1, log=True), c=Choice(["a", "b", "d"]), o=Ordinal([1, 2, 4, 8]))


def test_guesses_are_events_and_reach_the_sampler(tmp_path: Path) -> None:
    seen: list[History] = []

    class Watching:
        def propose(self, space: Space, history: History, pending: Any, rng: Any) -> Any:
            seen.append(history)
            return space.sample(1, rng)[0]

    study = Study(SPACE, storage=tmp_path / "s.db", sampler=Watching(), random_state=0)
    study.near({"x": 3, "c": "b"})
    study.near({"lr": 1e-2}, sd={"lr": 0.25})
    study.ask()
    assert list(seen[0].guesses) == [
        Guess({"x": 3.0, "c": "b"}, {"x": 0.1, "c": 0.1}),
        Guess({"lr": 1e-2}, {"lr": 0.25}),
    ]
    assert [e.kind for e in study.events()] == ["created", "guessed", "guessed", "asked"]
    assert Study.load(tmp_path / "s.db").guesses == list(seen[0].guesses)


def test_a_guess_in_a_smaller_space() -> None:
    study = Study(SPACE)
    study.near({"x": 3, "lr": 1e-2, "c": "b", "o": 4}, sd=0.1)
    study.narrow(x=(0, 5), lr=(1e-3, 1), o=[2, 4])
    (guess,) = study.guesses
    assert guess.sd == pytest.approx({"x": 0.2, "lr": 0.1 * 4 / 3, "c": 0.1, "o": 0.1 * 0.5 / 0.25})
    study.near({"x": 3}, sd=0.1)  # a share of the range as it is now
    study.narrow(c=["a", "d"], x=(0, 2.5))
    (guess,) = study.guesses
    assert set(guess.params) == {"lr", "o"}
    study.fix(lr=1e-2, o=2)
    assert study.guesses == []


def test_good_guesses_help() -> None:
    def far(p: dict[str, Any]) -> float:
        return math.hypot(*(p[name] - 0.9 for name in "abcd"))

    space = Space({name: Real(0, 1) for name in "abcd"})
    study = Study(space, random_state=0)
    study.near(dict.fromkeys("abcd", 0.88), sd=0.05)
    assert study.optimize(far, 8).best.value < Study(space, random_state=0).optimize(far, 8).best.value  # type: ignore[operator]


@pytest.mark.parametrize(
    ("params", "sd"),
    [
        ({}, 0.1), ({"z": 1}, 0.1), ({"x": 11}, 0.1), ({"c": "e"}, 0.1), ({"x": 1}, 0.0), ({"x": 1}, math.nan),
        ({"x": 1}, True), ({"x": 1}, {"lr": 0.1}), ({"x": 1, "lr": 0.1}, {"x": 0.1}), (3, 0.1), ({"x": 1}, "wide"),
    ],
)  # fmt: skip
def test_guesses_that_are_refused(params: Any, sd: Any) -> None:
    study = Study(SPACE)
    with pytest.raises(ParameterError, match=r"Study\.near"):
        study.near(params, sd)
    assert len(study.events()) == 1


# -- batches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["sobol", "auto"])
def test_a_batch_is_as_many_questions(sampler: str) -> None:
    space = Space(x=Real(0, 1), n=Integer(1, 50))
    a, b = (Study(space, random_state=0, sampler=sampler).optimize(lambda p: p["x"] * p["n"], 6) for _ in range(2))
    batch = a.ask(4)
    assert [t.id for t in batch] == [6, 7, 8, 9]
    assert batch == [b.ask() for _ in range(4)]
    assert len({space.key(t.params) for t in a.records}) == 10
    for n in (0, -1, 1.0, True, "2"):
        with pytest.raises(ParameterError, match="n must be"):
            a.ask(n)  # type: ignore[call-overload]


def test_a_batch_at_the_end_of_a_space() -> None:
    study = Study(Space(n=Integer(1, 5)), sampler="random", random_state=0)
    assert len(study.ask(3)) == 3
    assert len(study.ask(3)) == 2
    with pytest.raises(SpaceExhaustedError):
        study.ask(3)


def test_a_batch_that_breaks_off_leaves_nothing_pending() -> None:
    class Full(MemoryStorage):
        def append(self, study: str, kind: str, trial: int | None, *rest: Any, **named: Any) -> Any:
            if kind == "asked" and trial == 2:
                raise StorageError("no space")
            return super().append(study, kind, trial, *rest, **named)

    study = Study(Space(x=Real(0, 1)), storage=Full(), sampler="random")
    with pytest.raises(StorageError):
        study.ask(4)
    assert [t.state for t in study.records] == ["stale", "stale"]


# -- narrowing ---------------------------------------------------------------------------------------------------


def test_a_space_without_points_is_refused_before_it_is_too_late() -> None:
    space = Space(x=Real(0, 1), y=Real(0, 1), constraints="x + y <= 1")
    study = Study(space, random_state=0)
    for change in (
        lambda: study.narrow(x=(0.9, 1.0), y=(0.5, 1.0)),  # contradicts the constraint
        lambda: study.narrow(x=(0.5, 0.25)),  # empty
        lambda: study.narrow(x=(2.0, 3.0)),
        lambda: study.narrow(z=(0.0, 1.0)),
        lambda: study.fix(x=2.0),
    ):
        with pytest.raises(ParameterError):
            change()
    assert len(study.events()) == 1
    assert study.ask().id == 0


def test_two_who_narrow_at_once_do_not_break_the_study(tmp_path: Path) -> None:
    here, there = (Study(Space(x=Real(0, 1)), storage=tmp_path / "s.db", random_state=0) for _ in range(2))
    real, there_refresh = there.refresh, []

    def stale() -> Study:  # has read before the other wrote
        there_refresh.append(1)
        return there if len(there_refresh) == 1 else real()

    there.refresh = stale  # type: ignore[method-assign]
    here.narrow(x=(0.0, 0.25))
    with pytest.raises(ParameterError, match="within"):
        there.narrow(x=(0.5, 1.0))
    for study in (here.refresh(), Study.load(tmp_path / "s.db")):
        assert study.space.parameters["x"] == Real(0.0, 0.25)
        assert study.ask()["x"] <= 0.25
    there.fix(x=0.125)
    assert here.refresh().space.parameters["x"] == Constant(0.125)
