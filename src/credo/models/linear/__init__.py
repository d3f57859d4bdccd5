"""Linear regression with an exact posterior.

`equations`  which closed form or one-dimensional integral applies
`estimator`  `LinearRegression`
"""

from credo.models.linear.estimator import LinearRegression

__all__ = ["LinearRegression"]
