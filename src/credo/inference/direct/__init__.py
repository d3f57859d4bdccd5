"""Direct sampling: draws that need no chain.

`inverse`      y = F⁻¹(u), with the error in u (`piecewise` integrates a density, `modes` finds it)
`reject`       rejection under a stated bound
`log_concave`  adaptive rejection of log-concave densities under an `envelope`
`weigh`        importance sampling, and resampling from it (`resampling`)
`tempering`    sequential Monte Carlo and annealed importance sampling, with a `population` of particles
`densities`, `records`   what samplers are given, and what they return

A name is imported when first used: who resamples needs no adaptive rejection.
"""

from __future__ import annotations

from credo._lazy import lazily

_MODULES = {
    "inversion": "inverse",
    "rejection": "reject",
    "adaptive_rejection": "log_concave",
    "importance": "weigh",
    "sampling_importance_resampling": "weigh",
    "annealed_importance": "tempering",
    "smc": "tempering",
    "resample": "resampling",
    "DirectDraws": "records",
    "ImportanceSample": "records",
    "Estimate": "records",
}

__all__ = list(_MODULES)


__getattr__ = lazily(__name__, _MODULES)
