"""Progress: one line where somebody looks, nothing anywhere else, and rich imported only for the line."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from credo.errors import ParameterError
from credo.inference.mcmc import Progress, RandomWalk, sample
from credo.inference.mcmc.progress import quick_rhat, watching
from credo.inference.target import Target

NORMAL = Target(lambda x: -0.5 * x @ x, {"x": ()})
SCRIPT = """
import sys, warnings
from credo.inference.mcmc import RandomWalk, progress, sample
from credo.inference.target import Target
warnings.simplefilter("ignore")
progress.PATIENCE = PATIENT
found = sample(Target(lambda x: -0.5 * x @ x, {"x": ()}), RandomWalk(), draws=40, chains=2, rng=0, progress=MODE)
print("rich" in sys.modules, found.n_draws)
"""


def run(mode, patience=1e9, **streams):
    script = SCRIPT.replace("MODE", mode).replace("PATIENT", str(patience))
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TERM": "xterm"},
        **streams,
    )


def test_nothing_is_drawn_or_imported_in_a_pipe():
    process = run("True", stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert (out, err) == ("False 40\n", "")


def on_terminal(mode, patience=1e9):
    """Output and what a terminal of 120 columns was sent."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = run(mode, patience, stderr=slave)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # Linux's word for the end of a terminal
            part = b""
        if not part:
            break
        seen += part
    os.close(master)
    return process.communicate(timeout=60)[0], seen.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_one_line_on_a_terminal():
    out, seen = on_terminal("True")
    assert out == "True 40\n"
    assert re.search(r"2 chains: sampling, [\d,]+ draws/s, R̂ \d\.\d\d\d", seen), seen
    assert seen.count("\n") <= 2  # redrawn in place: a line a report would be a dozen
    assert seen.rstrip().endswith("\x1b[2K")  # and taken away at the end
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h") == 1  # the cursor is back


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_off_is_off_and_short_runs_are_silent():
    assert on_terminal("False", 0.0) == ("False 40\n", "")
    assert on_terminal("'auto'", 1e9) == ("False 40\n", "")  # over before patience is
    assert on_terminal("'auto'", 0.0)[0] == "True 40\n"


def test_settings():
    for nothing in (None, False, True, "auto"):  # standard error of a test is no terminal
        with watching(nothing) as report:
            assert report is None
    for wrong in ("yes", 1, 0.5, [print]):
        with pytest.raises(ParameterError, match=r"sample.progress must be True, False, \"auto\" or a function"):
            sample(NORMAL, RandomWalk(), rng=0, progress=wrong)


def test_words():
    first = Progress(0, 100, 0.0, 0, math.nan, True, 1)
    assert str(first) == "1 chain: warm-up, 0 draws/s"
    assert str(first._replace(divergences=1, chains=4)) == "4 chains: warm-up, 0 draws/s, 1 divergence"


def test_quick_rhat():
    """The classic R̂, of too few draws none, of chains that stand apart a large one."""
    from credo.diagnostics.mcmc import rhat

    x = np.random.default_rng(0).normal(size=(4, 150, 2)) + np.array([0.0, 0.3]) * np.arange(4)[:, None, None]
    n = x.shape[1]
    expected = np.sqrt(np.square(rhat(x, "identity")).max() - 1 / n + 1 / n)
    assert quick_rhat([list(chain) for chain in x]) == pytest.approx(expected, rel=1e-2)
    assert math.isnan(quick_rhat([list(x[0])]))
    assert math.isnan(quick_rhat([list(chain[:5]) for chain in x]))
    assert math.isnan(quick_rhat([[np.zeros(1)] * 20] * 2))


def test_an_error_in_the_report_takes_the_line_away_and_passes_through():
    def broken(report):
        raise RuntimeError("no paper")

    with pytest.raises(RuntimeError, match="no paper"):
        sample(NORMAL, RandomWalk(), rng=0, draws=50, progress=broken)
