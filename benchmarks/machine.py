"""Where a run took place: the class of machine, the versions, the threads."""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["THREAD_VARIABLES", "interpreter_with", "machine_class", "thread_environment", "versions"]

#: every way the contestants' libraries are told how many threads to use
THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "CREDO_NUM_THREADS",
)


def thread_environment(threads: int) -> dict[str, str]:
    """This process's environment, with the number of threads fixed for every library."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


_LIST = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"


@functools.cache
def installed(interpreter: str) -> dict[str, str]:
    """Distribution → version, by normalised name, of what an interpreter has installed."""
    said = subprocess.run([interpreter, "-c", _LIST], check=True, capture_output=True, text=True).stdout
    return {_normal(name): number for name, number in json.loads(said).items()}


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def interpreter_with(distributions: Iterable[str], interpreters: Iterable[str]) -> str | None:
    """The first interpreter that has them all, or None."""
    wanted = {_normal(name) for name in distributions}
    return next((each for each in interpreters if not wanted or wanted <= installed(each).keys()), None)


def versions(distributions: Iterable[str], interpreters: Iterable[str] = (sys.executable,)) -> dict[str, str]:
    """Credo, Python, NumPy, SciPy and the given distributions: name → version, in the first interpreter that has it."""
    from credo._version import __version__

    found = {"credo": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", *distributions):
        if home := interpreter_with([name], interpreters):
            found[name] = installed(home)[_normal(name)]
    return found


def machine_class() -> str:
    """Such as "2 cores x86_64 (AMD EPYC 7B13), 24 GB, Linux": enough to judge a ratio by."""
    model = platform.processor() or "unknown"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                model = " ".join(line.partition(":")[2].split())
                break
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores} cores {platform.machine()} ({model}), {gigabytes:.0f} GB, {platform.system()}"
