"""How a column moves what a model expects, on the scale of the outcome.

`columns`      a table's columns, one of them changed: arrays, data frames, the table of a `TableModel`
`average`      average marginal effects: `average_effects`
`conditional`  expectation along one column: `conditional_effect`
"""

from credo.models.effects.average import AverageEffects, Effect, average_effects
from credo.models.effects.conditional import ConditionalEffect, conditional_effect

__all__ = ["AverageEffects", "ConditionalEffect", "Effect", "average_effects", "conditional_effect"]
