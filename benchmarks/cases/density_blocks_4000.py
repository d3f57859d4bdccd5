"""Bayesian blocks of 4,000 values: the same edges, by a pruned dynamic programme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS = 4000


def load(_: Path) -> Any:
    """Two thirds a wide normal, one third a narrow one."""
    import numpy as np

    rng = np.random.default_rng(0)
    return np.where(rng.random(ROWS) < 2 / 3, rng.normal(0, 1, ROWS), rng.normal(2, 0.1, ROWS))


def credo(x: Any) -> Any:
    from credo.models.density import bayesian_blocks

    return bayesian_blocks(x)


def astropy(x: Any) -> Any:
    from astropy.stats import bayesian_blocks  # type: ignore[import-not-found]

    return bayesian_blocks(x)


def checksum(x: Any, edges: Any) -> float:
    """Σ edge², equal to the last digits where the edges are the same."""
    import numpy as np

    return float(np.square(edges).sum())


CASE = Case(
    question="Bayesian blocks of 4,000 values (p0 = 0.05), compilation left out (1.7 s of CPU once, then cached).",
    load=load,
    contestants=(
        Contestant("credo bayesian_blocks", credo),
        Contestant("astropy bayesian_blocks", astropy, requires=("astropy",)),
    ),
    quality=Quality("Σ edge²", checksum, "lower", 1e-12),
    bars={"astropy bayesian_blocks": Bar("≥", 8)},
)
