"""The candidates of a command: `selection.choosing` with progress, and warnings in the words of the command line."""

from __future__ import annotations

import re
import warnings
from typing import Any

from credo.cli.options import Reading
from credo.cli.terminal import Terminal
from credo.errors import ParameterError, warn

__all__ = ["prepared", "checked_limit", "compared"]


def prepared(data: str, target: str, reading: Reading, terminal: Terminal, task: str | None, **roles: Any) -> Any:
    """The `TableTask` of the command's arguments."""
    from credo.models.tabular import TASKS, TableTask

    if task is not None and task not in TASKS:
        raise ParameterError("", "--task", " or ".join(TASKS), task)
    with terminal.step(f"Reading {data}"):
        return TableTask.prepare(reading.open(data), target, task=task, **roles)


def checked_limit(limit: float | None) -> float:
    """The time that one candidate may take, in seconds."""
    from credo.selection.registry import SECONDS

    if limit is not None and not limit > 0.0:
        raise ParameterError("", "--time-limit", "> 0", limit)
    return SECONDS if limit is None else limit


def compared(task: Any, terminal: Terminal, seed: int, limit: float | None) -> Any:
    """The `ComparedTask`."""
    from credo.selection.choosing import compare_candidates

    seconds = checked_limit(limit)
    with warnings.catch_warnings(record=True) as caught:
        found = compare_candidates(task, seconds=seconds, random_state=seed, step=terminal.step)
    for warning in caught:
        warn(_as_typed(str(warning.message), task.encoder.feature_names), warning.category)
    return found


def _as_typed(message: str, features: tuple[str, ...]) -> str:
    """A message of the library in the words of the command line.

    >>> _as_typed("alike within levels of column 1. Pass groups= if so", ("a", "b"))
    "alike within levels of 'b'. Give --group COLUMN if so"
    """
    message = re.sub(r"levels of column (\d+)", lambda found: f"levels of {features[int(found[1])]!r}", message)
    message = message.removeprefix("compare: ").replace("pass time=", "give --time COLUMN")
    return message.replace("Pass groups=", "Give --group COLUMN")
