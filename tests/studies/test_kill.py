"""`kill -9` of workers at random moments: nothing finished is lost, doubled or stuck."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from credo.studies import Study
from tests.studies import killing


def kill_and_check(storage: str, log: Path, kills: int, workers: int, total: int) -> dict[str, int]:
    """Run workers, kill `kills` of them, let the rest finish, and compare the study with what workers were promised."""
    script = [sys.executable, killing.__file__, storage, str(log), *map(str, (kills, workers, total, 1))]
    run = subprocess.run(script, capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stderr
    done = json.loads(run.stdout)
    assert set(done["codes"]) == {0}, run.stderr
    assert done["killed"] == kills, "the study was complete before all were killed: give it more trials"

    study = Study(killing.SPACE, storage=storage, sampler="random")
    promised = [line.split() for line in log.read_text().splitlines()]
    counts = Counter(int(number) for number, _ in promised)
    assert max(counts.values()) == 1, "two workers were told that they finished the same trial"
    for number, value in promised:
        trial = study.records[int(number)]
        assert trial.state == "told"
        assert trial.value == float(value) == killing.value_of(dict(trial.params))

    events = study.events()
    assert [e.sequence for e in events] == list(range(1, len(events) + 1))
    asked = [e.trial for e in events if e.kind == "asked"]
    assert asked == list(range(len(asked)))
    finished = Counter(e.trial for e in events if e.kind == "told")
    assert max(finished.values()) == 1
    states = Counter(t.state for t in study.records)
    assert set(states) <= {"told", "stale"}, "a trial is stuck"
    assert states["told"] == total
    points = Counter(study.space.key(t.params) for t in study.records if t.state == "told")
    assert max(points.values()) == 1, "a point was tried twice, though each trial finished"
    study.close()
    return {"told": states["told"], "lost with their worker": states["stale"]}


def test_twenty_kills(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    measured = kill_and_check(str(tmp_path / "s.db"), tmp_path / "log", kills=20, workers=3, total=120)
    for name, value in measured.items():
        record_property(name, value)
    assert measured["lost with their worker"] >= 1, "no kill hit a running trial"


@pytest.mark.slow
def test_many_kills_of_eight_workers(
    tmp_path: Path, replicates: Callable[[int, int], int], record_property: Callable[[str, object], None]
) -> None:
    kills = replicates(30, 100)
    for name, value in kill_and_check(
        str(tmp_path / "s.db"), tmp_path / "log", kills=kills, workers=8, total=12 * kills
    ).items():
        record_property(name, value)
