"""Densities without a family: kernel densities and histograms.

`base`        what both share
`estimator`   `KernelDensity`; `parameters`, `rows`, what it asks of its arguments and rows
`kernels`     the six kernels in d dimensions; `smoothing`, a bandwidth as a linear map; `boundary`, bounded columns
`bandwidths`  rules, improved Sheather–Jones, cross-validation; `ties`, rounded values
`evaluation`  which way sums are taken: `grid` by FFT, `sums` in blocks, or trees
`line`        one column: distribution function and quantiles; `modes`; `region`, highest density
`histogram`   `Histogram`; `bins`, how many; `blocks`, Bayesian blocks, compiled in `blocks_kernel`
"""

from credo.models.density.blocks import bayesian_blocks
from credo.models.density.estimator import KernelDensity
from credo.models.density.histogram import Bars, Histogram
from credo.models.density.modes import Modes
from credo.models.density.region import Region

__all__ = ["KernelDensity", "Histogram", "bayesian_blocks", "Modes", "Region", "Bars"]
