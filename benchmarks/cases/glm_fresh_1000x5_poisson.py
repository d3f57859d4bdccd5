"""From nothing to a posterior: a Poisson regression of 1,000 × 5 in a fresh process."""

from __future__ import annotations

from benchmarks.glm_fresh import fresh_case

CASE = fresh_case("poisson", "a Poisson regression")
