"""Blocks of Normal latents seen through non-Normal sites: integrated out by Laplace's method, and drawn with weights.

`site`      `Site`: observed cells y ~ p(y | η, ψ), η linear in the latents
`rows`      the rows of a site: dense columns by BLAS, the sparse rest by look-up; `row_kernels` its loops
`several`   the rows of a site whose law has several linear predictors
`block`     `LaplaceBlock`: Laplace's log ∫, its gradient, and the latents given the coefficients
`mode`      Newton's method for the mode
`belief`    `LaplaceBelief`: the Normal at the mode, and draws with the weights that make it exact
`groups`    which latents are independent given the others: the effects of a grouping
`nested`    the density with these integrated out: its mode, its weights, draws
`targets`   the density of each group; `tables` its integrals on shifted grids; `compiled` and `grid_kernel` its loop
"""

from credo.inference.laplace_block.belief import LaplaceBelief
from credo.inference.laplace_block.block import LaplaceBlock
from credo.inference.laplace_block.site import Site

__all__ = ["LaplaceBelief", "LaplaceBlock", "Site"]
