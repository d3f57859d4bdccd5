"""L1 paths of a sparse table, never densified."""

from __future__ import annotations

from benchmarks.l1_paths import case, sparse

CASE = case("sparse 20,000 × 2,000 (density .5 %)", sparse(20_000, 2_000, 0.005))
