"""Ask and tell, what a study remembers, and what it refuses."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.design.spaces import Boolean, Choice, Constant, Integer, Real, Space
from credo.errors import DataWarning, ParameterError, UnavailableError
from credo.studies import Event, MemoryStorage, Pruned, Study, Suggestion
from credo.studies.leases import Watch, is_gone, worker_identity
from credo.studies.state import StudyState
from credo.studies.trial import Trial
from credo.studies.values import in_own_units


def line() -> Space:
    return Space(x=Real(0, 1), c=Choice(["a", "b"]))


def bowl(p: dict[str, Any]) -> float:
    return (p["x"] - 0.3) ** 2 + (p["c"] == "b")


def test_ask_tell_best_both_ways() -> None:
    for direction, pick in (("minimize", min), ("maximize", max)):
        study = Study(line(), direction, random_state=0, sampler="sobol")
        told = {}
        for _ in range(20):
            trial = study.ask()
            assert study.space.contains(trial.params)
            assert study.tell(trial, bowl(dict(trial.params))).value == bowl(dict(trial.params))
            told[trial.id] = bowl(dict(trial.params))
        assert list(told) == list(range(20))
        assert study.best.value == pick(told.values()) == told[study.best.id]


def test_what_was_foretold_is_in_the_objective_s_own_units() -> None:
    study = Study(Space(x=Real(0, 1)), "maximize", random_state=0)
    study.optimize(lambda p: 100.0 - (p["x"] - 0.3) ** 2, 9)
    means = [trial.why["mean"] for trial in study.records if "mean" in trial.why]
    assert means
    assert all(abs(mean - 100.0) < 2.0 for mean in means)
    assert in_own_units({"mean": [1.0, -2.0], "sd": [1.0, 1.0]}, (1.0, -1.0))["mean"] == [1.0, 2.0]
    assert in_own_units({"mean": 3.0}, (-1.0,)) == {"mean": 3.0}  # a sampler's own, of something else


def test_proposals_as_a_table() -> None:
    study = Study(Space(x=Real(0, 1)), random_state=0)
    study.optimize(lambda p: (p["x"] - 0.3) ** 2, 7)
    study.record({"x": 0.9}, 1.0)
    table = study.proposals
    assert table["id"].to_list() == list(range(8))
    assert table["method"].to_list() == ["sobol"] * 5 + ["gp"] * 2 + ["recorded"]
    for name in ("mean", "sd", "exploitation", "exploration", "feasibility"):
        assert table[name].to_list() == [trial.why.get(name) for trial in study.records]
    two = Study(Space(x=Real(0, 1)), ("minimize", "maximize"), random_state=0)
    two.optimize(lambda p: (p["x"], p["x"] ** 2), 6)
    assert [two.proposals[f"mean_{j}"][5] for j in (1, 2)] == two.records[5].why["mean"]
    assert two.proposals["exploration"][5] == two.records[5].why["exploration"]
    assert Study(Space(x=Real(0, 1))).proposals.height == 0


def test_a_study_is_not_copied_but_opened_again() -> None:
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(UnavailableError, match=r"Study\.load"):
            copied(Study(line()))


def test_a_trial_is_shown_in_a_line() -> None:
    study = Study(Space(x=Real(0, 1)), random_state=0)
    assert repr(study.tell(study.record({"x": 0.5}, 1.5), 1.5)) == "Trial(0, {'x': 0.5}, told, 1.5)"
    assert len(repr(study.ask())) < 60


def test_the_first_of_equals_is_best() -> None:
    study = Study(line(), random_state=0)
    a, b = study.ask(), study.ask()
    study.tell(b, 1.0)
    study.tell(a, 1.0)
    assert study.best.id == a.id


@pytest.mark.parametrize("sampler", ["sobol", "random", "auto"])
def test_same_seed_same_questions(sampler: str) -> None:
    def run(seed: int) -> list[Any]:
        study = Study(line(), random_state=seed, sampler=sampler)
        return [dict(t.params) for t in study.optimize(bowl, 12).records]

    assert run(1) == run(1) != run(2)


def test_a_resumed_study_asks_what_an_uninterrupted_one_would(tmp_path: Path) -> None:
    whole = Study(line(), random_state=5).optimize(bowl, 14)
    for _ in range(7):  # a new process each time, as far as the study can tell
        with Study(line(), storage=tmp_path / "s.db", random_state=5) as part:
            part.optimize(bowl, 2)
    assert [t.params for t in part.records] == [t.params for t in whole.records]
    with Study.load(tmp_path / "s.db") as loaded:
        assert [t.params for t in loaded.records] == [t.params for t in whole.records]
        assert loaded.best == part.best
        assert loaded.ask().params == whole.ask().params


def test_generators_and_none_are_seeds_too() -> None:
    a, b = (Study(line(), random_state=np.random.default_rng(3)) for _ in range(2))
    assert a.seed == b.seed
    assert Study(line()).seed != Study(line()).seed


def test_pending_points_are_not_asked_again() -> None:
    space = Space(n=Integer(1, 4), b=Boolean())
    study = Study(space, random_state=0, sampler="random")
    asked = [tuple(study.ask().params.values()) for _ in range(8)]
    assert len(set(asked)) == 8
    with pytest.raises(UnavailableError, match="8 trials"):
        study.ask()
    noisy = Study(space, random_state=0, sampler="random", noisy=True)
    assert len([noisy.ask() for _ in range(20)]) == 20
    assert len(Study(space).optimize(lambda p: p["n"], 99).records) == 8


def test_failures_do_not_stop_a_study() -> None:
    def fragile(p: dict[str, Any]) -> Any:
        if p["x"] < 0.2:
            raise ValueError("too small")
        if p["x"] < 0.3:
            return math.nan
        if p["x"] < 0.4:
            raise Pruned(7.0)
        if p["x"] < 0.5:
            return "text"
        return p["x"]

    study = Study(Space(x=Real(0, 1)), random_state=0, sampler="sobol")
    with pytest.warns(DataWarning, match="trials failed"):
        study.optimize(fragile, 32)
    for t in study.records:
        x = t["x"]
        expected = "failed" if x < 0.3 or 0.4 <= x < 0.5 else "pruned" if x < 0.4 else "told"
        assert t.state == expected
    reasons = " ".join(t.reason or "" for t in study.records)
    assert "ValueError: too small" in reasons
    assert "nan" in reasons
    assert "'text'" in reasons
    assert {t.value for t in study.records if t.state == "pruned"} == {7.0}
    assert study.best["x"] == min(t["x"] for t in study.records if t.state == "told")


def test_the_model_finds_a_minimum_and_is_told_of_failures() -> None:
    def crashes(p: dict[str, Any]) -> float:
        if p["x"] > 0.8:
            raise RuntimeError
        return (p["x"] - 0.6) ** 2

    with pytest.warns(DataWarning):
        study = Study(Space(x=Real(0, 1), k=Constant(1)), random_state=0).optimize(crashes, 20)
    assert abs(study.best["x"] - 0.6) < 0.02
    assert {t.why["method"] for t in study.records} >= {"sobol", "gp"}
    assert all(math.isfinite(t.why["sd"]) for t in study.records if t.why["method"] == "gp")


def test_the_model_keeps_constraints_and_conditions() -> None:
    space = Space(
        x=Real(0, 1), y=Real(0, 1), kind=Choice(["u", "v"]), n=Integer(1, 9, when={"kind": "u"}),
        constraints=["x + y <= 1", lambda p: p.get("n", 0) != 5],
    )  # fmt: skip
    study = Study(space, random_state=0, sampler="gp").optimize(lambda p: -p["x"] - p["y"] + p.get("n", 4) / 10, 24)
    assert all(space.contains(t.params) for t in study.records)
    assert study.best.value is not None
    assert study.best.value < -0.8


def test_telling_twice() -> None:
    study = Study(line())
    trial = study.ask()
    study.tell(trial, 1)
    assert study.tell(trial.id, 1.0).value == 1.0
    for again in (lambda: study.tell(trial, 2.0), lambda: study.fail(trial), lambda: study.prune(trial)):
        with pytest.raises(ParameterError, match="unfinished"):
            again()
    assert [e.kind for e in study.events()] == ["created", "asked", "told"]


def test_nan_is_a_failure_and_says_so() -> None:
    study = Study(line())
    with pytest.warns(DataWarning, match="counts as failed"):
        assert study.tell(study.ask(), math.nan).state == "failed"
    with pytest.raises(UnavailableError, match="none of 1"):
        _ = study.best


def test_queue_and_records_of_others() -> None:
    study = Study(line(), random_state=0)
    study.enqueue({"x": 0.25, "c": "b"})
    study.enqueue({"x": 0.5, "c": "a"})
    first, second, third = study.ask(), study.ask(), study.ask()
    assert (first["x"], second["x"]) == (0.25, 0.5)
    assert third.why["method"] == "sobol"
    assert study.record({"x": 0.125, "c": "a"}, 3.0).state == "told"
    with pytest.raises(ParameterError):
        study.enqueue({"x": 5, "c": "a"})


def test_narrowing_in_mid_study(tmp_path: Path) -> None:
    here, there = (Study(line(), storage=tmp_path / "s.db", random_state=0) for _ in range(2))
    here.optimize(bowl, 8)
    here.narrow(x=(0.25, np.float64(0.5)))
    here.fix(c="a")
    here.note("c = b is hopeless")
    for _ in range(4):
        trial = there.ask()
        assert 0.25 <= trial["x"] <= 0.5
        assert trial["c"] == "a"
        there.tell(trial, bowl(dict(trial.params)))
    assert there.notes == ["c = b is hopeless"]
    again = Study(line(), storage=tmp_path / "s.db")
    assert again.space == there.space
    assert len(again.records) == 12
    with pytest.raises(ParameterError):
        again.narrow(x=(0, 1))
    assert again.events() == there.events()


def test_what_a_stored_study_does_not_let_change(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    Study(line(), storage=place, random_state=1)
    Study(line(), storage=place, random_state=1)
    Study(line(), "maximize", storage=place, random_state=2, name="other")
    for change in (
        lambda: Study(line(), "maximize", storage=place),
        lambda: Study(line(), storage=place, random_state=2),
        lambda: Study(Space(x=Real(0, 2)), storage=place),
    ):
        with pytest.raises(ParameterError, match="different name"):
            change()
    with pytest.raises(ParameterError, match="other"):
        Study.load(place, "absent")
    assert Study(line(), storage=place, noisy=True).noisy is True  # not known before
    Study(line(), storage=place, noisy=True, name="noisy")
    assert Study(line(), storage=place, name="noisy").noisy is True
    with pytest.raises(ParameterError, match="noisy must be None or True"):
        Study(line(), storage=place, noisy=False, name="noisy")


def test_functions_of_a_space_are_passed_again(tmp_path: Path) -> None:
    def half(p: dict[str, Any]) -> bool:
        return p["x"] < 0.5

    space = Space(x=Real(0, 1), constraints=half)
    Study(space, storage=tmp_path / "s.db").optimize(lambda p: p["x"], 3)
    assert len(Study(space, storage=tmp_path / "s.db").records) == 3
    with pytest.raises(ParameterError, match="function itself"):
        Study.load(tmp_path / "s.db")


def test_trials_as_a_frame() -> None:
    space = Space(x=Real(0, 1), c=Choice(["u", 1]), n=Integer(1, 3, when={"c": "u"}), value=Boolean())
    study = Study(space, random_state=0, sampler="sobol").optimize(lambda p: p["x"], 8)
    study.ask()
    frame = study.trials
    assert frame.columns == ["id", "state", "value", "x", "c", "n", "value_", "reason"]
    assert frame["state"].to_list() == ["told"] * 8 + ["pending"]
    assert frame["n"].is_null().to_list() == [t["c"] == 1 for t in study.records]
    assert Study(space).trials.shape == (0, 8)


def test_intermediate_results() -> None:
    study = Study(line())
    trial = study.ask()
    for step in range(3):
        study.report(trial, step, step / 2)
    assert study.prune(trial, 1.0).reported == ((0, 0.0), (1, 0.5), (2, 1.0))


# -- the fold ----------------------------------------------------------------------------------------------------


FOR_A_TRIAL: dict[str, list[Any]] = {"tell": [1.5], "fail": [], "prune": [2.0], "release": [], "report": [3, 0.5]}


@given(st.data())
def test_any_course_of_events_folds_the_same_in_any_portions(data: st.DataObject) -> None:
    storage = MemoryStorage()
    study = Study(line(), storage=storage, random_state=0, sampler="sobol")
    for _ in range(data.draw(st.integers(0, 25))):
        action = data.draw(st.sampled_from([*FOR_A_TRIAL, "ask", "queue", "note", "near", "narrow"]))
        pending = [t.id for t in study.records if not t.is_finished]
        if action == "ask":
            study.ask()
        elif action == "queue":
            study.enqueue({"x": data.draw(st.floats(0.5, 1)), "c": "a"})
        elif action == "note":
            study.note("n")
        elif action == "near":
            study.near({"x": data.draw(st.sampled_from([study.space.parameters["x"].low, 0.5]))})  # type: ignore[attr-defined]
        elif action == "narrow":
            study.narrow(x=(data.draw(st.floats(study.space.parameters["x"].low, 0.5)), None))  # type: ignore[attr-defined]
        elif pending:
            trial = data.draw(st.sampled_from(pending))
            getattr(study, action)(trial, *FOR_A_TRIAL[action])
    events = [Event(**json.loads(json.dumps(vars(e)))) for e in study.events()]
    cut = data.draw(st.integers(0, len(events)))
    folded = StudyState(line())
    folded.apply(events[:cut])
    folded.apply(events[max(cut - 3, 0) :])
    assert list(folded.trials.values()) == study.records
    assert folded.queue == study._state.queue
    assert folded.guesses == study.guesses
    assert folded.space == study.space
    finished = [e.trial for e in events if e.kind in ("told", "failed", "pruned")]
    assert len(finished) == len(set(finished)) == sum(t.is_finished for t in study.records)


def test_a_lost_trial_is_asked_again_and_a_late_answer_counts() -> None:
    study = Study(line(), random_state=0)
    lost = study.ask()
    study.release(lost, "gone")
    study.release(lost, "gone again")
    retry = study.ask()
    assert retry.params == lost.params
    assert retry.id == 1
    study.tell(lost, 2.0)
    study.tell(retry, 2.0)
    assert [t.state for t in study.records] == ["told", "told"]
    second = study.ask()
    study.release(second)
    study.tell(second, 1.0)  # before anyone asked again: no need to
    assert study.ask().params != second.params


def test_a_point_that_kills_its_workers_is_given_up() -> None:
    study = Study(line(), random_state=0)
    first = study.ask()
    for trial in range(3):
        assert study.records[trial].params == first.params
        study.release(trial)
        study.ask()
    assert study.records[3].params != first.params


# -- leases ------------------------------------------------------------------------------------------------------


def test_a_watch_counts_its_own_seconds() -> None:
    now = 0.0
    watch = Watch(clock=lambda: now)
    trials = [Trial(i, {}, lease=10.0, worker="elsewhere|boot|1|1") for i in range(2)] + [Trial(2, {})]
    assert watch.lost(trials, {}, ()) == []
    now = 9.0
    assert watch.lost(trials, {0: 1}, ()) == []
    now = 10.5
    assert [t.id for t, _ in watch.lost(trials, {0: 1}, ())] == [1]  # 0 has beaten since, 2 has no lease
    assert watch.lost(trials, {0: 1}, own=[1]) == []
    now = 19.5
    assert [t.id for t, _ in watch.lost(trials, {0: 1}, ())] == [0, 1]


def test_a_process_of_this_machine_is_known_to_be_gone() -> None:
    own = worker_identity()
    host, boot, pid, started = own.split("|")
    assert not is_gone(own)
    assert is_gone(f"{host}|{boot}|{pid}|{int(started) - 1}")
    assert not is_gone(f"elsewhere|{boot}|{pid}|0")
    assert not is_gone(f"{host}|another boot|{pid}|0")
    assert not is_gone(None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Study({"x": (0, 1)}),  # type: ignore[arg-type]
        lambda: Study(line(), "up"),
        lambda: Study(line(), random_state=-1),
        lambda: Study(line(), sampler="best"),
        lambda: Study(line(), noisy="yes"),  # type: ignore[arg-type]
        lambda: Study(line(), lease=0),
        lambda: Study(line(), name=""),
        lambda: Study(line(), storage=7),  # type: ignore[arg-type]
        lambda: Study(line(), storage="mysql://host/db"),
        lambda: Study(line()).tell(0, 1.0),
        lambda: Study(line()).tell("0", 1.0),  # type: ignore[arg-type]
        lambda: Study(line()).optimize(bowl),
        lambda: Study(line()).optimize(bowl, 1, n_jobs=0),
        lambda: Study(line()).optimize(bowl, -1),
        lambda: Study(line()).optimize(bowl, 1, backend="clouds"),
        lambda: Study(line()).optimize(bowl, 1, timeout=0),
        lambda: Study(line()).optimize(lambda p: 0.0, 1, backend="processes"),
        lambda: Study(line()).optimize("f", 1),  # type: ignore[arg-type]
    ],
)
def test_refusals(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


def test_values_that_are_not_numbers() -> None:
    study = Study(line())
    trial = study.ask()
    for value in ("1", None, True, [1.0], np.ones(2), 1j):
        with pytest.raises(ParameterError, match="number"):
            study.tell(trial, value)
    assert study.tell(trial, np.array([[2.0]])).value == 2.0


def test_a_sampler_of_ones_own() -> None:
    class Corner:
        def propose(self, space: Space, history: Any, pending: Any, rng: np.random.Generator) -> Any:
            if history.index == 0:
                assert history.memory is None
                return {"x": 0.0, "c": "a"}
            return Suggestion(
                {"x": 1.0 / (1 + history.index), "c": "b"}, {"seen": len(history.points)}, [history.index]
            )

    study = Study(line(), "maximize", sampler=Corner()).optimize(bowl, 3)
    assert [t["x"] for t in study.records] == [0.0, 0.5, 1 / 3]
    assert [dict(t.why) for t in study.records] == [{}, {"seen": 1}, {"seen": 2}]
    assert study._state.memory == [2]

    class Opaque:
        def propose(self, space: Space, history: Any, pending: Any, rng: np.random.Generator) -> Any:
            return Suggestion({"x": 0.5, "c": "a"}, {"mean": np.float32(1)})

    with pytest.raises(ParameterError, match="JSON"):
        Study(line(), sampler=Opaque()).ask()


def test_an_integer_beyond_any_float_has_failed_as_infinity_has() -> None:
    study = Study(line(), sampler="sobol", random_state=0)
    for value in (10**400, -(10**400)):
        with pytest.warns(DataWarning, match="inf"):
            assert study.tell(study.ask(), value).state == "failed"
