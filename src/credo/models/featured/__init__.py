"""A feature map in front of an estimator, with everything the estimator knows still there.

`estimator`  `FeaturedModel`
`source`     rows mapped block by block; a fair sample of a stream
`quadratic`  `Quadratic`: squares and products of columns, standardised, without what is redundant
"""

from credo.models.featured.estimator import FeaturedModel
from credo.models.featured.quadratic import Quadratic

__all__ = ["FeaturedModel", "Quadratic"]
