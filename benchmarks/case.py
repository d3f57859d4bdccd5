"""What a benchmark file declares. Each file in `cases/` defines one `CASE`."""

from __future__ import annotations

import importlib.util
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

__all__ = ["Bar", "Case", "Contestant", "Limit", "Quality", "case_files", "load_case"]

_COMPARISONS = {"≥": operator.ge, "≤": operator.le}


@dataclass(frozen=True)
class Contestant:
    """One way to do the job: a function, or a command that is timed as a fresh process.

    run : data → result; imports its library inside, so that nobody else pays for it
    command : arguments of a fresh process (the case's mode must be "fresh"); "{directory}" stands for the case's
    requires : distributions, by their names on the package index. Where this interpreter lacks one, the contestant runs
        in the peers' interpreter (`--peers`) if that has them all; else it is reported as missing
    """

    name: str
    run: Callable[[Any], Any] | None = None
    command: tuple[str, ...] | None = None
    requires: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quality:
    """What a result is worth: `of(data, result)`, compared within an absolute `tolerance`.

    A contestant worse than the best by more than the tolerance did not do the job: its time says little.
    """

    name: str
    of: Callable[[Any, Any], float]
    better: Literal["higher", "lower"]
    tolerance: float

    def reached(self, value: float, values: list[float]) -> bool:
        if self.better == "higher":
            return value >= max(values) - self.tolerance
        return value <= min(values) + self.tolerance


@dataclass(frozen=True)
class Bar:
    """A wanted ratio (contestant's time / Credo's): `Bar("≥", 15)`, Credo is at least 15 times faster."""

    comparison: Literal["≥", "≤"]
    ratio: float

    def met(self, ratio: float) -> bool:
        return bool(_COMPARISONS[self.comparison](ratio, self.ratio))

    def __str__(self) -> str:
        return f"{self.comparison} {self.ratio:g}"


@dataclass(frozen=True)
class Limit:
    """The most a contestant may take, median over rounds: `Limit("seconds", 1.5, beyond="import numpy")`.

    figure : "seconds", or "process_mb", the peak memory of the process
    beyond : another contestant whose figure in the same round is subtracted first
    """

    figure: Literal["seconds", "process_mb"]
    most: float
    beyond: str | None = None

    def __str__(self) -> str:
        unit = "s" if self.figure == "seconds" else "MB"
        return f"≤ {self.most:g} {unit}" + (f" beyond {self.beyond}" if self.beyond else "")


@dataclass(frozen=True)
class Case:
    """One question, put to several contestants; the first is Credo, and ratios are to it.

    mode : "warm", a call in a process that has made `warmups` calls; "fresh", a process from start to end
    prepare : directory → None, run once in a process of its own, for files that all contestants read
    load : directory → data, in each contestant's process, not timed
    bars : contestant → wanted ratio
    limits : contestant → the most it may take
    memory_limit : bytes of private memory (RLIMIT_DATA) for a contestant's process, libraries included
    timeout : seconds, after which a call counts as failed
    """

    question: str
    contestants: tuple[Contestant, ...]
    mode: Literal["warm", "fresh"] = "warm"
    prepare: Callable[[Path], None] | None = None
    load: Callable[[Path], Any] | None = None
    quality: Quality | None = None
    bars: Mapping[str, Bar] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    repeats: int = 5
    warmups: int = 1
    memory_limit: int | None = None
    timeout: float = 600.0

    def __post_init__(self) -> None:
        names = [contestant.name for contestant in self.contestants]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"a case needs contestants with different names, got {names}")
        if unknown := set(self.bars) - set(names[1:]):
            raise ValueError(f"bars for {sorted(unknown)}, which are not among the peers {names[1:]}")
        named = {*self.limits, *(limit.beyond for limit in self.limits.values() if limit.beyond)}
        if unknown := named - set(names):
            raise ValueError(f"limits name {sorted(unknown)}, which are not among the contestants {names}")
        for contestant in self.contestants:
            if (contestant.run is None) == (contestant.command is None):
                raise ValueError(f"{contestant.name}: give either run or command")
            if contestant.command is not None and self.mode != "fresh":
                raise ValueError(f"{contestant.name}: a command is always a fresh process")


def case_files(directory: Path) -> dict[str, Path]:
    """Name → file of every case in the directory, in alphabetical order."""
    return {path.stem: path for path in sorted(directory.glob("*.py")) if path.stem != "__init__"}


def load_case(path: Path) -> Case:
    """The `CASE` of a file."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CASE
