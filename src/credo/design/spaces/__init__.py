"""What may be asked: named parameters with ranges, conditions on when they matter, constraints between them.

`parameters`   `Real` and `Integer`: ranges, linear or logarithmic
`choices`      `Choice`, `Ordinal`, `Boolean`, `Constant`: finitely many values
`expressions`  `"lr * depth <= 3"` as a condition or a constraint, evaluated without `eval`
`conditions`   when a parameter matters
`constraints`  what must hold between parameters
`space`        `Space`: all of them together
`encoding`     rows of parameters ↔ points of the unit cube
`drawing`      random points, Sobol designs, the list of all points; proofs that there is none
`files`        a space as JSON or TOML
"""

from credo.design.spaces.choices import Boolean, Choice, Constant, Ordinal
from credo.design.spaces.constraints import LinearConstraint
from credo.design.spaces.encoding import Column, Encoded
from credo.design.spaces.parameters import Integer, Parameter, Real
from credo.design.spaces.space import Space

__all__ = [
    "Space",
    "Parameter",
    "Real",
    "Integer",
    "Choice",
    "Ordinal",
    "Boolean",
    "Constant",
    "LinearConstraint",
    "Encoded",
    "Column",
]
