"""How far sampling is: figures every fifth of a second, to a function of the caller's or to one line on the terminal.

The line is for whoever sits there: it goes to standard error and only to a terminal, never into a pipe, a file or a
notebook, and it is gone when sampling ends. rich, which draws it, is not imported otherwise.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credo.errors import ParameterError

if TYPE_CHECKING:
    from credo.inference.mcmc.driver import Chain

__all__ = ["Progress", "Meter", "watching"]

#: seconds between two reports: quick enough for the eye, and less than 1 % of the time
REPORT_EVERY = 0.2
#: a run that is over within a second needs no progress (the command line waits as long)
PATIENCE = 1.0

Report = Callable[["Progress"], Any]


class Progress(NamedTuple):
    """What `progress` is called with: iterations done and to do over all chains (warm-up included), iterations per
    second, divergences since warm-up, and the largest basic R̂ so far (NaN before there is one)."""

    done: int
    total: int
    draws_per_second: float
    divergences: int
    rhat: float
    warming_up: bool
    chains: int = 1

    def __str__(self) -> str:
        """Without what a bar shows.

        >>> str(Progress(900, 6000, 1234.5, 2, 1.013, False, 4))
        '4 chains: sampling, 1,234 draws/s, 2 divergences, R̂ 1.013'
        """
        said = [f"{self.draws_per_second:,.0f} draws/s"]
        if self.divergences:
            said.append(f"{self.divergences:,} divergence{'s' * (self.divergences > 1)}")
        if not math.isnan(self.rhat):
            said.append(f"R̂ {self.rhat:.3f}")
        who = f"{self.chains} chain{'s' * (self.chains > 1)}"
        return f"{who}: {'warm-up' if self.warming_up else 'sampling'}, {', '.join(said)}"


class Meter:
    """Calls `report` every `REPORT_EVERY` seconds."""

    def __init__(self, crew: list[Chain], warmup: int, length: int, report: Report | None) -> None:
        self.crew, self.warmup, self.length, self.report = crew, warmup, length, report
        self.began = self.reported = time.perf_counter()
        self.already = sum(chain.iteration for chain in crew)

    def tick(self, last: bool = False) -> None:
        if self.report is None:
            return
        now = time.perf_counter()
        if not last and now - self.reported < REPORT_EVERY:
            return
        self.reported = now
        crew = self.crew
        done = sum(chain.iteration for chain in crew)
        self.report(
            Progress(
                done,
                self.length * len(crew),
                (done - self.already) / max(now - self.began, 1e-9),
                sum(chain.divergences for chain in crew),
                quick_rhat([chain.positions for chain in crew]),
                min(chain.iteration for chain in crew) < self.warmup,
                len(crew),
            )
        )


def quick_rhat(positions: list[list[np.ndarray]]) -> float:
    """The largest basic R̂ over the coordinates of at most 200 draws a chain, cheap enough for every report."""
    n = min(map(len, positions))
    if len(positions) < 2 or n < 10:
        return math.nan
    x = np.array([p[: n : max(1, n // 200)] for p in positions])
    within = x.var(axis=1, ddof=1).mean(axis=0)
    if not np.any(within > 0):
        return math.nan
    between = x.mean(axis=1).var(axis=0, ddof=1)
    return float(np.sqrt(np.max(1.0 + between[within > 0] / within[within > 0] - 1.0 / x.shape[1])))


@contextlib.contextmanager
def watching(progress: Any) -> Iterator[Report | None]:
    """What is to be called with every report, for a setting as `sample` takes it; None for nothing."""
    if callable(progress):
        yield progress
    elif not (progress is None or progress is True or progress is False or progress == "auto"):
        raise ParameterError("sample", "progress", 'True, False, "auto" or a function of a Progress', progress)
    elif not progress or not _someone_looks():
        yield None
    else:
        line = _Line(0.0 if progress is True else PATIENCE)
        try:
            yield line
        finally:
            line.close()


def _someone_looks() -> bool:
    """Whether standard error is a terminal that can redraw a line."""
    stream = sys.stderr
    return stream is not None and stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


class _Line:
    """One line for all chains: a bar, and the figures beside it. Appears with the first report after `patience`."""

    def __init__(self, patience: float) -> None:
        self.begin = time.perf_counter() + patience
        self.drawn: Any = None
        self.task: Any = None

    def __call__(self, report: Progress) -> None:
        if time.perf_counter() < self.begin:
            return
        if self.drawn is None:
            self.drawn = self._begun()
        self.drawn.update(self.task, completed=report.done, total=report.total, description=str(report))

    def _begun(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            BarColumn(bar_width=20), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"),
        )  # fmt: skip
        drawn = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
        self.task = drawn.add_task("")
        drawn.start()
        return drawn

    def close(self) -> None:
        if self.drawn is not None:
            self.drawn.stop()
