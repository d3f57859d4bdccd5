"""Beliefs about an objective on the unit cube.

`cube`              the encoded space: continuous columns, grids, one-hot groups
`outcomes`          values warped and standardised
`gaussian_process`  the usual belief, with priors for few trials
`moments`           mean and sd anywhere, with slopes
"""

from credo.design.surrogates.cube import Cube, Grid, OneHot, cube_of

__all__ = ["Cube", "Grid", "OneHot", "cube_of"]
