"""`optimize`: threads, processes, time-outs, interruptions, several workers of one study."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from credo.design.spaces import Integer, Real, Space
from credo.errors import DataWarning
from credo.studies import Study
from tests.studies.objectives import LateSquare, hostile, square


def test_threads_run_together_and_do_not_clump() -> None:
    """Four trials meet at a barrier: that many did run at once, on different points."""
    gate = threading.Barrier(4, timeout=30)

    def meet(p: dict[str, Any]) -> float:
        gate.wait()
        return p["x"]

    study = Study(Space(x=Real(0, 1)), random_state=0).optimize(meet, 12, n_jobs=4)
    assert [t.state for t in study.records] == ["told"] * 12
    assert len({t["x"] for t in study.records}) == 12


def test_as_many_at_once_as_there_are_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n: 3 if n == -1 else 0)
    gate = threading.Barrier(3, timeout=30)
    study = Study(Space(x=Real(0, 1)), random_state=0, sampler="sobol")
    study.optimize(lambda p: float(gate.wait() >= 0), 6, n_jobs=-1)
    assert [t.state for t in study.records] == ["told"] * 6


def test_the_model_spreads_pending_points() -> None:
    study = Study(Space(x=Real(0, 1)), random_state=0).optimize(lambda p: (p["x"] - 0.5) ** 2, 8)
    batch = sorted(study.ask()["x"] for _ in range(4))
    assert min(b - a for a, b in itertools.pairwise(batch)) > 1e-6


def test_threads_that_hang_are_left_behind() -> None:
    release = threading.Event()

    def hang(p: dict[str, Any]) -> float:
        if p["n"] == 1:
            release.wait(60)
        return 1.0

    with pytest.warns(DataWarning, match=r"no answer after 0\.2 s"):
        study = Study(Space(n=Integer(1, 3)), sampler="random").optimize(hang, 3, n_jobs=2, timeout=0.2)
    release.set()
    assert sorted(t.state for t in study.records) == ["failed", "told", "told"]


def test_processes_survive_what_trials_do() -> None:
    space = Space(n=Integer(0, 6), constraints="n != 4")
    with pytest.warns(DataWarning):
        study = Study(space, sampler="random", random_state=0).optimize(hostile, 6, n_jobs=3, backend="processes")
    outcome = {t["n"]: (t.state, t.reason) for t in study.records}
    assert outcome[0] == ("told", None)
    assert outcome[1] == ("failed", "ValueError: one")
    assert outcome[2] == ("failed", "the process ended with exit code -9")
    assert outcome[3] == ("failed", "the process ended with exit code 3")
    assert outcome[5][0] == "pruned"
    assert "cannot be sent back" in str(outcome[6][1])


def test_a_process_that_hangs_is_killed() -> None:
    space = Space(n=Integer(0, 6), constraints="n == 4")
    with pytest.warns(DataWarning, match=r"no answer after 0\.3 s"):
        study = Study(space).optimize(hostile, 1, backend="processes", timeout=0.3)
    assert study.records[0].state == "failed"


def test_what_a_process_takes_to_start_is_not_its_time() -> None:
    study = Study(Space(x=Real(0, 1))).optimize(LateSquare(), 1, backend="processes", timeout=0.8)
    assert study.records[0].state == "told"


@pytest.mark.parametrize("sampler", ["sobol", "random", "auto"])
@pytest.mark.parametrize("at", [1, 6])
def test_an_interrupted_study_asks_the_points_of_an_undisturbed_one(sampler: str, at: int) -> None:
    def bowl(p: dict[str, Any]) -> float:
        return (p["x"] - 0.3) ** 2

    def breaks_off(p: dict[str, Any]) -> float:
        if len(study.records) == at + 1 and not any(t.state == "stale" for t in study.records):
            raise KeyboardInterrupt
        return bowl(p)

    undisturbed = Study(Space(x=Real(0, 1)), sampler=sampler, random_state=0).optimize(bowl, 9)
    study = Study(Space(x=Real(0, 1)), sampler=sampler, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        study.optimize(breaks_off, total=9)
    study.optimize(breaks_off, total=9)
    assert study.records[at].state == "stale"
    assert [t.params for t in study.records if t.state == "told"] == [t.params for t in undisturbed.records]


def test_an_interruption_releases_what_was_running() -> None:
    calls = 0

    def interrupted(p: dict[str, Any]) -> float:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return p["x"]

    study = Study(Space(x=Real(0, 1)), random_state=0, sampler="sobol")
    with pytest.raises(KeyboardInterrupt):
        study.optimize(interrupted, 10)
    assert [t.state for t in study.records] == ["told", "told", "stale"]
    study.optimize(square, total=10)
    assert study.records[3].params == study.records[2].params
    assert sum(t.state == "told" for t in study.records) == 10


def test_total_is_of_all_workers(tmp_path: Path) -> None:
    studies = [Study(Space(x=Real(0, 1)), storage=tmp_path / "s.db", sampler="sobol", random_state=0) for _ in range(3)]
    threads = [threading.Thread(target=lambda s=s: s.optimize(square, total=30)) for s in studies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    study = studies[0].refresh()
    assert [t.state for t in study.records] == ["told"] * 30
    assert study.optimize(square, total=30).records == study.records
    alone = Study(Space(x=Real(0, 1)), sampler="sobol", random_state=0).optimize(square, 30)
    assert [t.params for t in alone.records] == [t.params for t in study.records]  # who asked does not matter


def test_a_worker_without_a_sign_of_life_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is of another machine, for all one can tell; its clock does not matter."""
    monkeypatch.setattr("credo.studies.study.worker_identity", lambda: "elsewhere|boot|1|1")
    dead = Study(Space(x=Real(0, 1)), storage=tmp_path / "s.db", sampler="sobol", random_state=0)
    lost = dead.ask(lease=0.2)
    monkeypatch.undo()
    study = Study(Space(x=Real(0, 1)), storage=tmp_path / "s.db", sampler="sobol")
    assert [t.state for t in study.reap()] == ["pending"]
    time.sleep(0.25)
    assert [t.state for t in study.reap()] == ["stale"]
    study.optimize(square, 1)
    assert study.records[1].params == lost.params
    dead.tell(lost, 7.0)
    assert [t.state for t in study.refresh().records] == ["told", "told"]


def test_beats_keep_a_slow_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.studies.study.worker_identity", lambda: "elsewhere|boot|1|1")
    slow = Study(Space(x=Real(0, 1)), storage=tmp_path / "s.db", sampler="random", lease=0.8)
    seen: list[str] = []

    def watch(p: dict[str, Any]) -> float:
        other = Study.load(tmp_path / "s.db")
        monkeypatch.setattr("credo.studies.study.worker_identity", lambda: "another|boot|1|1")
        for _ in range(10):
            seen.append(other.reap()[0].state)
            time.sleep(0.15)
        other.close()
        return 1.0

    slow.optimize(watch, 1)
    assert seen == ["pending"] * 10
