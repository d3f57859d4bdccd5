"""L1 paths with more rows than columns, hundreds of them in the model."""

from __future__ import annotations

from benchmarks.l1_paths import case, dense

CASE = case("dense 1,000 × 500", dense(1_000, 500))
