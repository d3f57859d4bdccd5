"""What only a process of its own shows: signals, pipes, and what is imported before there is work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

START = "import sys; sys.argv[0] = 'credo'; from credo.cli.main import run; run()"
# A disk that never answers: the process waits where a file is complete but has not taken its name.
STUCK = (
    "import os, signal, time; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "os.fsync = lambda fd: (print('writing', flush=True), time.sleep(60)); " + START
)


@pytest.mark.parametrize(
    ("what", "how", "code"),
    [
        ("fit", signal.SIGKILL, -9),
        ("predict", signal.SIGKILL, -9),
        ("predict", signal.SIGTERM, 143),
        ("predict", signal.SIGINT, 130),
    ],
)
def test_the_old_file_survives_being_killed_while_writing(
    how, code, what, folder: Path, houses: Path, tmp_path: Path
) -> None:
    if what == "fit":
        old, output = houses.read_bytes(), tmp_path / "m.credo"
        arguments = ["fit", str(folder / "houses.csv"), "--target", "price"]
    else:
        old, output = b"mean\n1\n", tmp_path / "out.csv"
        arguments = ["predict", str(houses), str(folder / "new_houses.csv")]
    output.write_bytes(old)
    with subprocess.Popen(
        [sys.executable, "-c", STUCK, *arguments, "-o", str(output)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(how)
        _, said = process.communicate(timeout=30)
    assert process.returncode == code
    assert output.read_bytes() == old
    assert "Traceback" not in said
    left = {path.name for path in tmp_path.iterdir()} - {output.name}
    # Nobody can tidy up after SIGKILL, and the name says whose it is.
    assert all(name.startswith(".credo-") for name in left) if how == signal.SIGKILL else not left


def test_a_broken_pipe_is_quiet(folder: Path, houses: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", START, "predict", str(houses), str(folder / "houses.csv"), "-q"],
        stdout=write, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == ""


def test_a_broken_pipe_is_one_fault_whatever_prints(houses: Path) -> None:
    """`credo show FILE | head -1`: tables are drawn by rich, which would end with 1."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", START, "show", str(houses)], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_closed_output_is_no_fault(houses: Path) -> None:
    """As after `credo … >&-`: Python has no stdout then."""
    code = "import os\nos.close(1)\nimport sys\nsys.stdout = None\n" + START
    done = subprocess.run([sys.executable, "-c", code, "show", str(houses)], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_loads_nothing_heavy() -> None:
    code = START.replace("run()", "") + "\ntry: run()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "sklearn", "polars", "rich", "numba"}
    assert not heavy & set(done.stderr.split())
