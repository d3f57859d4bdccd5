"""Where a run took place: the class of machine, the versions, the threads."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["THREAD_VARIABLES", "installed", "machine_class", "thread_environment", "versions"]

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


def installed(distribution: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Credo, Python, NumPy, SciPy and the given distributions that are installed: name → version."""
    from credo._version import __version__

    found = {"credo": __version__, "python": platform.python_version()}
    for distribution in ("numpy", "scipy", *distributions):
        if number := installed(distribution):
            found[distribution] = number
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
