"""Formulas: from the text of one to numbers, and from new rows to the same numbers.

`errors`      `FormulaError`, with a caret under the place
`tokens`, `syntax`, `functions`, `parser`   text → nodes; which functions there are
`terms`, `expansion`   nodes → `Formula`: terms, group terms, offsets (`parse`)
`columns`, `sheet`     a frame's columns as numbers or levels; arithmetic on them
`factors`, `coding`    a factor → columns; which categories are coded in full, which against a reference
`effects`, `splines`, `cyclic`, `surfaces`   s(x), t2(x, z), mo(x), me(x, sd), mi(x), which have latent parts; bases
`groups`, `encoder`    the levels of groups; `RowEncoder`, which encodes any rows alike and is saved
`design`      `design(formula, data)` → `Design`
`priors`, `families`, `zero_inflated`   what is believed before the data, in their units; how responses scatter
`responses`   the response as the family takes it, and its trials
`predictors`  the linear predictors of a regression: of the mean, of sigma and its like, of each class
`lowering`, `latent_effects`   a design and priors → the nodes of a `Model`
`quantities`, `prediction`     what draws say in the user's coordinates; the response of new rows at each draw
`regress`     `regress(formula, data)` → `Regression`
"""

from credo.program.formula.design import Design, design
from credo.program.formula.encoder import EncodedRows, RowEncoder
from credo.program.formula.errors import FormulaError
from credo.program.formula.expansion import parse
from credo.program.formula.groups import GroupDesign
from credo.program.formula.priors import Priors, default_priors
from credo.program.formula.regress import Regression, regress
from credo.program.formula.terms import Factor, Formula, GroupTerm, Term

__all__ = [
    "parse",
    "Formula",
    "Term",
    "Factor",
    "GroupTerm",
    "FormulaError",
    "design",
    "Design",
    "GroupDesign",
    "RowEncoder",
    "EncodedRows",
    "Priors",
    "default_priors",
    "regress",
    "Regression",
]
