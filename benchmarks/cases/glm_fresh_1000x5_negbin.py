"""From nothing to a posterior: a negative-binomial regression of 1,000 × 5 in a fresh process."""

from __future__ import annotations

from benchmarks.glm_fresh import fresh_case

CASE = fresh_case("negbin", "a negative-binomial regression, its dispersion learned")
