"""Linear-Gaussian blocks integrated out exactly, given the coefficients that hyperparameters set.

`factors`      `LinearFactor`: rows of residuals that are linear in z and Normal
`block`        `GaussianBlock`: log ∫ Π N(r; 0, s) dz, its gradient, and z given the coefficients
`belief`       `GaussianBelief`: means, sds, draws and covariances of z and of linear maps of it
`products`     cross products of a factor's maps (`grams`) and constants, made once
`rowwise`      factors whose coefficients differ from row to row; `row_kernels` its loops,
               `full_rows` where most cells are there
`ordering`     which columns are eliminated first; `layout` where their entries are kept
`dense`        small or dense precisions (LAPACK, batches); `supernodal` sparse ones; `kernels` its loops
`batch`        many evaluations of a small block at once
`accurate`     the QR path, for precisions that have lost too many digits
`singular`     what is not identified, told by its columns
"""

from credo.inference.gaussian_block.belief import GaussianBelief
from credo.inference.gaussian_block.block import GaussianBlock
from credo.inference.gaussian_block.factors import LinearFactor

__all__ = ["GaussianBelief", "GaussianBlock", "LinearFactor"]
