"""Covariance functions k(x, z): records that compose with +, × and numbers, with analytic gradients.

`base`        `Kernel`, what every covariance function answers; `Hyperparameter`
`compose`     `Sum`, `Product`, `Scaled`
`radial`      of a scaled distance: `RBF`, `Matern`, `RationalQuadratic`
`dot`         of a scaled dot product: `Linear`, `Polynomial`
`periodic`    `Periodic`
`constant`    `Constant`, `White`
`arc_cosine`  `ArcCosine`, an infinitely wide network
`categorical` `Categorical`, `LevelCorrelation`
`custom`      `Custom`, a function of yours
`differentiated`  `Differentiated`, slopes as rows
`profile`, `distance`, `priors`  what several of them share

(Markov kernels of samplers are in `inference.mcmc`.)
"""

from credo.kernels.arc_cosine import ArcCosine
from credo.kernels.base import Hyperparameter, Kernel
from credo.kernels.categorical import Categorical, LevelCorrelation
from credo.kernels.compose import Product, Scaled, Sum
from credo.kernels.constant import Constant, White
from credo.kernels.custom import Custom
from credo.kernels.differentiated import Differentiated
from credo.kernels.dot import Linear, Polynomial
from credo.kernels.periodic import Periodic
from credo.kernels.radial import RBF, Matern, RationalQuadratic

__all__ = [
    "RBF",
    "Matern",
    "RationalQuadratic",
    "Periodic",
    "Linear",
    "Polynomial",
    "Constant",
    "White",
    "ArcCosine",
    "Categorical",
    "LevelCorrelation",
    "Custom",
    "Differentiated",
    "Sum",
    "Product",
    "Scaled",
    "Kernel",
    "Hyperparameter",
]
