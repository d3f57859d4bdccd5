"""What every test shares: one thread a process, settled randomness, and tables of results.

Options
-------
--long           statistical tests run at full size (`make calibrate`)
--results FILE   write what tests recorded with pytest's `record_property` as a table
"""

from __future__ import annotations

import datetime
import gc
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# NumPy is not there yet, and processes that tests start inherit these: several BLAS threads on shared cores
# are slower than one, and numbers then do not depend on the machine.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

hypothesis.settings.register_profile("credo", derandomize=True, deadline=None)
hypothesis.settings.load_profile("credo")

# `data` holds scripts that made known answers with other tools; `reference` reads data that may not be copied here.
collect_ignore = ["data"] if "CREDO_REFERENCE_DATA" in os.environ else ["data", "reference"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="statistical tests at full size")
    parser.addoption("--results", metavar="FILE", help="write recorded properties as a Markdown table")


@pytest.fixture
def replicates(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """`replicates(short, full)`: how often to repeat a statistical experiment in this run."""
    long = request.config.getoption("--long")
    return lambda short, full: full if long else short


def pytest_configure(config: pytest.Config) -> None:
    # Only the controller writes: workers of xdist send it their reports.
    file = config.getoption("--results")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ResultsTable(Path(file)), "results-table")


# Collecting makes some 750,000 objects that live to the end, and nothing to be freed. Python would look through all of
# them again and again: a quarter of the time that it takes, and half a second each time while tests run.
def pytest_sessionstart() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


class ResultsTable:
    """A Markdown table of every test that recorded something: its outcome and what it measured."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and (report.user_properties or report.failed):
            measured = ", ".join(f"{name} = {_shown(value)}" for name, value in report.user_properties)
            name = report.nodeid.removeprefix("tests/").replace("|", "\\|")
            self.rows[name] = f"| {name} | {report.outcome} | {measured} |"

    def pytest_sessionfinish(self) -> None:
        import credo

        python = ".".join(map(str, sys.version_info[:3]))
        lines = [
            f"# What `{shlex.join(['pytest', *sys.argv[1:]])}` measured",
            "",
            f"{datetime.date.today()}, Credo {credo.__version__}, Python {python}. "
            "Written by the run itself; not edited by hand.",
            "",
            "| test | outcome | measured |",
            "|---|---|---|",
            *(self.rows[name] for name in sorted(self.rows)),
            "",
        ]
        self.path.write_text("\n".join(lines), encoding="utf-8")


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@pytest.fixture
def record_property(record_property):
    """pytest's, for NumPy's numbers too: workers can send Python's alone."""

    def record(name, value):
        record_property(name, value.item() if isinstance(value, np.generic) else value)

    return record
