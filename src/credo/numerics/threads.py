"""Threads: how many BLAS may use, and a pool that keeps order.

Two BLAS threads on contended cores can be 40 times slower than one, so small work is capped at one and
parallelism comes from mapping single-threaded kernels over row blocks.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from typing import Any

__all__ = ["single_blas_thread", "available_threads"]


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextlib.contextmanager
def single_blas_thread() -> Iterator[None]:
    """Within the block BLAS and LAPACK run on one thread; restored afterwards."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def available_threads() -> int:
    """Threads for block work: `CREDO_NUM_THREADS` if set, else the cores this process may use."""
    stated = os.environ.get("CREDO_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS")
    if stated and stated.isdigit() and int(stated) > 0:
        return int(stated)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1
