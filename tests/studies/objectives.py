"""Objectives that another process can import."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from credo.studies import Pruned


def square(params: dict[str, Any]) -> float:
    return params["x"] ** 2


def hostile(params: dict[str, Any]) -> Any:
    """By n: fine, raises, is killed, exits, hangs, is pruned, returns what cannot be pickled."""
    match params["n"]:
        case 1:
            raise ValueError("one")
        case 2:
            os.kill(os.getpid(), signal.SIGKILL)
        case 3:
            os._exit(3)
        case 4:
            time.sleep(600)
        case 5:
            raise Pruned(5.0)
        case 6:
            return lambda: 0
    return 1.0


class LateSquare:
    """`square`, but a process takes a second to import it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        time.sleep(1.0)

    def __getstate__(self) -> dict[str, Any]:
        return {"late": True}

    def __call__(self, params: dict[str, Any]) -> float:
        return square(params)


def learning(params: dict[str, Any], progress: Any) -> float:
    """Reports n at steps 1 … 9."""
    for step in range(1, 10):
        progress(step, float(params["n"]))
    return float(params["n"])
