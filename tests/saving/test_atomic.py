"""A file appears whole or not at all: kills, full disks, permissions."""

from __future__ import annotations

import io
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credo.errors import CredoError, SaveError
from credo.saving import MissingFileError, StorageError, atomic_write, load, save


def python(code: str, *arguments: Any, wait: bool = True) -> subprocess.Popen[bytes]:
    environment = {"PYTHONPATH": ":".join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], env=environment)
    if wait:
        process.wait(60)
    return process


DIE = "lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)"

FORCED = {
    "in the middle of the arrays": f"""
import credo.saving.archive as archive
plain, count = archive.ArchiveWriter.add, [0]
def add(self, *arguments):
    count[0] += 1
    plain(self, *arguments) if count[0] < 3 else ({DIE})()
archive.ArchiveWriter.add = add""",
    "before the directory": f"import credo.saving.archive as archive; archive.ArchiveWriter.finish = {DIE}",
    "before the bytes reach the disk": f"os.fsync = {DIE}",
    "before the new name": f"os.replace = {DIE}",
    "after the new name": f"import credo.saving.atomic as atomic; atomic._sync_folder = {DIE}",
}


@pytest.mark.parametrize("moment", FORCED)
def test_a_process_killed_while_saving_leaves_the_old_file_or_the_new(moment: str, tmp_path: Path) -> None:
    path = tmp_path / "model.credo"
    save({"version": "old"}, path)
    code = f"""
import os, signal, sys, numpy as np, credo.saving as saving
{FORCED[moment]}
saving.save({{"version": "new", "arrays": [np.full(10, i) for i in range(5)]}}, sys.argv[1])
"""
    assert python(code, path).returncode == -signal.SIGKILL
    assert load(path)["version"] == ("new" if moment == "after the new name" else "old")


def test_a_process_killed_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "model.credo"
    save([0, np.zeros(1)], path)
    code = """
import sys, numpy as np, credo.saving as saving
for i in range(1, 10**9):
    saving.save([i, np.full(300_000, i)], sys.argv[1])
"""
    rng = np.random.default_rng(0)
    for _ in range(4):
        before, deadline = path.stat().st_mtime_ns, time.monotonic() + 30
        process = python(code, path, wait=False)
        while path.stat().st_mtime_ns == before:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.wait()
        count, array = load(path)
        assert np.all(array == count)


def test_a_full_disk_is_a_named_error_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the system refuses the same `write`."""
    path = tmp_path / "model.credo"
    save("old", path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(StorageError, match=r"Cannot write '.*model\.credo'") as caught:
            save(np.zeros(100_000), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, CredoError)
    assert caught.value.errno is not None
    assert load(path) == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.credo"]


@pytest.mark.parametrize("written", [0, 1, 5])
def test_a_file_object_that_fails(written: int) -> None:
    """At the first byte or later; and nothing is left to fail again when Python cleans up."""

    class Broken(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() >= 40 * written:
                raise OSError(28, "No space left on device")
            return super().write(data)

    with pytest.raises(StorageError, match="No space left"):
        save(np.zeros(10), Broken())


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_any_refusal_of_the_system(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "model.credo"
    save("old", path)
    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(StorageError, match="Permission denied") as caught:
        save("new", path)
    assert caught.value.errno == 13
    monkeypatch.undo()
    assert load(path) == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.credo"]


def test_missing_folder_missing_file_and_a_folder_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="No such file"):
        save(1, tmp_path / "no" / "model")
    with pytest.raises(FileNotFoundError, match="Cannot read"):
        load(tmp_path / "model")
    for action in (lambda: save(1, tmp_path), lambda: load(tmp_path)):
        with pytest.raises(StorageError):
            action()
    with pytest.raises(StorageError, match="not a regular file"):
        save(1, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_an_interrupt_or_an_unsaveable_model_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.credo"
    save("old", path)
    with pytest.raises(KeyboardInterrupt):
        interrupted_write(path)
    with pytest.raises(SaveError):
        save([1, print], path)
    assert load(path) == "old"
    assert len(list(tmp_path.iterdir())) == 1


def interrupted_write(path: Path) -> None:
    with atomic_write(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_permissions_and_links_survive(tmp_path: Path) -> None:
    target, link = tmp_path / "model.credo", tmp_path / "latest"
    save("old", target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask()
    target.chmod(0o640)
    link.symlink_to(target.name)
    save("new", link)
    assert link.is_symlink()
    assert load(target) == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def test_a_large_array_is_streamed(tmp_path: Path) -> None:
    """Peak memory beyond the array: nothing to speak of when saving, one array when loading."""
    code = """
import resource, sys, numpy as np, credo.saving as saving
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
array = np.zeros(64 * 2**17); array[:] = 1.5
before = peak(); saving.save(array, sys.argv[1]); assert peak() - before < 16, peak() - before
before = peak(); loaded = saving.load(sys.argv[1]); assert peak() - before < 64 + 16, peak() - before
assert loaded.sum() == array.sum()
"""
    assert python(code, tmp_path / "m").returncode == 0
