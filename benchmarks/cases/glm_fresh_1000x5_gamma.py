"""From nothing to a posterior: a Gamma regression, its shape learned of 1,000 × 5 in a fresh process."""

from __future__ import annotations

from benchmarks.glm_fresh import fresh_case

CASE = fresh_case("gamma", "a Gamma regression, its shape learned")
