"""Covariance functions k(x, z): records that compose with +, × and numbers, with analytic gradients.

`base`        `Kernel`, what every covariance function answers; `Hyperparameter`
`compose`     `Sum`, `Product`, `Scaled`
`radial`      of a scaled distance: `RBF`, `Matern`, `RationalQuadratic`
`dot`         of a scaled dot product: `Linear`, `Polynomial`
`periodic`    `Periodic`
`constant`    `Constant`, `White`

(Markov kernels of samplers are in `inference.mcmc`.)
"""

from credo.kernels.base import Hyperparameter, Kernel
from credo.kernels.compose import Product, Scaled, Sum
from credo.kernels.constant import Constant, White
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
    "Sum",
    "Product",
    "Scaled",
    "Kernel",
    "Hyperparameter",
]
