"""L1 paths with many more columns than rows."""

from __future__ import annotations

from benchmarks.l1_paths import case, dense

CASE = case("dense 200 × 5,000", dense(200, 5_000))
