"""PostgreSQL: a server of our own, the contract, killed workers, and a restart under load.

Skipped where the server's programs or psycopg (the extra `postgres`) are not installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from credo.design.spaces import Real, Space
from credo.errors import FileFormatError, StorageError
from credo.studies import Study, open_storage
from credo.studies.storage import sql
from credo.testing.storages import check_concurrent, check_storage
from tests.studies.test_kill import kill_and_check

pytest.importorskip("psycopg")


def programs() -> Path | None:
    """Folder of `initdb` and `pg_ctl`; distributions keep them out of PATH."""
    for folder in (*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), shutil.which("pg_ctl")):
        if folder and (Path(folder) / "initdb").exists():
            return Path(folder)
    return None


class Server:
    """A temporary cluster that listens on a socket in its own folder only."""

    def __init__(self, folder: Path, bin: Path) -> None:
        self.folder, self.bin = folder, bin
        self.user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
        if self.user:
            shutil.chown(folder, self.user)
        self.run("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "credo", "--no-sync")
        settings = f"listen_addresses = ''\nunix_socket_directories = '{folder}'\nfsync = off\nshared_buffers = 16MB\n"
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(settings)

    def run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self.bin / program, *arguments], check=True, user=self.user, cwd=self.folder, timeout=60,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self) -> None:
        self.run("pg_ctl", "start", "-w", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log")

    def stop(self) -> None:
        self.run("pg_ctl", "stop", "-m", "immediate", "-D", f"{self.folder}/data")

    def database(self, name: str) -> str:
        self.run("createdb", "-h", str(self.folder), "-U", "credo", name)
        return f"postgresql://credo@/{name}?host={self.folder}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    bin = programs()
    if bin is None:
        pytest.skip("PostgreSQL is not installed")
    root = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="credo-pg-", dir=root) as folder:
        server = Server(Path(folder), bin)
        server.start()
        yield server
        server.stop()


def test_postgresql_keeps_the_contract(server: Server) -> None:
    url = server.database("contract")
    check_storage(lambda: open_storage(url))
    check_concurrent(lambda: open_storage(url), writers=3, events=10)


def test_tables_made_by_several_at_once(server: Server) -> None:
    url = server.database("several")
    failed: list[BaseException] = []

    def open_one() -> None:
        try:
            with Study(Space(x=Real(0, 1)), storage=url, sampler="random") as study:
                study.optimize(lambda p: p["x"], 2)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    with Study.load(url) as study:
        assert [t.state for t in study.records] == ["told"] * 8


def test_a_newer_schema_is_refused(server: Server) -> None:
    url = server.database("newer")
    open_storage(url).close()
    server.run(
        "psql", "-h", str(server.folder), "-U", "credo", "-d", "newer", "-c", "UPDATE credo_schema SET version = 99"
    )
    with pytest.raises(FileFormatError, match="99"):
        open_storage(url)


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sql, "PATIENCE", 0.05)
    with pytest.raises(StorageError, match="credo"):
        open_storage(f"postgresql://credo:secret@/absent?host={tmp_path}")


def test_a_restart_under_load_loses_nothing(server: Server) -> None:
    """`immediate` is the server's own kill -9: connections break in the middle of transactions."""
    url = server.database("restart")
    space = Space(x=Real(0, 1))
    promised: dict[int, float | None] = {}
    failed: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            with Study(space, storage=url, sampler="random", lease=30.0) as study:
                study.optimize(lambda p: p["x"], total=60, progress=lambda t: promised.update({t.id: t.value}))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for least in (10, 30):
        while len(promised) < least and any(thread.is_alive() for thread in threads):
            time.sleep(0.002)
        server.stop()
        server.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    with Study.load(url) as study:
        events = study.events()
        assert [e.sequence for e in events] == list(range(1, len(events) + 1))
        assert {t.id: t.value for t in study.records} == promised
        assert len(promised) == 60


@pytest.mark.slow
def test_killed_workers(
    server: Server, tmp_path: Path, replicates: Callable[[int, int], int],
    record_property: Callable[[str, object], None],
) -> None:  # fmt: skip
    kills = replicates(20, 100)
    url = server.database("killed")
    for name, value in kill_and_check(url, tmp_path / "log", kills=kills, workers=8, total=12 * kills).items():
        record_property(name, value)
