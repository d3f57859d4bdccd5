"""Beliefs about an objective on the unit cube.

`cube`              the encoded space: continuous columns, grids, one-hot groups, conditions
`outcomes`          values warped and standardised
`gaussian_process`  the usual belief, with priors for few trials
`moments`           mean and sd anywhere, with slopes
"""

from credo.design.surrogates.cube import Conditional, Cube, Grid, OneHot, cube_of

__all__ = ["Conditional", "Cube", "Grid", "OneHot", "cube_of"]
