"""Workers of one study are killed at random; run as a script, it prints what it did as JSON.

    python killing.py STORAGE LOG KILLS WORKERS TOTAL SEED

Each worker writes a line to LOG once `tell` has returned: what stands there was promised to be kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time
from typing import Any

from credo.design.spaces import Integer, Real, Space
from credo.studies import Study
from credo.studies.trial import Trial

SPACE = Space(x=Real(0, 1), n=Integer(1, 1000))
LEASE = 2.0


def value_of(params: dict[str, Any]) -> float:
    """The objective: what was told can be checked against what was asked."""
    return params["x"] * params["n"]


def slow(params: dict[str, Any]) -> float:
    time.sleep(0.004)
    return value_of(params)


def work(storage: str, log: str, total: int, seed: int) -> None:
    """One worker, until the study has `total` trials."""
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def told(trial: Trial) -> None:
        os.write(out, f"{trial.id} {trial.value!r}\n".encode())

    study = Study(SPACE, storage=storage, random_state=seed, sampler="random", lease=LEASE)
    study.optimize(slow, total=total, progress=told)


def spawn(storage: str, log: str, total: int, seed: int) -> int:
    """Fork a worker: this process has imported everything, and holds neither threads nor connections."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(storage, log, total, seed)
        code = 0
    finally:
        os._exit(code)


def wait_for_progress(log: str, seen: int) -> int:
    """Until a trial was finished since the last kill: else a loaded machine would only see newborn workers killed."""
    end = time.monotonic() + 10.0
    size = 0
    while time.monotonic() < end and (size := os.path.getsize(log) if os.path.exists(log) else 0) <= seen:
        time.sleep(0.001)
    return size


def main(storage: str, log: str, kills: int, workers: int, total: int, seed: int) -> None:
    rng = random.Random(seed)
    alive = [spawn(storage, log, total, seed) for _ in range(workers)]
    codes: list[int] = []
    killed = seen = 0
    while killed < kills:
        seen = wait_for_progress(log, seen)
        time.sleep(rng.uniform(0.0, 0.03))
        victim = alive.pop(rng.randrange(len(alive)))
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        killed += os.WIFSIGNALED(status)
        codes.append(status if os.WIFEXITED(status) else 0)
        alive.append(spawn(storage, log, total, seed))
        if codes[-1] or (os.WIFEXITED(status) and not killed):
            break
    codes += [os.waitpid(pid, 0)[1] for pid in alive]
    print(json.dumps({"killed": killed, "codes": codes}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
