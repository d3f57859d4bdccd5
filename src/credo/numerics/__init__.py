"""Numbers: what everything above computes with.

`namespace`   one formula on NumPy or JAX arrays
`random`      seeds become generators, once
`threads`     BLAS capped for small work
`cholesky`    jittered factors, triangular solves, rank-one updates
`lapack`      the LAPACK routines used by name, typed
`double_double`  sums, products and factors of arrays at twice the precision of float64
`quadrature`  one-dimensional integrals and moments with an error estimate
`inversion`   quantiles from a distribution function
`weighted`    quantiles of weighted points
`lattice`     evenly spread points in the unit cube
`readable`    numbers as people read them: for terminals, reports and plots
"""

from credo.numerics.cholesky import CholeskyFactor, cholesky, cholesky_update, log_determinant, solve_lower
from credo.numerics.namespace import is_jax, namespace
from credo.numerics.random import as_generator
from credo.numerics.threads import available_threads, single_blas_thread

__all__ = [
    "CholeskyFactor",
    "cholesky",
    "cholesky_update",
    "log_determinant",
    "solve_lower",
    "is_jax",
    "namespace",
    "as_generator",
    "available_threads",
    "single_blas_thread",
]
