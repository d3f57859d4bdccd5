"""A folder for databases whose disk waits for nothing: these tests kill processes, they do not cut the power."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")

# Each trial in a process of its own would import the package anew; at home a script's own imports do this.
multiprocessing.set_forkserver_preload(["credo.studies"])


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory where the system has such a file system: SQLite's `fsync` costs ten milliseconds on a busy disk."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="credo-", dir=MEMORY) as folder:
        yield Path(folder)
