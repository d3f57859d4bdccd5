"""The posteriors of stan-dev/posteriordb as `credo.Model`s, and how far Credo's answers are from the published ones.

`POSTERIORS` names them as there; the data are small copies in tests/data/posteriordb. Run `python -m
benchmarks.posteriordb`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.posteriordb import binary, counts, dynamics, hierarchies, linear, mixtures, processes, series

__all__ = ["POSTERIORS"]

#: name → the model, with its data
POSTERIORS: dict[str, Callable[[], Any]] = {
    **linear.POSTERIORS,
    **hierarchies.POSTERIORS,
    **series.POSTERIORS,
    **processes.POSTERIORS,
    **mixtures.POSTERIORS,
    **counts.POSTERIORS,
    **binary.POSTERIORS,
    **dynamics.POSTERIORS,
}
