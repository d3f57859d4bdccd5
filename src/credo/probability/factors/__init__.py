"""Named-axis tables, and the sums and maxima of their products.

`scopes`         names and states of axes: checked, compared, lined up
`tables`         arithmetic on arrays of numbers, logarithms or `Fraction`s alike
`factor`         `Factor`: a pmf, a CPT, a potential
`graph`          `FactorGraph`: a product of factors; laws, totals and maxima given evidence
`evidence`       observed states and likelihoods, checked
`prepared`       questions asked before, ready to run
`uai`            files of the UAI competitions
`elimination/`   the engine, on arrays and scopes alone: `compile_plan`, `run`
"""

from credo.probability.factors.factor import Factor
from credo.probability.factors.graph import FactorGraph
from credo.probability.factors.uai import read_uai, read_uai_evidence

__all__ = ["Factor", "FactorGraph", "read_uai", "read_uai_evidence"]
