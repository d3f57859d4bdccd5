"""Direct sampling: draws that need no chain.

`inverse`      y = F⁻¹(u), with the error in u (`piecewise` integrates a density, `modes` finds it)
`reject`       rejection under a stated bound
`log_concave`  adaptive rejection of log-concave densities under an `envelope`
`weigh`        importance sampling, and resampling from it (`resampling`)
`tempering`    sequential Monte Carlo and annealed importance sampling, with a `population` of particles
`densities`, `records`   what samplers are given, and what they return
"""

from credo.inference.direct.inverse import inversion
from credo.inference.direct.log_concave import adaptive_rejection
from credo.inference.direct.records import DirectDraws, Estimate, ImportanceSample
from credo.inference.direct.reject import rejection
from credo.inference.direct.resampling import resample
from credo.inference.direct.tempering import annealed_importance, smc
from credo.inference.direct.weigh import importance, sampling_importance_resampling

__all__ = [
    "inversion",
    "rejection",
    "adaptive_rejection",
    "importance",
    "sampling_importance_resampling",
    "annealed_importance",
    "smc",
    "resample",
    "DirectDraws",
    "ImportanceSample",
    "Estimate",
]
