"""L1 paths of a tall table."""

from __future__ import annotations

from benchmarks.l1_paths import case, dense

CASE = case("dense 10,000 × 100", dense(10_000, 100))
