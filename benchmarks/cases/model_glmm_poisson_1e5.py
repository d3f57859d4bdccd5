"""From nothing to 4,000 draws: a poisson regression, 100,000 rows in 5,000 groups with an intercept each."""

from __future__ import annotations

from benchmarks.model_glmm import Glmm, glmm_case

CASE = glmm_case(Glmm("poisson", rows=100_000, groups=5_000, columns=5, seconds=10.0, few=True))
