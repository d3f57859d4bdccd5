"""`import credo` costs next to nothing: fresh processes, against importing NumPy on the same machine."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time

import pytest

HEAVY = (
    "sklearn", "scipy.stats", "polars", "pandas", "matplotlib", "jax", "numba", "typer", "rich", "sqlalchemy",
    "arviz_stats",
)  # fmt: skip


def seconds(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def slowdown(arguments: tuple[str, ...], repeats: int = 5) -> float:
    """Median over interleaved pairs of (arguments) / (import numpy): noise of the machine hits both."""
    pairs = [(seconds(*arguments), seconds("-c", "import numpy")) for _ in range(repeats + 1)]
    return statistics.median(ours / numpy for ours, numpy in pairs[1:])  # the first pair fills the file cache


def test_import_credo_is_no_slower_than_importing_numpy() -> None:
    # Measured 0.3 on two cores, as `import credo` needs only the standard library. DESIGN's 0.3 s is about 3.
    assert slowdown(("-c", "import credo")) < 1.0


@pytest.mark.skipif(importlib.util.find_spec("credo.cli.main") is None, reason="there is no command line")
def test_help_is_no_slower_than_five_imports_of_numpy() -> None:
    # DESIGN's 0.5 s on two cores, where importing NumPy in a fresh process takes 0.1 s.
    assert slowdown(("-c", "import sys; sys.argv = ['credo', '--help']; from credo.cli.main import run; run()")) < 5.0


def test_import_credo_loads_no_heavy_package() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, credo; dir(credo); print(*sys.modules)"],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert not set(loaded) & set(HEAVY)


def test_every_public_name_resolves_and_stays() -> None:
    import credo

    for name in credo.__all__:
        assert getattr(credo, name) is getattr(credo, name), name
    with pytest.raises(AttributeError, match="no attribute 'Nomral'"):
        credo.Nomral  # noqa: B018
