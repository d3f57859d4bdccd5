"""Runs inside a contestant's own process.

    python -m benchmarks.worker CASE_FILE CONTESTANT DIRECTORY [--once | --prepare]

Without an option it loads the data, then answers each line on standard input with one call and a line of JSON:
`run` is timed, `memory` is measured from a clean start. `--once` makes one call and ends: the parent times the
whole process. `--prepare` makes the case's files.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from benchmarks.case import Case, Contestant, load_case


def memory(field: str) -> float:
    """A memory figure of this process in MB: VmRSS now, or VmHWM at its peak."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def reset_peak() -> None:
    """Set the kernel's peak of this process back to what it holds now: earlier peaks would hide a call's."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def return_freed_memory() -> None:
    """Give freed memory back to the kernel: a call could grow into what an earlier one left (glibc only)."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def timed_call(case: Case, contestant: Contestant, data: Any) -> dict[str, Any]:
    """One call: seconds, its own peak memory and the process's (MB), what the result is worth, and seconds to tell."""
    assert contestant.run is not None
    gc.collect()
    reset_peak()
    before = memory("VmRSS")
    start = time.perf_counter()
    result = contestant.run(data)
    seconds = time.perf_counter() - start
    peak = memory("VmHWM")
    start = time.perf_counter()
    quality = None if case.quality is None else float(case.quality.of(data, result))
    judging = time.perf_counter() - start
    return {"seconds": seconds, "call_mb": peak - before, "process_mb": peak, "quality": quality, "judging": judging}


def serve(case: Case, contestant: Contestant, directory: Path, out: TextIO) -> None:
    data = case.load(directory) if case.load else None
    print(json.dumps({"ready": True}), file=out, flush=True)
    for request in sys.stdin:
        if request.strip() == "memory":
            return_freed_memory()
        print(json.dumps(timed_call(case, contestant, data)), file=out, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case", type=Path)
    parser.add_argument("contestant")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--prepare", action="store_true")
    arguments = parser.parse_args()
    # What a library prints must not mix with the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    case = load_case(arguments.case)
    if arguments.prepare:
        if case.prepare:
            case.prepare(arguments.directory)
        return
    if case.memory_limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (case.memory_limit, case.memory_limit))
    contestant = next(each for each in case.contestants if each.name == arguments.contestant)
    if arguments.once:
        data = case.load(arguments.directory) if case.load else None
        print(json.dumps(timed_call(case, contestant, data)), file=out, flush=True)
    else:
        serve(case, contestant, arguments.directory, out)


if __name__ == "__main__":
    main()
