"""Feature maps: columns become the functions of them that a linear model needs, with names a reader can read.

scikit-learn transformers that work row by row: transforming a block of rows gives the same bits as those rows of
the whole, so that they can be fitted on a sample and applied to a stream.

`base`         what they share: checks, names, saving
`polynomial`   powers and products, raw or orthogonal; interactions
`splines`      B-splines, natural and periodic cubic splines
`fourier`      sines and cosines of a known period
`radial`       bumps around centres
"""

from credo.tables.features.fourier import Fourier
from credo.tables.features.polynomial import Interactions, PolynomialFeatures
from credo.tables.features.radial import RadialBasis
from credo.tables.features.splines import Splines

__all__ = ["PolynomialFeatures", "Interactions", "Splines", "Fourier", "RadialBasis"]
