"""Sums and maxima of products of tables, by variable elimination. It knows arrays and scopes, not `Factor`.

`orders`        in which order to eliminate: a portfolio of heuristics
`search_kernel` more of them for hard graphs, by a compiled loop (imported when first run)
`tables`        `Tables`: what does not hang on the question
`pruning`       tables that cannot matter
`steps`         the order as products of two tables, forwards, and backwards for all marginals at once
`layout`        steps as records of integers: places, strides, loops
`guess`, `guess_kernel`  all of this at once for easy questions, by a compiled loop (imported when first run)
`plan`          `compile_plan`, from scopes to a `Plan`; `plan_for`, one of many questions
`matrices`      steps that are one large product of matrices, left to BLAS
`memory`        the predicted peak, and its limit
`kernel`        the compiled interpreter of plans (imported when first run)
`interpreter`   the same by NumPy, in logarithms or `Fraction`s
`execution`     `pack` tables, `run` a plan, `trace_back` a maximum

>>> import numpy as np
>>> plan = compile_plan([(2,), (2, 3)], [("a",), ("a", "b")], targets=("b",))
>>> found = run(plan, pack([np.array([0.5, 0.5]), np.array([[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]])]))
>>> found.probabilities().round(3)
array([0.3 , 0.35, 0.35])
"""

from credo.probability.factors.elimination.execution import Packed, Run, pack, run, trace_back
from credo.probability.factors.elimination.memory import MEMORY_LIMIT
from credo.probability.factors.elimination.plan import Plan, compile_plan, plan_for
from credo.probability.factors.elimination.tables import Tables

__all__ = [
    "compile_plan", "plan_for", "Plan", "Tables", "pack", "Packed", "run", "Run", "trace_back", "MEMORY_LIMIT",
]  # fmt: skip
