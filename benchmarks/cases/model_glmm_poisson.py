"""From nothing to 4,000 draws: a poisson regression, 2,000 rows in 100 groups with an intercept each."""

from __future__ import annotations

from benchmarks.model_glmm import Glmm, glmm_case

CASE = glmm_case(Glmm("poisson", rows=2_000, groups=100, columns=3, seconds=2.0))
